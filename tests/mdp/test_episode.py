"""The processes keep their promises: no dead end, an end, and legal schedules only."""

import copy
import pickle
from collections import deque
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

import polybench
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mdp.construction import (
    ConstructionAction,
    ConstructionRules,
    ConstructionState,
    EmptyPolyhedron,
)
from polygym.mdp.episode import MOST_ILLEGAL_ACTIONS, Episode, Task
from polygym.mdp.policies.registry import POLICIES, play_episode, policy_named
from polygym.mdp.task_options import Phase, TaskOptions
from polygym.poly.dependences import union_of
from polygym.poly.legality import find_violation
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.polyhedra import RowPolyhedra
from tests.c_programs import SMALL_PROGRAMS, kernel_scop

KERNELS = [kernel.name for kernel in polybench.KERNELS]
COPY = """
void copy(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) b[i] = a[i];
#pragma endscop
}
"""
SCALAR = "void one(double a[1]) {\n#pragma scop\n  a[0] = 1.0;\n#pragma endscop\n}\n"


def small(name: str) -> Scop:
    return parse_text(SMALL_PROGRAMS[name], file=f"{name}.c")


def is_injective(scop: Scop, schedule: Schedule) -> bool:
    domain = union_of(isl.UnionSet(statement.domain) for statement in scop.statements)
    return bool(isl.UnionMap(str(schedule)).intersect_domain(domain).is_injective())


def check_complete(episode: Episode) -> None:
    assert episode.phase is Phase.COMPLETE
    assert not any(episode.mask())
    schedule = episode.schedule()
    assert find_violation(episode.task.scop, schedule) is None
    assert is_injective(episode.task.scop, schedule)


@pytest.mark.rotates
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["y_ax", "downward", "strided", "triangular_guarded"])
def test_every_reachable_state_goes_on(name: str, dimensions: int) -> None:
    """All states that the mask allows to reach are walked; the longest way is within the bound."""
    rules = ConstructionRules.of(RowPolyhedra(small(name)), dimensions)
    if len(rules.candidates) > 4:
        rules = replace(rules, candidates=rules.candidates[:4])
    depths: dict[ConstructionState, int] = {rules.initial(): 0}
    waiting = deque([rules.initial()])
    accepted = 0
    while waiting:
        state = waiting.popleft()
        if rules.is_accepting(state):
            accepted += 1
            assert not any(rules.mask(state))
            assert rules.decided_dimensions(state) <= rules.dimensions
            continue
        mask = rules.mask(state)
        assert any(mask), f"a dead end at {state}"
        for action in ConstructionAction:
            following = rules.step(state, action)
            if not mask[action.value]:
                continue
            assert isinstance(following, ConstructionState), f"{action} at {state}"
            if depths.get(following, -1) < depths[state] + 1:
                depths[following] = depths[state] + 1
                assert depths[following] <= rules.step_bound
                waiting.append(following)
    assert accepted


@pytest.mark.rotates
@pytest.mark.parametrize("rule", ["uniform", "bias_coeff_0", "bias_select_dep"])
@pytest.mark.parametrize("name", KERNELS)
def test_random_episodes_of_every_kernel_are_legal(name: str, rule: str) -> None:
    task = Task(kernel_scop(name))
    for seed in range(3):
        episode = play_episode(task.start(), policy_named(rule), np.random.default_rng(seed))
        explored = sum(dimension.generators.coefficient_count for dimension in episode.dimensions)
        assert len(episode.actions) - explored <= task.rules.step_bound
        check_complete(episode)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KERNELS)
def test_thousands_of_random_episodes_are_legal(name: str) -> None:
    task = Task(kernel_scop(name))
    for seed in range(70):
        check_complete(
            play_episode(task.start(), policy_named("uniform"), np.random.default_rng(seed))
        )


@pytest.mark.rotates
@pytest.mark.parametrize("name", SMALL_PROGRAMS)
@pytest.mark.parametrize("rule", POLICIES)
def test_policies_follow_the_mask(name: str, rule: str) -> None:
    episode, generator = Task(small(name)).start(), np.random.default_rng(3)
    while not episode.is_over:
        action = policy_named(rule)(episode, generator)
        assert episode.mask()[action]
        episode = episode.after(action)
    check_complete(episode)


@pytest.mark.parametrize("name", ["y_ax", "strided", "periodic", "triangular_guarded"])
def test_any_mixture_of_actions_ends_without_an_exception(name: str) -> None:
    task = Task(small(name))
    for seed in range(30):
        generator = np.random.default_rng(seed)
        episode = task.start()
        share = generator.random()
        while not episode.is_over:
            assert any(episode.mask())
            if generator.random() < share:
                action = int(generator.integers(task.options.actions))
            else:
                action = policy_named("uniform")(episode, generator)
            episode = episode.after(action)
            assert len(episode.actions) < 10_000
        if episode.phase is Phase.COMPLETE:
            check_complete(episode)
        else:
            assert episode.reason


def test_actions_that_are_not_offered_change_nothing_but_their_number() -> None:
    episode = Task(small("y_ax")).start()
    for count in range(1, MOST_ILLEGAL_ACTIONS):
        following = episode.after(3)
        assert following == replace(episode, actions=(*episode.actions, 3), illegal_count=count)
        episode = following
    episode = episode.after(3)
    assert episode.phase is Phase.INVALID
    assert "100" in episode.reason


def test_selecting_what_no_row_can_carry_empties_the_polyhedron() -> None:
    task = Task(kernel_scop("doitgen"))
    rules, state = task.rules, task.rules.initial()
    bad = next(k for k in rules.candidates if k not in rules.carryable(state))
    number = rules.candidates.index(bad) + 1
    state = replace(state, dependence=number)
    assert not rules.mask(state)[2]
    assert isinstance(rules.step(state, ConstructionAction.SELECT_DEP), EmptyPolyhedron)
    assert task.polyhedra.generators(rules.remaining(state), frozenset({bad})).is_empty


@pytest.mark.parametrize("name", ["correlation", "cholesky", "lu"])
def test_some_vertex_gets_a_coefficient(name: str) -> None:
    episode = Task(kernel_scop(name)).start()
    generator = np.random.default_rng(0)
    episode = play_episode(
        episode, policy_named("earliest"), generator, lambda current: current.phase is Phase.EXPLORE
    )
    vertices = len(episode.dimensions[0].generators.vertices)
    assert vertices > 1
    for _ in range(vertices - 1):
        episode = episode.after(3)
    assert episode.mask() == (False, False, False, False, True, True)
    assert episode.after(3).phase is Phase.INVALID
    check_complete(play_episode(episode.after(4), policy_named("uniform"), generator))


def test_a_program_without_dependences_has_free_dimensions() -> None:
    episode = Task(parse_text(COPY, file="copy.c")).start()
    assert episode.mask()[:3] == (True, False, False)
    episode = episode.after(0)
    assert episode.phase is Phase.EXPLORE
    assert [len(dimension.generators.rays) for dimension in episode.dimensions] == [6]
    check_complete(play_episode(episode, policy_named("uniform"), np.random.default_rng(1)))


def test_a_program_without_loops() -> None:
    task = Task(parse_text(SCALAR, file="one.c"))
    for seed in range(3):
        check_complete(
            play_episode(task.start(), policy_named("uniform"), np.random.default_rng(seed))
        )


def test_what_is_never_carried_is_ordered_by_the_completion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = Task(kernel_scop("gemm"))
    forbidden = frozenset({1})
    usual = RowPolyhedra.carryable
    monkeypatch.setattr(RowPolyhedra, "carryable", lambda self, left: usual(self, left) - forbidden)
    assert task.polyhedra.never_carried == forbidden
    for seed in range(5):
        check_complete(
            play_episode(task.start(), policy_named("uniform"), np.random.default_rng(seed))
        )


@pytest.mark.parametrize("largest", [1, 5])
def test_other_numbers_of_coefficients(largest: int) -> None:
    task = Task(small("y_ax"), TaskOptions(max_coefficient=largest, max_dimensions=2))
    assert len(task.start().mask()) == 4 + largest
    for seed in range(5):
        check_complete(
            play_episode(task.start(), policy_named("uniform"), np.random.default_rng(seed))
        )


def test_a_program_gets_the_dimensions_that_it_needs() -> None:
    task = Task(kernel_scop("symm"), TaskOptions(max_dimensions=1))
    assert task.rules.dimensions == 3
    check_complete(play_episode(task.start(), policy_named("uniform"), np.random.default_rng(0)))


@pytest.mark.parametrize(
    "options",
    [
        {"max_coefficient": 0},
        {"max_coefficient": 1001},
        {"max_dimensions": 0},
        {"max_dimensions": 33},
    ],
)
def test_sizes_that_make_no_process_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        TaskOptions(**options)


def test_two_continuations_do_not_disturb_each_other() -> None:
    generator = np.random.default_rng(2)
    task = Task(small("y_ax"))
    middle = play_episode(
        task.start(), policy_named("uniform"), generator, lambda episode: len(episode.actions) == 12
    )
    before = copy.deepcopy(middle.actions)
    first = play_episode(middle, policy_named("uniform"), np.random.default_rng(1)).schedule()
    play_episode(middle, policy_named("uniform"), np.random.default_rng(2))
    assert middle.actions == before
    assert (
        play_episode(middle, policy_named("uniform"), np.random.default_rng(1)).schedule() == first
    )


def test_an_episode_can_be_pickled() -> None:
    middle = play_episode(
        Task(small("y_ax")).start(),
        policy_named("uniform"),
        np.random.default_rng(0),
        lambda episode: episode.phase is Phase.EXPLORE,
    )
    again = pickle.loads(pickle.dumps(middle))
    rest = np.random.default_rng(0), np.random.default_rng(0)
    schedules = [
        play_episode(start, policy_named("uniform"), rng).schedule()
        for start, rng in zip((middle, again), rest, strict=True)
    ]
    assert schedules[0] == schedules[1]


def test_an_episode_that_has_ended_takes_no_action() -> None:
    ended = play_episode(
        Task(small("y_ax")).start(), policy_named("earliest"), np.random.default_rng(0)
    )
    with pytest.raises(InputError, match="ended"):
        ended.after(0)
    with pytest.raises(InputError, match="0 to 5"):
        Task(small("y_ax")).start().after(6)
