"""What all tests share: golden files, and a Ctrl-C that works."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests import rotation

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"


# What tests compile stays out of the user's cache; tests of the cache have folders of their own.
os.environ["POLYGYM_CACHE"] = "off"

# The workers of a test run measure side by side; tests of turns have files of their own.
os.environ.setdefault("POLYGYM_TURNS", "off")

# Tests start a thousand processes: each would compile every module that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


# Libraries that would have each of two workers compute with two threads: on matrices as small as
# those of tests a second one costs more than it does, and waits busily for the other worker's.
# Generated code reads none of these; what takes times is left as users have it.
_ONE_THREAD = {"MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # PyTorch's; numpy's

# Allocations from one collection of garbage to the next; with Python's own 700 tests of the code
# generator take a sixteenth more.
_COLLECT_AFTER = (20_000, 20, 50)

# Tests of how compile servers begin and end.
_OF_SERVERS = ("test_forked_timeout", "test_compiler", "test_lifetime", "test_cores")

# Tests of what is given up, which a copy of the process can be.
_OF_COPIES = (
    "test_forked_timeout",
    "test_candidates",
    "test_time_limits",
    "test_program_search",
    "test_explain",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="write how long slow tests take into tests/durations.tsv, from which they rotate",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files from what is found now, instead of comparing",
    )


class DurationRecorder:
    """The seconds of every test that passes, written to ``tests/durations.tsv`` at the end."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test; what fails keeps its duration of before."""
        if report.passed:
            known = self._seconds.get(report.nodeid, 0.0)
            self._seconds[report.nodeid] = known + report.duration

    def pytest_sessionfinish(self) -> None:
        """Write what took long."""
        rotation.write_durations(self._seconds)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare for what is asked for: what takes times, or all that does not.

    What takes times has the libraries' own threads, and docstrings have no such tests. These
    variables are read when the libraries are imported, which is later, and inherited.
    """
    if config.option.record_durations and not hasattr(config, "workerinput"):
        config.pluginmanager.register(DurationRecorder())
    if config.option.update_golden:
        os.environ["POLYGYM_UPDATE_GOLDEN"] = "1"  # read by tests/frontend/c/gcc_results.py
    if config.option.markexpr == "timing":
        config.option.doctestmodules = False
        return
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    from hypothesis import settings

    # Examples have no deadline of their own: other tests compute meanwhile, and pytest has a limit.
    settings.register_profile("polygym", deadline=None)
    settings.load_profile("polygym")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have nobody look for garbage meanwhile: nearly all that importing makes stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without the mark where tests that take times are asked for.

    So they begin without all the imports of the others, which take a quarter of a minute.
    """
    if config.option.markexpr != "timing" or collection_path.suffix != ".py":
        return None
    return None if _may_take_times(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs nightly only, and refuse a test of times in a file without the mark."""
    lost = [item.nodeid for item in items if item.get_closest_marker("timing") is not None]
    lost = [name for name in lost if not _may_take_times(Path(name.partition("::")[0]))]
    if lost:
        raise pytest.UsageError(f"these tests take times, but their files lack the mark: {lost}")
    is_named = any("::" in argument for argument in config.args)
    left_out = [] if is_named else rotation.choose_items(items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    for item in items:
        rotation.limit_examples(item)


def _may_take_times(file: Path) -> bool:
    return "mark.timing" in (ROOT / file).read_text()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have each worker go through tests that stand together, and then take from the others'.

    What tests of a module or a room share (programs that were read, spaces, a worker) is then made
    once, and not once in each worker; and no worker is idle beside the last long test of another.
    """
    if config.getoption("dist") != "load":  # somebody has asked for something else
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_finish() -> None:
    """Have the collector of garbage leave out what stays until the end: all tests and modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


@pytest.fixture(scope="session", autouse=True)
def _larger_caches() -> None:
    """Keep all Scops and dependences of a worker: thousands of tests ask for the same programs."""
    from polygym.frontend.c.source import parser
    from polygym.poly import dependences
    from polygym.poly.spaces import farkas

    parser._MAX_TOKENS *= 16
    for module, name in ((dependences, "_dependences"), (farkas, "_conditions")):
        setattr(module, name, lru_cache(maxsize=1024)(getattr(module, name).__wrapped__))


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
    from tests.shared_servers import lent  # later than the variables that libraries read

    with lent():
        yield


@pytest.fixture(autouse=True)
def _nothing_is_copied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Do work with a time limit in this process, but where it is the limits that are tested."""
    if request.path.stem in _OF_COPIES:
        yield
        return
    from tests.in_process_limits import without_copies

    with without_copies():
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with ``tests/golden/NAME``."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if not path.exists():
            pytest.fail(f"no golden file {path}: write it with --update-golden and read it")
        assert text == path.read_text(), f"differs from {path}; see --update-golden"

    return compare
