"""Schedule rows as combinations of other rows, exactly and on the domains of their statements.

Statements s with rows o₁(s), …, o_k(s) of loops and a row r(s) of another schedule: are there
factors f, the same for all statements, with ::

    r(s) - f₁·o₁(s) - … - f_k·o_k(s)  =  an offset of parameters and a constant

for every instance? Equations of a statement's domain may be used. Example, the rows i and j of two
loops, and the row 2i + j + 1 of a skewed schedule: the factors are 2 and 1, the offset is 1.
Earlier loops are preferred: a factor is 0 where the loops before it are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import islpy as isl

from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coefficient, constant_term
from polygym.poly.schedule import ScheduleRow, parameter_names

Vector: TypeAlias = tuple[int, ...]
Offset: TypeAlias = tuple[int, ...]
"""The factors of the parameters, and the constant."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Factors of rows, and the offset of each statement; None where it is no offset."""

    factors: tuple[int, ...]
    offsets: tuple[Offset, ...]

    @property
    def is_uniform(self) -> bool:
        """Whether all statements have one offset."""
        return len(set(self.offsets)) <= 1


class RowAlgebra:
    """The equations of a program's domains, and combinations of rows on them."""

    def __init__(self, scop: Scop) -> None:
        self.width = len(parameter_names(scop))
        with bounded_operations("the equations of the domains"):
            self._equations = {
                statement.name: _equations(statement.domain, statement.depth, parameter_names(scop))
                for statement in scop.statements
            }

    def reduced(self, statement: str, row: ScheduleRow) -> ScheduleRow:
        """Return a row in a form that is equal for equal values on the statement's domain."""
        depth = len(row.iterators)
        values = [*row.iterators, *row.parameters, row.constant]
        for equation in self._equations[statement]:
            place = max(k for k in range(depth) if equation[k])
            if abs(equation[place]) == 1 and values[place]:
                factor = values[place] * equation[place]
                values = [a - factor * b for a, b in zip(values, equation, strict=True)]
        return ScheduleRow(tuple(values[:depth]), tuple(values[depth:-1]), values[-1])

    def combination(
        self,
        statements: Sequence[str],
        wanted: Sequence[ScheduleRow],
        loops: Sequence[Sequence[ScheduleRow]],
    ) -> Combination | None:
        """Return factors of loops, each with a row for each statement; None where there are none.

        Factors that are not integers count as none.
        """
        owners, solution = self._solution(statements, wanted, loops)
        if solution is None or any(value.denominator > 1 for value in solution[len(owners) :]):
            return None
        factors = tuple(int(value) for value in solution[len(owners) :])
        offsets: list[list[Fraction]] = [
            [Fraction(value) for value in (*row.parameters, row.constant)] for row in wanted
        ]
        for factor, rows in zip(factors, loops, strict=True):
            if factor:
                for place, row in enumerate(rows):
                    _subtract(offsets[place], (*row.parameters, row.constant), Fraction(factor))
        for value, (place, equation) in zip(solution, owners, strict=False):
            _subtract(offsets[place], equation[len(wanted[place].iterators) :], value)
        if any(value.denominator > 1 for offset in offsets for value in offset):
            return None
        return Combination(factors, tuple(tuple(map(int, offset)) for offset in offsets))

    def determines(self, statement: str, wanted: ScheduleRow, loops: Sequence[ScheduleRow]) -> bool:
        """Whether a row is known where those of loops are, by any factors."""
        _, solution = self._solution([statement], [wanted], [[row] for row in loops])
        return solution is not None

    def _solution(
        self,
        statements: Sequence[str],
        wanted: Sequence[ScheduleRow],
        loops: Sequence[Sequence[ScheduleRow]],
    ) -> tuple[list[tuple[int, Vector]], list[Fraction] | None]:
        """Return equations, and factors of them and of loops that make the wanted rows."""
        columns: list[list[Fraction]] = []
        widths = [len(row.iterators) for row in wanted]
        total = sum(widths)
        owners: list[tuple[int, Vector]] = []
        start = 0
        for place, name in enumerate(statements):
            for equation in self._equations[name]:
                column = [Fraction(0)] * total
                column[start : start + widths[place]] = map(Fraction, equation[: widths[place]])
                columns.append(column)
                owners.append((place, equation))
            start += widths[place]
        for rows in loops:
            columns.append([Fraction(value) for row in rows for value in row.iterators])
        right = [Fraction(value) for row in wanted for value in row.iterators]
        return owners, solve(columns, right)


def solve(
    columns: Sequence[Sequence[Fraction]], right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Return factors of columns whose sum is the right side; later columns get 0 where they can.

    >>> columns = [[1, 0], [2, 0], [0, 1]]
    >>> solve([list(map(Fraction, column)) for column in columns], [Fraction(4), Fraction(3)])
    [Fraction(4, 1), Fraction(0, 1), Fraction(3, 1)]
    """
    table = [
        [*(Fraction(column[row]) for column in columns), Fraction(value)]
        for row, value in enumerate(right)
    ]
    pivots: list[int] = []
    for column in range(len(columns)):
        here = len(pivots)
        found = next((row for row in range(here, len(table)) if table[row][column]), None)
        if found is None:
            continue
        table[here], table[found] = table[found], table[here]
        head = table[here][column]
        table[here] = [value / head for value in table[here]]
        for row in range(len(table)):
            if row != here and (factor := table[row][column]):
                table[row] = [a - factor * b for a, b in zip(table[row], table[here], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in table[len(pivots) :]):
        return None
    result = [Fraction(0)] * len(columns)
    for row, column in enumerate(pivots):
        result[column] = table[row][-1]
    return result


def _subtract(values: list[Fraction], other: Sequence[int], factor: Fraction) -> None:
    if factor:
        for place, value in enumerate(other):
            values[place] -= factor * value


def _equations(domain: str, depth: int, names: tuple[str, ...]) -> tuple[Vector, ...]:
    """Return the equations of a domain: factors of iterators and parameters, and a constant."""
    result: list[Vector] = []

    def add(constraint: isl.Constraint) -> None:
        if not constraint.is_equality():
            return
        known = {
            constraint.get_dim_name(isl.dim_type.param, place): place
            for place in range(constraint.dim(isl.dim_type.param))
        }
        iterators = tuple(coefficient(constraint, isl.dim_type.set, k) for k in range(depth))
        sizes = tuple(
            coefficient(constraint, isl.dim_type.param, known[name]) if name in known else 0
            for name in names
        )
        if any(iterators):
            result.append((*iterators, *sizes, constant_term(constraint)))

    hull = isl.Set(domain).affine_hull()
    if not hull.dim(isl.dim_type.div):
        hull.foreach_constraint(add)
    return tuple(result)
