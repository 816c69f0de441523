"""Which arrays owe nothing to what their memory held before the program ran.

An array does not if every element is written, and no element is read before that. ::

    C(i) = 0                                     C(i) = A(i) where i in 1:N
    C(i) += A(i, j)      owes nothing            C(i) += B(i)         reads C(0) before

Both are asked exactly, at certain sizes. The order of the text decides what is before: every legal
schedule keeps each read behind the write whose value it sees, and before those whose it does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.expr import Access
from polygym.ir.scop import Scop
from polygym.poly.evaluate import evaluate, fixed
from polygym.poly.quota import bounded

_OPERATIONS = 2_000_000


def self_sufficient(scop: Scop, parameters: Mapping[str, int]) -> frozenset[str]:
    """Return the arrays that owe nothing to what their memory held before.

    A computed subscript on the left could write anywhere, and counts for nothing; one on the right
    may read any element. What takes isl too long is taken to owe something.
    """
    found = set()
    for name in {statement.write.array for statement in scop.statements}:
        try:
            with bounded(f"what {name} held before", _OPERATIONS):
                if _owes_nothing(scop, name, parameters):
                    found.add(name)
        except LimitError:
            continue
    return frozenset(found)


def _owes_nothing(scop: Scop, name: str, parameters: Mapping[str, int]) -> bool:
    nothing = isl.UnionMap("{ }")
    reads = writes = nothing
    domain = isl.UnionSet("{ }")
    for statement in scop.statements:
        instances = fixed(isl.Set(statement.domain), parameters)
        domain = domain.union(isl.UnionSet.from_set(instances))
        for access in statement.reads:
            if access.array == name:
                reads = reads.union(_touched(access, instances))
        if statement.write.array == name and not statement.write.gathered:
            writes = writes.union(_touched(statement.write, instances))
    if not _elements(scop, name, parameters).is_subset(writes.range()):
        return False
    flow = (
        isl.UnionAccessInfo.from_sink(reads)
        .set_must_source(writes)
        .set_schedule_map(isl.UnionMap(scop.schedule).intersect_domain(domain))
        .compute_flow()
    )
    return bool(flow.get_must_no_source().is_empty())


def _touched(access: Access, instances: isl.Set) -> isl.UnionMap:
    """Return which instances touch which elements."""
    return isl.UnionMap.from_map(isl.Map(access.relation).intersect_domain(instances))


def _elements(scop: Scop, name: str, parameters: Mapping[str, int]) -> isl.UnionSet:
    """Return all elements of an array; the sizes are fixed, since only these are asked about."""
    sizes = [evaluate(extent, parameters) for extent in scop.array(name).extents]
    places = [f"x{place}" for place in range(len(sizes))]
    bounds = [f"0 <= {place} < {size}" for place, size in zip(places, sizes, strict=True)]
    names = ", ".join(one.name for one in scop.parameters)
    box = f"[{names}] -> {{ {name}[{', '.join(places)}] : {' and '.join(bounds) or '1 = 1'} }}"
    return isl.UnionSet.from_set(fixed(isl.Set(box), parameters))
