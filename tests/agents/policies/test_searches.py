"""Searches find the best where everything can be enumerated, and keep to what is allowed."""

from __future__ import annotations

import re
import weakref
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.agents.evaluation.results import read_results
from polygym.agents.experiments.reading import parse_experiment
from polygym.agents.policies import BeamSearch, RulePolicy, TreeSearch, run_episode
from polygym.agents.policies.env_policy import inner_env
from polygym.agents.policies.guide import scaled_value, uniform_guide
from polygym.agents.policies.tree_search import ActionValueRange
from polygym.agents.trainers.training import train_experiment
from polygym.cli import dispatch
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError
from polygym.mdp.episode import Episode
from polygym.mdp.task_options import Phase


def made(kernel: str, id: str = "polygym/Explore-v0", **arguments: Any) -> Any:
    given = {"reward": "static", "dataset": "mini", **arguments}
    return gymnasium.make(f"polygym:{id}", kernel=kernel, **given)


def neutral(env: PolygymEnv, episode: Episode) -> tuple[np.ndarray, float]:
    """Know nothing, and expect neither much nor little of the static score."""
    return uniform_guide(env, episode)[0], 0.5


def ends(env: PolygymEnv) -> list[float]:
    """Return what all ends are worth that can be reached from the environment's state."""
    result, left = [], [env.episode]
    while left:
        episode = left.pop()
        if episode.is_over:
            result.append(env.worth(episode))
            continue
        allowed = [place for place, may in enumerate(env.allowed(episode)) if may]
        left += [env.following(episode, action) for action in allowed]
    return result


def rows_to_go(env: PolygymEnv, actions: int) -> None:
    """Take the largest coefficients until no more than so many actions are left."""
    while True:
        if len(ends_below(env, 3**actions)) <= 3**actions:
            return
        allowed = np.flatnonzero(env.allowed(env.episode))
        env.step(int(allowed[-1]))


def ends_below(env: PolygymEnv, most: int) -> list[Episode]:
    """Return the ends behind a state, or a few more than so many of them."""
    result, left = [], [env.episode]
    while left and len(result) <= most:
        episode = left.pop()
        if episode.is_over:
            result.append(episode)
            continue
        allowed = [place for place, may in enumerate(env.allowed(episode)) if may]
        left += [env.following(episode, action) for action in allowed]
    return result


@pytest.mark.parametrize("kernel", ["mvt", "trisolv", "atax", "gemm", "gesummv"])
@pytest.mark.parametrize("left", [4, 5])
def test_the_best_of_a_small_space_is_found(kernel: str, left: int) -> None:
    env = made(kernel)
    env.reset(seed=0)
    own = inner_env(env)
    rows_to_go(own, left)
    every = ends(own)
    assert 20 < len(every) <= 3**left
    assert min(every) < max(every)
    search, over, value = TreeSearch(neutral, 200), False, 0.0
    while not over:
        _, value, over, _, _ = env.step(search(env, {}))
    assert value == max(every)


def test_the_worked_example_of_puct() -> None:
    """Two simulations take the likelier action, the third the other, which is better."""
    env = made("mvt", "polygym/Optimize-v0", features=False)
    env.reset(seed=0)
    own = inner_env(env)
    while own.episode.phase is not Phase.MAP:
        env.step(int(np.flatnonzero(own.allowed(own.episode))[0]))
    first = own.problem.options.first_answer

    def guide(env: PolygymEnv, episode: Episode) -> tuple[np.ndarray, float]:
        priors = np.zeros(env.action_space.n)
        is_root = episode.actions == own.episode.actions
        priors[[first, first + 2]] = (0.7, 0.3)
        last = 0.0 if is_root or episode.actions[len(own.episode.actions)] == first else 1.0
        return priors, last

    def visits(count: int) -> list[float]:
        array = TreeSearch(guide, count, exploration=1.0).visit_distribution(own)
        return (count * array[[first, first + 2]]).round(6).tolist()

    assert visits(2) == [2, 0]
    assert visits(3) == [2, 1]
    assert visits(20)[1] >= 17


def test_values_are_moved_between_the_bounds() -> None:
    bounds = ActionValueRange()
    assert bounds.normalized(np.array([3.0, 4.0])).tolist() == [0.5, 0.5]
    bounds.include(-2.0)
    bounds.include(2.0)
    assert bounds.normalized(np.array([-2.0, 0.0, 1.0])).tolist() == [0.0, 0.5, 0.75]


def test_rewards_of_any_scale_are_searched_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def actions(factor: float) -> tuple[int, ...]:
        env = made("trisolv")
        worth = PolygymEnv.worth
        # The scale of values bends what is large; what is small stays in proportion.
        with monkeypatch.context() as patch:
            patch.setattr(PolygymEnv, "worth", lambda env, episode: factor * worth(env, episode))
            run_episode(env, TreeSearch(uniform_guide, 40), seed=0)
        return inner_env(env).episode.actions

    assert actions(1e-6) == actions(1e-9)
    assert scaled_value(-3.0) == -2.0


def test_nothing_is_taken_that_is_not_allowed() -> None:
    for id in ("Construct-v0", "Explore-v0", "Schedule-v0", "Optimize-v0"):
        start = {"start": "isl", "features": False} if id == "Optimize-v0" else {}
        for policy in (
            TreeSearch(uniform_guide, 8, noise=0.5, temperature=1.0),
            BeamSearch(uniform_guide, 3),
        ):
            env = made("mvt", f"polygym/{id}", **start)
            run_episode(env, policy, seed=1)
            assert inner_env(env).episode.illegal_count == 0
            assert inner_env(env).episode.phase is Phase.COMPLETE


def test_what_was_found_is_kept_and_ends_are_asked_for_once() -> None:
    env, asked = made("mvt"), []

    def counting(env: PolygymEnv, episode: Episode) -> tuple[np.ndarray, float]:
        asked.append(episode.actions)
        return uniform_guide(env, episode)

    run_episode(env, TreeSearch(counting, 30), seed=0)
    assert len(set(asked)) == len(asked)


def test_a_beam_of_one_takes_the_likeliest_and_a_wide_one_everything() -> None:
    def first(env: PolygymEnv, episode: Episode) -> tuple[np.ndarray, float]:
        priors, value = uniform_guide(env, episode)
        priors[np.flatnonzero(priors)[0]] += 1.0
        return priors / priors.sum(), value

    env = made("mvt", "polygym/Schedule-v0")
    lazy = run_episode(env, BeamSearch(first, 1), seed=0)
    env.reset(seed=0)
    own, over, value = inner_env(env), False, 0.0
    while not over:
        _, value, over, _, _ = env.step(int(np.flatnonzero(own.allowed(own.episode))[0]))
    assert lazy.reward == value
    env = made("trisolv")
    env.reset(seed=0)
    rows_to_go(inner_env(env), 4)
    best = max(ends(inner_env(env)))
    beam, over = BeamSearch(uniform_guide, 3**5), False
    while not over:
        _, value, over, _, _ = env.step(beam(env, {}))
    assert value == best


def test_a_beam_keeps_no_more_states_than_it_is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[weakref.ref[Episode]] = []
    following, width, most, asked = PolygymEnv.following, 20, 0, 0

    def counted(env: PolygymEnv, episode: Episode, place: int) -> Episode:
        result = following(env, episode, place)
        states.append(weakref.ref(result))
        return result

    def watching(env: PolygymEnv, episode: Episode) -> tuple[np.ndarray, float]:
        nonlocal most, asked
        most, asked = max(most, sum(state() is not None for state in states)), asked + 1
        return uniform_guide(env, episode)

    monkeypatch.setattr(PolygymEnv, "following", counted)
    env = made("gemm", "polygym/Schedule-v0")
    env.reset(seed=0)
    BeamSearch(watching, width)(env, {})
    assert width < most <= 2 * width + 1  # the one that is asked about belongs to neither level
    assert asked > 20 * width
    assert len(states) < 1.1 * asked  # what leaves the beam at once is not even made


def test_the_environment_stays_as_it_is() -> None:
    env = made("mvt", "polygym/Schedule-v0", policy="uniform")
    env.reset(seed=4)
    own = inner_env(env)
    before, state = own.episode, own.np_random.bit_generator.state
    TreeSearch(uniform_guide, 20)(env, {})
    BeamSearch(uniform_guide, 2)(env, {})
    assert own.episode is before
    assert own.np_random.bit_generator.state == state
    with pytest.raises(InputError, match="expected one that is over, found construct"):
        own.worth(before)


def test_the_worth_of_an_end_is_what_is_paid_for_it() -> None:
    for reward in ("static", "model"):
        env = made("gemm", "polygym/Schedule-v0", reward=reward)
        ending = run_episode(env, RulePolicy("bias_coeff_0", 3), seed=2)
        assert inner_env(env).worth(inner_env(env).episode) == ending.reward


# The command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("trained")
    for algorithm, given in (
        ("expert-iteration", {"simulations": 4, "updates": 2}),
        ("ppo", {"n_steps": 16, "batch_size": 16, "n_epochs": 1}),
        ("dqn", {"buffer_size": 64, "learning_starts": 8}),
    ):
        own = {
            "algorithm": algorithm,
            "network": "mlp",
            "kernels": "mvt",
            "steps": 16,
            "every": 16,
            "arguments": {"reward": "static", "dataset": "mini"},
            "hyperparameters": given,
        }
        train_experiment(
            parse_experiment({"polygym/Schedule-v0": own}, "x"),
            path / algorithm,
            lambda text: None,
        )
    return path


@pytest.mark.parametrize("algorithm", ["expert-iteration", "ppo"])
def test_networks_look_ahead(folder: Path, algorithm: str, tmp_path: Path, capsys: Any) -> None:
    rewards, names, file = [], [], tmp_path / "x.jsonl"
    for more in ([], ["--simulations", "24"], ["--beam-width", "6"]):
        given = [str(folder / algorithm), "--programs", "mvt", *more, "--out", str(file)]
        assert dispatch.run(["evaluate", *given]) == 0
        rewards.append(float(capsys.readouterr().out.split("\n")[1].split()[1]))
        names += [result_line.agent for result_line in read_results(file)]
    plain = str(folder / algorithm)
    assert names == [
        plain,
        f"{plain} --simulations 24",
        f"{plain} --beam-width 6",
    ]  # three to be compared
    assert all(0 < reward <= 1 for reward in rewards[1:])  # PPO alone knows no mask


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["earliest", "--simulations", "3"],
            "--simulations: expected the folder of a training, .* earliest",
        ),
        (
            ["uniform", "--beam-width", "3"],
            "--beam-width: expected the folder of a training, .* uniform",
        ),
        (
            ["ppo", "--simulations", "0"],
            "'--simulations': expected a whole number from 1 on, found '0'",
        ),
        (
            ["ppo", "--beam-width", "-1"],
            "'--beam-width': expected a whole number from 1 on, found '-1'",
        ),
        (
            ["ppo", "--simulations", "10001"],
            "--simulations: expected a number from 1 to 10000, found 10001",
        ),
        (
            ["ppo", "--beam-width", "1000000"],
            "--beam-width: expected a number from 1 to 10000, .* 1000000",
        ),
        (
            ["ppo", "--beam-width", "1", "--simulations", "1"],
            "--simulations and --beam-width: expected one of them",
        ),
        (["dqn", "--simulations", "1"], "expected a model that has learned what states are worth"),
    ],
)
def test_what_cannot_look_ahead(folder: Path, given: list[str], said: str, capsys: Any) -> None:
    agent, *more = given
    name = str(folder / agent) if agent in ("ppo", "dqn") else agent
    assert dispatch.run(["evaluate", name, "--programs", "mvt", *more]) == 2
    assert re.search(said, capsys.readouterr().err)


def test_the_help_says_what_looking_ahead_costs(capsys: Any) -> None:
    assert dispatch.run(["evaluate", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "up to N times a step" in text
    assert "compiled and measured" in text
