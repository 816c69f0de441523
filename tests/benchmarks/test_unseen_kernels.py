"""Models that are asked about kernels they know nothing of: by hand, and a small run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import cost
import numpy as np
import pytest
from search_study import ranking, unseen_kernels
from search_study.candidate_timing import check_evaluation

from polygym.cost import FEATURE_NAMES
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.pretrained import pretrained_model
from polygym.errors import PolygymError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.samples import CaseRows, case_rows
from polygym.search.corpus.store import Corpus

pytest.importorskip("lightgbm")

ROW = ranking.RankingResult(
    "gemm", "mini", 1, 10, 0, 3, 8, 7, first=4.0, others=(2.0, 8.0, 0.0), isl=2.0, earliest=4.0
)


def samples(programs: list[str], rows: int, *, known: bool) -> TrainingSamples:
    """Return cases whose times follow from one feature, which the formula does not know."""
    rng = np.random.default_rng(0)
    features = rng.random((len(programs) * rows, len(FEATURE_NAMES)))
    cases = np.repeat(np.arange(len(programs)), rows)
    column = FEATURE_NAMES.index("total_cycles") if known else 3
    return TrainingSamples(features, np.exp2(4 * features[:, column]), cases)


def test_models_formula_and_dice() -> None:
    programs = [*(f"random:{k}" for k in range(12)), "tc:mlp1", "gemm", "gemm", "lu"]
    learned, more, formula, rng = unseen_kernels.ranking_qualities(
        samples(programs, 30, known=False), programs, range(2)
    )
    assert learned.spearman > 0.9
    assert more.spearman > 0.9
    assert learned.share.mean > 0.8
    assert abs(formula.spearman) < 0.5
    assert abs(rng.spearman) < 0.5
    assert rng.share.mean < learned.share.mean
    for quality in (learned, more, formula, rng):
        assert (quality.kernels, quality.cases) == (2, 3)
    assert (learned.seeds, formula.seeds, rng.seeds) == (2, 1, 2)
    known = unseen_kernels.ranking_qualities(samples(programs, 30, known=True), programs, range(1))[
        2
    ]
    assert known.spearman == pytest.approx(1.0)
    assert known.share.mean == pytest.approx(1.0)
    assert "| the formula of cycles | 1.00 |" in unseen_kernels.unseen_table([known])


def test_shares_of_ranks_by_hand() -> None:
    assert ROW.best == 8.0
    text = ranking.ranking_table([ROW, replace(ROW, seed=1, first=8.0)])
    # Of random search the geometric mean of 2/8, 8/8 and of nothing, which counts as a thousandth.
    by_dice = (2 / 8 * 8 / 8 * 1e-3 / 8) ** (1 / 3)
    assert f"| gemm, seed 0 | 8 | 4 | 8.00x | 0.50 | 0.25 | 0.50 | {by_dice:.2f} |" in text
    assert "| gemm, seed 1 | 8 | 4 | 8.00x | 1.00 |" in text
    assert "| geometric mean | | | | 0.71 (0.71 to 0.71) | 0.25" in text


def test_schedules_are_ranked_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost, "random_program_model", lambda _: pretrained_model())
    words = ["ranks", "mvt", "--count", "12", "--measured", "3", "--threads", "1"]
    words += ["--dataset", "mini", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["cost.py", *words])
    assert cost.main() == 0
    assert "| geometric mean |" in capsys.readouterr().out
    (path,) = tmp_path.glob("ranks-*.jsonl")
    (result,) = ranking.read_rankings(path).values()
    assert len(result.others) == 3
    assert 4 <= result.ranked <= result.schedules <= 12
    assert min(result.best, result.isl, result.earliest) > 0
    kept = path.read_text()
    assert cost.main() == 0
    assert path.read_text() == kept, "what is known is not measured again"
    monkeypatch.setattr(sys, "argv", ["cost.py", "ranks", "nothing", *words[2:]])
    assert cost.main() == 2


@pytest.mark.parametrize("status", list(OutcomeStatus))
def test_a_defect_ends_a_search(status: OutcomeStatus) -> None:
    """Neither part takes a wrong output or a crash for a slow candidate."""
    scop = load_program("mvt").scop
    schedule = original_schedule(scop)
    evaluation = Evaluation(schedule, status)
    if status in (OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.CRASH):
        with pytest.raises(
            PolygymError, match=f"mvt: {status.value} under default, a defect of polygym: "
        ):
            check_evaluation(evaluation, "mvt", schedule, DEFAULT_MAPPING)
    else:
        check_evaluation(evaluation, "mvt", schedule, DEFAULT_MAPPING)


def test_kernels_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small run: of every machine one random program's rows and one kernel's."""

    def few(corpus: Corpus, machine: str) -> list[CaseRows]:
        chosen: dict[bool, CaseRows] = {}
        for group in case_rows(corpus, machine):
            program = group.visit.case.program
            if program.startswith("random:") or ":" not in program:
                chosen.setdefault(program.startswith("random:"), group)
        return [replace(group, rows=group.rows[::6]) for group in chosen.values()]

    monkeypatch.setattr(cost, "case_rows", few)
    monkeypatch.setattr(sys, "argv", ["cost.py", "unseen", "--seeds", "1", "--out", str(tmp_path)])
    assert cost.main() == 0
    kept = (tmp_path / "unseen.md").read_text()
    assert "| the formula of cycles |" in kept
    assert kept in capsys.readouterr().out


@pytest.mark.parametrize(
    ("programs", "missing"),
    [(["random:1", "tc:mlp1"], "kernels that are no test kernels"), (["gemm"], "random programs")],
)
def test_a_corpus_with_nothing_to_ask_about_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    programs: list[str],
    missing: str,
) -> None:
    said = f"unseen: expected rows of {missing} in the corpus, found none"
    with pytest.raises(PolygymError, match=said):
        unseen_kernels.ranking_qualities(samples(programs, 9, known=True), programs, range(1))

    def few(corpus: Corpus, machine: str) -> list[CaseRows]:
        chosen = {rows.visit.case.program: rows for rows in case_rows(corpus, machine)}
        return [chosen[name] for name in programs if name in chosen]

    monkeypatch.setattr(cost, "case_rows", few)
    monkeypatch.setattr(cost, "training_samples", None)  # features would take their time
    monkeypatch.setattr(sys, "argv", ["cost.py", "unseen", "--seeds", "1", "--out", str(tmp_path)])
    assert cost.main() == 2
    captured = capsys.readouterr()
    assert "unseen: expected rows of" in captured.err
