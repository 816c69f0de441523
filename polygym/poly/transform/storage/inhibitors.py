"""Inhibitors of a program's loops in the order of the source, by flow or by memory.

A loop of the source is *parallel* if no dependence goes from one of its iterations to another, and
two loops directly inside each other may be *permuted* if none goes forwards in the outer and
backwards in the inner one. Whatever does is an obstacle. A flow of values is there to stay; what is
there because memory is used again, and no value flows, is there because of where values are kept::

    for i:                       i   t, by memory; C, by flow       (i, j)  t, by memory
      for j:                     j   t, by memory
        t = 0;
        for k:                   k   t, by flow
          C[k][j] += A[i][k];
          t += B[k][j];
        C[i][j] += t;

Without the obstacles of ``t`` by memory, j is parallel, and i and j may be permuted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygym.ir.scop import Scop
from polygym.poly.dependences import DependenceKind, maps_of, relations_by_array
from polygym.poly.scheduling.baselines import original_schedule

InhibitingArrays: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""The arrays that stand in the way by flow, and those that do by memory."""

LoopKey: TypeAlias = tuple[object, ...]
"""A loop of the source: its place in the text. Statements that share it have it in common."""


@dataclass(frozen=True)
class SourceLoop:
    """A loop, the places of it and of those around it for each statement, and which way it goes."""

    key: LoopKey
    name: str
    positions: dict[str, int]
    is_ascending: bool

    @property
    def depth(self) -> int:
        """How many loops are around it."""
        return next(iter(self.positions.values()))


@dataclass(frozen=True)
class LoopInhibitors:
    """The arrays in the way of each loop, and of each two that are nested."""

    loops: dict[LoopKey, InhibitingArrays]
    pairs: dict[tuple[LoopKey, LoopKey], InhibitingArrays]

    def freed_loops(self, other: LoopInhibitors) -> frozenset[LoopKey]:
        """Return the loops that are better off in another program: parallel, or to be permuted.

        Of two loops that may be permuted both are.
        """
        loop_keys = {
            key for key, ways in self.loops.items() if any(ways) and other.is_uninhibited(key)
        }
        for pair, ways in self.pairs.items():
            if any(ways) and not any(other.pairs[pair]):
                loop_keys.update(pair)
        return frozenset(loop_keys)

    def is_uninhibited(self, key: LoopKey) -> bool:
        """Whether nothing stands in the way of a loop."""
        return not any(self.loops[key])


def source_loops(scop: Scop) -> tuple[SourceLoop, ...]:
    """Return the loops of a program, outer ones before inner ones."""
    loops: dict[LoopKey, SourceLoop] = {}
    for statement in scop.statements:
        key: list[object] = []
        for row in original_schedule(scop).rows(statement.name):
            if row.is_constant:
                key.append(row.constant)
                continue
            place = next((p for p, factor in enumerate(row.iterators) if factor), None)
            if place is None:
                continue
            key.append("loop")
            loop = loops.setdefault(
                tuple(key),
                SourceLoop(tuple(key), statement.iterators[place], {}, row.iterators[place] > 0),
            )
            loop.positions[statement.name] = place
    return tuple(sorted(loops.values(), key=lambda loop: len(loop.key)))


def loop_inhibitors(scop: Scop, loops: tuple[SourceLoop, ...]) -> LoopInhibitors:
    """Return what stands in the way of loops, and of each two that are nested.

    The loops are the program's own, or those of the one that it was made of.
    """
    relations = [
        (kind, array, pairs)
        for (kind, array), relation in relations_by_array(scop).items()
        for pairs in maps_of(relation)
    ]
    result: dict[LoopKey, tuple[set[str], set[str]]] = {loop.key: (set(), set()) for loop in loops}
    both: dict[tuple[LoopKey, LoopKey], tuple[set[str], set[str]]] = {
        (outer.key, inner.key): (set(), set()) for outer, inner in _nested(loops)
    }
    for kind, array, pairs in relations:
        is_memory = DependenceKind.FLOW not in kind
        for loop in loops:
            ordered = _between_iterations(pairs, loop)
            if ordered is None or ordered.is_empty():
                continue
            result[loop.key][is_memory].add(array)
            for outer, inner in _nested(loops):
                if outer.key == loop.key and _has_backward_pair(ordered, inner):
                    both[outer.key, inner.key][is_memory].add(array)
    return LoopInhibitors(
        {key: (frozenset(flow), frozenset(memory)) for key, (flow, memory) in result.items()},
        {pair: (frozenset(flow), frozenset(memory)) for pair, (flow, memory) in both.items()},
    )


def _nested(loops: tuple[SourceLoop, ...]) -> Iterator[tuple[SourceLoop, SourceLoop]]:
    """Yield every two loops of which one is directly inside the other."""
    for outer in loops:
        for inner in loops:
            if inner.depth == outer.depth + 1 and inner.key[: len(outer.key)] == outer.key:
                yield outer, inner


def _between_iterations(pairs: isl.Map, loop: SourceLoop) -> isl.Map | None:
    """Return the pairs that go from one iteration of a loop to another.

    The loops around it have the same iteration for both. None where it is not around both.
    """
    source = pairs.get_tuple_name(isl.dim_type.in_)
    sink = pairs.get_tuple_name(isl.dim_type.out)
    if source not in loop.positions or sink not in loop.positions:
        return None
    for place in range(loop.depth):
        pairs = pairs.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
    same = pairs.equate(isl.dim_type.in_, loop.depth, isl.dim_type.out, loop.depth)
    return pairs.subtract(same)


def _has_backward_pair(pairs: isl.Map, loop: SourceLoop) -> bool:
    """Whether some pair goes backwards in a loop."""
    source = pairs.get_tuple_name(isl.dim_type.in_)
    sink = pairs.get_tuple_name(isl.dim_type.out)
    if source not in loop.positions or sink not in loop.positions:
        return False
    before = (isl.dim_type.in_, loop.positions[source])
    after = (isl.dim_type.out, loop.positions[sink])
    first, second = (after, before) if loop.is_ascending else (before, after)
    return not pairs.order_lt(*first, *second).is_empty()
