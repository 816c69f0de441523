"""Equality of two schedules as orders of the instances of two statements, decided exactly.

Two orders are the *same* if they run every two instances in the same order, dependent or not, or
both leave it open. Rows that are equal up to a common offset are found without isl, and everything
else is one question to isl::

    { S[i] -> T[j] : Θ(S[i]) < Θ(T[j]) }  =  { S[i] -> T[j] : Θ'(S[i]) < Θ'(T[j]) }

Example: a statement in the last iteration of a loop, and the same statement behind the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import islpy as isl

from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.poly.schedule import ScheduleRow, parameter_names

_Rows: TypeAlias = tuple[ScheduleRow, ...]
_Pair: TypeAlias = tuple[tuple[ScheduleRow, ScheduleRow], ...]


class PairOrders:
    """Comparisons of the orders of one program's statements; answers are remembered."""

    def __init__(self, scop: Scop) -> None:
        self._scop = scop
        self._names = parameter_names(scop)
        self._known: LruCache[object, bool] = LruCache(100_000)

    def are_same(self, first: str, second: str, orders: Sequence[tuple[_Rows, _Rows]]) -> bool:
        """Whether two orders, each with the rows of both statements, are the same.

        Call it under a bound on isl's operations.
        """
        pairs = tuple(_pair(*rows) for rows in orders)
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
