"""How far apart a schedule puts the two ends of a dependence, one dimension after the other.

For a dependence with the relation R and row k of a schedule, the distance of a pair (s, t) in R is

    δ_k(s, t) = Θ_T,k(t) - Θ_S,k(s),

an affine form over R. A row *carries* the pairs with δ_k ≥ 1: whatever comes after cannot reverse
them, so the pairs that still matter further in are those with δ_k = 0. Legality, permutable bands
and coincident dimensions are all questions about the sign of δ on what is left:

    δ ≥ 0 everywhere on what is left   the row may be the next one (weak)
    δ = 0 everywhere on what is left   the row does not order these pairs (coincident)

Example, T -> T of y = Ax with pairs T[i, j] -> T[i, j'], j < j': under the row ``i`` δ = 0, under
``j`` δ = j' - j ≥ 1 carries everything, under ``-j`` δ ≤ -1 breaks every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import Dependence, dependences
from polygym.compiler.poly.schedule import Row


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a dependence that are still to be ordered (within one process: holds isl).

    ``points`` lives in the flat space (iterators of the source, iterators of the sink). Pairs are
    compared by identity, so that what is found of them can be remembered.
    """

    dependence: Dependence
    points: isl.Set

    @staticmethod
    def of(dependence: Dependence, parameters: tuple[str, ...]) -> Pairs:
        """Return all pairs of the dependence; rows will be over these parameters."""
        space = isl.Set(f"[{', '.join(parameters)}] -> {{ : }}").get_space()
        relation = isl.Map(dependence.relation).align_params(space)
        return Pairs(dependence, relation.wrap().flatten().reset_tuple_id())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to order."""
        return bool(self.points.is_empty())

    def distance(self, source: Row, sink: Row, parameters: tuple[str, ...]) -> isl.Aff:
        """Return δ for one row of the source's and the sink's schedule."""
        space = self.points.get_space()
        form = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
        form = form.set_constant_val(sink.constant - source.constant)
        coefficients = tuple(-value for value in source.iterators) + sink.iterators
        for position, value in enumerate(coefficients):
            if value:
                form = form.set_coefficient_val(isl.dim_type.in_, position, value)
        for name, before, after in zip(parameters, source.parameters, sink.parameters, strict=True):
            if after != before:
                position = space.find_dim_by_name(isl.dim_type.param, name)
                form = form.set_coefficient_val(isl.dim_type.param, position, after - before)
        return form

    def reversed_by(self, distance: isl.Aff) -> Pairs:
        """Return the pairs with δ ≤ -1."""
        if distance.is_cst():
            return self._if(distance.get_constant_val().sgn() < 0)
        return self._where((-distance).add_constant_val(-1))

    def untouched_by(self, distance: isl.Aff) -> Pairs:
        """Return the pairs with δ = 0."""
        if distance.is_cst():
            return self._if(distance.get_constant_val().sgn() == 0)
        constraint = isl.Constraint.equality_from_aff(distance)
        return Pairs(self.dependence, self.points.add_constraint(constraint))

    def carried_by(self, distance: isl.Aff) -> Pairs:
        """Return the pairs with δ ≥ 1."""
        if distance.is_cst():
            return self._if(distance.get_constant_val().sgn() > 0)
        return self._where(distance.add_constant_val(-1))

    def _if(self, holds: bool) -> Pairs:
        """Return all pairs or none: where δ is a number, as between loops, isl is not asked."""
        if holds:
            return self
        return Pairs(self.dependence, isl.Set.empty(self.points.get_space()))

    def _where(self, nonnegative: isl.Aff) -> Pairs:
        # Of forms that are no number: in a space without any dimension isl overlooks -1 >= 0.
        constraint = isl.Constraint.inequality_from_aff(nonnegative)
        return Pairs(self.dependence, self.points.add_constraint(constraint))


@lru_cache(maxsize=64)
def all_pairs(scop: Scop) -> tuple[Pairs, ...]:
    """Return the pairs of every dependence; reading isl's texts again costs more than they hold."""
    names = tuple(parameter.name for parameter in scop.parameters)
    return tuple(Pairs.of(dependence, names) for dependence in dependences(scop))
