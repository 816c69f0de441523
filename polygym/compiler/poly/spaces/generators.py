"""The generators of a polyhedron: its vertices, rays and lines, found by the double description.

A polyhedron is given by inequalities a·x + c ≥ 0 and equalities a·x + c = 0, or by generators:
every point of it is a convex combination of its vertices plus a nonnegative combination of its rays
plus any combination of its lines. Chernikova's algorithm goes from the one to the other; here it is
the Parma Polyhedra Library's. Example: i ≥ 0, n - i - 1 ≥ 0 in the plane of (i, n) has the vertex
(0, 1) and the rays (0, 1) and (1, 1).

The number of generators can be exponential in the number of constraints, and one call of the
library cannot be interrupted. So the constraints go in one at a time, and the work is given up as
soon as a partial result is larger than a limit or the time is over. The order matters (a set of
constraints may swell in one order and not in another), so two orders are tried: the sparse ones
first, then as given.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, inf
from typing import Any

from polygym.compiler.poly.spaces.integers import Vector
from polygym.compiler.poly.spaces.parma import parma


@dataclass(frozen=True, slots=True)
class Constraint:
    """``coefficients · x + constant ≥ 0``, or ``= 0`` for an equality."""

    coefficients: Vector
    constant: int = 0
    is_equality: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Vertex:
    """The point ``numerators / denominator``, in lowest terms, with a positive denominator."""

    numerators: Vector
    denominator: int = 1

    @staticmethod
    def of(numerators: Sequence[int], denominator: int) -> Vertex:
        """Return the vertex in lowest terms."""
        divisor = gcd(denominator, *numerators)
        return Vertex(tuple(value // divisor for value in numerators), denominator // divisor)

    @property
    def is_integer(self) -> bool:
        """Whether all coordinates are integers."""
        return self.denominator == 1


@dataclass(frozen=True, slots=True)
class Description:
    """A minimal set of generators; no vertex at all means that the polyhedron is empty."""

    vertices: tuple[Vertex, ...]
    rays: tuple[Vector, ...]
    lines: tuple[Vector, ...]

    @property
    def size(self) -> int:
        """The number of generators."""
        return len(self.vertices) + len(self.rays) + len(self.lines)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much an enumeration may cost, in all.

    ``generators`` at any time; ``work``, which is counted as generators times coordinates, summed
    over the constraints that are added; and ``seconds``, which depend on the machine.
    """

    generators: int
    work: float = inf
    seconds: float = inf


def describe(
    constraints: Sequence[Constraint], width: int, effort: Effort | None = None
) -> Description | None:
    """Return the generators of a polyhedron, or None when that takes more than the effort."""
    if effort is None:
        return _read(_polyhedron(constraints, width), width)
    sparse_first = sorted(
        constraints,
        key=lambda one: (not one.is_equality, len(one.coefficients) - one.coefficients.count(0)),
    )
    for order in (sparse_first, constraints):
        found = _incrementally(
            order, width, Effort(effort.generators, effort.work / 2, effort.seconds / 2)
        )
        if found is not None:
            return found
    return None


def constraints_of(description: Description, width: int) -> tuple[Constraint, ...]:
    """Return a minimal set of constraints of the polyhedron that the generators span.

    Without a vertex it is empty, whatever the rays are, and the constraint is ``-1 = 0``.
    """
    library = parma()
    system = library.Generator_System()
    for vertex in description.vertices:
        system.insert(library.point(_expression(vertex.numerators, 0), vertex.denominator))
    for ray in description.rays:
        system.insert(library.ray(_expression(ray, 0)))
    for line in description.lines:
        system.insert(library.line(_expression(line, 0)))
    polyhedron = library.C_Polyhedron(width, "empty")
    if description.vertices:
        polyhedron.add_generators(system)
    return tuple(
        Constraint(
            _padded(found.coefficients(), width),
            int(found.inhomogeneous_term()),
            found.is_equality(),
        )
        for found in polyhedron.minimized_constraints()
    )


def _incrementally(
    constraints: Iterable[Constraint], width: int, effort: Effort
) -> Description | None:
    """Add the constraints one at a time; None when a partial result is too large or too late."""
    deadline = time.monotonic() + effort.seconds
    polyhedron = parma().C_Polyhedron(width, "universe")
    work = 0
    for constraint in constraints:
        polyhedron.add_constraint(_constraint(constraint))
        size = len(polyhedron.minimized_generators())
        work += size * width
        if size > effort.generators or work > effort.work or time.monotonic() > deadline:
            return None
    return _read(polyhedron, width)


def _polyhedron(constraints: Iterable[Constraint], width: int) -> Any:
    library = parma()
    system = library.Constraint_System()
    for constraint in constraints:
        system.insert(_constraint(constraint))
    polyhedron = library.C_Polyhedron(width, "universe")
    polyhedron.add_constraints(system)
    return polyhedron


def _constraint(constraint: Constraint) -> Any:
    expression = _expression(constraint.coefficients, constraint.constant)
    return expression == 0 if constraint.is_equality else expression >= 0


def _expression(coefficients: Sequence[int], constant: int) -> Any:
    return parma().Linear_Expression(list(coefficients), constant)


def _read(polyhedron: Any, width: int) -> Description:
    """Read the minimal generators off a polyhedron of the library."""
    vertices, rays, lines = [], [], []
    for found in polyhedron.minimized_generators():
        values = _padded(found.coefficients(), width)
        if found.is_point():
            vertices.append(Vertex.of(values, int(found.divisor())))
        elif found.is_ray():
            rays.append(values)
        else:
            lines.append(values)
    return Description(tuple(vertices), tuple(rays), tuple(lines))


def _padded(values: Iterable[Any], width: int) -> Vector:
    """Return integers of full length: the library leaves out the last dimensions if it can."""
    known = tuple(int(value) for value in values)
    return known + (0,) * (width - len(known))
