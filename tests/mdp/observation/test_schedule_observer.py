"""What an agent sees: exact numbers, nothing cut off that need not be, and nothing out of date."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.frontend.c import parse_text
from polygym.mdp.construction import ConstructionRules
from polygym.mdp.episode import Episode, Task
from polygym.mdp.observation.arrays import (
    LARGEST_NUMBER,
    MOST_STATEMENTS,
    OBSERVATION_VERSION,
    Array,
    decode_numbers,
    encode_numbers,
)
from polygym.mdp.observation.episode_arrays import (
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
    observation_arrays,
)
from polygym.mdp.observation.schedule_observer import Observer
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import Phase, TaskOptions
from polygym.poly.integer_vectors import Vector, echelon
from polygym.poly.spaces.exploration import combine_partial
from tests.c_programs import SMALL_PROGRAMS, kernel_scop

COEFFICIENTS = ("rows", "generator", "point")
EXACT = 2**19
# Points of these have coefficients beyond what fits 8 bits.
LARGE = ("lu", "cholesky", "fdtd-2d")


def states(task: Task, seed: int, rule: str = "uniform") -> Iterator[Episode]:
    generator, episode = np.random.default_rng(seed), task.start()
    while not episode.is_over:
        yield episode
        episode = episode.after(policy_named(rule)(episode, generator))
    yield episode


def allowed(episode: Episode) -> Array:
    return np.array(episode.mask(), bool)


def as_point(task: Task, table: Array) -> Vector:
    """Return the point that a table of coefficients shows."""
    layout, shown = (
        task.polyhedra.layout,
        decode_numbers(table).reshape(MOST_STATEMENTS, len(ROW_COLUMNS)),
    )
    values = [0] * layout.width
    for index, statement in enumerate(task.scop.statements):
        iterators, parameters, constant = layout.positions(statement.name)
        for column, place in enumerate(iterators):
            values[place] = int(shown[index, column])
        for column, place in enumerate(parameters):
            values[place] = int(shown[index, 6 + column])
        values[constant] = int(shown[index, 12])
    return tuple(values)


@given(st.lists(st.integers(-EXACT, EXACT), min_size=1))
def test_coefficients_come_back_exactly(values: list[int]) -> None:
    shown = encode_numbers(np.array(values))
    assert shown.dtype == np.float32
    assert decode_numbers(shown).tolist() == values


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_larger_ones_are_close_in_order_and_within_the_box(number: int, other: int) -> None:
    box = observation_arrays(4, 6)["rows"]
    first, second = encode_numbers(np.array(sorted((number, other))))
    assert box.low <= first <= second <= box.high
    if abs(number) <= LARGEST_NUMBER:
        back = int(decode_numbers(encode_numbers(np.array([number])))[0])
        assert abs(back - number) <= max(0.5, 2e-6 * abs(number))


def test_small_ones_are_themselves_and_the_largest_meets_the_bound() -> None:
    values = np.array([0, 1, -1, 3, -7, LARGEST_NUMBER, -LARGEST_NUMBER, LARGEST_NUMBER + 1, 2**62])
    assert encode_numbers(values).tolist() == [0, 1, -1, 2, -3, 32, -32, 32, 32]
    assert np.signbit(encode_numbers(np.array([0]))).tolist() == [False]


def test_the_version_and_the_types_are_stated() -> None:
    array_specs = observation_arrays(4, 6)
    assert OBSERVATION_VERSION == 3
    assert {name: table.dtype for name, table in array_specs.items()} == {
        "progress": np.float32,
        "remaining": np.int32,
        "dependences": np.int8,
        "statements": np.int8,
        "rows": np.float32,
        "generator": np.float32,
        "point": np.float32,
        "action_mask": np.int8,
    }


@pytest.mark.parametrize("name", LARGE)
def test_nothing_is_cut_off_and_every_number_can_be_read(name: str) -> None:
    task = Task(kernel_scop(name))
    observer = Observer(task)
    largest = 0
    both = (episode for seed in (3, 4) for episode in states(task, seed))
    for number, episode in enumerate(both):
        if episode.phase is Phase.CONSTRUCT or (number % 5 and not episode.is_over):
            continue
        seen = observer.observe(episode, allowed(episode))
        points = episode.exploration.points
        shown = seen["rows"].reshape(task.options.max_dimensions, -1)
        assert [as_point(task, row) for row in shown[: len(points)]] == list(points)
        assert not shown[len(points) :].any()
        if episode.phase is Phase.EXPLORE:
            known = episode.dimensions[len(points)].generators
            coefficients = episode.exploration.coefficients
            vertices = known.vertices if len(known.vertices) > 1 else ()
            generators = [*(rational_point.numerators for rational_point in vertices), *known.rays]
            assert as_point(task, seen["generator"]) == generators[len(coefficients)]
            total = [
                sum(c * v for c, v in zip(coefficients, column, strict=False))
                for column in zip(*generators, strict=True)
            ]
            if not vertices:
                total = [a + b for a, b in zip(total, known.vertices[0].numerators, strict=True)]
            assert as_point(task, seen["point"]) == tuple(total)
        else:
            assert not seen["generator"].any()
            assert not seen["point"].any()
        largest = max(largest, *(abs(value) for point in points for value in point), 0)
    assert largest > 127


def test_numbers_without_bounds_are_cut_off_at_the_largest() -> None:
    task = Task(
        parse_text(SMALL_PROGRAMS["y_ax"], file="y_ax.c"), TaskOptions(max_coefficient=1000)
    )
    *_, last = states(task, 0)
    huge = tuple(2**70 if place % 2 else -(2**90) for place in range(task.polyhedra.layout.width))
    exploration = replace(last.exploration, points=(huge, *last.exploration.points[1:]))
    seen = Observer(task).observe(replace(last, exploration=exploration), allowed(last))
    assert set(np.abs(seen["rows"][: MOST_STATEMENTS * len(ROW_COLUMNS)]).tolist()) == {0.0, 32.0}


@pytest.mark.parametrize("name", ["lu", "correlation", "trisolv", "jacobi-1d", "gesummv"])
def test_what_is_remembered_is_what_is_computed(name: str) -> None:
    """An observer and rules that have seen other episodes say what fresh ones say."""
    task = Task(kernel_scop(name))
    used = Observer(task)
    for seed in range(2):
        for episode in states(task, seed):
            used.observe(episode, allowed(episode))
    rng = np.random.default_rng(1)
    for seed in range(3):
        for episode in states(task, seed):
            if rng.random() > 0.1:
                continue
            fresh = replace(episode, task=Task(task.scop, task.options))
            rules = ConstructionRules(task.polyhedra, task.rules.dimensions, task.rules.candidates)
            if episode.phase is Phase.CONSTRUCT:
                assert episode.mask()[:3] == rules.mask(episode.construction)
                assert rules.remaining(episode.construction) == _left(rules, episode)
            observation = used.observe(episode, allowed(episode))
            expected = Observer(fresh.task).observe(episode, np.array(replace(episode).mask()))
            for key, array in expected.items():
                assert np.array_equal(observation[key], array), key
                assert observation[key].dtype == array.dtype


def _left(rules: ConstructionRules, episode: Episode) -> frozenset[int]:
    """Return the dependences that no dimension before this one carries, by the definition."""
    state = episode.construction
    carried = {
        index
        for index, by in zip(rules.candidates, state.carrying_dimension, strict=True)
        if 0 < by < state.dimension
    }
    return frozenset(range(len(rules.polyhedra.dependences))) - carried


@pytest.mark.parametrize("name", ["lu", "gemm", "jacobi-2d"])
def test_ranks_are_those_of_the_finished_rows(name: str) -> None:
    task = Task(kernel_scop(name))
    observer, layout = Observer(task), task.polyhedra.layout
    column = STATEMENT_COLUMNS.index("rank")
    for episode in states(task, 1, "bias_coeff_0"):
        table = observer.observe(episode, allowed(episode))["statements"]
        ranks = table.reshape(MOST_STATEMENTS, -1)[:, column]
        for index, statement in enumerate(task.scop.statements):
            rows = [
                layout.row(point, statement.name).iterators for point in episode.exploration.points
            ]
            assert ranks[index] == len(echelon(rows))


def test_an_observation_can_be_written_into() -> None:
    task = Task(kernel_scop("mvt"))
    observer = Observer(task)
    for episode in states(task, 0):
        first = observer.observe(episode, allowed(episode))
        kept = {key: array.copy() for key, array in first.items()}
        for array in first.values():
            array[:] = 1
        second = observer.observe(episode, allowed(episode))
        assert all(np.array_equal(second[key], kept[key]) for key in kept)


def test_a_point_so_far_is_the_sum_that_is_shown() -> None:
    task = Task(kernel_scop("jacobi-1d"))
    generator = np.random.default_rng(0)
    episode = play_episode(
        task.start(),
        policy_named("earliest"),
        generator,
        lambda state: state.phase is Phase.EXPLORE,
    )
    known = episode.dimensions[0].generators
    assert len(known.vertices) == 1
    episode = play_episode(
        episode, policy_named("uniform"), generator, lambda state: len(state.actions) % 7 == 6
    )
    exact = combine_partial(known, episode.exploration.coefficients)
    assert exact is not None
    shown = as_point(task, Observer(task).observe(episode, allowed(episode))["point"])
    assert tuple(map(Fraction, shown)) == exact
