"""Legality test of a schedule: exact, for all parameter values, before code is made.

A schedule is legal when for every dependence and every pair (s, t) of it Θ(s) is lexicographically
smaller than Θ(t): strictly, since two instances with one time vector may run in either order.
Dimension by dimension (see :mod:`polygym.poly.distance`): no pair that is left may be
reversed, the pairs with δ = 0 go on to the next dimension, and after the last one nothing may be
left.

:class:`LegalSchedule` is the proof as a value: it cannot be made for a schedule that breaks
something, and the code generator takes nothing else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygym.errors import IllegalScheduleError
from polygym.ir.scop import Scop
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import Dependence
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coordinates
from polygym.poly.schedule import Schedule, ScheduleRow

Rows: TypeAlias = tuple[ScheduleRow, ...]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Violation:
    """A dependence that a schedule breaks, with one pair of instances as the example.

    ``dimension`` is the row (from 0) that reverses the pair, or None when the two instances get the
    same time vector.
    """

    dependence: Dependence
    dimension: int | None
    parameters: dict[str, int]
    source_instance: tuple[int, ...]
    sink_instance: tuple[int, ...]

    def __str__(self) -> str:
        """Say in one sentence what is wrong."""
        dependence = self.dependence
        reasons = " and ".join(dependence.kind.names())
        arrays = ", ".join(dependence.arrays)
        first = f"{dependence.source}[{', '.join(map(str, self.source_instance))}]"
        second = f"{dependence.sink}[{', '.join(map(str, self.sink_instance))}]"
        where = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        broken = (
            f"gives {second} and {first} the same time"
            if self.dimension is None
            else f"runs {second} before {first} (decided by dimension {self.dimension})"
        )
        return (
            f"the schedule breaks the {reasons} dependence {dependence.source} -> "
            f"{dependence.sink} on {arrays}: it {broken}, but {first} must come first"
            + (f"; example with {where}" if where else "")
        )


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LegalSchedule:
    """A schedule that respects every dependence of its program; making one is proving it."""

    scop: Scop
    schedule: Schedule

    def __post_init__(self) -> None:
        """Refuse an illegal schedule."""
        violation = find_violation(self.scop, self.schedule)
        if violation is not None:
            raise IllegalScheduleError(str(violation))


def find_violation(scop: Scop, schedule: Schedule) -> Violation | None:
    """Return the first dependence that the schedule breaks, or None when it is legal."""
    return first_violation(all_pairs(scop), schedule)


def first_violation(every: Iterable[DependencePairs], schedule: Schedule) -> Violation | None:
    """Return the first of some pairs that the schedule breaks, or None."""
    rows = {part.statement: part.rows for part in schedule.statements}
    for pairs in every:
        between = pairs.dependence
        with bounded_operations("checking the schedule"):
            violation = _violation(
                pairs, rows[between.source], rows[between.sink], schedule.parameters
            )
        if violation is not None:
            return violation
    return None


def is_legal(scop: Scop, schedule: Schedule) -> bool:
    """Whether the schedule respects every dependence."""
    return find_violation(scop, schedule) is None


@lru_cache(maxsize=8192)
def _violation(
    left: DependencePairs, sources: Rows, sinks: Rows, parameters: tuple[str, ...]
) -> Violation | None:
    """Walk one dependence through the dimensions.

    Answers are remembered: who edits a schedule changes the rows of few statements at a time.
    """
    for dimension, (source, sink) in enumerate(zip(sources, sinks, strict=True)):
        distance = left.distance(source, sink, parameters)
        broken = left.reversed_by(distance)
        if not broken.is_empty:
            return _example(broken, dimension, len(source.iterators), parameters)
        left = left.unordered_by(distance)
        if left.is_empty:
            return None
    if left.is_empty:
        return None
    return _example(left, None, len(sources[0].iterators), parameters)


def _example(
    broken: DependencePairs, dimension: int | None, depth: int, names: tuple[str, ...]
) -> Violation:
    """Return one broken pair, with parameter values as small as they can be.

    ``depth`` is how many of the dimensions are the source's.
    """
    points = broken.points
    as_dimensions = points.move_dims(
        isl.dim_type.set, 0, isl.dim_type.param, 0, points.dim(isl.dim_type.param)
    )
    order = [
        points.get_dim_name(isl.dim_type.param, k) for k in range(points.dim(isl.dim_type.param))
    ]
    values = sample_point(as_dimensions)
    known = dict(zip(order, values, strict=False))
    source = values[len(order) : len(order) + depth]
    sink = values[len(order) + depth :]
    return Violation(
        broken.dependence, dimension, {name: known.get(name, 0) for name in names}, source, sink
    )


def sample_point(points: isl.Set) -> tuple[int, ...]:
    """Return the lexicographically smallest point of a set, or any if there is none."""
    try:
        least = points.lexmin()
    except isl.Error:
        least = points
    # isl has been seen to find no smallest point of a set that is not empty.
    point = (points if least.is_empty() else least).sample_point()
    return coordinates(point)
