"""An episode as arrays of fixed shapes: what an agent sees.

Nothing depends on which program it is: tables have a fixed number of rows, of which the first are
used (``exists`` = 1) and the others are 0, and a program that has more shows its first ones.
Columns mean the same for every program, so that what was learned on some programs can be used on
others. :data:`TABLES` is the list of all columns; the environments' docstring explains them.

All tables are int8, flattened in row-major order:
``observation["rows"].reshape(tables(…)["rows"].shape)`` is a table again. Numbers that do not fit
are cut off at ±127.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.poly.dependences import Kind
from polygym.compiler.poly.innermost import Innermost, Movement, movement
from polygym.compiler.poly.schedule import Row
from polygym.compiler.poly.spaces.farkas import Conditions, conditions
from polygym.compiler.poly.spaces.integers import Vector, dot, echelon
from polygym.compiler.poly.spaces.polyhedra import Generators
from polygym.episodes.episode import Episode, Phase, Task
from polygym.episodes.nests import shared_loops

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Observation: TypeAlias = dict[str, Array]

STATEMENTS = 48
DEPENDENCES = 256
LOOPS = 6
PARAMETERS = 6

_LEVELS = tuple(range(1, LOOPS + 1))

DEPENDENCE_COLUMNS = (
    "exists",
    "flow",
    "anti",
    "output",
    "source",
    "sink",
    "source_depth",
    "sink_depth",
    "shared_loops",
    *(f"loop_{level}_forward" for level in _LEVELS),
    *(f"loop_{level}_backward" for level in _LEVELS),
    "can_be_carried",
    "carried_by",
    "carried_here",
    "looked_at",
)
STATEMENT_COLUMNS = (
    "exists",
    "depth",
    "reads",
    *(f"loop_{level}_write" for level in _LEVELS),
    *(f"loop_{level}_reads_same" for level in _LEVELS),
    *(f"loop_{level}_reads_near" for level in _LEVELS),
    *(f"loop_{level}_reads_far" for level in _LEVELS),
    "rank",
    "moved",
)
ROW_COLUMNS = (
    *(f"iterator_{level}" for level in _LEVELS),
    *(f"parameter_{number}" for number in range(1, PARAMETERS + 1)),
    "constant",
)
PROGRESS = (
    "constructing",
    "exploring",
    "dimension",
    "dependences_carried",
    "dependences_looked_at",
    "dimensions_explored",
    "coefficients_decided",
    "is_vertex",
    "illegal_actions",
)
REMAINING = ("dependences", "dimensions", "coefficients_here", "steps_at_most")
MOST_REMAINING = 1_000_000

_WRITE_CODE = {Movement.SAME: 1, Movement.UNIT: 2, Movement.SHORT: 3, Movement.FAR: 4}


@dataclass(frozen=True, slots=True)
class Table:
    """One array of the observation: its type, its bounds, and its shape as a table.

    The array itself is the table in row-major order, in one dimension: what libraries for agents
    expect of anything that is not an image.
    """

    shape: tuple[int, ...]
    dtype: type[np.generic]
    low: float
    high: float

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


def tables(max_dimensions: int, actions: int) -> Mapping[str, Table]:
    """Return the arrays of an observation by name."""
    row = (STATEMENTS, len(ROW_COLUMNS))

    def small(*shape: int) -> Table:
        return Table(shape, np.int8, -127, 127)

    return MappingProxyType(
        {
            "progress": Table((len(PROGRESS),), np.float32, 0.0, 1.0),
            "remaining": Table((len(REMAINING),), np.int32, 0, MOST_REMAINING),
            "dependences": small(DEPENDENCES, len(DEPENDENCE_COLUMNS)),
            "statements": small(STATEMENTS, len(STATEMENT_COLUMNS)),
            "rows": small(max_dimensions, *row),
            "generator": small(*row),
            "point": small(*row),
            "action_mask": Table((actions,), np.int8, 0, 1),
        }
    )


@dataclass(eq=False)
class Observer:
    """Turns episodes of one task into observations; what does not change is computed once."""

    task: Task
    _generators: dict[int, tuple[Generators, Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compute the parts that no action changes."""
        scop, layout = self.task.scop, self.task.polyhedra.layout
        self._places = _places(scop, self.task)
        self._order = (
            *self.task.rules.candidates,
            *sorted(self.task.polyhedra.never_carried),
        )
        self._dependences = _dependence_table(self.task, self._order)
        self._statements = _statement_table(scop)
        self._width = layout.width
        self._column = {name: index for index, name in enumerate(DEPENDENCE_COLUMNS)}

    def observe(self, episode: Episode, offset: int = 0) -> Observation:
        """Return what an agent sees, with the mask of the actions from ``offset`` on."""
        options = self.task.options
        rows = np.zeros((options.max_dimensions, STATEMENTS, len(ROW_COLUMNS)), np.int8)
        for index, point in enumerate(episode.exploration.points[: options.max_dimensions]):
            rows[index] = self._as_rows(np.array([_cut(point)]))[0]
        generator, partial = self._current(episode)
        progress, remaining = self._progress(episode)
        return {
            "progress": progress,
            "remaining": remaining,
            "dependences": self._dependences_now(episode).ravel(),
            "statements": self._statements_now(episode, generator).ravel(),
            "rows": rows.ravel(),
            "generator": generator.ravel(),
            "point": partial.ravel(),
            "action_mask": np.array(episode.mask()[offset:], np.int8),
        }

    def _current(self, episode: Episode) -> tuple[Array, Array]:
        """Return the generator to decide on, and the sum of those decided in this dimension."""
        nothing = np.zeros((STATEMENTS, len(ROW_COLUMNS)), np.int8)
        if episode.phase is not Phase.EXPLORE:
            return nothing, nothing.copy()
        current = episode.dimensions[len(episode.exploration.points)].generators
        vectors, shown = self._tables_of(current)
        coefficients = episode.exploration.coefficients
        total = np.array(coefficients, np.int64) @ vectors[: len(coefficients)]
        if len(current.vertices) == 1:
            total = total + np.array(_cut(current.vertices[0].numerators), np.int64)
        return shown[len(coefficients)].copy(), self._as_rows(total[None])[0]

    def _tables_of(self, known: Generators) -> tuple[Array, Array]:
        """Return the generators that get coefficients, as vectors and as tables."""
        found = self._generators.get(id(known))
        if found is None or found[0] is not known:
            vertices = known.vertices if len(known.vertices) > 1 else ()
            vectors = [one.numerators for one in vertices] + list(known.rays)
            array = np.array([_cut(vector) for vector in vectors], np.int64)
            array = array.reshape(len(vectors), self._width)
            if len(self._generators) >= 256:
                self._generators.clear()
            found = self._generators[id(known)] = (known, array, self._as_rows(array))
        return found[1], found[2]

    def _as_rows(self, vectors: Array) -> Array:
        """Spread vectors of coefficients over (statement, column) tables."""
        shown = np.zeros((len(vectors), STATEMENTS, len(ROW_COLUMNS)), np.int8)
        from_places, statements, columns = self._places
        values = vectors[:, from_places].clip(-127, 127)
        shown[:, statements, columns] = values
        return shown

    def _dependences_now(self, episode: Episode) -> Array:
        """Return the dependences with their columns of the moment filled in."""
        table = self._dependences.copy()
        state, column = episode.construction, self._column
        count = min(len(state.carried_by), DEPENDENCES)
        by = np.array(state.carried_by[:count], np.int64)
        table[:count, column["carried_by"]] = by.clip(0, 127)
        if episode.phase is Phase.CONSTRUCT:
            here = state.dimension
            carryable = self.task.rules.can_be_carried(state)
            table[:count, column["can_be_carried"]] = [
                index in carryable for index in self._order[:count]
            ]
            if state.dependence <= count:
                table[state.dependence - 1, column["looked_at"]] = 1
        else:
            here = len(episode.exploration.points) + 1
        table[:count, column["carried_here"]] = by == here
        return table

    def _statements_now(self, episode: Episode, generator: Array) -> Array:
        """Return the statements with their rank so far and whether the generator moves them."""
        table = self._statements.copy()
        layout, points = self.task.polyhedra.layout, episode.exploration.points
        for index, statement in enumerate(self.task.scop.statements[:STATEMENTS]):
            if points:
                rows = (layout.row(point, statement.name).iterators for point in points)
                table[index, -2] = len(echelon(rows))
        table[:, -1] = generator.any(axis=1)
        return table

    def _progress(self, episode: Episode) -> tuple[Array, Array]:
        """Return how far the episode is, in fractions and in numbers."""
        rules, state = self.task.rules, episode.construction
        constructing = episode.phase is Phase.CONSTRUCT
        exploring = episode.phase is Phase.EXPLORE
        carried = sum(by > 0 for by in state.carried_by)
        left = len(state.carried_by) - carried
        opened = max(1, sum(not 0 < by < state.dimension for by in state.carried_by))
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
            min(1.0, state.moves / opened) if constructing else 1.0,
            explored / max(1, len(episode.dimensions)),
            decided / max(1, choices),
            is_vertex,
            min(1.0, episode.illegal / 100),
        )
        behind = sum(one.generators.choices for one in episode.dimensions[explored + 1 :])
        steps = choices - decided + behind if exploring else rules.step_bound
        remaining = (
            left,
            len(episode.dimensions) - explored if exploring else rules.dimensions,
            choices - decided,
            0 if episode.is_over else min(steps, MOST_REMAINING),
        )
        return np.array(progress, np.float32), np.array(remaining, np.int32)


def _places(scop: Scop, task: Task) -> tuple[Array, Array, Array]:
    """Return, for every number that is shown, its place in a row, its statement and its column."""
    layout = task.polyhedra.layout
    shown = []
    for index, statement in enumerate(scop.statements[:STATEMENTS]):
        iterators, parameters, constant = layout.places(statement.name)
        shown += [(place, index, k) for k, place in enumerate(iterators[:LOOPS])]
        shown += [(place, index, LOOPS + k) for k, place in enumerate(parameters[:PARAMETERS])]
        shown.append((constant, index, LOOPS + PARAMETERS))
    array = np.array(shown, np.int64)
    return array[:, 0], array[:, 1], array[:, 2]


def _dependence_table(task: Task, order: Sequence[int]) -> Array:
    """Return what is known of every dependence before the first action."""
    scop = task.scop
    positions = {statement.name: index for index, statement in enumerate(scop.statements)}
    table = np.zeros((DEPENDENCES, len(DEPENDENCE_COLUMNS)), np.int8)
    demands = conditions(scop)
    for place, index in enumerate(order[:DEPENDENCES]):
        one = task.polyhedra.dependences[index]
        shared = shared_loops(scop, one.source, one.sink)
        forward, backward = [0] * LOOPS, [0] * LOOPS
        for level in range(min(shared, LOOPS)):
            forward[level], backward[level] = _signs(
                task, demands[index], one.source, one.sink, level
            )
        values = (
            1,
            *(reason in one.kind for reason in Kind),
            min(positions[one.source], 127),
            min(positions[one.sink], 127),
            scop.statement(one.source).depth,
            scop.statement(one.sink).depth,
            shared,
            *forward,
            *backward,
        )
        table[place, : len(values)] = values
    return table


def _signs(task: Task, demand: Conditions, source: str, sink: str, level: int) -> tuple[bool, bool]:
    """Return whether a loop's counter can be larger, and smaller, at the sink than at the source.

    The difference is the distance under the row that is that counter for both statements, so its
    range is known from the conditions' forms at that row.
    """
    layout = task.polyhedra.layout
    parameters = (0,) * len(layout.parameters)
    rows = {
        name: Row(
            tuple(int(k == level) for k in range(task.scop.statement(name).depth)), parameters, 0
        )
        for name in {source, sink}
    }
    point = layout.point(rows)
    values = [dot(form, point) for form in demand.vertices + demand.rays]
    both = any(dot(form, point) for form in demand.lines)
    return both or any(value > 0 for value in values), both or any(value < 0 for value in values)


def _statement_table(scop: Scop) -> Array:
    """Return what is known of every statement before the first action."""
    table = np.zeros((STATEMENTS, len(STATEMENT_COLUMNS)), np.int8)
    for index, statement in enumerate(scop.statements[:STATEMENTS]):
        writes, same, near, far = ([0] * LOOPS for _ in range(4))
        for level in range(min(statement.depth, LOOPS)):
            loop = _loop(statement, level)
            writes[level] = _WRITE_CODE[movement(statement, statement.write, loop)]
            found = [movement(statement, read, loop) for read in statement.reads]
            same[level] = found.count(Movement.SAME)
            near[level] = found.count(Movement.UNIT) + found.count(Movement.SHORT)
            far[level] = found.count(Movement.FAR)
        values = (1, statement.depth, len(statement.reads), *writes, *same, *near, *far)
        table[index, : len(values)] = np.clip(values, -127, 127)
    return table


def _loop(statement: Statement, level: int) -> Innermost:
    return Innermost(tuple(int(k == level) for k in range(statement.depth)), 1)


def _cut(vector: Vector) -> list[int]:
    """Cut off numbers far beyond what is shown, so that sums fit 64 bits."""
    return [max(-(2**31), min(2**31, value)) for value in vector]
