"""The innermost loop of a statement: its direction, its step, its access strides.

Let a₁, …, a_d be the rows of a statement's schedule (iterator parts only) that are linearly
independent of the rows before them; each of them is a loop. When only the innermost one advances,
the values of a₁, …, a_{d-1} stay what they are, so the instance moves along a line: its *direction*
is the primitive integer vector v with

    aᵣ·v = 0 for r < d        and        a_d·v > 0.

A domain may lie in a plane of its own, T[i, j] : j = i + 1. Its equations take part as rows that
stand before all others, since no loop leaves the plane: the one loop ``i`` moves along (1, 1).

A domain may have holes, T[i] : i mod 3 = 0. The *step* is the smallest s ≥ 1 for which x and
x + s·v are both instances for some x and some parameters, here 3.

An access A moves by its *displacement* A(x + s·v) - A(x). In row-major arrays neighbours differ in
the last subscript, so :class:`AccessStride` asks whether only that one moves, and how far.

Example, C[i][j] += A[i][k] * B[k][j] in the order i, k, j over the iterators (i, j, k): the rows
(1, 0, 0), (0, 0, 1), (0, 1, 0) give v = (0, 1, 0); C moves by (0, 1), A by (0, 0), B by (0, 1). In
the order i, j, k it is v = (0, 0, 1), and B moves by (1, 0): a whole row of B away.

The displacement of affine subscripts is one constant vector. Subscripts with a modulo or in pieces,
``A[i == 0 ? n - 1 : i - 1]``, may have several: the movement is the smallest class that holds all
of them but a *thin* set of exceptions, one of a lower dimension than the instances that move (here
i = 0, where the access wraps around). An access that is never performed twice in a row, because a
condition around it holds only here and there, has no displacement at all and is SAME.

An access with computed subscripts, LUT[I[i]][j], moves as the rest of it does while all that they
are computed from stands still, as it does along j; along i it may go anywhere: FAR.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import islpy as isl

from polygym.ir.expressions import Access, Gather, IteratorValue, Load, walk
from polygym.ir.gathers import gathers
from polygym.ir.scop import Statement
from polygym.poly.integer_vectors import Vector, dot, echelon, extend_basis, null_space
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coefficients, lowest_value, to_int
from polygym.poly.may_accesses import anchor

MAX_SHORT_STRIDE = 8


class AccessStride(Enum):
    """How far an access moves from one iteration of the innermost loop to the next, in elements."""

    SAME = 0  # the same element
    UNIT = 1  # the last subscript alone moves, by one
    SHORT = 2  # the last subscript alone moves, by at most FARTHEST_SHORT
    FAR = 3  # anything else


@dataclass(frozen=True, slots=True)
class InnermostLoop:
    """The innermost loop of a statement: the primitive direction, and how many of it are a step."""

    direction: Vector
    step: int

    @property
    def displacement(self) -> Vector:
        """The vector from one instance to the next."""
        return tuple(self.step * value for value in self.direction)


def independent_rows(rows: Sequence[Vector], before: Iterable[Vector] = ()) -> tuple[int, ...]:
    """Return the positions of the rows that are no combination of ``before`` and those in front.

    >>> independent_rows([(0, 0), (1, 1), (2, 2), (0, 1)])
    (1, 3)
    """
    basis = list(echelon(before))
    result = []
    for position, row in enumerate(rows):
        larger = extend_basis(basis, row)
        if larger is not None:
            result.append(position)
            basis = larger
    return tuple(result)


@lru_cache(maxsize=4096)
def domain_equations(domain: str) -> tuple[Vector, ...]:
    """Return the iterator parts of the equations that a domain satisfies, as a basis.

    >>> domain_equations("[n] -> { T[i, j] : j = i + 1 and 0 <= i < n }")
    ((-1, 1),)
    """
    with bounded_operations("finding the equations of a domain"):
        return _equations(isl.Set(domain))


def _equations(points: isl.Set) -> tuple[Vector, ...]:
    # A modulo is a hole, no equation: it is dropped before the hull is taken.
    hull = points.remove_divs().affine_hull()
    result = [
        coefficients(equation, isl.dim_type.set)
        for equation in hull.get_constraints()
        if equation.is_equality() and not equation.is_div_constraint()
    ]
    return tuple(vector for vector, _ in echelon(result))


def innermost_loop(domain: str, rows: Sequence[Vector]) -> InnermostLoop | None:
    """Return the innermost loop, for rows that are independent and fix an instance together.

    None stands for a statement without loops.
    """
    if not rows:
        return None
    return _innermost(domain, tuple(rows[:-1]), rows[-1])


@lru_cache(maxsize=4096)
def _innermost(domain: str, outer: tuple[Vector, ...], last: Vector) -> InnermostLoop:
    lines = null_space([*domain_equations(domain), *outer], len(last))
    assert len(lines) == 1, f"{len(lines)} directions are left for one loop of {domain}"
    line, _ = lines[0]
    direction = line if dot(last, line) > 0 else tuple(-value for value in line)
    with bounded_operations("finding the step of a loop"):
        return InnermostLoop(direction, _step(domain, line))


@lru_cache(maxsize=4096)
def _step(domain: str, line: Vector) -> int:
    """Return the smallest distance along a line between two points of a domain, or 1 without any.

    It is the minimum of s over the (s, x) with s ≥ 1, x in the domain and x + s·line in the domain.
    Where all integer points of a convex set are in the domain, those between x and x + s·line are.
    """
    if _is_convex(domain):
        return 1
    points = isl.Set(domain)
    here = [f"x{place}" for place in range(len(line))]
    there = [f"{name} + {value}s" for name, value in zip(here, line, strict=True)]
    name = points.get_tuple_name()
    both = isl.Set(f"{{ [s, {', '.join(here)}] : s >= 1 }}")
    for subscripts in (here, there):
        shift = f"{{ [s, {', '.join(here)}] -> {name}[{', '.join(subscripts)}] }}"
        both = both.intersect(points.preimage_multi_aff(isl.MultiAff(shift)))
    # What is nowhere reached has no minimum.
    return 1 if both.is_empty() else lowest_value(both, 0)


@lru_cache(maxsize=4096)
def _is_convex(domain: str) -> bool:
    """Whether a domain holds all integer points that satisfy some inequalities, and is seen to."""
    pieces = isl.Set(domain).coalesce().get_basic_sets()
    return all(piece.dim(isl.dim_type.div) == 0 for piece in pieces) and len(pieces) == 1


def access_stride(statement: Statement, access: Access, loop: InnermostLoop | None) -> AccessStride:
    """Return how an access moves with the innermost loop; without a loop nothing moves."""
    if loop is None:
        return AccessStride.SAME
    if not _has_invariant_subscripts(statement, access, loop):
        return AccessStride.FAR
    return _compute_stride(statement.domain, anchor(access), loop.displacement)


def displacement(statement: Statement, access: Access, loop: InnermostLoop | None) -> Vector | None:
    """Return by how much each subscript changes in one iteration, if that is always the same."""
    if loop is None:
        return ()
    if not _has_invariant_subscripts(statement, access, loop):
        return None
    return _displacement(statement.domain, anchor(access), loop.displacement)


def usual_displacement(
    statement: Statement, access: Access, loop: InnermostLoop | None
) -> Vector | None:
    """Return by how much each subscript changes in all iterations but a thin set, if it does.

    With A[i == 0 ? n - 1 : i - 1] that is by 1, but for the step from i = 0 to i = 1.
    """
    vector = displacement(statement, access, loop)
    if vector is not None or loop is None or not _has_invariant_subscripts(statement, access, loop):
        return vector
    return _usual_displacement(statement.domain, anchor(access), loop.displacement)


@lru_cache(maxsize=8192)
def access_offset(relation: str, other: str) -> Vector | None:
    """Return by how much the subscripts of one access are greater than another's, if constant.

    >>> access_offset("{ S[i, j] -> A[i, j + 1] }", "{ S[i, j] -> A[i - 1, j] }")
    (1, 1)
    >>> access_offset("{ S[i, j] -> A[i, j] }", "{ S[i, j] -> A[j, i] }") is None
    True
    """
    with bounded_operations("comparing two accesses"):
        here, there = isl.Map(relation), isl.Map(other)
        both = here.domain().intersect(there.domain())
        apart = here.intersect_domain(both).sum(there.neg())
        multi_affs: list[isl.MultiAff] = []
        isl.PwMultiAff.from_map(apart).foreach_piece(lambda _, affine: multi_affs.append(affine))
        if len(multi_affs) != 1:
            return None
        (affine,) = multi_affs
        parts = [affine.get_aff(place) for place in range(affine.dim(isl.dim_type.out))]
        if not all(part.is_cst() for part in parts):
            return None
        return tuple(to_int(part.get_constant_val()) for part in parts)


def _has_invariant_subscripts(statement: Statement, access: Access, loop: InnermostLoop) -> bool:
    """Whether the computed subscripts of an access, if it has any, stay what they are."""
    if not access.gathered:
        return True
    needed = next(gather.subscripts for _, gather in gathers(statement) if gather.access == access)
    for node in (node for subscript in needed for node in walk(subscript)):
        match node:
            case Load(access=read) | Gather(access=read):
                moved = displacement(statement, read, loop)
            case IteratorValue(name=name):
                moved = (loop.displacement[statement.iterators.index(name)],)
            case _:
                continue
        if moved is None or any(moved):
            return False
    return True


def _displacement(domain: str, relation: str, move: Vector) -> Vector | None:
    rows = _subscripts(domain, relation)
    return None if rows is None else _subscript_change(rows, move)


def _subscript_change(rows: tuple[Vector, ...], move: Vector) -> Vector:
    """Return by how much subscripts with these coefficients change along a vector."""
    return tuple(dot(row, move) for row in rows)


@lru_cache(maxsize=8192)
def _usual_displacement(domain: str, relation: str, move: Vector) -> Vector | None:
    with bounded_operations("finding how an access moves"):
        points, accesses = isl.Set(domain), isl.Map(relation)
        moved = _displacements(points, accesses, move)
        bound = len(_equations(moved.domain()))
        pieces = (_subscript_change(rows, move) for rows in _affine_pieces(accesses))
        for candidate in dict.fromkeys(pieces):
            instance = isl.Set(f"{{ [{', '.join(map(str, candidate))}] }}")
            if _is_thin(moved.subtract_range(instance).domain(), bound):
                return candidate
        return None


@lru_cache(maxsize=8192)
def _compute_stride(domain: str, relation: str, move: Vector) -> AccessStride:
    with bounded_operations("finding how an access moves"):
        displacement = _displacement(domain, relation, move)
        if displacement is not None:
            return classify_stride(displacement)
        return _usual_stride(isl.Set(domain), isl.Map(relation), move)


@lru_cache(maxsize=8192)
def _subscripts(domain: str, relation: str) -> tuple[Vector, ...] | None:
    """Return the coefficients of the subscripts of an access, a row for each.

    It is None where the access is not one integer affine function on all of a domain.
    """
    with bounded_operations("finding how an access moves"):
        accesses = isl.Map(relation)
        function = isl.PwMultiAff.from_map(accesses)
        if function.n_piece() != 1 or not isl.Set(domain).is_subset(accesses.domain()):
            return None
        return next(_affine_pieces(accesses), None)


def _affine_pieces(relation: isl.Map) -> Iterator[tuple[Vector, ...]]:
    """Yield the coefficients of every piece of an access that is an integer affine function."""
    multi_affs: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda _, affine: multi_affs.append(affine))
    for piece in multi_affs:
        parts = [piece.get_aff(place) for place in range(piece.dim(isl.dim_type.out))]
        if any(a.dim(isl.dim_type.div) or not a.get_denominator_val().is_one() for a in parts):
            continue
        yield tuple(coefficients(part, isl.dim_type.in_) for part in parts)


def classify_stride(displacement: Vector) -> AccessStride:
    """Return the class of one displacement.

    >>> [classify_stride(vector).name for vector in [(), (0, -1), (0, 8), (1, 0)]]
    ['SAME', 'UNIT', 'SHORT', 'FAR']
    """
    if not any(displacement):
        return AccessStride.SAME
    if any(displacement[:-1]) or abs(displacement[-1]) > MAX_SHORT_STRIDE:
        return AccessStride.FAR
    return AccessStride.UNIT if abs(displacement[-1]) == 1 else AccessStride.SHORT


def _displacements(points: isl.Set, relation: isl.Map, move: Vector) -> isl.Map:
    """Return by how much the subscripts of an access change from each instance to the next."""
    now = relation.intersect_domain(points).reset_tuple_id(isl.dim_type.out)
    names = [f"x{place}" for place in range(len(move))]
    moved = [f"{name} + {value}" for name, value in zip(names, move, strict=True)]
    tuple_name = points.get_tuple_name()
    shift = isl.Map(f"{{ {tuple_name}[{', '.join(names)}] -> {tuple_name}[{', '.join(moved)}] }}")
    return shift.apply_range(now).sum(now.neg())


def _is_thin(exceptions: isl.Set, equations: int) -> bool:
    """Whether exceptions have a lower dimension than points that satisfy so many equations."""
    return exceptions.is_empty() or len(_equations(exceptions)) > equations


def _usual_stride(points: isl.Set, relation: isl.Map, move: Vector) -> AccessStride:
    """Return the smallest class that holds all displacements but a thin set of exceptions."""
    rank = relation.dim(isl.dim_type.out)
    if not rank:
        return AccessStride.SAME
    displacements = _displacements(points, relation, move)
    bound = len(_equations(displacements.domain()))
    zeros = "0, " * (rank - 1)
    for stride, farthest in (
        (AccessStride.SAME, 0),
        (AccessStride.UNIT, 1),
        (AccessStride.SHORT, MAX_SHORT_STRIDE),
    ):
        near = isl.Set(f"{{ [{zeros}d] : {-farthest} <= d <= {farthest} }}")
        if _is_thin(displacements.subtract_range(near).domain(), bound):
            return stride
    return AccessStride.FAR
