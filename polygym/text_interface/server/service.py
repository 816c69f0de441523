"""Tools on sessions, one call after the other.

A service has several sessions; their calls follow one another, so that nothing of its own runs
beside a measurement. A call never raises an error: its result says what was wrong. Another thread
may cancel a call. What a client sends is decided within limits: programs are loaded, and schedules
given as text are checked, in a copy of the process first, which has a limit on time and memory.
Code runs in the worker process only, and a measurement that takes too long, or is cancelled, ends
with that process.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from polybench import Dataset
from polygym.closeable import Closeable
from polygym.errors import InputError, LimitError, PolygymError
from polygym.frontend.c.source.readable_files import files_below
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.transform.storage.memory_cost import array_bytes
from polygym.programs import Program
from polygym.runtime.evaluation import EvaluationOptions, c_text
from polygym.runtime.evaluation.evaluator import close_shared_evaluators, kill_shared_processes
from polygym.runtime.evaluation.forked_timeout import StoppedError, run_forked
from polygym.text_interface.commands import Help, is_step, parse_command
from polygym.text_interface.help_text import ascii_text, help_text
from polygym.text_interface.judgement import StoredPrograms
from polygym.text_interface.replies import schedule_section
from polygym.text_interface.server.limits import ServerLimits
from polygym.text_interface.server.program_files import program_target, region_name
from polygym.text_interface.server.tool_table import TOOL_NAMED
from polygym.text_interface.session import (
    Budget,
    Reply,
    ReplyStatus,
    SessionOptions,
    TextSession,
    open_session,
)
from polygym.text_interface.transcripts import transcript_of
from polygym.transformations.steps import Stop

CANCELLED = "cancelled"
FAILED = "failed"

_TICK_SECONDS = 0.05
_PROGRESS_SECONDS = 1.0
_ADVICE = "the server has this limit"
# Lines with texts that isl reads: numbers in them may be as large as a client likes.
_ISL_TEXT = re.compile(r"\s*(?:(?:explain|check)\s+)?(?:schedule|split|store)\b")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: whether it did what was asked, a status, the text, more by name."""

    is_ok: bool
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Call:
    """A call that another thread may cancel; ``progress`` is told seconds and what is done."""

    progress: Callable[[float, str], None] = lambda _seconds, _text: None
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_cancelled(self) -> bool:
        """Whether it has been cancelled."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Cancel it: a measurement ends at once, anything else after what it is doing."""
        self._cancelled.set()


class ToolService(Closeable):
    """Sessions by name, and the tools on them; calls come from one thread."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._sessions: dict[str, TextSession] = {}
        self._number = 0

    def close(self) -> None:
        """End all sessions and the processes that measure."""
        self._sessions.clear()
        close_shared_evaluators()

    def call(self, tool: object, arguments: object, call: Call | None = None) -> ToolResult:
        """Do what a client asks, and return the result, whatever it is."""
        call = call or Call()
        try:
            if call.is_cancelled:
                return ToolResult(False, CANCELLED, "cancelled before it began")
            if not isinstance(tool, str) or tool not in TOOL_NAMED:
                shown = tool[:80] if isinstance(tool, str) else type(tool).__name__
                names = ", ".join(TOOL_NAMED)
                raise InputError(f"expected one of the tools {names}, found {shown!r}")
            given = TOOL_NAMED[tool].check(arguments)
            return self._call(tool, given, call)
        except StoppedError:
            return ToolResult(False, CANCELLED, "cancelled")
        except LimitError as error:
            return _failure(ReplyStatus.LIMIT.value, error)
        except PolygymError as error:
            return _failure(ReplyStatus.NOT_UNDERSTOOD.value, error)
        except Exception as error:  # a client must not be able to end the server
            return _failure(FAILED, error)

    def _call(self, tool: str, given: dict[str, Any], call: Call) -> ToolResult:
        match tool:
            case "load":
                return self._load(given, call)
            case "help":
                topic = parse_command(f"help {given.get('command', '')}")
                assert isinstance(topic, Help)
                return ToolResult(True, ReplyStatus.OK.value, help_text(topic.topic))
            case _:
                name = given["session"]
                session = self._session(name)
        match tool:
            case "close":
                del self._sessions[name]
                return ToolResult(True, ReplyStatus.OK.value, f"{name} is closed")
            case "export":
                return self._export(session, given.get("format", "transcript"))
            case "measure":
                return self._measure(session, tool, call)
            case "transform":
                return self._transform(session, given["step"], call)
            case _:
                return self._say(session, _line(tool, given), call)

    def _session(self, name: str) -> TextSession:
        if name not in self._sessions:
            known = ", ".join(self._sessions) or "none: load a program first"
            raise InputError(f"session: expected one of {known}, found {name[:80]!r}")
        return self._sessions[name]

    # Tools

    def _load(self, given: dict[str, Any], call: Call) -> ToolResult:
        limits = self._limits
        if len(self._sessions) >= limits.sessions:
            raise LimitError(
                f"expected at most {limits.sessions} sessions, found as many: close one of "
                f"{', '.join(self._sessions)}"
            )
        source = ProgramSource(
            program_target(given["program"], limits),
            region_name(given.get("function")),
            Dataset[given.get("dataset", "medium").upper()],
            tuple(given.get("parameters", {}).items()),
        )
        threads = given.get("threads", 1)
        if threads > limits.threads:
            raise InputError(f"threads: expected at most {limits.threads}, found {threads}")
        budget = Budget(
            min(limits.evaluations, given.get("evaluations", limits.evaluations)),
            min(limits.seconds, float(given.get("seconds", limits.seconds))),
            limits.lines,
        )
        options = SessionOptions(
            evaluation=EvaluationOptions(threads, mapping=DEFAULT_MAPPING),
            memory_limit=limits.memory,
            budget=budget,
        )
        with self._readable_files():
            self._try_first("loading the program", partial(_opened, source, options, limits), call)
            session = _opened(source, options, limits)
        self._number += 1
        name = f"s{self._number}"
        self._sessions[name] = session
        data = {"session": name}
        return ToolResult(True, ReplyStatus.OK.value, f"session {name}\n{session.show()}", data)

    def _transform(self, session: TextSession, line: str, call: Call) -> ToolResult:
        command = parse_command(line)
        if not is_step(command):
            word = str(command).split()[0]
            raise InputError(
                f"transform: expected a step, found {word}, which is a tool of its own"
            )
        if isinstance(command, Stop):
            return self._measure(session, line, call)
        return self._say(session, line, call)

    def _say(self, session: TextSession, line: str, call: Call) -> ToolResult:
        """Send a line to a session, and first to a copy of it where isl reads a text."""
        if _ISL_TEXT.match(line):
            self._try_first("deciding about the line", lambda: len(session.reply(line).text), call)
        return _result(session.reply(line))

    def _export(self, session: TextSession, format_name: str) -> ToolResult:
        state = session.state
        match format_name:
            case "transcript":
                text = json.dumps(transcript_of(session), indent=1)
            case "c":
                programs = StoredPrograms(session.problem.program, self._limits.memory)
                text = c_text(programs.of(state), state.schedule, state.mapping)
            case _:
                text = schedule_section(state)
        return ToolResult(True, ReplyStatus.OK.value, ascii_text(text))

    def _measure(self, session: TextSession, line: str, call: Call) -> ToolResult:
        """Send a line that measures, and end the measurement in time."""
        budget = session.options.budget
        left = self._limits.measure_seconds
        if budget.seconds is not None:
            left = min(left, max(1.0, budget.seconds - session.seconds))
        with _watched(call, left) as watch:
            reply = session.reply(line)
        if watch.was_ended:
            # Code that was ended from outside looks like code that crashed: nobody remembers it.
            session.forget_outcome()
            close_shared_evaluators()
        if watch.was_ended and call.is_cancelled:
            return ToolResult(False, CANCELLED, "cancelled: the measurement was ended")
        if watch.was_ended:
            text = f"a limit was reached: the measurement was ended after {left:.0f} s"
            return ToolResult(False, ReplyStatus.LIMIT.value, text)
        result = _result(reply)
        found = session.last
        if found is None or not result.is_ok:
            return result
        data = {
            "outcome": found.status,
            "seconds": found.seconds,
            "baseline_seconds": found.baseline_seconds,
            "speedup": found.worth,
        }
        return ToolResult(found.is_ok, result.status, result.text, data)

    # Limits

    def _readable_files(self) -> Any:
        root = self._limits.root
        return nullcontext() if root is None else files_below(root)

    def _try_first(self, purpose: str, work: Callable[[], object], call: Call) -> None:
        """Do something in a copy of this process, which has limits on time and memory.

        Raises:
            LimitError: it took too much of one.
            StoppedError: the call was cancelled.
            PolygymError: what it raises.
        """
        limits = self._limits

        def quiet() -> None:
            work()

        run_forked(
            purpose,
            quiet,
            limits.work_seconds,
            _ADVICE,
            lambda: call.is_cancelled,
            memory=limits.work_memory,
        )


def _opened(source: ProgramSource, options: SessionOptions, limits: ServerLimits) -> TextSession:
    session = open_session(source, options)
    _expect_memory(session.problem.program, limits)
    session.show()
    return session


def _expect_memory(program: Program, limits: ServerLimits) -> None:
    sizes = dict(program.parameters)
    taken = sum(array_bytes(array, sizes) for array in program.scop.arrays)
    if taken > limits.memory:
        raise LimitError(
            f"program: expected arrays of at most {limits.memory:,} bytes, found {taken:,}; "
            "load it with a smaller dataset or smaller parameters"
        )


def _line(tool: str, given: dict[str, Any]) -> str:
    """Return the line of a session that a tool stands for."""
    match tool:
        case "show":
            return f"show {given.get('part', '')}".strip()
        case "steps":
            return f"steps {given.get('kind', '')}".strip()
        case "check" | "explain":
            return f"{tool} {given['step']}"
        case _:
            return tool


def _result(reply: Reply) -> ToolResult:
    return ToolResult(reply.status is ReplyStatus.OK, reply.status.value, reply.text)


def _failure(status: str, error: Exception) -> ToolResult:
    text = str(error)
    if not isinstance(error, PolygymError):
        text = f"internal error: {type(error).__name__}: {' '.join(text.split())[:500]}"
    return ToolResult(False, status, ascii_text(text)[:4000])


@dataclass(eq=False)
class _Watch:
    """Whether a measurement was ended from outside."""

    was_ended: bool = False


@contextmanager
def _watched(call: Call, seconds: float) -> Iterator[_Watch]:
    """Inside, a thread tells the progress, and ends the worker when the time is over."""
    watch, done, start = _Watch(), threading.Event(), time.monotonic()

    def run() -> None:
        told = 0.0
        call.progress(0.0, "compiling and measuring")
        while not done.wait(_TICK_SECONDS):
            passed = time.monotonic() - start
            if call.is_cancelled or passed > seconds:
                watch.was_ended = True
                kill_shared_processes()
            elif passed - told >= _PROGRESS_SECONDS:
                told = passed
                call.progress(passed, "compiling and measuring")

    thread = threading.Thread(target=run, name="measurement watch", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join()
