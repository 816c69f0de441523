"""Fixtures of tests with a stand-in for the driver."""

from pathlib import Path

import pytest

from tests.runtime.device.fake_driver import FakeDriver, new_driver


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fake_cuda")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, library_folder: Path, tmp_path: Path) -> FakeDriver:
    return new_driver(monkeypatch, library_folder, tmp_path / "calls")
