"""The limit: a time below which no schedule, storage or mapping of a program runs on a machine.

Of a program's demand (:mod:`polygym.cost.limit.demand`) and a machine's peaks
(:mod:`polygym.runtime.peaks`) it is the largest of three::

    compute   max over kinds of  operations / rate
    memory    max over levels of bytes from and to there / bandwidth
    chain     max over chains of steps · latency, where sums are in the order of the source

*Compute.* Additions, multiplications, both together, divisions and roots each need their units; a
multiply-add counts as one of each, and rates have it so. Times of floats and doubles add up, since
they are for the same units; integers have units of their own.

*Memory.* Before a program runs its inputs may be in caches, and its outputs may stay there. Let
C be the bytes of all caches nearer to the cores than a level: of R bytes read and W written at
least (R - C) and (W - C) pass between that level and the cores.

*Chain.* Under ``reassociate=on`` sums may be taken apart, so that it does not count.

Example: gemm with 1000 by 1100 by 1200 and two threads at 59 · 10^9 multiplications a second has
1.322 · 10^9 of them: 22 ms. Its 38 MB take 1 ms at 50 GB/s, its chain of 1,200 additions 1 µs. So
22 ms is the limit, and compute is what binds.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from polygym.cost.limit.demand import Chain, Demand
from polygym.cost.limit.operation_kinds import ArithmeticKind, LatencyStep, TypedOperation
from polygym.pickling import pickle_by_name
from polygym.runtime.peaks.machine_peaks import OperationLatencies, OperationRates, Peaks


class Bottleneck(Enum):
    """What a program is bound by; the value is how tables and JSON call it."""

    COMPUTE = "compute"
    MEMORY = "memory"
    CHAIN = "chain"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Limit:
    """The three bounds in seconds, and what they are of."""

    compute: float
    memory: float
    chain: float
    demand: Demand
    peaks: Peaks

    @property
    def seconds(self) -> float:
        """The largest of the bounds that are taken into account."""
        return max(self.compute, self.memory, self.chain)

    @property
    def bottleneck(self) -> Bottleneck:
        """Which one that is."""
        bounds = {
            Bottleneck.COMPUTE: self.compute,
            Bottleneck.MEMORY: self.memory,
            Bottleneck.CHAIN: self.chain,
        }
        return max(bounds, key=lambda resource: bounds[resource])

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        longest: Chain = max(
            self.demand.chains, key=lambda chain: _chain_seconds(chain, self.peaks), default=()
        )
        return {
            "seconds": self.seconds,
            "binds": self.bottleneck.value,
            "compute_seconds": self.compute,
            "memory_seconds": self.memory,
            "chain_seconds": self.chain,
            "operations": [
                {"kind": operation.kind.value, "type": operation.type.value, "number": number}
                for operation, number in self.demand.operations
            ],
            "bytes_read": self.demand.traffic.read,
            "bytes_written": self.demand.traffic.written,
            "chain": [
                {"step": term.step.value, "type": term.type.value, "number": number}
                for term, number in longest
            ],
            "threads": self.peaks.threads,
            "disturbed": self.peaks.background_load,
        }


def compute_limit(demand: Demand, peaks: Peaks, *, reassociates: bool = False) -> Limit:
    """Return the limit of a program on a machine, with chains unless sums may be taken apart."""
    chain = max((_chain_seconds(chain, peaks) for chain in demand.chains), default=0.0)
    return Limit(
        _compute_seconds(demand, peaks),
        _memory_seconds(demand, peaks),
        0.0 if reassociates else chain,
        demand,
        peaks,
    )


def _compute_seconds(demand: Demand, peaks: Peaks) -> float:
    return max(_units_seconds(demand, peaks, floating=floating) for floating in (True, False))


def _units_seconds(demand: Demand, peaks: Peaks, *, floating: bool) -> float:
    """Return how long the units for floating numbers, or for integers, take at least."""
    own = [
        (typed_operation, n)
        for typed_operation, n in demand.operations
        if typed_operation.type.is_floating == floating
    ]
    sums: dict[str, float] = {}
    for operation, number in own:
        for unit, rate in _rates(operation, peaks.rates_of(operation.type)).items():
            sums[unit] = sums.get(unit, 0.0) + number / rate
    return max(sums.values(), default=0.0)


_UNITS = {
    ArithmeticKind.ADD: ("add", "any"),
    ArithmeticKind.MULTIPLY: ("multiply", "any"),
    ArithmeticKind.ANY: ("any",),
    ArithmeticKind.DIVIDE: ("divide",),
    ArithmeticKind.ROOT: ("root",),
}


def _rates(operation: TypedOperation, rates: OperationRates) -> dict[str, float]:
    """Return which units an operation needs, with how many they do a second."""
    return {name: getattr(rates, name) for name in _UNITS[operation.kind]}


def _memory_seconds(demand: Demand, peaks: Peaks) -> float:
    nearer, longest = 0, 0.0
    for number, level in enumerate(peaks.levels):
        moved = max(0, demand.traffic.read - nearer) + max(0, demand.traffic.written - nearer)
        # What is farther away is not faster, whatever was measured of it.
        fastest = max(level_peak.bandwidth for level_peak in peaks.levels[number:])
        longest = max(longest, moved / fastest)
        nearer += level.size
    return longest


def _chain_seconds(chain: Chain, peaks: Peaks) -> float:
    return sum(
        number * _latency(wait.step, peaks.latencies_of(wait.type)) for wait, number in chain
    )


def _latency(step: LatencyStep, latencies: OperationLatencies) -> float:
    """Return how long a step takes at least."""
    least = min(latencies.add, latencies.multiply)
    return {
        LatencyStep.ADD: latencies.add,
        LatencyStep.MULTIPLY: latencies.multiply,
        LatencyStep.ANY: least,
        LatencyStep.MULTIPLY_ADD: min(latencies.multiply_add, least + latencies.add),
        LatencyStep.DIVIDE: latencies.divide,
        LatencyStep.ROOT: latencies.root,
    }[step]


def limit_share_text(share: float | None) -> str:
    """Return which share of a limit is reached, for people.

    >>> limit_share_text(0.4123), limit_share_text(None)
    ('41.2 %', '-')
    """
    return "-" if share is None else f"{100 * share:.3g} %"
