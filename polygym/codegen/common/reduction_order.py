"""Order constraints between statements that reduce the same elements.

``x = x ⊕ d`` and ``x = x ⊕ e`` may change places, and so may two instances of one of them, where ⊕
is exact in any order (:mod:`polygym.codegen.common.reductions`) or the mapping says that
sums may be reassociated. Let G be statements that reduce elements of one array with one operator.
Of a member of G the *own* accesses are its write and its read of that very element. Two instances
conflict if one of them writes what the other one reads or writes, unless both are of G and both
accesses are own. Whatever order keeps all conflicts, computes the same:

* let r touch x otherwise: a read that is not own, or anything by a statement outside of G. It
  conflicts with every write of x, so the same updates come before it as ever, and nothing between
  them reads x but their own reads: x is the first value ⊕ all of their terms;
* terms are the same, since what they read is not own either.

The conflicts are all of memory: of a flow to r from the last update alone, which is what
:mod:`polygym.poly.dependences` has, the updates before the last one would be lost as soon
as these may change places.

Example, nussinov: t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j]), with k from i + 1 to j - 1. The
instances of (i, j) have no order among themselves. But t[i][k] has to be complete:
(i, k, l) comes before (i, j, k) for every l.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygym.codegen.common.reductions import reduction_operator
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import maps_of, original_order

ReductionGroups: TypeAlias = frozenset[frozenset[str]]
"""Groups of statements, each of which reduces elements of one array with one operator."""

OrderingConflicts: TypeAlias = tuple[tuple[str, str, isl.Map], ...]
"""Pairs of instances by their statements: the one that comes first in the source, and the other."""


def reorderable_reductions(scop: Scop, name: str, *, reassociate: bool) -> frozenset[str]:
    """Return the statements that reduce what a statement reduces and as it does, itself included.

    It is empty where the order of its terms matters. Maxima of floats might be another one of two
    zeros, or forget NaN, so their order does; and a number that is cut off as it is stored is none.
    """
    statement = scop.statement(name)
    array, operator = scop.array(statement.write.array), reduction_operator(statement)
    if operator is None or not array.rank:
        return frozenset()
    if array.type.is_floating and (operator.is_min_max or not reassociate):
        return frozenset()
    result = {
        other.name
        for other in scop.statements
        if other.write.array == array.name
        and other.body.type is array.type
        and reduction_operator(other) is operator
    }
    return frozenset(result) if name in result else frozenset()


@lru_cache(maxsize=16)
def ordering_conflicts(scop: Scop, sums: ReductionGroups) -> OrderingConflicts:
    """Return the pairs that keep their order, of which one end at least is of some of the sums."""
    reducing = frozenset().union(*sums)
    orders = {map_.get_tuple_name(isl.dim_type.in_): map_ for map_ in maps_of(original_order(scop))}
    context = isl.Set(scop.context)
    result = []
    for source in scop.statements:
        for sink in scop.statements:
            both = {source.name, sink.name}
            if both.isdisjoint(reducing) or not both <= orders.keys():
                continue
            touching = _conflicting_pairs(
                source, sink, is_reduction_pair=any(both <= group for group in sums)
            )
            if touching is None:
                continue
            before = orders[source.name].lex_lt_map(orders[sink.name])
            pairs = touching.intersect(before).intersect_params(context).coalesce()
            if not pairs.is_empty():
                result.append((source.name, sink.name, pairs))
    return tuple(result)


def _conflicting_pairs(
    source: Statement, sink: Statement, *, is_reduction_pair: bool
) -> isl.Map | None:
    """Return the pairs of instances that conflict, in whatever order they run.

    Statements that are ``is_reduction_pair`` are of one group.
    """
    result: isl.Map | None = None
    for access, writes, is_own in _accesses(source):
        for other, also_writes, is_own_too in _accesses(sink):
            if access.array != other.array or not (writes or also_writes):
                continue
            if is_reduction_pair and is_own and is_own_too:
                continue
            here = _access_relation(source, access).apply_range(
                _access_relation(sink, other).reverse()
            )
            result = here if result is None else result.union(here)
    return result


def _accesses(statement: Statement) -> Iterator[tuple[Access, bool, bool]]:
    """Yield the accesses of a statement: whether they write, and whether they are own."""
    yield statement.write, True, True
    for number, access in enumerate(statement.reads):
        yield access, False, number in statement.accumulator_reads


def _access_relation(statement: Statement, access: Access) -> isl.Map:
    return isl.Map(access.relation).intersect_domain(isl.Set(statement.domain))
