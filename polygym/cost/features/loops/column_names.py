"""Features: numbers that say about a candidate what decides its time, the same for every program.

A candidate is a schedule under a mapping at given sizes. Its loops are those of the planned tree
(:mod:`polygym.codegen.tree.planning.plan`); isl makes no code and LLVM is not asked. Three kinds:

* *loop context* (:func:`context_rows`): a row for every loop around the heaviest statement,
  outermost first, as in the table of AutoTVM's appendix A.2;
* *relations* (:func:`polygym.cost.features.loops.footprints.relation_features`): of all loops and
  arrays as a bag of points, how one column of the context depends on another, independent of the
  number of loops and arrays;
* *what the compiler knows* (:mod:`polygym.cost.features.candidates.nest_vectors`): lanes, copies,
  sums in registers, packs, threads' share, and the traffic between caches.

Statements are added up, each with its share of the work. Numbers of any size are on a signed
logarithmic scale, slog(x) = sign(x)·log2(1 + |x|).

Relations. With the points (x, y), touch count and reuse ratio say, and thresholds β₀ < β₁ < …,
each a power of 2, the relation is R(t) = max { y : x < β_t }: the best reuse that fits β_t
bytes. Touch counts are in bytes here, of whole lines of a cache, since that is what fits or not.
Example: 64, 1000, 100000 bytes with reuse 1, 8, 64 and thresholds 2⁷, 2¹², 2²⁰ give 1, 8, 64; a
nest with one loop more between them gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np

from polygym.codegen.common import loop_annotation
from polygym.cost.features.loops.cache_lines import reference_footprint
from polygym.cost.features.loops.nests import Floats, StatementNest

FOOTPRINT_THRESHOLDS = tuple(2.0**power for power in range(7, 37, 2))
"""What touch counts are compared with, in bytes; no array touches less than a line of 2⁶."""

# Bytes of caches that there are somewhere; the model learns which matter here.
CACHE_SIZES = (2.0**12, 2.0**15, 2.0**17, 2.0**19, 2.0**21, 2.0**24)
# Cycles between a term of a sum and the next one: what an addition takes.
ADD_LATENCY = 4.0
LOOP_KINDS = ("sequential", "parallel", "jam", "vector", "hold")
MAX_ARRAYS = 4

CONTEXT_COLUMNS = (
    "length",
    *LOOP_KINDS,
    "tiled",
    "copies",
    "lanes",
    "topdown",
    "bottomup",
    *(f"{what}_{k}" for k in range(MAX_ARRAYS) for what in ("touch", "reuse", "stride")),
)
"""The columns of :func:`context_rows`: the arrays with the most accesses first."""

TRAFFIC_COLUMNS = tuple(f"traffic_{int(np.log2(cache))}" for cache in CACHE_SIZES)
BOUND_COLUMNS = tuple(f"bound_{int(np.log2(cache))}" for cache in CACHE_SIZES)

RELATION_COLUMNS = (
    *(f"reuse_below_{k}" for k in range(len(FOOTPRINT_THRESHOLDS))),
    *(f"outer_below_{k}" for k in range(len(FOOTPRINT_THRESHOLDS))),
)


def signed_log(values: Floats | float) -> Floats:
    """Return a signed logarithm.

    >>> signed_log(np.array([-3.0, 0.0, 7.0])).tolist()
    [-2.0, 0.0, 3.0]
    """
    return np.asarray(np.sign(values) * np.log2(1.0 + np.abs(values)))


@dataclass(frozen=True, slots=True, eq=False)
class NestFootprint:
    """What the loops of a nest touch: for every array elements and bytes, a column a loop."""

    nest: StatementNest
    elements: tuple[Floats, ...]
    bytes: tuple[Floats, ...]

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(nest: StatementNest) -> NestFootprint:
        """Look at a nest; what was seen is remembered."""
        floats = [reference_footprint(nest, reference) for reference in nest.references]
        return NestFootprint(
            nest, tuple(elements for elements, _ in floats), tuple(two for _, two in floats)
        )


def context_rows(footprint: NestFootprint) -> Floats:
    """Return the loop context: a row for every loop, the columns :data:`CONTEXT_COLUMNS`."""
    nest = footprint.nest
    count = len(nest.lengths)
    rows = np.zeros((count, len(CONTEXT_COLUMNS)))
    rows[:, 0] = signed_log(nest.lengths)
    for place, annotation in enumerate(nest.annotations):
        kind, copies, lanes = _annotation_columns(annotation, nest)
        rows[place, 1 + LOOP_KINDS.index(kind)] = 1.0
        rows[place, 7], rows[place, 8] = copies, lanes
    rows[:, 6] = nest.tiled
    rows[:, 9], rows[:, 10] = signed_log(nest.outer_iterations), signed_log(nest.inner_instances)
    order = sorted(range(len(nest.references)), key=lambda k: _reference_order(footprint, k))
    for slot, k in enumerate(order[:MAX_ARRAYS]):
        first = 11 + 3 * slot
        touch = footprint.elements[k][:count]
        rows[:, first] = signed_log(touch)
        rows[:, first + 1] = signed_log(nest.inner_instances / touch)
        rows[:, first + 2] = signed_log(nest.references[k].stride)
    return rows


def _reference_order(footprint: NestFootprint, position: int) -> tuple[float, ...]:
    """Return where an array stands among others, whatever order they come in."""
    reference, elements = footprint.nest.references[position], footprint.elements[position].tolist()
    accesses = float(reference.reads + reference.writes)
    moves = (*reference.stride.tolist(), *footprint.bytes[position].tolist())
    return (-accesses, -elements[0], *elements, *moves)


def _annotation_columns(
    annotation: loop_annotation.LoopAnnotation, nest: StatementNest
) -> tuple[str, float, float]:
    """Return the kind of a loop, its copies and its lanes."""
    match annotation:
        case loop_annotation.SequentialLoop():
            return "sequential", 1.0, 1.0
        case loop_annotation.ParallelLoop():
            return "parallel", 1.0, 1.0
        case (
            loop_annotation.UnrollAndJam(copies)
            | loop_annotation.LaneRows(copies=copies)
            | loop_annotation.DiagonalLoop(copies=copies)
        ):
            # Models have learned from rows and diagonals that are jammed.
            return "jam", float(copies), 1.0
        case loop_annotation.VectorLoop(bits, copies):
            return "vector", float(copies), vector_lanes(bits, nest)
        case loop_annotation.ScalarReplacement():
            return "hold", 1.0, 1.0
        case _:
            assert_never(annotation)


def vector_lanes(bits: int, nest: StatementNest) -> float:
    """Return how many of the widest elements of a nest a vector has."""
    return max(1.0, bits / (8 * max((reference.bytes for reference in nest.references), default=8)))
