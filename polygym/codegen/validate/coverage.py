"""Instances are looked for in loops that are too long to be run: is each of them run, once?

What a sample of the iterations runs cannot show that something is missing, or runs elsewhere, too.
So some instances are chosen, those at the corners of every domain, some inside it
(``probe_instances``), and neighbours of these and of some that ran, which
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

Instances that are looked for in loops: those at the corners of a domain, and some inside it.

Corners are found iterator by iterator: the least or the greatest value that the first one takes,
then that of the second among the instances that are left, and so on, from the first iterator to the
last and the other way round. Example: the triangle 0 ≤ j ≤ i < 4 has the corners (0, 0), (3, 0) and
(3, 3). In between, every iterator gets some value of its range; thin ends of a domain are met as
often as thick ones.

Where an iterator's range has gaps (i = 2k) the values drawn may not exist; such a draw is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from random import Random
from typing import TypeVar

import islpy as isl

from polygym.codegen.common.bounding_boxes import IteratorValues
from polygym.codegen.loopir.ir import Node
from polygym.codegen.tree.ir import Tree
from polygym.codegen.validate.interpreter import CounterValues, InstanceExecution, make_follower
from polygym.codegen.validate.order import WRONG_INSTANCES, WrongLoopsError, timestamps_along
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_values import highest_value, lowest_value
from polygym.poly.legality import LegalSchedule

T = TypeVar("T")


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
        samples = (_spread_sample(own, TUNING.max_observations) for own in ran[name].values())
        countings = {
            _counter_mapping([(times(*point, *values), counters) for point, counters in own])
            for own in samples
        }
        chosen = probe_instances(statement.domain, known)
        run = make_follower(body, tuple(sizes), name)
        if run is None and chosen:
            raise WrongLoopsError(WRONG_INSTANCES)
        if run is None or not countings or None in countings:
            continue
        points = [point for own in ran[name].values() for point, _ in own]
        some = _spread_sample(points, TUNING.max_neighbor_seeds)
        for point in {*chosen, *filter(contains[name], _neighbors([*chosen, *some]))}:
            time = times(*point, *values)
            places = {counting.counters_at(time) for counting in countings if counting is not None}
            instance_executions = [run(*values, at) for at in places if at is not None]
            every = (execution for part in instance_executions for execution in part or ())
            runs = {execution for execution in every if execution[0] == (name, point)}
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

    >>> (_shift_and_scale([(4, 5), (6, 6), (10, 8)]), _shift_and_scale([(4, 5)]),
    ...     _shift_and_scale([(4, 5), (5, 7)]))
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


@lru_cache(maxsize=256)
def probe_instances(domain: str, sizes: tuple[tuple[str, int], ...]) -> tuple[IteratorValues, ...]:
    """Return some instances of a domain.

    >>> sorted(set(probe_instances("[n] -> { S[i, j] : 0 <= j <= i < n }", (("n", 2),))))
    [(0, 0), (1, 0), (1, 1)]
    """
    points = at_sizes(isl.Set(domain), dict(sizes))
    if points.is_empty():
        return ()
    return tuple(dict.fromkeys([*_corner_instances(points), *_inner_instances(points)]))


def _corner_instances(points: isl.Set) -> Iterator[IteratorValues]:
    depth = points.dim(isl.dim_type.set)
    ends = list(product((lowest_value, highest_value), repeat=depth))
    if len(ends) > TUNING.max_corners:
        ends = Random(0).sample(ends, TUNING.max_corners)
    for order in {tuple(range(depth)), tuple(reversed(range(depth)))}:
        for chosen in ends:
            left, values = points, [0] * depth
            for place in order:
                values[place] = chosen[place](left, place)
                left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
            yield tuple(values)


def _inner_instances(points: isl.Set) -> Iterator[IteratorValues]:
    depth = points.dim(isl.dim_type.set)
    rng = Random(0)
    for _ in range(TUNING.inner_samples if depth else 0):
        left, values = points, [0] * depth
        for place in rng.sample(range(depth), depth):
            if left.is_empty():
                break
            values[place] = rng.randint(lowest_value(left, place), highest_value(left, place))
            left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
        if not left.is_empty():
            yield tuple(values)
