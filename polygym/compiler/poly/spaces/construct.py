"""Algorithm 1: the construction of a schedule space, one dimension after the other.

A space is a sequence of polyhedra of rows. Dimension i carries the dependences Deps_i strongly and
satisfies the others that are left weakly; what it carries no later dimension has to satisfy::

    i ← 1
    while D ≠ ∅:
        Deps_i ← { d in D : select_dependence(d) }
        G_i    ← generators of strong(Deps_i) ∩ weak(D - Deps_i)
        D      ← D - Deps_i;  i ← i + 1

``select_dependence`` is free. Whatever it says, every point of every polyhedron gives a legal
schedule; what it decides is which schedules the space holds. If it selects what no row can carry
(:meth:`Polyhedra.carryable`) the polyhedron of that dimension is empty.

Example, y = Ax: selecting nothing, nothing, S -> T, T -> T gives four dimensions with one vertex
each and 10, 10, 10, 13 rays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import Dependence
from polygym.compiler.poly.schedule import MOST_DIMENSIONS
from polygym.compiler.poly.spaces.polyhedra import Generators, Polyhedra
from polygym.errors import LimitError
from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Dimension:
    """One polyhedron of a space; dependences by their position in ``dependences(scop)``."""

    carried: frozenset[int]
    left: frozenset[int]
    generators: Generators


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Space:
    """A schedule space: a point of every dimension's polyhedron together are a schedule."""

    scop: Scop
    dimensions: tuple[Dimension, ...]

    @property
    def is_empty(self) -> bool:
        """Whether some dimension has no row, so that there is no schedule."""
        return any(dimension.generators.is_empty for dimension in self.dimensions)

    @property
    def is_complete(self) -> bool:
        """Whether every dimension's generators are all there are."""
        return all(dimension.generators.complete for dimension in self.dimensions)

    @property
    def choices(self) -> int:
        """How many coefficients determine a schedule."""
        return sum(dimension.generators.choices for dimension in self.dimensions)


def construct(
    scop: Scop,
    select_dependence: Callable[[Dependence], bool],
    *,
    polyhedra: Polyhedra | None = None,
) -> Space:
    """Build a schedule space; ``select_dependence`` is asked for every dependence that is left.

    A selector that never selects would go on for ever: after 64 dimensions it is refused.
    ``polyhedra`` brings other limits than the usual ones, and answers to what was asked before.
    """
    known = polyhedra or Polyhedra(scop)
    selections: list[frozenset[int]] = []
    left = known.all
    while left:
        if len(selections) == MOST_DIMENSIONS:
            names = ", ".join(describe(known.dependences[index]) for index in sorted(left))
            raise LimitError(
                f"constructing a space: expected every dependence to be selected within "
                f"{MOST_DIMENSIONS} dimensions, found still unselected {names}"
            )
        selected = frozenset(
            index for index in sorted(left) if select_dependence(known.dependences[index])
        )
        selections.append(selected)
        left -= selected
    return space_of(known, selections)


def space_of(known: Polyhedra, selections: Sequence[Iterable[int]]) -> Space:
    """Return the space whose dimensions carry these dependences, by their positions."""
    left = frozenset(range(len(known.dependences)))
    dimensions = []
    for selection in selections:
        carried = frozenset(selection)
        dimensions.append(Dimension(carried, left, known.generators(left, carried)))
        left -= carried
    return Space(known.scop, tuple(dimensions))


def describe(dependence: Dependence) -> str:
    """Return the short name of a dependence, ``S->T``."""
    return f"{dependence.source}->{dependence.sink}"
