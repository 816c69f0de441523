"""Footprints and cache traffic of the loops of many statements, for all of them at once.

Arrays have a row for every statement (S) or reference (R), and a column for each of the W loops
that there are at most; what a statement does not have is filled up with loops that run once. What
one reference touches :mod:`polygym.cost.features.loops.cache_lines` says; the tests compare number
for number, and what comes into caches with an oracle.
"""

from dataclasses import dataclass

import numpy as np

from polygym.cost.features.loops import column_names
from polygym.cost.features.loops.cache_lines import LINE_BYTES
from polygym.cost.features.loops.nests import Floats
from polygym.cost.features.loops.stacked_statements import Flags, Integers, StackedReferences

_CACHE_SIZES = np.array(column_names.CACHE_SIZES)
_FOOTPRINT_THRESHOLDS = np.array(column_names.FOOTPRINT_THRESHOLDS)


@dataclass(frozen=True, slots=True, eq=False)
class StackedLoops:
    """The loops of statements, outermost first: how many each has, and how often they run, S·W.

    ``box`` says how many instances each has in the box of its rows, S·W; ``access_strides`` are
    those of the subscripts of every reference, R·E·W, ``strides`` R·W.
    """

    counts: Integers
    lengths: Floats
    box: Floats
    access_strides: Floats
    strides: Floats

    @property
    def is_loop(self) -> Flags:
        """Which loops there are."""
        return np.asarray(np.arange(self.lengths.shape[1]) < self.counts[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class StackedFootprints:
    """What one execution of every loop touches, R·(D + 1); the last entry is the statement's."""

    elements: Floats
    bytes: Floats


def traffic_and_length_columns(
    operations: Floats,
    instances: Floats,
    counts: Integers,
    lengths: Floats,
    working: Floats,
    traffic: Floats,
) -> dict[str, Floats]:
    """Return the columns that loops alone decide, whatever runs in vectors or in threads.

    ``operations`` are those of one instance, ``working`` the sets of :func:`working_sets`,
    ``cache_traffic`` what comes into caches if all of the box of the loops is run. Of a box that is
    half empty half comes in: the *share*.
    """
    every, last = np.arange(len(lengths)), np.maximum(counts - 1, 0)
    box = lengths.prod(axis=1)
    share = np.minimum(1.0, instances / box)
    inner = lengths[every, last]
    around = np.where(counts > 1, lengths[every, np.maximum(last - 1, 0)], 1.0)
    total = operations * instances
    arrives = traffic * share[:, None]
    bound = arrives / np.maximum(1.0, total)[:, None] * 64
    return {
        "operations": total,
        "instances": instances,
        "share": share * 16,
        "depth": counts.astype(np.float64),
        "innermost_length": inner,
        "inner_two_length": inner * around,
        "footprint": working[:, 0],
        **dict(zip(column_names.TRAFFIC_COLUMNS, arrives.T, strict=True)),
        **dict(zip(column_names.BOUND_COLUMNS, bound.T, strict=True)),
        "loop_overhead": box / inner * share,
    }


def stacked_footprints(references: StackedReferences, loops: StackedLoops) -> StackedFootprints:
    """Return the footprint, as ``cache_lines.reference_footprint`` does for one reference."""
    lengths = loops.lengths[references.owners]
    size, width = lengths.shape
    moves = np.abs(loops.access_strides)
    reach = np.zeros((*moves.shape[:2], width + 1))
    steps = moves * (lengths - 1.0)[:, None, :]
    reach[:, :, :width] = steps[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    inner, most = np.ones((size, width + 1)), np.ones((size, width + 1))
    inner[:, :width] = loops.box[references.owners]
    moved = np.where(np.asarray(moves.any(axis=1)), lengths, 1.0)
    most[:, :width] = moved[:, ::-1].cumprod(axis=1)[:, ::-1]
    ranges = (reach + references.spread[:, :, None]) / references.granularity[:, :, None] + 1.0
    if references.is_unbounded.any():
        ranges = np.where(references.is_unbounded[:, :, None], inner[:, None, :], ranges)
    ranges = np.minimum(ranges, references.extents[:, :, None])
    elements = ranges.prod(axis=1)
    bound = most * (references.reads + references.writes)[:, None]
    elements = np.where(
        np.asarray(references.is_unbounded.any(axis=1))[:, None],
        elements,
        np.minimum(np.minimum(elements, bound), references.max_elements[:, None]),
    )
    lines = _line_counts(references, elements, ranges, reach) * LINE_BYTES
    is_array = references.is_array[:, None]
    return StackedFootprints(
        np.where(is_array, elements, 1.0),
        np.where(is_array, lines, references.bytes[:, None]),
    )


def _line_counts(
    references: StackedReferences, elements: Floats, ranges: Floats, reach: Floats
) -> Floats:
    """Return the number of cache lines of elements, R·(D + 1) (see ``cache_lines``)."""
    steps = (references.strides * references.bytes[:, None] / LINE_BYTES)[:, :, None]
    ends = references.extents[:, :, None] - 1.0
    moved = np.minimum(reach, ends)
    if references.is_unbounded.any():
        moved = np.where(references.is_unbounded[:, :, None], ends, moved)
    apart = np.minimum(moved + references.spread[:, :, None], ends)
    own, together = ((array * steps)[:, ::-1].cumsum(axis=1) + 1.0 for array in (moved, apart))
    accesses = (references.reads + references.writes)[:, None, None]
    values, all_ = ranges[:, ::-1].cumprod(axis=1), elements[:, None]
    runs = all_ / np.minimum(values, all_)
    result = (runs * np.minimum(together, own * accesses)).min(axis=1)
    return np.asarray(np.minimum(result, elements))


def working_sets(references: StackedReferences, footprints: StackedFootprints) -> Floats:
    """Return the bytes that one execution of each loop touches, S·(D + 1)."""
    return np.asarray(np.add.reduceat(footprints.bytes, references.starts, axis=0))


def cache_traffic(
    references: StackedReferences,
    loops: StackedLoops,
    footprints: StackedFootprints,
    working: Floats,
) -> Floats:
    """Return the bytes that come into caches while all loops run, a column for each cache.

    The outermost loop whose working set fits brings it in once in each of its executions. What the
    loop around it does not move stays there from one to the next.
    """
    too_large = working[:, :, None] > _CACHE_SIZES
    fits = np.minimum(
        np.logical_and.accumulate(too_large, axis=1).sum(axis=1), loops.counts[:, None]
    )
    around = np.concatenate([np.ones((len(working), 1)), loops.lengths.cumprod(axis=1)], axis=1)
    before = np.maximum(fits - 1, 0)
    every, owners = np.arange(len(fits))[:, None], references.owners
    again, once = around[every, fits], around[every, before]
    each = np.arange(len(owners))[:, None]
    moves = np.asarray(loops.access_strides.any(axis=1))[each, before[owners]]
    times = np.where(moves | (fits == 0)[owners], again[owners], once[owners])
    sizes = footprints.bytes[each, fits[owners]]
    return np.asarray(np.add.reduceat(sizes * times, references.starts, axis=0))


def relation_features(
    references: StackedReferences,
    instances: Floats,
    loops: StackedLoops,
    footprints: StackedFootprints,
) -> Floats:
    """Return the relation features of all statements (see ``column_names``)."""
    width = loops.lengths.shape[1]
    lengths = loops.lengths[references.owners]
    inner = np.minimum(loops.box, np.maximum(1.0, instances)[:, None])[references.owners]
    outer = lengths.cumprod(axis=1) / lengths
    is_loop = loops.is_loop[references.owners]
    reuse = np.where(is_loop, column_names.signed_log(inner / footprints.elements[:, :width]), 0.0)
    outer = np.where(is_loop, column_names.signed_log(outer), 0.0)
    below = footprints.bytes[:, :width, None] < _FOOTPRINT_THRESHOLDS
    best = [np.where(below, array[:, :, None], 0.0).max(axis=1) for array in (reuse, outer)]
    return np.asarray(np.maximum.reduceat(np.concatenate(best, axis=1), references.starts, axis=0))
