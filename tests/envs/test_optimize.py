"""Optimize-v0: the mapping is the agent's, isl's schedule can be edited, and records have both."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES, candidate_features
from polygym.envs.optimize import OptimizeEnv
from polygym.envs.schedule import ScheduleEnv
from polygym.errors import InputError
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.editing import EDITS, MOST_STEPS, EditKind
from polygym.mdp.mapping_decisions import ANSWERS, USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.observation.mapping_arrays import (
    CHOICE_COLUMNS,
    NEST_COLUMNS,
    QUESTION_COLUMNS,
    mapping_arrays,
)
from polygym.mdp.records import episode_record
from polygym.mdp.records.episode_record import ReplayMismatchError
from polygym.mdp.task_options import Phase
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.alternatives import default_candidates
from polygym.poly.scheduling.baselines import isl_schedule
from tests.envs.episodes import make

ID = "polygym/Optimize-v0"


def optimize(**arguments: Any) -> OptimizeEnv:
    env = make(ID, **{"kernel": "mvt", "threads": 2, **arguments})
    assert isinstance(env, OptimizeEnv)
    return env


def answer(env: OptimizeEnv, number: int) -> tuple[Any, ...]:
    return env.step(env.problem.options.first_answer + number)


def table(observation: dict[str, np.ndarray], name: str) -> np.ndarray:
    return observation[name].reshape(mapping_arrays()[name].shape)


def test_the_default_is_measured_as_schedule_v0_measures_it() -> None:
    ours = optimize(reward="speedup", start="isl", kernel="gemm")
    ours.reset(seed=0)
    _, reward, over, _, info = answer(ours, USE_DEFAULT_FOR_ALL)
    assert over
    assert info["status"] == "ok"
    assert reward == info["speedup"] > 0
    assert info["mapping"] == "threads=2"
    assert parse_schedule(info["schedule"], ours.problem.program.scop) == isl_schedule(
        ours.problem.program.scop
    )


def test_the_neutral_policy_is_schedule_v0_under_the_default_mapping() -> None:
    for kernel in ("gemm", "lu", "jacobi-2d"):
        endings = []
        for env in (optimize(kernel=kernel), make("polygym/Schedule-v0", kernel=kernel, threads=2)):
            _, info = env.reset(seed=0)
            over = False
            generator = np.random.default_rng(7)
            while not over:
                if env.episode.phase is Phase.MAP:
                    action = env.problem.options.first_answer + USE_DEFAULT
                else:
                    action = int(generator.choice(np.flatnonzero(info["action_mask"])))
                _, reward, over, _, info = env.step(action)
            endings.append((info["schedule"], reward))
            assert info.get("mapping", "threads=2") == "threads=2"
        assert endings[0] == endings[1]


def test_a_decided_mapping_is_what_is_measured() -> None:
    env = optimize(reward="speedup", start="isl")
    env.reset(seed=1)
    answer(env, USE_DEFAULT)
    while env.episode.phase is Phase.MAP:
        deciding = env.episode.mapping_state
        assert deciding is not None
        number = 2 if deciding.values else USE_DEFAULT
        *_, info = answer(env, number)
    assert info["status"] == "ok", info["error_details"]
    mapping = parse_mapping(info["mapping"])
    assert mapping == env.episode.mapping
    assert mapping.nests
    assert env.export()["outcome"]["mapping"] == info["mapping"]


def test_what_is_said_is_what_the_tables_name() -> None:
    assert len(QUESTION_COLUMNS) == 29
    assert len(CHOICE_COLUMNS) == 21
    assert len(NEST_COLUMNS) == 40
    env = optimize(kernel="gemm", start="isl", features=True)
    observation, _ = env.reset(seed=0)
    question = dict(zip(QUESTION_COLUMNS, observation["question"], strict=True))
    assert question["editing"] == 1
    assert question["operand_kind"] == 1
    choices = table(observation, "choices")
    assert choices.shape == (ANSWERS, len(CHOICE_COLUMNS))
    allowed = choices[:, CHOICE_COLUMNS.index("allowed")]
    first = env.problem.options.first_answer
    assert np.array_equal(allowed, observation["action_mask"][first:])
    observation, *_ = answer(env, USE_DEFAULT)
    question = dict(zip(QUESTION_COLUMNS, observation["question"], strict=True))
    assert (question["editing"], question["mapping"]) == (0, 1)
    assert question["about_scalar_replacement"] == 1
    assert question["threads"] == pytest.approx(np.log2(3))
    assert observation["remaining"][3] == env.episode.mapping_state.questions_left  # type: ignore[union-attr]
    nests = table(observation, "nests")
    count = int(nests[:, 0].sum())
    assert count == len(env.problem.task.nests(env.episode.schedule()))
    statements = len(env.problem.program.scop.statements)
    assert set(observation["nest_of"][:statements]) == set(range(1, count + 1))
    assert not observation["nest_of"][statements:].any()


def test_the_features_are_those_of_the_candidate_so_far() -> None:
    env = optimize(kernel="gemm", start="isl")
    env.reset(seed=0)
    observation, *_ = answer(env, USE_DEFAULT)
    seen = set()
    program = env.problem.program
    sizes = scop_sizes(program.scop, dict(program.parameters))
    rng = np.random.default_rng(0)
    while env.episode.phase is Phase.MAP:
        legal = LegalSchedule(program.scop, env.episode.schedule())
        assert env.episode.mapping is not None
        expected = candidate_features(legal, env.episode.mapping, sizes).vector
        assert observation["candidate"] == pytest.approx(expected.astype(np.float32))
        seen.add(observation["candidate"].tobytes())
        allowed = [
            k
            for k in np.flatnonzero(env.action_masks())
            if k != env.problem.options.first_answer + USE_DEFAULT_FOR_ALL
        ]
        observation, *_ = env.step(int(rng.choice(allowed)))
    assert len(seen) > 1
    assert len(observation["candidate"]) == len(FEATURE_NAMES)
    silent = optimize(kernel="gemm", start="isl", features=False)
    observation, _ = silent.reset(seed=0)
    assert not observation["candidate"].any()


def test_rows_of_an_edited_schedule_are_shown() -> None:
    env = optimize(start="original")
    observation, _ = env.reset(seed=0)
    rows = observation["rows"].reshape(4, 48, 13)
    # S1: (1, i, 0, j, 0)
    assert rows[0, 1, 12] == 1
    assert rows[1, 1, 0] == 1
    assert rows[3, 1, 1] == 1
    assert rows.sum() == 5
    statements = observation["statements"].reshape(48, -1)
    assert statements[:2, -2].tolist() == [2, 2]


RENAMED = """
void f(int n, int m, double A[n][m], double x[m], double y[n], double z[m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      y[i] += A[i][j] * x[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      z[j] += A[i][j] * y[i];
#pragma endscop
}
"""


def test_observations_do_not_know_names(tmp_path: Any) -> None:
    other = RENAMED
    for before, after in (("A[", "zz["), ("x[", "aa["), ("y[", "k["), ("z[", "b["), ("n", "n")):
        other = other.replace(before, after)
    other = other.replace("void f(int n, int m", "void g(int p, int q")
    for before, after in (("[n]", "[p]"), ("[m]", "[q]"), ("< n", "< p"), ("< m", "< q")):
        other = other.replace(before, after)
    traces = []
    for place, (text, sizes) in enumerate(
        ((RENAMED, {"n": 40, "m": 30}), (other, {"p": 40, "q": 30}))
    ):
        path = tmp_path / f"{place}.c"
        path.write_text(text)
        env = optimize(kernel=str(path), parameters=sizes, start="isl")
        observation, info = env.reset(seed=0)
        rng, over, trace = np.random.default_rng(5), False, []
        while not over:
            trace.append({key: array.tobytes() for key, array in observation.items()})
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, _, over, _, info = env.step(action)
        traces.append(trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize("start", [None, "isl", "original", "auto"])
def test_records_are_played_again_with_their_mapping(start: str | None) -> None:
    env = optimize(start=start, reward="static")
    for seed in range(3):
        _, info = env.reset(seed=seed)
        rng, over = np.random.default_rng(seed), False
        while not over:
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, _, over, _, info = env.step(action)
        exported = json.loads(json.dumps(env.export()))
        played = episode_record.replay_record(exported, "episode.json")
        assert played.episode is not None
        assert played.episode.actions == env.episode.actions
        assert played.schedule == env.episode.schedule()
        assert str(played.evaluation_options.mapping) == info["mapping"]


def test_nothing_is_adopted_where_it_may_not_be() -> None:
    """From nothing: the one action that leads to isl's schedule is never allowed."""
    adopt = 1 + EDITS.index(EditKind.ADOPT)
    free, bound = (optimize(start="original", adopt=adopts) for adopts in (True, False))
    for env, is_allowed in ((free, True), (bound, False)):
        _, info = env.reset(seed=0)
        at = env.problem.options.first_answer + 1 + adopt
        assert bool(info["action_mask"][at]) == is_allowed
        rng, over = np.random.default_rng(1), False
        while not over:
            if env.episode.phase is Phase.EDIT and env.episode.edit_state.is_between_edits:
                assert bool(info["action_mask"][at]) == (
                    is_allowed and env.episode.edit_state.step_count < MOST_STEPS
                )
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, _, over, _, info = env.step(action)
    exported = json.loads(json.dumps(bound.export()))
    assert exported["arguments"]["adopt"] is False
    played = episode_record.replay_record(exported, "episode.json")
    assert played.schedule == bound.episode.schedule()
    assert "adopt" not in free.export()["arguments"]
    exported["arguments"]["adopt"] = "no"
    with pytest.raises(InputError, match="adopt: expected True or False"):
        episode_record.replay_record(exported, "episode.json")


def test_a_record_names_what_an_automatic_start_stood_for() -> None:
    env = optimize(start="auto", kernel="gesummv", reward="static")
    env.reset(seed=0)
    begins, scop = env.episode.schedule(), env.problem.program.scop
    assert begins != isl_schedule(scop)
    answer(env, USE_DEFAULT_FOR_ALL)
    exported = env.export()
    settled = {str(strategy): schedule for strategy, schedule in default_candidates(scop).items()}
    assert settled[exported["arguments"]["start"]] == begins
    assert episode_record.replay_record(exported, "episode.json").schedule == begins


def test_a_record_that_was_measured_under_another_mapping_is_refused() -> None:
    env = optimize(start="isl", reward="speedup")
    env.reset(seed=0)
    answer(env, USE_DEFAULT_FOR_ALL)
    exported = json.loads(json.dumps(env.export()))
    assert episode_record.replay_record(exported, "episode.json").schedule is not None
    exported["outcome"]["mapping"] = "threads=2 tile=8"
    with pytest.raises(ReplayMismatchError, match="expected the actions to lead to the mapping"):
        episode_record.replay_record(exported, "episode.json")
    del exported["arguments"]["start"]
    with pytest.raises(InputError, match="start"):
        episode_record.replay_record(exported, "episode.json")
    plain = make("polygym/Schedule-v0")
    plain.reset(seed=0)
    other = json.loads(json.dumps(plain.export()))
    other["arguments"]["start"] = None
    with pytest.raises(InputError, match=r"arguments\.start is unknown"):
        episode_record.replay_record(other, "episode.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"start": "polly"}, "start: expected None or original, auto, or isl"),
        ({"start": 3}, "start: expected a text"),
        ({"start": "isl fusion=all"}, "start: expected None or balanced"),
        ({"features": 1}, "features: expected True or False"),
        ({"adopt": "no"}, "adopt: expected True or False"),
        ({"mapping": "tile=x"}, "expected sizes"),
    ],
)
def test_arguments_are_refused_by_their_names(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        optimize(**arguments)


def test_texts_and_pictures_of_every_phase() -> None:
    for mode in ("ansi", "rgb_array"):
        env = optimize(start="isl", render_mode=mode)
        env.reset(seed=0)
        stages = []
        for number in (2, 2, USE_DEFAULT, USE_DEFAULT, USE_DEFAULT, USE_DEFAULT_FOR_ALL):
            shown = env.render()
            assert shown is not None
            if mode == "ansi":
                stages.append(str(shown).splitlines()[0])
            answer(env, number)
        if mode == "ansi":
            assert "editing a schedule, 0 edits so far" in stages[0]
            assert "in the middle of skew" in stages[1]
            assert "deciding the mapping: scalar replacement" in stages[4]
            final = str(env.render())
            assert "mapping" in final
            assert "for (" in final


def test_forks_go_their_own_ways() -> None:
    env = optimize(start="isl")
    env.reset(seed=0)
    answer(env, USE_DEFAULT)
    other = env.fork()
    answer(env, USE_DEFAULT_FOR_ALL)
    assert env.episode.is_over
    assert not other.episode.is_over
    assert isinstance(other, OptimizeEnv)
    answer(other, 2)
    assert other.episode.mapping != env.episode.mapping


def test_it_is_registered_and_flat() -> None:
    env = gymnasium.make(f"polygym:{ID}", kernel="mvt", reward="static", dataset="mini")
    assert env.action_space.n == 21
    for box in env.observation_space.values():  # type: ignore[attr-defined]
        assert len(box.shape) == 1
    assert isinstance(env.unwrapped, OptimizeEnv)
    assert not isinstance(env.unwrapped, ScheduleEnv)


@pytest.mark.parametrize("name", [ID, "polygym/Schedule-v0"])
def test_statements_that_there_are_not_are_refused_at_once(name: str) -> None:
    env = make(name, kernel="mvt", mapping="S9:tile=8")
    with pytest.raises(
        InputError, match="mapping: expected statements of kernel_mvt, S0, S1, found S9"
    ):
        env.reset(seed=0)
