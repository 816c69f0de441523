"""An episode as arrays of fixed shapes: what an agent sees.

:mod:`polygym.episodes.tables` lists the arrays and all their columns; the environments' docstring
explains them. :mod:`polygym.episodes.portrait` is what they show of a program whatever is done.
This module adds what changes with the actions, each part computed when what it depends on changes:

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

from polygym.compiler.poly.integers import Vector, echelon
from polygym.compiler.poly.spaces.polyhedra import Generators
from polygym.episodes.episode import Episode, Task
from polygym.episodes.portrait import dependence_table, places, statement_table
from polygym.episodes.tables import (
    DEPENDENCE_COLUMNS,
    DEPENDENCES,
    LARGEST,
    MOST_REMAINING,
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
    STATEMENTS,
    Array,
    Observation,
    encoded,
    tables,
)
from polygym.episodes.task_options import Phase
from polygym.lru import Memory

_ROW = len(ROW_COLUMNS)
_DEPENDENCE = {name: index for index, name in enumerate(DEPENDENCE_COLUMNS)}
_RANK, _MOVED = STATEMENT_COLUMNS.index("rank"), STATEMENT_COLUMNS.index("moved")


@dataclass(frozen=True, slots=True, eq=False)
class _Choices:
    """The generators of a dimension: ``known``, and those that get coefficients as arrays.

    ``first`` is a vertex that gets none. ``vectors`` are integers; ``shown`` are the same numbers
    as they are shown, in the order of the places; ``moved`` says which statements each moves.
    """

    known: Generators
    first: Array
    vectors: Array
    shown: Array
    moved: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Finished:
    """The tables of finished dimensions: their rows, and every statement's rank."""

    rows: Array
    ranks: Array


@dataclass(slots=True, eq=False)
class Shown:
    """Arrays of an observation that are written again and again, and what stands in them.

    ``of`` is the observer that has written them, ``points`` and ``key`` are those of the rows and
    of the dependences, ``has_generator`` says whether there is a generator.
    """

    arrays: Observation
    of: Observer | None = None
    points: tuple[Vector, ...] | None = None
    key: tuple[tuple[int, ...], int, int] | None = None
    has_generator: bool = False


@dataclass(eq=False)
class Observer:
    """Turns episodes of one task into observations; what does not change is computed once."""

    task: Task
    # By identity, since comparing generators takes longer than turning them into arrays: the entry
    # keeps them alive, so that no others have their place in memory while it is there.
    _choices: Memory[int, _Choices] = field(default_factory=lambda: Memory(32))
    _finished: Memory[tuple[Vector, ...], _Finished] = field(default_factory=lambda: Memory(32))
    _tables: Memory[tuple[tuple[int, ...], int, int], Array] = field(
        default_factory=lambda: Memory(8)
    )

    def __post_init__(self) -> None:
        """Compute the parts that no action changes."""
        self._order = (
            *self.task.rules.candidates,
            *sorted(self.task.polyhedra.never_carried),
        )
        self._dependences = dependence_table(self.task, self._order)
        self._statements = statement_table(self.task.scop)
        self._width = self.task.polyhedra.layout.width
        self._shapes = [
            (name, table.size, table.dtype)
            for name, table in tables(self.task.options.max_dimensions, 0).items()
        ]
        self._from, self._of, columns = places(self.task)
        self._at = self._of * _ROW + columns

    def observe(self, episode: Episode, allowed: Array) -> Observation:
        """Return what an agent sees that may take these of its actions."""
        arrays: Observation = {name: np.empty(size, dtype) for name, size, dtype in self._shapes}
        arrays["action_mask"] = np.empty(len(allowed), np.int8)
        self.update(episode, allowed, Shown(arrays))
        return arrays

    def update(
        self, episode: Episode, allowed: Array | Sequence[bool] | bool, shown: Shown
    ) -> None:
        """Write an observation into arrays; what is there already is left alone."""
        arrays = shown.arrays
        statements = arrays["statements"].reshape(self._statements.shape)
        if shown.of is not self:
            shown.of, shown.points, shown.key, shown.has_generator = self, None, None, True
            statements[:] = self._statements
            for name in ("rows", "generator", "point"):
                arrays[name][:] = 0.0
        points = self._points(episode)
        if points is not shown.points:
            shown.points, finished = points, self._finished_of(points)
            arrays["rows"][:] = finished.rows
            statements[:, _RANK] = finished.ranks
        self._update_current(episode, statements, shown)
        key = self._key(episode)
        if key != shown.key:
            shown.key = key
            arrays["dependences"][:] = self._table(episode, key).ravel()
        arrays["progress"][:], arrays["remaining"][:] = self._numbers(episode)
        arrays["action_mask"][:] = allowed

    def _update_current(self, episode: Episode, statements: Array, shown: Shown) -> None:
        """Write down the generator to decide on, and what was decided of those before."""
        arrays = shown.arrays
        if episode.phase is not Phase.EXPLORE:
            if shown.has_generator:
                shown.has_generator = False
                arrays["generator"][:] = 0.0
                arrays["point"][:] = 0.0
                statements[:, _MOVED] = 0
            return
        shown.has_generator = True
        choices, decided, total = self._decided(episode)
        arrays["generator"][self._at] = choices.shown[decided]
        arrays["point"][self._at] = encoded(total[self._from])
        statements[:, _MOVED] = choices.moved[decided]

    def _points(self, episode: Episode) -> tuple[Vector, ...]:
        """Return the rows of the dimensions that are finished."""
        return episode.exploration.points

    def _decided(self, episode: Episode) -> tuple[_Choices, int, Array]:
        """Return the generators of the dimension, how many are decided, and the sum of these."""
        known = episode.dimensions[len(episode.exploration.points)].generators
        choices = self._choices.get(id(known), lambda: self._choices_of(known))
        coefficients = episode.exploration.coefficients
        decided = len(coefficients)
        total = np.array(coefficients, np.int64) @ choices.vectors[:decided] + choices.first
        return choices, decided, total

    def _choices_of(self, known: Generators) -> _Choices:
        has_choice = len(known.vertices) > 1
        vertices = [one.numerators for one in known.vertices]
        vectors = self._array([*(vertices if has_choice else ()), *known.rays])
        first = self._array([] if has_choice else vertices).sum(axis=0)
        values = vectors[:, self._from]
        moved = np.zeros((len(vectors), STATEMENTS), np.int8)
        which, place = np.nonzero(values)
        moved[which, self._of[place]] = 1
        return _Choices(known, first, vectors, encoded(values), moved)

    def _finished_of(self, points: tuple[Vector, ...]) -> _Finished:
        return self._finished.get(points, lambda: self._finish(points))

    def _finish(self, points: tuple[Vector, ...]) -> _Finished:
        dimensions = self.task.options.max_dimensions
        rows = np.zeros((dimensions, STATEMENTS * _ROW), np.float32)
        shown = self._array(points[:dimensions])
        rows[: len(shown), self._at] = encoded(shown[:, self._from])
        ranks = np.zeros(STATEMENTS, np.int8)
        layout = self.task.polyhedra.layout
        for index, statement in enumerate(self.task.scop.statements[:STATEMENTS]):
            iterators, _, _ = layout.places(statement.name)
            span = slice(iterators.start, iterators.stop)
            ranks[index] = len(echelon(dict.fromkeys(point[span] for point in points)))
        return _Finished(rows.ravel(), ranks)

    def _array(self, vectors: Iterable[Vector]) -> Array:
        """Return vectors as an array, cut off beyond what is shown, so that sums fit 64 bits."""
        found = list(vectors)
        try:
            array = np.array(found, np.int64)
        except OverflowError:
            array = np.array(found, object)
        cut = array.clip(-LARGEST, LARGEST).astype(np.int64, copy=False)
        return cut.reshape(len(found), self._width)

    def _key(self, episode: Episode) -> tuple[tuple[int, ...], int, int]:
        """Return on what these columns depend: who carries what, where, what is looked at."""
        state = episode.construction
        if episode.phase is Phase.CONSTRUCT:
            return state.carried_by, state.dimension, state.dependence
        return state.carried_by, len(episode.exploration.points) + 1, 0

    def _table(self, episode: Episode, key: tuple[tuple[int, ...], int, int]) -> Array:
        _, here, looked_at = key
        return self._tables.get(key, lambda: self._dependences_at(episode, here, looked_at))

    def _dependences_at(self, episode: Episode, here: int, looked_at: int) -> Array:
        """Return the dependences in a dimension; none is looked at once they are constructed."""
        table, state = self._dependences.copy(), episode.construction
        count = min(len(state.carried_by), DEPENDENCES)
        by = np.minimum(np.array(state.carried_by[:count], np.int64), 127)
        table[:count, _DEPENDENCE["carried_by"]] = by
        table[:count, _DEPENDENCE["carried_here"]] = by == here
        if looked_at:
            carryable = self.task.rules.can_be_carried(state)
            table[:count, _DEPENDENCE["can_be_carried"]] = [
                index in carryable for index in self._order[:count]
            ]
            if looked_at <= count:
                table[looked_at - 1, _DEPENDENCE["looked_at"]] = 1
        return table

    def _numbers(self, episode: Episode) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return how far the episode is, in fractions and in numbers."""
        rules, state = self.task.rules, episode.construction
        constructing = episode.phase is Phase.CONSTRUCT
        exploring = episode.phase is Phase.EXPLORE
        left = state.carried_by.count(0)
        carried = len(state.carried_by) - left
        looked_at = 1.0
        if constructing:
            looked_at = min(1.0, state.moves / max(1, rules.opening(state).selectable))
        explored = len(episode.exploration.points)
        decided, choices, is_vertex = 0, 0, False
        if exploring:
            current = episode.dimensions[explored].generators
            decided, choices = len(episode.exploration.coefficients), current.choices
            is_vertex = decided < choices - len(current.rays)
        progress = (
            constructing,
            exploring,
            min(1.0, state.dimension / rules.dimensions),
            carried / max(1, len(state.carried_by)),
            looked_at,
            explored / max(1, len(episode.dimensions)),
            decided / max(1, choices),
            is_vertex,
            min(1.0, episode.illegal / 100),
        )
        behind = sum([one.generators.choices for one in episode.dimensions[explored + 1 :]])
        steps = choices - decided + behind if exploring else rules.step_bound
        remaining = (
            left,
            len(episode.dimensions) - explored if exploring else rules.dimensions,
            choices - decided,
            0 if episode.is_over else min(steps, MOST_REMAINING),
        )
        return progress, remaining
