"""Features: numbers that say about a candidate what decides its time, the same for every program.

A candidate is a schedule under a mapping at given sizes. Its loops are those of the planned tree
(:mod:`polygym.compiler.codegen.trees.plan`); isl makes no code and LLVM is not asked. Three kinds:

* *loop context* (:func:`context`): a row for every loop around the heaviest statement, outermost
  first, as in the table of AutoTVM's appendix A.2;
* *relations* (:func:`polygym.cost.touches.relations`): of all loops and arrays as a bag of points,
  how one column of the context depends on another, which does not care how many loops or arrays
  there are;
* *what the compiler knows* (:mod:`polygym.cost.nest_columns`): lanes, copies, held sums, packs,
  threads' share, and the traffic between caches that the loops' working sets make.

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

from polygym.compiler.codegen.common.loop_annotation import (
    Diagonal,
    Hold,
    Jam,
    LoopAnnotation,
    Parallel,
    Rows,
    Sequential,
    Vector,
)
from polygym.cost.lines import touched
from polygym.cost.nests import Floats, Nest

THRESHOLDS = tuple(2.0**power for power in range(7, 37, 2))
"""What touch counts are compared with, in bytes; no array touches less than a line of 2⁶."""

# Bytes of caches that there are somewhere; the model learns which matter here.
CACHES = (2.0**12, 2.0**15, 2.0**17, 2.0**19, 2.0**21, 2.0**24)
# Cycles between a term of a sum and the next one: what an addition takes.
WAIT = 4.0
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
"""The columns of :func:`context`: the arrays with the most accesses first, whatever their names."""

TRAFFIC = tuple(f"traffic_{int(np.log2(cache))}" for cache in CACHES)
BOUND = tuple(f"bound_{int(np.log2(cache))}" for cache in CACHES)

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
    "turned",
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
    "packed_per_operation",
    "copied_per_operation",
    "chain",
    "unit_strides",
    "footprint",
    *TRAFFIC,
    *BOUND,
    "cycles",
    "loop_overhead",
)

# Those of KNOWLEDGE that are no numbers of any size.
AS_THEY_ARE = np.array(
    [
        name
        in (
            "depth", "held", "turned", "threads", "imbalance", "waves", "memory_per_operation",
            "gathers_per_operation", "broadcasts_per_operation", "stores_per_operation",
            "packed_per_operation", "copied_per_operation", "chain", "unit_strides",
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
    @lru_cache(maxsize=4096)
    def of(nest: Nest) -> Touched:
        """Look at a nest; what was seen is remembered."""
        found = [touched(nest, one) for one in nest.references]
        return Touched(nest, tuple(one for one, _ in found), tuple(two for _, two in found))


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
    order = sorted(range(len(nest.references)), key=lambda k: _rank(seen, k))
    for slot, k in enumerate(order[:MOST_ARRAYS]):
        first = 11 + 3 * slot
        touch = seen.elements[k][:count]
        rows[:, first] = slog(touch)
        rows[:, first + 1] = slog(nest.inner / touch)
        rows[:, first + 2] = slog(nest.references[k].stride)
    return rows


def _rank(seen: Touched, place: int) -> tuple[float, ...]:
    """Return where an array stands among others, whatever order they come in."""
    one, elements = seen.nest.references[place], seen.elements[place].tolist()
    accesses = float(one.reads + one.writes)
    moves = (*one.stride.tolist(), *seen.bytes[place].tolist())
    return (-accesses, -elements[0], *elements, *moves)


def _annotated(annotation: LoopAnnotation, nest: Nest) -> tuple[str, float, float]:
    """Return the kind of a loop, its copies and its lanes."""
    match annotation:
        case Sequential():
            return "sequential", 1.0, 1.0
        case Parallel():
            return "parallel", 1.0, 1.0
        case Jam(copies) | Rows(copies=copies) | Diagonal(copies=copies):
            # Models have learned from rows and diagonals that are jammed.
            return "jam", float(copies), 1.0
        case Vector(bits, copies):
            return "vector", float(copies), lanes_of(bits, nest)
        case Hold():
            return "hold", 1.0, 1.0
        case _:
            assert_never(annotation)


def lanes_of(bits: int, nest: Nest) -> float:
    """Return how many of the widest elements of a nest a vector has."""
    return max(1.0, bits / (8 * max((one.bytes for one in nest.references), default=8)))
