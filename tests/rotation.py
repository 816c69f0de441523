"""Rotation of random cases: a fixed sixth runs by default, all of them in ``make nightly``.

A case is chosen by a hash of its name, so that every run of the tests chooses the same ones and
new cases leave the choice of the old ones nearly unchanged. Three kinds of tests rotate:

- parametrised tests with the mark ``rotates`` (the mark stands on the test, and a hook in
  ``tests/conftest.py`` chooses among all combinations of its arguments);
- lists of cases within a test or in a ``parametrize``: ``rotating(cases)``;
- tests with hypothesis: the same hook gives them a sixth of their examples, at least 20.

``POLYGYM_NIGHTLY=1`` runs the whole, and tests with the mark ``nightly`` too. Tests that a command
line names (``FILE::TEST``) run with all of their cases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import TypeVar

import pytest

NIGHTLY = os.environ.get("POLYGYM_NIGHTLY") == "1"

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
    return left_out


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
