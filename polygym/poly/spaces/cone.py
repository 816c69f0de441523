"""The cone of rows that weakly satisfy some dependences, decomposed.

For a set R of dependences, W = { x : every condition of R holds with ε = 0 }. W is the sum of its
lines (directions in which a row can move both ways) and a pointed cone, which is

1. in the subspace where the implicit equalities of W hold
   (:mod:`polygym.poly.spaces.cone`),
2. and, there, where the pivots of the lines are 0.

A basis b_1 … b_m of that subspace gives the pointed cone coordinates, x = Σ z_k b_k, in which it is
*full-dimensional*, has fewer constraints, and is what the double description is good at: for ludcmp
46 coordinates and 623 conditions become 12 coordinates and 66.

A dependence of R can be carried strongly by a row in W iff none of its vertex conditions is 0 on W:
the interior point, scaled up, carries all such dependences at once. So which dependences can be
carried does not depend on which others are.

The rows that satisfy R weakly and a subset S strongly are a polyhedron whose rays and lines are
those of W, whatever S is; only its vertices are its own.

A point in the relative interior of a cone, by linear programs.

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

What it says is a hint. Every caller turns it into integers and checks it exactly.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np

from polygym.poly.integer_vectors import (
    Vector,
    batched_null_space,
    dot,
    inner_products,
    primitive,
    reduce_by_all,
)
from polygym.poly.spaces import generators
from polygym.poly.spaces.farkas import FarkasConditions


@dataclass(frozen=True, slots=True)
class Cone:
    """The rows that weakly satisfy some dependences, with lines and pointed part apart.

    ``conditions`` are the dependences' own; ``lines`` the canonical basis with pivots; ``basis``
    spans the pointed part, whose constraints in these coordinates are ``facets`` (each ≥ 0, not
    necessarily irredundant); ``carryable`` are the indices into ``conditions`` of the dependences
    that a row can carry.
    """

    conditions: tuple[FarkasConditions, ...]
    width: int
    lines: tuple[tuple[Vector, int], ...]
    basis: tuple[Vector, ...]
    facets: tuple[Vector, ...]
    carryable: frozenset[int]

    @property
    def dimension(self) -> int:
        """The number of coordinates of the pointed part."""
        return len(self.basis)

    def row(self, coordinates: Sequence[int]) -> Vector:
        """Return the row at a point of the pointed part."""
        total = [0] * self.width
        for factor, vector in zip(coordinates, self.basis, strict=True):
            if factor:
                for place, value in enumerate(vector):
                    if value:
                        total[place] += factor * value
        return tuple(total)

    def strong(self, carried: frozenset[int]) -> tuple[generators.LinearConstraint, ...]:
        """Return what the carried dependences demand on top, in the pointed part's coordinates."""
        demands = [self.conditions[index] for index in sorted(carried)]
        forms = inner_products(
            [form for farkas_conditions in demands for form in farkas_conditions.vertices],
            self.basis,
        )
        weights = [weight for conditions in demands for weight in conditions.weights]
        pairs = zip(forms, weights, strict=True)
        return tuple(
            dict.fromkeys(generators.LinearConstraint(form, -weight) for form, weight in pairs)
        )


def cone(conditions: tuple[FarkasConditions, ...], width: int) -> Cone:
    """Return the cone of the rows that weakly satisfy every one of the conditions."""
    forms = _distinct_forms(
        form
        for farkas_conditions in conditions
        for form in farkas_conditions.vertices + farkas_conditions.rays
    )
    equalities = _distinct_forms(form for condition in conditions for form in condition.lines)
    interior = relative_interior(forms, equalities, width)
    lines = batched_null_space((*forms, *equalities), width)
    pivots = tuple(tuple(int(place == pivot) for place in range(width)) for _, pivot in lines)
    basis = batched_null_space((*interior.implicit, *equalities, *pivots), width)
    vectors = tuple(vector for vector, _ in basis)
    facets = _distinct_forms(
        inner_products([form for form in forms if form not in interior.implicit], vectors)
    )
    carryable = frozenset(
        index
        for index, condition in enumerate(conditions)
        if not any(
            not any(form) or primitive(form) in interior.implicit for form in condition.vertices
        )
    )
    return Cone(conditions, width, lines, vectors, facets, carryable)


@dataclass(frozen=True, slots=True)
class ExtremeRays:
    """The extreme rays of the pointed part, as rows; ``order`` has its facets as they came in."""

    rows: tuple[Vector, ...]
    order: tuple[generators.LinearConstraint, ...]


def extreme_rays(cone: Cone, effort: generators.EnumerationBudget) -> ExtremeRays | None:
    """Return the extreme rays of the pointed part, or None past the effort."""
    if not cone.dimension:
        return ExtremeRays((), ())
    facets = [generators.LinearConstraint(form) for form in cone.facets]
    generator_sets = generators.enumerate_with_order(facets, cone.dimension, effort)
    if generator_sets is None:
        return None
    described, order = generator_sets
    assert not described.lines, "the pointed part has no lines"
    return ExtremeRays(tuple(primitive(cone.row(ray)) for ray in described.rays), order)


def vertices(
    cone: Cone, carried: frozenset[int], effort: generators.EnumerationBudget
) -> tuple[generators.RationalPoint, ...] | None:
    """Return the vertices of the rows that also carry some dependences, or None past the effort.

    Their coordinates at the pivots of the lines are 0, which makes them unique. No vertex at all
    means that no row carries these dependences.
    """
    return _vertices(
        cone,
        carried,
        lambda strong: generators.enumerate_generators(
            [*map(generators.LinearConstraint, cone.facets), *strong], cone.dimension, effort
        ),
    )


def vertices_from_rays(
    cone: Cone, carried: frozenset[int], known: ExtremeRays, effort: generators.EnumerationBudget
) -> tuple[generators.RationalPoint, ...] | None:
    """Return the same, in another order and sooner, since the rays are known under this effort."""
    return _vertices(
        cone,
        carried,
        lambda strong: generators.enumerate_incrementally(
            known.order, strong, cone.dimension, effort
        ),
    )


def _vertices(
    cone: Cone,
    carried: frozenset[int],
    describe_with: Callable[
        [tuple[generators.LinearConstraint, ...]], generators.GeneratorSet | None
    ],
) -> tuple[generators.RationalPoint, ...] | None:
    if not carried <= cone.carryable:
        return ()
    if not carried or not cone.dimension:
        return (generators.RationalPoint((0,) * cone.width),)
    generator_set = describe_with(cone.strong(carried))
    if generator_set is None:
        return None
    return tuple(
        generators.RationalPoint.of(cone.row(point.numerators), point.denominator)
        for point in generator_set.vertices
    )


def canonical_row(cone: Cone, row: Vector) -> Vector:
    """Return a row's primitive multiple moved along the lines until their pivots are 0."""
    return primitive(reduce_by_all(row, cone.lines))


def _distinct_forms(forms: Iterable[Vector]) -> tuple[Vector, ...]:
    """Return the forms that differ, up to a positive factor, zero left out, in a fixed order."""
    return tuple(dict.fromkeys(primitive(form) for form in forms if any(form)))


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
    library = generators.ppl_module()
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
