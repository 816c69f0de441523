"""Features: numbers that say about a candidate what decides its time, the same for every program.

A candidate is a schedule under a mapping at given sizes. Its loops are those of the planned tree
(:mod:`polygym.compiler.codegen.trees.plan`); isl makes no code and LLVM is not asked. Three kinds:

* *loop context* (:func:`context`): a row for every loop around the heaviest statement, outermost
  first, as in the table of AutoTVM's appendix A.2;
* *relations* (:func:`relations`): of all loops and arrays as a bag of points, how one column of the
  context depends on another, which does not care how many loops or arrays there are;
* *what the compiler knows* (:func:`knowledge`): lanes, copies, held sums, threads' share, and the
  traffic between caches that the loops' working sets make.

Statements are added up, each with its share of the work. Numbers of any size are on a signed
logarithmic scale, slog(x) = sign(x)·log2(1 + |x|).

Relations. With the points (x, y), touch count and reuse ratio say, and thresholds β₀ < β₁ < …,
each a power of 2, the relation is R(t) = max { y : x < β_t }: the best reuse that fits β_t
elements. Example: touch counts 10, 1000, 100000 with reuse 1, 8, 64 and thresholds 2⁴, 2¹², 2²⁰
give 1, 8, 64; a nest with one loop more between them gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np

from polygym.compiler.codegen.common.loop_annotation import (
    Hold,
    Jam,
    LoopAnnotation,
    Parallel,
    Sequential,
    Vector,
)
from polygym.cost.nests import LINE, Floats, Nest, Reference, touched

THRESHOLDS = tuple(2.0**power for power in range(2, 32, 2))
"""What touch counts, in bytes, and lengths are compared with."""

# Bytes of caches that there are somewhere; the model learns which matter here.
CACHES = (2.0**12, 2.0**15, 2.0**17, 2.0**19, 2.0**21, 2.0**24)
KINDS = ("sequential", "parallel", "jam", "vector", "hold")
MOST_ARRAYS = 4

CONTEXT = (
    "length",
    *KINDS,
    "tiled",
    "copies",
    "lanes",
    "topdown",
    "bottomup",
    *(f"{what}_{k}" for k in range(MOST_ARRAYS) for what in ("touch", "reuse", "stride")),
)
"""The columns of :func:`context`: the arrays with the most accesses first."""

RELATIONS = (
    *(f"reuse_below_{k}" for k in range(len(THRESHOLDS))),
    *(f"outer_below_{k}" for k in range(len(THRESHOLDS))),
)

KNOWLEDGE = (
    "operations",
    "instances",
    "share",
    "depth",
    "lanes",
    "copies",
    "held",
    "threads",
    "per_thread",
    "starts",
    "imbalance",
    "waves",
    "innermost_length",
    "inner_two_length",
    "memory_per_operation",
    "gathers_per_operation",
    "broadcasts_per_operation",
    "stores_per_operation",
    "chain",
    "unit_strides",
    "footprint",
    *(f"traffic_{int(np.log2(cache))}" for cache in CACHES),
    *(f"bound_{int(np.log2(cache))}" for cache in CACHES),
    "cycles",
    "loop_overhead",
)

# The columns that are no numbers of any size.
_AS_THEY_ARE = np.array(
    [
        name
        in (
            "depth", "held", "threads", "imbalance", "waves", "memory_per_operation",
            "gathers_per_operation", "broadcasts_per_operation", "stores_per_operation", "chain",
            "unit_strides",
        )
        for name in KNOWLEDGE
    ]
)  # fmt: skip


def slog(values: Floats | float) -> Floats:
    """Return a signed logarithm.

    >>> slog(np.array([-3.0, 0.0, 7.0])).tolist()
    [-2.0, 0.0, 3.0]
    """
    return np.asarray(np.sign(values) * np.log2(1.0 + np.abs(values)))


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """What the loops of a nest touch: for every array elements and bytes, a column a loop."""

    nest: Nest
    elements: tuple[Floats, ...]
    bytes: tuple[Floats, ...]

    @staticmethod
    def of(nest: Nest) -> Touched:
        """Look at a nest."""
        found = [touched(nest, one) for one in nest.references]
        return Touched(nest, tuple(one for one, _ in found), tuple(two for _, two in found))

    @property
    def working_set(self) -> Floats:
        """The bytes that one execution of each loop touches; the last one is the statement's."""
        return np.asarray(np.add.reduce(self.bytes))


def context(seen: Touched) -> Floats:
    """Return the loop context: a row for every loop, the columns :data:`CONTEXT`."""
    nest = seen.nest
    count = len(nest.lengths)
    rows = np.zeros((count, len(CONTEXT)))
    rows[:, 0] = slog(nest.lengths)
    for place, annotation in enumerate(nest.annotations):
        kind, copies, lanes = _annotated(annotation, nest)
        rows[place, 1 + KINDS.index(kind)] = 1.0
        rows[place, 7], rows[place, 8] = copies, lanes
    rows[:, 6] = nest.tiled
    rows[:, 9], rows[:, 10] = slog(nest.outer), slog(nest.inner)
    order = sorted(
        range(len(nest.references)),
        key=lambda k: (
            -nest.references[k].reads - nest.references[k].writes,
            -float(seen.elements[k][0]),
        ),
    )
    for slot, k in enumerate(order[:MOST_ARRAYS]):
        first = 11 + 3 * slot
        touch = seen.elements[k][:count]
        rows[:, first] = slog(touch)
        rows[:, first + 1] = slog(nest.inner / touch)
        rows[:, first + 2] = slog(nest.references[k].stride)
    return rows


def _annotated(annotation: LoopAnnotation, nest: Nest) -> tuple[str, float, float]:
    """Return the kind of a loop, its copies and its lanes."""
    match annotation:
        case Sequential():
            return "sequential", 1.0, 1.0
        case Parallel():
            return "parallel", 1.0, 1.0
        case Jam(copies):
            return "jam", float(copies), 1.0
        case Vector(bits, copies):
            return "vector", float(copies), _lanes(bits, nest)
        case Hold():
            return "hold", 1.0, 1.0
        case _:
            assert_never(annotation)


def relations(seen: Touched) -> Floats:
    """Return the relation features: the columns :data:`RELATIONS`."""
    nest = seen.nest
    count = len(nest.lengths)
    found = np.zeros(len(RELATIONS))
    if not count or not nest.references:
        return found
    touch = np.concatenate([one[:count] for one in seen.bytes])
    reuse = np.concatenate([nest.inner / one[:count] for one in seen.elements])
    outer = np.concatenate([nest.outer for _ in seen.bytes])
    order = np.argsort(touch, kind="stable")
    places = np.searchsorted(touch[order], THRESHOLDS, side="left")
    for first, values in ((0, reuse), (len(THRESHOLDS), outer)):
        best = np.concatenate([[0.0], np.maximum.accumulate(slog(values[order]))])
        found[first : first + len(THRESHOLDS)] = best[places]
    return found


@dataclass(frozen=True, slots=True)
class _Block:
    """What is worked on at once: lanes of vectors, copies of them, sums that are held."""

    vector_at: int | None
    lanes: float
    vectors: float
    jams: float
    held: bool

    @staticmethod
    def of(nest: Nest) -> _Block:
        """Look at the annotations of a nest."""
        vector_at, lanes, vectors, jams, held = None, 1.0, 1.0, 1.0, False
        for place, annotation in enumerate(nest.annotations):
            match annotation:
                case Jam(copies):
                    jams *= min(float(copies), nest.lengths[place])
                case Vector(bits, copies):
                    vector_at, lanes, vectors = place, _lanes(bits, nest), float(copies)
                case Hold(statements):
                    held = held or nest.work.name in statements
                case _:
                    pass
        return _Block(vector_at, lanes, vectors, jams, held)

    def filled(self, nest: Nest) -> float:
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
    def of(nest: Nest, threads: int) -> _Sharing:
        """Share a nest out by its outermost parallel loop."""
        instances = float(nest.work.instances)
        place = next((k for k, one in enumerate(nest.annotations) if isinstance(one, Parallel)), -1)
        if place < 0 or threads == 1:
            return _Sharing(1.0, instances, 0.0, 1.0, place > 0)
        length, starts = nest.lengths[place], float(nest.outer[place])
        busy = min(float(threads), length)
        uneven = np.ceil(length / threads) * threads / max(1.0, length)
        return _Sharing(busy, instances / busy / max(1.0, starts), starts, uneven, place > 0)


def knowledge(seen: Touched, threads: int) -> Floats:
    """Return what the compiler knows of a nest: the columns :data:`KNOWLEDGE`."""
    nest, work = seen.nest, seen.nest.work
    block, sharing = _Block.of(nest), _Sharing.of(nest, threads)
    accesses = _accesses(nest, block)
    chain = _chain(nest, block)
    lanes = block.filled(nest)
    operations = float(work.operations) * work.instances
    working: list[float] = seen.working_set.tolist()
    traffic = [_traffic(seen, working, cache) * nest.share for cache in CACHES]
    units = sum(abs(one.stride[-1]) <= 1.0 for one in nest.references) if len(nest.lengths) else 0
    cycles = operations / lanes * max(0.5, accesses[0], chain) / sharing.threads * sharing.imbalance
    lengths: list[float] = nest.lengths.tolist()
    columns = [
        operations,
        float(work.instances),
        nest.share * 16,
        float(len(lengths)),
        lanes,
        block.jams * block.vectors,
        float(block.held),
        sharing.threads,
        sharing.per_thread,
        sharing.starts,
        sharing.imbalance,
        float(sharing.inside),
        lengths[-1] if lengths else 1.0,
        prod(lengths[-2:]),
        *accesses,
        chain,
        units / max(1, len(nest.references)),
        working[0],
        *traffic,
        *(one / max(1.0, operations) * 64 for one in traffic),
        cycles,
        prod(lengths[:-1]) * nest.share / sharing.threads,
    ]
    found = np.array(columns, dtype=np.float64)
    return np.asarray(np.where(_AS_THEY_ARE, found, slog(found)))


def _lanes(bits: int, nest: Nest) -> float:
    """Return how many of the widest elements of a nest a vector has."""
    return max(1.0, bits / (8 * max((one.bytes for one in nest.references), default=8)))


def _accesses(nest: Nest, block: _Block) -> tuple[float, float, float, float]:
    """Return loads, gathers, broadcasts, and stores of a block of copies, each per operation."""
    loads = gathers = broadcasts = stores = 0.0
    jammed = [k for k, one in enumerate(nest.annotations) if isinstance(one, Jam)]
    for reference in nest.references:
        stride = reference.stride
        along = abs(stride[block.vector_at]) if block.vector_at is not None else 0.0
        across = any(stride[k] for k in jammed)
        times = (block.jams if across else 1.0) * (block.vectors if along else 1.0)
        accesses = reference.reads * (0.0 if block.held and reference.writes else 1.0)
        if block.vector_at is None:
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
    return total / operations, gathers / operations, broadcasts / operations, stores / operations


def _chain(nest: Nest, block: _Block) -> float:
    """Return how many cycles an operation waits for the one before it, as a sum's terms do."""
    if not nest.work.sums or not len(nest.lengths):
        return 0.0
    writes = next(one for one in nest.references if one.writes)
    waits = block.held or writes.stride[-1] == 0.0
    return 4.0 / (block.vectors * block.jams) if waits else 0.0


def _traffic(seen: Touched, working: Sequence[float], cache: float) -> float:
    """Return the bytes that come into a cache while all loops run.

    The outermost loop whose working set fits brings it in once in each of its executions. What the
    loop around it does not move stays there from one to the next.
    """
    nest = seen.nest
    count = len(nest.lengths)
    fits = next((k for k in range(count + 1) if working[k] <= cache), count)
    if fits == 0:
        return working[0]
    around = float(nest.outer[fits - 1])
    again = around * float(nest.lengths[fits - 1])
    return sum(
        float(sizes[fits]) * (again if reference.moves[:, fits - 1].any() else around)
        for reference, sizes in zip(nest.references, seen.bytes, strict=True)
    )


__all__ = [
    "CACHES",
    "CONTEXT",
    "KNOWLEDGE",
    "LINE",
    "RELATIONS",
    "THRESHOLDS",
    "Reference",
    "Touched",
    "context",
    "knowledge",
    "relations",
    "slog",
]
