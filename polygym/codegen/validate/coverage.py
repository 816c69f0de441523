"""Instances are looked for in loops that are too long to be run: is each of them run, once?

What a sample of the iterations runs cannot show that something is missing, or runs elsewhere, too.
So some instances are chosen, those at the corners of every domain, some inside it
(:mod:`polygym.codegen.loopir.probe_instances`), and neighbours of these and of some that ran, which
are close to where isl's pieces meet. Each says which iteration of every loop has to run it; that
one alone is run, and has to run it once.

Which iteration that is, the tree says: counter number k has the value of member number k. But isl
may count differently: where statements take turns at 2i and 2i + 1 it moves one of them, and where
there are gaps it may leave them out, so that with v of the tree

    counter = (v + shift) / scale

Both numbers are constants of a statement in the text of the loops, and are read off two instances
that ran there. Example: if v = 4, 6, 10 ran at the counters 5, 6, 8, then scale = 2, shift = 6.
Where all that ran there has one value, they are unknown, and so they are for loops that no member
stands for; such a loop is run as a whole, unless that takes too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from polygym.codegen.common.bounding_boxes import IteratorValues
from polygym.codegen.loopir.ir import Node
from polygym.codegen.tree.ir import Tree
from polygym.codegen.validate.interpreter import CounterValues, InstanceExecution, make_follower
from polygym.codegen.validate.order import WRONG_INSTANCES, WrongLoopsError
from polygym.codegen.validate.probes import probe_instances
from polygym.codegen.validate.timestamps import timestamps_along
from polygym.mapping.sizes import Sizes
from polygym.poly.legality import LegalSchedule

T = TypeVar("T")

# How many instances of one place in the text the numbers are read off and compared with, and beside
# how many of a statement others are looked for.
_MAX_OBSERVATIONS = 40
_MAX_NEIGHBOR_SEEDS = 40


def check_coverage(
    body: Node,
    tree: Tree,
    legal: LegalSchedule,
    executions: list[InstanceExecution],
    contains: Mapping[str, Callable[[IteratorValues], bool]],
    sizes: Sizes,
) -> None:
    """Refuse loops that leave out one of some instances, or run it more than once.

    ``executions`` is what ran, ``contains`` says of every statement what its instances are.

    Raises:
        WrongLoopsError: they do.
    """
    values, known = tuple(sizes.values()), tuple(sizes.items())
    ran: dict[str, dict[int, list[tuple[IteratorValues, CounterValues]]]] = {
        name: {} for name in contains
    }
    for (name, point), place, counters in executions:
        ran[name].setdefault(place, []).append((point, counters))
    for statement in legal.scop.statements:
        name = statement.name
        times = timestamps_along(tree, legal, name, branches=False)
        countings = {
            _counter_mapping(
                [
                    (times(*point, *values), counters)
                    for point, counters in _spread_sample(own, _MAX_OBSERVATIONS)
                ]
            )
            for own in ran[name].values()
        }
        chosen = probe_instances(statement.domain, known)
        run = make_follower(body, tuple(sizes), name)
        if run is None and chosen:
            raise WrongLoopsError(WRONG_INSTANCES)
        if run is None or not countings or None in countings:
            continue
        some = _spread_sample(
            [point for own in ran[name].values() for point, _ in own], _MAX_NEIGHBOR_SEEDS
        )
        for point in {*chosen, *filter(contains[name], _neighbors([*chosen, *some]))}:
            time = times(*point, *values)
            places = {counting.counters_at(time) for counting in countings if counting is not None}
            instance_executions = [run(*values, at) for at in places if at is not None]
            runs = {
                execution
                for part in instance_executions
                if part
                for execution in part
                if execution[0] == (name, point)
            }
            # Where not all that may run it was looked at, that nothing does says nothing.
            if len(runs) > 1 or (not runs and None not in instance_executions):
                raise WrongLoopsError(WRONG_INSTANCES)


def _spread_sample(ran: list[T], count: int) -> list[T]:
    """Return some of a list, from its beginning to its end."""
    if len(ran) <= count:
        return ran
    return [ran[k * (len(ran) - 1) // (count - 1)] for k in range(count)]


def _neighbors(points: Iterable[IteratorValues]) -> Iterator[IteratorValues]:
    """Yield the neighbours of points: one iterator is one more or less."""
    for point in points:
        for place, value in enumerate(point):
            for other in (value - 1, value + 1):
                yield (*point[:place], other, *point[place + 1 :])


_UNKNOWN = (0, 0)


@dataclass(frozen=True, slots=True)
class _CounterMapping:
    """How counters follow from values along the tree: for every loop a shift and a scale.

    None stands for a loop that is not there.
    """

    shifts_and_scales: tuple[tuple[int, int] | None, ...]

    def counters_at(self, time: IteratorValues) -> CounterValues | None:
        """Return where the counters stand at a time; None where they never stand so."""
        result: list[int | None] = list(time)
        for place, loop in enumerate(self.shifts_and_scales):
            if loop is None:
                continue
            if place >= len(time):
                break
            if loop == _UNKNOWN:
                result[place] = None
                continue
            shift, scale = loop
            if (time[place] + shift) % scale:
                return None
            result[place] = (time[place] + shift) // scale
        return tuple(result)


def _counter_mapping(ran: Iterable[tuple[IteratorValues, CounterValues]]) -> _CounterMapping | None:
    """Return how the counters of one place in the text follow; None where they do not."""
    columns = list(zip(*(counters for _, counters in ran), strict=True))
    times = list(zip(*(time for time, _ in ran), strict=True))
    loops: list[tuple[int, int] | None] = []
    for place, column in enumerate(columns[: len(times)]):
        loop = None
        if None not in column:
            pairs = sorted({(value, at) for value, at in zip(times[place], column, strict=True)})
            loop = _shift_and_scale(pairs)
            if loop is None:
                return None
        loops.append(loop)
    return _CounterMapping(tuple(loops))


def _shift_and_scale(pairs: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the shift and the scale by which values become counters; None where they do not.

    >>> _read_off([(4, 5), (6, 6), (10, 8)]), _read_off([(4, 5)]), _read_off([(4, 5), (5, 7)])
    ((6, 2), (0, 0), None)
    """
    (first, at), (last, end) = pairs[0], pairs[-1]
    if first == last and at == end:
        return _UNKNOWN
    scale = 0 if at == end else (last - first) // (end - at)
    if scale < 1:
        return None
    shift = at * scale - first
    return (shift, scale) if all(v + shift == c * scale for v, c in pairs) else None
