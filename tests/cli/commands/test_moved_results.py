"""Results of projects that have moved, or were copied: `replay`, `export`, `apply` and `show`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.invoke import call, call_json

_SCALE = """#include "factor.h"
void scale(int n, double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = FACTOR * x[i];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a result; tests work on copies of it."""
    folder = tmp_path_factory.mktemp("searched")
    project = folder / "old"
    (project / "include").mkdir(parents=True)
    (project / "scale.c").write_text(_SCALE)
    (project / "include" / "factor.h").write_text("#define FACTOR 2\n")
    from polygym.cli import dispatch

    search = ["optimize", str(project / "scale.c"), "-p", "n=500", "--budget", "1"]
    flags = ["-I", str(project / "include"), "--out", str(project / "found")]
    assert dispatch.run([*search, *flags]) == 0
    best = project / "found" / "best.json"
    record = json.loads(best.read_text())
    if record["phase"] == "given":  # the source, where nothing was faster: give it a mapping
        record = record | {
            "arguments": record["arguments"] | {"mapping": "default"},
            "outcome": None,
        }
        best.write_text(json.dumps(record))
    return project


@pytest.fixture
def project(searched: Path, tmp_path: Path) -> Path:
    """The project where it was searched, whole again."""
    shutil.rmtree(searched)
    shutil.copytree(_kept(searched), searched)
    return searched


@pytest.fixture(scope="module", autouse=True)
def _keep(searched: Path) -> None:
    shutil.copytree(searched, _kept(searched))


def _kept(project: Path) -> Path:
    return project.parent / "kept"


def test_a_result_knows_the_way_to_its_file(project: Path) -> None:
    record = json.loads((project / "found" / "best.json").read_text())
    assert record["program"]["relative_file"] == "../scale.c"


def test_a_project_that_was_moved(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "moved"
    project.rename(moved)
    project.mkdir()
    best = str(moved / "found" / "best.json")
    assert call(capsys, "replay", best, "--no-run")[0] == 0
    out = str(tmp_path / "lib")
    code, document = call_json(capsys, "export", best, "--out", out, "--no-measure")
    assert code == 0
    assert not any("changed" in note for note in document["notes"])
    code, _, error = call(capsys, "apply", best, "--write", "--no-measure")
    assert code == 0, error
    assert list(project.iterdir()) == []
    assert (moved / "scale_kernel.c").exists()


def test_a_copied_project_leaves_the_other_one_alone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(project, copied)
    (project / "include" / "factor.h").write_text("#error the header of the other project\n")
    best = str(copied / "found" / "best.json")
    assert call(capsys, "apply", best, "--write", "--no-measure")[0] == 0
    assert (project / "scale.c").read_text() == _SCALE
    assert not (project / "scale_kernel.c").exists()
    assert "scale_kernel(" in (copied / "scale.c").read_text()


def test_a_file_that_has_changed_is_only_written_to_on_request(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = _SCALE.replace("i++)\n", "i++)  /* changed */\n")
    file, best = project / "scale.c", str(project / "found" / "best.json")
    file.write_text(changed)
    code, _, error = call(capsys, "apply", best, "--write", "--no-measure")
    assert code == 2
    assert f"--file {file}" in error
    assert file.read_text() == changed
    arguments = ["apply", best, "--file", str(file), "--write", "--no-measure"]
    assert call(capsys, *arguments)[0] == 0
    assert "scale_kernel(" in file.read_text()


def test_a_file_of_another_name_and_place(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "include").mkdir(parents=True)
    other = Path(shutil.move(project / "scale.c", elsewhere / "renamed.c"))
    best = str(project / "found" / "best.json")
    for arguments in (
        ["export", best, "--out", str(tmp_path / "lib"), "--no-measure"],
        ["apply", best, "--diff"],
    ):
        code, _, error = call(capsys, *arguments)
        assert (code, "--file NEW.c" in error) == (2, True)
        code, _, error = call(capsys, *arguments, "--file", str(other), "-I", f"{project}/include")
        assert code == 0, error
    given = [str(other), "-I", f"{project}/include", "--schedule", best]
    assert call(capsys, "show", *given, "--c")[0] == 0


@pytest.mark.parametrize("option", ["-p n=3", "-d mini", "--schedule isl", "--function f"])
def test_a_result_has_its_own_program(
    option: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = str(project / "found" / "best.json")
    code, _, error = call(capsys, "apply", best, "--diff", *option.split())
    assert (code, "a result has its own" in error) == (2, True)


def test_a_program_is_no_result(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(project / "scale.c")
    code, _, error = call(capsys, "apply", file, "--file", file, "--diff", "-p", "n=9")
    assert (code, "expected with a result" in error) == (2, True)
