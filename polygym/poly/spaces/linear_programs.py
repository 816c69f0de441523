"""Linear programs in floating point: the one place where HiGHS is used.

What it says is a hint. Every caller turns it into integers and checks it exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class LpSolution:
    """The values of the variables at an optimum and the multipliers of the rows."""

    values: Numbers
    multipliers: Numbers


class LinearProgram:
    """Rows ``lower ≤ a·x ≤ upper`` over bounded variables, minimised for one or more objectives.

    The solver is deterministic: one thread, the simplex method, basic solutions. Later objectives
    start from the optimum of the one before.
    """

    def __init__(self, variables: int) -> None:
        self._variables = variables
        self._lower = np.zeros(variables)
        self._upper = np.zeros(variables)
        self._starts = [0]
        self._places: list[int] = []
        self._values: list[float] = []
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []
        self._solver: Any = None

    def bound(self, variables: Iterable[int], lower: float, upper: float) -> None:
        """Set the bounds of variables."""
        for variable in variables:
            self._lower[variable] = lower
            self._upper[variable] = upper

    def add_row(self, coefficients: Mapping[int, float], lower: float, upper: float) -> None:
        """Add a row; numbers beyond 2^53 are rounded, the caller checks what comes out."""
        self._places.extend(coefficients)
        self._values.extend(float(value) for value in coefficients.values())
        self._starts.append(len(self._places))
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def minimise(self, objective: Mapping[int, float]) -> LpSolution | None:
        """Return a basic optimum, or None when there is none."""
        import highspy

        costs = np.zeros(self._variables)
        for variable, cost in objective.items():
            costs[variable] = cost
        if self._solver is None:
            self._solver = self._make(costs)
        else:
            every = np.arange(self._variables, dtype=np.int32)
            self._solver.changeColsCost(self._variables, every, costs)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        result = self._solver.getSolution()
        return LpSolution(np.array(result.col_value), np.array(result.row_dual))

    def _make(self, costs: Numbers) -> Any:
        import highspy

        solver = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("solver", "simplex"),
            ("parallel", "off"),
            ("random_seed", 0),
        ):
            solver.setOptionValue(option, value)
        program = highspy.HighsLp()
        program.num_col_ = self._variables
        program.num_row_ = len(self._row_lower)
        program.col_cost_ = costs
        program.col_lower_, program.col_upper_ = self._lower, self._upper
        program.row_lower_ = np.array(self._row_lower)
        program.row_upper_ = np.array(self._row_upper)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.array(self._starts, dtype=np.int32)
        program.a_matrix_.index_ = np.array(self._places, dtype=np.int32)
        program.a_matrix_.value_ = np.array(self._values)
        solver.passModel(program)
        return solver
