"""Rows of statements that move into a loop beside them: its first or last iteration.

A statement S beside a loop around T gets the value that T's loop has first, or last, for the same
values of the loops around both (:mod:`polygym.poly.counter_bounds`). Example, the loop k of
``for i { S(i); for (k = i + 1; …) T(i, k) }`` begins with i + 1, which is the row of S then. Where
that value is not an affine function the row is 0: legality is tested afterwards either way.
"""

from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.poly.counter_bounds import CounterBound, counter_bound
from polygym.poly.schedule import ScheduleRow, combine_rows, parameter_names
from polygym.transformations.loop_tree import Loop, LoopTree, Node, constant_row


class EdgeRows:
    """The rows of one program, remembered."""

    def __init__(self, scop: Scop) -> None:
        self._scop = scop
        self._width = len(parameter_names(scop))
        self._bounds: LruCache[object, CounterBound | None] = LruCache(1024)

    def __call__(
        self, tree: LoopTree, loop: Loop, node: Node, statement: str, is_first: bool
    ) -> ScheduleRow:
        """Return the row with which a statement of a node runs in the first, or last, iteration."""
        around, inside = tree.paths[node.name], tree.paths[loop.name]
        rows = [
            (name, tuple(outer.row(name) for outer in inside), loop.row(name))
            for name in loop.statements
        ]
        bound = self._bounds.get(
            (tuple(rows), is_first),
            lambda: counter_bound(self._scop, rows, is_first=is_first),
        )
        row = constant_row(self._scop.statement(statement).depth, self._width, 0)
        # Of loops that are not around the statement there is no value.
        if bound is None or any(bound.outer[len(around) :]):
            return row
        for factor, outer in zip(bound.outer, around, strict=False):
            row = combine_rows(row, outer.row(statement), 1, factor)
        parameters = tuple(map(sum, zip(row.parameters, bound.parameters, strict=True)))
        return ScheduleRow(row.iterators, parameters, row.constant + bound.constant)
