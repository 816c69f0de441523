"""Reads of elements that are overwritten in the same iteration of the loops around the readers.

In step k of the all-pairs shortest paths, cut at i = k and j = k, the statement

    S: for i < k: for j < k:  p[i][j] = min(p[i][j], p[i][k] + p[k][j])

reads column k, which a later statement T of the same step overwrites.

With R the instances of the statement, f the elements that they read, and K the counters that f is
a function of, the read is *overwritten in its iteration* if an instance r of R is before an
instance w that writes f(r), and both have the same values of the loops around the first one that is
not in K: above the loops i and j of step k, or k alone for ``p[k][j]``.

Reads of the element that the statement itself writes do not count, nor do computed subscripts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import maps_of
from polygym.poly.isl_functions import involved_arguments


@dataclass(frozen=True, eq=False)
class OverwrittenRead:
    """A read of a statement whose element is overwritten in the same iteration.

    ``counters`` are the places of the iterators that the element is a function of.
    """

    statement: Statement
    access: Access
    counters: tuple[int, ...]

    @property
    def iterators(self) -> list[str]:
        """The names of these iterators."""
        return [self.statement.iterators[place] for place in self.counters]

    def projection(self) -> isl.Map:
        """Return the function from instances of the statement to values of the counters."""
        own = ", ".join(self.statement.iterators)
        return isl.Map(f"{{ {self.statement.name}[{own}] -> [{', '.join(self.iterators)}] }}")


def overwritten_reads(scop: Scop, array: str) -> Iterator[OverwrittenRead]:
    """Yield the reads of an array that are overwritten in their iteration, in order."""
    order = times_by_statement(scop)
    context = isl.Set(scop.context)
    for statement in scop.statements:
        domain = isl.Set(statement.domain).intersect_params(context)
        for access in dict.fromkeys(statement.reads):
            if access.array != array or access.gathered:
                continue
            relation = isl.Map(access.relation).intersect_domain(domain)
            if _is_own_element(statement, access.array, relation):
                continue
            places = involved_arguments(isl.Map(access.relation))
            counters = tuple(sorted(frozenset().union(*places)))
            read = OverwrittenRead(statement, access, counters)
            if len(counters) < statement.depth and _is_overwritten(scop, read, relation, order):
                yield read


def _is_own_element(statement: Statement, array: str, relation: isl.Map) -> bool:
    """Whether a statement reads the element that it writes."""
    write = statement.write
    return write.array == array and relation.is_subset(isl.Map(write.relation))


def _is_overwritten(
    scop: Scop, read: OverwrittenRead, relation: isl.Map, order: dict[str, isl.Map]
) -> bool:
    """Whether a later instance of the same iteration of the loops around writes the element."""
    times = order[read.statement.name]
    shared = _shared_rows(times, read)
    for writer in scop.statements:
        if writer.write.array != read.access.array:
            continue
        writes = isl.Map(writer.write.relation).intersect_domain(isl.Set(writer.domain))
        pairs = relation.apply_range(writes.reverse())
        if pairs.is_empty():
            continue
        own = order[writer.name]
        same = _first_rows(times, shared).apply_range(_first_rows(own, shared).reverse())
        if not pairs.intersect(times.lex_lt_map(own)).intersect(same).is_empty():
            return True
    return False


def times_by_statement(scop: Scop) -> dict[str, isl.Map]:
    """Return the order of the source, by statement."""
    return {
        times.get_tuple_name(isl.dim_type.in_): times
        for times in maps_of(isl.UnionMap(scop.schedule))
    }


def _shared_rows(times: isl.Map, read: OverwrittenRead) -> int:
    """Return how many rows of the order are those of loops that all readers of a copy share."""
    shared = 0
    for row, involved in enumerate(involved_arguments(times)):
        if not involved <= set(read.counters):
            break
        shared = row + 1 if involved else shared
    return shared


def _first_rows(times: isl.Map, count: int) -> isl.Map:
    return times.project_out(isl.dim_type.out, count, times.dim(isl.dim_type.out) - count)
