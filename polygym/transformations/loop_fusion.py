"""Fusion of loops that have rows of the target, and of nodes that sink into them.

A row r of the target is made up to an *offset* and to multiples f of the loops around, o::

    r(s) - row(s) - f₁·o₁(s) - … - f_k·o_k(s)  =  an offset of parameters and a constant

Two loops are fused with a shift that makes their offsets equal. Of a node that sinks into a loop,
the row is that of the loop's first or last iteration; its offset may have counters of the loops
around. Example, the rows S: i, T: i + 1 of ``for i { S }  for i { T }``: ``fuse L1 L2 shift 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from polygym.poly.row_combinations import Offset, RowAlgebra
from polygym.poly.schedule import ScheduleRow, combine_rows
from polygym.transformations.construction import Construction, StuckError
from polygym.transformations.loop_tree import Body, Loop
from polygym.transformations.steps import LARGEST_AMOUNT, Fuse, Shift


class LoopFusion:
    """Fusion for one row of each statement, and one factor of each loop around."""

    def __init__(
        self,
        build: Construction,
        algebra: RowAlgebra,
        rows: Mapping[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> None:
        self._build = build
        self._algebra = algebra
        self._rows = rows
        self._factors = factors

    def fused(self, items: list[str], loops: set[str]) -> str:
        """Fuse neighbours, of which some are loops with the rows, and return the name of the loop.

        Loops beside each other come first; what is left moves into the next loop, or the last.
        """
        items = list(items)
        self._join(items, loops)
        while len(items) > 1:
            places = [
                place
                for place, (one, other) in enumerate(pairwise(items))
                if (one in loops) != (other in loops)
            ]
            self._sink(
                items, sorted(places, key=lambda k: self._sinking_cost(items, k, loops)), loops
            )
            self._join(items, loops)
        return items[0]

    def _join(self, items: list[str], loops: set[str]) -> None:
        """Fuse loops that are neighbours."""
        place = 0
        while place + 1 < len(items):
            if items[place] in loops and items[place + 1] in loops:
                self._fuse(items[place], items[place + 1], "")
                del items[place + 1]
            else:
                place += 1

    def _sink(self, items: list[str], places: list[int], loops: set[str]) -> None:
        """Sink a node into the loop beside it, at the first place where that is legal."""
        failure = StuckError("no loop is beside a node that must sink into one")
        for place in places:
            one, other = items[place : place + 2]
            before = self._build.state
            try:
                self._fuse(one, other, other if one in loops else one)
            except StuckError as error:
                self._build.state, failure = before, error
                continue
            del items[place + (one in loops)]
            return
        raise failure

    def _sinking_cost(self, items: list[str], place: int, loops: set[str]) -> tuple[int, bool, int]:
        """Return an order of choices: the target's row, a simple shift, into the loop behind."""
        one, other = items[place : place + 2]
        sunk = other if one in loops else one
        before, behind = (self._offset_of(name, sunk, one, other) for name in (one, other))
        if before is None or behind is None:
            cost = 3
        elif before == behind:
            cost = 0
        else:
            cost = 1 if before[:-1] == behind[:-1] else 2
        return cost, sunk == other, -place

    def _fuse(self, one: str, other: str, sunk: str) -> None:
        """Fuse two neighbours so that their statements keep one offset from their rows."""
        offsets = [self._offset_of(name, sunk, one, other) for name in (one, other)]
        sink = sunk if sunk and isinstance(self._build.node(sunk), Loop) else ""
        kept = other if sunk == one else one
        if None in offsets:
            self._build.do(Fuse(one, other, sink=sink))
        else:
            known = [offset for offset in offsets if offset is not None]
            *sizes, constant = (b - a for a, b in zip(known[0], known[1], strict=True))
            if max(map(abs, (*sizes, constant)), default=0) > LARGEST_AMOUNT:
                raise StuckError(f"{one} {other}: the shift is too large")
            names = (*(loop.name for loop in self._build.around(one)), *self._build.tree.parameters)
            terms = tuple((name, value) for name, value in zip(names, sizes, strict=True) if value)
            self._build.do(Fuse(one, other, 1, constant, terms, sink))
        if sink:
            self.align(kept, 1)

    def _offset_of(self, name: str, sunk: str, one: str, other: str) -> Offset | None:
        """Return the offset of a node that will be fused, behind factors of the loops around."""
        node, around = self._build.node(name), self._build.around(name)
        if name != sunk:
            own = node.statements[0]
            offset = self._offset(self._build.loop(name).row(own), own, 1, name)
            return None if offset is None else (*(0 for _ in around), *offset)
        loop = self._build.loop(other if sunk == one else one)
        edge_row = self._build.state.version.edge_rows
        rest = [
            self._rest(edge_row(self._build.tree, loop, node, own, sunk == one), own, 1, name)
            for own in node.statements
        ]
        columns = [[outer.row(own) for own in node.statements] for outer in around]
        found = self._algebra.combination(node.statements, rest, columns)
        return None if found is None else (*found.factors, *found.offsets[0])

    def align(self, name: str, sign: int) -> None:
        """Shift parts of a loop until all statements have one offset from their rows."""
        offsets = {
            own: self._offset(self._build.loop(name).row(own), own, sign, name)
            for own in self._build.loop(name).statements
        }
        if any(offset is None for offset in offsets.values()):
            return
        counts = list(offsets.values())
        usual = max(counts, key=counts.count)
        waiting = list(self._parts(self._build.loop(name).body, offsets, usual))
        while waiting:
            for entry in waiting:
                node, offset = entry
                amount = _amount(offset, usual)
                if amount is None:
                    raise StuckError(f"{node}: it would move by a parameter in {name}")
                if self._build.attempt(Shift(node, name, sign * amount)):
                    waiting.remove(entry)
                    break
            else:
                node, offset = waiting[0]
                self._build.do(Shift(node, name, sign * (_amount(offset, usual) or 0)))

    def _parts(
        self, body: Body, offsets: dict[str, Offset | None], usual: Offset | None
    ) -> Iterable[tuple[str, Offset]]:
        """Yield the nodes whose statements have one offset, other than the usual one."""
        for node in body:
            own = {offsets[name] for name in node.statements}
            if len(own) > 1:
                assert isinstance(node, Loop)
                yield from self._parts(node.body, offsets, usual)
                continue
            (offset,) = own
            if offset is not None and offset != usual:
                yield node.name, offset

    def _offset(self, row: ScheduleRow, statement: str, sign: int, name: str) -> Offset | None:
        """Return a target's row less one of a loop, if only parameters and a constant are left."""
        rest = self._rest(row, statement, sign, name)
        found = self._algebra.combination([statement], [rest], [])
        return None if found is None else found.offsets[0]

    def _rest(self, row: ScheduleRow, statement: str, sign: int, name: str) -> ScheduleRow:
        """Return a target's row less one of a loop and multiples of those around it."""
        rest = combine_rows(self._rows[statement], row, 1, -sign)
        for factor, loop in zip(self._factors, self._build.around(name), strict=False):
            rest = combine_rows(rest, loop.row(statement), 1, -factor)
        return rest


def _amount(offset: Offset, usual: Offset | None) -> int | None:
    """Return the constant between two offsets, None where parameters differ."""
    if usual is None or offset[:-1] != usual[:-1]:
        return None
    amount = offset[-1] - usual[-1]
    return amount if abs(amount) <= LARGEST_AMOUNT else None
