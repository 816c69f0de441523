"""Coordinates of a schedule space: the coefficients of one row of all statements.

The coordinates are, in this order,

1. the iterator coefficients of every statement, the statements in the order of their names,
2. the parameter coefficients, statement by statement in the same order,
3. the constants, likewise.

For y = Ax (S has the iterator i, T has i and j; the parameter is n) a point has seven coordinates:

    S.i  T.i  T.j | S.n  T.n | S.1  T.1

and (1, 1, 0, 0, 0, 0, 1) is the row with Θ_S = i and Θ_T = i + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.ir.scop import Scop
from polygym.pickling import pickle_by_name
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import ScheduleRow, parameter_names


class CoordinateKind(Enum):
    """What a coordinate multiplies."""

    ITERATOR = "iterator"
    PARAMETER = "parameter"
    CONSTANT = "constant"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Coordinate:
    """The meaning of one coordinate; ``index`` counts the iterators or the parameters."""

    statement: str
    kind: CoordinateKind
    index: int


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CoordinateLayout:
    """The order of the coordinates for one program."""

    statements: tuple[str, ...]
    depths: tuple[int, ...]
    parameters: tuple[str, ...]

    @staticmethod
    def of(scop: Scop) -> CoordinateLayout:
        """Return the layout of a program's rows."""
        ordered = sorted(scop.statements, key=lambda statement: statement.name)
        return CoordinateLayout(
            tuple(statement.name for statement in ordered),
            tuple(statement.depth for statement in ordered),
            parameter_names(scop),
        )

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return sum(self.depths) + len(self.statements) * (len(self.parameters) + 1)

    def positions(self, statement: str) -> tuple[range, range, int]:
        """Return where a statement's iterators, parameters and constant stand."""
        index = self.statements.index(statement)
        first = sum(self.depths[:index])
        count = len(self.parameters)
        parameters = sum(self.depths) + index * count
        constant = sum(self.depths) + len(self.statements) * count + index
        return (
            range(first, first + self.depths[index]),
            range(parameters, parameters + count),
            constant,
        )

    def coordinates(self) -> tuple[Coordinate, ...]:
        """Return the meaning of every coordinate."""
        named = list(zip(self.statements, self.depths, strict=True))
        return (
            *(
                Coordinate(name, CoordinateKind.ITERATOR, k)
                for name, depth in named
                for k in range(depth)
            ),
            *(
                Coordinate(name, CoordinateKind.PARAMETER, k)
                for name in self.statements
                for k in range(len(self.parameters))
            ),
            *(Coordinate(name, CoordinateKind.CONSTANT, 0) for name in self.statements),
        )

    def row(self, point: Sequence[int], statement: str) -> ScheduleRow:
        """Return one statement's row of a point."""
        iterators, parameters, constant = self.positions(statement)
        return ScheduleRow(
            tuple(point[k] for k in iterators), tuple(point[k] for k in parameters), point[constant]
        )

    def point(self, rows: dict[str, ScheduleRow]) -> Vector:
        """Return the point that the statements' rows are together; inverse of :meth:`row`."""
        values = [0] * self.width
        for name, row in rows.items():
            iterators, parameters, constant = self.positions(name)
            values[iterators.start : iterators.stop] = row.iterators
            values[parameters.start : parameters.stop] = row.parameters
            values[constant] = row.constant
        return tuple(values)
