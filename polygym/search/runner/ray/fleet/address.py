"""Address of a cluster: the value of ``--cluster``.

``ray`` is the cluster that the environment names (``RAY_ADDRESS``), or one of this machine alone;
``ray://HOST:PORT`` the one whose head listens there, which this machine has joined, and
``ray://auto`` the one that this machine belongs to.
"""

from dataclasses import dataclass

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

_SCHEME = "ray"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """A cluster; ``text`` is the address of its head, "" for the one that Ray finds."""

    text: str = ""

    def __str__(self) -> str:
        """Return the value of ``--cluster``."""
        return f"{_SCHEME}://{self.text}" if self.text else _SCHEME


def parse_address(word: str) -> ClusterAddress:
    """Return the cluster that a word names.

    >>> str(parse_address("ray://10.0.0.1:6379")), parse_address("ray")
    ('ray://10.0.0.1:6379', ClusterAddress(text=''))

    Raises:
        InputError: it names none.
    """
    name, colon, text = word.strip().partition("://")
    if name != _SCHEME or (colon and not text):
        raise InputError(f"--cluster: expected ray, ray://HOST:PORT or ray://auto, found {word!r}")
    return ClusterAddress(text)
