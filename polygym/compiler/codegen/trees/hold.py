"""Which statements' elements may live in registers while the innermost loop runs: decided exactly.

Statement S writes element W_S(s). During one run of the innermost loop all other loops stand still.
If S writes the same element all the time, and no other access of any statement touches that element
during the run, then it may be loaded before the loop, changed in a register, and stored after.

Let ρ be the values of all loops but the innermost one. What must be empty, for every access A of a
statement X that is not S's own write or its reads of the very same element, is

    { (s, t) : ρ_S(s) = ρ_X(t) and W_S(s) = A(t) }.

Example, LU: A[i][j] -= A[i][k] * A[k][j] with k innermost and ρ = (i, j). The read A[i][k] touches
A[i][j] only if k = j, but k < j in the domain: held. In Floyd–Warshall's path[i][j] =
min(path[i][j], path[i][k] + path[k][j]) the domain has k = j, and k is the outermost loop anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.schedule import Row


def holdable(
    scop: Scop,
    candidates: Sequence[str],
    statements: Sequence[str],
    standing: Mapping[str, Sequence[Row]],
) -> frozenset[str]:
    """Return the candidates whose elements nothing else of ``statements`` touches.

    ``standing`` holds the rows of all loops but the innermost one, for every statement.
    """
    with bounded("looking for what registers can hold"):
        return frozenset(name for name in candidates if _is_alone(scop, name, statements, standing))


def _is_alone(
    scop: Scop, name: str, statements: Sequence[str], standing: Mapping[str, Sequence[Row]]
) -> bool:
    own = scop.statement(name)
    if not scop.array(own.write.array).rank:
        return False  # a scalar is in a register anyhow, or the caller's
    written: isl.Set | None = None
    for other in statements:
        statement = scop.statement(other)
        accesses = list(enumerate(statement.reads))
        if other == name:
            accesses = [pair for pair in accesses if pair[0] not in own.own_reads]
        touching = [access for _, access in accesses]
        if other != name:
            touching.append(statement.write)
        for access in touching:
            if access.array != own.write.array:
                continue
            if written is None:
                written = _at(scop, own, own.write, standing[name]).range()
            touched = _at(scop, statement, access, standing[other]).range()
            if not written.is_disjoint(touched):
                return False
    return True


def _at(scop: Scop, statement: Statement, access: Access, rows: Sequence[Row]) -> isl.Map:
    """Return the map from instances to (ρ, element)."""
    names = [parameter.name for parameter in scop.parameters]
    values = ", ".join(row.text(statement.iterators, names) for row in rows)
    head = f"[{', '.join(names)}] -> " if names else ""
    iterators = ", ".join(statement.iterators)
    loops = isl.Map(f"{head}{{ {statement.name}[{iterators}] -> [{values}] }}")
    domain = isl.Set(statement.domain)
    element = isl.Map(access.relation).reset_tuple_id(isl.dim_type.out)
    return loops.intersect_domain(domain).flat_range_product(element.intersect_domain(domain))
