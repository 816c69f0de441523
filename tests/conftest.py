"""What all tests share: golden files, and a Ctrl-C that works."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.idle_servers import lent

GOLDEN = Path(__file__).parent / "golden"


# What tests compile stays out of the user's cache; tests of the cache have folders of their own.
os.environ["POLYGYM_CACHE"] = "off"


# Tests of how compile servers begin and end.
_OF_SERVERS = ("test_apart", "test_compiler", "test_lifetime", "test_planning")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files from what is found now, instead of comparing",
    )


@pytest.fixture(autouse=True)
def _interrupts_interrupt() -> Iterator[None]:
    """Let SIGINT interrupt each test and what it starts, which inherits that it is ignored.

    The command ignores it once it has its answer, also where a test runs it in its own process, and
    a shell has what runs in the background ignore it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _servers_are_lent(request: pytest.FixtureRequest) -> Iterator[None]:
    """Lend compile servers from test to test, but where it is they that are tested."""
    if request.path.parent.name == "worker" or request.path.stem in _OF_SERVERS:
        yield
        return
    with lent():
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with ``tests/golden/NAME``."""

    def compare(name: str, found: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(found)
            return
        if not path.exists():
            pytest.fail(f"no golden file {path}: write it with --update-golden and read it")
        assert found == path.read_text(), f"differs from {path}; see --update-golden"

    return compare
