"""A point in the relative interior of a cone, by linear programs.

For a cone W = { x : f·x ≥ 0 for f in F, g·x = 0 for g in G } each f is either 0 on all of W (an
*implicit equality*) or positive somewhere; then it is positive at the sum of all such places, so
one point x̂ of W shows all forms of the second kind. One linear program finds both:

    maximise Σ ε_f   where   f·x ≥ ε_f,   0 ≤ ε_f ≤ 1,   g·x = 0.

At the optimum every ε_f is 0 or 1 (W is a cone: what can be positive can be 1). Floating point
proves nothing, so both halves of the answer are checked in integers:

* f·x̂ > 0 for the forms with ε_f = 1 and the rest of W's conditions, with x̂ made rational;
* the multipliers y of the rows f·x ≥ ε_f, made rational, satisfy Σ y_f f + Σ z_g g = 0 with y ≥ 0
  and y_f > 0 for the forms with ε_f = 0: as every f·x ≥ 0 on W, a sum that is 0 leaves each of them
  0.

Where the check fails, the same questions are asked one by one, in exact arithmetic.

Example: W = { (x, y) : x ≥ 0, -x ≥ 0, y ≥ 0 }. x̂ = (0, 1); the first two are implicit equalities,
proved by 1·x + 1·(-x) = 0.

Linear programs in floating point: the one place where HiGHS is used.

What it says is a hint. Every caller turns it into integers and checks it exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np

from polygym.poly.integer_vectors import Vector, dot, primitive
from polygym.poly.spaces.generators import ppl_module

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


_LARGEST_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True)
class RelativeInterior:
    """A point of the relative interior, and the inequalities that are 0 on the whole cone."""

    point: Vector
    implicit: frozenset[Vector]


def relative_interior(
    forms: Sequence[Vector], equalities: Sequence[Vector], width: int
) -> RelativeInterior:
    """Return the relative interior point of a cone and its implicit equalities, exactly."""
    if not forms:
        return RelativeInterior((0,) * width, frozenset())
    return _by_linear_program(forms, equalities, width) or _by_exact_programs(
        forms, equalities, width
    )


def _by_linear_program(
    forms: Sequence[Vector], equalities: Sequence[Vector], width: int
) -> RelativeInterior | None:
    """Solve the linear program of the module's docstring; None when the check fails."""
    count = len(forms)
    program = LinearProgram(width + count)
    program.bound(range(width), -np.inf, np.inf)
    program.bound(range(width, width + count), 0.0, 1.0)
    for index, form in enumerate(forms):
        program.add_row({**_sparse(form), width + index: -1}, 0.0, np.inf)
    for form in equalities:
        program.add_row(_sparse(form), 0.0, 0.0)
    solution = program.minimise({width + index: -1.0 for index in range(count)})
    if solution is None:
        return None
    zero = [form for index, form in enumerate(forms) if solution.values[width + index] < 0.5]
    point = _integers(solution.values[:width])
    multipliers = _integers(-solution.multipliers)
    if sum(multipliers[:count]) < 0:
        multipliers = tuple(-value for value in multipliers)
    implicit = frozenset(zero)
    if _is_interior(point, forms, equalities, implicit) and _is_proof(
        multipliers, forms, equalities, implicit
    ):
        return RelativeInterior(point, implicit)
    return None


def _is_interior(
    point: Vector,
    forms: Sequence[Vector],
    equalities: Sequence[Vector],
    implicit: frozenset[Vector],
) -> bool:
    return not any(dot(form, point) for form in equalities) and all(
        dot(form, point) == 0 if form in implicit else dot(form, point) > 0 for form in forms
    )


def _is_proof(
    multipliers: Vector,
    forms: Sequence[Vector],
    equalities: Sequence[Vector],
    implicit: frozenset[Vector],
) -> bool:
    """Whether the multipliers prove that the forms are 0 on the cone."""
    if not implicit:
        return True
    total = [0] * len(forms[0])
    for factor, form in zip(multipliers, (*forms, *equalities), strict=True):
        if factor:
            for place, value in enumerate(form):
                total[place] += factor * value
    positive = all(
        factor > 0 if form in implicit else factor >= 0
        for factor, form in zip(multipliers, forms, strict=False)
    )
    return positive and not any(total)


def _by_exact_programs(
    forms: Sequence[Vector], equalities: Sequence[Vector], width: int
) -> RelativeInterior:
    """Maximise every form on its own, in rational arithmetic, and add up where it is positive."""
    library = ppl_module()
    system = library.Constraint_System()
    for form in forms:
        system.insert(library.Linear_Expression(list(form), 0) >= 0)
    for form in equalities:
        system.insert(library.Linear_Expression(list(form), 0) == 0)
    total = [Fraction(0)] * width
    implicit = set()
    for form in forms:
        if form in implicit or sum(a * b for a, b in zip(form, total, strict=True)) > 0:
            continue
        expression = library.Linear_Expression(list(form), 0)
        program = library.MIP_Problem(width)
        program.add_constraints(system)
        program.add_constraint(expression <= 1)
        program.set_objective_function(expression)
        program.set_optimization_mode("maximization")
        best = program.optimizing_point()
        values = [Fraction(int(value), int(best.divisor())) for value in best.coefficients()]
        values += [Fraction(0)] * (width - len(values))
        if sum(a * b for a, b in zip(form, values, strict=True)) > 0:
            total = [a + b for a, b in zip(total, values, strict=True)]
        else:
            implicit.add(form)
    scale = lcm(*(value.denominator for value in total))
    return RelativeInterior(primitive([int(value * scale) for value in total]), frozenset(implicit))


def _sparse(form: Vector) -> dict[int, int]:
    return {place: value for place, value in enumerate(form) if value}


def _integers(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Vector:
    """Return a positive integer multiple of numbers that are close to simple fractions."""
    exact = [Fraction(float(value)).limit_denominator(_LARGEST_DENOMINATOR) for value in values]
    scale = lcm(*(value.denominator for value in exact))
    return tuple(int(value * scale) for value in exact)
