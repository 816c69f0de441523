"""Arrays whose contents before the program do not matter.

An array does not if every element is written, and no element is read before that. ::

    C(i) = 0                                     C(i) = A(i) where i in 1:N
    C(i) += A(i, j)      owes nothing            C(i) += B(i)         reads C(0) before

Both are asked exactly, at certain sizes. The order of the text decides what is before: every legal
schedule keeps each read behind the write whose value it sees, and before those whose it does not.
"""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.dependences import access_relation, original_order, reads_without_source
from polygym.poly.evaluation import evaluate_extent, fix_parameters
from polygym.poly.isl_budget import bounded_operations

_OPERATIONS = 2_000_000


def arrays_without_live_in(scop: Scop, parameters: Mapping[str, int]) -> frozenset[str]:
    """Return the arrays that owe nothing to what their memory held before.

    A computed subscript may read any element. What takes isl too long is taken to owe something.
    """
    names = ", ".join(parameter.name for parameter in scop.parameters)
    sizes = fix_parameters(isl.Set(f"[{names}] -> {{ : }}"), parameters)
    order = original_order(scop).intersect_params(sizes)
    result = set()
    for name in {statement.write.array for statement in scop.statements}:
        try:
            with bounded_operations(f"what {name} held before", _OPERATIONS):
                elements = _elements(scop, name, parameters).intersect_params(sizes)
                if _is_written_before_read(scop, name, elements, order, sizes):
                    result.add(name)
        except LimitError:
            continue
    return frozenset(result)


def _is_written_before_read(
    scop: Scop, name: str, elements: isl.UnionSet, order: isl.UnionMap, sizes: isl.Set
) -> bool:
    writes = access_relation(scop, name, is_write=True)
    reads = access_relation(scop, name, is_write=False)
    if writes is None:
        return False
    writes = writes.intersect_params(sizes)
    if not elements.is_subset(writes.range()):
        return False
    if reads is None:
        return True
    reads = reads.intersect_params(sizes)
    return bool(reads_without_source(reads, writes, order).is_empty())


def _elements(scop: Scop, name: str, parameters: Mapping[str, int]) -> isl.UnionSet:
    """Return all elements of an array."""
    sizes = [evaluate_extent(extent, parameters) for extent in scop.array(name).extents]
    places = [f"x{place}" for place in range(len(sizes))]
    bounds = [f"0 <= {place} < {size}" for place, size in zip(places, sizes, strict=True)]
    return isl.UnionSet(f"{{ {name}[{', '.join(places)}] : {' and '.join(bounds) or '1 = 1'} }}")
