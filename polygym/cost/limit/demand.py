"""Demand of a program at given sizes, whatever its schedule, as a value without isl."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from polygym.cost.limit.dependence_chains import dependence_chains
from polygym.cost.limit.latency_paths import LatencyTerm
from polygym.cost.limit.memory_traffic import MemoryTraffic, required_traffic
from polygym.cost.limit.operation_counts import OperationCounter
from polygym.cost.limit.operation_kinds import ArithmeticKind, TypedOperation
from polygym.cost.limit.value_flows import find_value_flows
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes, scop_sizes
from polygym.pickling import pickle_by_name
from polygym.poly.isl_budget import bounded_operations
from polygym.programs import Program

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

    @property
    def intensity(self) -> float:
        """Operations for each byte that has to move."""
        return self.count() / max(1, self.traffic.bytes)


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
