"""Demand of a program at given sizes, whatever its schedule, as a value without isl.

Bytes that a program has to move: its live-in data, and its results.

Each element that a live instance reads before anything has written it moves from where it is to a
register once at least, whatever the schedule; each element of an output that is written moves back.
What is read at computed subscripts, or in an arm of a ``?:``, may be nothing, and counts so.

Example: gemm reads A, B, C and the two scalars and writes C: 8 · (n·k + k·m + 2·n·m + 2) bytes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygym.cost.limit.dependence_chains import dependence_chains
from polygym.cost.limit.operation_counts import OperationCounter, count_union_points_at_least
from polygym.cost.limit.operation_kinds import ArithmeticKind, LatencyTerm, TypedOperation
from polygym.cost.limit.value_flows import MAX_OPERATIONS, ValueFlows, find_value_flows
from polygym.ir.expressions import Update
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes, scop_sizes
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import sets_of
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.programs import Program


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


def _elements(elements: isl.UnionSet, sizes: Sizes) -> int:
    try:
        with attempt_bounded(MAX_OPERATIONS):
            return count_union_points_at_least(elements.coalesce(), sizes)
    except isl.Error:
        return 0


Chain: TypeAlias = tuple[tuple[LatencyTerm, int], ...]
"""How often a chain waits for what, most often first."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Demand:
    """Operations with how many there are, bytes, and what some chains wait for, step by step."""

    operations: tuple[tuple[TypedOperation, int], ...]
    traffic: MemoryTraffic
    chains: tuple[Chain, ...]

    def count(self, *kinds: ArithmeticKind, floating: bool | None = None) -> int:
        """Return how many operations of some kinds there are; of all kinds if none is named."""
        return sum(
            number
            for operation, number in self.operations
            if (not kinds or operation.kind in kinds)
            and floating in (None, operation.type.is_floating)
        )


def program_demand(program: Program) -> Demand:
    """Return what a program has to do at its sizes, as it was written.

    Raises:
        LimitError: isl would take too long.
    """
    outputs = [output.array for output in program.outputs]
    scop = program.as_written
    return scop_demand(scop, outputs, scop_sizes(scop, dict(program.parameters)))


def scop_demand(scop: Scop, outputs: Sequence[str], sizes: Sizes) -> Demand:
    """Return what a program has to do of which some arrays are wanted; it is remembered.

    Raises:
        LimitError: isl would take too long.
    """
    return _scop_demand(scop, tuple(outputs), tuple(sorted(sizes.items())))


@lru_cache(maxsize=64)
def _scop_demand(
    scop: Scop, outputs: tuple[str, ...], sizes: tuple[tuple[str, int], ...]
) -> Demand:
    values = dict(sizes)
    with bounded_operations("counting what a program has to do"):
        value_flows = find_value_flows(scop, outputs, values)
        operations = OperationCounter(value_flows, values).operations()
        return Demand(
            tuple((operation, number) for operation, number in operations.items() if number),
            required_traffic(value_flows, values),
            tuple(_sorted(chain) for chain in dependence_chains(value_flows, values)),
        )


def _sorted(waits: Mapping[LatencyTerm, int]) -> Chain:
    result = Counter(waits)
    return tuple((wait, number) for wait, number in result.most_common() if number)
