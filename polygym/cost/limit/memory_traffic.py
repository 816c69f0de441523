"""Bytes that a program has to move: its live-in data, and its results.

Each element that a live instance reads before anything has written it moves from where it is to a
register once at least, whatever the schedule; each element of an output that is written moves back.
What is read at computed subscripts, or in an arm of a ``?:``, may be nothing, and counts so.

Example: gemm reads A, B, C and the two scalars and writes C: 8 · (n·k + k·m + 2·n·m + 2) bytes.
"""

from dataclasses import dataclass

import islpy as isl

from polygym.cost.limit.point_bounds import count_union_points_at_least
from polygym.cost.limit.value_flows import MAX_OPERATIONS, ValueFlows
from polygym.ir.expressions import Update
from polygym.mapping.sizes import Sizes
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import sets_of
from polygym.poly.isl_budget import attempt_bounded


@pickle_by_name
@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """The bytes that have to be read, and those that have to be written."""

    read: int
    written: int

    @property
    def bytes(self) -> int:
        """All together."""
        return self.read + self.written


def required_traffic(flows: ValueFlows, sizes: Sizes) -> MemoryTraffic:
    """Return what a program has to move at given sizes."""
    read: dict[str, isl.UnionSet] = {}
    for leaf in flows.certain_reads.values():
        live = flows.live.get(leaf.statement)
        if live is None or leaf.live_in is None:
            continue
        name = leaf.access.array
        elements = leaf.live_in.intersect_domain(isl.UnionSet.from_set(live)).range()
        read[name] = read[name].union(elements) if name in read else elements
    written: dict[str, isl.UnionSet] = {}
    for part in sets_of(_certain_last_writes(flows).range()):
        written[part.get_tuple_name()] = isl.UnionSet.from_set(part)
    return MemoryTraffic(_bytes(flows, read, sizes), _bytes(flows, written, sizes))


def _certain_last_writes(flows: ValueFlows) -> isl.UnionMap:
    """Return the last writes without the stores that may not happen, or to another element."""
    union_map = flows.last_writes
    for statement in flows.scop.statements:
        if isinstance(statement.body, Update):
            union_map = union_map.subtract_domain(isl.UnionSet(statement.domain))
    return union_map


def _bytes(flows: ValueFlows, elements: dict[str, isl.UnionSet], sizes: Sizes) -> int:
    return sum(
        flows.scop.array(name).type.size * _elements(union_set, sizes)
        for name, union_set in elements.items()
    )


def _elements(found: isl.UnionSet, sizes: Sizes) -> int:
    try:
        with attempt_bounded(MAX_OPERATIONS):
            return count_union_points_at_least(found.coalesce(), sizes)
    except isl.Error:
        return 0
