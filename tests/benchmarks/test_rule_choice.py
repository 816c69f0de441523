"""The benchmark of rule choice: contenders keep to the limit, rows go on, tables by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polygym.graphs.envs import SaturateEnv
from tests.benchmarks.folder_commands import BENCHMARKS, command

sys.path.append(str(BENCHMARKS / "rule_choice"))
import contenders

STUDY = command("rule_choice")


@pytest.mark.parametrize("name", contenders.CONTENDERS)
def test_contenders_end_within_the_limit(name: str) -> None:
    env = SaturateEnv("squeezenet", max_growth=2, max_steps=8)
    env.reset(seed=0)
    end = contenders.CONTENDERS[name](env.episode, np.random.default_rng(0))
    assert end.is_over
    assert end.egraph.node_count <= end.options.max_nodes == 148
    assert end.cost <= end.task.initial_cost
    if name != "random":
        assert end.cost < end.task.initial_cost


def test_rules_of_many_matches_pause() -> None:
    env = SaturateEnv("nasrnn", max_nodes=1000)
    env.reset(seed=0)
    rules = list(env.table)
    few, many = (contenders._BackoffScheduler(limit) for limit in (2, 10**6))
    assert many.rules_of_iteration(env.episode, rules) == rules
    chosen = few.rules_of_iteration(env.episode, rules)
    paused = {rule.name for rule in rules} - {rule.name for rule in chosen}
    assert paused == set(few.bans)
    assert paused
    assert few.is_waiting
    for _ in range(5):
        assert not paused & {rule.name for rule in few.rules_of_iteration(env.episode, rules)}
    few.match_limit = 10**6
    assert paused <= {rule.name for rule in few.rules_of_iteration(env.episode, rules)}


def test_a_study_goes_on(tmp_path: Path) -> None:
    arguments = ["--out", str(tmp_path), "--growths", "2", "--sets", "library biases"]
    arguments += ["--contenders", "tensat-1"]
    outputs = [
        CliRunner().invoke(STUDY.main, arguments, catch_exceptions=False).output for _ in range(2)
    ]
    assert outputs[0] == outputs[1]
    assert "| contender | library, biases | all | s |" in outputs[0]
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert len(rows) == 5
    (tmp_path / "rows.csv").write_text("\n".join(rows[:3]) + "\ntensat-1,0,2.0,cut")
    again = CliRunner().invoke(STUDY.main, arguments, catch_exceptions=False).output
    assert again.count("tensat-1") == outputs[0].count("tensat-1")
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 5


def test_means_by_hand() -> None:
    rows = [{"seed": seed, "gain": gain} for seed, gain in (("0", "1"), ("0", "3"), ("1", "4"))]
    assert STUDY._mean_text(rows[:2]) == "2.00"
    assert STUDY._mean_text(rows) == "3.00 ± 6.31"  # means 2 and 4, deviation √2, t 6.31
    assert STUDY._mean_text([]) == ""
