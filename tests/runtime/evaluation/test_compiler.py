"""The compiler's process: ended, replaced, limited, shared; what it says when it fails."""

import copy
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.errors import InputError, InternalError, LimitError
from polygym.programs import load_program
from polygym.runtime.evaluation import Compiler
from polygym.runtime.evaluation import compiler as module
from polygym.runtime.evaluation.compiler import CompileFailure
from polygym.runtime.worker.outcome import WorkerError
from polygym.runtime.worker.problem import CompiledProgram, Problem
from tests.runtime.evaluation.programs import cholesky, endless, gemm, illegal, interchanged, plain
from tests.runtime.worker.processes import children_of, is_running, wait_until

TIMEOUT = CompileFailure("Timeout", "generating code took more than 0.5 s")


@pytest.fixture
def compiler():
    compiler = Compiler(seconds=5.0)
    yield compiler
    compiler.close()


def family_of(compiler: Compiler) -> list[int]:
    """Return the ids of a compiler's two processes: the watcher, the generator."""
    watcher = compiler.process_id
    assert watcher is not None
    (generator,) = children_of(watcher)
    return [watcher, generator]


def is_gone(family: list[int]) -> bool:
    return wait_until(lambda: not any(map(is_running, family)))


def works(compiler: Compiler) -> bool:
    return isinstance(compiler.compile_schedule(gemm(), plain()), CompiledProgram)


def test_what_it_makes(compiler):
    assert compiler.process_id is None
    problem = compiler.compile_problem(gemm())
    assert isinstance(problem, Problem)
    program = compiler.compile_schedule(gemm(), interchanged())
    assert isinstance(program, CompiledProgram)
    assert program.object_code.startswith(b"\x7fELF")
    assert program.buffers == problem.original.buffers
    assert "for (" in compiler.c_text(gemm(), interchanged())


def test_same_process_for_all_requests(compiler):
    assert works(compiler)
    family = family_of(compiler)
    assert compiler.compile_schedule(gemm(), illegal()).error_type == "IllegalScheduleError"
    assert works(compiler)
    assert family_of(compiler) == family


def test_time_limit_ends_the_process_and_the_next_one_works(compiler):
    assert works(compiler)
    family = family_of(compiler)
    before = time.monotonic()
    assert compiler.compile_schedule(cholesky(), endless(), seconds=0.5) == TIMEOUT
    assert time.monotonic() - before < 2.0
    assert is_gone(family)
    assert works(compiler)


def test_time_limit_of_the_c_text():
    compiler = Compiler(seconds=0.5)
    assert compiler.c_text(cholesky(), endless()) == TIMEOUT
    compiler.close()


@pytest.mark.parametrize("which", [0, 1], ids=["watcher", "generator"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_killed_while_it_waits(compiler, which, number):
    assert works(compiler)
    family = family_of(compiler)
    os.kill(family[which], number)
    assert works(compiler)
    assert compiler.process_id not in family
    assert is_gone(family)


def test_interruption_signal_does_not_reach_it(compiler):
    assert works(compiler)
    family = family_of(compiler)
    for process in family:
        os.kill(process, signal.SIGINT)
    assert works(compiler)
    assert family_of(compiler) == family
    assert os.getsid(family[0]) == family[0] != os.getsid(0)


@contextmanager
def killed_while_it_works(compiler: Compiler, times: int) -> Iterator[list[int]]:
    """Inside, generators are killed, each after a fifth of a second of work; so many of them.

    What is given has the watchers and the generators that were killed. A request that ends, however
    it does, before that many were, is a failure and no endless wait.
    """
    seen: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        while len(seen) < 2 * times and not is_over.wait(0.01):
            watcher = compiler.process_id
            children = children_of(watcher) if watcher else []
            for generator in children:
                if generator not in seen and seconds_of(generator) > 0.2:
                    seen.extend([watcher, generator])
                    os.kill(generator, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield seen
    finally:
        is_over.set()
        killer.join()
    assert len(seen) == 2 * times, "the request had ended before"


def seconds_of(process: int) -> float:
    """Return how long a process has computed."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_killed_twice_in_the_middle_of_a_request(compiler):
    """The repeated request is killed as well, and that is a failure like any other."""
    with killed_while_it_works(compiler, 2) as seen:
        failure = compiler.compile_schedule(cholesky(), endless(), seconds=20.0)
    assert failure == CompileFailure("Crash", "twice, the compile server ended: SIGKILL")
    assert is_gone(seen)
    assert works(compiler)


def test_killed_once_in_the_middle_of_a_request(compiler):
    """The request is repeated, and ends as it would have."""
    with killed_while_it_works(compiler, 1) as seen:
        failure = compiler.compile_schedule(cholesky(), endless(), seconds=3.0)
    assert failure.error_type == "Timeout"
    assert is_gone(seen)
    assert works(compiler)


def test_a_request_that_ends_before_it_is_killed_is_a_failure_of_the_test(compiler):
    with (
        pytest.raises(AssertionError, match="had ended before"),
        killed_while_it_works(compiler, 9),
    ):
        assert works(compiler)


def test_process_that_has_grown_is_replaced(compiler, monkeypatch):
    assert works(compiler)
    family = family_of(compiler)
    monkeypatch.setattr(module, "_MAX_RESIDENT", 1)
    assert works(compiler)
    assert compiler.process_id is None
    assert is_gone(family)
    monkeypatch.undo()
    assert works(compiler)
    assert compiler.process_id not in family


def test_memory_is_limited(compiler):
    assert works(compiler)
    _, generator = family_of(compiler)
    assert resource.prlimit(generator, resource.RLIMIT_AS)[0] == 2 * 2**30
    # Whether Python, isl or LLVM is refused first: it is an answer, and the next one is good, also
    # where code goes on with half of something (LLVM, when deriche is compiled).
    deriche = load_program("deriche", dataset=Dataset.MINI)
    for program, megabytes in ((cholesky(), -50), (cholesky(), -10), (deriche, -10)):
        limit = address_space(generator) + megabytes * 2**20
        failure = compiler.compile_schedule(program, plain(program), seconds=60.0, memory=limit)
        says = f"generating code took more than {limit / 2**20:,.0f} MiB of memory"
        assert failure == CompileFailure("MemoryError", says)
        assert compiler.process_id is None
        assert works(compiler)
        _, generator = family_of(compiler)


def address_space(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def test_defect_in_the_process_is_a_failure_with_its_traceback(compiler):
    """A request that it does not know stands for all that it does not expect."""
    assert works(compiler)
    family = family_of(compiler)
    failure = compiler._ask({"task": "sing"}, gemm(), 5.0)
    assert failure.error_type == "InternalError"
    assert failure.reason.startswith("the compile server failed: Traceback")
    assert failure.reason.endswith("KeyError: 'sing'")
    assert is_gone(family)
    assert works(compiler)


def test_original_that_does_not_compile_is_an_error(compiler, monkeypatch):
    monkeypatch.setattr(module, "_PROBLEM_SECONDS", 1e-9)
    with pytest.raises(LimitError, match="gemm: the original order does not compile: generating"):
        compiler.compile_problem(gemm())


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("MemoryError", LimitError),
        ("WrongLoopsError", LimitError),
        ("Crash", InternalError),
        ("InternalError", InternalError),
        ("SourceError", InputError),
    ],
)
def test_why_the_original_does_not_compile_is_told_by_kind(compiler, monkeypatch, kind, error):
    """What is out of reach is no defect, and a defect is none of the input's."""
    monkeypatch.setattr(compiler, "_ask", lambda *_: CompileFailure(kind, "for a test"))
    with pytest.raises(error, match="gemm: the original order does not compile: for a test") as it:
        compiler.compile_problem(gemm())
    assert type(it.value) is error


def test_one_that_cannot_start_says_why(compiler, monkeypatch):
    path = [entry for entry in sys.path if "-packages" not in entry]
    monkeypatch.setattr(sys, "path", path)
    with pytest.raises(WorkerError, match=r"(?s)the compile server does not start .*No module"):
        compiler.compile_schedule(gemm(), plain())
    monkeypatch.undo()
    assert works(compiler)


def test_it_outlives_the_thread_that_started_it(compiler):
    thread = threading.Thread(target=works, args=(compiler,))
    thread.start()
    thread.join()
    family = family_of(compiler)
    assert not wait_until(lambda: not all(map(is_running, family)), seconds=0.2)
    assert works(compiler)
    assert family_of(compiler) == family


def test_threads_take_turns(compiler):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(works(compiler))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 6
    assert len(family_of(compiler)) == 2


def test_copies_share_nothing_but_the_limit(compiler):
    compiler.seconds = 4.0
    assert works(compiler)
    for other in (copy.deepcopy(compiler), pickle.loads(pickle.dumps(compiler))):
        assert (other.seconds, other.process_id) == (4.0, None)
        assert works(other)
        assert other.process_id != compiler.process_id
        other.close()
    assert is_running(compiler.process_id)


def test_it_ends_with_its_object():
    compiler = Compiler()
    assert works(compiler)
    family = family_of(compiler)
    del compiler
    assert is_gone(family)


def test_c_text_of_the_package():
    assert "for (" in module.c_text(gemm(), interchanged())
    text = module.c_text(cholesky(), endless(), seconds=0.5)
    assert text == f"/* no code: {TIMEOUT.reason} */"
