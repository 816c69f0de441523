"""The store: one transaction an outcome, one setting, damage that is named."""

import errno
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.autoschedule.program_recipes import DefaultSource, ProgramRecipe
from polygym.errors import InputError
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.sweep import reader
from polygym.search.sweep.monitoring import load_subject
from polygym.search.sweep.rows import (
    ISL,
    BackgroundLoadRow,
    Confirmation,
    EpisodeRow,
    ProgramVariant,
    SweepRun,
)
from polygym.search.sweep.session import lock_folder
from polygym.search.sweep.statistics import summaries
from polygym.search.sweep.store import STORE_FILE, SweepStore, create_or_open, open_store
from tests.search.sweep.fakes import SETTING, fill, timing


def test_what_was_written_is_read(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt", "gemm"), episodes=5)
    contents = reader.read_sweep(tmp_path)
    assert contents.setting == SETTING
    assert [program_row.name for program_row in contents.kernels] == ["mvt", "gemm"]
    assert len(contents.episodes) == len(contents.outcomes) == 20
    assert {reference_timing.name for reference_timing in contents.references} == {ISL}
    first = next(outcome for outcome in contents.outcomes if outcome.timing.is_ok)
    assert first.timing.speedup == pytest.approx(1.0 / first.timing.seconds)
    assert {confirmation.outcome for confirmation in contents.confirmations} <= {
        schedule_outcome.number for schedule_outcome in contents.outcomes
    }


def test_another_setting_is_refused_with_what_differs(tmp_path: Path) -> None:
    fill(tmp_path, episodes=2)
    before = (tmp_path / STORE_FILE).read_bytes()
    slower = replace(SETTING, evaluation=EvaluationOptions(timeout_factor=3.0))
    for other, said in [
        (replace(SETTING, seed=4), "seed: 0 before, 4 now"),
        (replace(SETTING, evaluation=EvaluationOptions(threads=2)), "threads: 1 before, 2 now"),
        (replace(SETTING, dataset=Dataset.LARGE), "dataset: small before, large now"),
        (slower, "timeout_factor: 10.0 before, 3.0 now"),
    ]:
        with pytest.raises(InputError, match="another one") as refusal:
            create_or_open(tmp_path, other)
        assert said in str(refusal.value)
    assert (tmp_path / STORE_FILE).read_bytes() == before
    create_or_open(tmp_path, SETTING).close()


def test_an_episode_is_recorded_once(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("mvt",))
        number = store.add_measured(EpisodeRow("mvt", "uniform", 0, None), "{}", timing(2.0))
        store.add_episode(EpisodeRow("mvt", "bias_coeff_0", 0, number))
        with pytest.raises(InputError, match="UNIQUE"):
            store.add_measured(EpisodeRow("mvt", "uniform", 1, None), "{}", timing(3.0))
        with pytest.raises(InputError, match="UNIQUE"):
            store.add_episode(EpisodeRow("mvt", "uniform", 0, number))
        # Both were given up as a whole.
        assert len(reader.episodes(store.connection)) == 2
        assert [outcome.timing.speedup for outcome in reader.outcomes(store.connection)] == [2.0]


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("mvt",))
        store.connection.execute("BEGIN IMMEDIATE")
        store.connection.execute("UPDATE kernels SET seconds = 5")
        assert [program_row.seconds for program_row in reader.read_sweep(tmp_path).kernels] == [0.0]
        store.connection.execute("COMMIT")
        assert [row.seconds for row in reader.read_sweep(tmp_path).kernels] == [5.0]


def test_another_text_of_a_program_is_refused(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("a.c",))
        store.set_digest("a.c", "one")
        store.set_digest("a.c", "one")
        with pytest.raises(InputError, match=r"a\.c: expected the text"):
            store.set_digest("a.c", "two")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"", "no such table"),
        (lambda data: b"not a database at all" * 100, "not a database"),
        (lambda data: data[: len(data) // 2], "malformed|setting|rows"),
        (lambda data: data[:4096] + bytes(len(data) - 4096), "malformed|setting|rows"),
    ],
)
def test_a_damaged_store_says_so(tmp_path: Path, damage: object, said: str) -> None:
    fill(tmp_path, episodes=30)
    path = tmp_path / STORE_FILE
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputError, match=said) as refusal:
        reader.read_sweep(tmp_path)
    assert str(path) in str(refusal.value)
    assert "expected" in str(refusal.value)


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        reader.read_sweep(tmp_path)
    sqlite3.connect(tmp_path / STORE_FILE).execute("CREATE TABLE other (x)").connection.close()
    with pytest.raises(InputError, match="no such table: setting"):
        open_store(tmp_path / STORE_FILE)


def test_a_row_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    fill(tmp_path, episodes=1)
    with open_store(tmp_path / STORE_FILE) as store:
        store.connection.execute("UPDATE outcomes SET status = 'splendid'")
    with pytest.raises(InputError, match="splendid"):
        reader.read_sweep(tmp_path)


def test_one_sweep_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.search.sweep.session._RETRY_SECONDS", 0.1)
    with lock_folder(tmp_path):
        with pytest.raises(InputError, match="another sweep at work"), lock_folder(tmp_path):
            pass
    with lock_folder(tmp_path) as descriptor:
        assert descriptor > 2


def fill_up(store: SweepStore) -> None:
    for index in range(100, 10_000):
        episode = EpisodeRow("mvt", "uniform", index, None)
        store.add_measured(episode, f"{index} " * 100, timing(2.0))


def test_a_full_disk_is_called_so(tmp_path: Path) -> None:
    """SQLite rolls back by itself then; what it would say to a second attempt hides why."""
    fill(tmp_path, ("mvt",), episodes=5)
    with open_store(tmp_path / STORE_FILE) as store:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OSError, match="full") as trouble:
            fill_up(store)
        assert trouble.value.errno == errno.ENOSPC
        assert not store.connection.in_transaction
        store.connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        store.set_error("mvt", "the disk was full")  # and with room it goes on
        assert reader.kernels(store.connection)[0].error == "the disk was full"


def test_confirmations_are_of_one_go(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt",), episodes=8, confirm=3)
    with open_store(tmp_path / STORE_FILE) as store:
        before = reader.confirmations(store.connection, "mvt")
        others = {outcome.number for outcome in reader.outcomes(store.connection)}
        other = min(others - {confirmation.outcome for confirmation in before})
        again = Confirmation(other, "mvt", before[0].dataset, timing(3.0))
        store.set_confirmations([again], [])
        assert reader.confirmations(store.connection, "mvt") == (again,)


DISTURBANCE = BackgroundLoadRow("mvt", "small", 5.0, 60.0, 0.8, 0.1)
RUN = SweepRun(1.0, "0.1", "A processor", 2, "Linux", (("gcc", "gcc 12"),))


def test_runs_on_another_machine_are_refused(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        assert store.begin_run(RUN) == ""
        assert store.begin_run(replace(RUN, moment=2.0)) == ""
        assert store.begin_run(replace(RUN, moment=3.0, version="0.2")) == "0.1"
        for other in (replace(RUN, cores=4), replace(RUN, processor="Another")):
            with pytest.raises(InputError, match="A processor with 2 cores"):
                store.begin_run(other)
        sweep_runs = reader.read_sweep(store.path.parent).runs
    assert [sweep_run.moment for sweep_run in sweep_runs] == [1.0, 2.0, 3.0]
    assert sweep_runs[0] == RUN


def test_a_store_that_knows_no_runs_is_read(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt",), episodes=2)
    with open_store(tmp_path / STORE_FILE) as store:
        store.connection.execute("DROP TABLE runs")
        store.connection.execute("DROP TABLE disturbances")
    contents = reader.read_sweep(tmp_path)
    assert (contents.runs, contents.background_loads) == ((), ())
    with open_store(tmp_path / STORE_FILE) as store:
        store.add_background_load(DISTURBANCE)
    assert reader.read_sweep(tmp_path).background_loads == (DISTURBANCE,)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_store_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt",), episodes=2)
    before = reader.read_sweep(tmp_path)
    tmp_path.chmod(0o555)
    try:
        assert reader.read_sweep(tmp_path) == before
    finally:
        tmp_path.chmod(0o755)


def test_what_a_killed_beginning_has_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / f".{STORE_FILE}.999999999.new").write_text("half a store")
    create_or_open(tmp_path, SETTING).close()
    assert [path.name for path in tmp_path.iterdir()] == [STORE_FILE]


def test_programs_that_are_changed_are_other_programs(tmp_path: Path) -> None:
    """How they are changed is found once, kept, and part of the setting."""
    changed = replace(SETTING, recipe=ProgramRecipe(storage=DefaultSource.AUTO))
    written = tmp_path / "as-written"
    written.mkdir()
    create_or_open(written, SETTING).close()
    with pytest.raises(InputError, match="storage: keep before, auto now"):
        create_or_open(written, changed)
    with create_or_open(tmp_path, changed) as store:
        store.add_kernels(["symm", "mvt"])
        for kernel, plan in (("symm", "S0:temp2=expand:i,j contract"), ("mvt", "keep")):
            for dataset in (SETTING.search_dataset, SETTING.dataset):
                subject = load_subject(store, changed, kernel, dataset)
                assert str(subject.program.storage) == plan
                assert subject.source.dataset is dataset
        with pytest.raises(InputError, match="storage keep; sweep it into another folder"):
            store.set_variant(ProgramVariant("symm", "", "keep"))
    with pytest.raises(InputError, match="storage: auto before, keep now"):
        create_or_open(tmp_path, SETTING)
    contents = reader.read_sweep(tmp_path)
    assert contents.setting == changed
    symm, mvt = summaries(contents)
    assert symm.to_json()["storage"] == "S0:temp2=expand:i,j contract"
    assert str(mvt.variant) == "split none, storage keep"


def test_what_is_kept_of_a_change_counts(tmp_path: Path) -> None:
    """Another version might find another plan; schedules are of the program that there was."""
    changed = replace(SETTING, recipe=ProgramRecipe(storage=DefaultSource.AUTO))
    with create_or_open(tmp_path, changed) as store:
        store.add_kernels(["symm"])
        store.set_variant(ProgramVariant("symm", "", "temp2=rename"))
        subject = load_subject(store, changed, "symm", SETTING.dataset)
        assert str(subject.program.storage) == "temp2=rename"
