"""Parents that are interrupted, killed, forked, daemonic or threaded; nothing is left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polygym.runtime.evaluation import EvaluationOptions, evaluator_for
from polygym.runtime.evaluation import evaluator as module
from polygym.runtime.worker.outcome import OutcomeStatus
from tests.runtime.evaluation.programs import Imposter, gemm, interchanged, plain
from tests.runtime.worker.processes import (
    children_of,
    descriptors,
    is_running,
    resident_bytes,
    wait_until,
)

ROOT = Path(__file__).parents[3]


def start_parent() -> tuple[subprocess.Popen[str], list[int]]:
    """Start the parent script, and return it with the ids of all that it started."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.runtime.evaluation.parent_script"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    family = [int(word) for word in parent.stdout.readline().split()]
    assert len(family) == 4  # supervisor and runner, watcher and generator
    assert all(map(is_running, family))
    return parent, family


def test_interruption_in_the_middle_of_a_long_request():
    """KeyboardInterrupt at once, and the next evaluation works; nothing on standard error."""
    parent, family = start_parent()
    with parent:
        before = time.monotonic()
        parent.send_signal(signal.SIGINT)
        assert parent.stdout.readline() == "interrupted\n"
        assert time.monotonic() - before < 1.5
        assert parent.stdout.readline() == "ok\n"
        assert parent.wait(5) == 0
        assert parent.stderr.read() == ""
    assert wait_until(lambda: not any(map(is_running, family)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_parent_that_is_killed(number):
    parent, family = start_parent()
    with parent:
        parent.send_signal(number)
        assert parent.wait(5) == -number
        assert wait_until(lambda: not any(map(is_running, family)))


def test_either_process_may_be_killed_between_calls(own_evaluator):
    assert own_evaluator.evaluate(plain()).is_ok
    for _ in range(2):
        os.kill(own_evaluator._worker.process_id, signal.SIGKILL)
        assert own_evaluator.evaluate(plain(), fresh=True).is_ok
        os.kill(own_evaluator._compiler.process_id, signal.SIGKILL)
        assert own_evaluator.evaluate(plain(), fresh=True).is_ok


def test_parent_and_forked_child_both_go_on(own_evaluator):
    assert own_evaluator.evaluate(plain()).is_ok
    processes = own_evaluator._worker.process_id, own_evaluator._compiler.process_id
    child = os.fork()
    if child == 0:
        right = own_evaluator.evaluate(interchanged(), fresh=True).is_ok
        others = own_evaluator._worker.process_id, own_evaluator._compiler.process_id
        right = right and None not in others and not set(others) & set(processes)
        own_evaluator.close()
        os._exit(0 if right else 1)
    assert own_evaluator.evaluate(interchanged(), fresh=True).is_ok
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert own_evaluator.evaluate(plain(), fresh=True).is_ok
    assert (own_evaluator._worker.process_id, own_evaluator._compiler.process_id) == processes


def test_fork_while_a_thread_is_evaluating(own_evaluator):
    """The thread does not exist in the child, so its locks must not either."""
    assert own_evaluator.evaluate(plain()).is_ok
    stop = threading.Event()

    def keep_on() -> None:
        while not stop.is_set():
            own_evaluator.evaluate(plain(), fresh=True)

    thread = threading.Thread(target=keep_on)
    thread.start()
    try:
        for _ in range(3):
            time.sleep(0.02)
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(0 if own_evaluator.evaluate(interchanged(), fresh=True).is_ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_threads_share_an_evaluator(own_evaluator):
    evaluations = []

    def evaluate(shift: int) -> None:
        evaluations.append(own_evaluator.evaluate(interchanged(shift % 3)))

    threads = [threading.Thread(target=evaluate, args=(shift,)) for shift in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(evaluations) == 9
    assert all(evaluation.is_ok for evaluation in evaluations)
    assert len({id(evaluation) for evaluation in evaluations}) == 3


def test_threads_with_more_problems_than_stay_open(monkeypatch):
    """An evaluator that is closed in the middle of another thread's work loses nothing."""
    monkeypatch.setattr(module, "_shared", None)
    failures = []

    def evaluate(number: int) -> None:
        try:
            for shift in range(3):
                options = EvaluationOptions(timeout_factor=10.0 + (number + shift) % 7)
                assert evaluator_for(gemm(), options).evaluate(interchanged(number)).is_ok
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=evaluate, args=(number,)) for number in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    module._shared.worker.close()
    module._shared.compiler.close()


def evaluate_in_a_process(queue) -> None:
    """Run in a process of multiprocessing: report a status and the processes."""
    evaluator = evaluator_for(gemm(), EvaluationOptions())
    evaluation = evaluator.evaluate(interchanged())
    queue.put((evaluation.status.value, children_of(os.getpid())))
    time.sleep(60)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_inside_a_daemonic_process(method):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=evaluate_in_a_process, args=(queue,), daemon=True)
    process.start()
    status, family = queue.get()
    assert status == "ok"
    assert len(family) >= 2
    process.terminate()
    process.join(5)
    assert wait_until(lambda: not any(map(is_running, family)))
    process.close()


def test_many_evaluations_leave_nothing_behind(own_evaluator):
    """Good and crashing in turn: memory and descriptors stay flat.

    LLVM keeps some 0.1 to 0.3 MB of every compilation; the generator is replaced before it adds up.
    """
    bad = interchanged(5)
    own_evaluator._compiler = Imposter(bad, "  call void @llvm.trap()\n  unreachable")

    def alternate(count: int) -> None:
        for number in range(count // 2):
            assert own_evaluator.evaluate(interchanged(number % 4), fresh=True).is_ok
            assert own_evaluator.evaluate(bad, fresh=True).status is OutcomeStatus.CRASH

    def what_exists() -> tuple[int, ...]:
        processes = os.getpid(), own_evaluator._worker.process_id, *family
        return *processes, *map(descriptors, processes)

    alternate(20)
    watcher = own_evaluator._compiler.process_id
    family = watcher, *children_of(watcher)
    before, resident = what_exists(), [resident_bytes(exist) for exist in what_exists()[:4]]
    alternate(40)
    after = what_exists()
    assert after[:4] == before[:4]
    # A runner that waits or not makes a difference of two or three; a leak, of forty.
    assert all(now <= old + 4 for now, old in zip(after[4:], before[4:], strict=True))
    grown = [
        resident_bytes(process) - old for process, old in zip(before[:4], resident, strict=True)
    ]
    assert max(grown[:3]) < 4 * 2**20
    assert grown[3] < 40 * 2**19
    own_evaluator._compiler.close()


def test_no_word_on_standard_error(capfd, own_evaluator):
    own_evaluator.evaluate(interchanged())
    own_evaluator._compiler.close()
    own_evaluator.close()
    assert capfd.readouterr() == ("", "")
