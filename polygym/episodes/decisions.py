"""The process that decides a mapping: one question after the other, each with a few answers.

The first questions are about the program as a whole, then nest by nest
(:mod:`polygym.episodes.nest_shapes`) come those of the nest::

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
has. So an agent that never answers anything else ends with that mapping, and :data:`DONE` gives the
first answer to all questions that are left.

What earlier answers leave without meaning is not asked: how many vectors run together where there
are none, a second level of tiles where there is no first. Tiles: the size of the next loop is asked
for after each size, until the model shall decide, which then means that the last size counts for
the loops that are left. A size of 1 leaves a loop whole. Sizes to choose from are powers of two and
halves, thirds and quarters of the loop, rounded up, so that a loop of 26 has tiles of 13, 9 and 7.
Loops in their order are asked for in the same way, from the innermost out, among those that may
change places (:mod:`polygym.episodes.nest_shapes`), as long as there is a choice.

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

from polygym.compiler.codegen.common.mapping import Mapping, Sharing
from polygym.compiler.codegen.common.nest_entries import nests_of
from polygym.episodes.nest_shapes import NestShape

MODEL, DONE = 0, 1
"""The answers that are always there: as the model says, and the same to all further questions."""

CHOICES = 13
"""How many further answers a question has at most."""

ANSWERS = 2 + CHOICES
NESTS = 8
"""So many nests are asked about, those with most iterations; the others are as the model says."""

VERSION = 2
"""The version of the questions."""

_TILED = 6
_POWERS = (1, 4, 8, 16, 32, 64, 128, 256, 512)
_PARTS = (2, 3, 4)
_WHOLE = -1


class Subject(Enum):
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


_OF_PROGRAM = (Subject.REGISTERS, Subject.PACK, Subject.SEPARATE)
_OF_NEST = (
    Subject.PARALLEL, Subject.WAVEFRONT, Subject.VECTOR, Subject.COPIES, Subject.JAM, Subject.TILE,
    Subject.OUTER_TILE, Subject.SINK, Subject.ORDER,
)  # fmt: skip

_Wave = tuple[bool, bool]
_WAVES: tuple[_Wave, ...] = ((True, True), (True, False), (False, False))
_VALUES: dict[Subject, tuple[Any, ...]] = {
    Subject.PARALLEL: tuple(Sharing),
    Subject.VECTOR: (0, 128, 256, 512),
    Subject.COPIES: (1, 2, 3, 4, 6, 8, 12),
    Subject.JAM: (1, 2, 3, 4, 6, 8, 12),
    Subject.OUTER_TILE: ((2,), (4,), (8,)),
}
ENTRY = {
    Subject.PARALLEL: "parallel",
    Subject.VECTOR: "vector_bits",
    Subject.COPIES: "vector_copies",
    Subject.JAM: "unroll_jam",
    Subject.OUTER_TILE: "outer_tile",
    Subject.TILE: "tile",
    Subject.SINK: "sink",
    Subject.ORDER: "order",
}
"""What a mapping calls what a question about a nest is about, but for wavefronts, which are two."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: what it is about, of which nest (-1: the program), and of which loop."""

    subject: Subject
    nest: int = _WHOLE
    loop: int = 0


@dataclass(frozen=True)
class Deciding:
    """What has been asked and answered; an answer is a value, None is the model's.

    ``start`` is the mapping to begin with, ``version`` that of the questions.
    """

    start: Mapping
    nests: tuple[NestShape, ...]
    answered: tuple[tuple[Question, Any], ...] = ()
    version: int = VERSION

    @cached_property
    def question(self) -> Question | None:
        """The question at hand; None when all are answered."""
        return next(self._left(), None)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """What may be answered to the question at hand, beside what is always allowed."""
        return () if self.question is None else self._values(self.question)

    @property
    def questions_left(self) -> int:
        """How many questions are left at most, the one at hand included."""
        if self.question is None:
            return 0
        every = list(self._all())
        behind = every[every.index(replace(self.question, loop=0)) + 1 :]
        return self._loops_from(self.question) + sum(map(self._loops_from, behind))

    def _loops_from(self, question: Question) -> int:
        """Return how often may be asked what a question asks: of tiles once for every loop."""
        match question.subject:
            case Subject.TILE:
                return self._loops(question) - question.loop
            case Subject.ORDER:  # where one loop is left there is no choice
                return max(1, self._loops(question) - 1 - question.loop)
            case _:
                return 1

    def after(self, answer: int) -> Deciding:
        """Return the state after an answer: its number, which :meth:`mask` allows."""
        question = self.question
        assert question is not None
        if answer == DONE:
            return replace(self, answered=(*self.answered, *((one, None) for one in self._left())))
        value = None if answer == MODEL else self.values[answer - 2]
        return replace(self, answered=(*self.answered, (question, value)))

    def mask(self) -> tuple[bool, ...]:
        """Return which answers are allowed."""
        if self.question is None:
            return (False,) * ANSWERS
        count = len(self.values)
        return (True, True, *(True,) * count, *(False,) * (CHOICES - count))

    @cached_property
    def mapping(self) -> Mapping:
        """The mapping of all answers so far; what is not decided is as the model says."""
        whole: dict[str, Any] = {}
        own: dict[int, dict[str, Any]] = {place: {} for place in range(len(self.nests))}
        for question, value in self.answered:
            if value is None:
                continue
            entries = whole if question.nest == _WHOLE else own[question.nest]
            match question.subject:
                case Subject.WAVEFRONT:
                    entries["wavefront"], entries["diamond"] = value
                case Subject.TILE if value:
                    entries["tile"] = (*entries.get("tile", ()), *value)
                case Subject.TILE:
                    entries["tile"] = ()
                case Subject.ORDER:  # from the innermost out
                    entries["order"] = (*value, *entries.get("order", ()))
                case Subject.REGISTERS | Subject.PACK | Subject.SEPARATE:
                    entries[question.subject.value] = value
                case _:
                    entries[ENTRY[question.subject]] = value
        said = {statement: dict(entries) for statement, entries in self.start.nests}
        for place, found in own.items():
            # Of what is said of several statements of a nest that of the last name counts.
            said.setdefault(max(self.nests[place].statements), {}).update(found)
        return replace(self.start, **whole, nests=nests_of(said))

    def of_nest(self, nest: int) -> dict[Subject, Any]:
        """Return what has been decided of a nest, tiles as sizes, the order as loops."""
        found: dict[Subject, Any] = {}
        for question, value in self.answered:
            if question.nest != nest or value is None:
                continue
            if question.subject is Subject.TILE:
                value = (*found.get(Subject.TILE, ()), *value)
            elif question.subject is Subject.ORDER:
                value = (*value, *found.get(Subject.ORDER, ()))
            found[question.subject] = value
        return found

    def _left(self) -> Iterator[Question]:
        """Yield the questions that are left if all of them are left to the model."""
        known = {question for question, _ in self.answered}
        last = self.answered[-1] if self.answered else None
        if last is not None and (further := self._further(*last)) is not None:
            yield further
        for one in self._all():
            if one not in known and self._matters(one):
                yield one

    def _all(self) -> Iterator[Question]:
        for subject in _OF_PROGRAM:
            yield Question(subject)
        for nest in range(len(self.nests)):
            for subject in _OF_NEST:
                if self.version > 1 or subject is not Subject.ORDER:
                    yield Question(subject, nest)

    def _further(self, question: Question, value: Any) -> Question | None:
        """Return the question about the next loop's size or place, if there is a next one."""
        if question.subject not in (Subject.TILE, Subject.ORDER) or not value:
            return None
        further = replace(question, loop=question.loop + 1)
        return further if further.loop < self._loops(question) and self._values(further) else None

    def _loops(self, question: Question) -> int:
        """Return about how many loops of a nest is asked."""
        return min(_TILED, self.nests[question.nest].depth)

    def _matters(self, question: Question) -> bool:
        """Whether a question has another answer than the model's, after those that were given."""
        if not self._values(question):
            return False
        match question.subject:
            case Subject.WAVEFRONT:
                is_off = self._now(question, Subject.PARALLEL) is Sharing.OFF
                return self.start.threads > 1 and not is_off
            case Subject.COPIES:
                return bool(self._now(question, Subject.VECTOR) != 0)
            case Subject.OUTER_TILE | Subject.SINK:
                return bool(self._now(question, Subject.TILE) != ())
            case _:
                return True

    def _now(self, question: Question, subject: Subject) -> Any:
        """Return what holds for a question's nest: what was decided, or was there before."""
        decided = self.of_nest(question.nest)
        return decided[subject] if subject in decided else self._usual(question, ENTRY[subject])

    def _usual(self, question: Question, entry: str) -> Any:
        """Return what the mapping to begin with has for the question's nest, or the program."""
        if question.nest != _WHOLE:
            own = dict(self.start.of_nest(self.nests[question.nest].statements))
            if entry in own:
                return own[entry]
        return getattr(self.start, entry)

    def _values(self, question: Question) -> tuple[Any, ...]:
        match question.subject:
            case Subject.REGISTERS | Subject.PACK | Subject.SEPARATE | Subject.SINK:
                return (not self._usual(question, question.subject.value),)
            case Subject.WAVEFRONT:
                usual = self._usual(question, "wavefront"), self._usual(question, "diamond")
                others = (wave for wave in _WAVES if wave != usual)
                # Without a wavefront it does not matter what shape its tiles would have.
                return tuple(wave for wave in others if wave[0] or usual[0])
            case Subject.PARALLEL if self.start.threads == 1 or not self.start.shares:
                return ()
            case Subject.TILE:
                sizes = _sizes(self.nests[question.nest].lengths[question.loop])
                usual = self._usual(question, "tile")
                return (*(((),) if question.loop == 0 and usual != () else ()), *sizes)
            case Subject.ORDER:
                usual = self._usual(question, "order")
                return (*(((),) if question.loop == 0 and usual else ()), *self._next(question))
            case _:
                usual = self._usual(question, ENTRY[question.subject])
                return tuple(one for one in _VALUES[question.subject] if one != usual)

    def _next(self, question: Question) -> tuple[tuple[int], ...]:
        """Return the loops that may come next in the order, from the innermost out."""
        moving = self._now(question, Subject.SINK) and self._now(question, Subject.TILE) != ()
        named = self.of_nest(question.nest).get(Subject.ORDER, ())
        loops = self.nests[question.nest].next_loops(named, moving=moving)
        return tuple((one,) for one in loops[: CHOICES - 1])


def _sizes(length: int) -> tuple[tuple[int], ...]:
    """Return the tile sizes for a loop.

    >>> _sizes(26)
    ((1,), (4,), (7,), (8,), (9,), (13,), (16,))
    """
    parts = {-(-length // part) for part in _PARTS}
    found = sorted({1, *(size for size in {*_POWERS, *parts} if size < length)})
    return tuple((size,) for size in found)
