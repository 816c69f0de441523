"""Times on the disk: of this machine and version alone, one by one, damaged files refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.tc import measured_times as module
from polygym.tc.measured_times import MeasuredTimes


def test_times_are_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "operators.sqlite"
    first = MeasuredTimes(path, 2)
    first.put("relu 8", 1e-6)
    first.put("conv", None)
    again = MeasuredTimes(path, 2)
    assert (again.get("relu 8"), len(again)) == (1e-6, 2)
    assert "conv" in again
    assert again.get("conv") is None
    assert "tanh 8" not in again


def test_threads_machines_and_versions_are_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "operators.sqlite"
    MeasuredTimes(path, 1).put("relu 8", 1e-6)
    assert "relu 8" not in MeasuredTimes(path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(module, "compiler_fingerprint", lambda: "another version")
        assert "relu 8" not in MeasuredTimes(path, 1)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE times SET machine = 'another'")
    assert "relu 8" not in MeasuredTimes(path, 1)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "operators.sqlite"
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises(InputError, match=r"operators\.sqlite"):
        MeasuredTimes(path, 1)


def test_without_a_path_nothing_is_written(tmp_path: Path) -> None:
    cost_store = MeasuredTimes(None, 1)
    cost_store.put("relu 8", 1e-6)
    assert cost_store.get("relu 8") == 1e-6
    assert list(tmp_path.iterdir()) == []
