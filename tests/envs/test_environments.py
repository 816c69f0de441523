"""Episodes of the environments as their users meet them."""

import copy
import dataclasses
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.errors import InputError
from polygym.lru_cache import LruCache
from polygym.mdp import episode
from polygym.mdp.construction import ConstructionRules
from polygym.mdp.env_ids import OPTIMIZE, TRANSFORM
from polygym.mdp.observation import schedule_observer
from polygym.mdp.observation.episode_arrays import PROGRESS_COLUMNS
from polygym.mdp.records import episode_record
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import Phase
from polygym.poly.legality import is_legal
from polygym.poly.schedule import parse_schedule
from tests.c_programs import SMALL_PROGRAMS
from tests.envs.episodes import FINAL, IDS, finish, make


@pytest.mark.parametrize("reward", [kind.value for kind in RewardKind])
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_checks_every_environment(name: str, reward: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"polygym:{name}", reward=reward, dataset="mini", kernel="mvt,lu")
        if reward == "static":  # the one id stands for all rewards, but this one is no time
            env.unwrapped.spec = dataclasses.replace(env.unwrapped.spec, nondeterministic=False)
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_without_a_clock_a_seed_decides_everything(name: str) -> None:
    def run() -> list[Any]:
        env = make(name, kernel="mvt,trisolv", policy="uniform")
        seen: list[Any] = []
        for seed in (1, None):
            observation, info = env.reset(seed=seed)
            generator = np.random.default_rng(3)
            over = False
            while not over:
                action = generator.choice(np.flatnonzero(info["action_mask"]))
                observation, reward, over, _, info = env.step(action)
                arrays = {key: array.tobytes() for key, array in observation.items()}
                seen.append((arrays, reward, {**info, "action_mask": None}))
        return seen

    assert run() == run()


@pytest.mark.parametrize("reward", [kind.value for kind in RewardKind])
@pytest.mark.parametrize("name", IDS)
def test_stable_baselines_checks_every_environment(name: str, reward: str) -> None:
    from stable_baselines3.common.env_checker import check_env as check

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check(make(name, reward=reward, kernel="mvt"))


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("name", IDS)
def test_rendering_passes_the_check(name: str, mode: str) -> None:
    env = gymnasium.make(f"polygym:{name}", reward="static", kernel="mvt", render_mode=mode)
    env.reset(seed=1)
    shown = env.render()
    if mode == "ansi":
        assert isinstance(shown, str)
        assert "mvt" in shown
    else:
        assert shown.shape == (640, 960, 3)
        assert shown.dtype == np.uint8


def test_the_text_shows_all_phases() -> None:
    env = make(IDS[2], kernel="trisolv", render_mode="ansi")
    _, info = env.reset(seed=0)
    seen = set()
    generator = np.random.default_rng(0)
    while not env.episode.is_over:
        seen.add(str(env.render()).split(":")[1].split()[0])
        _, _, _, _, info = env.step(generator.choice(np.flatnonzero(info["action_mask"])))
    text = str(env.render())
    assert seen == {"constructing", "exploring"}
    assert "schedule" in text
    assert "for (" in text
    assert "1 vertices" not in text
    assert ": 1 vertex, " in text or " vertices, " in text


@pytest.mark.parametrize("name", IDS)
def test_random_episodes_end_with_legal_schedules(name: str) -> None:
    env = make(name, kernel="*mv*, lu, jacobi-1d")
    seen = set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        reward, info = finish(env, info, seed)
        seen.add(info["kernel"])
        assert 0 < reward <= 1
        assert info["status"] == "not measured"
        scop = env.problem.program_of(env.episode).scop
        assert is_legal(scop, parse_schedule(info["schedule"], scop))
    assert len(seen) > 2


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_measured_episodes_of_c_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(SMALL_PROGRAMS[name])
    env = make(IDS[2], kernel=str(path), reward="speedup")
    for seed in range(2):
        _, info = env.reset(seed=seed)
        reward, info = finish(env, info, seed)
        assert info["status"] in ("ok", "timeout", "does not compile"), info["error_details"]
        assert info["is_success"] is (info["status"] == "ok")
        assert reward == info["speedup"]
        if info["status"] == "ok":
            assert info["seconds"] == min(info["samples"])
            assert np.isclose(reward, info["baseline_seconds"] / info["seconds"])


def test_the_logarithm_of_the_speedup() -> None:
    env = make(IDS[0], kernel="mvt", reward="log_speedup")
    _, info = env.reset(seed=0)
    reward, info = finish(env, info)
    assert np.isclose(reward, np.log(info["speedup"]))


def test_the_logarithm_of_what_a_model_predicts() -> None:
    pytest.importorskip("lightgbm")
    paid = {}
    for name in ("model", "log_model"):
        env = make(OPTIMIZE, kernel="gemm", reward=name, dataset="large", start="isl")
        _, info = env.reset(seed=0)
        paid[name], info = finish(env, info)
        assert info["status"] == "not measured"
    assert paid["model"] > 1.5
    assert paid["log_model"] == pytest.approx(np.log(paid["model"]))


@pytest.mark.parametrize("reward", [kind.value for kind in RewardKind])
def test_an_empty_polyhedron_is_the_end(reward: str) -> None:
    env = make(IDS[0], kernel="doitgen", reward=reward)
    _, info = env.reset(seed=0)
    for _ in range(40):
        if not info["action_mask"][2]:
            break
        _, _, _, _, info = env.step(1)
    _, value, over, _, info = env.step(2)
    assert over
    assert value == pytest.approx(-1.0 - (np.log(10) if reward.startswith("log_") else 0.0))
    assert info["status"] == "invalid"
    assert info["is_success"] is False
    assert info["schedule"] == ""
    assert {key: type(info[key]) for key in FINAL} == FINAL
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_what_a_state_has_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mask, which a step needs four times; and the ranks of rows once for every dimension."""
    counts: Counter[str] = Counter()

    def counted(of: Any, name: str, kind: str) -> None:
        whole = getattr(of, name)

        def counting(*given: Any, **named: Any) -> Any:
            counts[kind] += 1
            return whole(*given, **named)

        monkeypatch.setattr(of, name, counting)

    counted(episode.exploring, "coefficient_mask", "masks")
    counted(ConstructionRules, "mask", "masks")
    counted(schedule_observer, "_FinishedArrays", "ranks")
    env = make("polygym/Schedule-v0", kernel="correlation")
    env.reset(seed=0)
    # An earlier test may have had the same episode of the problem, which a process keeps.
    monkeypatch.setattr(env.problem, "_observers", LruCache(1))
    counts.clear()
    _, info = env.reset(seed=0)
    states, generator, over = 1, np.random.default_rng(0), False
    while not over:
        _, _, over, _, info = env.step(generator.choice(np.flatnonzero(info["action_mask"])))
        env.action_masks()
        states += 1
    assert states > 50
    assert states // 2 < counts["masks"] <= states
    assert 0 < counts["ranks"] <= len(env.episode.dimensions) + 1


def test_forbidden_actions_cost_and_end_at_last() -> None:
    env = make(IDS[2], kernel="mvt")
    before, _ = env.reset(seed=0)
    for _ in range(99):
        after, reward, over, _, info = env.step(5)
        assert (reward, over) == (-0.1, False)
        assert np.array_equal(before["dependences"], after["dependences"])
    _, reward, over, _, info = env.step(5)
    assert (reward, over, info["status"]) == (-1.0, True, "invalid")


@pytest.mark.parametrize("name", IDS)
def test_copies_go_their_own_way(name: str) -> None:
    env = make(name, kernel="lu")
    _, info = env.reset(seed=4)
    for action in (0, 1) if name != TRANSFORM else np.flatnonzero(info["action_mask"])[1:3]:
        _, _, _, _, info = env.step(action)
    copies = [env.fork(), copy.deepcopy(env)]
    endings = [finish(polygym_env, info, seed=9) for polygym_env in (*copies, env)]
    assert len({ending[1]["schedule"] for ending in endings}) == 1
    assert copies[0].episode.actions == env.episode.actions
    assert copies[0].np_random is not env.np_random


@pytest.mark.parametrize("name", IDS)
def test_exported_episodes_can_be_played_again(name: str) -> None:
    env = make(name, kernel="trisolv", policy="uniform", max_coefficient=3, max_rays=5)
    _, info = env.reset(seed=2)
    halfway = json.loads(json.dumps(env.export()))
    assert episode_record.replay_record(halfway, "halfway").episode.phase is env.episode.phase
    _, info = finish(env, info)
    text = json.dumps(env.export())
    again = episode_record.replay_record(episode_record.read_record(text, "x.json"), "x.json")
    assert again.episode.phase is Phase.COMPLETE
    assert str(again.episode.schedule()) == info["schedule"]
    data = json.loads(text)
    for damaged in (
        {**data, "schedule": data["schedule"].replace("i", "2i", 1)},
        {**data, "actions": data["actions"][:-1]},
        {**data, "actions": [*data["actions"], 3]},
        {**data, "actions": ["0"]},
        {key: value for key, value in data.items() if key != "program"},
    ):
        with pytest.raises(InputError, match=r"x\.json|schedule"):
            episode_record.replay_record(damaged, "x.json")
    for text in ("", "[]", "{}", '{"format": "polygym episode", "version": 99}'):
        with pytest.raises(InputError, match=r"x\.json"):
            episode_record.read_record(text, "x.json")


def test_seeds_decide() -> None:
    def run(seed: int | None, own: int | None) -> list[str]:
        env = make(IDS[1], kernel="all", policy="uniform", seed=own)
        kernels = []
        for number in range(3):
            _, info = env.reset(seed=seed if number == 0 else None)
            kernels.append(info["kernel"] + str(len(env.episode.actions)))
        return kernels

    assert run(3, None) == run(3, None) == run(None, 3) == run(3, 5)
    assert run(3, None) != run(4, None)


@pytest.mark.parametrize(("most", "complete"), [(1, False), (64, True)])
def test_a_space_that_was_cut_off_says_so(most: int, complete: bool) -> None:
    env = make("polygym/Schedule-v0", kernel="gemm", policy="earliest", max_rays=most)
    observation, info = env.reset(seed=0)
    column = PROGRESS_COLUMNS.index("dimensions_complete")
    assert info["space_complete"] is True
    assert observation["progress"][column] == 1.0
    over, shares = False, []
    while not over:
        observation, _, over, _, info = env.step(env.unwrapped.suggested_action())
        shares.append(float(observation["progress"][column]))
        assert info["space_complete"] is (shares[-1] == 1.0)
    assert (shares[-1] == 1.0) is complete
    envs = gymnasium.make_vec("polygym/Schedule-v0", 2, kernel="gemm", reward="static")
    _, infos = envs.reset(seed=0)
    assert infos["space_complete"].tolist() == [True, True]
