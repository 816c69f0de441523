"""Placeholder."""

from collections.abc import Iterator
from typing import Any


def product_study() -> Iterator[dict[str, Any]]:
    yield from ()
