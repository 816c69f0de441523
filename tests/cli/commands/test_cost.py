"""``polygym cost``: a model from a corpus, what it says of itself, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.loop_tree import NODE_COLUMNS, LoopForest, LoopTree
from polygym.cost.models.pretrained import load_model
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.store import open_corpus
from polygym.search.strategies.candidates import SearchSpace
from tests.cli.invoke import call, call_json

pytest.importorskip("lightgbm")

HERE = MachineFingerprint("some CPU", "f00", 2, ("L2 unified 2048K",), "22.1")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus of four programs, one of which is a test kernel, with random times."""
    path = tmp_path_factory.mktemp("corpus") / "c.sqlite"
    rng = np.random.default_rng(0)
    with open_corpus(path, begin=True) as corpus:
        corpus.add_machine(HERE, Machine())
        for number, name in enumerate(("mvt", "random:17", "tc:matmul", "bicg")):
            program = load_program(name)
            case = CorpusCase(name, program.parameters)
            visit = corpus.begin(CaseVisit(case, number, 0, 2, HERE.key, 1.0))
            genes = SearchSpace.for_program(
                program.scop, (ISL,), dict(program.parameters), DEFAULT_MAPPING
            )
            schedule = str(original_schedule(program.scop))
            for _ in range(9):
                mapping = str(genes.sample(rng).mapping)
                seconds = float(rng.uniform(1, 2))
                corpus.add(
                    visit, CorpusRow(schedule, mapping, mapping, OutcomeStatus.OK, seconds, 2.0)
                )
            corpus.finish(visit, 0.0)
    return path


def test_the_shipped_model_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = call(capsys, "cost", "show")
    assert code == 0
    assert "on programs left out: rank correlation" in text
    code, data = call_json(capsys, "cost", "show")
    assert code == 0
    assert data["notes"]["command"] == "python -m agents.fit"


def test_a_model_is_made_and_shown(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    model = str(tmp_path / "m.model")
    few = ("--trees", "12")
    code, text, _ = call(capsys, "cost", "train", str(corpus), model, *few, "--folds", "3")
    assert code == 0
    assert "3 cases of 3 programs" in text
    assert "on programs left out: rank correlation" in text
    code, data = call_json(capsys, "cost", "show", model)
    assert code == 0
    assert data["programs"] == 3
    assert data["notes"]["excluded_rows"] == 1
    assert data["notes"]["validation"]["cases"] == 3
    assert -1 <= data["notes"]["validation"]["spearman"] <= 1
    assert 0 < sum(data["columns"].values()) <= 1.0001
    again = str(tmp_path / "again.model")
    code, made = call_json(capsys, "cost", "train", str(corpus), again, *few, "--folds", "0")
    assert (code, made["file"]) == (0, again)
    _, shown = call_json(capsys, "cost", "show", again)
    assert shown["columns"] == data["columns"]
    assert "validation" not in shown["notes"]


def few_of(corpus: Path, path: Path, programs: set[str]) -> str:
    """Return a corpus of some of the programs of another."""
    with open_corpus(corpus) as whole, open_corpus(path, begin=True) as made:
        made.add_machine(HERE, Machine())
        for visit, rows in whole.visits():
            if visit.case.program in programs:
                number = made.begin(visit)
                for row in rows:
                    made.add(number, row)
    return str(path)


def test_a_small_corpus_has_as_many_folds_as_programs(
    capsys: pytest.CaptureFixture[str],
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If nothing is said; what cannot be tested is refused before there are features."""
    out, few = str(tmp_path / "m.model"), ("--trees", "4")
    code, text, _ = call(capsys, "cost", "train", str(corpus), out, *few)
    assert (code, "on programs left out" in text) == (0, True)
    single = few_of(corpus, tmp_path / "one.sqlite", {"mvt"})
    code, text, _ = call(capsys, "cost", "train", single, out, *few)
    assert code == 0
    assert "one program: there is no other to test on" in text
    assert "on programs left out" not in text
    none = few_of(corpus, tmp_path / "none.sqlite", {"bicg"})
    monkeypatch.setattr("polygym.cli.commands.cost.training_samples", None)
    for words, message in (
        ((single, out, "--folds", "2"), "found 2 of 1; --folds 0 tests nothing"),
        ((str(corpus), out, "--folds", "4"), "found 4 of 3; --folds 0 tests nothing"),
        ((none, out), "on which they are tested, or that do the same, which are left out: bicg"),
    ):
        code, _, said = call(capsys, "cost", "train", *words)
        assert (code, message in said) == (2, True), said


def test_a_model_of_all_kinds_of_machines(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    """They are named, or all; without a word it is said how."""
    path, there = tmp_path / "two.sqlite", replace(HERE, processor="another CPU")
    with open_corpus(corpus) as whole, open_corpus(path, begin=True) as made:
        for machine in (HERE, there):
            made.add_machine(machine, Machine())
            for visit, rows in whole.visits():
                number = made.begin(replace(visit, machine=machine.key))
                for row in rows:
                    made.add(number, row)
    words = ("cost", "train", str(path), str(tmp_path / "folder" / "m.model"), "--trees", "2")
    code, _, said = call(capsys, *words)
    assert (code, "`--machine all` learns from each" in said) == (2, True), said
    code, data = call_json(capsys, *words, "--machine", "all", "--folds", "0")
    assert (code, data["machine"]) == (0, f"{HERE.key}, {there.key}")
    assert data["rows"] == 54


def test_a_tree_gru_is_made_and_shown(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    """The same command, another kind; ``show`` tells which by the file."""
    pytest.importorskip("torch")
    model = str(tmp_path / "m.model")
    few = ("--model", "tree-gru", "--trees", "2", "--members", "2", "--objective", "regression")
    code, text, _ = call(capsys, "cost", "train", str(corpus), model, *few, "--folds", "3")
    assert code == 0
    assert "tree-gru, regression" in text
    assert "3 cases of 3 programs" in text
    assert "on programs left out: rank correlation" in text
    assert "2 networks: embedding" in text
    assert "Columns that decide" not in text
    code, data = call_json(capsys, "cost", "show", model)
    assert (code, data["kind"], data["members"]) == (0, "tree-gru", 2)
    assert data["shape"]["hidden"] > 0
    assert data["notes"]["validation"]["cases"] == 3
    assert "columns" not in data
    again = str(tmp_path / "again.model")
    code, made = call_json(capsys, "cost", "train", str(corpus), again, *few, "--folds", "0")
    assert (code, made["file"], made["kind"]) == (0, again, "tree-gru")
    first, second = (load_model(Path(file)) for file in (model, again))
    loops = LoopForest.of(
        [LoopTree(np.ones((1, len(NODE_COLUMNS)), np.float32), *(np.array([k]) for k in (-1, 0)))]
    )
    rows = np.zeros((1, len(FEATURE_NAMES)))
    assert np.array_equal(first.scores(rows, loops), second.scores(rows, loops))


def test_without_pytorch_there_is_no_tree_gru(
    capsys: pytest.CaptureFixture[str],
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("polygym.cost.models.tree_gru.find_spec", lambda _: None)
    out = str(tmp_path / "m.model")
    code, _, error = call(capsys, "cost", "train", str(corpus), out, "--model", "tree-gru")
    assert code == 2
    assert "pip install 'polygym[cost]'" in error


def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "m.model")
    for arguments, message in (
        (("train", str(tmp_path / "none.sqlite"), out), "expected a corpus, found no such file"),
        (("train", str(corpus), out, "--machine", "abc"), "--machine: expected one of"),
        (
            ("train", str(corpus), out, "--folds", "9"),
            "--folds: expected at most as many as programs, found 9 of 3; --folds 0 tests nothing",
        ),
        (("show", str(corpus)), "expected a model of trees"),
        (("train", str(corpus), str(corpus)), "expected another file than the corpus"),
    ):
        code, _, error = call(capsys, "cost", *arguments)
        assert code == 2
        assert message in error
    both = tmp_path / "both.sqlite"
    both.write_bytes(corpus.read_bytes())
    with open_corpus(both) as opened:
        opened.add_machine(MachineFingerprint("another", "0", 1, (), "1"), Machine())
    code, _, error = call(capsys, "cost", "train", str(both), out)
    assert code == 2
    assert "found nothing" in error
