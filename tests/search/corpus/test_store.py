"""A corpus: rows once, whole after anything, machines apart; damage is said."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.poly.schedule import parse_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.packing import export_parquet, merge_corpora, pack
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.samples import case_rows, features_of, legal_of, training_samples
from polygym.search.corpus.statistics import corpus_statistics, outliers
from polygym.search.corpus.store import Corpus, open_corpus

HERE = MachineFingerprint("some CPU", "f00", 2, ("L2 unified 2048K",), "22.1")
THERE = replace(HERE, processor="another CPU")
CASE = CorpusCase("gemm", (("ni", 10), ("nj", 20)))


def visit(number: int, machine: MachineFingerprint = HERE, case: CorpusCase = CASE) -> CaseVisit:
    return CaseVisit(case, number, 7, 2, machine.key, 1000.0 + number)


def row(number: int, baseline: float = 1.0) -> CorpusRow:
    return CorpusRow(
        f"schedule {number}", "default", "default", OutcomeStatus.OK, 0.5 + number, baseline
    )


def filled(path: Path, machine: MachineFingerprint, numbers: range, place: int = 0) -> Path:
    with open_corpus(path, begin=True) as corpus:
        corpus.add_machine(machine, Machine())
        begun_visit = corpus.begin(visit(place, machine))
        for number in numbers:
            corpus.add(begun_visit, row(number))
        corpus.finish(begun_visit, 0.1)
        corpus.add_clock(machine.key, 1.0, 0.01)
    return path


def test_a_row_is_there_once_and_as_it_was(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(5))
    with open_corpus(path) as corpus:
        again = corpus.begin(visit(1))
        corpus.add(again, replace(row(3), seconds=9.0))  # the same candidate, measured again
        corpus.add(again, row(17))
        assert corpus.count() == 6
        rows = [stored_row.row for stored_row in corpus.all()]
        assert sorted(rows, key=lambda corpus_row: corpus_row.seconds) == [
            *map(row, range(5)),
            row(17),
        ]
        assert corpus.check() == []
        assert corpus.known_rows(again)["schedule 3", "default"] == row(3)
        assert corpus.finished(HERE.key, 2, 7) == {0}
    with pytest.raises(InputError, match="expected visit 0 of seed 7 to be of mvt"):
        open_corpus(path).begin(visit(0, case=CorpusCase("mvt", ())))


def test_machines_never_mix(tmp_path: Path) -> None:
    ours = filled(tmp_path / "ours.sqlite", HERE, range(4))
    theirs = filled(tmp_path / "theirs.sqlite", THERE, range(6))
    with open_corpus(ours) as corpus, open_corpus(theirs) as other:
        assert merge_corpora(corpus, other) == 6
        assert merge_corpora(corpus, other) == 0
        assert [stored_row.row for stored_row in corpus.all(HERE.key)] == [row(n) for n in range(4)]
        assert [entry.row for entry in corpus.all(THERE.key)] == [row(n) for n in range(6)]
        statistics = corpus_statistics(corpus)
        assert (statistics.rows, statistics.programs, statistics.cases) == (10, 1, 1)
        assert {
            machine_statistics.processor: machine_statistics.rows
            for machine_statistics in statistics.machines
        } == {
            "some CPU": 4,
            "another CPU": 6,
        }
        assert corpus.check() == []


def test_merging_takes_what_is_new(tmp_path: Path) -> None:
    """A visit of the same case is the same; another one gets a number that nothing else has."""
    first = filled(tmp_path / "a.sqlite", HERE, range(4))
    second = filled(tmp_path / "b.sqlite", HERE, range(2, 9))
    with open_corpus(second) as other:
        strange = other.begin(visit(1, case=CorpusCase("mvt", ())))
        other.add(strange, row(30))
    with open_corpus(first) as corpus, open_corpus(second) as other:
        corpus.add(corpus.begin(visit(1)), row(10))
        for added in (6, 0, 0):
            assert merge_corpora(corpus, other) == added
            assert corpus.count() == 11
            assert {key.number: len(rows) for key, rows in corpus.visits()} == {0: 9, 1: 1, -1: 1}
        assert corpus.finished(HERE.key, 2, 7) == {0}


def test_files_of_one_name_and_other_texts_are_other_programs(tmp_path: Path) -> None:
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        corpus.add_machine(HERE, Machine())
        for number, text in enumerate(("one", "another", "one")):
            asked = replace(visit(number, case=CorpusCase("mine.c", (("n", 9),))), text=text)
            corpus.add(corpus.begin(asked), row(number))
        statistics = corpus_statistics(corpus)
    assert (statistics.rows, statistics.programs, statistics.cases) == (3, 2, 2)


def test_as_many_threads_are_visits_of_their_own(tmp_path: Path) -> None:
    with open_corpus(filled(tmp_path / "c.sqlite", HERE, range(3))) as corpus:
        alone = corpus.begin(replace(visit(0), threads=1))
        corpus.add(alone, row(0))
        assert {case_visit.threads: len(rows) for case_visit, rows in corpus.visits()} == {
            2: 3,
            1: 1,
        }
        assert corpus.finished(HERE.key, 1, 7) == set()


def test_what_was_measured_beside_a_strange_original_is_an_outlier() -> None:
    rows = [row(n, 1.0 + n / 100) for n in range(9)]
    strange = row(20, 1.6)
    assert outliers([*rows, strange]) == {strange}
    assert outliers(rows) == set()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files_are_refused_or_said_to_be(tmp_path: Path, seed: int) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(200))
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(40):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    if seed == 0:
        content = content[: len(content) // 2]
    path.write_bytes(content)
    with suppress(InputError), open_corpus(path) as corpus:
        if not corpus.check():
            assert [stored_row.row for stored_row in corpus.all()] == [row(n) for n in range(200)]


def test_damaged_rows_are_found_and_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(20))
    with open_corpus(path) as corpus:
        corpus.connection.execute("UPDATE rows SET seconds = 1e-9 WHERE position = 3")
        corpus.connection.execute("UPDATE rows SET status = 'fine' WHERE position = 5")
        assert corpus.check() == [f"rows: number {place} of visit 1 is damaged" for place in (3, 5)]
        with pytest.raises(InputError, match="restore a copy of the file"):
            list(corpus.all())


def test_a_row_that_says_of_another_case_than_its_visit_is_damaged(tmp_path: Path) -> None:
    """So is one whose text or visit is gone."""
    path = filled(tmp_path / "c.sqlite", HERE, range(20))
    with open_corpus(path) as corpus:
        corpus.connection.execute("PRAGMA foreign_keys = OFF")
        corpus.add_machine(THERE, Machine())
        corpus.connection.execute("UPDATE rows SET machine = ? WHERE position = 2", (THERE.key,))
        corpus.connection.execute("UPDATE rows SET threads = 8 WHERE position = 4")
        corpus.connection.execute("DELETE FROM texts WHERE text = 'schedule 7'")
        assert corpus.check() == [
            f"rows: number {place} of visit 1 is damaged" for place in (2, 4, 7)
        ]


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("visits", "UPDATE cases SET parameters = 'no JSON'"),
        ("visits", """UPDATE cases SET parameters = '{"n": "many"}'"""),
        ("machines", "UPDATE machines SET document = '[]'"),
        ("machines", "UPDATE machines SET document = '{'"),
    ],
)
def test_damage_is_said_with_the_file_wherever_it_is_read(
    tmp_path: Path, table: str, damage: str
) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(5))
    with open_corpus(path) as corpus:
        corpus.connection.execute(damage)
        assert len(corpus.check()) == 1
        other = open_corpus(tmp_path / "other.sqlite", begin=True)
        for read in (corpus_statistics, case_rows, lambda source: merge_corpora(other, source)):
            said = rf"c\.sqlite: expected a whole corpus, found {table}: "
            with pytest.raises(InputError, match=said):
                read(corpus)


def test_a_page_that_is_gone_is_said_wherever_it_is_read(tmp_path: Path) -> None:
    """SQLite itself finds it, in the middle of an answer."""
    path = filled(tmp_path / "c.sqlite", HERE, range(400))
    content = bytearray(path.read_bytes())
    content[8192:-4096] = bytes(len(content) - 12288)
    path.write_bytes(content)
    with open_corpus(path) as corpus:
        assert corpus.check()
        for read in (lambda store: list(store.all()), corpus_statistics):
            with pytest.raises(InputError, match=r"found SQLite: .*restore a copy of the file"):
                read(corpus)


def test_nothing_else_is_written_over_a_corpus(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(3))
    before = path.read_bytes()
    with open_corpus(path) as corpus:
        for write in (export_parquet, pack):
            with pytest.raises(InputError, match="expected another file than the corpus"):
                write(corpus, tmp_path / "." / "c.sqlite")
    assert path.read_bytes() == before


def test_times_of_two_visits_are_those_of_the_first(tmp_path: Path) -> None:
    """On a day on which all takes twice as long a candidate is no slower than on another."""
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        corpus.add_machine(HERE, Machine())
        for place, slow in enumerate((1.0, 2.0)):
            begun_visit = corpus.begin(visit(place))
            for number in range(6):
                corpus_row = row(10 * place + number)
                corpus.add(
                    begun_visit,
                    replace(corpus_row, seconds=slow * (number + 1), baseline_seconds=slow),
                )
        (group,) = case_rows(corpus)
    assert [entry.seconds for entry in group.rows] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 2


def test_other_files_and_other_versions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a corpus, found no such file"):
        open_corpus(tmp_path / "none.sqlite")
    text = tmp_path / "text.sqlite"
    text.write_text("no corpus at all, but long enough to be read as something" * 30)
    with pytest.raises(InputError, match="expected a whole corpus"):
        open_corpus(text)
    path = filled(tmp_path / "c.sqlite", HERE, range(2))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE corpus SET version = 99")
    with pytest.raises(InputError, match="expected a corpus of version 4, found"):
        open_corpus(path)


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(2))
    with open_corpus(path) as corpus:
        pages = corpus.connection.execute("PRAGMA page_count").fetchone()[0]
        corpus.connection.execute(f"PRAGMA max_page_count = {pages}")

        def fill() -> None:
            for number in range(2, 5000):
                corpus.add(1, row(number))

        with pytest.raises(OSError, match="full"):
            fill()
        assert corpus.check() == []
        assert corpus.count() >= 2


def test_corpus_is_a_class_for_others() -> None:
    from polygym.search import corpus

    assert corpus.Corpus is Corpus


def test_every_machine_says_for_what_loops_are_planned_there(tmp_path: Path) -> None:
    """Features of a row are those of the machine that measured it, wherever they are computed."""
    wide, narrow = Machine(vector_bits=512, registers=32), Machine(vector_bits=128)
    text = "{ S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, i, k, j] }"
    program = load_program("gemm")
    legal = legal_of(program, str(parse_schedule(text, program.scop)))
    for machine, planned_for in ((HERE, wide), (THERE, narrow)):
        path = tmp_path / f"{machine.key}.sqlite"
        with open_corpus(path, begin=True) as corpus:
            corpus.add_machine(machine, planned_for)
            begun = corpus.begin(visit(0, machine, CorpusCase("gemm", program.parameters)))
            for number in range(5):
                mapping = f"threads=2 tile={8 + number}"
                corpus.add(begun, replace(row(number), schedule=str(legal.schedule),
                                          mapping=mapping, achieved=mapping))  # fmt: skip
    with (
        open_corpus(tmp_path / f"{HERE.key}.sqlite") as corpus,
        open_corpus(tmp_path / f"{THERE.key}.sqlite") as other,
    ):
        merge_corpora(corpus, other)
        assert corpus.planned_for() == {HERE.key: wide, THERE.key: narrow}
        for key, machine in corpus.planned_for().items():
            features = training_samples(case_rows(corpus, key)).samples.features[0]
            own = features_of(program, legal, "threads=2 tile=8", machine).vector
            assert features == pytest.approx(own, rel=1e-6)
        lanes = [
            training_samples(case_rows(corpus, key)).samples.features[0][
                FEATURE_NAMES.index("lanes_main")
            ]
            for key in (HERE.key, THERE.key)
        ]
        assert lanes[0] > lanes[1]


def test_a_machine_that_does_not_say_so_is_damage(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite", HERE, range(5))
    with open_corpus(path) as corpus, corpus.transaction():
        document = json.dumps(asdict(HERE))
        corpus.connection.execute("UPDATE machines SET document = ?", (document,))
        assert corpus.check() == [f"machines: {HERE.key!r} is damaged"]


def test_a_case_says_how_it_is_changed() -> None:
    changed = CorpusCase("gemm", (), "S0: i = 0"), CorpusCase("a\nb", (), "", "C=rename")
    chosen = (
        CorpusCase("m.c", (), function="f x[100]"),
        CorpusCase("m.c", (), "S0: i = 0", "C=rename", "f x[100][n] s=4"),
        CorpusCase("a\nb", (), "", "C=rename", "f"),
    )
    for case in (CASE, *changed, *chosen):
        assert CorpusCase.from_name(case.name, case.parameters) == case
    assert (
        str(CorpusCase("gemm", (("n", 2),), "S0: i = 0", "C=rename"))
        == "gemm(n=2) [S0: i = 0] [C=rename]"
    )
