"""Legality of many schedules at once, exactly, from the generators of the dependences.

The integer points of a dependence D have a convex hull with vertices, rays and lines
(:mod:`polygym.poly.spaces.farkas`). An affine distance δ is at least 0 on D iff it is at least 0 at
every vertex and along every ray, and 0 along every line. The points with δ = 0 are then those of a
face of the hull, and its generators are those with δ = 0. So rows are tested one after the other::

    alive ← all generators
    for each row:   some δ(g) < 0 on alive   illegal: the row reverses a pair
                    alive ← the generators with δ(g) = 0
                    no vertex is alive       legal: every pair is ordered
    after the last row: illegal, two instances have one time vector

Each test is a product of two small integer matrices, and all candidates of a step share it. isl is
asked only where a hull was too hard to find: there a schedule that passes is legal, and one that
fails is tested by :func:`polygym.poly.legality.find_violation`.

Example, T -> T of y = Ax: the differences (0, d), d ≥ 1, have the vertex (0, 1) and the ray (0, 1).
The row i leaves both alive, the row j has δ = 1 at the vertex, and nothing is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import find_violation
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, parameter_names
from polygym.poly.spaces.farkas import contains_point, differences_of, integer_hull, pairs_of
from polygym.poly.spaces.generators import GeneratorSet
from polygym.transformations.loop_tree import Loop, LoopTree

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Rows: TypeAlias = tuple[ScheduleRow, ...]
_Alive: TypeAlias = tuple["DependenceGenerators", Array]
_Key: TypeAlias = tuple[int, Rows, Rows]

_LARGEST = 2**20
"""Numbers of rows and generators up to this one fit products of 64 bits."""

_MOST_VERDICTS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class DependenceGenerators:
    """The generators of one dependence: a row each, the vertices first.

    Columns are the iterators, the parameters and the constant. ``source`` and ``sink`` are the
    statements; within one statement ``at_sink`` has differences and ``at_source`` nothing but 0.
    ``is_exact``: these are the generators of the integer hull, not of a larger polyhedron.
    """

    dependence: Dependence
    at_source: Array
    at_sink: Array
    vertices: int
    is_exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """The distances of one dependence under several pairs of rows: (generator, pair, row)."""

    table: DependenceGenerators
    distances: Array

    def verdicts(self) -> tuple[Array, Array]:
        """Return which pairs are legal, and which row breaks the others (-1: none orders all)."""
        count, pairs, rows = self.distances.shape
        alive = np.ones((count, pairs), bool)
        undecided = np.ones(pairs, bool)
        legal = np.zeros(pairs, bool)
        broken_by = np.full(pairs, -1)
        for row in range(rows):
            here = self.distances[:, :, row]
            bad = (alive & (here < 0)).any(axis=0) & undecided
            broken_by[bad] = row
            undecided &= ~bad
            alive &= here == 0
            done = undecided & ~alive[: self.table.vertices].any(axis=0)
            legal |= done
            undecided &= ~done
            if not undecided.any():
                break
        return legal, broken_by


class LegalityTables:
    """The generators of a program's dependences, and what is known of schedules."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.names = parameter_names(scop)
        self.tables = tuple(
            table
            for dependence in dependences(scop)
            if (table := _generators_of(dependence, scop, self.names)) is not None
        )
        self._arrays: LruCache[Rows, Array] = LruCache(8192)
        self._known: dict[_Key, bool] = {}

    def are_legal(self, schedules: Sequence[Schedule]) -> list[bool]:
        """Return which schedules respect every dependence."""
        if not schedules:
            return []
        rows = [{part.statement: part.rows for part in each.statements} for each in schedules]
        left = [
            place for place, each in enumerate(schedules) if all(map(_is_small, each.statements))
        ]
        doubtful: set[int] = set()
        for number, table in enumerate(self.tables):
            source, sink = table.dependence.source, table.dependence.sink
            keys = {place: (number, rows[place][source], rows[place][sink]) for place in left}
            verdicts = self._verdicts(table, keys.values())
            failed = {place for place in left if not verdicts[keys[place]]}
            if table.is_exact:
                left = [place for place in left if place not in failed]
            else:
                doubtful |= failed
        legal = {
            place for place in left if place not in doubtful or self._ask_isl(schedules[place])
        }
        return [place in legal for place in range(len(schedules))]

    def _verdicts(self, table: DependenceGenerators, keys: Iterable[_Key]) -> dict[_Key, bool]:
        """Return for pairs of rows whether the generators prove them to be legal."""
        known: dict[_Key, bool] = {}
        new: list[_Key] = []
        for key in dict.fromkeys(keys):
            verdict = self._known.get(key)
            if verdict is None:
                new.append(key)
            else:
                known[key] = verdict
        lengths = {len(sources) for _, sources, _ in new}
        for length in lengths:
            group = [key for key in new if len(key[1]) == length]
            legal, _ = _Batch(table, self._distances(table, group)).verdicts()
            for key, verdict in zip(group, legal.tolist(), strict=True):
                known[key] = verdict
        if len(self._known) > _MOST_VERDICTS:
            self._known.clear()
        self._known.update(known)
        return known

    def _distances(self, table: DependenceGenerators, keys: Sequence[_Key]) -> Array:
        sources = np.stack([self._array(source) for _, source, _ in keys])
        sinks = np.stack([self._array(sink) for _, _, sink in keys])
        before = np.tensordot(table.at_source, sources, axes=(1, 2))
        after = np.tensordot(table.at_sink, sinks, axes=(1, 2))
        return np.asarray(after - before)

    def _array(self, rows: Rows) -> Array:
        return self._arrays.get(
            rows,
            lambda: np.array(
                [(*row.iterators, *row.parameters, row.constant) for row in rows], np.int64
            ),
        )

    def _ask_isl(self, schedule: Schedule) -> bool:
        try:
            return find_violation(self.scop, schedule) is None
        except LimitError:
            return False

    def band_positions(self, tree: LoopTree) -> dict[str, int]:
        """Return the position of each loop in its permutable band, 0 the outermost.

        A loop belongs to the band of the loops around it, as in a schedule's tree
        (:mod:`polygym.codegen.tree.build`), if no pair that is unordered at the top of the band is
        reversed by it. Example, a stencil over time: t has 0, i has 0 too; after ``skew i t 1`` the
        two are one band, and i has 1.
        """
        positions: dict[str, int] = {}
        alive = [(table, np.ones(len(table.at_sink), bool)) for table in self.tables]
        for node in tree.nests:
            self._visit(node, alive, [], 0, positions)
        return positions

    def _visit(
        self,
        loop: Loop,
        alive: list[_Alive],
        at_top: list[_Alive],
        position: int,
        positions: dict[str, int],
    ) -> None:
        """Note the position of a loop and of those in it; ``at_top`` was alive above its band."""
        alive = [entry for entry in alive if _is_between(entry[0], loop)]
        if position and any(
            (self._along(table, loop)[living] < 0).any() for table, living in at_top
        ):
            position = 0
        if not position:
            at_top = alive
        positions[loop.name] = position
        inside = []
        for table, living in alive:
            left = living & (self._along(table, loop) == 0)
            if left[: table.vertices].any():
                inside.append((table, left))
        is_chain = len(loop.body) == 1
        for node in loop.body:
            if isinstance(node, Loop):
                self._visit(node, inside, at_top, (position + 1) * is_chain, positions)

    def _along(self, table: DependenceGenerators, loop: Loop) -> Array:
        """Return the distances of one dependence along a loop."""
        source, sink = table.dependence.source, table.dependence.sink
        before = table.at_source @ self._array((loop.row(source),))[0]
        after = table.at_sink @ self._array((loop.row(sink),))[0]
        return np.asarray(after - before)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def legality_tables(scop: Scop) -> LegalityTables:
    """Return the tables of a program."""
    return LegalityTables(scop)


def _is_between(table: DependenceGenerators, loop: Loop) -> bool:
    """Whether a dependence is between statements of a loop."""
    statements = loop.statements
    return table.dependence.source in statements and table.dependence.sink in statements


def _is_small(part: StatementSchedule) -> bool:
    return all(
        -_LARGEST < value < _LARGEST
        for row in part.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )


def _generators_of(
    dependence: Dependence, scop: Scop, names: tuple[str, ...]
) -> DependenceGenerators | None:
    """Return the generators of a dependence; None where it has no pairs.

    Raises:
        LimitError: it has too many.
    """
    is_within = dependence.source == dependence.sink
    points = differences_of(dependence) if is_within else pairs_of(dependence, names)
    hull = integer_hull(points)
    if not hull.vertices:
        return None
    with bounded_operations("the generators of a dependence"):
        is_exact = all(
            vertex.is_integer and contains_point(points, vertex.numerators)
            for vertex in hull.vertices
        )
    table = _generator_rows(hull)
    is_exact = is_exact and bool(np.abs(table).max(initial=0) < _LARGEST)
    if is_within:
        padding = np.zeros((len(table), len(names) + 1), np.int64)
        sink = np.concatenate([table[:, :-1], padding], axis=1)
        return DependenceGenerators(
            dependence, np.zeros_like(sink), sink, len(hull.vertices), is_exact
        )
    depth = scop.statement(dependence.source).depth
    split = table.shape[1] - 1 - len(names)
    common = table[:, split:]
    source = np.concatenate([table[:, :depth], common], axis=1)
    sink = np.concatenate([table[:, depth:split], common], axis=1)
    return DependenceGenerators(dependence, source, sink, len(hull.vertices), is_exact)


def _generator_rows(hull: GeneratorSet) -> Array:
    """Return the generators as rows with the denominator behind; a line is two rays."""
    rows = [(*vertex.numerators, vertex.denominator) for vertex in hull.vertices]
    rows += [(*ray, 0) for ray in hull.rays]
    rows += [(*line, 0) for line in hull.lines]
    rows += [(*(-value for value in line), 0) for line in hull.lines]
    return np.array(rows, np.int64)
