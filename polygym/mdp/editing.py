"""The process that edits a schedule: from a legal one to another, edit by edit.

An edit (:mod:`polygym.poly.edits`) is chosen in steps: which kind, then what it needs to
know, one operand after the other, outermost row first and statements in the order of the text::

    skew         row, other row, factor of it      interchange  row, a row further in
    move         row, the place it goes to         reverse      row
    split        before which row, how many        fuse         row
                 statements part
    shift        row, statement, by how much       coefficient  row, statement, iterator, one more
    adopt        whose schedule                                 or less

To adopt a schedule is to go on with another one that the program has without a search
(``alternative_schedules``): the order of the text, or what isl finds if it is told
otherwise.

With the last operand the edit happens. Then the mask has only what leads to a legal schedule of
small numbers; before that it has every operand that there is, so that an agent may come to a point
where nothing is left but :data:`BACK`, which drops the edit. At the beginning of an edit the same
answer ends the process. Where there is more to choose from than a step has answers, a step before
says from which part.

A process has at most :data:`MOST_STEPS` steps: then nothing but BACK is allowed.

Example, (i, j) of one statement: interchange, row 0, row 1 is (j, i) if that is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from polygym.ir.scop import Scop
from polygym.poly import edits
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.alternatives import ALTERNATIVES, alternative_schedules

BACK = 0
"""The answer that drops an edit that was begun; at the beginning of one it ends the process."""

MOST_STEPS = 64

_FACTORS = (-2, -1, 1, 2)
_UNIT_STEPS = (-1, 1)


class EditKind(Enum):
    """The kinds of edits."""

    SKEW = "skew"
    INTERCHANGE = "interchange"
    MOVE = "move"
    REVERSE = "reverse"
    SPLIT = "split"
    FUSE = "fuse"
    SHIFT = "shift"
    COEFFICIENT = "coefficient"
    ADOPT = "adopt"


class Operand(Enum):
    """What an edit needs to know; KIND is which edit it is."""

    KIND = "kind"
    ROW = "row"
    PLACE = "place"
    STATEMENT = "statement"
    ITERATOR = "iterator"
    AMOUNT = "amount"
    STRATEGY = "strategy"


Operands: TypeAlias = tuple[int, ...]
_Menu: TypeAlias = Callable[[Schedule, Operands], Sequence[int]]


def _rows(schedule: Schedule, _: Operands) -> Sequence[int]:
    return range(schedule.dimensions)


def _other_rows(schedule: Schedule, before: Operands) -> Sequence[int]:
    return [row for row in range(schedule.dimensions) if row != before[-1]]


def _further_in(schedule: Schedule, before: Operands) -> Sequence[int]:
    return range(before[-1] + 1, schedule.dimensions)


def _before_rows(schedule: Schedule, _: Operands) -> Sequence[int]:
    is_room = schedule.dimensions < edits.MAX_DIMENSIONS and len(schedule.statements) > 1
    return range(schedule.dimensions * is_room)


def _prefixes(schedule: Schedule, _: Operands) -> Sequence[int]:
    return range(1, len(schedule.statements))


def _fusable_rows(schedule: Schedule, _: Operands) -> Sequence[int]:
    return [row for row in range(schedule.dimensions) if edits.is_distribution(schedule, row)]


def _statements(schedule: Schedule, _: Operands) -> Sequence[int]:
    return range(len(schedule.statements))


def _iterators(schedule: Schedule, before: Operands) -> Sequence[int]:
    return range(len(schedule.statements[before[-1]].iterators))


def _factors(_: Schedule, __: Operands) -> Sequence[int]:
    return _FACTORS


def _unit_steps(_: Schedule, __: Operands) -> Sequence[int]:
    return _UNIT_STEPS


def _strategies(_: Schedule, __: Operands) -> Sequence[int]:
    return range(len(ALTERNATIVES))


def _schedule_of_strategy(schedule: Schedule, strategy: int, scop: Scop) -> Schedule:
    """Return the schedule of a strategy, the one there is where the program has none of it."""
    return alternative_schedules(scop).get(strategy, schedule)


_ROW = Operand.ROW, _rows
_STATEMENT = Operand.STATEMENT, _statements
_KINDS: dict[EditKind, tuple[Callable[..., Schedule], tuple[tuple[Operand, _Menu], ...]]] = {
    EditKind.SKEW: (edits.skew, (_ROW, (Operand.ROW, _other_rows), (Operand.AMOUNT, _factors))),
    EditKind.INTERCHANGE: (edits.interchange, (_ROW, (Operand.ROW, _further_in))),
    EditKind.MOVE: (edits.move_row, (_ROW, (Operand.PLACE, _other_rows))),
    EditKind.REVERSE: (edits.reverse, (_ROW,)),
    EditKind.SPLIT: (
        edits.distribute,
        ((Operand.PLACE, _before_rows), (Operand.STATEMENT, _prefixes)),
    ),
    EditKind.FUSE: (edits.fuse, ((Operand.ROW, _fusable_rows),)),
    EditKind.SHIFT: (edits.shift, (_ROW, _STATEMENT, (Operand.AMOUNT, _factors))),
    EditKind.COEFFICIENT: (
        edits.change_coefficient,
        (_ROW, _STATEMENT, (Operand.ITERATOR, _iterators), (Operand.AMOUNT, _unit_steps)),
    ),
    EditKind.ADOPT: (_schedule_of_strategy, ((Operand.STRATEGY, _strategies),)),
}
EDITS = tuple(EditKind)

IsLegal: TypeAlias = Callable[[Schedule], bool]


@dataclass(frozen=True)
class EditState:
    """The schedule so far, and the edit that has been begun.

    ``part`` is the part of a long list from which the next operand comes. ``choices`` says how many
    answers a step has beside BACK, ``scop`` is the program. Without ``adopts`` nothing is adopted.
    """

    schedule: Schedule
    choices: int
    scop: Scop
    edit: EditKind | None = None
    operands: Operands = ()
    part: int | None = None
    step_count: int = 0
    edit_count: int = 0
    adopts: bool = True

    @property
    def is_between_edits(self) -> bool:
        """Whether no edit has been begun."""
        return self.edit is None

    @property
    def is_last_operand(self) -> bool:
        """Whether the edit happens with the operand that is chosen next."""
        return self.edit is not None and len(self.operands) + 1 == len(_KINDS[self.edit][1])

    @cached_property
    def operand_values(self) -> tuple[int, ...]:
        """All that there is to choose from for the next operand; the kinds at the beginning."""
        if self.edit is None:
            return tuple(range(len(EDITS)))
        _, menu = _KINDS[self.edit][1][len(self.operands)]
        return tuple(menu(self.schedule, self.operands))

    @property
    def operand(self) -> Operand:
        """What is chosen next."""
        if self.edit is None:
            return Operand.KIND
        return _KINDS[self.edit][1][len(self.operands)][0]

    @property
    def chosen_operands(self) -> tuple[tuple[Operand, int], ...]:
        """The operands of the edit that has been begun, as far as they are chosen."""
        if self.edit is None:
            return ()
        kinds = [kind for kind, _ in _KINDS[self.edit][1]]
        return tuple(zip(kinds, self.operands, strict=False))

    @property
    def is_choosing_part(self) -> bool:
        """Whether the next step says from which part of a long list an operand comes."""
        return self.part is None and len(self.operand_values) > self.choices

    @cached_property
    def choices_of_step(self) -> tuple[int, ...]:
        """What may be chosen in this step: operands, or the numbers of parts."""
        if self.is_choosing_part:
            return tuple(range(min(self.choices, -(-len(self.operand_values) // self.choices))))
        first = (self.part or 0) * self.choices
        return self.operand_values[first : first + self.choices]

    def mask(self, is_legal: IsLegal) -> tuple[bool, ...]:
        """Return which answers are allowed, BACK first."""
        allowed = [False] * self.choices
        if self.step_count < MOST_STEPS:
            for place, value in enumerate(self.choices_of_step):
                allowed[place] = self._is_allowed(value, is_legal)
        return (True, *allowed)

    def after(self, answer: int) -> EditState:
        """Return the state after an answer of the mask's; BACK where an edit was begun."""
        taken = replace(self, step_count=self.step_count + 1)
        if answer == BACK:
            return replace(taken, edit=None, operands=(), part=None)
        value = self.choices_of_step[answer - 1]
        if self.is_choosing_part:
            return replace(taken, part=value)
        if self.edit is None:
            return replace(taken, edit=EDITS[value])
        if not self.is_last_operand:
            return replace(taken, operands=(*self.operands, value), part=None)
        return replace(
            taken,
            schedule=self._edited(value),
            edit=None,
            operands=(),
            part=None,
            edit_count=self.edit_count + 1,
        )

    def _is_allowed(self, value: int, is_legal: IsLegal) -> bool:
        if self.edit is None:
            if EDITS[value] is EditKind.ADOPT and not self.adopts:
                return False
            _, first = _KINDS[EDITS[value]][1][0]
            return len(first(self.schedule, ())) > 0
        if self.is_choosing_part or not self.is_last_operand:
            return True
        schedule = self._edited(value)
        return schedule != self.schedule and edits.is_small(schedule) and is_legal(schedule)

    def _edited(self, value: int) -> Schedule:
        assert self.edit is not None
        change, _ = _KINDS[self.edit]
        of_program = (self.scop,) if self.edit is EditKind.ADOPT else ()
        schedule = change(self.schedule, *self.operands, value, *of_program)
        assert isinstance(schedule, Schedule)
        return schedule
