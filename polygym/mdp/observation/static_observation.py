"""The columns of statements and dependences, and what they show of a program before any action.

The columns of the moment are 0 here: :mod:`polygym.mdp.observation.schedule_observer` keeps them up
to date. Beside the tables stand the places of a point's coordinates in the tables of coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polygym.ir.scop import Scop, Statement
from polygym.mdp.construction import shared_loops
from polygym.mdp.episode import Task
from polygym.mdp.observation import arrays
from polygym.poly.dependences import Dependence, DependenceKind
from polygym.poly.innermost import AccessStride, InnermostLoop, access_stride
from polygym.poly.integer_vectors import dot
from polygym.poly.schedule import ScheduleRow
from polygym.poly.spaces.farkas import FarkasConditions, farkas_conditions

_STRIDES = AccessStride.SAME, AccessStride.UNIT, AccessStride.SHORT, AccessStride.FAR
_WRITE_STRIDE_CODES = {stride: code for code, stride in enumerate(_STRIDES, start=1)}


def number_positions(task: Task) -> tuple[arrays.Array, arrays.Array, arrays.Array]:
    """Return, for every number that is shown, its place in a row, its statement and its column."""
    layout = task.polyhedra.layout
    shown = []
    for index, statement in enumerate(task.scop.statements[: arrays.MOST_STATEMENTS]):
        iterators, parameters, constant = layout.positions(statement.name)
        shown += [(place, index, k) for k, place in enumerate(iterators[: arrays.MOST_LOOPS])]
        own = enumerate(parameters[: arrays.MOST_PARAMETERS])
        shown += [(place, index, arrays.MOST_LOOPS + k) for k, place in own]
        shown.append((constant, index, arrays.MOST_LOOPS + arrays.MOST_PARAMETERS))
    array = np.array(shown, np.int64)
    return array[:, 0], array[:, 1], array[:, 2]


@dataclass(frozen=True, eq=False)
class _ProgramDependence:
    """A dependence of a program, with its conditions."""

    task: Task
    dependence: Dependence
    conditions: FarkasConditions

    @cached_property
    def shared_loops(self) -> int:
        """How many loops surround both statements."""
        return shared_loops(self.task.scop, self.dependence.source, self.dependence.sink)

    def depth(self, statement: str) -> int:
        """Return how many loops surround a statement."""
        return self.task.scop.statement(statement).depth

    def position(self, statement: str) -> int:
        """Return the row of a statement in the table of statements."""
        names = [known.name for known in self.task.scop.statements]
        return min(names.index(statement), 127)

    def signs(self, level: int) -> tuple[bool, bool]:
        """Return whether a shared loop's counter can be larger, and smaller, at the sink."""
        if level >= self.shared_loops:
            return False, False
        return _signs(
            self.task, self.conditions, self.dependence.source, self.dependence.sink, level
        )


@dataclass(frozen=True, eq=False)
class _StatementStrides:
    """A statement, and how its accesses move when a loop advances."""

    statement: Statement

    def write_code(self, level: int) -> int:
        """Return how the write moves along a loop; 0 where there is no such loop."""
        if level >= self.statement.depth:
            return 0
        loop = _loop_strides(self.statement, level)
        return _WRITE_STRIDE_CODES[access_stride(self.statement, self.statement.write, loop)]

    def read_count(self, level: int, *strides: AccessStride) -> int:
        """Return how many reads move so along a loop."""
        if level >= self.statement.depth:
            return 0
        loop = _loop_strides(self.statement, level)
        moves = [access_stride(self.statement, read, loop) for read in self.statement.reads]
        return sum(move in strides for move in moves)


def _of_the_moment(_: object) -> int:
    return 0


def _is_of_kind(kind: DependenceKind) -> arrays.Column:
    return arrays.Column(
        f"{kind.name}".lower(),
        "the reasons why the order matters, 0 or 1 each",
        lambda at: kind in at.dependence.kind,
    )


_ROW_DOC = "row of the statement in `statements`, from 0"
_DEPTH_DOC = "loops around the two"
_FORWARD_DOC = "1 if some pair has a larger counter at the sink"
_BACKWARD_DOC = "1 if some pair has a smaller counter at the sink"
DEPENDENCES = (
    arrays.Column("exists", "1", lambda _: 1),
    *map(_is_of_kind, DependenceKind),
    arrays.Column("source", _ROW_DOC, lambda at: at.position(at.dependence.source)),
    arrays.Column("sink", _ROW_DOC, lambda at: at.position(at.dependence.sink)),
    arrays.Column("source_depth", _DEPTH_DOC, lambda at: at.depth(at.dependence.source)),
    arrays.Column("sink_depth", _DEPTH_DOC, lambda at: at.depth(at.dependence.sink)),
    arrays.Column("shared_loops", "loops around both", lambda at: at.shared_loops),
    *arrays.by_level("loop_{level}_forward", _FORWARD_DOC, lambda at, k: at.signs(k)[0]),
    *arrays.by_level("loop_{level}_backward", _BACKWARD_DOC, lambda at, k: at.signs(k)[1]),
    arrays.Column(
        "can_be_carried",
        "while constructing: 1 if a row of this dimension can carry it",
        _of_the_moment,
    ),
    arrays.Column(
        "carried_by", "d_k: the dimension that carries it, from 1; 0: none yet", _of_the_moment
    ),
    arrays.Column(
        "carried_here",
        "1 if the dimension being constructed or explored carries it",
        _of_the_moment,
    ),
    arrays.Column("looked_at", "while constructing: 1 at i_dep", _of_the_moment),
)
"""The columns of ``dependences``, of a :class:`_ProgramDependence`."""

_WRITE_DOC = (
    "how the write moves when that loop advances: 1 not at all, 2 to the neighbour, 3 at most 8 "
    "elements in the last subscript, 4 far; 0: no such loop"
)
_NEAR_DOC = "reads that move by at most 8 elements in the last subscript"
_NEAR = (AccessStride.UNIT, AccessStride.SHORT)
STATEMENTS = (
    arrays.Column("exists", "1", lambda _: 1),
    arrays.Column("depth", "loops around it", lambda at: at.statement.depth),
    arrays.Column("reads", "array elements that it reads", lambda at: len(at.statement.reads)),
    *arrays.by_level("loop_{level}_write", _WRITE_DOC, lambda at, k: at.write_code(k)),
    *arrays.by_level(
        "loop_{level}_reads_same",
        "reads that do not move with that loop",
        lambda at, k: at.read_count(k, AccessStride.SAME),
    ),
    *arrays.by_level("loop_{level}_reads_near", _NEAR_DOC, lambda at, k: at.read_count(k, *_NEAR)),
    *arrays.by_level(
        "loop_{level}_reads_far",
        "reads that move farther",
        lambda at, k: at.read_count(k, AccessStride.FAR),
    ),
    arrays.Column(
        "rank", "linearly independent rows that it has from the finished dimensions", _of_the_moment
    ),
    arrays.Column("moved", "1 if the current generator has a coefficient of it", _of_the_moment),
)
"""The columns of ``statements``, of a :class:`_StatementStrides`."""


def dependence_table(task: Task, dependence_order: Sequence[int]) -> arrays.Array:
    """Return what is known of every dependence before the first action."""
    table = np.zeros((arrays.MOST_DEPENDENCES, len(DEPENDENCES)), np.int8)
    conditions = farkas_conditions(task.scop)
    for place, index in enumerate(dependence_order[: arrays.MOST_DEPENDENCES]):
        dependence = task.polyhedra.dependences[index]
        subject = _ProgramDependence(task, dependence, conditions[index])
        table[place] = arrays.numbers_of(DEPENDENCES, subject)
    return table


def _signs(
    task: Task, demand: FarkasConditions, source: str, sink: str, level: int
) -> tuple[bool, bool]:
    """Return whether a loop's counter can be larger, and smaller, at the sink than at the source.

    The difference is the distance under the row that is that counter for both statements, so its
    range is known from the conditions' forms at that row.
    """
    layout = task.polyhedra.layout
    parameters = (0,) * len(layout.parameters)
    depths = {name: task.scop.statement(name).depth for name in {source, sink}}
    units = {name: tuple(int(k == level) for k in range(depth)) for name, depth in depths.items()}
    rows = {name: ScheduleRow(unit, parameters, 0) for name, unit in units.items()}
    point = layout.point(rows)
    values = [dot(form, point) for form in demand.vertices + demand.rays]
    both = any(dot(form, point) for form in demand.lines)
    return both or any(value > 0 for value in values), both or any(value < 0 for value in values)


def statement_table(scop: Scop) -> arrays.Array:
    """Return what is known of every statement before the first action."""
    table = np.zeros((arrays.MOST_STATEMENTS, len(STATEMENTS)), np.int8)
    for index, statement in enumerate(scop.statements[: arrays.MOST_STATEMENTS]):
        numbers = arrays.numbers_of(STATEMENTS, _StatementStrides(statement))
        table[index] = np.clip(numbers, -127, 127)
    return table


def _loop_strides(statement: Statement, level: int) -> InnermostLoop:
    return InnermostLoop(tuple(int(k == level) for k in range(statement.depth)), 1)
