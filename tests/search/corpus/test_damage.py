"""Any changed value of a corpus is found, and every reader refuses the corpus."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.packing import export_parquet, merge_corpora, pack
from polygym.search.corpus.program_choice import ProgramChoice
from polygym.search.corpus.rows import TABLES, CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.samples import case_rows
from polygym.search.corpus.statistics import corpus_statistics
from polygym.search.corpus.store import Corpus, file_problems, open_corpus

HERE = MachineFingerprint("some CPU", "f00", 2, ("L2 unified 2048K",), "22.1")
THERE = replace(HERE, processor="another CPU")
KEYS = {"machines": "key", "corpus": "only", "rows": "visit, position"}
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
                for index in range(6):
                    said = f"schedule {place} {index}"
                    corpus.add(
                        visit,
                        CorpusRow(
                            said, "default", f"done {index}", OutcomeStatus.OK, 0.5, 1.0, "x"
                        ),
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


def expect_found_and_refused(path: Path) -> None:
    """Check that damage is found, and that all readers refuse it."""
    with open_corpus(path) as corpus:
        assert corpus.check()
        for name, read in READERS.items():
            folder = path.with_name(f"{path.name}.{name}")
            folder.mkdir()
            with pytest.raises(InputError, match="expected a whole corpus, found"):
                read(corpus, folder)


@pytest.mark.parametrize(("table", "column"), list(columns()))
def test_any_changed_value_is_found_and_refused(tmp_path: Path, table: str, column: str) -> None:
    good = filled(tmp_path / "good.sqlite")
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
        expect_found_and_refused(path)
    assert tried or (table, column) == ("corpus", "only")


@pytest.mark.parametrize("table", ["machines", "programs", "cases", "visits", "texts"])
def test_missing_lines_are_found_and_refused(tmp_path: Path, table: str) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {table}")
    expect_found_and_refused(path)


def test_each_damage_is_named_once(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "c.sqlite")) as corpus:
        corpus.connection.execute("UPDATE visits SET background_load = 'hm' WHERE number = 1")
        corpus.connection.execute("UPDATE clocks SET seconds = -1 WHERE machine = ?", (HERE.key,))
        corpus.connection.execute("UPDATE rows SET detail = 'y' WHERE visit = 2 AND position = 4")
        assert corpus.check() == [
            "visits: number 1 is damaged, or its case, its program or its machine",
            "rows: number 4 of visit 2 is damaged",
            "clocks: row 1 is damaged",
        ]


def test_a_row_that_moved_to_another_visit_is_damaged(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "c.sqlite")) as corpus:
        corpus.connection.execute(
            "UPDATE rows SET visit = 2, position = 9 WHERE (visit, position) = (1, 3)"
        )
        assert corpus.check() == ["rows: number 9 of visit 2 is damaged"]


@pytest.mark.parametrize("version", [2, 3, 5, "x"])
def test_a_corpus_of_another_version_is_refused_with_advice(
    tmp_path: Path, version: object
) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE corpus SET version = ?", (version,))
    message = (
        rf"expected a corpus of version 4, found version '?{version}'?; collect into a new file"
    )
    with pytest.raises(InputError, match=message):
        open_corpus(path)


PAGE = 4096


@pytest.mark.parametrize("how", ["zeros", "random", "flips"])
def test_every_damaged_page_is_found_and_refused(tmp_path: Path, how: str) -> None:
    rng = np.random.default_rng(0)
    count = 0
    for page in range(1, len(written()) // PAGE):
        content = bytearray(written())
        begin = page * PAGE
        match how:
            case "zeros":
                content[begin : begin + PAGE] = bytes(PAGE)
            case "random":
                content[begin + PAGE - 1000 : begin + PAGE] = rng.bytes(
                    1000
                )  # cells fill a page from its end
            case _:
                for offset in rng.integers(0, PAGE, 20):
                    content[begin + int(offset)] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"{page}.sqlite"
        path.write_bytes(content)
        if not file_problems(path):
            continue  # nothing was there
        count += 1
        for name, read in READERS.items():
            folder = tmp_path / f"{page} {name}"
            folder.mkdir()
            with (
                pytest.raises(InputError, match="restore a copy of the file"),
                open_corpus(path) as corpus,
            ):
                read(corpus, folder)
    assert count > len(written()) // PAGE // 2


def test_a_file_that_was_cut_off_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(written()[: -2 * PAGE])
    assert file_problems(path)


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 99])
def test_a_file_that_is_no_corpus_has_one_problem(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    assert len(file_problems(path)) == 1
    assert path.read_bytes() == content


@pytest.mark.parametrize("table", ["corpus", "clocks", "texts", "rows"])
def test_a_missing_table_is_damage(tmp_path: Path, table: str) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DROP TABLE {table}")
    assert file_problems(path) == [f"SQLite: no such table: {table}"]


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
