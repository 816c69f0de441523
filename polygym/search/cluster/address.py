"""Where the work is done: the word behind ``--on``.

``ray`` is the cluster that the environment names (``RAY_ADDRESS``), or one of this machine alone;
``ray://HOST:PORT`` the one whose head listens there, which this machine has joined, and
``ray://auto`` the one that this machine belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.errors import InputError
from polygym.pickles import pickled_by_name

_WORD = "ray"


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Address:
    """A cluster; ``text`` is the address of its head, "" for the one that Ray finds."""

    text: str = ""

    def __str__(self) -> str:
        """Return the word behind ``--on``."""
        return f"{_WORD}://{self.text}" if self.text else _WORD


def parse_address(word: str) -> Address:
    """Return the cluster that a word names.

    >>> str(parse_address("ray://10.0.0.1:6379")), parse_address("ray")
    ('ray://10.0.0.1:6379', Address(text=''))

    Raises:
        InputError: it names none.
    """
    name, colon, text = word.strip().partition("://")
    if name != _WORD or (colon and not text):
        raise InputError(f"--on: expected ray, ray://HOST:PORT or ray://auto, found {word!r}")
    return Address(text)
