"""What a program has to do at given sizes, whatever its schedule, as a value without isl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from polygym.compiler.codegen.common.sizes import Sizes, own_sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.isl_budget import bounded
from polygym.cost.limit.chain import chains
from polygym.cost.limit.counting import Counting
from polygym.cost.limit.flows import flows
from polygym.cost.limit.operators import Kind, Operation
from polygym.cost.limit.paths import Wait
from polygym.cost.limit.traffic import Traffic, traffic
from polygym.pickles import pickled_by_name
from polygym.programs import Program

Chain: TypeAlias = tuple[tuple[Wait, int], ...]
"""How often a chain waits for what, most often first."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Demand:
    """Operations with how many there are, bytes, and what some chains wait for, step by step."""

    operations: tuple[tuple[Operation, int], ...]
    traffic: Traffic
    chains: tuple[Chain, ...]

    def count(self, *kinds: Kind, floating: bool | None = None) -> int:
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


def demand_of(program: Program) -> Demand:
    """Return what a program has to do at its sizes, as it was written.

    Raises:
        LimitError: isl would take too long.
    """
    outputs = [one.array for one in program.outputs]
    scop = program.written
    return demand(scop, outputs, own_sizes(scop, dict(program.parameters)))


def demand(scop: Scop, outputs: Sequence[str], sizes: Sizes) -> Demand:
    """Return what a program has to do of which some arrays are wanted; it is remembered.

    Raises:
        LimitError: isl would take too long.
    """
    return _demand(scop, tuple(outputs), tuple(sorted(sizes.items())))


@lru_cache(maxsize=64)
def _demand(scop: Scop, outputs: tuple[str, ...], sizes: tuple[tuple[str, int], ...]) -> Demand:
    values = dict(sizes)
    with bounded("counting what a program has to do"):
        found = flows(scop, outputs, values)
        operations = Counting(found, values).operations()
        return Demand(
            tuple((one, number) for one, number in operations.items() if number),
            traffic(found, values),
            tuple(_sorted(one) for one in chains(found, values)),
        )


def _sorted(waits: Mapping[Wait, int]) -> Chain:
    found = Counter(waits)
    return tuple((wait, number) for wait, number in found.most_common() if number)
