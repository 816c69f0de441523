"""Trees that reward episodes: what they learn from, how wrong they are, and the shipped ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightgbm")

import polybench
from agents import fit_rewards
from polygym.cost.models.boosted_trees import BoostedTrees
from polygym.cost.models.pretrained import reward_model
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, parse_mapping
from polygym.mdp.episode import Task
from polygym.mdp.predicted_reward import predicted_speedup
from polygym.mdp.task_options import TaskOptions
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.program_choice import ProgramChoice
from polygym.search.corpus.store import open_corpus
from tests.agents.test_fit import lessons


def test_errors_are_factors_of_speedups_and_of_the_last_corpus_by_itself() -> None:
    """Two rows are right, one is wrong by a factor of 4; one has no prediction."""
    dataset = replace(
        lessons(["a", "b"], [[1.0, 0.5], [0.25, 1.0]]), corpus_index=np.array([0, 0, 1, 1])
    )
    errors = fit_rewards.speedup_errors(dataset, np.array([0.0, 1.0, 4.0, np.nan]))
    assert errors["half within, all corpora"] == 1.0
    assert errors["half within, the last corpus"] == 4.0
    assert errors["nine of ten within, the last corpus"] == 4.0


def test_one_command_makes_trees_of_speedups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "c.sqlite"
    programs = ProgramChoice(("mvt", "atax", "trisolv", "tc:matmul", "2mm"), (3e4, 3e5))
    with open_corpus(corpus, begin=True) as begun:
        Collection(begun, CollectPlan(programs, 40, 8)).run()
    given = ["--alone", "--corpus", str(corpus), "--out", str(tmp_path / "out"), "--trees", "20"]
    assert fit_rewards.main(given) == 0
    said = capsys.readouterr().out
    assert "left out: half within, the last corpus: a factor of " in said
    made = BoostedTrees.load(tmp_path / "out" / fit_rewards.MODEL)
    assert made.card.objective == "speedup"
    assert made.card.notes["command"] == "python -m agents.fit_rewards"
    # The same command goes on with what is there; another one is refused.
    assert fit_rewards.main(given) == 0
    assert "features of" not in capsys.readouterr().out
    assert fit_rewards.main([*given[:-1], "30"]) == 2
    assert "found other corpora, options or features" in capsys.readouterr().err
    assert fit_rewards.main(["--alone", "--out", str(tmp_path / "none")]) == 2
    assert "--alone: expected a --corpus, found none" in capsys.readouterr().err


def test_the_shipped_trees_reward_speedups_over_the_original_order() -> None:
    card = reward_model().card
    assert (card.objective, card.notes["command"]) == ("speedup", "python -m agents.fit_rewards")
    program = load_program("gemm", dataset=polybench.Dataset.LARGE)
    task = Task(program.scop, TaskOptions(), dict(program.parameters))
    original, isl = original_schedule(program.scop), isl_schedule(program.scop)
    assert predicted_speedup(task, original, SEQUENTIAL_MAPPING) == 1.0
    assert 3.0 < predicted_speedup(task, isl, parse_mapping("threads=2")) < 1000.0
