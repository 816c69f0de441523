"""A compiler in a process of its own, with a time limit.

isl's code generation is worst-case exponential, in single calls that nothing can interrupt, and
LLVM can end a process. So both run in another process: a request that takes too long ends that
process, the answer is a failure, and the next request starts another one. The process belongs to
the one that started it: after a fork the child starts its own.

Compilers on several cores, for a batch of schedules before any is measured.

Generating code takes ten times as long as measuring it, and does not mind company; a clock does. So
a batch is compiled on all cores that a job has, each with a process of its own, and then measured
with nothing beside it. An evaluator that is given a :class:`CompilerPool` finds the code ready.

Some cores may be ``background_cores`` those that measure. Code of the next batch may be begun on
these, and on no others, while this one is measured; what is left of it then is done on all of them.

Example, cores 0 to 3, of which 0 measures and the others are beside it, batches A and B ::

    core 0      compile A   measure A    compile B   measure B
    cores 1-3   compile A   compile B    compile B
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from polygym.codegen.validate.order import WrongLoopsError
from polygym.errors import InputError, InternalError, LimitError, PolygymError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation.evaluation import default_memory
from polygym.runtime.worker.connection import AnswerTimeoutError, ConnectionLostError, OwnedServer
from polygym.runtime.worker.job_messages import Json
from polygym.runtime.worker.problem import CompiledProgram, Problem

Result = TypeVar("Result")

_SERVER = "polygym.runtime.evaluation.compile_server"

# A server that has grown beyond this is replaced after its answer.
_MAX_RESIDENT = 512 << 20

# The original order's code: short, but of the largest programs.
_PROBLEM_SECONDS = 300.0


OUT_OF_MEMORY = "MemoryError"
_LIMITS = {"Timeout", OUT_OF_MEMORY, LimitError.__name__, WrongLoopsError.__name__}
_DEFECTS = {"Crash", InternalError.__name__}
_MEMORY_MESSAGES = (
    "out of memory",
    "bad_alloc",
    "allocation failure",
    "MemoryError",
    "Cannot allocate",
)


@dataclass(frozen=True, slots=True)
class CompileFailure:
    """Why there is no code: the name of the error, and what it says."""

    error_type: str
    reason: str

    def as_error(self, what: str) -> PolygymError:
        """Return it as the error of what had to be compiled: a limit, a defect, or the input's.

        >>> CompileFailure("Timeout", "it took too long").as_error("gemm: ")
        LimitError('gemm: it took too long')
        """
        said = f"{what}{self.reason}"
        if self.error_type in _LIMITS:
            return LimitError(said)
        return InternalError(said) if self.error_type in _DEFECTS else InputError(said)


class Compiler:
    """Generates code in another process; requests of several threads follow one another."""

    def __init__(self, seconds: float = 5.0, memory: int | None = None) -> None:
        """Keep the usual limits; the process starts with the first request."""
        self.seconds = seconds
        self.memory = default_memory() if memory is None else memory
        self._server = OwnedServer(_SERVER)

    def compile_schedule(
        self,
        program: Program,
        schedule: Schedule,
        mapping: Mapping = SEQUENTIAL_MAPPING,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> CompiledProgram | CompileFailure:
        """Return the code of a legal schedule, or why there is none within these limits."""
        body: Json = {"task": "schedule", "schedule": str(schedule), "mapping": str(mapping)}
        if memory is not None:
            body["memory"] = memory
        answer = self._ask(body, program, self.seconds if seconds is None else seconds)
        return _expected(answer, CompiledProgram)

    def compile_problem(self, program: Program) -> Problem:
        """Return the program with its data and its original order, compiled.

        Raises:
            LimitError: it cannot be compiled within the limits.
            InternalError: a crash or a defect of the compiler's.
            InputError: the program cannot be compiled.
        """
        answer = self._ask({"task": "problem"}, program, _PROBLEM_SECONDS)
        if isinstance(answer, CompileFailure):
            raise answer.as_error(f"{program.name}: the original order does not compile: ")
        problem = _expected(answer, Problem)
        assert not isinstance(problem, CompileFailure)
        return problem

    def c_text(
        self, program: Program, schedule: Schedule, mapping: Mapping = SEQUENTIAL_MAPPING
    ) -> str | CompileFailure:
        """Return the C function of a legal schedule, or why there is none."""
        body = {"task": "c", "schedule": str(schedule), "mapping": str(mapping)}
        return _expected(self._ask(body, program, self.seconds), str)

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none that belongs to this one."""
        return self._server.process_id

    def end_process(self) -> None:
        """End the process at once, from another thread; the next request starts another one."""
        self._server.end_process()

    def close(self) -> None:
        """End the process; the next request starts another one."""
        with self._server.lock():
            self._server.kill()

    def __reduce__(self) -> tuple[Callable[[float, int], Compiler], tuple[float, int]]:
        """Copies and pickles share nothing but the limits."""
        return Compiler, (self.seconds, self.memory)

    def _ask(self, body: Json, program: Program, seconds: float) -> Any:
        """Return the server's result, or NotCompiled."""
        body = {"memory": self.memory, **body}
        with self._server.lock():
            try:
                return self._attempt(body, program, seconds)
            except AnswerTimeoutError:
                return CompileFailure("Timeout", f"generating code took more than {seconds:g} s")
            except ConnectionLostError as lost:
                if _mentions_memory(lost.said):
                    return _memory_failure(body)
                return CompileFailure("Crash", f"twice, {lost}")
            except InternalError as error:
                if _mentions_memory(str(error)):
                    return _memory_failure(body)
                return CompileFailure("InternalError", str(error))

    def _attempt(self, body: Json, program: Program, seconds: float) -> Any:
        packed = pickle.dumps(program)
        try:
            answer, results = self._server.connected().exchange(body, [packed], seconds)
        except ConnectionLostError:
            # It may have been killed while it waited; if it is the request, it ends again.
            answer, results = self._server.connected().exchange(body, [packed], seconds)
        if answer["resident"] > _MAX_RESIDENT:
            self._server.kill()
        kind, reason = answer.get("error_type", ""), answer.get("error", "")
        if kind == OUT_OF_MEMORY or (kind == InternalError.__name__ and _mentions_memory(reason)):
            # It went on, but the refused request may have left half of something.
            self._server.kill()
            return _memory_failure(body)
        if kind:
            return CompileFailure(kind, reason)
        return pickle.loads(results[0])


def _expected(answer: object, kind: type[Result]) -> Result | CompileFailure:
    if isinstance(answer, kind | CompileFailure):
        return answer
    raise InternalError(f"the compile server: expected {kind.__name__}, found {answer!r}")


def _memory_failure(body: Json) -> CompileFailure:
    limit = f"{body['memory'] / 2**20:,.0f} MiB"
    return CompileFailure(OUT_OF_MEMORY, f"generating code took more than {limit} of memory")


def _mentions_memory(said: str) -> bool:
    """Whether a process that was refused memory says so at its end: LLVM, C++, isl, Python."""
    return any(words in said for words in _MEMORY_MESSAGES)


_shared: Compiler | None = None


def shared_compiler(seconds: float = 5.0) -> Compiler:
    """Return the compiler of this process, with a time limit."""
    global _shared
    if _shared is None:
        _shared = Compiler(seconds)
    _shared.seconds = seconds
    return _shared


def c_text(
    program: Program,
    schedule: Schedule,
    mapping: Mapping = SEQUENTIAL_MAPPING,
    seconds: float = 10.0,
) -> str:
    """Return the C function of a schedule, or a comment that says why there is none."""
    failure = shared_compiler(seconds).c_text(program, schedule, mapping)
    return f"/* no code: {failure.reason} */" if isinstance(failure, CompileFailure) else failure


_POLL_SECONDS = 0.1


class _PendingCode:
    """Choices of a program that are waiting for their code, and who is at work on them."""

    def __init__(self) -> None:
        """Nothing is waiting."""
        self.waiting: deque[tuple[Schedule, Mapping]] = deque()
        self.taken: set[tuple[Schedule, Mapping]] = set()
        self.workers: set[Future[None]] = set()


class CompilerPool(Compiler):
    """As many compilers as cores, which look like one."""

    def __init__(
        self,
        seconds: float,
        cores: Sequence[int],
        memory: int | None = None,
        background_cores: Sequence[int] = (),
    ) -> None:
        """Keep the limits of a schedule; the processes start when they are needed.

        ``background_cores`` are those of the cores that may be at work while others measure.
        """
        super().__init__(seconds, memory)
        self._ready: dict[tuple[Schedule, Mapping], CompiledProgram | CompileFailure] = {}
        self._own = threading.local()
        self._all: list[Compiler] = []
        self._begun: _PendingCode | None = None
        among = [core for core in cores if core not in background_cores]
        self._beside = [self._pool(background_cores)] if background_cores else []
        self._pools = [
            *([self._pool(among)] if among or not background_cores else []),
            *self._beside,
        ]

    def _pool(self, cores: Sequence[int]) -> tuple[ThreadPoolExecutor, int]:
        """Return threads that have a core each, and how many they are."""
        free: SimpleQueue[int] = SimpleQueue()
        for core in cores:
            free.put(core)
        count = max(1, len(cores))
        return ThreadPoolExecutor(count, "compile", self._begin_thread, (free,)), count

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that have been started and are alive."""
        result = (compiler.process_id for compiler in self._all)
        return tuple(process for process in result if process is not None)

    def prefetch(self, program: Program, choices: Sequence[tuple[Schedule, Mapping]]) -> None:
        """Begin with the code of schedules that will be asked for, beside what is measured.

        The next call of :meth:`compile_all` waits for it, or ends it.
        """
        assert self._begun is None, "expected one batch to be begun at a time"
        self._begun = self._work_on(_PendingCode(), program, choices, self._beside)

    def compile_all(
        self,
        program: Program,
        choices: Sequence[tuple[Schedule, Mapping]],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Generate the code of schedules under mappings, which will be asked for.

        Return whether all was done. It is not if ``is_stopped`` says so first.
        """
        work, self._begun = self._begun or _PendingCode(), None
        self._work_on(work, program, choices, self._pools)
        waiting = work.workers
        try:
            while waiting:
                done, waiting = wait(waiting, _POLL_SECONDS)
                for future in done:
                    future.result()
                if waiting and is_stopped():
                    return False
            return True
        finally:
            work.waiting.clear()  # whatever ends this, no other one begins

    def _work_on(
        self,
        work: _PendingCode,
        program: Program,
        choices: Sequence[tuple[Schedule, Mapping]],
        pools: Sequence[tuple[ThreadPoolExecutor, int]],
    ) -> _PendingCode:
        """Have threads take choices one after the other, until none is waiting."""
        for candidate in choices:
            if candidate not in work.taken and candidate not in self._ready:
                work.taken.add(candidate)
                work.waiting.append(candidate)

        def take() -> None:
            compiler: Compiler = self._own.compiler
            with suppress(IndexError):
                while True:
                    choice = work.waiting.popleft()
                    self._ready[choice] = compiler.compile_schedule(program, *choice)

        left = len(work.waiting)
        for pool, count in pools:
            work.workers |= {pool.submit(take) for _ in range(min(count, left))}
        return work

    def is_ready(self, choice: tuple[Schedule, Mapping]) -> bool:
        """Whether the code of a schedule under a mapping has been generated, and not asked for."""
        return choice in self._ready

    def compile_schedule(
        self,
        program: Program,
        schedule: Schedule,
        mapping: Mapping = SEQUENTIAL_MAPPING,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> CompiledProgram | CompileFailure:
        """Return code that is ready, or have it generated now."""
        if (schedule, mapping) not in self._ready:
            self.compile_all(program, [(schedule, mapping)])
        return self._ready.pop((schedule, mapping))

    def compile_problem(self, program: Program) -> Problem:
        """Return the program with its data and its original order, compiled."""

        def ask() -> Problem:
            compiler: Compiler = self._own.compiler
            return compiler.compile_problem(program)

        return self._pools[0][0].submit(ask).result()

    def close(self) -> None:
        """End the threads, after what they are doing, and the processes."""
        if self._begun is not None:
            self._begun.waiting.clear()
        for pool, _ in self._pools:
            pool.shutdown(cancel_futures=True)
        for compiler in self._all:
            compiler.close()

    def _begin_thread(self, cores: SimpleQueue[int]) -> None:
        """Give a thread a compiler and a core; its process will be on the same core."""
        if not cores.empty():
            pin_to_cores((cores.get(),))
        self._own.compiler = Compiler(self.seconds, self.memory)
        self._all.append(self._own.compiler)


def pin_to_cores(cores: Sequence[int]) -> None:
    """Keep this thread, and the processes that it starts, on some cores, where that is allowed."""
    with suppress(OSError):
        os.sched_setaffinity(0, cores)
