"""Steps that lead from a state to a given schedule, each legal in its turn.

The answer to "what did isl do?". A target tree is made from the schedule
(:mod:`polygym.transformations.simple_tree`) and built row by row, several times where there are two
ways (:mod:`polygym.transformations.reaching`). Then steps that are not needed are left out, and a
short sequence is compared with one found from both ends
(:mod:`polygym.transformations.shortening`). Example, gemm and isl's schedule::

    interchange L3 L4
    fuse L2 L4
    fuse S0 L3

The result is *exact* if the tree has the target's loops and rows, up to loops that order nothing
and to iteration ranges that begin elsewhere. Otherwise it has the *same order*: every two
instances, dependent or not, run in the same order (:mod:`polygym.transformations.same_order`).
Where a schedule leaves the order of instances open, they stay in the order of the start.

Steps keep the determinant of a statement's rows but for its sign. So no steps lead to the rows
i + j and i - j, whose determinant is -2, which the answer says. A row 2i alone is the loop i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from polygym.errors import IllegalScheduleError, InputError, LimitError
from polygym.poly.legality import find_violation
from polygym.poly.row_combinations import RowAlgebra
from polygym.poly.schedule import Schedule, ScheduleRow
from polygym.transformations.construction import Construction, StuckError
from polygym.transformations.loop_tree import LoopTree, loop_tree_of, with_unique_names
from polygym.transformations.reaching import reach
from polygym.transformations.same_order import OrderComparison
from polygym.transformations.shortening import path_between, shortened
from polygym.transformations.simple_tree import simple_shape, simplified_body
from polygym.transformations.state import TransformState
from polygym.transformations.steps import TreeStep

LONGEST_SEARCH = 7
"""Sequences up to this length are compared with a search from both ends."""

WORK_OF_SEARCH = 4_000
WORK_OF_LAST_SEARCH = 10_000
"""Statements times steps that a search decides; the second one where nothing else was found."""

MOST_CHOICES = 12
"""Choices of a construction that are turned over, to find a shorter one."""


@dataclass(frozen=True, slots=True)
class StepsToResult:
    """Steps from a state to a schedule, and the state after them.

    ``is_exact``: the tree has the target's loops and rows; else it has the same order.
    """

    steps: tuple[TreeStep, ...]
    state: TransformState
    is_exact: bool


@dataclass(frozen=True, slots=True)
class NoStepsFound:
    """The reason why no steps were found, and the state that came closest."""

    reason: str
    steps: tuple[TreeStep, ...]
    state: TransformState


def steps_to(state: TransformState, schedule: Schedule) -> StepsToResult | NoStepsFound:
    """Return steps from a state to a schedule of its program.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message has an example.
        InputError: it is one of another program.
        LimitError: isl would take too long.
    """
    return _Explanation(state, schedule).result()


class _Explanation:
    """One question: a start, and a target tree."""

    def __init__(self, start: TransformState, schedule: Schedule) -> None:
        scop = start.scop
        self._start = start
        self._algebra = RowAlgebra(scop)
        self._comparison = OrderComparison(scop)
        target = _completed(schedule, start.tree)
        if not start.version.tables.are_legal([target])[0]:
            violation = find_violation(scop, schedule)
            if violation is None:
                raise LimitError("the schedule is not proved to be legal within the limits of isl")
            raise IllegalScheduleError(str(violation))
        # A loop that orders nodes by constants is left out, and those in it then stand twice.
        body, number = with_unique_names(
            simplified_body(target.body, self._algebra), target.next_number
        )
        self._target = LoopTree(target.parameters, target.iterators, body, number)
        self._shape = simple_shape(body, self._algebra)

    def result(self) -> StepsToResult | NoStepsFound:
        best = self._best_constructed()
        if isinstance(best, NoStepsFound):
            searched = self._searched(LONGEST_SEARCH, WORK_OF_LAST_SEARCH)
            return searched or best
        best = self._shortened(best)
        if 1 < len(best.steps) <= LONGEST_SEARCH:
            searched = self._searched(len(best.steps) - 1, WORK_OF_SEARCH)
            if searched is not None and searched.is_exact >= best.is_exact:
                return searched
        return best

    def _best_constructed(self) -> StepsToResult | NoStepsFound:
        """Return the best of several constructions: one choice after the other is turned over."""
        best, choices = self._constructed(frozenset())
        others: frozenset[int] = frozenset()
        place = 0
        while place < min(choices, MOST_CHOICES):
            result, count = self._constructed(others | {place})
            if _rank(result) < _rank(best):
                best, choices, others = result, count, others | {place}
            place += 1
        return best

    def _constructed(self, others: frozenset[int]) -> tuple[StepsToResult | NoStepsFound, int]:
        construction = Construction(self._start, others)
        reason = ""
        try:
            reach(construction, self._algebra, self._target.body)
        except StuckError as error:
            reason = str(error)
        return self._judged(construction.state, reason), construction.choices

    def _judged(self, state: TransformState, reason: str) -> StepsToResult | NoStepsFound:
        """Return the result of a construction that ended with a state."""
        if self._is_exact(state):
            return self._as_result(state, True)
        if not reason:
            if self._is_same(state):
                return self._as_result(state, False)
            reason = self._stretched_rows() or (
                "the order that was reached is not proved to be that of the schedule"
            )
        return NoStepsFound(reason, self._own(state), state)

    def _stretched_rows(self) -> str:
        """Return why no steps lead to rows that leave out values, such as i + j and i - j.

        Steps multiply the rows of a statement's loops by matrices with the determinant 1 or -1.
        """
        target = self._target.rows
        for name, before in self._start.tree.rows.items():
            kept, wanted = _determinant(before), _determinant(target[name])
            if kept != wanted:
                return (
                    f"the rows of {name} have the determinant {wanted}, and steps keep {kept}: a "
                    "loop would leave out values"
                )
        return ""

    def _shortened(self, result: StepsToResult) -> StepsToResult:
        is_target = self._is_exact if result.is_exact else self._is_same
        return self._as_result(shortened(self._start, result.steps, is_target), result.is_exact)

    def _searched(self, most_steps: int, work: int) -> StepsToResult | None:
        neighbours = work // len(self._target.iterators)
        state = path_between(self._start, self._target, self._is_same, most_steps, neighbours)
        return None if state is None else self._as_result(state, self._is_exact(state))

    def _as_result(self, state: TransformState, is_exact: bool) -> StepsToResult:
        return StepsToResult(self._own(state), state, is_exact)

    def _own(self, state: TransformState) -> tuple[TreeStep, ...]:
        steps = state.steps[len(self._start.steps) :]
        return tuple(step for step in steps if isinstance(step, TreeStep))

    def _is_exact(self, state: TransformState) -> bool:
        body = simplified_body(state.tree.body, self._algebra)
        return simple_shape(body, self._algebra) == self._shape

    def _is_same(self, state: TransformState) -> bool:
        return self._is_exact(state) or self._comparison.is_same(state.tree, self._target)


def _rank(result: StepsToResult | NoStepsFound) -> tuple[bool, bool, int]:
    """Return a key by which a better result comes first."""
    if isinstance(result, NoStepsFound):
        return True, True, -len(result.steps)
    return False, not result.is_exact, len(result.steps)


def _completed(schedule: Schedule, start: LoopTree) -> LoopTree:
    """Return the tree of a schedule that leaves to the start what it does not order."""
    rows = {part.statement: part.rows for part in schedule.statements}
    before = start.schedule
    if set(rows) != {part.statement for part in before.statements}:
        known = ", ".join(name for name, _ in start.iterators)
        raise InputError(f"a schedule: expected the statements {known}, found {', '.join(rows)}")
    parts = tuple(
        replace(part, rows=(*rows[part.statement], *part.rows)) for part in before.statements
    )
    return loop_tree_of(Schedule(before.parameters, parts), start.next_number)


def _determinant(rows: Sequence[ScheduleRow]) -> int:
    """Return the determinant of the loops that order something, without its sign.

    Common divisors of a row are left out, and rows that depend on those before them.
    """
    echelon: list[tuple[int, list[Fraction]]] = []
    result = Fraction(1)
    for row in rows:
        divisor = gcd(*row.iterators) or 1
        left = [Fraction(value, divisor) for value in row.iterators]
        for place, other in echelon:
            factor = left[place] / other[place]
            left = [a - factor * b for a, b in zip(left, other, strict=True)]
        pivot = next((place for place, value in enumerate(left) if value), None)
        if pivot is not None:
            echelon.append((pivot, left))
            result *= left[pivot]
    return abs(int(result))
