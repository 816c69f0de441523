"""The study of searches: numbers by hand, the journal after a kill, a small run of every part."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import cost
import numpy as np
import pytest
from search_study import contenders, curves, figures, invariance, programs
from search_study.contenders import CONTENDERS, FIGURES, OF_LAYERS
from search_study.journal import (
    SearchRecord,
    SearchTask,
    StudyJournal,
    StudySetting,
    exclusive_lock,
)
from search_study.prior_models import prior_model, samples_of
from search_study.search_run import task_rng
from search_study.tables import trials_text
from search_study.version import search_version

from polygym.cost.models.boosted_trees import BoostedTreeOptions
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.cross_validation import spearman
from polygym.cost.models.pretrained import pretrained_digest
from polygym.errors import PolygymError
from polygym.mapping.mapping import (
    DEFAULT_MAPPING,
)
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.search.corpus.samples import CaseRows, case_rows
from polygym.search.corpus.store import Corpus
from polygym.search.strategies.candidates import ScheduleSource, SearchSpace, schedules_of
from polygym.search.strategies.feature_cache import FeatureCache, stack_features
from tests.benchmarks.run_study import run

pytest.importorskip("lightgbm")

SETTING = StudySetting("naive", "mini", 1, 4, "here")


def search(
    program: str,
    contender: str,
    seed: int,
    speedups: Sequence[float],
    setting: StudySetting = SETTING,
) -> SearchRecord:
    return SearchRecord(SearchTask(setting, program, contender, seed), tuple(speedups), 1.0)


def test_bests_ratios_and_trials_of_a_study_by_hand() -> None:
    runs = curves.best_so_far(
        [
            search("a", "random", 0, [1.0, 2.0, 0.0, 4.0]),
            search("a", "trees", 0, [0.0, 4.0, 3.0, 8.0]),
            search("b", "random", 0, [2.0, 1.0, 2.0, 1.0]),
            search("b", "trees", 0, [1.0, 1.0, 2.0, 2.0]),
        ]
    )
    assert runs["trees"]["a", 0, "here"] == [0.0, 4.0, 4.0, 8.0]
    after_two = curves.mean_ratio(runs["trees"], 2, runs["random"], 2)
    assert after_two is not None
    assert after_two.mean == pytest.approx((4 / 2 * 1 / 2) ** 0.5)
    half = curves.mean_ratio(runs["trees"], 2, runs["random"], 4)
    assert half is not None
    assert half.mean == pytest.approx((4 / 4 * 1 / 2) ** 0.5)
    assert half.low <= half.mean <= half.high
    prior_model = curves.best_known(runs)
    assert prior_model == {("a", "here"): 8.0, ("b", "here"): 2.0}
    # 95 % of 8 and of 2: never and after 1, after 4 and after 3.
    assert curves.trials_until(runs["random"], prior_model) == inf
    assert trials_text(inf, runs["random"]) == "> 4"
    assert trials_text(3.5, runs["trees"]) == "4"
    assert trials_text(None, {}) == "-"
    assert curves.trials_until(runs["trees"], prior_model) == 3.5
    assert curves.curve(runs["trees"], prior_model, 4)[-1] == pytest.approx(1.0)
    assert curves.curve(runs["random"], prior_model, 4)[-1] == pytest.approx(0.5**0.5)


def test_a_ratio_wants_programs_that_both_have_searched() -> None:
    one = curves.best_so_far([search("a", "trees", 0, [1.0])])["trees"]
    other = curves.best_so_far([search("a", "random", 1, [1.0])])["random"]
    assert curves.mean_ratio(one, 1, other, 1) is None


def test_the_journal_survives_what_a_kill_leaves_of_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = StudyJournal(tmp_path)
    journal.add(search("a", "trees", 0, [1.0, 2.0]))
    with journal.path.open("a") as file:
        file.write('{"start": "naive", "da')
    again = StudyJournal(tmp_path)
    assert "journal.jsonl:2 is left out" in capsys.readouterr().err
    again.add(search("b", "trees", 0, [3.0]))
    reopened = StudyJournal(tmp_path)
    assert [record.task.program for record in reopened.of(SETTING)] == ["a", "b"]
    (study,) = reopened.studies()
    assert (study.start, study.trials, len(study.searches)) == ("naive", 4, 2)


def test_searches_of_several_versions_are_said(tmp_path: Path) -> None:
    journal = StudyJournal(tmp_path)
    journal.add(replace(search("a", "trees", 0, [1.0]), version="one"))
    assert "versions" not in str(journal.studies()[0])
    journal.add(replace(search("b", "trees", 0, [1.0]), version="two"))
    (study,) = StudyJournal(tmp_path).studies()
    assert str(study).endswith("searches of 2 versions")
    sources, model = search_version().split("-")
    assert len(sources) == 16
    assert model == pretrained_digest()


THERE = replace(SETTING, machine="there", trials=2)


def test_machines_stand_in_one_table_and_are_compared_apart(tmp_path: Path) -> None:
    """What one machine finds says nothing about another's, and 2 trials nothing about 4."""
    journal = StudyJournal(tmp_path / "here")
    journal.add(search("a", "random", 0, [1.0, 2.0, 2.0, 3.0]))
    journal.add(search("a", "trees", 0, [2.0, 4.0, 4.0, 6.0]))
    journal.pack(tmp_path / "packed")
    other = StudyJournal(tmp_path / "there", [tmp_path / "packed"])
    other.add(search("a", "random", 0, [10.0, 10.0], THERE))
    other.add(search("a", "trees", 0, [10.0], THERE))  # it ran out of candidates
    other.pack(tmp_path / "both")
    (study,) = StudyJournal(tmp_path / "empty", [tmp_path / "both"]).studies()
    assert len(study.searches) == 4
    assert "machines here, there" in str(study)
    runs = curves.best_so_far(study.searches)
    assert curves.best_known(runs) == {("a", "here"): 6.0, ("a", "there"): 10.0}
    after_two = curves.mean_ratio(runs["trees"], 2, runs["random"], 2)
    assert after_two is not None
    assert after_two.mean == pytest.approx((4 / 2 * 10 / 10) ** 0.5)
    after_four = curves.mean_ratio(runs["trees"], 4, runs["random"], 4)
    assert after_four is not None
    assert after_four.mean == pytest.approx(6 / 3)
    assert curves.trials_until(runs["trees"], curves.best_known(runs)) == 2.5


def test_a_short_search_does_not_cut_a_picture() -> None:
    keys = [curves.RunKey(name, 0, "here") for name in "abcd"]
    rng = dict(zip(keys, ([1.0] * count for count in (64, 128, 128, 256)), strict=True))
    trees = {key: [2.0] * 200 for key in keys}
    chosen, trials, short = figures.long_enough({"random": rng, "trees": trees})
    assert (trials, short) == (128, 1)
    assert set(chosen["random"]) == set(chosen["trees"]) == set(keys[1:])


def test_of_the_same_search_the_longer_one_counts() -> None:
    short = search("a", "trees", 0, [1.0, 5.0], replace(SETTING, trials=2))
    long = search("a", "trees", 0, [1.0, 2.0, 3.0, 4.0])
    for both in ([short, long], [long, short]):
        assert curves.best_so_far(both)["trees"]["a", 0, "here"] == [1.0, 2.0, 3.0, 4.0]


def test_a_longer_search_says_what_a_shorter_one_would(tmp_path: Path) -> None:
    journal = StudyJournal(tmp_path)
    made = search("a", "trees", 0, [1.0, 2.0])
    journal.add(made)
    task = made.task
    for trials, there in ((SETTING.trials, True), (1, True), (SETTING.trials + 1, False)):
        assert journal.has(replace(task, setting=replace(SETTING, trials=trials))) is there
    assert not journal.has(replace(task, seed=1))
    assert not journal.has(replace(task, setting=replace(SETTING, trials=1, machine="there")))


def test_packed_searches_that_are_none_are_said(tmp_path: Path) -> None:
    (tmp_path / "packed").write_text("nothing")
    for name in ("packed", "missing"):
        with pytest.raises(PolygymError, match=f"{name}: expected packed searches, found: "):
            StudyJournal(tmp_path, [tmp_path / name])


def test_every_figure_names_contenders_that_there_are() -> None:
    assert not set(FIGURES) & set(CONTENDERS), "a name says one thing"
    for _, chosen in FIGURES.values():
        assert set(chosen) <= set(CONTENDERS)
        assert chosen[0] == "random"
    assert contenders.expand_names(["doubt", "filter"]) == [
        "random",
        "trees",
        "ei",
        "ucb",
        "filter",
    ]
    with pytest.raises(ValueError, match="found nobody"):
        contenders.expand_names(["nobody"])


def test_figures_show_what_no_other_shows() -> None:
    told = contenders.drawable_figures({"random", "trees", "times", "transfer"})
    assert told == {
        "objectives": ("random", "trees", "times"),
        "knowledge": ("random", "trees", "transfer"),
    }
    assert contenders.drawable_figures({"random"}) == {}
    every = contenders.drawable_figures(set(contenders.CONTENDERS))
    assert every == {name: wanted for name, (_, wanted) in contenders.FIGURES.items()}


def test_models_of_layers_want_searches_of_all_of_them(tmp_path: Path) -> None:
    with pytest.raises(PolygymError, match="C1, C2"):
        prior_model(OF_LAYERS, [search("C1", "random", 0, [1.0])], tmp_path)


def test_what_searches_have_tried_is_learned_from_once() -> None:
    schedule = str(isl_schedule(programs.load_study_program("gemm", "mini").scop))
    tried = ((0, "threads=1 tile=8"), (0, "threads=1 tile=off"), (0, "threads=1 tile=16"))
    random_record = SearchRecord(
        SearchTask(SETTING, "gemm", "random", 0), (2.0, 4.0, 0.0), 1.0, (schedule,), tried
    )
    two = SearchRecord(SearchTask(SETTING, "gemm", "trees", 0), (3.0,), 1.0, (schedule,), tried[:1])
    samples = samples_of([random_record, two])
    assert samples.seconds.tolist() == [0.5, 0.25]
    assert samples.features.shape[0] == 2


def test_a_small_study_goes_on_and_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("search", "random", "trees", "--programs", "mvt", "--trials", "8", "--seeds", "1")
    rest = ("--dataset", "mini", "--threads", "1", "--out", str(tmp_path))
    assert run(monkeypatch, *words, *rest) == 0
    said = capsys.readouterr().out
    assert "2/2 mvt trees seed 0: best" in said
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["speedups"]) for line in lines] == [8, 8]
    assert run(monkeypatch, *words, *rest) == 0
    assert "mvt trees seed 0" not in capsys.readouterr().out
    assert (tmp_path / "journal.jsonl").read_text().splitlines() == lines
    packed = str(tmp_path / "packed")
    assert run(monkeypatch, "report", "--out", str(tmp_path), "--pack", packed) == 0
    drawn = sorted(tmp_path.glob("*.svg"))
    # The others would show the same two.
    assert [path.name for path in drawn] == ["searches-naive-mini-1.svg"]
    (table,) = (line for line in capsys.readouterr().out.splitlines() if "| trees |" in line)
    other = str(tmp_path / "other")
    assert run(monkeypatch, "report", "--out", other, "--with", packed) == 0
    assert table in capsys.readouterr().out
    assert all("<svg" in drawing.read_text() for drawing in drawn)
    # What is not there is said before anything is searched.
    assert run(monkeypatch, *words[:4], "mvt", "nothing", *words[5:-1], "2", *rest) == 2
    assert "nothing" in capsys.readouterr().err
    assert (tmp_path / "journal.jsonl").read_text().splitlines() == lines
    # Other seeds alone.
    assert run(monkeypatch, *words[:2], *words[3:], "--first-seed", "3", *rest) == 0
    assert "1/1 mvt random seed 3: best" in capsys.readouterr().out
    nowhere = tmp_path / "nowhere"
    assert run(monkeypatch, "report", "--out", str(nowhere)) == 2
    assert "nowhere: expected a folder with searches, found none" in capsys.readouterr().err
    assert not nowhere.exists()


def test_models_that_are_shown_different_things_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def some(corpus: Corpus, machine: str | None) -> list[CaseRows]:
        return [replace(row, rows=row.rows[::4]) for row in case_rows(corpus, machine)[:5]]

    monkeypatch.setattr(invariance, "case_rows", some)
    monkeypatch.setattr(invariance, "TREES", BoostedTreeOptions(rounds=10))
    words = ("invariance", "--out", str(tmp_path), "--seeds", "1")
    assert run(monkeypatch, *words) == 0
    rows = json.loads((tmp_path / "invariance.json").read_text())["rows"]
    assert [row["encoding"] for row in rows] == [
        "configuration",
        "context",
        "relations",
        "features",
    ]
    assert all(-1 <= row["other_spearman"] <= 1 and 0 < row["other_share"] <= 1 for row in rows)


def test_a_small_corpus_is_asked_about_in_fewer_folds_and_one_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before there are features, which take their time."""

    def some(corpus: Corpus, machine: str | None) -> list[CaseRows]:
        rows = {row.visit.case.program: row for row in case_rows(corpus, machine)}
        return [replace(row, rows=row.rows[::4]) for row in rows.values()][:3]

    monkeypatch.setattr(invariance, "case_rows", some)
    monkeypatch.setattr(invariance, "TREES", BoostedTreeOptions(rounds=2))
    words = ("invariance", "--out", str(tmp_path), "--seeds", "1")
    assert run(monkeypatch, *words) == 0
    monkeypatch.setattr(invariance, "featurize", None)
    assert run(monkeypatch, *words, "--cases", "1") == 2
    assert "expected rows of at least two programs, found 1" in capsys.readouterr().err


@pytest.mark.parametrize(("sign", "share"), [(1.0, 1.0), (-1.0, 0.25)])
def test_what_was_not_seen_of_a_case_is_asked_about(sign: float, share: float) -> None:
    """A model that knows all, and one that has all the wrong way round."""
    seconds = np.tile([1.0, 2.0, 4.0], 60)
    samples = TrainingSamples(-seconds[:, None], seconds, np.repeat(np.arange(3), 60))
    seen: list[int] = []

    def fit(part: TrainingSamples) -> Callable[..., np.ndarray]:
        seen.append(len(part))
        return lambda features, _: sign * features[:, 0]

    assert invariance.same_case_quality(samples, fit, 0) == (
        pytest.approx(sign),
        pytest.approx(share),
    )
    assert 60 < seen[0] < 120


def test_contenders_have_the_same_dice_and_programs_others() -> None:
    setting = StudySetting("naive", "mini", 2, 64, "here")
    numbers = {
        (program, contender, seed): task_rng(SearchTask(setting, program, contender, seed)).random()
        for program in ("gemm", "C1")
        for contender in ("random", "trees")
        for seed in (0, 1)
    }
    assert all(
        numbers[name, "random", seed] == number for (name, _, seed), number in numbers.items()
    )
    assert len(set(numbers.values())) == 4


def test_every_way_of_learning_makes_a_model() -> None:
    rng = np.random.default_rng(0)
    program = programs.load_study_program("mvt", "mini")
    ways: dict[ScheduleSource, Schedule] = dict(schedules_of(program.scop, sources=(ISL,)))
    genes = SearchSpace.for_program(
        program.scop, tuple(ways), dict(program.parameters), DEFAULT_MAPPING
    )
    looked_at = FeatureCache(program.scop, dict(program.parameters), ways, with_loops=True)
    tried = list({genes.sample(rng): None for _ in range(20)})
    looks = [look for look in looked_at.features(tried) if look is not None]
    vectors, loops = stack_features(looks)
    seconds = 1.0 + rng.random(len(looks))
    samples = TrainingSamples(vectors, seconds, np.zeros(len(looks), dtype=np.int64), loops)
    for name in ("trees", "times", "ei", "tree-gru", "tree-gru-times"):
        learning = CONTENDERS[name].learning
        made = learning.fit_correction(samples, None)
        scores = made.scores(vectors, loops)
        assert scores.shape == (5 if name == "ei" else 1, len(looks)), name
        assert spearman(scores.mean(axis=0), -seconds) > 0.3, name


def test_two_do_not_search_in_one_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with exclusive_lock(tmp_path):
        assert run(monkeypatch, "search", "random", "--out", str(tmp_path)) == 2
        assert "found another search at work" in capsys.readouterr().err
        assert run(monkeypatch, "report", "--out", str(tmp_path)) == 0, "reading disturbs nobody"
        assert "no search has ended yet" in capsys.readouterr().out


def test_a_search_in_the_background_can_be_interrupted(tmp_path: Path) -> None:
    """A shell has what it starts with & ignore SIGINT, and its child inherits that."""
    words = ["search", "random", "--programs", "mvt", "--dataset", "mini", "--trials", "100000"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, cost.__file__, *words, "--out", str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    while not (tmp_path / "lock").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command goes on" in said
