"""Pages of a corpus that are damaged: readers refuse it, and what can be read is copied."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.export import export_parquet
from polygym.search.corpus.merge import merge_corpora
from polygym.search.corpus.packing import pack
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.salvage import complaints, repair
from polygym.search.corpus.samples import case_rows
from polygym.search.corpus.statistics import corpus_statistics
from polygym.search.corpus.store import Corpus, open_corpus

HERE = MachineFingerprint("some CPU", "f00", 2, ("L2 unified 2048K",), "22.1")
PAGE = 4096
VISITS, EACH = 6, 30


@cache
def written() -> bytes:
    """Return the file of a corpus whose tables have several pages."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.sqlite")
        with open_corpus(path, begin=True) as corpus:
            corpus.connection.execute("PRAGMA synchronous = OFF")
            corpus.add_machine(HERE, Machine())
            for number in range(VISITS):
                case = CorpusCase(f"random:{number}", (("n", 10 + number),))
                visit = corpus.begin(CaseVisit(case, number, 7, 2, HERE.key, 1000.0 + number))
                for one in range(EACH):
                    schedule = f"{'schedule ' * 20}{number} {one}"
                    corpus.add(
                        visit,
                        CorpusRow(schedule, "default", "done", OutcomeStatus.OK, 0.5, 1.0, "x"),
                    )
                corpus.finish(visit, 0.25)
                corpus.add_clock(HERE.key, 1.0 + number, 0.01)
        return path.read_bytes()


@pytest.fixture(scope="module")
def whole() -> Iterator[set[CorpusRow]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.sqlite")
        path.write_bytes(written())
        with open_corpus(path) as corpus:
            yield {stored_row.row for stored_row in corpus.all()}


READERS: dict[str, Callable[[Corpus, Path], object]] = {
    "statistics": lambda corpus, _: corpus_statistics(corpus),
    "groups": lambda corpus, _: case_rows(corpus),
    "export": lambda corpus, folder: export_parquet(corpus, folder / "out.parquet"),
    "pack": lambda corpus, folder: pack(corpus, folder / "out.xz"),
    "merge": lambda corpus, folder: merge_corpora(open_corpus(folder / "into", begin=True), corpus),
}


def expect_copied(path: Path, whole: set[CorpusRow], fewest: int) -> int:
    """Check that a damaged file is mended as far as can be; return how many rows are lost."""
    mended = repair(path)
    assert mended is not None
    assert complaints(path) == []
    with open_corpus(path) as corpus:
        left = {stored_row.row for stored_row in corpus.all()}
        assert left <= whole
        assert mended.rows in (None, len(left))  # sums alone may say it: then none is copied
        assert len(left) >= fewest
        lost = len(whole) - len(left)
        if mended.is_counted:
            assert mended.taken_out.rows == lost
        rows = {visit.number: len(rows) for visit, rows in corpus.visits()}
        finished = corpus.finished(HERE.key, 2, 7)
        assert all(rows[number] == EACH for number in finished)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    return lost


@pytest.mark.parametrize("how", ["zeros", "dice", "flips"])
def test_of_every_page_that_is_damaged_all_others_are_copied(
    tmp_path: Path, whole: set[CorpusRow], how: str
) -> None:
    rng = np.random.default_rng(0)
    losses = []
    for page in range(1, len(written()) // PAGE):
        content = bytearray(written())
        begin = page * PAGE
        match how:
            case "zeros":
                content[begin : begin + PAGE] = bytes(PAGE)
            case "dice":
                content[begin + 100 : begin + 1100] = rng.bytes(1000)
            case _:
                for place in rng.integers(0, PAGE, 20):
                    content[begin + int(place)] ^= 1 << int(rng.integers(8))
        folder = tmp_path / str(page)
        folder.mkdir()
        path = folder / "c.sqlite"
        path.write_bytes(content)
        if not complaints(path):
            continue  # nothing was there
        for name, read in READERS.items():
            elsewhere = tmp_path / f"{page} {name}"
            elsewhere.mkdir()
            with (
                pytest.raises(InputError, match=r"corpus check --mend"),
                open_corpus(path) as corpus,
            ):
                read(corpus, elsewhere)
        # Pages that hold a whole table, or its beginning, take all of it along.
        lost = mend_or_all(path, whole)
        losses.append(lost)
    assert len(losses) > 20
    assert losses.count(0) > len(losses) // 4  # indices alone
    assert sum(lost < VISITS * EACH / 2 for lost in losses) > len(losses) * 0.6


def mend_or_all(path: Path, whole: set[CorpusRow]) -> int:
    """Check what is mended, or that a file of which nothing can be read stays as it was."""
    content = path.read_bytes()
    mended = repair(path)
    if mended is None:
        assert path.read_bytes() == content
        return len(whole)
    path.write_bytes(content)
    return expect_copied(path, whole, 0)


def test_a_file_that_was_cut_off_has_what_is_before_the_cut(
    tmp_path: Path, whole: set[CorpusRow]
) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(written()[: -8 * PAGE])
    assert complaints(path)
    assert 0 < expect_copied(path, whole, len(whole) // 4) < len(whole)


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 99])
def test_what_is_no_corpus_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    assert len(complaints(path)) == 1
    assert repair(path) is None
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("table", "left"), [("corpus", True), ("clocks", True), ("texts", False), ("rows", False)]
)
def test_a_table_that_is_lost_is_damage(
    tmp_path: Path, whole: set[CorpusRow], table: str, left: bool
) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(written())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DROP TABLE {table}")
    assert complaints(path) == [f"SQLite: no such table: {table}"]
    if left:
        assert expect_copied(path, whole, len(whole)) == 0
    else:
        assert repair(path) is None


def test_nothing_is_mended_under_somebody_who_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polygym.search.corpus.salvage._PATIENCE_SECONDS", 0.0)
    path = tmp_path / "c.sqlite"
    content = bytearray(written())
    page = next(number for number in count(2) if content[number * PAGE] == 10)  # of an index
    content[page * PAGE : page * PAGE + PAGE] = bytes(PAGE)
    path.write_bytes(content)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="locked"):
            repair(path)
    assert path.read_bytes() == content
