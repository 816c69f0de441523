"""``polygym collect`` and ``polygym corpus``, as a user has them."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet
import pytest

from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.packing import (
    LARGE_FILE,
    NEAR_FILE,
    SHIPPED_CORPORA,
    export_parquet,
    pack,
)
from polygym.search.corpus.program_choice import TEST_KERNELS
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.store import open_corpus
from tests.cli.invoke import call, call_json

FEW = ("--rows", "6", "--candidates", "3")


def test_from_end_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, other, both = (str(tmp_path / f"{name}.sqlite") for name in ("a", "b", "both"))
    code, data = call_json(capsys, "collect", file, "mvt", "random:2", *FEW)
    assert code == 0
    assert (data["rows"], data["added"], data["interrupted"]) == (6, 6, False)
    assert sum(data["statuses"].values()) == 6
    code, text, _ = call(capsys, "collect", file, "mvt", "random:2", *FEW)
    assert (code, "0 rows added" in text) == (0, True)
    assert call_json(capsys, "collect", other, "mvt", *FEW, "--seed", "9")[0] == 0

    code, data = call_json(capsys, "corpus", "stats", file)
    assert code == 0
    assert (data["rows"], data["machines"][0]["rows"]) == (6, 6)
    assert set(data["kinds"]) <= {"kernels", "random"}
    code, text, _ = call(capsys, "corpus", "stats", file)
    assert (code, "6 rows" in text, "PROCESSOR" in text) == (0, True, True)

    assert call_json(capsys, "corpus", "check", file) == (0, {"file": file, "problems": []})
    code, data = call_json(capsys, "corpus", "merge", both, file, other)
    assert (code, data["rows"]) == (0, sum(data["added"].values()))
    assert data["added"][file] == 6
    assert 6 < data["rows"] <= 12

    table = tmp_path / "all.parquet"
    code, _ = call_json(capsys, "corpus", "export", both, str(table))
    exported = pyarrow.parquet.read_table(table)
    assert (code, exported.num_rows) == (0, data["rows"])
    assert {"program", "schedule", "mapping", "speedup", "machine"} <= set(exported.column_names)


def test_variants_from_end_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Random programs with scalars, each where its values are kept in two ways or three."""
    file = str(tmp_path / "variants.sqlite")
    small = (
        "scalars:*",
        "--storage-variants",
        "--candidates",
        "2",
        "--rows",
        "4",
        "--operations",
        "1e4:1e5",
    )
    code, data = call_json(capsys, "collect", file, *small)
    assert (code, data["rows"]) == (0, 4)
    with open_corpus(Path(file)) as corpus:
        (written, _), (moved, _) = corpus.visits()
    assert written.case.program == moved.case.program
    assert written.case.program.startswith("scalars:")
    assert not written.case.is_changed
    assert moved.case.is_changed
    code, data = call_json(capsys, "corpus", "stats", file)
    assert (code, data["kinds"]) == (0, {"scalars": 4})
    code, _, said = call(capsys, "collect", file, "mvt", "--storage-variants", "--storage", "auto")
    assert (code, "--storage-variants: expected no --storage and no --split" in said) == (2, True)


def test_packed_and_unpacked_it_is_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, packed, again = (str(tmp_path / name) for name in ("a.sqlite", "a.xz", "b.sqlite"))
    assert call_json(capsys, "collect", file, "mvt", *FEW)[0] == 0
    code, data = call_json(capsys, "corpus", "pack", file, packed)
    assert (code, data["rows"], data["bytes"]) == (0, 6, Path(packed).stat().st_size)
    assert data["bytes"] < Path(file).stat().st_size / 3
    assert call_json(capsys, "corpus", "unpack", again, packed) == (0, {"file": again, "rows": 6})
    with open_corpus(Path(file)) as corpus, open_corpus(Path(again)) as two:
        assert list(corpus.all()) == list(two.all())
        assert corpus.machines() == two.machines()
    code, _, said = call(capsys, "corpus", "unpack", again, packed)
    assert (code, "expected no such file yet" in said) == (2, True)
    code, _, said = call(capsys, "corpus", "pack", again, again)
    assert (code, "expected another file than the corpus" in said) == (2, True)


def test_no_packed_corpus_is_said_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    empty, whole, out = tmp_path / "c.sqlite", tmp_path / "whole.xz", tmp_path / "out.sqlite"
    with open_corpus(empty, begin=True) as corpus:
        pack(corpus, whole)
    contents = {
        "none": None,
        "garbage": b"no archive",
        "half": whole.read_bytes()[:-40],
        "two": whole.read_bytes() * 2,
        "text": lzma.compress(b"no database, but long enough to be one" * 100),
    }
    for name, content in contents.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        code, _, said = call(capsys, "corpus", "unpack", str(out), str(path))
        assert code == 2, name
        assert "expected" in said
        assert "found" in said
    names = {*(name for name, content in contents.items() if content), empty.name, whole.name}
    assert {file.name for file in tmp_path.iterdir()} == names


def test_the_corpus_that_comes_with_polygym(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is whole and small, says for what its machines plan, and has no kernels for tests."""
    file = tmp_path / "corpus.sqlite"
    code, data = call_json(capsys, "corpus", "unpack", str(file))
    assert (code, data["rows"]) == (0, SHIPPED_CORPORA["large"].rows)
    assert LARGE_FILE.stat().st_size < 10_000_000
    with open_corpus(file) as corpus:
        assert corpus.check() == []
        assert corpus.machines().keys() == corpus.planned_for().keys()
        assert {machine.vector_bits for machine in corpus.planned_for().values()} == {256, 512}
        programs = {visit.case.program for visit, _ in corpus.visits()}
        assert programs
        assert not programs & set(TEST_KERNELS)


@pytest.mark.parametrize("name", ["storage-variants", "near"])
def test_the_other_corpora_that_come_with_polygym(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    """They have names, and are whole; the help says of all how many rows they have."""
    file = str(tmp_path / "in a folder" / "one.sqlite")
    code, data = call_json(capsys, "corpus", "unpack", file, "--which", name)
    assert (code, data) == (0, {"file": file, "rows": SHIPPED_CORPORA[name].rows})
    with open_corpus(Path(file)) as corpus:
        assert corpus.check() == []
    code, text, _ = call(capsys, "corpus", "unpack", "--help")
    assert all(
        f"{name:<16} {shipped_corpus.rows:>6,} rows" in text
        for name, shipped_corpus in SHIPPED_CORPORA.items()
    )
    both = (str(tmp_path / "new"), str(NEAR_FILE), "--which", name)
    code, _, said = call(capsys, "corpus", "unpack", *both)
    assert (code, "expected no PACKED beside it" in said) == (2, True)


def test_what_cannot_be_written_is_known_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders are made; where there is a file instead, nothing is read."""
    file, is_file = tmp_path / "c.sqlite", tmp_path / "file"
    is_file.touch()
    with open_corpus(file, begin=True) as corpus:
        corpus.add_machine(machine_fingerprint(), Machine())
    for word in ("export", "pack"):
        out = tmp_path / word / "deep" / "out"
        assert call(capsys, "corpus", word, str(file), str(out))[0] == 0
        assert out.is_file()
    monkeypatch.setattr("polygym.search.corpus.store.Corpus.expect_whole", None)
    for words in (("corpus", "export"), ("corpus", "pack"), ("cost", "train")):
        code, _, said = call(capsys, *words, str(file), str(is_file / "out"))
        assert (code, "file" in said, "Traceback" in said) == (2, True, False), said
        code, _, said = call(capsys, *words, str(file), str(tmp_path))
        assert (code, "is a directory" in said) == (2, True), said


def test_an_empty_corpus_and_one_that_drifts_say_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "c.sqlite")
    key = machine_fingerprint().key
    with open_corpus(Path(file), begin=True) as corpus:
        code, text, _ = call(capsys, "corpus", "stats", file)
        assert (code, "nothing was measured yet" in text, "0.00x" in text) == (0, True, False)
        code, _, said = call(capsys, "cost", "train", file, str(tmp_path / "out.model"))
        assert (code, "expected some rows, found none" in said) == (2, True)
        corpus.add_machine(machine_fingerprint(), Machine())
        visit = corpus.begin(CaseVisit(CorpusCase("gemm", ()), 0, 0, 1, key, 1.0))
        corpus.add(visit, CorpusRow("schedule", "m", "m", OutcomeStatus.TIMEOUT, 0.0, 1.0))
        _, text, _ = call(capsys, "corpus", "stats", file)
        assert "1 row, 1 program, 1 case\n" in text
        assert "no candidate ran" in text
        for seconds, is_marked in ((0.100, False), (0.109, False), (0.112, True)):
            corpus.add_clock(key, seconds, seconds)
            _, text, _ = call(capsys, "corpus", "stats", file)
            assert ("x*\n" in text, "as long for the same code" in text) == (is_marked, is_marked)


def test_nothing_is_merged_where_one_of_all_is_no_corpus(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All are looked at before anything is written; none goes into itself."""
    whole, damaged, new = (tmp_path / f"{name}.sqlite" for name in ("whole", "damaged", "new"))
    for path in (whole, damaged):
        with open_corpus(path, begin=True) as corpus:
            corpus.add_machine(machine_fingerprint(), Machine())
    with open_corpus(damaged) as corpus:
        corpus.connection.execute("UPDATE machines SET document = '{}'")
    for other, message in (
        (tmp_path / "none", "expected a corpus, found no such file"),
        (damaged, "expected a whole corpus, found machines"),
        (new, "expected another file than the corpus"),
    ):
        code, _, said = call(capsys, "corpus", "merge", str(new), str(whole), str(other))
        assert (code, message in said) == (2, True), said
        assert not new.exists()
    code, _, said = call(capsys, "corpus", "merge", str(whole), str(whole))
    assert (code, "expected another file than the corpus" in said) == (2, True)


def test_features_can_be_computed_again_from_what_is_exported(tmp_path: Path) -> None:
    """The text of a file is there, and for what loops are planned on the machine."""
    here = machine_fingerprint()
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        corpus.add_machine(here, Machine(vector_bits=512))
        visit = corpus.begin(
            CaseVisit(CorpusCase("mine.c", (("n", 4),)), 0, 0, 1, here.key, 1.0, text="the text")
        )
        corpus.add(visit, CorpusRow("schedule", "default", "default", OutcomeStatus.OK, 1.0, 1.0))
        export_parquet(corpus, tmp_path / "c.parquet")
    (row,) = pyarrow.parquet.read_table(tmp_path / "c.parquet").to_pylist()
    assert row["text"] == "the text"
    assert json.loads(row["planned_for"]) == asdict(Machine(vector_bits=512))
    assert json.loads(row["fingerprint"])["processor"] == here.processor


def test_damage_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "c.sqlite")
    with open_corpus(Path(file), begin=True) as corpus:
        corpus.add_machine(machine_fingerprint(), Machine())
        corpus.add_clock(machine_fingerprint().key, 1.0, 1.0)
        corpus.connection.execute("UPDATE clocks SET seconds = 'abc'")
    code, _, said = call(capsys, "corpus", "stats", file)
    assert (code, "found clocks: row 1 is damaged" in said) == (2, True)
    assert call(capsys, "corpus", "check", file)[0] == 1
    problems = ["clocks: row 1 is damaged"]
    answer = call_json(capsys, "corpus", "check", file)
    assert answer == (1, {"file": file, "problems": problems})


def test_a_damaged_page_is_refused_everywhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """SQLite reads all rows, past the damage: it is in an index."""
    path, other = tmp_path / "c.sqlite", tmp_path / "new.sqlite"
    with open_corpus(path, begin=True) as corpus:
        corpus.add_machine(machine_fingerprint(), Machine())
        visit = corpus.begin(
            CaseVisit(CorpusCase("gemm", ()), 0, 0, 1, machine_fingerprint().key, 1.0)
        )
        for number in range(20):
            corpus.add(visit, CorpusRow(f"schedule {number}", "m", "m", OutcomeStatus.OK, 1.0, 1.0))
        (page,) = corpus.connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_rows_2'"
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(content)
    file = str(path)
    for words in (
        ("corpus", "stats", file),
        ("corpus", "merge", str(other), file),
        ("corpus", "export", file, str(tmp_path / "out.parquet")),
        ("corpus", "pack", file, str(tmp_path / "out.xz")),
        ("cost", "train", file, str(tmp_path / "out.model")),
    ):
        code, _, said = call(capsys, *words)
        assert (code, "; restore a copy of the file" in said) == (
            2,
            True,
        ), (words, said)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    code, data = call_json(capsys, "corpus", "check", file)
    assert (code, data["problems"][0].startswith("SQLite: ")) == (1, True)


@pytest.mark.parametrize("content", [b"", b"cut off"])
def test_what_is_not_whole_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "c.sqlite"
    with open_corpus(file, begin=True):
        pass
    file.write_bytes(file.read_bytes()[: -4096 if content else 0])
    code, data = call_json(capsys, "corpus", "check", str(file))
    assert (code, len(data["problems"])) == (1, 1)


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, said = call(capsys, "corpus", "stats", str(tmp_path / "none"))
    assert (code, "expected a corpus, found no such file" in said) == (2, True)
    code, _, said = call(capsys, "collect", str(tmp_path / "c.sqlite"), "nothing")
    assert (code, "nothing" in said) == (2, True)
    assert not (tmp_path / "c.sqlite").exists()
    code, _, said = call(capsys, "collect", str(tmp_path / "no" / "c"), "mvt", "--rows", "0")
    assert code == 2
