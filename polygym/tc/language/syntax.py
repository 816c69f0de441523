"""Refuses pickles of version 0.1: what they hold has other fields now.

The language itself is :mod:`polygym.compiler.frontend.tc`.
"""

from __future__ import annotations

from typing import Any

from polygym.errors import InputError


def __getattr__(name: str) -> Any:
    """Say why there is no class of that name; others ask for names that are nobody's."""
    if not name[:1].isupper():
        raise AttributeError(name)
    raise InputError(
        "a pickled comprehension: expected one of this version of polygym, found one of version "
        "0.1: define it again from its text"
    )
