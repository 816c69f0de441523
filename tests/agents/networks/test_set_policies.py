"""The network over sets: the order of rows says nothing, every action has its own score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from polygym.agents.networks.set_network import SetNetwork  # noqa: E402
from polygym.agents.networks.set_policies import MaskableSetPolicy, SetPolicy  # noqa: E402
from polygym.agents.policies import TrainedPolicy, run_episode  # noqa: E402
from polygym.envs.base import PolygymEnv  # noqa: E402
from polygym.errors import InputError  # noqa: E402
from polygym.mdp.observation.arrays import MOST_STATEMENTS  # noqa: E402
from polygym.mdp.observation.episode_arrays import DEPENDENCE_COLUMNS, ROW_COLUMNS  # noqa: E402
from tests.envs.episodes import make  # noqa: E402

SCHEDULE, OPTIMIZE = "polygym/Schedule-v0", "polygym/Optimize-v0"


def states(name: str, kernel: str, count: int, **arguments: Any) -> list[dict[str, np.ndarray]]:
    """Return observations along a random episode."""
    env = make(name, kernel=kernel, **arguments)
    observation, info = env.reset(seed=0)
    rng, over, observations = np.random.default_rng(0), False, [observation]
    while not over and len(observations) < 400:
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, _, over, _, info = env.step(action)
        observations.append(observation)
    chosen = np.linspace(0, len(observations) - 1, count).astype(int)
    return [observations[place] for place in chosen]


def batch(observations: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    return {
        name: torch.as_tensor(np.stack([arrays[name] for arrays in observations]))
        for name in observations[0]
    }


def permuted(observation: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the same observation with its statements, and its dependences, in another order."""
    result = {name: array.copy() for name, array in observation.items()}
    statements = observation["statements"].reshape(MOST_STATEMENTS, -1)
    used = int(statements[:, 0].sum())
    order = np.arange(MOST_STATEMENTS)
    order[:used] = rng.permutation(used)
    now = np.argsort(order)
    result["statements"] = statements[order].ravel()
    width = len(ROW_COLUMNS)
    result["rows"] = observation["rows"].reshape(-1, MOST_STATEMENTS, width)[:, order].ravel()
    for name in ("generator", "point"):
        result[name] = observation[name].reshape(MOST_STATEMENTS, width)[order].ravel()
    if "nest_of" in observation:
        result["nest_of"] = observation["nest_of"][order]
    table = observation["dependences"].reshape(-1, len(DEPENDENCE_COLUMNS)).copy()
    count = int(table[:, 0].sum())
    for column in ("source", "sink"):
        place = DEPENDENCE_COLUMNS.index(column)
        table[:count, place] = now[table[:count, place]]
    table[:count] = table[:count][rng.permutation(count)]
    result["dependences"] = table.ravel()
    return result


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(SCHEDULE, {}), (OPTIMIZE, {}), (OPTIMIZE, {"start": "isl", "threads": 2})],
)
@pytest.mark.parametrize("kernel", ["gemm", "correlation", "lu"])
def test_the_order_of_statements_and_dependences_says_nothing(
    name: str, arguments: dict[str, Any], kernel: str
) -> None:
    torch.manual_seed(0)
    seen = states(name, kernel, 6, **arguments)
    network = SetNetwork(4, 3, decides=name == OPTIMIZE)
    rng = np.random.default_rng(1)
    with torch.no_grad():
        before = network(batch(seen))
        after = network(batch([permuted(observation, rng) for observation in seen]))
    for arrays, other in zip(before, after, strict=True):
        assert torch.allclose(arrays, other, atol=1e-4)
    # And it does look at them.
    assert before[1].std(0).max() > 1e-4


def test_a_batch_is_what_its_observations_are_alone() -> None:
    torch.manual_seed(0)
    seen = [*states(OPTIMIZE, "gemm", 3), *states(OPTIMIZE, "deriche", 3)]
    network = SetNetwork(4, 3, decides=True)
    with torch.no_grad():
        context, scores = network(batch(seen))
        for place, arrays in enumerate(seen):
            alone, own = network(batch([arrays]))
            assert torch.allclose(alone[0], context[place], atol=1e-4)
            assert torch.allclose(own[0], scores[place], atol=1e-4)


def test_everything_learns() -> None:
    torch.manual_seed(0)
    seen = [*states(OPTIMIZE, "lu", 8), *states(OPTIMIZE, "lu", 8, start="isl")]
    env = make(OPTIMIZE, kernel="lu", start="isl")
    env.reset(seed=0)
    as_the_model_says = env.unwrapped.episode.task.options.first_answer
    for _ in range(6):  # no edit, and up to questions about a nest
        seen.append(env.step(as_the_model_says)[0])
    network = SetNetwork(4, 3, decides=True)
    context, scores = network(batch(seen))
    (scores.pow(2).sum() + network.value(context).sum()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("name", [SCHEDULE, OPTIMIZE])
def test_maskable_ppo_trains_with_it_and_its_models_are_kept(name: str, tmp_path: Path) -> None:
    from sb3_contrib import MaskablePPO

    env = make(name, kernel="mvt")
    model = MaskablePPO(MaskableSetPolicy, env, n_steps=32, batch_size=16, n_epochs=2, seed=0)
    before = {key: value.clone() for key, value in model.policy.state_dict().items()}
    model.learn(64)
    moved = [
        key for key, value in model.policy.state_dict().items() if (value != before[key]).any()
    ]
    assert any("construction" in key for key in moved)
    assert any("value" in key for key in moved)
    model.save(tmp_path / "model")
    again = MaskablePPO.load(tmp_path / "model")
    endings = [
        run_episode(make(name, kernel="trisolv"), TrainedPolicy(ppo), seed=1)
        for ppo in (model, again)
    ]
    assert endings[0].info["schedule"] == endings[1].info["schedule"] != ""


@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
def test_algorithms_without_masks_train_with_it(algorithm: str) -> None:
    import stable_baselines3

    env = make(OPTIMIZE, kernel="mvt")
    kind = getattr(stable_baselines3, algorithm)
    more = {"batch_size": 16} if algorithm == "PPO" else {}
    model = kind(SetPolicy, env, n_steps=16, seed=0, **more)
    model.learn(32)
    assert model.num_timesteps >= 32


@pytest.mark.parametrize(
    ("name", "first"), [("polygym/Construct-v0", 0), ("polygym/Explore-v0", 3)]
)
def test_environments_with_a_part_of_the_actions(name: str, first: int) -> None:
    from sb3_contrib import MaskablePPO

    env = make(name, kernel="mvt")
    assert isinstance(env, PolygymEnv)
    assert first == env.FIRST_ACTION
    model = MaskablePPO(
        MaskableSetPolicy, env, n_steps=16, batch_size=8, policy_kwargs={"first": first}, seed=0
    )
    model.learn(16)
    assert run_episode(env, TrainedPolicy(model), seed=0).info["is_success"]


def test_other_environments_are_refused() -> None:
    from sb3_contrib import MaskablePPO

    env = make(SCHEDULE, kernel="mvt")
    with pytest.raises(InputError, match="a network over sets"):
        MaskablePPO(MaskableSetPolicy, env, policy_kwargs={"first": -2})


def test_a_batch_of_small_and_large_programs_is_as_each_alone() -> None:
    """Rows that only a larger program has take no time, and change nothing."""
    seen = [*states(SCHEDULE, "mvt", 3), *states(SCHEDULE, "gemver", 2), *states(SCHEDULE, "lu", 2)]
    torch.manual_seed(1)
    network = SetNetwork(4, 3, decides=False)
    with torch.no_grad():
        context, scores = network(batch(seen))
        for place, observation in enumerate(seen):
            alone, own = network(batch([observation]))
            assert torch.allclose(alone[0], context[place], atol=1e-5)
            assert torch.allclose(own[0], scores[place], atol=1e-5)


def test_coefficient_0_begins_likelier() -> None:
    env = make(SCHEDULE, kernel="mvt")
    odds = []
    for ratio in (1.0, 6.7):
        torch.manual_seed(0)
        policy = MaskableSetPolicy(
            env.observation_space, env.action_space, lambda _: 0.0, coefficient_0=ratio
        )
        with torch.no_grad():
            seen = batch(states(SCHEDULE, "mvt", 4))
            probs = policy.get_distribution(seen).distribution.probs
        odds.append(probs[:, 3] / probs[:, 4])
    assert torch.allclose(odds[1] / odds[0], torch.full_like(odds[0], 6.7), rtol=1e-4)


def test_coefficient_0_needs_coefficients() -> None:
    env = make("polygym/Construct-v0", kernel="mvt")
    with pytest.raises(InputError, match="expected an agent that decides on coefficients"):
        MaskableSetPolicy(env.observation_space, env.action_space, lambda _: 0.0, coefficient_0=2.0)
