"""Processes come and go with their parents, and nothing is left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from polygym.runtime.worker.outcome import Crash, Ok, WorkerError
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects
from tests.runtime.worker.processes import (
    children_of,
    descriptors,
    is_running,
    mappings,
    resident_bytes,
    wait_until,
)

ROOT = Path(__file__).parents[3]
GOOD = objects.program(objects.doubled())
ENDLESS = objects.program(objects.loops_forever())
PATIENT = MeasureOptions(time_limit=TimeLimit(floor=60.0))


def runner_of(worker: Worker) -> int:
    """Return the id of the one runner, which may be about to be forked."""
    supervisor = worker.process_id
    assert supervisor is not None
    while not (result := children_of(supervisor)):
        time.sleep(0.001)
    return result[0]


def start_parent(mode: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a parent script and return it with the ids of its supervisor and runner."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.runtime.worker.parent_script", mode],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    return parent, [int(word) for word in parent.stdout.readline().split()]


@pytest.mark.parametrize("mode", ["busy", "asleep", "idle"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_parent_that_is_killed(mode, number):
    parent, family = start_parent(mode)
    with parent:
        assert len(family) == 2
        assert all(map(is_running, family))
        parent.send_signal(number)
        parent.wait(5)
        assert wait_until(lambda: not any(map(is_running, family)))
    assert parent.returncode != 0


def test_nothing_outlives_a_parent_that_ends_without_closing():
    parent, family = start_parent("leaves")
    with parent:
        assert parent.wait(5) == 0
        assert len(family) >= 1
        assert wait_until(lambda: not any(map(is_running, family)))


def test_killed_supervisor_is_replaced_and_the_request_repeated(worker):
    session = worker.open(objects.problem())
    first = worker.process_id
    os.kill(first, signal.SIGKILL)
    assert isinstance(session.measure(GOOD), Ok)
    assert worker.process_id != first
    assert not is_running(first)


def test_supervisor_killed_in_the_middle_of_a_run(worker):
    """The repeated request is killed as well, and that is a crash; both runners are gone."""
    session = worker.open(objects.problem())
    killed: list[int] = []

    def kill_supervisors() -> None:
        while len(killed) < 2:
            supervisor = worker.process_id
            runners = children_of(supervisor) if supervisor else []
            if supervisor not in killed and runners and is_busy(runners[0]):
                os.kill(supervisor, signal.SIGKILL)
                killed.append(supervisor)
                runners_seen.extend(runners)
            time.sleep(0.01)

    def is_busy(process: int) -> bool:
        """Say whether a runner has computed for a fifth of a second, and is still there."""
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has just been replaced
            return False
        fields = stat.rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK") / 5

    runners_seen: list[int] = []
    killer = threading.Thread(target=kill_supervisors)
    killer.start()
    outcome = session.measure(ENDLESS, PATIENT)
    killer.join()
    assert outcome == Crash(9, "SIGKILL")
    assert wait_until(lambda: not any(map(is_running, runners_seen)))
    assert isinstance(session.measure(GOOD), Ok)


def test_program_that_kills_the_supervisor_is_a_crash(worker):
    session = worker.open(objects.problem())
    code = objects.sends_signal(signal.SIGKILL, "getppid")
    assert session.measure(objects.program(code)) == Crash(9, "SIGKILL")
    assert session.measure_together([GOOD, objects.program(code)], 1) == (Crash(9, "SIGKILL"),) * 2
    assert isinstance(session.measure(GOOD), Ok)


def test_killed_spare_runner_is_replaced(worker):
    session = worker.open(objects.problem())
    for _ in range(10):
        with suppress(ProcessLookupError):  # it has just been replaced
            os.kill(runner_of(worker), signal.SIGKILL)
        assert isinstance(session.measure(GOOD), Ok)


def test_interruption_leaves_a_usable_worker(worker):
    session = worker.open(objects.problem())
    runner = runner_of(worker)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.measure(ENDLESS, PATIENT)
    timer.join()
    assert worker.process_id is None
    assert wait_until(lambda: not is_running(runner))
    assert isinstance(session.measure(GOOD), Ok)


def test_interruption_signal_does_not_reach_the_worker(worker):
    session = worker.open(objects.problem())
    supervisor = worker.process_id
    os.kill(supervisor, signal.SIGINT)
    assert isinstance(session.measure(GOOD), Ok)
    assert worker.process_id == supervisor
    assert os.getsid(supervisor) == supervisor != os.getsid(0)


def test_worker_ends_with_its_object():
    worker = Worker()
    worker.open(objects.problem())
    supervisor = worker.process_id
    assert is_running(supervisor)
    del worker
    assert wait_until(lambda: not is_running(supervisor))


def test_threads_take_turns(worker):
    session = worker.open(objects.problem())
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(session.measure(GOOD))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in outcomes] == [Ok] * 8


def test_forked_copy_has_a_process_of_its_own(worker):
    session = worker.open(objects.problem())
    supervisor = worker.process_id
    child = os.fork()
    if child == 0:
        right = worker.process_id is None
        right = right and isinstance(session.measure(GOOD), Ok)
        right = right and worker.process_id not in (None, supervisor)
        worker.close()
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.process_id == supervisor
    assert isinstance(session.measure(GOOD), Ok)
    assert worker.process_id == supervisor


def test_parent_is_watched_although_a_copy_holds_its_socket():
    """The supervisor ends with its parent, not with the last holder of the descriptor."""
    script = (
        "import os, time\n"
        "from polygym.runtime.worker import connection\n"
        "from polygym.runtime.worker.worker import Worker\n"
        "from tests.runtime.worker import objects\n"
        "connection._live.clear()\n"
        "worker = Worker()\n"
        "session = worker.open(objects.problem())\n"
        "connection._live.clear()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(30)\n"
        "    os._exit(0)\n"
        "print(worker.process_id, child, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        supervisor, copy = map(int, parent.stdout.readline().split())
        assert wait_until(lambda: not is_running(supervisor))
        assert is_running(copy)
        os.kill(copy, signal.SIGKILL)


def measure_in_a_worker(queue) -> None:
    """Run in a process of multiprocessing: report an outcome and the supervisor."""
    worker = Worker()
    session = worker.open(objects.problem(), Repetition(minimum=1))
    queue.put((type(session.measure(GOOD)).__name__, worker.process_id))
    time.sleep(60)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_inside_a_daemonic_process(method):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=measure_in_a_worker, args=(queue,), daemon=True)
    process.start()
    name, supervisor = queue.get()
    assert name == "Ok"
    assert is_running(supervisor)
    process.terminate()
    process.join(5)
    assert wait_until(lambda: not is_running(supervisor))
    process.close()


def test_a_thousand_good_and_crashing_programs(worker):
    """Alternating, with memory, descriptors, mappings and processes flat afterwards."""
    session = worker.open(objects.problem())
    bad = [
        objects.program(code)
        for code in (
            objects.writes_at(1 << 40),
            objects.traps(),
            objects.aborts(),
            objects.exits(0),
            objects.returns(1),
            objects.wrong_at_the_end(),
            b"",
        )
    ]
    options = MeasureOptions(repetition=Repetition(minimum=2, minimum_seconds=0.0))

    def alternate(count: int) -> None:
        for number in range(count // 2):
            assert isinstance(session.measure(GOOD, options), Ok)
            assert not isinstance(session.measure(bad[number % len(bad)], options), Ok)

    def what_exists() -> tuple[int, ...]:
        supervisor = worker.process_id
        family = len(children_of(os.getpid())), len(children_of(supervisor))
        return supervisor, *family, descriptors(os.getpid()), descriptors(supervisor)

    alternate(40)
    runner_of(worker)
    time.sleep(0.1)  # the spare is ready and its supervisor waits
    before, pieces = what_exists(), mappings(worker.process_id)
    resident = resident_bytes(worker.process_id)
    alternate(1000)
    assert wait_until(lambda: what_exists() == before)
    assert mappings(worker.process_id) <= pieces + 4  # the allocator's own
    assert resident_bytes(worker.process_id) < resident + 2 * 2**20


def test_workers_leave_no_descriptors_or_processes():
    def use_one() -> None:
        with Worker() as worker:
            worker.open(objects.problem(), Repetition(minimum=1))

    use_one()
    before = descriptors(os.getpid()), sorted(children_of(os.getpid()))
    for _ in range(5):
        use_one()
    assert (descriptors(os.getpid()), sorted(children_of(os.getpid()))) == before


def test_worker_starts_from_any_directory(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    with Worker() as worker:
        worker.open(objects.problem())


def test_worker_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "-packages" not in entry])
    with Worker() as worker, pytest.raises(WorkerError, match=r"(?s)does not start .*Error"):
        worker.open(objects.problem())
