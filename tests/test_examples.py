"""The examples run as their texts say, and say what they should."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

EXPECTED = {
    "measure_schedules": ((), "all at once: ok"),
    "random_agent": ((), "times as fast as LLVM -O3 of the source"),
    "train_agent": ((), "trained: 0."),
    "comprehension": ((), "of shape (64, 32)"),
    "text_agent": (("trisolv",), "times as fast as LLVM -O3 of the source, by"),
    "draw_space": (("mvt", "picture.svg"), "drawn in picture.svg"),
}


@pytest.mark.always
@pytest.mark.parametrize("name", EXPECTED)
def test_examples_run(name: str, tmp_path: Path) -> None:
    arguments, said = EXPECTED[name]
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_every_example_is_listed_and_run() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == set(EXPECTED)
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"[`{name}.py`]({name}.py)" in listed for name in names)
