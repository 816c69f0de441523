"""Rows of loops in a construction: one loop with the rows of the target, in front of all others.

The row of each statement is made of the innermost loop that it depends on, and moves outwards by
interchanges; siblings with the row are fused on the way. Multiples of the loops around a loop are
added as late as possible, so that loops are fused before they are skewed. Example, the row i + j of
S and k of T: L3 is skewed by L2, L2 and L3 change places, then L3 and L4 are fused::

    L2 (S: i)                   L3 (S: i + j, T: k)
      L3 (S: j)                   L2 (S: i)
        S               →           S
    L4 (T: k)                     T
      T
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polygym.poly.row_combinations import RowAlgebra
from polygym.poly.schedule import ScheduleRow
from polygym.transformations.construction import Construction, StuckError
from polygym.transformations.loop_fusion import LoopFusion
from polygym.transformations.loop_tree import LOOP_PREFIX, Loop
from polygym.transformations.steps import Distribute, Interchange, Reverse, Skew


@dataclass(frozen=True, slots=True)
class Front:
    """A loop with rows of the target, less multiples of the loops around it."""

    name: str
    factors: tuple[int, ...]


class LoopFronts:
    """The search for loops with one row of each statement."""

    def __init__(
        self, build: Construction, algebra: RowAlgebra, rows: Mapping[str, ScheduleRow]
    ) -> None:
        self._build = build
        self._algebra = algebra
        self._rows = rows

    def front(self, names: list[str]) -> Front | None:
        """Make one loop with some rows of neighbouring nodes; None if they order nothing."""
        fronts: dict[str, Front] = {}
        items: list[str] = []
        waiting = list(names)
        while waiting:
            name = waiting.pop(0)
            if self._is_known(name):
                items.append(name)
                continue
            if not isinstance(self._build.node(name), Loop):
                raise StuckError(f"{name}: it has too few loops around it")
            if self._can_be_taken_apart(name) and self._build.takes_other():
                if parts := self._taken_apart(name):
                    waiting[:0] = parts
                    continue
            front = self._front_of(name)
            if front is None:
                parts = self._taken_apart(name)
                if not parts:
                    raise StuckError(f"{name}: no loop in it has the rows of the target")
                waiting[:0] = parts
                continue
            fronts[front.name] = front
            items.append(front.name)
        if not fronts:
            return None
        if len({front.factors for front in fronts.values()}) > 1:
            for name, front in fronts.items():
                self.skew(front, range(len(front.factors)))
                fronts[name] = Front(name, (0,) * len(front.factors))
        factors = next(iter(fronts.values())).factors
        return Front(self._fusion(factors).fused(items, set(fronts)), factors)

    def _is_known(self, name: str) -> bool:
        """Whether the loops around a node determine the rows of its statements."""
        around = self._build.around(name)
        return all(
            self._algebra.determines(own, self._rows[own], [loop.row(own) for loop in around])
            for own in self._build.node(name).statements
        )

    def _can_be_taken_apart(self, name: str) -> bool:
        loop = self._build.loop(name)
        return len(loop.body) > 1 and self._made(loop) is None

    def _taken_apart(self, name: str) -> list[str]:
        """Distribute a loop whose statements need different rows; nothing where it cannot be."""
        if not self._can_be_taken_apart(name):
            return []
        children = self._build.loop(name).body
        made = [self._made(self._build.loop(name), child.statements) for child in children]
        for place in range(1, len(children)):
            if made[place] != made[place - 1] or made[place] is None:
                behind = children[place].name
                number = self._build.tree.next_number
                if self._build.attempt(Distribute(name, behind)):
                    return [name, f"{LOOP_PREFIX}{number}"]
        return []

    def _made(self, loop: Loop, statements: tuple[str, ...] = ()) -> tuple[int, ...] | None:
        """Return factors of a loop and those around it that make the rows of its statements."""
        statements = statements or loop.statements
        columns = [
            [outer.row(own) for own in statements]
            for outer in (*self._build.around(loop.name), loop)
        ]
        wanted = [self._rows[own] for own in statements]
        found = self._algebra.combination(statements, wanted, columns)
        return None if found is None else found.factors

    def _front_of(self, name: str) -> Front | None:
        """Bring rows to the front of a loop: it, or one from its inside, gets them."""
        around = self._build.around(name)
        made = self._made(self._build.loop(name))
        if made is not None and abs(made[-1]) > 1 and self._is_reduced(name, made):
            made = self._made(self._build.loop(name))
        if made is not None and made[-1]:
            return self._made_of(self._build.loop(name), made)
        if made is not None:
            return None
        factors = self._inner_factors(name)
        if factors and self._build.takes_other() and (outer := self._skewed(name, factors)):
            return outer
        inner = self.front(self._build.body(name))
        if inner is None:
            return None
        if len(self._build.body(name)) != 1:
            raise StuckError(f"{inner.name}: it is not alone in {name}")
        self.skew(inner, [len(around)])
        self._build.do(Interchange(name, inner.name))
        return Front(inner.name, inner.factors[:-1])

    def _inner_factors(self, name: str) -> list[tuple[str, int]]:
        """Return loops right inside a loop, and factors by which it must be skewed for rows.

        Example, the loops i and j and the row i + j: (j, 1). The list is empty where that is no way
        to the rows.
        """
        loop, around = self._build.loop(name), self._build.around(name)
        inner = [
            other
            for other in self._build.tree.chain(name)[1:]
            if set(other.statements) == set(loop.statements)
        ]
        columns = [[other.row(own) for own in loop.statements] for other in (*around, loop, *inner)]
        wanted = [self._rows[own] for own in loop.statements]
        found = self._algebra.combination(loop.statements, wanted, columns)
        if found is None or abs(sign := found.factors[len(around)]) != 1:
            return []
        factors = found.factors[len(around) + 1 :]
        return [
            (other.name, sign * factor)
            for other, factor in zip(inner, factors, strict=True)
            if factor
        ]

    def _skewed(self, name: str, factors: list[tuple[str, int]]) -> Front | None:
        """Skew a loop by loops inside it; None if that is not legal."""
        before = self._build.state
        for inner, factor in factors:
            if not self._build.attempt(Skew(name, inner, factor)):
                self._build.state = before
                return None
        made = self._made(self._build.loop(name))
        assert made is not None
        return self._made_of(self._build.loop(name), made)

    def _is_reduced(self, name: str, factors: tuple[int, ...]) -> bool:
        """Skew the loop around a loop by it, as in Euclid's algorithm; whether that is legal."""
        around = self._build.around(name)
        if (
            not around
            or not factors[-2]
            or set(around[-1].statements) != set(self._build.node(name).statements)
        ):
            return False
        sign = 1 if factors[-1] * factors[-2] > 0 else -1
        return self._build.attempt(Skew(around[-1].name, name, sign))

    def _made_of(self, loop: Loop, factors: tuple[int, ...]) -> Front:
        """Reverse a loop and shift its statements for rows that are made of it."""
        if abs(factors[-1]) > 1:
            raise StuckError(
                f"{loop.name}: the target has {factors[-1]} times its counter, which no step makes"
            )
        fusion = self._fusion(factors[:-1])
        if factors[-1] < 0 and not self._build.attempt(Reverse(loop.name)):
            fusion.align(loop.name, -1)
            self._build.do(Reverse(loop.name))
        fusion.align(loop.name, 1)
        return Front(loop.name, factors[:-1])

    def skew(self, front: Front, places: Iterable[int]) -> None:
        """Skew a loop by loops around it, where its factors say so."""
        around = self._build.around(front.name)
        for place in places:
            if factor := front.factors[place]:
                self._build.do(Skew(front.name, around[place].name, factor))

    def _fusion(self, factors: tuple[int, ...]) -> LoopFusion:
        return LoopFusion(self._build, self._algebra, self._rows, factors)
