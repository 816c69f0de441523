"""Transport of a fleet's messages: a narrow protocol.

Ray is what carries them (:mod:`polygym.search.runner.ray.ray_transport`); tests have another one
without processes. A *site* is a machine that offers a measuring slot. Hiring a site gives a
*worker*; calling a worker gives a *call*, a stream of texts of JSON. Nothing else crosses the
network: no objects of polygym's, no code.

Address of a cluster: the value of ``--cluster``.

``ray`` is the cluster that the environment names (``RAY_ADDRESS``), or one of this machine alone;
``ray://HOST:PORT`` the one whose head listens there, which this machine has joined, and
``ray://auto`` the one that this machine belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

Worker: TypeAlias = Any
"""What a transport hands out for a hired site."""

Call: TypeAlias = Any
"""What a transport hands out for a call that is under way; it can be a key of a dictionary."""


class WorkerLostError(Exception):
    """The worker does not answer any more: its process, its node or the network is gone."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class MeasuringSite:
    """A machine of the cluster that offers a measuring slot."""

    name: str
    host: str
    cpus: float = 0.0


class Transport(Protocol):
    """Carries messages between the driver and the workers."""

    def sites(self) -> tuple[MeasuringSite, ...]:
        """Return the sites that there are now."""

    def hire(self, site: MeasuringSite) -> Worker:
        """Return a worker of a site, which may still have to start.

        Raises:
            LostError: there is none now.
        """

    def call(self, worker: Worker, method: str, text: str) -> Call:
        """Have a worker do something; what it says comes in by and by."""

    def ready(self, calls: Sequence[Call], seconds: float) -> list[Call]:
        """Return the calls of which something has come in, waiting for one of them so long."""

    def take(self, call: Call) -> str | None:
        """Return the next text of a call that is ready, None at its end.

        Raises:
            LostError: the worker is gone.
        """

    def dismiss(self, worker: Worker) -> None:
        """End a worker at once."""

    def leave(self, worker: Worker) -> None:
        """Let a worker go that nothing is wrong with: it ends, unless it is another driver's."""

    def close(self) -> None:
        """Let go of everything; the cluster stays."""


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
