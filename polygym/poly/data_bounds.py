"""Loops with bounds that are read from memory: what the bounds depend on, how many iterations run.

Of ``for (k = row[i]; k < row[i + 1]; k++)``, where k is below nnz, the bounds depend on i. Rows do
not overlap, so all n of them together have nnz entries, and about one in n iterations of the
statement's domain does something.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import islpy as isl

from polygym.ir.data_bounds import DataBound, guard_conjuncts
from polygym.ir.expressions import Access, IteratorValue, loaded_accesses, walk
from polygym.ir.scop import Statement
from polygym.poly.isl_functions import involved_arguments
from polygym.poly.isl_values import range_length


@dataclass(frozen=True, slots=True)
class IteratorBounds:
    """The iterators that the data bounds of an iterator depend on, and whether it has two."""

    needed: frozenset[str]
    is_row: bool


@lru_cache(maxsize=1024)
def data_bounded_iterators(statement: Statement) -> Mapping[str, IteratorBounds]:
    """Return the iterators of a statement that have data bounds, which stand still meanwhile."""
    result: dict[str, IteratorBounds] = {}
    sides: dict[str, set[bool]] = {}
    for part in guard_conjuncts(statement):
        if (bound := part.bound) is None:
            continue
        needed = _iterators_of(statement, bound)
        if needed is None or bound.iterator in needed:
            continue
        sides.setdefault(bound.iterator, set()).add(bound.is_lower)
        if bound.iterator in result:
            needed |= result[bound.iterator].needed
        result[bound.iterator] = IteratorBounds(needed, len(sides[bound.iterator]) == 2)
    return result


def running_share(statement: Statement, points: isl.Set) -> float:
    """Return about which part of the instances does something; ``points`` has no parameters.

    Rows that depend on no iterator, but on another read, are as many as the loop around them.
    """
    share = 1.0
    if points.is_empty():
        return share
    for name, bounds in data_bounded_iterators(statement).items():
        place = statement.iterators.index(name)
        rows = [statement.iterators.index(other) for other in bounds.needed]
        around = rows or ([place - 1] if place else [])
        if bounds.is_row:
            share /= max(1, prod(range_length(points, number) for number in around))
        else:
            share /= 2
    return share


def _iterators_of(statement: Statement, bound: DataBound) -> frozenset[str] | None:
    """Return the iterators that a bound depends on, None where the statement may change it."""
    names = {node.name for node in walk(bound.value) if isinstance(node, IteratorValue)}
    for access in loaded_accesses(bound.value):
        if access.array == statement.write.array:
            return None
        names |= _involved_iterators(statement, access)
    return frozenset(names)


def _involved_iterators(statement: Statement, access: Access) -> frozenset[str]:
    """Return the iterators that an access's subscripts depend on, but for computed ones."""
    relation = isl.Map(access.relation)
    for dimension in sorted(access.gathered, reverse=True):
        relation = relation.project_out(isl.dim_type.out, dimension, 1)
    places = frozenset().union(*involved_arguments(relation))
    return frozenset(statement.iterators[place] for place in places)
