"""Transform-v0: steps on named loops, masks that are exact, explanations and records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.envs.transform import TransformEnv
from polygym.envs.vector import TransformVectorEnv
from polygym.errors import IllegalScheduleError, InputError
from polygym.mdp.observation.transform_arrays import CHOICE_COLUMNS, LOOP_COLUMNS
from polygym.mdp.records import episode_record
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError
from polygym.transformations.tree_steps import UnavailableStepError
from tests.envs.episodes import finish

WAVEFRONT = """void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 1; i < n; i++)
    for (int j = 0; j < n - 1; j++)
      A[i][j] = A[i - 1][j + 1] + 1.0;
#pragma endscop
}
"""
EXPANDED = """void f(int n, double A[n][n], double y[n]) {
  double w;
#pragma scop
  for (int i = 0; i < n; i++) {
    w = 0.0;
    for (int j = 0; j < n; j++)
      w += A[i][j];
    y[i] = w;
  }
#pragma endscop
}
"""


def made(**arguments: Any) -> TransformEnv:
    return TransformEnv(**{"reward": "static", "dataset": "mini", **arguments})


@pytest.fixture
def wavefront(tmp_path: Path) -> str:
    file = tmp_path / "wavefront.c"
    file.write_text(WAVEFRONT)
    return str(file)


def take(env: TransformEnv, text: str) -> dict[str, Any]:
    return env.step(env.steps().index(text))[-1]


def test_an_illegal_step_is_explained_with_an_example(wavefront: str) -> None:
    env = made(kernel=wavefront)
    _, info = env.reset(seed=0)
    action = env.steps().index("interchange L1 L2")
    assert not info["action_mask"][action]
    text = env.explain(action)
    assert text.startswith("illegal: interchange L1 L2: the schedule breaks the flow dependence")
    assert "S0[2, 0] before S0[1, 1]" in text
    take(env, "skew L2 L1 1")
    assert env.action_masks()[env.steps().index("interchange L1 L2")]
    assert "L2: for (" in env.explain(env.steps().index("interchange L1 L2"))


@pytest.mark.parametrize("kernel", ["gemm", "lu", "jacobi-1d", "correlation", "symm"])
def test_the_mask_is_what_each_step_alone_says(kernel: str) -> None:
    env = made(kernel=kernel, threads=2)
    _, info = env.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(4):
        offer = env.episode.offer
        for step, is_allowed in zip(offer.steps, env.action_masks(), strict=False):
            try:
                state = offer.state.after(step)
            except (IllegalStepError, UnavailableStepError, IllegalScheduleError):
                assert not is_allowed, step
            else:
                assert is_allowed, step
                assert is_legal(state.scop, state.schedule)
        allowed = np.flatnonzero(info["action_mask"])
        _, _, over, _, info = env.step(int(rng.choice(allowed[allowed > 1])))
        assert not over


def test_a_forbidden_step_costs_and_changes_nothing(wavefront: str) -> None:
    env = made(kernel=wavefront)
    env.reset(seed=0)
    before = env.episode.transform_state
    _, reward, over, _, _ = env.step(env.steps().index("interchange L1 L2"))
    assert (reward, over) == (-0.1, False)
    assert env.episode.transform_state == before
    _, reward, over, _, _ = env.step(env.action_space.n - 1)
    assert (reward, over, env.episode.illegal_count) == (-0.1, False, 2)


def test_undo_leads_back(wavefront: str) -> None:
    env = made(kernel=wavefront)
    first, _ = env.reset(seed=0)
    assert not env.action_masks()[1]
    take(env, "skew L2 L1 1")
    back, _, _, _, _ = env.step(1)
    for name in set(first) - {"remaining"}:
        assert np.array_equal(first[name], back[name]), name


def test_when_all_steps_are_taken_stop_is_left() -> None:
    env = made(kernel="gemm", max_steps=3)
    _, info = env.reset(seed=0)
    for _ in range(3):
        _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        assert not over
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]
    assert "all steps of this episode are taken" in env.episode.offer.reason(5)
    assert env.step(0)[2]


def test_a_small_action_space_leaves_steps_out_and_says_so() -> None:
    env = made(kernel="gemm", max_actions=10)
    observation, info = env.reset(seed=0)
    assert info["steps_complete"] is False
    assert len(env.steps()) == 10 == env.action_space.n
    assert observation["choices"].shape == (10 * len(CHOICE_COLUMNS),)
    assert made(kernel="gemm").reset(seed=0)[1]["steps_complete"] is True


def test_of_too_many_steps_each_kind_keeps_some() -> None:
    env = made(kernel="2mm", max_actions=40, threads=2)
    env.reset(seed=0)
    kinds = {step.split()[0] for step in env.steps()}
    assert len(env.steps()) == 40
    assert {"stop", "undo", "fuse", "skew", "tile", "vectorize", "parallel"} <= kinds
    everything = made(kernel="2mm", threads=2)
    everything.reset(seed=0)
    whole = everything.steps()
    assert [step for step in whole if step in env.steps()] == list(env.steps())


def test_a_fusion_is_offered_with_the_least_legal_shift(tmp_path: Path) -> None:
    file = tmp_path / "late.c"
    file.write_text(
        "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i++)\n    A[i] = B[i] + 1;\n"
        "  for (int i = 0; i < n - 5; i++)\n    B[i] = A[i + 5] + 2;\n#pragma endscop\n}\n"
    )
    env = made(kernel=str(file))
    env.reset(seed=0)
    fusions = {
        step: bool(env.action_masks()[place])
        for place, step in enumerate(env.steps())
        if step.startswith("fuse")
    }
    assert fusions == {
        "fuse L1 L2": False,
        "fuse L1 L2 shift 1": False,
        "fuse L1 L2 shift 2": False,
        "fuse L1 L2 shift 5": True,
    }
    assert "illegal" in env.explain("fuse L1 L2 shift 4")


def test_several_statements_can_be_split() -> None:
    env = made(kernel="floyd-warshall")
    env.reset(seed=0)
    take(env, next(s for s in env.steps() if s.startswith("split") and "," in s))
    assert len(env.episode.transform_state.scop.statements) > 3
    env = made(kernel="gemm")
    env.reset(seed=0)
    splits = [step for step in env.steps() if step.startswith("split")]
    take(env, splits[0])
    assert not any(step.startswith("split S1") for step in env.steps())
    state = env.episode.transform_state
    assert state.after(parse_step("store S0:C=expand:i")).storage.entries


def test_both_parts_of_a_distributed_loop_have_its_marks() -> None:
    env = made(kernel="gemm", threads=2)
    env.reset(seed=0)
    take(env, "parallel L1 static")
    take(env, "distribute L1 before L3")
    assert str(env.episode.mapping) == "threads=2 S0:parallel=static S1:parallel=static"


def test_one_iteration_together_is_always_possible() -> None:
    env = made(kernel="seidel-2d")
    env.reset(seed=0)
    assert env.explain("unroll_jam L1 1").startswith("legal")
    assert "2 iterations of L1 run together" in env.explain("unroll_jam L1 2")


def test_the_text_of_an_end_has_the_code_under_its_mapping() -> None:
    env = made(kernel="gemm", render_mode="ansi")
    env.reset(seed=0)
    take(env, "tile L3 L4 16 16")
    env.step(0)
    assert "tile=16x16" in env.render().partition("\nC\n")[2]


def test_the_tables_name_loops_and_steps(wavefront: str) -> None:
    env = made(kernel=wavefront)
    observation, info = env.reset(seed=0)
    loops = observation["loops"].reshape(-1, len(LOOP_COLUMNS))
    column = LOOP_COLUMNS.index
    assert loops[:3, column("exists")].tolist() == [1, 1, 0]
    assert loops[:2, column("parent")].tolist() == [0, 1]
    assert loops[:2, column("innermost")].tolist() == [0, 1]
    assert loops[:2, column("band")].tolist() == [1, 1]
    assert observation["loop_of"][0] == 2
    choices = observation["choices"].reshape(-1, len(CHOICE_COLUMNS))
    allowed = choices[:, CHOICE_COLUMNS.index("allowed")]
    assert np.array_equal(allowed, info["action_mask"])
    row = choices[env.steps().index("skew L2 L1 -1")]
    assert row[CHOICE_COLUMNS.index("is_skew")] == 1
    assert row[CHOICE_COLUMNS.index("amount")] == -1
    assert row[CHOICE_COLUMNS.index("first_depth")] == 1
    assert row[CHOICE_COLUMNS.index("second_depth")] == 0
    take(env, "skew L2 L1 1")
    loops = env._observe(env.episode, env.action_masks())["loops"].reshape(-1, len(LOOP_COLUMNS))
    assert loops[:2, column("band")].tolist() == [1, 2]


def test_storage_and_splits_change_the_program_and_are_replayed(tmp_path: Path) -> None:
    file = tmp_path / "expanded.c"
    file.write_text(EXPANDED)
    env = made(kernel=str(file), threads=2, reward="speedup")
    env.reset(seed=0)
    assert not env.action_masks()[env.steps().index("parallel L1 static")]
    take(env, "store S0:w=expand:i")
    take(env, "parallel L1 static")
    _, reward, over, _, info = env.step(0)
    assert (over, info["status"]) == (True, "ok")
    assert reward == info["speedup"] > 0
    assert info["storage"] == "S0:w=expand:i"
    assert info["steps"] == "store S0:w=expand:i; parallel L1 static; stop"
    assert info["mapping"] == "threads=2 S2:parallel=static"
    record = json.loads(json.dumps(env.export()))
    again = episode_record.replay_record(record, "x.json")
    assert again.episode is not None
    played, state = again.episode.transform_state, env.episode.transform_state
    assert (played.tree, played.mapping, played.steps) == (state.tree, state.mapping, state.steps)
    LegalSchedule(again.program.scop, again.schedule)
    for changed, message in (
        ({"steps": "stop"}, "expected the actions to lead to"),
        ({"process": {**record["process"], "steps": 99}}, "the version of the steps"),
        ({"arguments": {**record["arguments"], "max_steps": 0}}, "max_steps: expected 1 to 1,000"),
    ):
        with pytest.raises(InputError, match=message):
            episode_record.replay_record({**record, **changed}, "x.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_steps": 0}, "max_steps: expected 1 to 1,000, found 0"),
        ({"max_actions": 1}, "max_actions: expected 2 to 10,000, found 1"),
        ({"start": "fast"}, "start: expected"),
        ({"features": 1}, "features: expected True or False"),
        ({"storage_limit": -1}, "storage_limit: expected 0 to 2"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**arguments)


def test_an_end_offers_no_steps_to_explain() -> None:
    env = made(kernel="mvt")
    env.reset(seed=0)
    with pytest.raises(InputError, match="expected 0 to"):
        env.explain(len(env.steps()))
    with pytest.raises(InputError, match=r"an action: expected an integer, found 1\.5"):
        env.explain(1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a step: expected one of"):
        env.explain("juggle L1")
    env.step(0)
    with pytest.raises(InputError, match="found one that is over"):
        env.steps()


def test_loops_without_a_row_are_counted_and_have_steps(tmp_path: Path) -> None:
    """50 loops: two have no row; steps about them are offered and taken."""
    count = 50
    lines = "\n".join(f"for (int i = 0; i < n; i++) A{k % 4}[i] = {k}.0;" for k in range(count))
    arrays = ", ".join(f"double A{k}[n]" for k in range(4))
    text = f"void f(int n, {arrays}) {{\n#pragma scop\n{lines}\n#pragma endscop\n}}\n"
    (tmp_path / "many.c").write_text(text)
    env = made(kernel=str(tmp_path / "many.c"), parameters={"n": 20}, max_actions=900)
    observation, info = env.reset(seed=0)
    assert info["hidden_loops"] == 2
    loops = observation["loops"].reshape(-1, len(LOOP_COLUMNS))
    assert np.allclose(loops[:, LOOP_COLUMNS.index("hidden")], np.log2(3))
    about = [step for step in env.steps() if step.split()[-1] == "L50"]
    assert "reverse L50" in about
    info = take(env, "fuse L48 L49")
    assert info["hidden_loops"] == 1
    info = take(env, "fuse L48 L50")
    assert info["hidden_loops"] == 0
    assert made(kernel="gemm").reset(seed=0)[1]["hidden_loops"] == 0


def test_from_isl_the_first_tree_is_isls() -> None:
    env = made(kernel="jacobi-1d", start="isl")
    env.reset(seed=0)
    assert "2t + i" in env.episode.transform_state.tree.text()


def test_a_vector_does_what_its_members_do_alone() -> None:
    envs = TransformVectorEnv(2, kernel="gemm,mvt", reward="static", dataset="mini", max_steps=4)
    alone = [made(kernel="gemm,mvt", max_steps=4) for _ in range(2)]
    shown, infos = envs.reset(seed=3)
    single = [env.reset(seed=3 + place) for place, env in enumerate(alone)]
    rng = np.random.default_rng(0)
    for _ in range(6):
        for place, (observation, info) in enumerate(single):
            for name, array in observation.items():
                assert np.array_equal(shown[name][place], array), name
            assert infos["steps_complete"][place] == info["steps_complete"]
            assert infos["hidden_loops"][place] == info["hidden_loops"]
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in envs.action_masks()]
        shown, rewards, over, _, infos = envs.step(np.array(actions))
        single = []
        for env, action, reward, is_over in zip(alone, actions, rewards, over, strict=True):
            if env.episode.is_over:
                single.append(env.reset())
                continue
            observation, value, ends, _, info = env.step(action)
            assert (value, ends) == (reward, is_over)
            single.append((observation, info))


def test_random_episodes_run_and_compute_the_same() -> None:
    env = made(kernel="gemm,lu,atax,jacobi-1d", reward="speedup", threads=2, max_steps=8)
    for seed in range(6):
        _, info = env.reset(seed=seed)
        _, info = finish(env, info, seed)
        assert info["status"] == "ok", info
