"""The last screen of a search: what is the best, and what only looked so."""

from dataclasses import replace
from pathlib import Path

import pytest

from polygym.cli.output.ranking import confirmation_note, print_ranking
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.result import Finding, SearchResult
from tests.search.fakes import begin_fake, run_fake, setting

NOTHING = (
    "Nothing is faster than the source by more than 3%: the source, in its order and with its "
    "storage, is the answer."
)


def evaluation(speedup: float) -> Evaluation:
    schedule = original_schedule(setting().subject.program.scop)
    if not speedup:
        return Evaluation(
            schedule, OutcomeStatus.TIMEOUT, error_type="Timeout", error_details="too slow"
        )
    return Evaluation(schedule, OutcomeStatus.OK, speedup, 1 / speedup, 1.0, (1 / speedup,), (1.0,))


def ranking(*findings: tuple[int, float], together: bool = True) -> SearchResult:
    program = setting().subject.program
    ranked = tuple(Finding(index, f"learned#{index}", evaluation(x)) for index, x in findings)
    return SearchResult(
        "mvt",
        program.parameters,
        ranked,
        ranked[0] if ranked else Finding(0, "isl", evaluation(0)),
        len(ranked),
        Defects(),
        together,
        isl_reason="isl finds none",
    )


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ranking((35, 2.45), (7, 2.0)), "timed again with the others: 2.45x."),
        (ranking((7, 2.81), (35, 2.45)), "timed again with the others: 2.45x."),
        (ranking((7, 4.2), (35, 3.97)), "timed again with the others: 3.97x."),
        (ranking((7, 2.81), (35, 0.0)), "timed again with the others: timeout."),
        (ranking((35, 3.971), (7, 2.0)), ""),
        (ranking((35, 3.97), together=False), ""),
    ],
)
def test_what_looked_best_is_said_where_it_is_not(result: SearchResult, expected: str) -> None:
    said = confirmation_note(Finding(35, "learned#35", evaluation(3.97)), result)
    assert said.endswith(expected)
    assert bool(said) == bool(expected)
    if expected:
        assert said.startswith("While searching, schedule learned#35 looked best with 3.97x; ")


@pytest.mark.parametrize(
    ("speedup", "words", "improved"),
    [
        (1.5, "Best: 1.50x, schedule learned#3:", True),
        (1.04, "Best: 1.04x, schedule learned#3:", True),
        (1.02, NOTHING, False),
        (0.98, NOTHING, False),
        (0.5, NOTHING, False),
        (0.0, "No schedule ran to a correct end.", False),
    ],
)
def test_noise_is_no_improvement(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, speedup: float, words: str, improved: bool
) -> None:
    search, result = begin_fake(tmp_path), ranking((3, speedup))
    print_ranking(search.tally, result, search.setting.subject.program, 10)
    assert words in capsys.readouterr().out.splitlines()
    assert search.document(result)["improved"] is improved


def test_one_schedule_under_two_mappings_is_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = (Finding(index, "isl", evaluation(2.0 + index)) for index in (1, 0))
    second = replace(
        second, evaluation=replace(second.evaluation, mapping=parse_mapping("threads=2"))
    )
    result = replace(ranking(), ranking=(first, second), initial_finding=first)
    search = begin_fake(tmp_path)
    print_ranking(search.tally, result, search.setting.subject.program, 9)
    shown = capsys.readouterr().out
    assert "isl (2)" in shown
    assert "threads=2" in shown


def test_the_document_has_both_bests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    search = begin_fake(tmp_path)
    run_fake(search, 9)
    first, second = search.tally.fastest(2)
    speedup = second.speedup / 2
    slower = replace(first, evaluation=replace(first.evaluation, speedup=speedup, seconds=99.0))
    result = replace(ranking(), ranking=(second, slower), initial_finding=slower)
    data = search.document(result)
    assert data["best"]["index"] == second.index
    assert data["best_while_searching"]["index"] == first.index
    assert data["best_while_searching"]["speedup"] == data["convergence"][-1]["speedup"]
    assert [entry["index"] for entry in data["ranking"]] == [second.index, first.index]
    isl = Finding(99, "isl", evaluation(1.5))
    ranked = search.document(replace(result, ranking=(isl, slower)))["ranking"]
    assert [(entry["index"], entry["speedup_over_isl"]) for entry in ranked] == [
        (99, 1.0),
        (first.index, pytest.approx(speedup / 1.5)),
    ]
    print_ranking(search.tally, result, search.setting.subject.program, 9)
    out = capsys.readouterr().out
    assert f"schedule {first.label} looked best" in out
    assert f"Best: {second.speedup:.2f}x, schedule {second.label}:" in out
