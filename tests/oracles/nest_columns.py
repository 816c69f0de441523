"""What the compiler knows of one nest, loop by loop and reference by reference.

The package works the same out for many nests at once
(:mod:`polygym.cost.features.candidates.nest_vectors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from polygym.codegen.common.loop_annotation import (
    DiagonalLoop,
    LaneRows,
    ParallelLoop,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.common.packing_candidates import row_padding
from polygym.cost.features.candidates.nest_vectors import NEST
from polygym.cost.features.loops.column_names import (
    CACHE_SIZES,
    FOOTPRINT_THRESHOLDS,
    RELATION_COLUMNS,
    NestFootprint,
    signed_log,
    vector_lanes,
)
from polygym.cost.features.loops.nests import ArrayReference, Floats, StatementNest


def relations(seen: NestFootprint) -> Floats:
    """Return the relation features: the columns :data:`RELATION_COLUMNS`."""
    nest = seen.nest
    count = len(nest.lengths)
    array1_d = np.zeros(len(RELATION_COLUMNS))
    if not count or not nest.references:
        return array1_d
    touch = np.concatenate([floats[:count] for floats in seen.bytes])
    reuse = np.concatenate([nest.inner_instances / element[:count] for element in seen.elements])
    outer = np.concatenate([nest.outer_iterations for _ in seen.bytes])
    order = np.argsort(touch, kind="stable")
    places = np.searchsorted(touch[order], FOOTPRINT_THRESHOLDS, side="left")
    for first, values in ((0, reuse), (len(FOOTPRINT_THRESHOLDS), outer)):
        best = np.concatenate([[0.0], np.maximum.accumulate(signed_log(values[order]))])
        array1_d[first : first + len(FOOTPRINT_THRESHOLDS)] = best[places]
    return array1_d


@dataclass(frozen=True, slots=True)
class _Block:
    """What is worked on at once: lanes of vectors, copies of them, sums that are held."""

    vector_at: int | None
    lanes: float
    vectors: float
    jams: float
    held: bool
    turned: bool

    @staticmethod
    def of(nest: StatementNest) -> _Block:
        """Look at the annotations of a nest."""
        vector_at, lanes, vectors, jams, held = None, 1.0, 1.0, 1.0, False
        turned = any(
            isinstance(loop_annotation, LaneRows | DiagonalLoop)
            for loop_annotation in nest.annotations
        )
        for place, annotation in enumerate(nest.annotations):
            match annotation:
                case UnrollAndJam(copies) | LaneRows(copies=copies) | DiagonalLoop(copies=copies):
                    jams *= min(float(copies), nest.lengths[place])
                case VectorLoop(bits, copies):
                    vector_at, lanes, vectors = place, vector_lanes(bits, nest), float(copies)
                case ScalarReplacement(statements):
                    held = held or nest.work.name in statements
                case _:
                    pass
        return _Block(vector_at, lanes, vectors, jams, held, turned)

    def filled(self, nest: StatementNest) -> float:
        """Return how many lanes have something to do, on average: the last vector may be short."""
        if self.vector_at is None:
            return self.lanes
        length = max(1.0, nest.lengths[self.vector_at])
        return float(length / np.ceil(length / self.lanes))


@dataclass(frozen=True, slots=True)
class _Sharing:
    """What threads have of a nest; ``inside`` says that loops stand around the parallel one."""

    threads: float
    per_thread: float
    starts: float
    imbalance: float
    inside: bool

    @staticmethod
    def of(nest: StatementNest, threads: int) -> _Sharing:
        """Share a nest out by its outermost parallel loop."""
        instances = float(nest.work.instances)
        place = next(
            (
                k
                for k, annotation in enumerate(nest.annotations)
                if isinstance(annotation, ParallelLoop)
            ),
            -1,
        )
        if place < 0 or threads == 1:
            return _Sharing(1.0, instances, 0.0, 1.0, place > 0)
        length, starts = nest.lengths[place], float(nest.outer_iterations[place])
        busy = min(float(threads), length)
        uneven = np.ceil(length / busy) * busy / max(1.0, length)
        return _Sharing(busy, instances / busy / max(1.0, starts), starts, uneven, place > 0)


def _share(nest: StatementNest) -> float:
    """Return how many of the instances of the box of all loops there are."""
    return float(min(1.0, nest.work.instances / max(1.0, prod(nest.lengths.tolist()))))


def knowledge(seen: NestFootprint, threads: int) -> Floats:
    """Return what the compiler knows of a nest: the columns :data:`KNOWLEDGE`."""
    nest, work = seen.nest, seen.nest.work
    block, sharing = _Block.of(nest), _Sharing.of(nest, threads)
    copied = [_copied(nest, reference, block.vector_at) for reference in nest.references]
    accesses = _accesses(nest, block, [volume is not None for volume in copied])
    chain = _chain(nest, block)
    lanes = block.filled(nest)
    operations = float(work.operations) * work.instances
    working: list[float] = np.add.reduce(seen.bytes).tolist()
    traffic = [_traffic(seen, working, cache) * _share(nest) for cache in CACHE_SIZES]
    units = (
        sum(abs(array_reference.stride[-1]) <= 1.0 for array_reference in nest.references)
        if len(nest.lengths)
        else 0
    )
    cycles = operations / lanes * max(0.5, accesses[0], chain) / sharing.threads * sharing.imbalance
    lengths: list[float] = nest.lengths.tolist()
    columns = [
        operations,
        float(work.instances),
        _share(nest) * 16,
        float(len(lengths)),
        lanes,
        block.jams * block.vectors,
        float(block.held),
        float(block.turned),
        sharing.threads,
        sharing.per_thread,
        sharing.starts,
        sharing.imbalance,
        float(sharing.inside),
        lengths[-1] if lengths else 1.0,
        prod(lengths[-2:]),
        *accesses,
        sum(volume or 0.0 for volume in copied) / max(1.0, operations),
        chain,
        units / max(1, len(nest.references)),
        working[0],
        *traffic,
        *(moved / max(1.0, operations) * 64 for moved in traffic),
        cycles,
        prod(lengths[:-1]) * _share(nest) / sharing.threads,
    ]
    array = np.array(columns, dtype=np.float64)
    return np.asarray(np.where([column.is_scaled for column in NEST], signed_log(array), array))


def _accesses(nest: StatementNest, block: _Block, packed: Sequence[bool]) -> tuple[float, ...]:
    """Return accesses, gathers, broadcasts, stores, and reads of packs, each per operation."""
    loads = gathers = broadcasts = stores = packs = 0.0
    jammed = [
        k
        for k, annotation in enumerate(nest.annotations)
        if isinstance(annotation, DiagonalLoop | UnrollAndJam | LaneRows)
    ]
    for reference, is_packed in zip(nest.references, packed, strict=True):
        stride = reference.stride
        along = abs(stride[block.vector_at]) if block.vector_at is not None else 0.0
        across = any(stride[k] for k in jammed)
        times = (block.jams if across else 1.0) * (block.vectors if along else 1.0)
        accesses = reference.reads * (0.0 if block.held and reference.writes else 1.0)
        packs += accesses * times * is_packed
        if block.vector_at is None or is_packed:
            loads += accesses * times
        elif along == 0.0:
            broadcasts += accesses * times
        elif along <= 1.0:
            loads += accesses * times
        else:
            gathers += accesses * times * block.lanes
        if reference.writes and not block.held:
            stores += reference.writes * times * (block.lanes if along > 1.0 else 1.0)
    operations = max(1.0, nest.work.operations * block.jams * block.vectors)
    total = loads + gathers + broadcasts + stores
    return tuple(count / operations for count in (total, gathers, broadcasts, stores, packs))


def _copied(nest: StatementNest, reference: ArrayReference, vector_at: int | None) -> float | None:
    """Return how many elements are copied for a reference; None where no copies are read."""
    if vector_at is None or reference.writes or any(reference.unbounded):
        return None
    along = reference.access_strides[:, vector_at].round(9).tolist()
    moving = [place for place, step in enumerate(along) if step]
    if len(moving) != 1 or along[moving[0]] != 1.0:
        return None
    elements = float(prod(reference.extents))
    is_down = moving[0] < len(along) - 1
    if is_down and (tile := _in_tiles(nest, reference)) is not None:
        return tile
    is_long = any(
        isinstance(annotation, ScalarReplacement)
        and nest.lengths[place] > 64
        and reference.access_strides[:-1, place].any()
        for place, annotation in enumerate(nest.annotations)
    )
    walks_down = is_long and row_padding(reference.extents[-1], reference.bytes) > 0
    return (
        elements
        if reference.array in nest.packable.whole_arrays and (is_down or walks_down)
        else None
    )


def _in_tiles(nest: StatementNest, reference: ArrayReference) -> float | None:
    """Return how many elements copies of tiles have; None where there are none.

    From the inside out, before every loop: the first place that will do.
    """
    is_fixed = nest.is_box and reference.array in nest.packable.tile_copies
    if not is_fixed and reference.array not in nest.packable.disjoint_tile_copies:
        return None
    read = _places_read(nest, reference)
    count = len(nest.lengths)
    runs = [place for place in range(count) if nest.lengths[place] > 1]
    for first in reversed(range(count)):
        inner, outer = [p for p in runs if p >= first], [p for p in runs if p < first]
        if any(nest.tiled[p] or isinstance(nest.annotations[p], ParallelLoop) for p in inner):
            return None
        if any(isinstance(nest.annotations[p], UnrollAndJam | VectorLoop) for p in range(first)):
            continue
        own = [p for p in inner if reference.access_strides[:, p].any()]
        steps = [reference.access_strides[:, p].round(9).tolist() for p in own]
        if any(sorted(map(abs, step))[-1] != 1.0 or sum(step) != 1.0 for step in steps):
            return None
        if len({step.index(1.0) for step in steps}) < len(steps):
            return None
        again = prod(nest.lengths[p] for p in inner if p not in own)
        size = prod(nest.lengths[p] for p in own) * reference.bytes
        times = prod(nest.lengths[p] for p in outer if not reference.access_strides[:, p].any())
        if len(own) < 2 or again < 16 or size > 256 * 1024 or (is_fixed and times > 2):
            continue
        if is_fixed:
            whole = [p for p in range(count) if reference.access_strides[:, p].any()]
            return float(times * prod(nest.spans[p] for p in whole) * read)
        return float(nest.work.instances / again * read)
    return None


def _places_read(nest: StatementNest, reference: ArrayReference) -> int:
    """Return how many of the reads that move alike are different ones."""
    alike: dict[tuple[str, object], set[tuple[int, ...]]] = {}
    for touch in nest.work.accesses:
        places = alike.setdefault((touch.array, touch.subscripts), set())
        if not touch.writes:
            places.add(touch.offsets)
    return len(list(alike.values())[nest.references.index(reference)])


def _chain(nest: StatementNest, block: _Block) -> float:
    """Return for how many cycles there is to wait for each operation, as in a sum."""
    if not nest.work.is_reduction or not len(nest.lengths):
        return 0.0
    writes = next(reference for reference in nest.references if reference.writes)
    waits = block.held or writes.stride[-1] == 0.0
    operations = max(1.0, nest.work.operations * block.vectors * block.jams)
    return 4.0 / operations if waits else 0.0


def _traffic(seen: NestFootprint, working: Sequence[float], cache: float) -> float:
    """Return the bytes that come into a cache while all loops run.

    The outermost loop whose working set fits brings it in once in each of its executions. What the
    loop around it does not move stays there from one to the next.
    """
    nest = seen.nest
    count = len(nest.lengths)
    fits = next((k for k in range(count + 1) if working[k] <= cache), count)
    if fits == 0:
        return working[0]
    around = float(nest.outer_iterations[fits - 1])
    again = around * float(nest.lengths[fits - 1])
    return sum(
        float(sizes[fits]) * (again if reference.access_strides[:, fits - 1].any() else around)
        for reference, sizes in zip(nest.references, seen.bytes, strict=True)
    )
