"""Equality of two schedules as orders of execution, decided exactly.

Two schedules have the *same order* if they run every two instances in the same order, dependent or
not, or both leave it open. Statements without an order stand in the order of the text, as in a loop
tree. Each pair of statements is compared by itself: rows that are equal up to a common offset are
found without isl, and everything else is one question to isl::

    { S[i] -> T[j] : Θ(S[i]) < Θ(T[j]) }  =  { S[i] -> T[j] : Θ'(S[i]) < Θ'(T[j]) }

Example: a statement in the last iteration of a loop, and the same statement behind the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import ScheduleRow, parameter_names
from polygym.transformations.loop_tree import LoopTree

_Rows: TypeAlias = tuple[ScheduleRow, ...]
_Pair: TypeAlias = tuple[tuple[ScheduleRow, ScheduleRow], ...]

_OPERATIONS = 20_000_000


@dataclass(frozen=True, slots=True)
class OrderDifference:
    """Two statements, some instances of which run in another order."""

    first: str
    second: str

    def __str__(self) -> str:
        """Return a sentence."""
        if self.first == self.second:
            return f"instances of {self.first} run in another order"
        return f"instances of {self.first} and {self.second} run in another order"


class OrderComparison:
    """Comparisons of the orders of one program; answers are remembered."""

    def __init__(self, scop: Scop) -> None:
        self._scop = scop
        self._names = parameter_names(scop)
        self._known: LruCache[object, bool] = LruCache(100_000)

    def difference(self, one: LoopTree, other: LoopTree) -> OrderDifference | None:
        """Return a pair of statements that tells two trees apart; None for the same order.

        Raises:
            LimitError: isl would take too long.
        """
        if one.shape == other.shape:
            return None
        names = [name for name, _ in one.iterators]
        with bounded_operations("comparing two orders", _OPERATIONS):
            for place, first in enumerate(names):
                for second in names[place:]:
                    if not self._is_same(first, second, one, other):
                        return OrderDifference(first, second)
        return None

    def _is_same(self, first: str, second: str, one: LoopTree, other: LoopTree) -> bool:
        pairs = tuple(_pair(tree.rows[first], tree.rows[second]) for tree in (one, other))
        if pairs[0] == pairs[1]:
            return True
        return self._known.get((first, second, pairs), lambda: self._ask_isl(first, second, pairs))

    def _ask_isl(self, first: str, second: str, pairs: Sequence[_Pair]) -> bool:
        before = [self._order(first, second, pair) for pair in pairs]
        if not before[0].is_equal(before[1]):
            return False
        if first == second:
            return True
        swapped = [tuple((b, a) for a, b in pair) for pair in pairs]
        behind = [self._order(second, first, pair) for pair in swapped]
        return bool(behind[0].is_equal(behind[1]))

    def _order(self, first: str, second: str, pair: _Pair) -> isl.Map:
        """Return the pairs of instances of which the first one runs first."""
        one, other = (
            self._times(name, [rows[place] for rows in pair])
            for place, name in enumerate((first, second))
        )
        context = isl.Set(self._scop.context)
        return one.lex_lt_map(other).intersect_params(context)

    def _times(self, name: str, rows: Sequence[ScheduleRow]) -> isl.Map:
        statement = self._scop.statement(name)
        vector = ", ".join(row.text(statement.iterators, self._names) for row in rows)
        instance = f"{name}[{', '.join(statement.iterators)}]"
        times = isl.Map(f"[{', '.join(self._names)}] -> {{ {instance} -> [{vector}] }}")
        return times.intersect_domain(isl.Set(statement.domain))


def is_same_order(scop: Scop, one: LoopTree, other: LoopTree) -> bool:
    """Whether two trees run every two instances in the same order.

    Raises:
        LimitError: isl would take too long.
    """
    return OrderComparison(scop).difference(one, other) is None


def same_order_or_none(comparison: OrderComparison, one: LoopTree, other: LoopTree) -> bool:
    """Whether two trees are proved to have the same order."""
    try:
        return comparison.difference(one, other) is None
    except LimitError:
        return False


def _pair(first: _Rows, second: _Rows) -> _Pair:
    """Return the rows of two statements in a form that is equal for many equal orders.

    Offsets that both have are left out, and what stands behind different constants: two statements
    of a tree have such constants where they part.
    """
    result: list[tuple[ScheduleRow, ScheduleRow]] = []
    for one, two in zip(first, second, strict=False):
        sizes = tuple(b - a for a, b in zip(one.parameters, two.parameters, strict=True))
        zero = (0,) * len(sizes)
        constant = two.constant - one.constant
        has_parted = not any(one.iterators) and not any(two.iterators) and not any(sizes)
        if has_parted and not constant:
            continue
        if has_parted:
            constant = 1 if constant > 0 else -1
        result.append(
            (ScheduleRow(one.iterators, zero, 0), ScheduleRow(two.iterators, sizes, constant))
        )
        if has_parted:
            break
    return tuple(result)
