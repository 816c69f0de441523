"""Equality of two loop trees as orders of execution, decided exactly.

Two trees have the *same order* if they run every two instances in the same order, dependent or not
(:mod:`polygym.poly.pair_orders`). Example: a statement in the last iteration of a loop, and the
same statement behind the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.pair_orders import PairOrders
from polygym.transformations.loop_tree import LoopTree


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
        self._orders = PairOrders(scop)

    def difference(self, one: LoopTree, other: LoopTree) -> OrderDifference | None:
        """Return a pair of statements that tells two trees apart; None for the same order.

        Raises:
            LimitError: isl would take too long.
        """
        if one.shape == other.shape:
            return None
        names = [name for name, _ in one.iterators]
        with bounded_operations("comparing two orders"):
            for place, first in enumerate(names):
                for second in names[place:]:
                    rows = [(tree.rows[first], tree.rows[second]) for tree in (one, other)]
                    if not self._orders.are_same(first, second, rows):
                        return OrderDifference(first, second)
        return None

    def is_same(self, one: LoopTree, other: LoopTree) -> bool:
        """Whether two trees are proved to have the same order."""
        try:
            return self.difference(one, other) is None
        except LimitError:
            return False
