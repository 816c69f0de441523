"""The store: one transaction an outcome, one setting, damage that is named."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.errors import InputError
from polygym.sweep import reading
from polygym.sweep.rows import ISL, Episode
from polygym.sweep.store import STORE, claimed, create_or_open, open_store
from tests.sweep.pretending import SETTING, fill, timing


def test_what_was_written_is_read(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt", "gemm"), episodes=5)
    contents = reading.read(tmp_path)
    assert contents.setting == replace(SETTING, mapping=SETTING.measuring.mapping)
    assert [one.name for one in contents.kernels] == ["mvt", "gemm"]
    assert len(contents.episodes) == len(contents.outcomes) == 20
    assert {one.name for one in contents.references} == {ISL}
    first = next(one for one in contents.outcomes if one.timing.is_ok)
    assert first.timing.speedup == pytest.approx(1.0 / first.timing.seconds)
    assert {one.outcome for one in contents.confirmations} <= {
        one.number for one in contents.outcomes
    }


def test_another_setting_is_refused_with_what_differs(tmp_path: Path) -> None:
    fill(tmp_path, episodes=2)
    before = (tmp_path / STORE).read_bytes()
    for other, said in [
        (replace(SETTING, seed=4), "seed: 0 before, 4 now"),
        (replace(SETTING, threads=2), "threads: 1 before, 2 now"),
        (replace(SETTING, dataset=Dataset.LARGE), "dataset: small before, large now"),
        (replace(SETTING, timeout_factor=3.0), "timeout_factor: 10.0 before, 3.0 now"),
    ]:
        with pytest.raises(InputError, match="another one") as refusal:
            create_or_open(tmp_path, other)
        assert said in str(refusal.value)
    assert (tmp_path / STORE).read_bytes() == before
    create_or_open(tmp_path, SETTING).close()


def test_an_episode_is_recorded_once(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("mvt",))
        number = store.add_measured(Episode("mvt", "uniform", 0, None), "{}", timing(2.0))
        store.add_episode(Episode("mvt", "bias_coeff_0", 0, number))
        with pytest.raises(InputError, match="UNIQUE"):
            store.add_measured(Episode("mvt", "uniform", 1, None), "{}", timing(3.0))
        with pytest.raises(InputError, match="UNIQUE"):
            store.add_episode(Episode("mvt", "uniform", 0, number))
        # Both were given up as a whole.
        assert len(reading.episodes(store.connection)) == 2
        assert [one.timing.speedup for one in reading.outcomes(store.connection)] == [2.0]


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("mvt",))
        store.connection.execute("BEGIN IMMEDIATE")
        store.connection.execute("UPDATE kernels SET seconds = 5")
        assert [one.seconds for one in reading.read(tmp_path).kernels] == [0.0]
        store.connection.execute("COMMIT")
        assert [one.seconds for one in reading.read(tmp_path).kernels] == [5.0]


def test_another_text_of_a_program_is_refused(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("a.c",))
        store.keep_digest("a.c", "one")
        store.keep_digest("a.c", "one")
        with pytest.raises(InputError, match=r"a\.c: expected the text"):
            store.keep_digest("a.c", "two")


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
    path = tmp_path / STORE
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputError, match=said) as refusal:
        reading.read(tmp_path)
    assert str(path) in str(refusal.value)
    assert "expected" in str(refusal.value)


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        reading.read(tmp_path)
    sqlite3.connect(tmp_path / STORE).execute("CREATE TABLE other (x)").connection.close()
    with pytest.raises(InputError, match="no such table: setting"):
        open_store(tmp_path / STORE)


def test_a_row_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    fill(tmp_path, episodes=1)
    with open_store(tmp_path / STORE) as store:
        store.connection.execute("UPDATE outcomes SET status = 'splendid'")
    with pytest.raises(InputError, match="splendid"):
        reading.read(tmp_path)


def test_one_sweep_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.sweep.store._LINGERING_SECONDS", 0.1)
    with claimed(tmp_path):
        with pytest.raises(InputError, match="another sweep at work"), claimed(tmp_path):
            pass
    with claimed(tmp_path) as descriptor:
        assert descriptor > 2
