"""Distances of dependences under a schedule, one dimension after the other.

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
from functools import cached_property, lru_cache
from operator import neg, sub

import islpy as isl

from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.isl_values import affine_form, isl_value
from polygym.poly.schedule import ScheduleRow


@dataclass(frozen=True)
class DependenceDistance:
    """δ, an affine form over pairs (within one process: holds isl).

    ``iterators`` are the factors of those of the source and of the sink, ``sizes`` those of the
    ``parameters``. Few forms come again and again, so what isl makes of one is kept with it.
    """

    parameters: tuple[str, ...]
    iterators: tuple[int, ...]
    sizes: tuple[int, ...]
    constant: int

    @property
    def is_constant(self) -> bool:
        """Whether δ is the same for all pairs, whatever they are."""
        return not any(self.iterators) and not any(self.sizes)

    @cached_property
    def form(self) -> isl.Aff:
        """The form."""
        return affine_form(self._zero, self.iterators, self.sizes, self.constant)

    @cached_property
    def zero_constraint(self) -> isl.Constraint:
        """The constraint δ = 0."""
        return isl.Constraint.equality_from_aff(self.form)

    @cached_property
    def negative(self) -> isl.Set:
        """Where δ ≤ -1."""
        # Not a constraint: in a space without any dimension isl overlooks one such as -1 >= 0.
        return (-self.form).add_constant_val(isl_value(-1)).ge_set(self._zero)

    @cached_property
    def positive(self) -> isl.Set:
        """Where δ ≥ 1."""
        return self.form.add_constant_val(isl_value(-1)).ge_set(self._zero)

    @property
    def _zero(self) -> isl.Aff:
        """The form that is 0 everywhere."""
        count = len(self.parameters)
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, count, len(self.iterators))
        for place, name in enumerate(self.parameters):
            space = space.set_dim_name(isl.dim_type.param, place, name)
        return isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))


@lru_cache(maxsize=4096)
def _distance(
    parameters: tuple[str, ...], iterators: tuple[int, ...], sizes: tuple[int, ...], constant: int
) -> DependenceDistance:
    return DependenceDistance(parameters, iterators, sizes, constant)


@dataclass(frozen=True, eq=False)
class DependencePairs:
    """The pairs of a dependence that are still to be ordered (within one process: holds isl).

    ``points`` lives in the flat space (iterators of the source, iterators of the sink), over the
    ``parameters``. Pairs are compared by identity, so that what is found of them is remembered.
    """

    dependence: Dependence
    points: isl.Set
    parameters: tuple[str, ...]

    @staticmethod
    def of(dependence: Dependence, parameters: tuple[str, ...]) -> DependencePairs:
        """Return all pairs of the dependence; rows will be over these parameters."""
        space = isl.Set(f"[{', '.join(parameters)}] -> {{ : }}").get_space()
        relation = isl.Map(dependence.relation).align_params(space)
        points = relation.wrap().flatten().reset_tuple_id()
        count = points.dim(isl.dim_type.param)
        names = (points.get_dim_name(isl.dim_type.param, place) for place in range(count))
        return DependencePairs(dependence, points, tuple(names))

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing is left to order."""
        return bool(self.points.is_empty())

    def distance(
        self, source: ScheduleRow, sink: ScheduleRow, parameters: tuple[str, ...]
    ) -> DependenceDistance:
        """Return δ for one row of the source's and the sink's schedule."""
        sizes = tuple(map(sub, sink.parameters, source.parameters))
        if parameters != self.parameters:
            named = dict(zip(parameters, sizes, strict=True))
            sizes = tuple(named.pop(name, 0) for name in self.parameters)
            assert not any(named.values()), "rows are over parameters of the program"
        iterators = (*map(neg, source.iterators), *sink.iterators)
        return _distance(self.parameters, iterators, sizes, sink.constant - source.constant)

    # Where δ is one number for all pairs they are all of one kind, and isl need not be asked.

    def reversed_by(self, distance: DependenceDistance) -> DependencePairs:
        """Return the pairs with δ ≤ -1."""
        if distance.is_constant:
            return self if distance.constant < 0 else self._none
        return self._of(self.points.intersect(distance.negative))

    def unordered_by(self, distance: DependenceDistance) -> DependencePairs:
        """Return the pairs with δ = 0."""
        if distance.is_constant:
            return self if distance.constant == 0 else self._none
        return self._of(self.points.add_constraint(distance.zero_constraint))

    def carried_by(self, distance: DependenceDistance) -> DependencePairs:
        """Return the pairs with δ ≥ 1."""
        if distance.is_constant:
            return self if distance.constant > 0 else self._none
        return self._of(self.points.intersect(distance.positive))

    @property
    def _none(self) -> DependencePairs:
        return self._of(isl.Set.empty(self.points.get_space()))

    def _of(self, points: isl.Set) -> DependencePairs:
        return DependencePairs(self.dependence, points, self.parameters)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def all_pairs(scop: Scop) -> tuple[DependencePairs, ...]:
    """Return the pairs of every dependence; reading isl's texts again costs more than they hold."""
    names = tuple(parameter.name for parameter in scop.parameters)
    return tuple(DependencePairs.of(dependence, names) for dependence in dependences(scop))
