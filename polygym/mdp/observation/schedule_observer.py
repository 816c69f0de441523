"""Observation of an episode as arrays of fixed shapes.

:mod:`polygym.mdp.observation.episode_arrays` lists the arrays and all their columns;
:mod:`polygym.mdp.observation.static_observation` has those parts that no action changes. This
module adds the others, each part computed when its inputs change:

==============  =================================================  =====================
part            what it depends on                                 changes
==============  =================================================  =====================
finished rows   the points of the finished dimensions              once a dimension
generators      the generators of the current dimension            once a dimension
dependences     who carries what, what is looked at, the dimension with most decisions
                of the construction, else once a dimension
point           the coefficients so far                            every step
==============  =================================================  =====================

Every array that is handed out is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from polygym.lru_cache import LruCache
from polygym.mdp.episode import Episode, Task
from polygym.mdp.observation import episode_arrays, static_observation
from polygym.mdp.observation.arrays import (
    LARGEST_NUMBER,
    MOST_DEPENDENCES,
    MOST_STATEMENTS,
    Array,
    Observation,
    encode_numbers,
    numbers_of,
)
from polygym.mdp.task_options import Phase
from polygym.poly.integer_vectors import Vector, echelon
from polygym.poly.spaces.polyhedra import DimensionGenerators

_ROW = len(episode_arrays.ROW_COLUMNS)
_DEPENDENCE = {name: index for index, name in enumerate(episode_arrays.DEPENDENCE_COLUMNS)}
_RANK, _IS_MOVED = map(episode_arrays.STATEMENT_COLUMNS.index, ("rank", "moved"))


@dataclass(frozen=True, slots=True, eq=False)
class _GeneratorArrays:
    """The generators of a dimension: ``known``, and those that get coefficients as arrays.

    ``first`` is a vertex that gets none. ``vectors`` are integers; ``buffer`` are the same numbers
    as they are shown, in the order of the places; ``moved`` says which statements each moves.
    """

    known: DimensionGenerators
    first: Array
    vectors: Array
    shown: Array
    moved: Array


@dataclass(frozen=True, slots=True, eq=False)
class _FinishedArrays:
    """The tables of finished dimensions: their rows, and every statement's rank."""

    rows: Array
    ranks: Array


@dataclass(slots=True, eq=False)
class ObservationBuffer:
    """Arrays of an observation that are written again and again, and what stands in them.

    ``of`` is the observer that has written them, ``points`` and ``key`` are those of the rows and
    of the dependences, ``has_generator`` says whether there is a generator.
    """

    arrays: Observation
    observer: Observer | None = None
    points: tuple[Vector, ...] | None = None
    key: tuple[tuple[int, ...], int, int] | None = None
    has_generator: bool = False


@dataclass(eq=False)
class Observer:
    """Turns episodes of one task into observations; what does not change is computed once."""

    task: Task
    # By identity, since comparing generators takes longer than turning them into arrays: the entry
    # keeps them alive, so that no others have their place in memory while it is there.
    _choices: LruCache[int, _GeneratorArrays] = field(default_factory=lambda: LruCache(32))
    _finished_arrays: LruCache[tuple[Vector, ...], _FinishedArrays] = field(
        default_factory=lambda: LruCache(32)
    )
    _tables: LruCache[tuple[tuple[int, ...], int, int], Array] = field(
        default_factory=lambda: LruCache(8)
    )

    def __post_init__(self) -> None:
        """Compute the parts that no action changes."""
        self._order = (*self.task.rules.candidates, *sorted(self.task.polyhedra.never_carried))
        self._dependences = static_observation.dependence_table(self.task, self._order)
        self._statements = static_observation.statement_table(self.task.scop)
        self._width = self.task.polyhedra.layout.width
        tables = episode_arrays.observation_arrays(self.task.options.max_dimensions, 0)
        self._shapes = [(name, table.size, table.dtype) for name, table in tables.items()]
        self._from, self._of, columns = static_observation.number_positions(self.task)
        self._at = self._of * _ROW + columns

    def observe(self, episode: Episode, allowed: Array) -> Observation:
        """Return what an agent sees that may take these of its actions."""
        arrays: Observation = {name: np.empty(size, dtype) for name, size, dtype in self._shapes}
        arrays["action_mask"] = np.empty(len(allowed), np.int8)
        self.update(episode, allowed, ObservationBuffer(arrays))
        return arrays

    def update(
        self, episode: Episode, allowed: Array | Sequence[bool] | bool, buffer: ObservationBuffer
    ) -> None:
        """Write an observation into arrays; what is there already is left alone."""
        arrays = buffer.arrays
        statements = arrays["statements"].reshape(self._statements.shape)
        if buffer.observer is not self:
            buffer.observer, buffer.has_generator = self, True
            buffer.points = buffer.key = None
            statements[:] = self._statements
            for name in ("rows", "generator", "point"):
                arrays[name][:] = 0.0
        points = self._points(episode)
        if points is not buffer.points:
            buffer.points, finished = points, self._finished_of(points)
            arrays["rows"][:] = finished.rows
            statements[:, _RANK] = finished.ranks
        self._update_current(episode, statements, buffer)
        key = self._key(episode)
        if key != buffer.key:
            buffer.key = key
            arrays["dependences"][:] = self._table(episode, key).ravel()
        progress = episode_arrays.EpisodeProgress(episode)
        arrays["progress"][:] = numbers_of(episode_arrays.PROGRESS, progress)
        arrays["remaining"][:] = numbers_of(episode_arrays.REMAINING, progress)
        arrays["action_mask"][:] = allowed

    def _update_current(
        self, episode: Episode, statements: Array, shown: ObservationBuffer
    ) -> None:
        """Write down the generator to decide on, and what was decided of those before."""
        arrays = shown.arrays
        if episode.phase is not Phase.EXPLORE:
            if shown.has_generator:
                shown.has_generator = False
                arrays["generator"][:] = 0.0
                arrays["point"][:] = 0.0
                statements[:, _IS_MOVED] = 0
            return
        shown.has_generator = True
        choices, decided, total = self._decided(episode)
        arrays["generator"][self._at] = choices.shown[decided]
        arrays["point"][self._at] = encode_numbers(total[self._from])
        statements[:, _IS_MOVED] = choices.moved[decided]

    def _points(self, episode: Episode) -> tuple[Vector, ...]:
        """Return the rows of the dimensions that are finished."""
        return episode.exploration.points

    def _decided(self, episode: Episode) -> tuple[_GeneratorArrays, int, Array]:
        """Return the generators of the dimension, how many are decided, and the sum of these."""
        known = episode.dimensions[len(episode.exploration.points)].generators
        choices = self._choices.get(id(known), lambda: self._choices_of(known))
        coefficients = episode.exploration.coefficients
        decided = len(coefficients)
        total = np.array(coefficients, np.int64) @ choices.vectors[:decided] + choices.first
        return choices, decided, total

    def _choices_of(self, known: DimensionGenerators) -> _GeneratorArrays:
        has_choice = len(known.vertices) > 1
        vertices = [point.numerators for point in known.vertices]
        vectors = self._array([*(vertices if has_choice else ()), *known.rays])
        first = self._array([] if has_choice else vertices).sum(axis=0)
        values = vectors[:, self._from]
        moved = np.zeros((len(vectors), MOST_STATEMENTS), np.int8)
        which, place = np.nonzero(values)
        moved[which, self._of[place]] = 1
        return _GeneratorArrays(known, first, vectors, encode_numbers(values), moved)

    def _finished_of(self, points: tuple[Vector, ...]) -> _FinishedArrays:
        return self._finished_arrays.get(points, lambda: self._finish(points))

    def _finish(self, points: tuple[Vector, ...]) -> _FinishedArrays:
        dimensions = self.task.options.max_dimensions
        rows = np.zeros((dimensions, MOST_STATEMENTS * _ROW), np.float32)
        shown = self._array(points[:dimensions])
        rows[: len(shown), self._at] = encode_numbers(shown[:, self._from])
        ranks = np.zeros(MOST_STATEMENTS, np.int8)
        layout = self.task.polyhedra.layout
        for index, statement in enumerate(self.task.scop.statements[:MOST_STATEMENTS]):
            iterators, _, _ = layout.positions(statement.name)
            span = slice(iterators.start, iterators.stop)
            ranks[index] = len(echelon(dict.fromkeys(point[span] for point in points)))
        return _FinishedArrays(rows.ravel(), ranks)

    def _array(self, vectors: Iterable[Vector]) -> Array:
        """Return vectors as an array, cut off beyond what is shown, so that sums fit 64 bits."""
        result = list(vectors)
        try:
            array = np.array(result, np.int64)
        except OverflowError:
            array = np.array(result, object)
        cut = array.clip(-LARGEST_NUMBER, LARGEST_NUMBER).astype(np.int64, copy=False)
        return cut.reshape(len(result), self._width)

    def _key(self, episode: Episode) -> tuple[tuple[int, ...], int, int]:
        """Return on what these columns depend: who carries what, where, what is looked at."""
        state = episode.construction
        if episode.phase is Phase.CONSTRUCT:
            return state.carrying_dimension, state.dimension, state.dependence
        return state.carrying_dimension, len(episode.exploration.points) + 1, 0

    def _table(self, episode: Episode, key: tuple[tuple[int, ...], int, int]) -> Array:
        _, here, looked_at = key
        return self._tables.get(key, lambda: self._dependences_at(episode, here, looked_at))

    def _dependences_at(self, episode: Episode, here: int, looked_at: int) -> Array:
        """Return the dependences in a dimension; none is looked at once they are constructed."""
        table, state = self._dependences.copy(), episode.construction
        count = min(len(state.carrying_dimension), MOST_DEPENDENCES)
        by = np.minimum(np.array(state.carrying_dimension[:count], np.int64), 127)
        table[:count, _DEPENDENCE["carried_by"]] = by
        table[:count, _DEPENDENCE["carried_here"]] = by == here
        if looked_at:
            carryable = self.task.rules.carryable(state)
            table[:count, _DEPENDENCE["can_be_carried"]] = [
                index in carryable for index in self._order[:count]
            ]
            if looked_at <= count:
                table[looked_at - 1, _DEPENDENCE["looked_at"]] = 1
        return table
