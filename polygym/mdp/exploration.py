"""The process that explores a schedule space: which coefficient every generator gets.

The state is the vector of all coefficients, first dimension first, in every dimension vertices
before rays, undecided (⊥) behind the ones that are decided. The action select_coeffX gives the
first undecided one the value X in {0 … N}. A dimension with a single vertex has no coefficient for
it. When a dimension's last coefficient is decided its point is a fact
(:func:`polygym.poly.spaces.exploration.combine_generators`); when all are, the process ends.

The only invalid end is a dimension with several vertices whose coefficients are all 0. The mask
therefore forbids 0 for the last vertex if all before it got 0. Every other action is always
allowed, and each decides one coefficient, so an episode takes exactly as many steps as the space
has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygym.poly.integer_vectors import Vector
from polygym.poly.spaces.construction import SpaceDimension
from polygym.poly.spaces.exploration import combine_generators


@dataclass(frozen=True, slots=True)
class ExplorationState:
    """A state: the points of the finished dimensions and the coefficients of the current one."""

    points: tuple[Vector, ...] = ()
    coefficients: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ZeroPoint:
    """All vertices of a dimension got the coefficient 0: the end."""

    reason: str


ExplorationStep: TypeAlias = ExplorationState | ZeroPoint


def initial_exploration(dimensions: Sequence[SpaceDimension]) -> ExplorationState:
    """Return the first state; dimensions without any choice are decided at once."""
    return _skip_forced(dimensions, ExplorationState())


def is_exploration_finished(dimensions: Sequence[SpaceDimension], state: ExplorationState) -> bool:
    """Whether every dimension has its point."""
    return len(state.points) == len(dimensions)


def coefficient_mask(
    dimensions: Sequence[SpaceDimension], state: ExplorationState, largest: int
) -> tuple[bool, ...]:
    """Return which of the coefficients 0 … ``largest`` are allowed."""
    if is_exploration_finished(dimensions, state):
        return (False,) * (largest + 1)
    return (not _leaves_no_vertex(dimensions, state, 0), *(True,) * largest)


def explore_step(
    dimensions: Sequence[SpaceDimension], state: ExplorationState, coefficient: int
) -> ExplorationStep:
    """Return the state after the next undecided coefficient gets a value."""
    current = dimensions[len(state.points)].generators
    if _leaves_no_vertex(dimensions, state, coefficient):
        return ZeroPoint(
            f"all {len(current.vertices)} vertices of dimension {len(state.points) + 1} have the "
            "coefficient 0"
        )
    coefficients = (*state.coefficients, coefficient)
    if len(coefficients) < current.coefficient_count:
        return ExplorationState(state.points, coefficients)
    point = combine_generators(current, coefficients)
    assert point is not None, "a vertex with a positive coefficient makes a point"
    return _skip_forced(dimensions, ExplorationState((*state.points, point)))


def _leaves_no_vertex(
    dimensions: Sequence[SpaceDimension], state: ExplorationState, coefficient: int
) -> bool:
    vertices = len(dimensions[len(state.points)].generators.vertices)
    is_last_vertex = vertices > 1 and len(state.coefficients) == vertices - 1
    return is_last_vertex and not coefficient and not any(state.coefficients)


def _skip_forced(dimensions: Sequence[SpaceDimension], state: ExplorationState) -> ExplorationState:
    """Decide the dimensions that have a single vertex and no ray."""
    while len(state.points) < len(dimensions):
        current = dimensions[len(state.points)].generators
        if current.coefficient_count:
            break
        point = combine_generators(current, ())
        assert point is not None, "a constructed dimension has a vertex"
        state = ExplorationState((*state.points, point))
    return state
