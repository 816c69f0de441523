"""Whatever value of a corpus is another one, it is found, refused by who reads, and taken out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.export import export_parquet
from polygym.search.corpus.merge import merge_corpora
from polygym.search.corpus.packing import pack
from polygym.search.corpus.program_choice import ProgramChoice
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.samples import case_rows
from polygym.search.corpus.schema import TABLES
from polygym.search.corpus.statistics import corpus_statistics
from polygym.search.corpus.store import Corpus, open_corpus
from polygym.search.corpus.version_2 import former_sum

HERE = MachineFingerprint("some CPU", "f00", 2, ("L2 unified 2048K",), "22.1")
THERE = replace(HERE, processor="another CPU")
KEYS = {"machines": "key", "corpus": "only", "rows": "visit, place"}
WRONG: tuple[object, ...] = ("gemver", '{"n": 12}', "{", -1, 3, 2.5, 1e999, b"\xff", "\udcff")


def columns() -> Iterator[tuple[str, str]]:
    """Yield every column of every table that there is."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})"):
                yield table, column


def filled(path: Path) -> Path:
    """Return a corpus with two lines in every table."""
    path.write_bytes(written())
    return path


@cache
def written() -> bytes:
    """Return the file of such a corpus, which is the same every time: it takes thirty commits."""
    with TemporaryDirectory() as folder:
        fill(Path(folder, "c.sqlite"))
        return Path(folder, "c.sqlite").read_bytes()


def fill(path: Path) -> None:
    with open_corpus(path, begin=True) as corpus:
        for number, machine in enumerate((HERE, THERE)):
            corpus.add_machine(machine, Machine())
            case, text = (
                CorpusCase(("gemm", "mine.c")[number], (("n", 10),)),
                ("", "the text")[number],
            )
            for place in (0, 1):
                asked = CaseVisit(case, place, 7, 2, machine.key, 1000.0 + place, 0.5, text)
                visit = corpus.begin(asked)
                for one in range(6):
                    said = f"schedule {place} {one}"
                    corpus.add(
                        visit,
                        CorpusRow(said, "default", f"done {one}", OutcomeStatus.OK, 0.5, 1.0, "x"),
                    )
                corpus.finish(visit, 0.25)
            corpus.add_clock(machine.key, 1.0 + number, 0.01)


def damaged(path: Path, table: str, column: str, value: object) -> bool:
    """Put a value into the first line of a table; return whether it is another one now."""
    keys = KEYS.get(table, "rowid")
    bound, mark = (b"\xff", "CAST(? AS TEXT)") if value == "\udcff" else (value, "?")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.text_factory = bytes
        everything = f"SELECT *, typeof({column}) FROM {table} ORDER BY {keys}"
        before = connection.execute(everything).fetchall()
        first = f"SELECT {keys} FROM {table} ORDER BY {keys} LIMIT 1"
        try:
            connection.execute(
                f"UPDATE {table} SET {column} = {mark} WHERE ({keys}) = ({first})", (bound,)
            )
        except sqlite3.IntegrityError:
            return False  # SQLite does not let it in
        return connection.execute(everything).fetchall() != before


READERS: dict[str, Callable[[Corpus, Path], object]] = {
    "statistics": lambda corpus, _: corpus_statistics(corpus),
    "groups": lambda corpus, _: case_rows(corpus),
    "export": lambda corpus, folder: export_parquet(corpus, folder / "out.parquet"),
    "pack": lambda corpus, folder: pack(corpus, folder / "out.xz"),
    "merge": lambda corpus, folder: merge_corpora(open_corpus(folder / "into", begin=True), corpus),
    "merge into": lambda corpus, folder: merge_corpora(
        corpus, open_corpus(filled(folder / "from"))
    ),
    "collect": lambda corpus, _: Collection(corpus, CollectPlan(ProgramChoice(("mvt",)))).run(),
}


def expect_found_and_mended(path: Path, whole: set[CorpusRow]) -> None:
    """Check that damage is found, that all readers refuse it, and that it can be taken out."""
    with open_corpus(path) as corpus:
        complaints = corpus.check()
        assert complaints
        for name, read in READERS.items():
            folder = path.with_name(f"{path.name}.{name}")
            folder.mkdir()
            with pytest.raises(InputError, match="expected a whole corpus, found"):
                read(corpus, folder)
        corpus.repair()
        assert corpus.check() == [], complaints
        assert {stored_row.row for stored_row in corpus.all()} <= whole
        assert corpus.connection.execute("PRAGMA foreign_key_check").fetchall() == []
        corpus_statistics(corpus)


@pytest.mark.parametrize(("table", "column"), list(columns()))
def test_any_value_that_is_another_one_is_found_and_taken_out(
    tmp_path: Path, table: str, column: str
) -> None:
    good = filled(tmp_path / "good.sqlite")
    with open_corpus(good) as corpus:
        whole = {stored_row.row for stored_row in corpus.all()}
    tried = 0
    for number, value in enumerate(WRONG):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(good.read_bytes())
        if not damaged(path, table, column, value):
            continue
        tried += 1
        if (table, column) in {("corpus", "format"), ("corpus", "version")}:
            with pytest.raises(InputError, match="expected a"):
                open_corpus(path)
            continue
        expect_found_and_mended(path, whole)
    assert tried or (table, column) == ("corpus", "only")


@pytest.mark.parametrize("table", ["machines", "programs", "cases", "visits", "texts"])
def test_what_is_gone_is_found_and_what_is_of_it_taken_out(tmp_path: Path, table: str) -> None:
    path = filled(tmp_path / "c.sqlite")
    with open_corpus(path) as corpus:
        whole = {stored_row.row for stored_row in corpus.all()}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {table}")
    expect_found_and_mended(path, whole)


def test_what_is_whole_stays_when_something_else_is_taken_out(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "c.sqlite")) as corpus:
        corpus.connection.execute("UPDATE visits SET others = 'hm' WHERE number = 1")
        corpus.connection.execute("UPDATE clocks SET seconds = -1 WHERE machine = ?", (HERE.key,))
        corpus.connection.execute("UPDATE rows SET detail = 'y' WHERE visit = 2 AND place = 4")
        assert corpus.check() == [
            "visits: number 1 is damaged, or its case, its program or its machine",
            "rows: number 4 of visit 2 is damaged",
            "clocks: row 1 is damaged",
        ]
        assert str(corpus.repair()) == "7 rows, 1 visit, 1 time of the clock"
        assert corpus.count() == 17
        assert corpus.finished(HERE.key, 2, 7) == set()
        assert corpus.finished(THERE.key, 2, 7) == {0, 1}
        assert corpus.machines().keys() == {HERE.key, THERE.key}


def test_the_visit_that_a_row_has_gone_from_is_measured_again(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "c.sqlite")) as corpus:
        corpus.connection.execute(
            "UPDATE rows SET visit = 2, place = 9 WHERE (visit, place) = (1, 3)"
        )
        assert corpus.repair().rows == 1
        assert 0 not in corpus.finished(HERE.key, 2, 7)


def of_version_2(path: Path) -> Path:
    """Return a corpus as the version before wrote it."""
    filled(path)
    with open_corpus(path) as corpus:
        rows = [
            (former_sum(row), number, place)
            for number in range(1, 5)
            for place, row in enumerate(corpus.rows_of(number))
        ]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executemany("UPDATE rows SET sum = ? WHERE visit = ? AND place = ?", rows)
        for table in ("corpus", "machines", "visits", "clocks"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN sum")
        connection.execute("UPDATE corpus SET version = 2")
    return path


def test_a_corpus_of_version_2_becomes_one_of_this_version(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "now.sqlite")) as now:
        path = of_version_2(tmp_path / "c.sqlite")
        for _ in range(2):
            with open_corpus(path) as corpus:
                assert corpus.check() == []
                assert list(corpus.visits()) == list(now.visits())
                assert corpus.machines() == now.machines()
                assert corpus.clocks() == now.clocks()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE visits SET others = 'hm' WHERE number = 1",
        "UPDATE clocks SET seconds = 'abc' WHERE rowid = 1",
        "UPDATE clocks SET seconds = -1 WHERE rowid = 1",
        "UPDATE cases SET parameters = '{' WHERE number = 1",
        "UPDATE machines SET document = '{}'",
        "DELETE FROM machines",
        "UPDATE rows SET seconds = 1e-9 WHERE place = 1",
        "UPDATE rows SET threads = 9 WHERE place = 1",
    ],
)
def test_what_was_damaged_in_version_2_stays_damaged(tmp_path: Path, damage: str) -> None:
    path = of_version_2(tmp_path / "c.sqlite")
    with open_corpus(filled(tmp_path / "now.sqlite")) as now:
        whole = {stored_row.row for stored_row in now.all()}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    expect_found_and_mended(path, whole)


def test_what_is_written_meanwhile_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine and its first visit, begun while another process looks at all that there is."""
    path, new = filled(tmp_path / "c.sqlite"), replace(HERE, processor="a new CPU")
    with open_corpus(path) as corpus, open_corpus(path) as collection:
        collection.connection.execute("PRAGMA busy_timeout = 0")
        asked = Corpus._asked

        def meanwhile(self: Corpus, query: str, values: Sequence[object] = ()) -> list[Any]:
            result = asked(self, query, values)
            if "FROM machines" in query:
                with suppress(OSError):  # it may have to wait until all is looked at
                    collection.add_machine(new, Machine())
                    collection.begin(CaseVisit(CorpusCase("gemm", ()), 9, 7, 2, new.key, 1.0))
            return result

        monkeypatch.setattr(Corpus, "_asked", meanwhile)
        assert corpus.check() == []
        corpus.expect_whole()
        assert corpus.repair().visits == 0
