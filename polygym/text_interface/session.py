"""Text sessions: one program, its state, a budget; a line in, a reply out.

    session = open_session(ProgramSource("gemm", None, Dataset.MEDIUM, ()))
    print(session.reply("interchange L3 L4").text)
    print(session.reply("measure").text)

Every line has a reply with a status; no line raises an error. A refused step leaves the state as it
is, and its reply says why: the dependence and a counterexample, the nearest legal steps, or the
expected form. All texts are ASCII.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from polygym.errors import InputError, LimitError, PolygymError
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem, load_problem, problem_of
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import TaskOptions
from polygym.pickling import pickle_by_name
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.runtime.evaluation import EvaluationOptions
from polygym.text_interface import replies
from polygym.text_interface.commands import (
    Best,
    Check,
    Command,
    Explain,
    Help,
    Measure,
    Part,
    Show,
    Steps,
    parse_command,
)
from polygym.text_interface.help_text import ascii_text, help_text
from polygym.text_interface.judgement import Judge, Judgement, judge_of
from polygym.text_interface.step_lists import grouped_text, steps_of_kind
from polygym.transformations.candidates import legal_steps
from polygym.transformations.state import IllegalStepError, TransformProgram, TransformState
from polygym.transformations.steps import Step, Stop, Undo
from polygym.transformations.tree_steps import UnavailableStepError

LONGEST_REPLY = 60_000
"""Characters of a reply; what is longer is cut off with a note."""

DEFAULT_EVALUATIONS = 20
DEFAULT_LINES = 500


class ReplyStatus(Enum):
    """The kinds of replies; the value is how it is written."""

    OK = "ok"
    ILLEGAL = "illegal"
    UNAVAILABLE = "unavailable"
    NOT_UNDERSTOOD = "not understood"
    LIMIT = "limit"
    NO_BUDGET = "no budget"
    OVER = "over"

    @property
    def is_refusal(self) -> bool:
        """Whether the line was refused: it changed nothing and answered nothing."""
        return self is not ReplyStatus.OK


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a line."""

    status: ReplyStatus
    text: str


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of a session: evaluations, seconds of its own work, lines; None is unbounded."""

    evaluations: int = DEFAULT_EVALUATIONS
    seconds: float | None = None
    lines: int | None = DEFAULT_LINES


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of a session: what a measurement is, and the budget."""

    reward: RewardKind = RewardKind.SPEEDUP
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    budget: Budget = Budget()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a session with the status of its reply, the state after it, and what was found."""

    line: str
    status: ReplyStatus
    state: TransformState
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class BestFound:
    """The best program of a session: its state and how it was judged."""

    state: TransformState
    judgement: Judgement


class TextSession:
    """One program that is transformed and measured line by line."""

    def __init__(
        self,
        problem: ScheduleProblem,
        options: SessionOptions | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.problem = problem
        self.options = options or SessionOptions()
        self.state = _transform_program(problem, self.options.memory_limit).start(
            self.options.evaluation.mapping
        )
        self.history: list[Entry] = []
        self.best: BestFound | None = None
        self.last: Judgement | None = None
        self.evaluations = 0
        self.seconds = 0.0
        self.lines = 0
        self._judge = judge or judge_of(
            self.options.reward, problem, self.options.evaluation, self.options.memory_limit
        )
        self._judged: dict[object, Judgement] = {}
        self._steps: tuple[TransformState, tuple[Step, ...]] | None = None

    @property
    def is_over(self) -> bool:
        """Whether ``stop`` was said, or the budget is used up."""
        return self.state.is_over or self.is_used_up

    @property
    def is_used_up(self) -> bool:
        """Whether a bound of the budget is reached."""
        budget = self.options.budget
        return (
            self.evaluations >= budget.evaluations
            or (budget.seconds is not None and self.seconds >= budget.seconds)
            or (budget.lines is not None and self.lines >= budget.lines)
        )

    @property
    def is_measured(self) -> bool:
        """Whether programs are run, not scored."""
        return self._judge.is_measured

    @property
    def final_judgement(self) -> Judgement | None:
        """The judgement of the program as it is now; None where it has not been judged."""
        return self._judged.get(_key(self.state))

    def reply(self, line: str) -> Reply:
        """Return the reply to a line."""
        start = time.monotonic()
        before, judged, is_used_up = self.state, self.last, self.is_used_up
        self.lines += 1
        try:
            reply = self._reply(line, is_used_up=is_used_up)
        except LimitError as error:
            reply = Reply(ReplyStatus.LIMIT, f"a limit was reached: {error}")
        except PolygymError as error:
            reply = Reply(ReplyStatus.NOT_UNDERSTOOD, str(error))
        except RecursionError:
            reply = Reply(ReplyStatus.LIMIT, "a limit was reached: the line nests too deeply")
        finally:
            self.seconds += time.monotonic() - start
        found = self.last if self.last is not judged else None
        if not is_used_up or self.state is not before:  # or it might grow without end
            self.history.append(Entry(line, reply.status, self.state, found))
        text = ascii_text(reply.text)
        if len(text) > LONGEST_REPLY:
            text = f"{text[:LONGEST_REPLY]}\n... cut off after {LONGEST_REPLY} characters"
        return Reply(reply.status, text)

    def judge_now(self) -> Judgement:
        """Judge the program as it is, at no cost to the budget."""
        key = _key(self.state)
        if key not in self._judged:
            self._judged[key] = self._judge.judge(self.state)
        judgement = self._judged[key]
        # A new value each time, so that a line shows that it has judged.
        self.last = replace(judgement)
        if judgement.is_ok and (self.best is None or judgement.worth > self.best.judgement.worth):
            self.best = BestFound(self.state, judgement)
        return judgement

    def forget_outcome(self) -> None:
        """Forget what the last line has measured, which was ended from outside."""
        self._judged.pop(_key(self.state), None)
        self.last = None
        entry = self.history[-1]
        self.history[-1] = replace(entry, status=ReplyStatus.LIMIT, judgement=None)

    def legal_steps(self) -> tuple[Step, ...]:
        """Return the legal steps among the candidates of the state."""
        if self._steps is None or self._steps[0] is not self.state:
            self._steps = (self.state, tuple(step for step, _ in legal_steps(self.state)))
        return self._steps[1]

    def skip(self, line: str, status: ReplyStatus) -> None:
        """Note a line that changes nothing, as a replay does with one that a limit has ended."""
        self.lines += 1
        self.history.append(Entry(line, status, self.state))

    def fork(self) -> TextSession:
        """Return an independent session in the same state."""
        other = copy.copy(self)
        other.history, other._judged = list(self.history), dict(self._judged)
        return other

    # One line

    def _reply(self, line: str, *, is_used_up: bool) -> Reply:
        try:
            command = parse_command(line)
        except InputError as error:
            return Reply(ReplyStatus.NOT_UNDERSTOOD, str(error))
        if self.state.is_over and not isinstance(command, Show | Best | Help):
            return Reply(ReplyStatus.OVER, "the session is over: expected no line after stop")
        if is_used_up and not isinstance(command, Show | Best | Help | Stop):
            return Reply(ReplyStatus.NO_BUDGET, f"the budget is used up: {self.budget_text()}")
        return self._answer(command)

    def _answer(self, command: Command) -> Reply:
        match command:
            case Show(part):
                return Reply(ReplyStatus.OK, self.show(part))
            case Steps(kind):
                return Reply(ReplyStatus.OK, self._steps_text(kind))
            case Help(topic):
                return Reply(ReplyStatus.OK, help_text(topic))
            case Explain(step):
                reply = self._try(step, self._explained)
                if reply.status is ReplyStatus.ILLEGAL:
                    more = replies.involved_dependences(self.state, step)
                    return Reply(reply.status, "\n".join([reply.text, *more]))
                return reply
            case Check(step):
                return self._try(step, lambda step, _: f"legal: {step}")
            case Measure():
                return self._measure()
            case Best():
                return Reply(ReplyStatus.OK, self._best_text())
            case Stop():
                self.state = self.state.after(command)
                judgement = self.judge_now()
                return Reply(ReplyStatus.OK, f"stopped; the program as it is: {judgement}")
            case _:
                return self._try(command, self._taken)

    def _try(self, step: Step, then: Callable[[Step, TransformState], str]) -> Reply:
        """Answer about a step: by a function where it is legal, else with the reason."""
        try:
            after = self.state.after(step)
        except IllegalStepError as error:
            return Reply(ReplyStatus.ILLEGAL, replies.illegal_text(self.state, step, str(error)))
        except UnavailableStepError as error:
            text = replies.unavailable_text(step, str(error), self.legal_steps())
            return Reply(ReplyStatus.UNAVAILABLE, text)
        return Reply(ReplyStatus.OK, then(step, after))

    def _taken(self, step: Step, after: TransformState) -> str:
        before, self.state = self.state, after
        done = "undone" if isinstance(step, Undo) else f"done: {step}"
        return f"{done}\n{replies.change_text(before, after)}"

    def _explained(self, step: Step, after: TransformState) -> str:
        return replies.explanation_text(self.state, step, after)

    def _measure(self) -> Reply:
        is_known = _key(self.state) in self._judged
        judgement = self.judge_now()
        if not is_known:
            self.evaluations += 1
        note = " (known from before, at no cost)" if is_known else ""
        return Reply(ReplyStatus.OK, f"{judgement}{note}\nLeft: {self.budget_text()}")

    # Texts

    def show(self, part: Part = Part.ALL) -> str:
        """Return the text of ``show``."""
        sections: list[tuple[Part, str, Callable[[], str]]] = [
            (Part.PROGRAM, self._title(), lambda: replies.program_section(self.state)),
            (Part.DEPENDENCES, "Dependences", lambda: replies.dependence_section(self.state)),
            (Part.SCHEDULE, "Schedule", lambda: replies.schedule_section(self.state)),
            (Part.OUTCOME, "Last outcome", self._outcome_text),
            (Part.BUDGET, "Left", self.budget_text),
        ]
        chosen = [row for row in sections if part in (Part.ALL, row[0])]
        return ascii_text("\n\n".join(f"{title}:\n{text()}" for _, title, text in chosen))

    def budget_text(self) -> str:
        """Return what is left of the budget.

        Seconds are left out where they are unbounded, so that the text depends on the lines alone.
        """
        budget = self.options.budget
        left = [f"{max(0, budget.evaluations - self.evaluations)} evaluations"]
        if budget.seconds is not None:
            left.append(f"{max(0.0, budget.seconds - self.seconds):.1f} s")
        if budget.lines is not None:
            left.append(f"{max(0, budget.lines - self.lines)} lines")
        return ", ".join(left)

    def _title(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.problem.program.parameters)
        return f"Program {self.problem.program.name} ({sizes})" if sizes else "Program"

    def _best_text(self) -> str:
        if self.best is None:
            return "none: nothing has been measured yet"
        return replies.best_text(self.best.state, self.best.judgement)

    def _outcome_text(self) -> str:
        return "none yet" if self.last is None else str(self.last)

    def _steps_text(self, kind: str) -> str:
        steps = self.legal_steps()
        if not kind:
            return f"{len(steps)} legal steps:\n{grouped_text(steps)}"
        chosen = steps_of_kind(steps, kind)
        lines = "".join(f"\n  {step}" for step in chosen)
        return f"{len(chosen)} legal steps of the kind {kind}:{lines}"


def open_session(
    source: ProgramSource, options: SessionOptions | None = None, judge: Judge | None = None
) -> TextSession:
    """Load a program and begin a session.

    Raises:
        InputError: the program cannot be loaded.
    """
    problem = problem_of(source, TaskOptions())
    load_problem(problem)
    return TextSession(problem, options, judge)


def _key(state: TransformState) -> object:
    """Return what decides what a program does: the state without the steps that led to it."""
    return state.schedule, state.mapping, state.splitting, state.storage


_programs: LruCache[tuple[ScheduleProblem, int], TransformProgram] = LruCache(REMEMBERED_PROGRAMS)


def _transform_program(problem: ScheduleProblem, memory_limit: int) -> TransformProgram:
    """Return the program with what is computed once for all its states."""

    def make() -> TransformProgram:
        program = problem.program
        return TransformProgram(program.scop, dict(program.parameters), memory_limit)

    return _programs.get((problem, memory_limit), make)
