"""Algorithm 1: construction of a schedule space, one dimension after the other.

A space is a sequence of polyhedra of rows. Dimension i carries the dependences Deps_i strongly and
satisfies the others that are left weakly; what it carries no later dimension has to satisfy::

    i ← 1
    while D ≠ ∅:
        Deps_i ← { d in D : select_dependence(d) }
        G_i    ← generators of strong(Deps_i) ∩ weak(D - Deps_i)
        D      ← D - Deps_i;  i ← i + 1

``select_dependence`` is free. Whatever it says, every point of every polyhedron gives a legal
schedule; what it decides is which schedules the space holds. If it selects what no row can carry
(:meth:`~polygym.poly.spaces.polyhedra.RowPolyhedra.carryable`) the polyhedron of that dimension is
empty.

Example, y = Ax: selecting nothing, nothing, S -> T, T -> T gives four dimensions with one vertex
each and 10, 10, 10, 13 rays.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import Dependence
from polygym.poly.schedule import MAX_DIMENSIONS
from polygym.poly.spaces.polyhedra import DimensionGenerators, RowPolyhedra


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SpaceDimension:
    """One polyhedron of a space; dependences by their position in ``dependences(scop)``."""

    carried: frozenset[int]
    remaining: frozenset[int]
    generators: DimensionGenerators


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ScheduleSpace:
    """A schedule space: a point of every dimension's polyhedron together are a schedule."""

    scop: Scop
    dimensions: tuple[SpaceDimension, ...]

    @property
    def is_empty(self) -> bool:
        """Whether some dimension has no row, so that there is no schedule."""
        return any(dimension.generators.is_empty for dimension in self.dimensions)

    @property
    def is_complete(self) -> bool:
        """Whether every dimension's generators are all there are."""
        return all(dimension.generators.is_complete for dimension in self.dimensions)

    @property
    def coefficient_count(self) -> int:
        """How many coefficients determine a schedule."""
        return sum(dimension.generators.coefficient_count for dimension in self.dimensions)


def construct_space(
    scop: Scop,
    select_dependence: Callable[[Dependence], bool],
    *,
    polyhedra: RowPolyhedra | None = None,
) -> ScheduleSpace:
    """Build a schedule space; ``select_dependence`` is asked for every dependence that is left.

    A selector that never selects would go on forever: after 64 dimensions it is refused.
    ``polyhedra`` brings other limits than the usual ones, and answers to what was asked before.
    """
    known = polyhedra or RowPolyhedra(scop)
    selections: list[frozenset[int]] = []
    left = known.all_carryable
    while left:
        if len(selections) == MAX_DIMENSIONS:
            names = ", ".join(dependence_name(known.dependences[index]) for index in sorted(left))
            raise LimitError(
                f"constructing a space: expected every dependence to be selected within "
                f"{MAX_DIMENSIONS} dimensions, found still unselected {names}"
            )
        selected = frozenset(
            index for index in sorted(left) if select_dependence(known.dependences[index])
        )
        selections.append(selected)
        left -= selected
    return space_from_selections(known, selections)


def space_from_selections(
    polyhedra: RowPolyhedra, selections: Sequence[Iterable[int]]
) -> ScheduleSpace:
    """Return the space whose dimensions carry these dependences, by their positions."""
    left = frozenset(range(len(polyhedra.dependences)))
    dimensions = []
    for selection in selections:
        carried = frozenset(selection)
        dimensions.append(SpaceDimension(carried, left, polyhedra.generators(left, carried)))
        left -= carried
    return ScheduleSpace(polyhedra.scop, tuple(dimensions))


def dependence_name(dependence: Dependence) -> str:
    """Return the short name of a dependence, ``S->T``."""
    return f"{dependence.source}->{dependence.sink}"
