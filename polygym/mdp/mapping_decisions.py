"""The process that decides a mapping: one question after the other, each with a few answers.

The first questions are about the program as a whole, then nest by nest
(:mod:`polygym.mdp.nest_shapes`) come those of the nest::

    the program    registers, pack, separate: the other of on and off
    every nest     parallel    the other ways to share out iterations
                   wavefront   diamonds or not, or no wavefront at all
                   vector      bits of a vector; off
                   copies      vectors that run together
                   jam         iterations of the loop around that run together
                   tile        sizes, loop by loop, outermost first; off
                   outer_tile  a second level of tiles
                   sink        the other of on and off
                   order       which loop runs innermost, then which right around it

To each the first answer is *as the model says*: then the mapping has what the one to begin with
has. So an agent that never answers anything else ends with that mapping, and
:data:`USE_DEFAULT_FOR_ALL` gives the first answer to all questions that are left.

What earlier answers leave without meaning is not asked: how many vectors run together where there
are none, a second level of tiles where there is no first. Tiles: the size of the next loop is asked
for after each size, until the model shall decide, which then means that the last size counts for
the loops that are left. A size of 1 leaves a loop whole. Sizes to choose from are powers of two and
halves, thirds and quarters of the loop, rounded up, so that a loop of 26 has tiles of 13, 9 and 7.
Loops in their order are asked for in the same way, from the innermost out, among those that may
change places (:mod:`polygym.mdp.nest_shapes`), as long as there is a choice.

There are two versions of the questions: in the first one order was none of them.

Example, two nests {S0} and {S1} in two threads: the answer done gives `threads=2`, the mapping to
begin with; five times model, then 256 bits and done give `threads=2 S0:vector_bits=256`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

from polygym.mapping.mapping import Mapping, WorkSharing
from polygym.mapping.nest_options import nests_of
from polygym.mdp.nest_shapes import NestShape

USE_DEFAULT, USE_DEFAULT_FOR_ALL = 0, 1
"""The answers that are always there: as the model says, and the same to all further questions."""

MOST_VALUES = 13
"""How many further answers a question has at most."""

ANSWERS = 2 + MOST_VALUES
MOST_NESTS = 8
"""So many nests are asked about, those with most iterations; the others are as the model says."""

QUESTIONS_VERSION = 2
"""The version of the questions."""

_TILED = 6
_POWERS = (1, 4, 8, 16, 32, 64, 128, 256, 512)
_PARTS = (2, 3, 4)
_WHOLE = -1


class DecisionKind(Enum):
    """What a question is about."""

    REGISTERS = "registers"
    PACK = "pack"
    SEPARATE = "separate"
    PARALLEL = "parallel"
    WAVEFRONT = "wavefront"
    VECTOR = "vector"
    COPIES = "copies"
    JAM = "jam"
    TILE = "tile"
    OUTER_TILE = "outer_tile"
    SINK = "sink"
    ORDER = "order"


_OF_PROGRAM = (DecisionKind.REGISTERS, DecisionKind.PACK, DecisionKind.SEPARATE)
_OF_NEST = (
    DecisionKind.PARALLEL,
    DecisionKind.WAVEFRONT,
    DecisionKind.VECTOR,
    DecisionKind.COPIES,
    DecisionKind.JAM,
    DecisionKind.TILE,
    DecisionKind.OUTER_TILE,
    DecisionKind.SINK,
    DecisionKind.ORDER,
)

_TimeTiling = tuple[bool, bool]
_TIME_TILINGS: tuple[_TimeTiling, ...] = ((True, True), (True, False), (False, False))
_VALUES: dict[DecisionKind, tuple[Any, ...]] = {
    DecisionKind.PARALLEL: tuple(WorkSharing),
    DecisionKind.VECTOR: (0, 128, 256, 512),
    DecisionKind.COPIES: (1, 2, 3, 4, 6, 8, 12),
    DecisionKind.JAM: (1, 2, 3, 4, 6, 8, 12),
    DecisionKind.OUTER_TILE: ((2,), (4,), (8,)),
}
MAPPING_FIELDS = {
    DecisionKind.PARALLEL: "parallel",
    DecisionKind.VECTOR: "vector_bits",
    DecisionKind.COPIES: "vector_copies",
    DecisionKind.JAM: "unroll_jam",
    DecisionKind.OUTER_TILE: "outer_tile",
    DecisionKind.TILE: "tile",
    DecisionKind.SINK: "sink",
    DecisionKind.ORDER: "order",
}
"""What a mapping calls what a question about a nest is about, but for wavefronts, which are two."""


@dataclass(frozen=True, slots=True)
class MappingQuestion:
    """One question: what it is about, of which nest (-1: the program), and of which loop."""

    kind: DecisionKind
    nest: int = _WHOLE
    loop: int = 0


@dataclass(frozen=True)
class MappingState:
    """What has been asked and answered; an answer is a value, None is the model's.

    ``initial_mapping`` is the mapping to begin with, ``version`` that of the questions.
    """

    initial_mapping: Mapping
    nests: tuple[NestShape, ...]
    answers: tuple[tuple[MappingQuestion, Any], ...] = ()
    version: int = QUESTIONS_VERSION

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
        match question.kind:
            case DecisionKind.TILE:
                return self._loops(question) - question.loop
            case DecisionKind.ORDER:  # where one loop is left there is no choice
                return max(1, self._loops(question) - 1 - question.loop)
            case _:
                return 1

    def after(self, answer: int) -> MappingState:
        """Return the state after an answer: its number, which :meth:`mask` allows."""
        question = self.question
        assert question is not None
        if answer == USE_DEFAULT_FOR_ALL:
            return replace(
                self,
                answers=(
                    *self.answers,
                    *((mapping_question, None) for mapping_question in self._remaining_questions()),
                ),
            )
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
        """The mapping of all answers so far; what is not decided is as the model says."""
        whole: dict[str, Any] = {}
        own: dict[int, dict[str, Any]] = {place: {} for place in range(len(self.nests))}
        for question, value in self.answers:
            if value is None:
                continue
            entries = whole if question.nest == _WHOLE else own[question.nest]
            match question.kind:
                case DecisionKind.WAVEFRONT:
                    entries["wavefront"], entries["diamond"] = value
                case DecisionKind.TILE if value:
                    entries["tile"] = (*entries.get("tile", ()), *value)
                case DecisionKind.TILE:
                    entries["tile"] = ()
                case DecisionKind.ORDER:  # from the innermost out
                    entries["order"] = (*value, *entries.get("order", ()))
                case DecisionKind.REGISTERS | DecisionKind.PACK | DecisionKind.SEPARATE:
                    entries[question.kind.value] = value
                case _:
                    entries[MAPPING_FIELDS[question.kind]] = value
        said = {statement: dict(entries) for statement, entries in self.initial_mapping.nests}
        for place, found in own.items():
            # Of what is said of several statements of a nest that of the last name counts.
            said.setdefault(max(self.nests[place].statements), {}).update(found)
        return replace(self.initial_mapping, **whole, nests=nests_of(said))

    def decisions_of_nest(self, nest: int) -> dict[DecisionKind, Any]:
        """Return what has been decided of a nest, tiles as sizes, the order as loops."""
        result: dict[DecisionKind, Any] = {}
        for question, value in self.answers:
            if question.nest != nest or value is None:
                continue
            if question.kind is DecisionKind.TILE:
                value = (*result.get(DecisionKind.TILE, ()), *value)
            elif question.kind is DecisionKind.ORDER:
                value = (*value, *result.get(DecisionKind.ORDER, ()))
            result[question.kind] = value
        return result

    def _remaining_questions(self) -> Iterator[MappingQuestion]:
        """Yield the questions that are left if all of them are left to the model."""
        known = {question for question, _ in self.answers}
        last = self.answers[-1] if self.answers else None
        if last is not None and (further := self._next_loop_question(*last)) is not None:
            yield further
        for mapping_question in self._apply_answers():
            if mapping_question not in known and self._is_relevant(mapping_question):
                yield mapping_question

    def _apply_answers(self) -> Iterator[MappingQuestion]:
        for subject in _OF_PROGRAM:
            yield MappingQuestion(subject)
        for nest in range(len(self.nests)):
            for subject in _OF_NEST:
                if self.version > 1 or subject is not DecisionKind.ORDER:
                    yield MappingQuestion(subject, nest)

    def _next_loop_question(self, question: MappingQuestion, value: Any) -> MappingQuestion | None:
        """Return the question about the next loop's size or place, if there is a next one."""
        if question.kind not in (DecisionKind.TILE, DecisionKind.ORDER) or not value:
            return None
        further = replace(question, loop=question.loop + 1)
        return further if further.loop < self._loops(question) and self._values(further) else None

    def _loops(self, question: MappingQuestion) -> int:
        """Return about how many loops of a nest is asked."""
        return min(_TILED, self.nests[question.nest].depth)

    def _is_relevant(self, question: MappingQuestion) -> bool:
        """Whether a question has another answer than the model's, after those that were given."""
        if not self._values(question):
            return False
        match question.kind:
            case DecisionKind.WAVEFRONT:
                is_off = self._current_value(question, DecisionKind.PARALLEL) is WorkSharing.OFF
                return self.initial_mapping.threads > 1 and not is_off
            case DecisionKind.COPIES:
                return bool(self._current_value(question, DecisionKind.VECTOR) != 0)
            case DecisionKind.OUTER_TILE | DecisionKind.SINK:
                return bool(self._current_value(question, DecisionKind.TILE) != ())
            case _:
                return True

    def _current_value(self, question: MappingQuestion, subject: DecisionKind) -> Any:
        """Return what holds for a question's nest: what was decided, or was there before."""
        decided = self.decisions_of_nest(question.nest)
        return (
            decided[subject]
            if subject in decided
            else self._default_value(question, MAPPING_FIELDS[subject])
        )

    def _default_value(self, question: MappingQuestion, entry: str) -> Any:
        """Return what the mapping to begin with has for the question's nest, or the program."""
        if question.nest != _WHOLE:
            own = dict(self.initial_mapping.for_nest(self.nests[question.nest].statements))
            if entry in own:
                return own[entry]
        return getattr(self.initial_mapping, entry)

    def _values(self, question: MappingQuestion) -> tuple[Any, ...]:
        match question.kind:
            case (
                DecisionKind.REGISTERS
                | DecisionKind.PACK
                | DecisionKind.SEPARATE
                | DecisionKind.SINK
            ):
                return (not self._default_value(question, question.kind.value),)
            case DecisionKind.WAVEFRONT:
                usual = (
                    self._default_value(question, "wavefront"),
                    self._default_value(question, "diamond"),
                )
                others = (wave for wave in _TIME_TILINGS if wave != usual)
                # Without a wavefront it does not matter what shape its tiles would have.
                return tuple(wave for wave in others if wave[0] or usual[0])
            case DecisionKind.PARALLEL if (
                self.initial_mapping.threads == 1 or not self.initial_mapping.is_parallel
            ):
                return ()
            case DecisionKind.TILE:
                sizes = _sizes(self.nests[question.nest].trip_counts[question.loop])
                usual = self._default_value(question, "tile")
                return (*(((),) if question.loop == 0 and usual != () else ()), *sizes)
            case DecisionKind.ORDER:
                usual = self._default_value(question, "order")
                return (*(((),) if question.loop == 0 and usual else ()), *self._next(question))
            case _:
                usual = self._default_value(question, MAPPING_FIELDS[question.kind])
                return tuple(one for one in _VALUES[question.kind] if one != usual)

    def _next(self, question: MappingQuestion) -> tuple[tuple[int], ...]:
        """Return the loops that may come next in the order, from the innermost out."""
        moving = (
            self._current_value(question, DecisionKind.SINK)
            and self._current_value(question, DecisionKind.TILE) != ()
        )
        named = self.decisions_of_nest(question.nest).get(DecisionKind.ORDER, ())
        loops = self.nests[question.nest].next_loops_outward(named, moving=moving)
        return tuple((loop,) for loop in loops[: MOST_VALUES - 1])


def _sizes(length: int) -> tuple[tuple[int], ...]:
    """Return the tile sizes for a loop.

    >>> _sizes(26)
    ((1,), (4,), (7,), (8,), (9,), (13,), (16,))
    """
    parts = {-(-length // part) for part in _PARTS}
    result = sorted({1, *(size for size in {*_POWERS, *parts} if size < length)})
    return tuple((size,) for size in result)
