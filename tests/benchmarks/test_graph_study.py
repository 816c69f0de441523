"""The study: which trials there are, that it goes on where it ended, and what the report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tensat
from graph_study import trial_runner
from graph_study.clocks import StudyClock, clock_sentence, elapsed, study_clock
from graph_study.figures import study_figures
from graph_study.plan import StudyPart, Trial, plan_trials
from graph_study.report import study_report
from graph_study.study_folder import open_study, study_rows
from graph_study.trial_runner import StudySettings, run_trial

from polygym.errors import InputError
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.measured_costs import PlanCosts
from polygym.graphs.rules import standard_rules

SETTING = {"size": "small", "rules": "abc"}


def test_equal_trials_of_two_parts_are_run_once() -> None:
    trials = plan_trials([StudyPart.SEARCH, StudyPart.K], ["bert"])
    assert len({trial.key for trial in trials}) == len(trials)
    assert sum(trial.method == "saturation" and trial.k_multi == 1 for trial in trials) == 1


def test_saturation_is_beside_backtracking_with_k_of_1_and_2() -> None:
    trials = plan_trials([StudyPart.SEARCH], ["bert"])
    assert [(trial.method, trial.k_multi) for trial in trials[:2]] == [
        ("saturation", 1),
        ("saturation", 2),
    ]
    assert [trial.method for trial in trials[2:]] == ["backtracking"]


def test_tables_of_three_networks_alone() -> None:
    assert plan_trials([StudyPart.ORDER, StudyPart.CYCLES], ["vgg19"]) == []
    orders = [trial.order for trial in plan_trials([StudyPart.ORDER], ["bert"])]
    assert orders == ["real", "integer", "none"] * 2


def test_it_goes_on_where_it_ended(tmp_path: Path) -> None:
    journal, rows = open_study(tmp_path, SETTING)
    with journal:
        journal.append({"index": 0, "trial": {"model": "bert"}})
    assert rows == []
    with (tmp_path / "study.jsonl").open("ab") as file:
        file.write(b'{"index": 1, "tri')  # killed in the middle of a line
    journal, rows = open_study(tmp_path, SETTING)
    with journal:
        assert [row["trial"]["model"] for row in rows] == ["bert"]
        journal.append({"index": 1, "trial": {"model": "vgg19"}})
    assert len(study_rows(tmp_path)[1]) == 2


def test_another_setting_is_another_study(tmp_path: Path) -> None:
    open_study(tmp_path, SETTING)[0].close()
    with pytest.raises(InputError, match="rules"):
        open_study(tmp_path, {**SETTING, "rules": "others"})


def test_report_and_figures_of_small_networks() -> None:
    setting = StudySettings(RooflineCosts(), standard_rules(), "small", 1, 0.5)
    wanted = plan_trials(
        [StudyPart.SEARCH, StudyPart.K, StudyPart.ORDER, StudyPart.CYCLES], ["bert", "vgg19"]
    )
    rows = [run_trial(trial, setting) for trial in wanted]
    json.dumps(rows, allow_nan=False)
    assert {row["clock"] for row in rows} == {"processor"}
    text = study_report(rows)
    assert text.startswith("Seconds of optimising are of the processor, the least of several runs")
    assert "| vgg19 |" in text
    assert "| bert |" in text
    assert "| ratio | k = 2 | proved | takes |" in text
    for title in ("Saturation beside backtracking", "Constraints", "Cycle filtering"):
        assert title in text
    figures = study_figures(rows)
    assert set(figures) == {"gains", "times", "k-costs", "k-times", "k-nodes"}
    assert all(figure.png.startswith(b"\x89PNG") for figure in figures.values())


def test_short_trials_are_run_several_times_and_the_least_time_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter([0.5, 0.2, 0.4, 0.3, 0.9])

    def ran(*_: object) -> dict[str, Any]:
        times = dict.fromkeys(
            ("seconds", "exploration_seconds", "extraction_seconds", "seconds_to_best"),
            next(seconds),
        )
        return {**times, "cpu": {name: time / 2 for name, time in times.items()}}

    monkeypatch.setattr(trial_runner, "_run_once", ran)
    setting = StudySettings(RooflineCosts(), standard_rules(), "small", 1, 60.0)
    row = run_trial(Trial("k", "bert", "saturation"), setting)
    assert (row["runs"], row["seconds"], elapsed(row)) == (5, 0.2, 0.1)
    seconds = iter([0.5, 0.4])
    assert run_trial(Trial("settings", "bert", "backtracking"), setting)["runs"] == 1
    assert next(seconds) == 0.4
    seconds = iter([61.0])
    assert run_trial(Trial("k", "bert", "saturation"), setting)["runs"] == 1, "at its limit"


def test_what_is_measured_is_timed_on_the_wall() -> None:
    assert study_clock(PlanCosts()) is StudyClock.WALL
    row = {"clock": "wall", "seconds": 3.0, "cpu": {"seconds": 1.0}}
    assert elapsed(row) == 3.0
    assert clock_sentence([row]) == "Seconds are of the wall."


def test_ends_by_hand() -> None:
    times = {"before": 4.0, "unfused": 6.0, "after": 3.0, "torch": 9.0, "onnxruntime": 1.5}
    race = {name: {"seconds": seconds} for name, seconds in times.items()}
    race["torch.compile"] = {"seconds": None}
    row = {"trial": Trial("end", "bert", "race").to_json(), "race": race, "clock": "wall"}
    earlier = {**row, "trial": Trial("end", "vgg19", "race").to_json()}
    earlier["race"] = {name: run for name, run in race.items() if name not in ("unfused", "after")}
    text = study_report([row, earlier])
    assert "| bert | 4.0 s | 3.0 s | 1.33 | 2.00 | 3.00 | - | 0.50 |" in text
    assert "| vgg19 | 4.0 s | 4.0 s | 1.00 | - | 2.25 | - | 0.38 |" in text


def test_speedups_have_standard_errors_and_a_figure() -> None:
    rows = []
    for model, gain in (("bert", 0.1), ("bert:bias", -0.05)):
        runs = [1 + gain, 1 + gain + 0.02]
        speedups = {"seconds": [0.5, 0.6], "saturation": runs, "backtracking": [1.0, None]}
        trial = Trial("runtime", model, "runs").to_json()
        costs = {"initial_cost": 3.0, "cost": 2.0, "backtracking_cost": 3.0}
        row = {"trial": trial, "speedups": {**speedups, "problems": []}, "clock": "wall", **costs}
        rows.append(row)
    text = study_report(rows)
    assert "| bert | 550.00 ms | 1.500 | 1.110 ± 0.010 | 1.000 | - |  |" in text
    assert "| bert:bias | 550.00 ms | 1.500 | 0.960 ± 0.010 | 1.000 | - |  |" in text
    assert set(study_figures(rows)) == {"speedups"}


@pytest.mark.nightly
def test_both_methods_are_timed_in_five_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["runtime", "--models", "vgg19", "--size", "small", "--time-limit", "0.2", "--json"]
    assert tensat.main([*arguments, "--out", str(tmp_path)]) == 0
    plain, biased = json.loads(capsys.readouterr().out)
    assert [row["trial"]["model"] for row in (plain, biased)] == ["vgg19", "vgg19:bias"]
    for row in (plain, biased):
        assert row["speedups"]["problems"] == []
        assert len(row["speedups"]["saturation"]) == len(row["speedups"]["backtracking"]) == 5
        assert all(value > 0 for value in row["speedups"]["saturation"])


def test_a_trial_names_all_that_it_is() -> None:
    trial = Trial("k", "bert", "saturation", k_multi=2)
    assert trial.key != Trial("k", "bert", "saturation", k_multi=1).key
    assert trial.key == Trial("search", "bert", "saturation", k_multi=2).key


def test_no_rows_no_tables() -> None:
    assert study_report([]) == ""
    assert study_figures([]) == {}


def test_the_study_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["search", "--models", "vgg19", "--size", "small", "--json"]
    results = []
    for _ in range(2):
        assert tensat.main([*arguments, "--out", str(tmp_path)]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0] == results[1]
    assert len(results[0]) == 3
    assert "vgg19" in (tmp_path / "report.md").read_text()


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert tensat.main(["nonsense", "--out", "x"]) == 2
    assert "expected parts among search" in capsys.readouterr().err
