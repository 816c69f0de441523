"""Environments in which it is decided beforehand where values are kept."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.envs.base import PolygymEnv
from polygym.errors import InputError
from polygym.mdp.mapping_decisions import USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.observation.storage_arrays import (
    STORAGE_CHOICES_COLUMNS,
    STORAGE_QUESTION_COLUMNS,
    storage_arrays,
)
from polygym.mdp.records import episode_record
from polygym.mdp.records.episode_record import ReplayMismatchError
from polygym.mdp.task_options import Phase
from polygym.poly.dependences import dependences
from polygym.poly.transform.storage.plan import parse_storage
from tests.envs.episodes import make

SCHEDULE, OPTIMIZE = "polygym/Schedule-v0", "polygym/Optimize-v0"
BOTH = (SCHEDULE, OPTIMIZE)
ROW_SUMS = """
void f(int n, double A[n][n], double y[n], double z[n]) {
  double w;
  #pragma scop
  for (int i = 0; i < n; i++) {
    w = 0;
    for (int k = 0; k < n; k++) w += A[i][k] * z[k];
    y[i] = w;
  }
  #pragma endscop
}
"""


@pytest.fixture
def sums(tmp_path: Any) -> str:
    path = tmp_path / "sums.c"
    path.write_text(ROW_SUMS)
    return str(path)


def stores(name: str, kernel: str, **arguments: Any) -> PolygymEnv:
    return make(name, kernel=kernel, storage=True, **arguments)


def answer(env: PolygymEnv, number: int) -> tuple[Any, ...]:
    return env.step(env.problem.options.first_answer + number)


def finish(env: PolygymEnv, seed: int = 0) -> dict[str, Any]:
    """Take random allowed actions until the end."""
    rng = np.random.default_rng(seed)
    over, info = env.episode.is_over, {}
    while not over:
        action = rng.choice(np.flatnonzero(env.action_masks()))
        observation, _, over, _, info = env.step(action)
        assert env.observation_space.contains(observation)
    return info


@pytest.mark.parametrize("name", BOTH)
def test_without_it_everything_is_as_it_was(name: str) -> None:
    env, other = make(name, kernel="mvt"), make(name, kernel="mvt", storage=False)
    for polygym_env in (env, other):
        observation, _ = polygym_env.reset(seed=0)
        assert not {"storage_question", "storage_choices"} & set(observation)
        assert "storage" not in polygym_env.export()["arguments"]
        assert "storage" not in polygym_env.export()
    assert env.action_space == other.action_space
    assert env.observation_space == other.observation_space


@pytest.mark.parametrize("name", BOTH)
def test_keeping_everything_is_the_episode_without(name: str, sums: str) -> None:
    for first in ([USE_DEFAULT_FOR_ALL], [USE_DEFAULT, USE_DEFAULT, USE_DEFAULT, USE_DEFAULT]):
        env, plain = stores(name, sums), make(name, kernel=sums)
        env.reset(seed=3)
        seen, _ = plain.reset(seed=3)
        for number in first:
            if env.episode.phase is Phase.STORE:
                observation, *_ = answer(env, number)
        assert env.episode.phase is plain.episode.phase is Phase.CONSTRUCT
        assert env.episode.task is env.problem.task
        for part in set(seen) - {"action_mask"}:
            assert np.array_equal(seen[part], observation[part]), part
        infos = finish(env, 5), finish(plain, 5)
        if name == OPTIMIZE:
            assert infos[0]["schedule"] == infos[1]["schedule"]
            assert infos[0]["mapping"] == infos[1]["mapping"]
        assert infos[0]["storage"] == "keep"


def test_expansion_leaves_fewer_dependences_and_says_what_it_takes(sums: str) -> None:
    env = stores(SCHEDULE, sums)
    observation, _ = env.reset(seed=0)
    while env.episode.storage_state is not None and env.episode.storage_state.offer is None:
        observation, *_ = answer(env, USE_DEFAULT)  # no cut
    variant = dict(zip(STORAGE_QUESTION_COLUMNS, observation["storage_question"], strict=True))
    assert (variant["is_storage_question"], variant["about_a_web"], variant["about_splitting"]) == (
        1,
        1,
        0,
    )
    assert (variant["rank"], variant["is_live_out"], variant["blocks_loop_1"]) == (0, 0, 1)
    storing = env.episode.storage_state
    assert storing is not None
    assert next(str(storage_answer) for storage_answer in storing.values) == "S0:w=expand:i"
    rows = observation["storage_choices"].reshape(storage_arrays()["storage_choices"].shape)
    first = dict(zip(STORAGE_CHOICES_COLUMNS, rows[USE_DEFAULT_FOR_ALL + 1], strict=True))
    assert (first["allowed"], first["expansion"], first["along_1"]) == (1, 1, 1)
    assert first["bytes"] == pytest.approx(np.log2(1 + storing.bytes[0]))
    before = len(dependences(env.episode.task.scop))
    observation, *_ = answer(env, USE_DEFAULT_FOR_ALL + 1)
    assert len(dependences(env.episode.task.scop)) < before
    assert int(observation["dependences"].reshape(-1, 25)[:, 0].sum()) < before
    assert env.problem.program_of(env.episode).storage == parse_storage("S0:w=expand:i contract")


def test_what_takes_more_than_the_limit_is_masked(sums: str) -> None:
    env = stores(SCHEDULE, sums, storage_limit=8 * 16)
    env.reset(seed=0)
    while env.episode.storage_state is not None and env.episode.storage_state.offer is None:
        observation, *_ = answer(env, USE_DEFAULT)
    storing = env.episode.storage_state
    assert storing is not None
    fits = [taken is not None and taken <= 8 * 16 for taken in storing.bytes]
    assert not all(fits)
    mask = env.action_masks()[env.problem.options.first_answer + 2 :][: len(fits)]
    assert mask.tolist() == fits
    rows = observation["storage_choices"].reshape(storage_arrays()["storage_choices"].shape)
    over = rows[2 : 2 + len(fits), STORAGE_CHOICES_COLUMNS.index("over_limit")]
    assert over.tolist() == [not fit for fit in fits]
    refused = env.problem.options.first_answer + 2 + fits.index(False)
    _, reward, over_now, *_ = env.step(refused)
    assert reward < 0
    assert not over_now
    assert env.episode.storage_state == storing


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("seed", range(2))
def test_random_episodes_are_right_and_can_be_played_again(name: str, seed: int, sums: str) -> None:
    env = stores(name, sums, reward="speedup")
    env.reset(seed=seed)
    info = finish(env, seed)
    assert info["status"] in ("ok", "timeout", "does not compile"), info["error_details"]
    recorded = json.loads(json.dumps(env.export()))
    assert recorded["storage"] == info["storage"]
    played = episode_record.replay_record(recorded, "it")
    assert played.program.storage == parse_storage(info["storage"])
    assert str(played.schedule or "") == info["schedule"]
    recorded["storage"] = "w=rename"
    with pytest.raises(ReplayMismatchError, match="expected the actions to lead to"):
        episode_record.replay_record(recorded, "it")


def test_a_cut_is_made_and_another_one_offered() -> None:
    env = stores(OPTIMIZE, "floyd-warshall", features=False)
    env.reset(seed=0)
    storing = env.episode.storage_state
    assert storing is not None
    assert "S0: i = k" in map(str, storing.values)
    answer(
        env,
        USE_DEFAULT_FOR_ALL
        + 1
        + [str(storage_answer) for storage_answer in storing.values].index("S0: i = k"),
    )
    storing = env.episode.storage_state
    assert storing is not None
    assert "S0: i = k, j = k" in map(str, storing.values)
    assert len(env.episode.task.scop.statements) > 1
    answer(env, USE_DEFAULT_FOR_ALL)
    assert env.episode.phase is Phase.CONSTRUCT
    assert str(env.problem.source_of(env.episode).splitting) == "S0: i = k"


def test_forks_decide_for_themselves(sums: str) -> None:
    env = stores(SCHEDULE, sums)
    env.reset(seed=0)
    others = [env.fork(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    answer(env, USE_DEFAULT_FOR_ALL)
    for other in others:
        other = other.unwrapped
        if other._episode is None:
            other.reset(seed=0)
        assert other.episode.phase is Phase.STORE
        while other.episode.phase is Phase.STORE:
            assert other.episode.storage_state is not None
            answer(
                other, USE_DEFAULT_FOR_ALL + 1 if other.episode.storage_state.offer else USE_DEFAULT
            )
        assert other.episode.storage_state.storage != parse_storage("keep")
    assert env.episode.storage_state is not None
    assert env.episode.storage_state.storage == parse_storage("keep")


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("policy", ["learned", "earliest", "bias_coeff_0"])
def test_policies_act_in_it(name: str, policy: str, sums: str) -> None:
    env = stores(name, sums, policy=policy)
    env.reset(seed=0)
    while not env.episode.is_over:
        assert env.action_masks()[env.suggested_action()]
        env.step(env.suggested_action())
    assert env.episode.phase is Phase.COMPLETE
    if policy in ("learned", "earliest"):
        assert env.episode.storage_state is not None
        assert env.episode.storage_state.is_unchanged


@pytest.mark.parametrize("name", BOTH)
def test_gymnasium_checks_it_and_a_vector_shows_the_same(name: str, sums: str) -> None:
    check_env(stores(name, sums), skip_render_check=True)
    arguments = {"kernel": sums, "storage": True, "reward": "static", "dataset": "mini"}
    many = gymnasium.make_vec(f"polygym:{name}", 2, **arguments)
    polygym_env = stores(name, sums)
    shown, _ = many.reset(seed=0)
    alone, _ = polygym_env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        for part, array in alone.items():
            assert np.array_equal(shown[part][0], array), part
        if polygym_env.episode.is_over:
            break
        action = rng.choice(np.flatnonzero(polygym_env.action_masks()))
        others = rng.choice(np.flatnonzero(many.action_masks()[1]))
        shown, *_ = many.step(np.array([action, others]))
        alone, *_ = polygym_env.step(action)
    many.close()


def test_it_is_shown_in_words(sums: str) -> None:
    env = stores(OPTIMIZE, sums, render_mode="ansi")
    env.reset(seed=0)
    while env.episode.storage_state is not None and env.episode.storage_state.offer is None:
        answer(env, USE_DEFAULT)
    text = env.render()
    assert "deciding where values are kept: w of S0" in text
    assert "S0:w=expand:i" in text
    assert "keep everything else" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"storage": "auto"}, "storage: expected True or False, found 'auto'"),
        ({"storage": True, "storage_limit": -1}, "storage_limit: expected 0 to 2"),
        ({"storage": True, "storage_limit": 1.5}, "storage_limit: expected an integer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(SCHEDULE, **arguments)


def test_a_record_that_stores_twice_is_refused(sums: str) -> None:
    env = stores(SCHEDULE, sums)
    env.reset(seed=0)
    answer(env, USE_DEFAULT_FOR_ALL)
    recorded = env.export()
    recorded["program"]["storage"] = "w=expand:i"
    with pytest.raises(InputError, match="the program is changed already"):
        episode_record.replay_record(recorded, "it")
