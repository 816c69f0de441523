"""Reads under a condition, made whether it holds or not: where they stay inside their array.

The relation of a read in an arm of ``?:`` has the instances alone for which a condition on
iterators holds. Such a read is *guarded*: elsewhere it may be of no element. But where it is one
all the same, it is read like any other, and what is read for nothing is thrown away::

    for i = 1 .. n:  S: y[i] = i > 4 ? x[i - 1] : 0;        x[0 .. n - 1] are all there

So lanes of vectors, which compute both arms, may have it. Side condition, for a read R from the
instances of dom R to the elements [0, e) of an array, of a statement whose instances are D: an
affine function f with

    f(i) ∈ [0, e)        for all i ∈ D that are not in dom R

which isl decides, at the sizes or for all that the context allows. The read then is R on dom R and
f on the rest. Candidates for f are the functions of which R consists, or 0 if the condition never
holds. In the example R = { S[i] -> x[i - 1] : i > 4 }, so f(i) = i - 1, and f(1) = 0 to f(4) = 3
are inside. With the loop from 0 on, f(0) = -1 is not, and the read is guarded.
"""

import islpy as isl

from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.may_accesses import anchor_access


def speculative_read(
    scop: Scop, statement: Statement, access: Access, sizes: Sizes | None
) -> tuple[isl.PwMultiAff, bool]:
    """Return the subscripts of a read, and whether it is guarded: only made where it has some.

    What computes subscripts, or takes isl too long, is guarded.
    """
    relation = at_sizes(anchor_access(access), sizes)
    instances = at_sizes(isl.Set(statement.domain), sizes)
    own = isl.PwMultiAff.from_map(relation)
    if instances.is_subset(relation.domain()):
        return own, False
    if access.gathered:
        return own, True
    if sizes is None:
        instances = instances.intersect_params(isl.Set(scop.context))
    try:
        with attempt_bounded(TUNING.speculation_operations):
            aff = _total_subscripts(relation, own, instances, _array_elements(scop, access, sizes))
    except isl.Error:
        return own, True
    return (own, True) if aff is None else (aff, False)


def _total_subscripts(
    relation: isl.Map, own: isl.PwMultiAff, instances: isl.Set, elements: isl.Set
) -> isl.PwMultiAff | None:
    """Return the subscripts for all instances; None where they might not be elements."""
    rest = instances.subtract(relation.domain())
    pieces: list[isl.MultiAff] = []
    own.foreach_piece(lambda _, piece: pieces.append(piece))
    if relation.domain().is_disjoint(instances):
        pieces = [isl.MultiAff.zero(own.get_space())]
    for piece in pieces:
        further = isl.Map.from_multi_aff(piece).intersect_domain(rest)
        if further.range().is_subset(elements):
            return isl.PwMultiAff.from_map(relation.union(further).coalesce()).coalesce()
    return None


def _array_elements(scop: Scop, access: Access, sizes: Sizes | None) -> isl.Set:
    """Return the elements of the array that an access is of."""
    below = isl.Map("{ [e] -> [x] : 0 <= x < e }")
    result = isl.Set("{ [] }")
    for extent in scop.array(access.array).extents:
        size = at_sizes(isl.Set.from_pw_aff(isl.PwAff(extent)), sizes)
        result = result.flat_product(size.apply(below))
    return result.set_tuple_name(access.array)
