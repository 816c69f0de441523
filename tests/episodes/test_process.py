"""The processes keep their promises: no dead end, an end, and legal schedules only."""

import copy
import pickle
from collections import deque
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

import polybench
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import union
from polygym.compiler.poly.legality import find_violation
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.spaces.polyhedra import Polyhedra
from polygym.episodes.construction import (
    Construction,
    ConstructionAction,
    ConstructionRules,
    Emptied,
)
from polygym.episodes.episode import MOST_ILLEGAL_ACTIONS, Episode, Task
from polygym.episodes.policies import POLICIES, play, policy
from polygym.episodes.task_options import Phase, TaskOptions
from polygym.errors import InputError
from tests.sources import SMALL_PROGRAMS, kernel_scop

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
    domain = union(isl.UnionSet(statement.domain) for statement in scop.statements)
    return bool(isl.UnionMap(str(schedule)).intersect_domain(domain).is_injective())


def check_complete(episode: Episode) -> None:
    assert episode.phase is Phase.COMPLETE
    assert not any(episode.mask())
    schedule = episode.schedule()
    assert find_violation(episode.task.scop, schedule) is None
    assert is_injective(episode.task.scop, schedule)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["y_ax", "downward", "strided", "triangular_guarded"])
def test_every_reachable_state_goes_on(name: str, dimensions: int) -> None:
    """All states that the mask allows to reach are walked; the longest way is within the bound."""
    rules = ConstructionRules.of(Polyhedra(small(name)), dimensions)
    if len(rules.candidates) > 4:
        rules = replace(rules, candidates=rules.candidates[:4])
    depths: dict[Construction, int] = {rules.initial(): 0}
    waiting = deque([rules.initial()])
    accepted = 0
    while waiting:
        state = waiting.popleft()
        if rules.is_accepting(state):
            accepted += 1
            assert not any(rules.mask(state))
            assert rules.closed(state) <= rules.dimensions
            continue
        mask = rules.mask(state)
        assert any(mask), f"a dead end at {state}"
        for action in ConstructionAction:
            following = rules.step(state, action)
            if not mask[action.value]:
                continue
            assert isinstance(following, Construction), f"{action} at {state}"
            if depths.get(following, -1) < depths[state] + 1:
                depths[following] = depths[state] + 1
                assert depths[following] <= rules.step_bound
                waiting.append(following)
    assert accepted


@pytest.mark.parametrize("rule", ["uniform", "bias_coeff_0", "bias_select_dep"])
@pytest.mark.parametrize("name", KERNELS)
def test_random_episodes_of_every_kernel_are_legal(name: str, rule: str) -> None:
    task = Task(kernel_scop(name))
    for seed in range(3):
        episode = play(task.start(), policy(rule), np.random.default_rng(seed))
        explored = sum(one.generators.choices for one in episode.dimensions)
        assert len(episode.actions) - explored <= task.rules.step_bound
        check_complete(episode)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KERNELS)
def test_thousands_of_random_episodes_are_legal(name: str) -> None:
    task = Task(kernel_scop(name))
    for seed in range(70):
        check_complete(play(task.start(), policy("uniform"), np.random.default_rng(seed)))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
@pytest.mark.parametrize("rule", POLICIES)
def test_policies_follow_the_mask(name: str, rule: str) -> None:
    episode, generator = Task(small(name)).start(), np.random.default_rng(3)
    while not episode.is_over:
        action = policy(rule)(episode, generator)
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
                action = policy("uniform")(episode, generator)
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
        assert following == replace(episode, actions=(*episode.actions, 3), illegal=count)
        episode = following
    episode = episode.after(3)
    assert episode.phase is Phase.INVALID
    assert "100" in episode.reason


def test_selecting_what_no_row_can_carry_empties_the_polyhedron() -> None:
    task = Task(kernel_scop("doitgen"))
    rules, state = task.rules, task.rules.initial()
    bad = next(k for k in rules.candidates if k not in rules.can_be_carried(state))
    number = rules.candidates.index(bad) + 1
    state = replace(state, dependence=number)
    assert not rules.mask(state)[2]
    assert isinstance(rules.step(state, ConstructionAction.SELECT_DEP), Emptied)
    assert task.polyhedra.generators(rules.left(state), frozenset({bad})).is_empty


@pytest.mark.parametrize("name", ["correlation", "cholesky", "lu"])
def test_some_vertex_gets_a_coefficient(name: str) -> None:
    episode = Task(kernel_scop(name)).start()
    generator = np.random.default_rng(0)
    episode = play(episode, policy("earliest"), generator, lambda one: one.phase is Phase.EXPLORE)
    vertices = len(episode.dimensions[0].generators.vertices)
    assert vertices > 1
    for _ in range(vertices - 1):
        episode = episode.after(3)
    assert episode.mask() == (False, False, False, False, True, True)
    assert episode.after(3).phase is Phase.INVALID
    check_complete(play(episode.after(4), policy("uniform"), generator))


def test_a_program_without_dependences_has_free_dimensions() -> None:
    episode = Task(parse_text(COPY, file="copy.c")).start()
    assert episode.mask()[:3] == (True, False, False)
    episode = episode.after(0)
    assert episode.phase is Phase.EXPLORE
    assert [len(one.generators.rays) for one in episode.dimensions] == [6]
    check_complete(play(episode, policy("uniform"), np.random.default_rng(1)))


def test_a_program_without_loops() -> None:
    task = Task(parse_text(SCALAR, file="one.c"))
    for seed in range(3):
        check_complete(play(task.start(), policy("uniform"), np.random.default_rng(seed)))


def test_what_is_never_carried_is_ordered_by_the_completion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = Task(kernel_scop("gemm"))
    forbidden = frozenset({1})
    usual = Polyhedra.carryable
    monkeypatch.setattr(Polyhedra, "carryable", lambda self, left: usual(self, left) - forbidden)
    assert task.polyhedra.never_carried == forbidden
    for seed in range(5):
        check_complete(play(task.start(), policy("uniform"), np.random.default_rng(seed)))


@pytest.mark.parametrize("largest", [1, 5])
def test_other_numbers_of_coefficients(largest: int) -> None:
    task = Task(small("y_ax"), TaskOptions(max_coefficient=largest, max_dimensions=2))
    assert len(task.start().mask()) == 4 + largest
    for seed in range(5):
        check_complete(play(task.start(), policy("uniform"), np.random.default_rng(seed)))


def test_a_program_gets_the_dimensions_that_it_needs() -> None:
    task = Task(kernel_scop("symm"), TaskOptions(max_dimensions=1))
    assert task.rules.dimensions == 3
    check_complete(play(task.start(), policy("uniform"), np.random.default_rng(0)))


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
    middle = play(task.start(), policy("uniform"), generator, lambda one: len(one.actions) == 12)
    before = copy.deepcopy(middle.actions)
    first = play(middle, policy("uniform"), np.random.default_rng(1)).schedule()
    play(middle, policy("uniform"), np.random.default_rng(2))
    assert middle.actions == before
    assert play(middle, policy("uniform"), np.random.default_rng(1)).schedule() == first


def test_an_episode_can_be_pickled() -> None:
    middle = play(
        Task(small("y_ax")).start(),
        policy("uniform"),
        np.random.default_rng(0),
        lambda one: one.phase is Phase.EXPLORE,
    )
    again = pickle.loads(pickle.dumps(middle))
    rest = np.random.default_rng(0), np.random.default_rng(0)
    schedules = [
        play(one, policy("uniform"), dice).schedule()
        for one, dice in zip((middle, again), rest, strict=True)
    ]
    assert schedules[0] == schedules[1]


def test_an_episode_that_has_ended_takes_no_action() -> None:
    ended = play(Task(small("y_ax")).start(), policy("earliest"), np.random.default_rng(0))
    with pytest.raises(InputError, match="ended"):
        ended.after(0)
    with pytest.raises(InputError, match="0 to 5"):
        Task(small("y_ax")).start().after(6)
