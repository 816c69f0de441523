"""Scalar replacement: elements that may stay in registers in the innermost loop, exactly.

Statement S writes element W_S(s). During one run of the innermost loop all other loops stand still.
If S writes the same element all the time, and no other access of any statement touches that element
during the run, then it may be loaded before the loop, changed in a register, and stored after.

Let ρ be the values of all loops but the innermost one. What must be empty, for every access A of a
statement X that is not S's own write or its reads of the very same element, is

    { (s, t) : ρ_S(s) = ρ_X(t) and W_S(s) = A(t) }.

Example, LU: A[i][j] -= A[i][k] * A[k][j] with k innermost and ρ = (i, j). The read A[i][k] touches
A[i][j] only if k = j, but k < j in the domain: held. In Floyd–Warshall's path[i][j] =
min(path[i][j], path[i][k] + path[k][j]) the domain has k = j, and k is the outermost loop anyway.

Copies of a loop around the innermost one hold an element each, all at the same time. If the
iterations of that loop, with row r, wait for each other, two more sets must be empty. Now ρ is
without r, and A a read of S that is not of its own element:

    { (s, t) : ρ(s) = ρ(t), W_S(s) = W_S(t), r(s) ≠ r(t) }   two copies would hold one element
    { (s, t) : ρ(s) = ρ(t), W_S(s) = A(t), r(s) < r(t) }     t would miss what s has in a register

Where r(s) > r(t) the band is permutable, so t comes before s whatever is jammed, and finds in
memory what was there before the copies began. Example, B[i][j] += A[k][i] * B[k][j] with k > i:
W(i, j, k) is row i, A(t) row k(t), so equal rows are r(s) = i(s) = k(t) > i(t) = r(t): held.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import islpy as isl

from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import affine_form
from polygym.poly.schedule import ScheduleRow


def replaceable(
    scop: Scop,
    candidates: Sequence[str],
    statements: Sequence[str],
    outer_rows: Mapping[str, Sequence[ScheduleRow]],
) -> frozenset[str]:
    """Return the candidates whose elements nothing else of ``statements`` touches.

    ``outer_rows`` holds the rows of all loops but the innermost one, for every statement.
    """
    with bounded_operations("looking for what registers can hold"):
        return frozenset(
            name for name in candidates if _is_unaliased(scop, name, statements, outer_rows)
        )


def replaceable_in_copies(
    scop: Scop, name: str, outer_rows: Sequence[ScheduleRow], row: ScheduleRow
) -> bool:
    """Whether copies of a loop with a row may hold the elements of a statement at the same time.

    ``outer_rows`` holds the rows of all loops but this one and the innermost.
    """
    statement = scop.statement(name)
    with bounded_operations("looking for what registers can hold"):
        written = _element_to_rows(scop, statement, statement.write, outer_rows, row)
        twice = written.reverse().apply_range(written)
        if not twice.is_subset(isl.Map.identity(twice.get_space())):
            return False
        for number, access in enumerate(statement.reads):
            if access.array != statement.write.array or number in statement.accumulator_reads:
                continue
            touched = _element_to_rows(scop, statement, access, outer_rows, row)
            pairs = written.reverse().apply_range(touched)
            if not pairs.is_disjoint(isl.Map.lex_lt(pairs.get_space().domain())):
                return False
    return True


def _element_to_rows(
    scop: Scop,
    statement: Statement,
    access: Access,
    outer_rows: Sequence[ScheduleRow],
    row: ScheduleRow,
) -> isl.Map:
    """Return the map from (ρ, element) to the values of a row."""
    places = _instance_to_element(scop, statement, access, outer_rows)
    values = _instance_to_loops(scop, statement, [row]).intersect_domain(places.domain())
    return places.reverse().apply_range(values)


def _is_unaliased(
    scop: Scop,
    name: str,
    statements: Sequence[str],
    outer_rows: Mapping[str, Sequence[ScheduleRow]],
) -> bool:
    own = scop.statement(name)
    if not scop.array(own.write.array).rank:
        return False  # a scalar is in a register anyhow, or the caller's
    written: isl.Set | None = None
    for other in statements:
        statement = scop.statement(other)
        accesses = list(enumerate(statement.reads))
        if other == name:
            accesses = [pair for pair in accesses if pair[0] not in own.accumulator_reads]
        touching = [access for _, access in accesses]
        if other != name:
            touching.append(statement.write)
        for access in touching:
            if access.array != own.write.array:
                continue
            if written is None:
                written = _instance_to_element(scop, own, own.write, outer_rows[name]).range()
            touched = _instance_to_element(scop, statement, access, outer_rows[other]).range()
            if not written.is_disjoint(touched):
                return False
    return True


def _instance_to_element(
    scop: Scop, statement: Statement, access: Access, rows: Sequence[ScheduleRow]
) -> isl.Map:
    """Return the map from instances to (ρ, element)."""
    element = _write_relation(statement.domain, access.relation)
    return _instance_to_loops(scop, statement, rows).flat_range_product(element)


@lru_cache(maxsize=1024)
def _write_relation(domain: str, relation: str) -> isl.Map:
    """Return the map from the instances of a domain to the element of an access."""
    result = isl.Map(relation).reset_tuple_id(isl.dim_type.out)
    return result.intersect_domain(isl.Set(domain))


def _instance_to_loops(scop: Scop, statement: Statement, rows: Sequence[ScheduleRow]) -> isl.Map:
    """Return the map from instances to ρ."""
    names = tuple(parameter.name for parameter in scop.parameters)
    space = _instance_space(statement.name, statement.depth, names)
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    multi_aff = isl.MultiAff.zero(space.from_domain().add_dims(isl.dim_type.out, len(rows)))
    for place, row in enumerate(rows):
        form = affine_form(zero, row.iterators, row.parameters, row.constant)
        multi_aff = multi_aff.set_aff(place, form)
    return isl.Map.from_multi_aff(multi_aff)


@lru_cache(maxsize=1024)
def _instance_space(name: str, depth: int, parameters: tuple[str, ...]) -> isl.Space:
    """Return the space of a statement's instances."""
    head = f"[{', '.join(parameters)}] -> " if parameters else ""
    iterators = ", ".join(f"i{place}" for place in range(depth))
    return isl.Set(f"{head}{{ {name}[{iterators}] }}").get_space()
