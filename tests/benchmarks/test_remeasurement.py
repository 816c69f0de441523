"""What searches held, measured again: who is asked, by hand, and a small study from end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cost
import pytest
from search_study import candidate_timing, curves, remeasurement
from search_study.journal import (
    ComparableSearches,
    SearchRecord,
    SearchTask,
    StudyJournal,
    StudySetting,
)
from search_study.remeasurement import Remeasurement, RemeasurementGroup

from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus
from tests.benchmarks.run_study import run

pytest.importorskip("lightgbm")

SETTING = StudySetting("naive", "mini", 1, 16, "here")
HEAT = RemeasurementGroup("naive", "mini", 1, "here", "mvt")


def search(contender: str, speedups: Sequence[float], *, tried: bool = True) -> SearchRecord:
    """Return a search of mvt whose trials are all of different mappings."""
    tiles = tuple((0, f"tile={place}") for place in range(len(speedups)))
    task = SearchTask(SETTING, "mvt", contender, 0)
    return SearchRecord(
        task, tuple(speedups), 1.0, ("one",) if tried else (), tiles if tried else ()
    )


# Held from the eighth trial on: the fifth, the ninth and the tenth; the ninth is no half of 10.
RANDOM = search("random", [1.0, 0.0, 2.0, 1.0, 3.0, 3.0, 1.0, 1.0, 4.0, 6.0])
TREES = search("trees", [5.0, 1.0, 10.0])


def known(**speedups: float) -> dict[RemeasurementGroup, Remeasurement]:
    pairs = tuple((0, name.replace("_", "=")) for name in speedups)
    return {HEAT: Remeasurement(HEAT, ("one",), pairs, tuple(speedups.values()))}


def test_finalists_are_what_was_held_from_the_eighth_trial_on_and_is_close() -> None:
    assert remeasurement.new_bests(RANDOM.speedups) == [0, 2, 4, 8, 9]
    assert remeasurement.remeasured_trials([RANDOM, TREES]) == [
        {9: ("one", "tile=9")},
        {2: ("one", "tile=2")},
    ]
    alone = remeasurement.remeasured_trials([RANDOM])
    assert [sorted(trials) for trials in alone] == [[4, 8, 9]]
    assert remeasurement.remeasured_trials([search("random", [0.0, 0.0])]) == [{}]


def test_what_was_measured_again_is_what_a_search_has() -> None:
    rng, trees = remeasurement.with_remeasurement([RANDOM, TREES], known(tile_9=7.0, tile_2=8.0))
    assert (rng.again, trees.again) == (((9, 7.0),), ((2, 8.0),))
    assert curves.held_speedups(rng) == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 4.0, 7.0]
    assert curves.held_speedups(trees) == [5.0, 5.0, 8.0]
    assert curves.held_speedups(RANDOM)[-1] == 6.0
    # A record that turns out to be slower than the one before is what the search has all the same,
    # and the best known is the best of all.
    slower = replace(RANDOM, again=((4, 3.0), (8, 5.0), (9, 4.5)))
    assert curves.held_speedups(slower)[-2:] == [5.0, 4.5]
    runs = curves.best_so_far([slower])
    assert curves.best_known(runs) == {("mvt", "here"): 5.0}


def test_a_search_of_which_something_is_missing_stands_apart() -> None:
    both = remeasurement.with_remeasurement([RANDOM, TREES], known(tile_9=7.0))
    study = ComparableSearches("naive", "mini", 1, tuple(both))
    part = remeasurement.remeasured_part(study)
    assert part is not None
    assert [record.task.contender for record in part.searches] == ["random"]
    assert remeasurement.as_first_measured(study).searches == (RANDOM, TREES)
    assert remeasurement.remeasured_part(remeasurement.as_first_measured(study)) is None
    (remeasured,) = known(tile_9=7.0).values()
    assert not remeasurement.is_complete(remeasured, [RANDOM, TREES])
    # What was packed without its candidates stays as it is.
    packed = replace(search("trees", [1.0], tried=False), again=((0, 2.0),))
    assert remeasurement.with_remeasurement([packed], {}) == [packed]
    assert SearchRecord.from_json(packed.to_json()) == packed


def test_a_search_without_finalists_is_measured_again_only_where_its_heat_is() -> None:
    far = search("trees", [1.0])  # far from the 6 of the other
    assert remeasurement.with_remeasurement([RANDOM, far], {}) == [RANDOM, far]
    nothing = replace(far, again=())
    assert (
        remeasurement.remeasured_part(ComparableSearches("naive", "mini", 1, (RANDOM, nothing)))
        is None
    )
    both = remeasurement.with_remeasurement(
        [RANDOM, far], known(tile_4=3.0, tile_8=5.0, tile_9=7.0)
    )
    assert [record.again for record in both] == [((4, 3.0), (8, 5.0), (9, 7.0)), ()]
    part = remeasurement.remeasured_part(ComparableSearches("naive", "mini", 1, tuple(both)))
    assert part is not None
    assert part.searches == tuple(both)


def test_the_last_line_of_a_heat_counts_and_damage_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "finals.jsonl"
    (first,), (last,) = (known(tile_1=speedup).values() for speedup in (1.0, 2.0))
    remeasurement.append_remeasurement(path, first)
    remeasurement.append_remeasurement(path, last)
    with path.open("a") as file:
        file.write('{"heat": ["naive"]}\n')
    assert remeasurement.read_remeasurements(path) == {HEAT: last}
    assert "finals.jsonl:3 is left out" in capsys.readouterr().err


def test_a_small_study_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path))
    words = ("search", "random", "--programs", "mvt", "--trials", "10", "--dataset", "mini")
    assert run(monkeypatch, *words, "--threads", "1", "--seeds", "1", *out) == 0
    assert "measured again" not in capsys.readouterr().out
    assert run(monkeypatch, "finals", *out) == 0
    said = capsys.readouterr().out
    assert "1/1 mvt: " in said
    assert "1 searches measured again" in said
    assert "as each search measured" in said
    (remeasured,) = remeasurement.read_remeasurements(tmp_path / cost.REMEASURED).values()
    (record,) = StudyJournal(tmp_path).searches.values()
    assert set(remeasured.found) == set(remeasurement.remeasured_trials([record])[0].values())
    assert all(speedup > 0 for speedup in remeasured.speedups)

    assert run(monkeypatch, "finals", *out) == 0
    assert "1/1 mvt" not in capsys.readouterr().out, "it is known"
    assert run(monkeypatch, *words, "--threads", "1", "--seeds", "2", *out) == 0
    assert run(monkeypatch, "finals", *out) == 0
    assert "2 searches measured again" in capsys.readouterr().out
    packed = str(tmp_path / "packed")
    assert run(monkeypatch, "report", *out, "--pack", packed) == 0
    own = capsys.readouterr().out
    assert run(monkeypatch, "report", "--out", str(tmp_path / "other"), "--with", packed) == 0
    other = capsys.readouterr().out
    assert [line for line in own.splitlines() if line.startswith("|")] == [
        line for line in other.splitlines() if line.startswith("|")
    ]


def test_what_does_not_run_again_is_said_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path))
    words = ("search", "random", "--programs", "mvt", "atax", "--trials", "4", "--dataset", "mini")
    assert run(monkeypatch, *words, "--threads", "1", "--seeds", "1", *out) == 0
    real = Evaluator.evaluate_interleaved

    def failing(
        self: Evaluator, choices: Sequence[candidate_timing.Choice], rounds: int
    ) -> list[Evaluation]:
        evaluations = list(real(self, choices, rounds))
        if "mvt" in self.program.name:
            evaluations[0] = replace(
                evaluations[0], status=OutcomeStatus.TIMEOUT, error_details="too slow"
            )
        return evaluations

    monkeypatch.setattr(Evaluator, "evaluate_interleaved", failing)
    capsys.readouterr()
    assert run(monkeypatch, "finals", *out) == 1
    said = capsys.readouterr()
    assert "mvt: expected what ran before to run again, found: timeout, too slow" in said.err
    assert "atax: " in said.out
    assert [
        heat.program for heat in remeasurement.read_remeasurements(tmp_path / cost.REMEASURED)
    ] == ["atax"]
    assert run(monkeypatch, "finals", "gemm", *out) == 2
    assert "gemm: expected" in capsys.readouterr().err
