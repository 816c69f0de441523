"""The process that decides a mapping: one question after the other, each with a few answers.

The questions are those of the knobs (:mod:`polygym.mapping.knobs`): first those about the program
as a whole, then nest by nest (:mod:`polygym.mdp.nest_shapes`) those about the nest.

To each the first answer is *use default*: then the mapping has what the one to begin with has. So
an agent that never answers anything else ends with that mapping, and :data:`USE_DEFAULT_FOR_ALL`
gives the first answer to all questions that are left.

Questions without a meaning after earlier answers are not asked: how many vectors run together where
there are none, a second level of tiles where there is no first. Tiles: the size of the next loop is
asked for after each size, until the default is chosen; then the last size counts for the loops that
are left. A size of 1 leaves a loop whole. The sizes are powers of two and halves, thirds and
quarters of the loop, rounded up, so that a loop of 26 has tiles of 13, 9 and 7. Loops in their
order are asked for in the same way, from the innermost out, among those that may change places
(:mod:`polygym.mdp.nest_shapes`), as long as there is a choice.

Example, two nests {S0} and {S1} in two threads: *use default for all* gives `threads=2`, the
mapping to begin with; five defaults, 256 bits, then the default for all the rest give
`threads=2 S0:vector_bits=256`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polygym.mapping.knobs import KNOB_NAMED, QUESTIONS, KnobQuestion, LoopDirection
from polygym.mapping.knobs import MOST_VALUES as MOST_VALUES
from polygym.mapping.mapping import Mapping, nests_of
from polygym.mdp.nest_shapes import NestShape

USE_DEFAULT, USE_DEFAULT_FOR_ALL = 0, 1
"""The answers to every question: use the default, and the same for all further questions."""

ANSWERS = 2 + MOST_VALUES
MOST_NESTS = 8
"""Questions are about the nests with most iterations; the others have the default."""

QUESTIONS_VERSION = 3
"""The version of the questions: actions of another one mean something else."""

_TILED = 6
_WHOLE = -1


@dataclass(frozen=True, slots=True)
class MappingQuestion:
    """One question: what it is about, of which nest (-1: the program), and of which loop."""

    kind: KnobQuestion
    nest: int = _WHOLE
    loop: int = 0


@dataclass(frozen=True)
class MappingState:
    """What has been asked and answered; an answer is a value, None is the model's.

    ``initial_mapping`` is the mapping to begin with.
    """

    initial_mapping: Mapping
    nests: tuple[NestShape, ...]
    answers: tuple[tuple[MappingQuestion, Any], ...] = ()

    @cached_property
    def question(self) -> MappingQuestion | None:
        """The question at hand; None when all are answered."""
        return next(self._remaining_questions(), None)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """What may be answered to the question at hand, beside what is always allowed."""
        return () if self.question is None else self._values(self.question)

    @property
    def questions_left(self) -> int:
        """How many questions are left at most, the one at hand included."""
        if self.question is None:
            return 0
        every = list(self._apply_answers())
        behind = every[every.index(replace(self.question, loop=0)) + 1 :]
        return self._question_count(self.question) + sum(map(self._question_count, behind))

    def _question_count(self, question: MappingQuestion) -> int:
        """Return how often may be asked what a question asks: of tiles once for every loop."""
        match question.kind.direction:
            case LoopDirection.INWARD:
                return self._loops(question) - question.loop
            case LoopDirection.OUTWARD:  # where one loop is left there is no choice
                return max(1, self._loops(question) - 1 - question.loop)
            case None:
                return 1

    def after(self, answer: int) -> MappingState:
        """Return the state after an answer: its number, which :meth:`mask` allows."""
        question = self.question
        assert question is not None
        if answer == USE_DEFAULT_FOR_ALL:
            left = ((question, None) for question in self._remaining_questions())
            return replace(self, answers=(*self.answers, *left))
        value = None if answer == USE_DEFAULT else self.values[answer - 2]
        return replace(self, answers=(*self.answers, (question, value)))

    def mask(self) -> tuple[bool, ...]:
        """Return which answers are allowed."""
        if self.question is None:
            return (False,) * ANSWERS
        count = len(self.values)
        return (True, True, *(True,) * count, *(False,) * (MOST_VALUES - count))

    @cached_property
    def mapping(self) -> Mapping:
        """The mapping of all answers so far; what is not decided has the default."""
        said = {statement: dict(options) for statement, options in self.initial_mapping.nests}
        for place, nest in enumerate(self.nests):
            # Of several statements of a nest the options of the last name count.
            said.setdefault(max(nest.statements), {}).update(self._options_of_nest(place))
        return replace(self.initial_mapping, **self._options_of_nest(_WHOLE), nests=nests_of(said))

    def decisions_of_nest(self, nest: int) -> dict[KnobQuestion, Any]:
        """Return what has been decided of a nest, tiles as sizes, the order as loops."""
        result: dict[KnobQuestion, Any] = {}
        for question, value in self.answers:
            if question.nest == nest and value is not None:
                kind = question.kind
                result[kind] = kind.joined(result.get(kind), value)
        return result

    def _options_of_nest(self, nest: int) -> dict[str, Any]:
        """Return the options of the mapping that have been decided of a nest."""
        result: dict[str, Any] = {}
        for kind, value in self.decisions_of_nest(nest).items():
            values = (value,) if len(kind.knobs) == 1 else value
            result.update(zip(kind.knobs, values, strict=True))
        return result

    def _remaining_questions(self) -> Iterator[MappingQuestion]:
        """Yield the questions that are left if all of them are left to the model."""
        known = {question for question, _ in self.answers}
        last = self.answers[-1] if self.answers else None
        if last is not None and (further := self._next_loop_question(*last)) is not None:
            yield further
        for question in self._apply_answers():
            if question not in known and self._is_relevant(question):
                yield question

    def _apply_answers(self) -> Iterator[MappingQuestion]:
        for kind in QUESTIONS.values():
            if not _is_per_nest(kind):
                yield MappingQuestion(kind)
        for nest in range(len(self.nests)):
            for kind in QUESTIONS.values():
                if _is_per_nest(kind):
                    yield MappingQuestion(kind, nest)

    def _next_loop_question(self, question: MappingQuestion, value: Any) -> MappingQuestion | None:
        """Return the question about the next loop's size or place, if there is a next one."""
        if question.kind.direction is None or not value:
            return None
        further = replace(question, loop=question.loop + 1)
        return further if further.loop < self._loops(question) and self._values(further) else None

    def _loops(self, question: MappingQuestion) -> int:
        """Return about how many loops of a nest is asked."""
        return min(_TILED, self.nests[question.nest].depth)

    def _is_relevant(self, question: MappingQuestion) -> bool:
        """Whether a question has another answer than the default, after the earlier answers."""
        context = _Context(self, question)
        return bool(self._values(question) and question.kind.is_asked(context))

    def _values(self, question: MappingQuestion) -> tuple[Any, ...]:
        context = _Context(self, question)
        defaults = tuple(context.default(knob) for knob in question.kind.knobs)
        return question.kind.choices(context, defaults[0] if len(defaults) == 1 else defaults)


@dataclass(frozen=True, slots=True)
class _Context:
    """The state in which a question is asked (:class:`polygym.mapping.knobs.QuestionContext`)."""

    state: MappingState
    question: MappingQuestion

    @property
    def initial_mapping(self) -> Mapping:
        """The mapping to begin with."""
        return self.state.initial_mapping

    @property
    def trip_count(self) -> int:
        """The iterations of the loop that is asked about."""
        return self.state.nests[self.question.nest].trip_counts[self.question.loop]

    @property
    def movable_loops(self) -> tuple[int, ...]:
        """The loops that may come next in the order, from the innermost out."""
        moving = self.current("sink") and self.current("tile") != ()
        named = self.state._options_of_nest(self.question.nest).get("order", ())
        return self.state.nests[self.question.nest].next_loops_outward(named, moving=moving)

    @property
    def is_first_loop(self) -> bool:
        """Whether the first loop is asked about."""
        return self.question.loop == 0

    def default(self, knob: str) -> Any:
        """Return what the mapping to begin with has for the question's nest, or the program."""
        start = self.state.initial_mapping
        if self.question.nest != _WHOLE:
            own = dict(start.for_nest(self.state.nests[self.question.nest].statements))
            if knob in own:
                return own[knob]
        return getattr(start, knob)

    def current(self, knob: str) -> Any:
        """Return what holds for the question's nest: the decision, or the default."""
        decided = self.state._options_of_nest(self.question.nest)
        return decided[knob] if knob in decided else self.default(knob)


def _is_per_nest(kind: KnobQuestion) -> bool:
    return KNOB_NAMED[kind.knobs[0]].is_per_nest
