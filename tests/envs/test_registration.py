"""Environments are registered, made and reset: by names, arguments, specifications, options."""

import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import polybench
from polygym.errors import InputError
from tests.c_programs import SMALL_PROGRAMS, Y_AX
from tests.envs.episodes import IDS, make


@pytest.mark.parametrize("name", IDS)
def test_the_default_reward_is_a_time_and_the_registry_says_so(name: str) -> None:
    importlib.import_module("polygym")
    spec = gymnasium.spec(name)
    assert spec.nondeterministic is True
    made = gymnasium.make(name, kernel="mvt", reward="static").spec
    assert made is not None
    assert made.nondeterministic is True
    assert gymnasium.envs.registration.EnvSpec.from_json(made.to_json()).nondeterministic is True


def test_a_specification_survives_json_and_pickle() -> None:
    env = gymnasium.make(
        "polygym:polygym/Explore-v0",
        kernel="blas, mvt",
        dataset="small",
        parameters={"n": 30},
        max_coefficient=3,
        max_dimensions=3,
        max_rays=9,
        reward="static",
        threads=1,
        timeout_factor=5.0,
        policy="uniform",
        seed=7,
    )
    assert env.spec is not None
    for spec in (
        gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()),
        pickle.loads(pickle.dumps(env.spec)),
    ):
        again = gymnasium.make(spec)
        assert again.spec == env.spec
        assert again.observation_space == env.observation_space
        assert again.unwrapped._arguments == env.unwrapped._arguments


def test_a_reset_can_choose_the_kernel() -> None:
    env = make(IDS[2], kernel="mvt,lu")
    assert env.reset(options={"kernel": "lu"})[1]["kernel"] == "lu"
    assert env.reset(options={"kernel": "gemm"})[1]["kernel"] == "gemm"
    with pytest.raises(InputError, match="gem"):
        env.reset(options={"kernel": "gemmm"})
    with pytest.raises(InputError, match="kernle"):
        env.reset(options={"kernle": "lu"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "gemmm"}, "did you mean"),
        ({"kernel": ""}, "at least one"),
        ({"kernel": 3}, "text"),
        ({"kernel": "nowhere.c"}, "nowhere.c"),
        ({"dataset": "huge"}, "extralarge"),
        ({"reward": "fame"}, "log_speedup"),
        ({"policy": "luck"}, "bias_coeff_0"),
        ({"threads": 0}, "threads"),
        ({"timeout_factor": 0.5}, "timeout_factor"),
        ({"timeout_factor": float("nan")}, "timeout_factor"),
        ({"max_coefficient": 0}, "max_coefficient"),
        ({"max_dimensions": 99}, "max_dimensions"),
        ({"max_rays": 0}, "max_rays"),
        ({"parameters": "n"}, "n=100"),
        ({"parameters": {"n": "many"}}, "integer"),
        ({"render_mode": "human"}, "ansi"),
    ],
)
def test_bad_arguments_are_refused_with_advice(arguments: dict[str, Any], message: str) -> None:
    from polygym.envs.schedule import ScheduleEnv

    with pytest.raises(InputError, match=message):
        ScheduleEnv(**arguments)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    env = make(IDS[2], kernel=str(path))
    env.reset()
    assert len(env.problem.program.scop.statements) == 2
    path.write_text(SMALL_PROGRAMS["downward"])
    env.reset()
    assert len(env.problem.program.scop.statements) == 1


def test_all_kernels_share_one_observation_space() -> None:
    env = make(IDS[2], kernel="all")
    for kernel in polybench.KERNELS:
        observation, _ = env.reset(options={"kernel": kernel.name})
        assert env.observation_space.contains(observation)


@pytest.mark.parametrize(
    "lines",
    [
        "import gymnasium as g; e = g.make('polygym:polygym/Schedule-v0', reward='static')",
        "import polygym; import gymnasium as g; e = g.make('polygym/Explore-v0', reward='static')",
        "import gymnasium as g; import polygym; e = g.make('polygym/Construct-v0', kernel='mvt')",
        "import polygym, gymnasium as g; e = g.make('polygym:polygym/Schedule-v0')",
    ],
)
def test_importing_registers(lines: str, tmp_path: Path) -> None:
    program = f"{lines}; print(e.reset(seed=0)[1]['kernel'])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("gemm", "mvt")


def test_spawned_workers_import_polygym_by_the_prefix(tmp_path: Path) -> None:
    """Neither the program nor its workers import polygym; Gymnasium reads no plug-ins since 1.0."""
    program = (
        "import sys, gymnasium as g\n"
        "def made(): return g.make('polygym:polygym/Schedule-v0', kernel='mvt', reward='static')\n"
        "assert 'polygym' not in sys.modules\n"
        "envs = g.vector.AsyncVectorEnv([made, made], context='spawn')\n"
        "print(*envs.reset(seed=0)[1]['kernel'])\n"
        "envs.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mvt", "mvt"]


def test_ids_without_the_prefix_need_an_import(tmp_path: Path) -> None:
    program = "import gymnasium as g; g.make('polygym/Schedule-v0')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert "NamespaceNotFound" in done.stderr


def test_importing_polygym_does_not_import_gymnasium() -> None:
    program = "import polygym, sys; assert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_making_starts_nothing() -> None:
    program = (
        "import gymnasium, sys, os; "
        "e = gymnasium.make('polygym:polygym/Schedule-v0', kernel='all'); "
        "assert not {'ppl', 'highspy', 'llvmlite.binding', 'matplotlib'} & set(sys.modules); "
        "tasks = open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read(); "
        "assert not tasks, tasks"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
