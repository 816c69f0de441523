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
asked only where a hull was too hard to find or numbers are large: there a schedule that passes is
legal, and one that fails is tested by :func:`polygym.poly.legality.find_violation`.

Example, T -> T of y = Ax: the differences (0, d), d ≥ 1, have the vertex (0, 1) and the ray (0, 1).
The row i leaves both alive, the row j has δ = 1 at the vertex, and nothing is left.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from polygym.poly.schedule import Schedule, ScheduleRow, parameter_names
from polygym.poly.spaces.farkas import contains_point, differences_of, integer_hull, pairs_of
from polygym.poly.spaces.generators import GeneratorSet
from polygym.transformations.loop_tree import Loop, LoopTree
from polygym.transformations.tree_regions import changed_region, whole_tree

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Rows: TypeAlias = tuple[ScheduleRow, ...]
_Alive: TypeAlias = tuple["DependenceGenerators", Array]
_Question: TypeAlias = list[tuple[int, int]]

_LARGEST = 2**20
"""Numbers of rows and generators up to this one fit products of 64 bits."""

_LARGEST_GENERATOR = 2**36
"""Sums of products of rows with generators up to this one fit 64 bits."""

_MOST_VERDICTS = 200_000
_SHIFT = 24


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

    def along(self, loop: Loop) -> Array:
        """Return the distances of the generators along a loop."""
        return self.between(loop.row(self.dependence.source), loop.row(self.dependence.sink))

    def unordered_by(self, loops: Sequence[Loop]) -> Array:
        """Return which generators no loop orders."""
        alive = np.ones(len(self.at_sink), bool)
        for loop in loops:
            alive &= self.along(loop) == 0
        return alive

    def between(self, source: ScheduleRow, sink: ScheduleRow) -> Array:
        """Return the distances of the generators for a row of each statement."""
        return np.asarray(self.at_sink @ _row_array(sink) - self.at_source @ _row_array(source))


class _RowIndex:
    """Numbers for the rows of one statement, with the rows as arrays and their largest entry."""

    def __init__(self) -> None:
        self._numbers: dict[Rows, int] = {}
        self.arrays: list[Array] = []
        self.largest: list[int] = []

    def number(self, rows: Rows) -> int:
        """Return the number of rows; new ones get the next one."""
        number = self._numbers.get(rows)
        if number is None:
            number = self._numbers[rows] = len(self.arrays)
            values = [(*row.iterators, *row.parameters, row.constant) for row in rows]
            self.largest.append(max((abs(v) for row in values for v in row), default=0))
            small = self.largest[-1] < _LARGEST
            self.arrays.append(np.array(values if small else (), np.int64))
        return number


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
        self._within: LruCache[frozenset[str], list[tuple[int, str, str]]] = LruCache(256)
        self._forget()

    def _forget(self) -> None:
        self._rows = {statement.name: _RowIndex() for statement in self.scop.statements}
        self._known: list[dict[int, bool]] = [{} for _ in self.tables]
        self._count = 0

    def are_legal(self, trees: Sequence[LoopTree], reference: LoopTree | None = None) -> list[bool]:
        """Return which trees respect every dependence; that of ``reference`` is known to do.

        Only dependences between statements of the region in which a tree differs are asked about.
        """
        if self._count > _MOST_VERDICTS:
            self._forget()
        questions = [self._question(tree, reference) for tree in trees]
        self._answer(questions)
        return [
            self._verdict(tree, question) for tree, question in zip(trees, questions, strict=True)
        ]

    def _question(self, tree: LoopTree, reference: LoopTree | None) -> _Question | None:
        """Return pairs of rows that must be in order; None where numbers are large."""
        region = whole_tree(tree) if reference is None else changed_region(tree, reference)
        rows = tree.rows_of(region.around, region.nodes)
        numbers = {name: self._rows[name].number(own) for name, own in rows.items()}
        if any(self._rows[name].largest[number] >= _LARGEST for name, number in numbers.items()):
            return None
        return [
            (table, (numbers[source] << _SHIFT) | numbers[sink])
            for table, source, sink in self._tables_within(frozenset(rows))
        ]

    def _tables_within(self, statements: frozenset[str]) -> list[tuple[int, str, str]]:
        """Return the dependences between some statements by number, with their ends."""

        def find() -> list[tuple[int, str, str]]:
            ends = ((table.dependence.source, table.dependence.sink) for table in self.tables)
            return [
                (number, source, sink)
                for number, (source, sink) in enumerate(ends)
                if source in statements and sink in statements
            ]

        return self._within.get(statements, find)

    def _answer(self, questions: Sequence[_Question | None]) -> None:
        """Test the pairs of rows that are new, those of one dependence together."""
        new: dict[int, set[int]] = {}
        for question in questions:
            for number, pair in question or ():
                if pair not in self._known[number]:
                    new.setdefault(number, set()).add(pair)
        for number, pairs in new.items():
            table, some = self.tables[number], list(pairs)
            verdicts = _are_ordered(table, self._distances(table, some))
            self._known[number].update(zip(some, verdicts.tolist(), strict=True))
            self._count += len(some)

    def _verdict(self, tree: LoopTree, question: _Question | None) -> bool:
        is_doubtful = question is None
        for number, pair in question or ():
            if not self._known[number][pair]:
                if self.tables[number].is_exact:
                    return False
                is_doubtful = True
        return not is_doubtful or self._ask_isl(tree.schedule)

    def _distances(self, table: DependenceGenerators, pairs: Sequence[int]) -> Array:
        """Return the distances under pairs of rows: (generator, pair, row)."""
        before = self._rows[table.dependence.source].arrays
        behind = self._rows[table.dependence.sink].arrays
        sources = [before[pair >> _SHIFT] for pair in pairs]
        sinks = [behind[pair & ((1 << _SHIFT) - 1)] for pair in pairs]
        length = max(1, *map(len, sources), *map(len, sinks))
        from_ = np.tensordot(table.at_source, _stacked(sources, length), axes=(1, 2))
        to = np.tensordot(table.at_sink, _stacked(sinks, length), axes=(1, 2))
        return np.asarray(to - from_)

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
        alive = [entry for entry in alive if is_between(entry[0].dependence, loop)]
        if position and any((table.along(loop)[living] < 0).any() for table, living in at_top):
            position = 0
        if not position:
            at_top = alive
        positions[loop.name] = position
        inside = []
        for table, living in alive:
            left = living & (table.along(loop) == 0)
            if left[: table.vertices].any():
                inside.append((table, left))
        is_chain = len(loop.body) == 1
        for node in loop.body:
            if isinstance(node, Loop):
                self._visit(node, inside, at_top, (position + 1) * is_chain, positions)

    def least_shift(self, tree: LoopTree, first: Loop, second: Loop) -> int | None:
        """Return by how much a neighbouring loop must be later at least to be fused with another.

        That is the largest -δ of the pairs from one to the other that no loop around them orders;
        None where no number is enough. Example: a loop that reads ``A[i + 3]`` behind one that
        writes ``A[i]`` has 3.
        """
        least: int | None = None
        around = tree.paths[first.name]
        for table in self.tables:
            source, sink = table.dependence.source, table.dependence.sink
            if source not in first.statements or sink not in second.statements:
                continue
            alive = table.unordered_by(around)
            if not alive[: table.vertices].any():
                continue
            distances = table.between(first.row(source), second.row(sink))
            if (distances[table.vertices :][alive[table.vertices :]] < 0).any():
                return None
            needed = -int(distances[: table.vertices][alive[: table.vertices]].min())
            least = needed if least is None else max(least, needed)
        return 0 if least is None else least


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def legality_tables(scop: Scop) -> LegalityTables:
    """Return the tables of a program."""
    return LegalityTables(scop)


def _are_ordered(table: DependenceGenerators, distances: Array) -> Array:
    """Return for which pairs of rows every pair of instances is in order."""
    count, pairs, rows = distances.shape
    alive = np.ones((count, pairs), bool)
    undecided = np.ones(pairs, bool)
    legal = np.zeros(pairs, bool)
    for row in range(rows):
        here = distances[:, :, row]
        undecided &= ~(alive & (here < 0)).any(axis=0)
        alive &= here == 0
        done = undecided & ~alive[: table.vertices].any(axis=0)
        legal |= done
        undecided &= ~done
        if not undecided.any():
            break
    return legal


def _stacked(arrays: Sequence[Array], length: int) -> Array:
    """Return tables of rows as one array, the shorter ones with rows of 0 behind."""
    width = max(array.shape[1] for array in arrays if array.ndim == 2) if arrays else 0
    result = np.zeros((len(arrays), length, width), np.int64)
    for place, array in enumerate(arrays):
        if array.ndim == 2:
            result[place, : len(array)] = array
    return result


@lru_cache(maxsize=8192)
def _row_array(row: ScheduleRow) -> Array:
    return np.array([*row.iterators, *row.parameters, row.constant], np.int64)


def is_between(dependence: Dependence, loop: Loop) -> bool:
    """Whether a dependence is between statements of a loop."""
    return dependence.source in loop.statements and dependence.sink in loop.statements


def _generators_of(
    dependence: Dependence, scop: Scop, names: tuple[str, ...]
) -> DependenceGenerators | None:
    """Return the generators of a dependence; None where it has no pairs.

    Where they are too many or too large there is the vertex 0, which proves nothing: isl is asked.
    """
    is_within = dependence.source == dependence.sink
    depth = scop.statement(dependence.source).depth
    width = depth if is_within else depth + scop.statement(dependence.sink).depth + len(names)
    points = differences_of(dependence) if is_within else pairs_of(dependence, names)
    table, vertices, is_exact = np.zeros((1, width + 1), np.int64), 1, False
    try:
        hull = integer_hull(points)
        if not hull.vertices:
            return None
        if (rows := _generator_rows(hull)) is not None:
            table, vertices = rows, len(hull.vertices)
            with bounded_operations("the generators of a dependence"):
                is_exact = all(
                    vertex.is_integer and contains_point(points, vertex.numerators)
                    for vertex in hull.vertices
                )
    except LimitError:
        pass
    is_exact = is_exact and bool(np.abs(table).max(initial=0) < _LARGEST)
    if is_within:
        padding = np.zeros((len(table), len(names) + 1), np.int64)
        sink = np.concatenate([table[:, :-1], padding], axis=1)
        return DependenceGenerators(dependence, np.zeros_like(sink), sink, vertices, is_exact)
    split = table.shape[1] - 1 - len(names)
    common = table[:, split:]
    source = np.concatenate([table[:, :depth], common], axis=1)
    sink = np.concatenate([table[:, depth:split], common], axis=1)
    return DependenceGenerators(dependence, source, sink, vertices, is_exact)


def _generator_rows(hull: GeneratorSet) -> Array | None:
    """Return the generators as rows with the denominator behind; a line is two rays.

    None where their numbers are too large.
    """
    rows = [(*vertex.numerators, vertex.denominator) for vertex in hull.vertices]
    rows += [(*ray, 0) for ray in hull.rays]
    rows += [(*line, 0) for line in hull.lines]
    rows += [(*(-value for value in line), 0) for line in hull.lines]
    if max(abs(value) for row in rows for value in row) >= _LARGEST_GENERATOR:
        return None
    return np.array(rows, np.int64)
