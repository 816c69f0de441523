"""Rotation: a fixed part of random cases and slow tests runs by default, all in ``make nightly``.

A case is chosen by a hash of its name, so that every run of the tests chooses the same ones and
new cases leave the choice of the old ones nearly unchanged. A sixth of these runs:

- parametrised tests with the mark ``rotates`` (the mark stands on the test, and a hook in
  ``tests/conftest.py`` chooses among all combinations of its arguments);
- lists of cases within a test or in a ``parametrize``: ``rotating(cases)``;
- tests with hypothesis: the same hook gives them a sixth of their examples, at least 20.

Tests that are slow share the time instead: ``tests/durations.tsv`` has the seconds of every test
that took a quarter of a second or more when durations were last recorded (``--record-durations``),
and a test of ``d`` seconds runs with a chance of ``SLOW_SHARE / d``. So each costs the default run
``SLOW_SHARE`` seconds on average, however slow it is. A new test, of which no duration is recorded,
runs. Tests with the mark ``always`` run whatever they take: what a new user tries first.

``POLYGYM_NIGHTLY=1`` runs the whole, and tests with the mark ``nightly`` too. Tests that a command
line names (``FILE::TEST``) run with all of their cases.
"""

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import pytest

NIGHTLY = os.environ.get("POLYGYM_NIGHTLY") == "1"

DURATIONS = Path(__file__).parent / "durations.tsv"
SLOW_SHARE = 0.12  # of a second; the default run takes under ten minutes with it
RECORDED_FROM = 0.25  # seconds

_PART = 6
_FEWEST_EXAMPLES = 20
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

Case = TypeVar("Case")


def rotating(cases: Iterable[Case]) -> list[Case]:
    """Return a fixed sixth of the cases in their order, at least one; nightly all of them."""
    listed = list(cases)
    if NIGHTLY:
        return listed
    by_hash = sorted(range(len(listed)), key=lambda index: _hash(_case_name(listed[index])))
    return [listed[index] for index in sorted(by_hash[: _part(len(listed))])]


def example_count(count: int) -> int:
    """Return how many of a number of hypothesis examples run: a sixth, but at least 20.

    >>> [example_count(count) for count in (12, 60, 300)] if not NIGHTLY else [12, 20, 50]
    [12, 20, 50]
    """
    return count if NIGHTLY else max(_part(count), min(count, _FEWEST_EXAMPLES))


def choose_items(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that do not run today: nightly ones, and five sixths of rotating ones."""
    if NIGHTLY:
        return []
    left_out = [item for item in items if item.get_closest_marker("nightly") is not None]
    rotating_items: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("rotates") is not None:
            rotating_items.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in rotating_items.values():
        group.sort(key=lambda item: _hash(item.nodeid))
        left_out += group[_part(len(group)) :]
    gone, seconds = {item.nodeid for item in left_out}, read_durations()
    slow = [
        item
        for item in items
        if item.nodeid in seconds
        and item.nodeid not in gone
        and item.get_closest_marker("always") is None
    ]
    return left_out + [item for item in slow if not is_its_turn(item.nodeid, seconds[item.nodeid])]


def is_its_turn(name: str, seconds: float) -> bool:
    """Return whether a test that takes so long belongs to the default run."""
    place = int.from_bytes(_hash(name)[:8], "big") / 2**64  # from 0 to 1, even
    return place * seconds < SLOW_SHARE


def read_durations(path: Path = DURATIONS) -> dict[str, float]:
    """Return the recorded seconds of tests by their names."""
    rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: float(seconds) for seconds, name in (row.split("\t", 1) for row in rows)}


def write_durations(seconds: Mapping[str, float], path: Path = DURATIONS) -> None:
    """Replace the seconds of tests that ran, and forget those that are fast now."""
    merged = read_durations(path) | dict(seconds)
    kept = sorted((name, took) for name, took in merged.items() if took >= RECORDED_FROM)
    path.write_text("".join(f"{took:.1f}\t{name}\n" for name, took in kept), encoding="utf-8")


def limit_examples(item: pytest.Item) -> None:
    """Give a test with hypothesis a sixth of its examples, always the same ones."""
    function = getattr(item, "obj", None)
    if NIGHTLY or not getattr(function, "is_hypothesis_test", False):
        return
    from hypothesis import settings

    own = getattr(function, "_hypothesis_internal_use_settings", None) or settings.default
    if own.derandomize:  # a function with many parameters is visited once for each of them
        return
    function._hypothesis_internal_use_settings = settings(
        own, max_examples=example_count(own.max_examples), derandomize=True, database=None
    )


def _part(count: int) -> int:
    return -(-count // _PART)


def _hash(name: str) -> bytes:
    return sha256(name.encode()).digest()


def _case_name(case: object) -> str:
    """Return what a case is called: its id, or its text without addresses."""
    if isinstance(getattr(case, "id", None), str):  # a pytest.param
        return case.id  # type: ignore[attr-defined]
    return _ADDRESS.sub("", repr(case))
