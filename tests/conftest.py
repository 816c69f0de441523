"""What all tests share: golden files, and a Ctrl-C that works."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files from what is found now, instead of comparing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT interrupt, here and in what the tests start.

    A shell that starts a job in the background makes it ignore SIGINT, children inherit that, and
    Python then leaves it ignored: the tests of Ctrl-C would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
