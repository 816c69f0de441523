"""Rows of statements that move into a loop beside them: its first or last iteration.

The loop around T runs, for each value o of the loops around both, over a range of values v(t). Its
first value is a function of o and the parameters::

    f(o, p) = min { v(t) : t an instance of T whose outer rows are o }

If f is affine with integer coefficients, S gets the row f(o(s), p), where o(s) are its own outer
rows. Example: in ``for i { S(i); for (k = i + 1; …) T(i, k) }`` f(i) = i + 1, the row of S. Where
f is not affine, or another function on a part of the range, the row is 0: legality is tested
afterwards either way.
"""

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.isl_values import coefficient, coefficients, constant_term
from polygym.poly.schedule import ScheduleRow, combine_rows, parameter_names
from polygym.transformations.loop_tree import Loop, LoopTree, StatementNode

_OPERATIONS = 200_000

_Bound = tuple[tuple[int, ...], tuple[int, ...], int]


class EdgeRows:
    """The rows of one program, remembered."""

    def __init__(self, scop: Scop) -> None:
        self._scop = scop
        self._names = parameter_names(scop)
        self._bounds: LruCache[object, _Bound | None] = LruCache(1024)

    def __call__(
        self, tree: LoopTree, loop: Loop, statement: StatementNode, is_first: bool
    ) -> ScheduleRow:
        """Return the row with which a statement runs in the first, or last, iteration."""
        around = tree.paths[statement.name]
        inside = tree.paths[loop.name]
        key = (tuple((outer.name, outer.rows) for outer in inside), loop.rows, is_first)
        bound = self._bounds.get(key, lambda: self._bound(inside, loop, is_first))
        depth = self._scop.statement(statement.name).depth
        row = ScheduleRow((0,) * depth, (0,) * len(self._names), 0)
        if bound is None:
            return row
        of_outer, of_parameters, constant = bound
        # Loops between the statement and the loop, which is in a deeper level, have no value there.
        for factor, outer in zip(of_outer, around, strict=False):
            row = combine_rows(row, outer.row(statement.name), 1, factor)
        if any(of_outer[len(around) :]):
            return ScheduleRow((0,) * depth, (0,) * len(self._names), 0)
        parameters = tuple(map(sum, zip(row.parameters, of_parameters, strict=True)))
        return ScheduleRow(row.iterators, parameters, row.constant + constant)

    def _bound(self, around: tuple[Loop, ...], loop: Loop, is_first: bool) -> _Bound | None:
        try:
            with attempt_bounded(_OPERATIONS), bounded_operations("the first value of a loop"):
                return self._edge(around, loop, is_first)
        except (LimitError, isl.Error):
            return None

    def _edge(self, around: tuple[Loop, ...], loop: Loop, is_first: bool) -> _Bound | None:
        start = f"[{', '.join(self._names)}] -> "
        values: isl.Map | None = None
        for name in loop.statements:
            statement = self._scop.statement(name)
            outer = [level.row(name).text(statement.iterators, self._names) for level in around]
            own = loop.row(name).text(statement.iterators, self._names)
            instance = f"{name}[{', '.join(statement.iterators)}]"
            counters = isl.Map(f"{start}{{ {instance} -> [{', '.join(outer)}] }}")
            counter = isl.Map(f"{start}{{ {instance} -> [{own}] }}")
            domain = isl.Set(statement.domain)
            relation = counters.intersect_domain(domain).reverse().apply_range(counter)
            values = relation if values is None else values.union(relation)
        assert values is not None
        values = values.intersect_params(isl.Set(self._scop.context))
        least = values.lexmin_pw_multi_aff() if is_first else values.lexmax_pw_multi_aff()
        least = least.gist(values.domain()).coalesce()
        pieces: list[isl.MultiAff] = []
        least.foreach_piece(lambda _, affine: pieces.append(affine))
        if len(pieces) != 1:
            return None
        affine = pieces[0].get_aff(0)
        if affine.dim(isl.dim_type.div) or not affine.get_denominator_val().is_one():
            return None
        places = {
            affine.get_dim_name(isl.dim_type.param, position): position
            for position in range(affine.dim(isl.dim_type.param))
        }
        parameters = tuple(
            coefficient(affine, isl.dim_type.param, places[name]) if name in places else 0
            for name in self._names
        )
        return coefficients(affine, isl.dim_type.in_), parameters, constant_term(affine)
