"""Who has learned from kernels for tests says so: trainings, models, and tables of what they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polygym.agents.evaluation.results import EpisodeResultLine, read_results, write_results
from polygym.agents.experiments.train_test_leakage import learned_from
from polygym.agents.trainers.training import train_experiment
from polygym.cli import dispatch
from polygym.errors import InputError
from tests.agents.small_experiments import small

# As syr2k adds up, but for names and the order of loops; as gemm does.
LIKE_SYR2K = """void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += A[j][k] * B[i][k] + B[j][k] * A[i][k];
#pragma endscop
}"""
LIKE_GEMM = LIKE_SYR2K.replace("j <= i", "j < n").replace(
    "A[j][k] * B[i][k] + B[j][k] * A[i][k]", "A[i][k] * B[k][j]"
)


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def experiment(kernels: str, **entries: Any) -> Any:
    own = {"steps": 16, "every": 16, "hyperparameters": {"n_steps": 16, "batch_size": 16}}
    return small(kernels=kernels, evaluation=None, **own, **entries)


# What a training learns from


@pytest.mark.parametrize(
    ("kernels", "seen"),
    [
        ("mvt, trisolv", ()),
        ("trmm, mvt, syr2k", ("syr2k", "trmm")),
        ("split:train", ()),
        ("random:183210244, random:0", ("trmm",)),
    ],
)
def test_kernels_for_tests_are_found(kernels: str, seen: tuple[str, ...]) -> None:
    assert learned_from(experiment(kernels)) == seen


def test_so_are_files_that_do_the_same(tmp_path: Path) -> None:
    own, other = (
        written(tmp_path, name, text)
        for name, text in (("mine.c", LIKE_SYR2K), ("other.c", LIKE_GEMM))
    )
    arguments = {"reward": "static", "parameters": "n=8"}
    assert learned_from(experiment(f"{own}, {other}", arguments=arguments)) == ("syr2k",)
    assert learned_from(experiment(other, arguments=arguments)) == ()


def test_cloning_learns_from_none() -> None:
    own = {"algorithm": "cloning", "hyperparameters": {"batch_size": 8}, "evaluation": None}
    assert learned_from(small(kernels="random:2", teacher="earliest", **own)) == ()


# What models and tables say


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path: Path = tmp_path_factory.mktemp("trained")
    for name, kernels in (("clean", "mvt"), ("seen", "mvt, syr2k")):
        train_experiment(experiment(kernels, seeds=[0, 1]), path / name, lambda text: None)
    return {name: path / name for name in ("clean", "seen")}


def about(folder: Path) -> Path:
    return folder / "seed-1" / "model.json"


def test_a_training_says_it_once_and_keeps_it(tmp_path: Path, capsys: Any) -> None:
    told: list[str] = []
    for name, kernels in (("clean", "mvt"), ("seen", "mvt, syr2k")):
        train_experiment(experiment(kernels, seeds=[0, 1]), tmp_path / name, told.append)
        said = capsys.readouterr().err
        assert said.count("learns from kernels for tests") == (name == "seen")
        assert ("syr2k" in said) is (name == "seen")
        kept = json.loads(about(tmp_path / name).read_text())
        assert kept["test_kernels"] == (["syr2k"] if name == "seen" else [])
    assert not any("for tests" in line for line in told)


@pytest.mark.parametrize("kept", ["as it is", "nowhere"])
def test_it_is_said_beside_what_the_model_does(
    kept: str, folders: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    seen, clean = folders["seen"], folders["clean"]
    file, before = about(seen), about(seen).read_text()
    for seed in ("seed-0", "seed-1"):
        path = seen / seed / "model.json"
        if kept == "nowhere":
            path.unlink()
    files = []
    for folder in (clean, seen):
        files.append(str(tmp_path / f"{folder.name}.jsonl"))
        given = ["--programs", "mvt,syr2k,trmm", "--out", files[-1]]
        assert dispatch.run(["evaluate", str(folder), *given]) == 0
        said = capsys.readouterr().out
        assert (f"{folder} has learned from syr2k:" in said) is (folder == seen)
        own = [
            result_line.kernel
            for result_line in read_results(Path(files[-1]))
            if result_line.trained_on
        ]
        assert own == (["syr2k"] * 2 if folder == seen else [])
    assert dispatch.run(["compare", *files]) == 0
    said = capsys.readouterr().out
    assert f"| {seen} * | 2 | 3 |" in said
    assert f"| {clean} | 2 | 3 |" in said
    assert said.endswith("programs that it has never seen\n")
    assert said.count("has learned from syr2k:") == 1
    for seed in ("seed-0", "seed-1"):
        (seen / seed / "model.json").write_text(before)
    assert file.exists()


def test_it_is_not_said_of_other_kernels(folders: dict[str, Path], capsys: Any) -> None:
    assert dispatch.run(["evaluate", str(folders["seen"]), "--programs", "trmm,mvt"]) == 0
    assert "learned from" not in capsys.readouterr().out


def test_it_is_said_of_a_file_that_does_the_same(
    folders: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    arguments = ["--set", "parameters=n=8", "--set", "dataset=mini"]
    for text, is_seen in ((LIKE_SYR2K, True), (LIKE_GEMM, False)):
        file = written(tmp_path, "mine.c", text)
        assert dispatch.run(["evaluate", str(folders["seen"]), "--programs", file, *arguments]) == 0
        assert ("has learned from" in capsys.readouterr().out) is is_seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "model.json: expected what a model is"),
        ("[]", "model.json: expected entries by their names"),
        ('{"test_kernels": ["gemm"]}', "model.json: test_kernels: expected some of syr2k, trmm"),
        ('{"test_kernels": 1}', "test_kernels: expected some of"),
        ('{"test_kernels": [[]]}', "test_kernels: expected some of"),
    ],
)
def test_what_says_nothing_of_a_model_is_refused(
    text: str, said: str, folders: dict[str, Path], capsys: Any
) -> None:
    file, before = about(folders["clean"]), about(folders["clean"]).read_text()
    file.write_text(text)
    try:
        assert dispatch.run(["evaluate", str(folders["clean"]), "--programs", "mvt"]) == 2
    finally:
        file.write_text(before)
    assert said in capsys.readouterr().err


def test_results_of_earlier_versions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    result_line = EpisodeResultLine("a", 0, "syr2k", 0, 0.5, 0.0, "not measured", {}, True)
    write_results(file, [result_line])
    assert read_results(file) == [result_line]
    entries = json.loads(file.read_text())
    del entries["trained_on"]
    file.write_text(json.dumps(entries))
    with pytest.raises(InputError, match="expected the entries agent, seed"):
        read_results(file)
