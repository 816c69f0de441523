"""The paper's experiment: shards are run once and packed, curves and tables agree with a hand."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.benchmarks.folder_commands import BENCHMARKS, command

sys.path.append(str(BENCHMARKS / "paper_experiment"))

import paper_curves
import paper_shards
from paper_shards import Conditions, Shard

EXPERIMENT = command("paper_experiment")


def row(table: str, **entries: object) -> dict[str, str]:
    return {name: str(entries.get(name, "")) for name in paper_shards.COLUMNS} | {"table": table}


ROWS = [
    row("run", text="0.3.0, some machine"),
    row("episode", name="uniform", number=1, schedule=2, status="timeout"),
    row("episode", name="uniform", number=0, schedule=1, status="ok"),
    row("episode", name="uniform", number=2, status="space too large"),
    row("episode", name="uniform", number=3, schedule=3, status="ok"),
    row("episode", name="uniform", number=4, schedule=1, status="ok"),
    row("outcome", schedule=1, size="medium", status="ok", seconds=2.0, original=1.0),
    row("outcome", schedule=2, size="medium", status="timeout", seconds=0, original=0),
    row("outcome", schedule=3, size="medium", status="ok", seconds=0.5, original=1.0),
    row("confirmed", schedule=1, size="large", status="ok", seconds=4.0, original=8.0),
    row("confirmed", schedule=3, size="large", status="ok", seconds=2.0, original=8.0),
    row("reference", name="isl", size="medium", status="ok", seconds=1.0, original=1.0),
    row("reference", name="isl", size="large", status="ok", seconds=1.0, original=8.0),
    row("reference", name="gcc", size="large", status="crash", seconds=0, original=0),
]


def test_curve_by_hand() -> None:
    """Schedule 1 is 0.5, the second episode fails, the third has none, schedule 3 is 2.0."""
    assert paper_curves.curve(ROWS, "uniform") == [0.5, 0.5, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert paper_curves.curve(ROWS, "bias_coeff_0") == [paper_curves.WORST] * 9


def test_tables_by_hand() -> None:
    lines = paper_curves.tables({"mvt": ROWS, "atax": ROWS}, ["uniform"], "large").splitlines()
    assert lines[2] == "| uniform | 0.50 | 0.50 | 2.00 | 2.00 | 2.00 | 2.00 | 2.00 | 2.00 | 2.00 |"
    assert lines[6] == "| mvt | 3 | 2 | 0 | 4.00 | 8.00 | - | - | - |"
    assert lines[-1] == "| **geometric mean** | | | | 4.00 | 8.00 | - | - | - |"


def test_shards_come_in_the_order_in_which_they_matter() -> None:
    shards = list(EXPERIMENT.shards_of(["a", "b"], ["default", "sequential"], [0, 1]))
    assert [shard.group for shard in shards[::2]] == [
        "default-0", "sequential-0", "default-1", "sequential-1",
    ]  # fmt: skip


def test_a_shard_begins_with_nothing() -> None:
    words = Shard("mvt", "sequential", 1).command(Conditions(), Path("work"))
    given = dict(pairwise(words))
    assert given["--initial-schedules"] == "none"
    assert given["--mapping"] == "sequential"
    assert given["--seed"] == "1"
    assert "--mapping" not in Shard("mvt", "default", 0).command(Conditions(), Path("work"))


def test_a_shard_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "paper_experiment", "--kernels", "mvt", "--mapping", "default", "--seed", "0",
        "--budget", "2", "--search-dataset", "mini", "--dataset", "mini", "--threads", "1",
        "--against", "gcc", "--work", str(tmp_path / "work"), "--rows", str(tmp_path / "rows"),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", [*words, "--time-limit", "0.001s"])
    assert EXPERIMENT.main() == 0
    assert "1 shards are not complete" in capsys.readouterr().err
    assert not list((tmp_path / "rows").rglob("*.xz"))
    monkeypatch.setattr(sys, "argv", words)
    assert EXPERIMENT.main() == 0
    assert "## default-0: 1 programs" in capsys.readouterr().out
    rows = paper_shards.read_rows(tmp_path / "rows" / "default-0" / "mvt.csv.xz")
    episodes = [row for row in rows if row["table"] == "episode"]
    assert {(row["name"], row["number"]) for row in episodes} == {
        (policy, number) for policy in paper_shards.POLICIES for number in ("0", "1")
    }
    numbers = {row["schedule"] for row in rows if row["table"] == "outcome"}
    assert {row["schedule"] for row in episodes if row["schedule"]} == numbers
    assert any(row["table"] == "run" for row in rows)
    monkeypatch.setattr(EXPERIMENT, "run_shard", lambda *_: pytest.fail("run twice"))
    assert EXPERIMENT.main() == 0
