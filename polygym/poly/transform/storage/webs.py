"""Webs: the values of an array that belong together.

A *read* of an array sees the value of one write, its source, or what memory held before the region.
Two statements that write an array belong together where some read sees now the one, now the other:
both have to keep their values where that read looks for them. A *web* is such a group of writing
statements, with the reads that see them. ::

    for i:                               for i:
      w = 0;                    S0         w = b[i];        S3
      for k: w += A[i][k];      S1         for k: w -= ..   S4
      x[i] = w;                 S2         y[i] = w;        S5

has two webs of ``w``, {S0, S1} and {S3, S4}: nothing of the first is seen in the second, so that
each may have a ``w`` of its own.

Sources come from isl's dataflow analysis, one read after the other, since a statement may have
several of one array. The elements that are read before anything is written to them, and those that
are left in the end, are found in the same way.
"""

from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polygym.errors import InputError
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.poly import dependences

_END_TUPLE = "_end"
"""What reads every element when all is done."""


@dataclass(frozen=True, eq=False)
class WebRead:
    """One read of an array: of each instance, whose value it sees.

    ``sources`` has pairs (writing instance, reading instance), ``initial`` pairs (instance,
    element) of those that see what was there before.
    """

    statement: str
    access: Access
    sources: isl.UnionMap
    initial: isl.UnionMap


@dataclass(frozen=True, eq=False)
class Web:
    """Statements whose values of an array belong together, and the reads that see them.

    ``live_out`` has pairs (writing instance, element): what is left in the end. With ``is_live_in``
    some read sees what was there before the region, too.
    """

    array: str
    writers: tuple[Statement, ...]
    reads: tuple[WebRead, ...]
    live_out: isl.UnionMap

    @property
    def names(self) -> frozenset[str]:
        """The names of the writing statements."""
        return frozenset(statement.name for statement in self.writers)

    @property
    def is_live_in(self) -> bool:
        """Whether a read of the web also sees what was there before."""
        return any(not read.initial.is_empty() for read in self.reads)


@lru_cache(maxsize=256)
def reads_of(scop: Scop, array: str) -> tuple[WebRead, ...]:
    """Return every read of an array with what it sees, equal accesses of a statement once.

    Raises:
        InputError: a subscript is computed, or isl cannot tell which value a read sees.
    """
    writes = dependences.access_relation(scop, array, is_write=True)
    order, context = dependences.original_order(scop), isl.Set(scop.context)
    result = []
    for statement in scop.statements:
        for access in dict.fromkeys(statement.reads):
            if access.array != array:
                continue
            if access.gathered:
                raise InputError(
                    f"storage: {array} is read at a computed subscript, {access.text}, "
                    "whose source is not known beforehand"
                )
            union_map = isl.UnionMap(access.relation).intersect_domain(
                isl.UnionSet(statement.domain)
            )
            union_map = union_map.intersect_params(context)
            if writes is None:
                result.append(
                    WebRead(statement.name, access, union_map.subtract(union_map), union_map)
                )
                continue
            sources, initial = _sources(array, union_map, writes.intersect_params(context), order)
            result.append(WebRead(statement.name, access, sources, initial))
    return tuple(result)


@lru_cache(maxsize=256)
def live_out_writers(scop: Scop, array: str) -> isl.UnionMap:
    """Return pairs (writing instance, element): the values that an array has in the end."""
    writes = dependences.access_relation(scop, array, is_write=True)
    if writes is None:
        return isl.UnionMap("{ }")
    writes = writes.intersect_params(isl.Set(scop.context))
    elements = isl.Set.from_union_set(writes.range())
    rank = elements.dim(isl.dim_type.set)
    names = ", ".join(f"x{place}" for place in range(rank))
    end = isl.UnionMap(f"{{ {_END_TUPLE}[{names}] -> {array}[{names}] }}")
    end = end.intersect_range(isl.UnionSet.from_set(elements))
    order = dependences.original_order(scop)
    length = _length(scop)
    # One dimension in front: the whole region, then the end.
    during = isl.UnionMap(f"{{ [{_tuple(length)}] -> [0, {_tuple(length)}] }}")
    zeros = ", ".join(["1", *["0"] * length])
    finally_ = isl.UnionMap(f"{{ {_END_TUPLE}[{names}] -> [{zeros}] }}").intersect_domain(
        end.domain()
    )
    sources, _ = _sources(array, end, writes, order.apply_range(during).union(finally_))
    return sources.apply_range(isl.UnionMap(f"{{ {_END_TUPLE}[{names}] -> {array}[{names}] }}"))


def webs_of(scop: Scop, array: str) -> tuple[Web, ...]:
    """Return the webs of an array that is written, in the order of the text."""
    reads, last = reads_of(scop, array), live_out_writers(scop, array)
    writers = [statement for statement in scop.statements if statement.write.array == array]
    group = {writer.name: writer.name for writer in writers}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    seen = {id(read): _statements(read.sources.domain()) for read in reads}
    for read in reads:
        first, *others = seen[id(read)] or [""]
        for other in others:
            group[root(other)] = root(first)
    result = []
    for leader in dict.fromkeys(root(writer.name) for writer in writers):
        own = tuple(writer for writer in writers if root(writer.name) == leader)
        names = {writer.name for writer in own}
        space = dependences.union_of(isl.UnionSet(writer.domain) for writer in own)
        result.append(
            Web(
                array,
                own,
                tuple(read for read in reads if names.intersection(seen[id(read)])),
                last.intersect_domain(space),
            )
        )
    return tuple(result)


def _sources(
    array: str, reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap
) -> tuple[isl.UnionMap, isl.UnionMap]:
    union_maps = dependences.flow_sources(reads, writes, order)
    if union_maps is None:
        raise InputError(
            f"storage: isl cannot tell which value of {array} every read sees; {array} stays as "
            "it is"
        )
    return union_maps


def _statements(instances: isl.UnionSet) -> list[str]:
    """Return the names of the statements in a set of instances, in their order."""
    return sorted(
        set_.get_tuple_name() for set_ in dependences.sets_of(instances) if not set_.is_empty()
    )


@lru_cache(maxsize=8)
def _length(scop: Scop) -> int:
    """Return how many dimensions the original order has."""
    return int(dependences.maps_of(isl.UnionMap(scop.schedule))[0].dim(isl.dim_type.out))


def _tuple(length: int) -> str:
    return ", ".join(f"t{place}" for place in range(length))
