"""Comprehensions as programs: on the command line, in the gym, in records."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polybench import Dataset
from polygym.cli import dispatch
from polygym.errors import InputError, SourceError
from polygym.frontend.tc import library
from polygym.mdp.problems.loading import program_targets
from polygym.programs import load_program, load_scop
from polygym.runtime.evaluation.c_compilers import compiler_path

TEXT = """
# Two definitions.
def scale(float s, float(M) A) -> (B) { B(i) = s * A(i) }
def strided(int step, float(M) A) -> (B) { B(i) = A(step * i) }
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "two.tc"
    path.write_text(TEXT)
    return str(path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = dispatch.run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


OPERATORS = [name for name in library.definitions() if "_gradient" not in name]
OTHERS = ["conv2d_strided_gradient_of_image:double", "layer_norm_gradient"]


@pytest.mark.parametrize("name", [*OPERATORS, *OTHERS])
def test_the_library_runs_like_kernels(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"tc:{name}"
    code, data = call(capsys, "run", target, "-d", "mini", "--schedule", "isl", "--repeat", "1")
    assert code == 0
    assert (data["status"], data["program"]) == ("ok", target)
    assert len(data["arrays"]) == len(library.definition(name).outputs)


def test_the_library_has_usual_sizes() -> None:
    for name in set(library.definitions()) - set(OPERATORS):
        parameters = dict(load_program(f"tc:{name}", dataset=Dataset.MINI).parameters)
        assert all(
            library.DEFAULT_SIZES.get(name, value) == value <= 16
            for name, value in parameters.items()
        )
    target = "tc:conv2d_strided_gradient_of_image"
    program = load_program(target, dataset=Dataset.MINI, parameters={"sh": 3, "W": 4, "OH": 2})
    known = dict(program.parameters)
    assert [known[name] for name in ("H", "W", "OH", "OW", "sh", "sw")] == [16, 4, 2, 1, 3, 2]
    known = dict(load_program(target, dataset=Dataset.MINI, parameters={"OH": 9}).parameters)
    assert (known["OH"], known["H"]) == (9, 17)  # 16 is usual, and too small an image
    with pytest.raises(InputError, match=r"not defined for .* OH = 9"):
        load_program(target, dataset=Dataset.MINI, parameters={"OH": 9, "H": 16})


def test_the_c_of_a_comprehension(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, data = call(capsys, "show", "tc:conv1d", "--schedule", "isl")
    assert code == 0
    assert data["conditions"] == ["N <= M"]
    assert data["arrays"][-1]["extents"] == ["M - N + 1"]
    code, data = call(capsys, "show", "tc:conv1d", "-p", "M=9", "-p", "N=3")
    assert code == 0
    assert "<= 6" in data["c"]
    code, data = call(capsys, "show", "tc:conv1d", "-p", "M=2", "-p", "N=3")
    assert code == 2
    assert "N <= M" in data["error"]
    code, data = call(capsys, "show", file, "--function", "strided", "-p", "step=3")
    assert code == 0
    assert "int step" in data["c"]


def test_one_of_several_in_a_file(file: str) -> None:
    assert load_scop(file, "scale").name == "scale"
    with pytest.raises(InputError, match="choose one of: scale, strided"):
        load_scop(file)
    with pytest.raises(InputError, match="no definition is called x; there are: scale, strided"):
        load_scop(file, "x")
    with pytest.raises(InputError, match="cannot be read"):
        load_scop("nowhere.tc")
    with pytest.raises(InputError, match="tc:x: expected one of"):
        load_scop("tc:x")
    with pytest.raises(InputError, match="tc:matmul is one definition already"):
        load_scop("tc:matmul", "matmul")


def test_scalars_that_must_be_given(file: str) -> None:
    with pytest.raises(SourceError, match=r"-p step=VALUE; from Python, .*'step'"):
        load_program(file, function="strided", dataset=Dataset.MINI)
    program = load_program(
        file, function="strided", dataset=Dataset.MINI, parameters={"step": 3, "M": 10}
    )
    assert dict(program.parameters) == {"M": 10, "step": 3}
    assert program.shape(program.scop.array("B")) == (4,)
    with pytest.raises(InputError, match="-p N: expected one of the parameters M, step"):
        load_scop(file, "strided", {"step": 3, "N": 4})


def test_an_environment(file: str) -> None:
    for arguments in (
        {"kernel": "tc:matmul", "dataset": "mini"},
        {"kernel": file, "function": "strided", "parameters": {"step": 2, "M": 30}},
    ):
        env = gymnasium.make("polygym:polygym/Schedule-v0", reward="speedup", **arguments)
        _, info = env.reset(seed=1)
        rng = np.random.default_rng(0)
        over = False
        while not over:
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, reward, over, _, info = env.step(action)
        assert info["status"] in ("ok", "timeout", "does not compile"), info
        assert isinstance(reward, float)
        env.close()


def test_a_search_and_its_record(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    out = tmp_path / "found"
    code, data = call(
        capsys, "optimize", file, "--function", "strided", "-p", "step=2", "-p", "M=100",
        "--budget", "4", "--out", str(out),
    )  # fmt: skip
    assert code == 0
    assert data["best"]["status"] == "ok"
    code, data = call(capsys, "replay", str(out / "best.json"))
    assert code == 0
    assert data["agrees"]
    assert data["parameters"] == {"M": 100, "step": 2}


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_other_compilers_get_it_as_c(capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("tc:softmax", "tc:gemm"):
        code, data = call(capsys, "bench", target, "-d", "mini", "--against", "gcc")
        assert code == 0
        assert [entry["status"] for entry in data["entries"]] == ["ok"] * 4


@pytest.mark.parametrize("name", ["matmul", "softmax:double"])
def test_a_name_without_its_beginning(name: str) -> None:
    with pytest.raises(InputError, match=f"the comprehension of that name is tc:{name}"):
        load_program(name)
    with pytest.raises(InputError, match=f"kernel: the comprehension of that name is tc:{name}"):
        program_targets(name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"nothing\.tc: cannot be read: No such file or directory$"
    ):
        load_program(str(tmp_path / "nothing.tc"))
