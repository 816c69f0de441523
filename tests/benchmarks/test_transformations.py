"""The benchmark of transformation steps, run on little."""

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.folder_commands import BENCHMARKS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "transformations"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_masks_are_timed() -> None:
    done = run("masks", "--programs", "mvt", "--steps", "3", "--episodes", "1")
    assert done.returncode == 0, done.stderr
    assert "| mvt |" in done.stdout
    assert "worst median" in done.stdout


def test_curves_go_on_and_are_reported(tmp_path: Path) -> None:
    search = ("curves", "--out", str(tmp_path), "--programs", "mvt", "--dataset", "mini",
              "--budget", "3", "--strategies", "bias_coeff_0,steps")  # fmt: skip
    done = run(*search)
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("mvt.steps.*.json")
    document = json.loads(file.read_text())
    assert len(document["rows"]) == 3
    assert document["statuses"] == {"ok": 3}
    assert run(*search).stderr == ""  # nothing is missing
    table = run("curves", "--out", str(tmp_path), "--report").stdout
    assert "mini, threads=2, 1 programs" in table
    assert "| steps |" in table


def test_sequences_are_compared_and_go_on(tmp_path: Path) -> None:
    search = ("sequences", "--out", str(tmp_path), "--programs", "mvt,atax", "--round", "4")
    done = run(*search, "--count", "8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("8 sequences: {'ok': 8}")
    again = run(*search, "--count", "12")
    assert again.stdout.startswith("12 sequences: {'ok': 12}")
