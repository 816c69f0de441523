"""Peaks of a machine as values: the highest rates in a few plain loops.

A peak is what no code passes: of everything that was measured the best counts, also where it was
another loop than one would think of. How many additions a second there are, for example, is the
best of a loop of additions, of one of multiply-adds, and of one of both (some processors have units
of their own for additions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from polygym.errors import InputError
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OperationRates:
    """Operations a second on numbers of a type, all threads together.

    ``any`` is how many additions and multiplications there are together. Of integers only that is
    told apart from divisions, and roots are 0.
    """

    type: ScalarType
    add: float
    multiply: float
    any: float
    divide: float
    root: float


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OperationLatencies:
    """Seconds that an operation on floating numbers takes which waits for the one before.

    ``multiply_add`` is that from a factor of a multiply-add to its result, ``add`` the lesser one
    of a sum and of the third operand of a multiply-add.
    """

    type: ScalarType
    add: float
    multiply: float
    multiply_add: float
    divide: float
    root: float


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LevelPeak:
    """A level of memory: how many bytes it holds for all threads, and how many it moves a second.

    Main memory holds everything, and has 0.
    """

    name: str
    size: int
    bandwidth: float


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Peaks:
    """What a machine does at most with a number of threads.

    ``levels`` go from the cores to main memory. ``background_load`` is how many cores others had
    while it was measured, 0 where that is not worth a word; then peaks may be too low.
    ``timestamp`` is in seconds since 1970.
    """

    threads: int
    rates: tuple[OperationRates, ...]
    latencies: tuple[OperationLatencies, ...]
    levels: tuple[LevelPeak, ...]
    background_load: float = 0.0
    timestamp: float = 0.0

    def rates_of(self, scalar: ScalarType) -> OperationRates:
        """Return the rates of a type."""
        return next(rates for rates in self.rates if rates.type is scalar)

    def latencies_of(self, scalar: ScalarType) -> OperationLatencies:
        """Return the latencies of a type."""
        return next(latencies for latencies in self.latencies if latencies.type is scalar)

    def within(self, factor: float, other: Peaks) -> bool:
        """Return whether no number is that many times another's, either way."""
        return all(
            number <= factor * another and another <= factor * number
            for number, another in zip(self._numbers(), other._numbers(), strict=True)
        )

    def _numbers(self) -> Iterator[float]:
        parts: tuple[OperationRates | OperationLatencies | LevelPeak, ...] = (
            *self.rates,
            *self.latencies,
            *self.levels,
        )
        for part in parts:
            for name in part.__slots__:
                if isinstance(value := getattr(part, name), float):
                    yield value

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        result = asdict(self)
        for entry in (*result["rates"], *result["latencies"]):
            entry["type"] = entry["type"].value
        return result

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Peaks:
        """Return what :meth:`to_json` wrote.

        Raises:
            InputError: it is something else.
        """
        try:
            return Peaks(
                int(data["threads"]),
                tuple(OperationRates(**_typed(rates)) for rates in data["rates"]),
                tuple(OperationLatencies(**_typed(times)) for times in data["latencies"]),
                tuple(LevelPeak(**level) for level in data["levels"]),
                float(data["background_load"]),
                float(data["timestamp"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "the peaks of a machine: expected what polygym machine writes, found something "
                f"else ({type(error).__name__}: {error})"
            ) from None


def _typed(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "type": ScalarType(entry["type"])}


def combine_peaks(first: Peaks, second: Peaks) -> Peaks:
    """Return the better of two measurements of one machine, number by number.

    What disturbed one of them less is what may still be in the result.
    """

    def better(one: Any, other: Any, choose: Any) -> Any:
        numbers = {
            name: choose(value, getattr(other, name)) if isinstance(value, float) else value
            for name, value in ((name, getattr(one, name)) for name in one.__slots__)
        }
        return type(one)(**numbers)

    return Peaks(
        first.threads,
        tuple(better(a, b, max) for a, b in zip(first.rates, second.rates, strict=True)),
        tuple(better(a, b, min) for a, b in zip(first.latencies, second.latencies, strict=True)),
        tuple(better(a, b, max) for a, b in zip(first.levels, second.levels, strict=True)),
        min(first.background_load, second.background_load),
        max(first.timestamp, second.timestamp),
    )
