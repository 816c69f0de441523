"""The plain network computes what the library's does, and begins with the weights asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sb3_contrib.common.maskable.policies import (  # noqa: E402
    MaskableMultiInputActorCriticPolicy,
)

from polygym.agents.networks import MaskableMlpPolicy  # noqa: E402
from polygym.errors import InputError  # noqa: E402
from polygym.mdp.observation.episode_arrays import REMAINING_COLUMNS  # noqa: E402
from tests.agents.networks.test_set_policies import batch, states  # noqa: E402
from tests.envs.episodes import make  # noqa: E402

SCHEDULE, CONSTRUCT = "polygym/Schedule-v0", "polygym/Construct-v0"


def new(kind: Any, name: str = SCHEDULE, **given: Any) -> Any:
    """Return a policy, always from the same seed."""
    env = make(name, kernel="gemm")
    torch.manual_seed(0)
    return kind(env.observation_space, env.action_space, lambda _: 1e-3, **given)


def seen(count: int) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    observations = states(SCHEDULE, "syrk", count)
    return batch(observations), np.stack([arrays["action_mask"] for arrays in observations]).astype(
        bool
    )


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("given", [{}, {"share_features_extractor": False}, {"net_arch": []}])
def test_it_is_the_librarys_network(count: int, given: dict[str, Any]) -> None:
    plain, other = (
        new(kind, **given) for kind in (MaskableMlpPolicy, MaskableMultiInputActorCriticPolicy)
    )
    for own, its in zip(plain.parameters(), other.parameters(), strict=True):
        assert torch.equal(own, its)
    observation, masks = seen(count)
    for is_greedy in (False, True):
        outputs = []
        for policy in (plain, other):
            torch.manual_seed(1)
            outputs.append(policy(observation, is_greedy, masks))
        assert torch.equal(outputs[0][0], outputs[1][0])
        assert masks[np.arange(count), outputs[0][0].numpy()].all()
        for own, its in zip(outputs[0][1:], outputs[1][1:], strict=True):
            assert torch.allclose(own, its, atol=1e-5)
    actions = outputs[0][0]
    for policy in (plain, other):
        values, logarithms, entropy = policy.evaluate_actions(observation, actions, masks)
        (values.sum() + logarithms.sum() + entropy.sum()).backward()
    for own, its in zip(plain.parameters(), other.parameters(), strict=True):
        assert torch.allclose(own.grad, its.grad, atol=1e-4, rtol=1e-3)


def test_an_agent_without_a_mask_may_take_any_action() -> None:
    plain = new(MaskableMlpPolicy)
    observation, _ = seen(4)
    torch.manual_seed(0)
    drawn = {int(action) for _ in range(60) for action in plain(observation)[0]}
    assert drawn == set(range(6))


def test_coefficient_0_begins_as_many_times_as_likely() -> None:
    even, leaning = (
        new(MaskableMlpPolicy, coefficient_0=ratio, ortho_init=True) for ratio in (1.0, 1 / 0.15)
    )
    observation, _ = seen(5)
    with torch.no_grad():
        before, after = (
            policy.get_distribution(observation).distribution.probs for policy in (even, leaning)
        )
    assert torch.allclose(before, torch.full_like(before, 1 / 6), atol=0.02)
    odds = (after / before)[:, 3] / (after / before)[:, 4]
    assert torch.allclose(odds, torch.full_like(odds, 1 / 0.15), rtol=1e-4)
    assert torch.allclose((after / before)[:, 0], (after / before)[:, 5], rtol=1e-4)


def test_what_remains_is_shown_as_logarithms() -> None:
    policy = new(MaskableMlpPolicy, logarithms=True)
    observation, _ = seen(3)
    shown = {name: array.float() for name, array in observation.items()}
    features = policy.features_extractor(shown)
    plain = new(MaskableMlpPolicy).features_extractor(shown)
    moved = (features != plain).any(0)
    assert 0 < int(moved.sum()) <= len(REMAINING_COLUMNS)
    assert torch.equal(features[:, moved], torch.log2(1 + plain[:, moved]))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (SCHEDULE, {"logarithms": 1}, "logarithms: expected true or false, found 1"),
        (SCHEDULE, {"coefficient_0": 0}, "coefficient_0: expected more than 0, found 0"),
        (SCHEDULE, {"coefficient_0": True}, "coefficient_0: expected more than 0, found True"),
        (CONSTRUCT, {"coefficient_0": 2.0}, "expected an agent that decides on coefficients"),
    ],
)
def test_options_that_make_no_sense(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        new(MaskableMlpPolicy, name, **given)
