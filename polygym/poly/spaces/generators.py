"""Generators of a polyhedron (vertices, rays, lines) by the double description.

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

What a partial result costs is its number of generators, and to ask the library for it means to copy
them all, which takes twenty times as long as adding a constraint. For most constraints the answer
is known without asking. Let P be what there is so far and L the lines in it.

* A constraint that all of P satisfies changes nothing.
* An inequality c·x + d ≥ 0 that is not constant along L turns one line into a ray and changes
  nothing else: with a line v that has c·v = 1 every point of P is a point of Q = P ∩ {c·x + d = 0}
  plus a multiple of v, so P is Q with the line v, and what remains is Q with the ray v.

Whether c is constant along L, that is, a combination of the coefficients so far, is decided modulo
a prime: what is independent there is so in truth, and of the others the library is asked.
Example: 0 ≤ i < n in the plane. i ≥ 0 and n - i - 1 ≥ 0 are independent and leave the three
generators (a point, two lines at first) three; then n ≥ 0 holds everywhere and nothing changes.

The one place where the Parma Polyhedra Library is imported, and where its import is tamed.

pplpy brings cysignals, which on import replaces the handlers of SIGINT and of every signal that
means a crash, prints a long report when one of those arrives, and refuses to be imported outside
the main thread. A library has no business doing so to its user: here the handlers are as they were
before, at the level of C and of Python, and the import works in any thread. What is lost is that
Ctrl-C cannot interrupt the inside of a single call, which is why calls are kept short (see
:mod:`polygym.poly.spaces.generators`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, inf
from types import ModuleType
from typing import Any

from polygym.foreign.libc import SignalHandlers
from polygym.poly.integer_vectors import ModularSpan, Vector

_import_lock = threading.Lock()


def ppl_module() -> ModuleType:
    """Return the library, imported at first use."""
    with _import_lock:
        return _import()


@lru_cache(maxsize=1)
def _import() -> ModuleType:
    with _preserve_signal_handlers():
        import ppl
    return ppl  # type: ignore[no-any-return]


@contextmanager
def _preserve_signal_handlers() -> Iterator[None]:
    """Put back every signal handler that the body changes, and the stack that handlers run on.

    What other threads set meanwhile stays.
    """
    handlers = SignalHandlers()
    python_signal = signal.signal
    importing = threading.get_ident()

    def not_in_this_thread(signalnum: Any, handler: Any) -> Any:
        if threading.get_ident() == importing:
            return signal.getsignal(signalnum)
        handlers.exclude(signalnum)
        return python_signal(signalnum, handler)

    signal.signal = not_in_this_thread
    try:
        yield
    finally:
        signal.signal = python_signal
        handlers.restore()


@dataclass(frozen=True, slots=True)
class LinearConstraint:
    """``coefficients · x + constant ≥ 0``, or ``= 0`` for an equality."""

    coefficients: Vector
    constant: int = 0
    is_equality: bool = False


@dataclass(frozen=True, slots=True, order=True)
class RationalPoint:
    """The point ``numerators / denominator``, in lowest terms, with a positive denominator."""

    numerators: Vector
    denominator: int = 1

    @staticmethod
    def of(numerators: Sequence[int], denominator: int) -> RationalPoint:
        """Return the vertex in lowest terms."""
        divisor = gcd(denominator, *numerators)
        return RationalPoint(
            tuple(value // divisor for value in numerators), denominator // divisor
        )

    @property
    def is_integer(self) -> bool:
        """Whether all coordinates are integers."""
        return self.denominator == 1


@dataclass(frozen=True, slots=True)
class GeneratorSet:
    """A minimal set of generators; no vertex at all means that the polyhedron is empty."""

    vertices: tuple[RationalPoint, ...]
    rays: tuple[Vector, ...]
    lines: tuple[Vector, ...]

    @property
    def size(self) -> int:
        """The number of generators."""
        return len(self.vertices) + len(self.rays) + len(self.lines)


@dataclass(frozen=True, slots=True)
class EnumerationBudget:
    """How much an enumeration may cost, in all.

    ``max_generators`` at any time; ``max_work``, which is counted as generators times coordinates,
    summed over the constraints that are added; and ``time_limit``, which depend on the machine.
    """

    max_generators: int
    max_work: float = inf
    time_limit: float = inf


def enumerate_generators(
    constraints: Sequence[LinearConstraint], width: int, effort: EnumerationBudget | None = None
) -> GeneratorSet | None:
    """Return the generators of a polyhedron, or None when that takes more than the effort."""
    if effort is None:
        return _read(_polyhedron(constraints, width), width)
    generator_sets = enumerate_with_order(constraints, width, effort)
    return None if generator_sets is None else generator_sets[0]


def enumerate_with_order(
    constraints: Sequence[LinearConstraint], width: int, effort: EnumerationBudget
) -> tuple[GeneratorSet, tuple[LinearConstraint, ...]] | None:
    """Return the generators, and the constraints in an order in which they do not swell."""
    half = EnumerationBudget(effort.max_generators, effort.max_work / 2, effort.time_limit / 2)
    for order in (_sparse_first(constraints), tuple(constraints)):
        partial = _IncrementalPolyhedron(width, half)
        if all(map(partial.add, order)):
            return _read(partial.polyhedron, width), order
    return None


def enumerate_incrementally(
    order: Sequence[LinearConstraint],
    more: Sequence[LinearConstraint],
    width: int,
    effort: EnumerationBudget,
) -> GeneratorSet | None:
    """Return the generators of the polyhedron that more constraints leave, within an effort.

    ``order`` is one of :func:`enumerate_with_order` under this effort, for constraints without
    lines. They are taken in without asking how many generators there are.
    """
    partial = _IncrementalPolyhedron.without_lines(order, width, effort)
    if not all(map(partial.add, _sparse_first(more))):
        return None
    return _read(partial.polyhedron, width)


def _sparse_first(constraints: Sequence[LinearConstraint]) -> tuple[LinearConstraint, ...]:
    def key(constraint: LinearConstraint) -> tuple[bool, int]:
        return not constraint.is_equality, len(
            constraint.coefficients
        ) - constraint.coefficients.count(0)

    return tuple(sorted(constraints, key=key))


def constraints_of(description: GeneratorSet, width: int) -> tuple[LinearConstraint, ...]:
    """Return a minimal set of constraints of the polyhedron that the generators span.

    Without a vertex it is empty, whatever the rays are, and the constraint is ``-1 = 0``.
    """
    library = ppl_module()
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
        LinearConstraint(
            _padded(constraint.coefficients(), width),
            int(constraint.inhomogeneous_term()),
            constraint.is_equality(),
        )
        for constraint in polyhedron.minimized_constraints()
    )


class _IncrementalPolyhedron:
    """A polyhedron that gets its constraints one at a time, while the effort lasts."""

    def __init__(self, width: int, effort: EnumerationBudget) -> None:
        library = ppl_module()
        self.polyhedron = library.C_Polyhedron(width, "universe")
        self._holds_everywhere = library.Poly_Con_Relation.is_included()
        self._span = ModularSpan(width)
        self._width, self._effort = width, effort
        self._size, self._work = width + 1, 0  # a point and the lines
        self._deadline = time.monotonic() + effort.time_limit

    @staticmethod
    def without_lines(
        order: Iterable[LinearConstraint], width: int, effort: EnumerationBudget
    ) -> _IncrementalPolyhedron:
        """Return the polyhedron of constraints that are known not to swell, and leave no line."""
        polyhedron = _IncrementalPolyhedron(width, effort)
        for constraint in order:
            polyhedron.polyhedron.add_constraint(_constraint(constraint))
            polyhedron.polyhedron.is_empty()  # takes it in, before the next one comes
        polyhedron._span = ModularSpan(0)
        polyhedron._size = len(polyhedron.polyhedron.minimized_generators())
        return polyhedron

    def add(self, constraint: LinearConstraint) -> bool:
        """Add a constraint; False when what there is then is too large, or too late."""
        added = _constraint(constraint)
        # To ask about the first one would change how the library sorts what follows.
        grows = self._span.grows_by(constraint.coefficients)
        is_known = not constraint.is_equality and (
            grows
            or (
                self._work > 0
                and self.polyhedron.relation_with(added).implies(self._holds_everywhere)
            )
        )
        self.polyhedron.add_constraint(added)
        if is_known:
            self.polyhedron.is_empty()  # takes it in, before the next one comes
        else:
            self._size = len(self.polyhedron.minimized_generators())
        self._work += self._size * self._width
        return (
            self._size <= self._effort.max_generators
            and self._work <= self._effort.max_work
            and time.monotonic() <= self._deadline
        )


def _polyhedron(constraints: Iterable[LinearConstraint], width: int) -> Any:
    library = ppl_module()
    system = library.Constraint_System()
    for constraint in constraints:
        system.insert(_constraint(constraint))
    polyhedron = library.C_Polyhedron(width, "universe")
    polyhedron.add_constraints(system)
    return polyhedron


def _constraint(constraint: LinearConstraint) -> Any:
    expression = _expression(constraint.coefficients, constraint.constant)
    return expression == 0 if constraint.is_equality else expression >= 0


def _expression(coefficients: Sequence[int], constant: int) -> Any:
    return ppl_module().Linear_Expression(list(coefficients), constant)


def _read(polyhedron: Any, width: int) -> GeneratorSet:
    """Read the minimal generators off a polyhedron of the library."""
    vertices, rays, lines = [], [], []
    for generator in polyhedron.minimized_generators():
        values = _padded(generator.coefficients(), width)
        if generator.is_point():
            vertices.append(RationalPoint.of(values, int(generator.divisor())))
        elif generator.is_ray():
            rays.append(values)
        else:
            lines.append(values)
    return GeneratorSet(tuple(vertices), tuple(rays), tuple(lines))


def _padded(values: Iterable[Any], width: int) -> Vector:
    """Return integers of full length: the library leaves out the last dimensions if it can."""
    known = tuple(int(value) for value in values)
    return known + (0,) * (width - len(known))
