"""The wheel: its packages and data files, and the first example of the README from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of what is committed, as somebody with a clean clone would."""
    clone, out = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("wheel")
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, clone]
    subprocess.run(command, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.nightly
def test_it_has_two_packages_and_their_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"polygym", "polybench"}
    for data in (
        "polygym/py.typed",
        "polygym/agents/experiments/splits.yaml",
        "polygym/search/corpus/",
        "polygym/autoschedule/data/",
        "polygym/cost/data/",
        "polybench/",
    ):
        assert any(name.startswith(data) for name in names), data


@pytest.mark.nightly
def test_the_first_example_runs_from_it_in_an_empty_environment(
    wheel: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str | Path) -> str:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert "torch" not in run(python, "-m", "pip", "list")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- run command -->")[2]
    first = re.search(r"&& polygym (.+)", readme)
    assert first is not None
    assert "Best" in run(python.with_name("polygym"), *first[1].split())
    refused = subprocess.run(
        [python.with_name("polygym"), "evaluate", "earliest", "--programs", "mvt"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "pip install 'polygym[agents]'" in refused.stderr
