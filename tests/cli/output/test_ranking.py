"""The last screen of a search: what is the best, and what only looked so."""

from dataclasses import replace
from pathlib import Path

import pytest

from polygym.cli.output.ranking import confirmation_note, print_ranking
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.folder import SearchFolder
from polygym.search.ranking import IslReference, Ranking, search_document
from polygym.search.tally import Finding
from tests.search.fakes import begin_fake, fake_evaluation, setting


def evaluation(speedup: float) -> Evaluation:
    schedule = original_schedule(setting().subject.program.scop)
    if not speedup:
        return Evaluation(
            schedule, OutcomeStatus.TIMEOUT, error_type="Timeout", error_details="too slow"
        )
    return Evaluation(schedule, OutcomeStatus.OK, speedup, 1 / speedup, 1.0, (1 / speedup,), (1.0,))


def ranking(*findings: tuple[int, float], together: bool = True) -> Ranking:
    return Ranking(
        original_schedule(setting().subject.program.scop),
        IslReference(None, None, "isl finds none"),
        tuple(Finding(index, evaluation(speedup)) for index, speedup in findings),
        together,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ranking((35, 2.45), (7, 2.0)), "timed again with the others: 2.45x."),
        (ranking((7, 2.81), (35, 2.45)), "timed again with the others: 2.45x."),
        (ranking((7, 4.2), (35, 3.97)), "timed again with the others: 3.97x."),
        (ranking((7, 2.81), (35, 0.0)), "timed again with the others: timeout."),
        (ranking((35, 3.971), (7, 2.0)), ""),
        (ranking((35, 3.97), together=False), ""),
    ],
)
def test_what_looked_best_is_said_where_it_is_not(found: Ranking, expected: str) -> None:
    said = confirmation_note(Finding(35, evaluation(3.97)), found)
    assert said.endswith(expected)
    assert bool(said) == bool(expected)
    if expected:
        assert said.startswith("While searching, schedule #35 looked best with 3.97x; ")


@pytest.mark.parametrize(
    ("speedup", "words", "improved"),
    [
        (1.5, "Best: 1.50x, schedule #3:", True),
        (1.04, "Best: 1.04x, schedule #3:", True),
        (1.02, "Nothing faster than the original order was found: #3 is within 3% of it.", False),
        (0.98, "Nothing faster than the original order was found: #3 is within 3% of it.", False),
        (0.5, "Nothing faster than the original order was found.", False),
        (0.0, "No schedule ran to a correct end.", False),
    ],
)
def test_noise_is_no_improvement(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, speedup: float, words: str, improved: bool
) -> None:
    search, found = begin_fake(tmp_path), ranking((3, speedup))
    with search.journal:
        print_ranking(search, found, 10)
        assert words in capsys.readouterr().out.splitlines()
        assert search_document(search, found, 10, {})["improved"] is improved


def explored(folder: Path) -> SearchFolder:
    search = begin_fake(folder)
    with search.journal:
        for _ in search.run(9, fake_evaluation):
            pass
    return search


def test_the_document_has_both_bests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    search = explored(tmp_path)
    first, second = search.tally.fastest(2)
    slower = Finding(first.index, replace(first.evaluation, speedup=1.25))
    found = replace(ranking(), findings=(second, slower))
    data = search_document(search, found, 9, {})
    assert data["best"]["index"] == second.index
    assert data["best_while_searching"]["index"] == first.index
    assert data["best_while_searching"]["speedup"] == data["convergence"][-1]["speedup"]
    assert [one["index"] for one in data["ranking"]] == [second.index, first.index]
    isl = IslReference(original_schedule(setting().subject.program.scop), evaluation(1.5))
    ranked = search_document(search, replace(found, findings=(slower,), isl=isl), 9, {})["ranking"]
    assert [(one["index"], one["speedup_over_isl"]) for one in ranked] == [
        ("isl", 1.0),
        (first.index, pytest.approx(1.25 / 1.5)),
    ]
    print_ranking(search, found, 9)
    out = capsys.readouterr().out
    assert f"schedule #{first.index} looked best" in out
    assert f"Best: {second.evaluation.speedup:.2f}x, schedule #{second.index}:" in out
