"""The weights of the learned policy: two networks of scores in one file, and what they are.

``schedules`` looks at a schedule's rows alone (:mod:`polygym.cost.rows`) and puts schedules in
order that run under polygym's default mapping; ``candidates`` looks at the loops that are planned
for a schedule and a mapping (:mod:`polygym.cost.candidate`). The file is NumPy's archive of plain
arrays (:mod:`polygym.cost.archives`), float16 on the disk, with a check sum in its header.
``caution`` and ``least`` say when the policy departs from what it would do anyway
(:mod:`polygym.episodes.opinions`), ``least_of_mappings`` when it answers a question about the
mapping, inf if never; they were chosen with the weights, on programs that were left out of their
training.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from math import inf, isinf
from pathlib import Path
from typing import Any

import numpy as np

from polygym.cost.archives import UNREADABLE, packed, sum_of, unpacked
from polygym.cost.candidate import NAMES
from polygym.cost.model import VERSION, Card
from polygym.cost.network import Network
from polygym.cost.rows import ROW_NAMES
from polygym.cost.saved import digest_of
from polygym.errors import InputError
from polygym.files import write_atomically

PATH = Path(__file__).parent / "data" / "learned.npz"
"""The weights that come with polygym."""

_FORMAT = "polygym learned policy"


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Both networks, how sure the policy wants to be, and the card."""

    schedules: Network
    candidates: Network
    caution: float
    least: float
    card: Card
    least_of_mappings: float = inf

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        arrays: dict[str, Any] = {}
        for part, network in (("schedules", self.schedules), ("candidates", self.candidates)):
            for name, array in network.arrays(part).items():
                # Means of logarithms may be large, and deviations small.
                is_weight = name.endswith(("/weights", "/biases"))
                arrays[name] = array.astype(np.float16) if is_weight else array
        header = {
            "format": _FORMAT,
            "version": VERSION,
            "columns": _columns(),
            "caution": self.caution,
            "least": _finite(self.least),
            "least_of_mappings": _finite(self.least_of_mappings),
            "card": asdict(self.card),
            "sum": sum_of(arrays),
        }
        write_atomically(path, packed(header, arrays))

    @staticmethod
    def load(path: Path) -> Weights:
        """Read a file.

        Raises:
            InputError: it has no weights, or some of other features.
        """
        try:
            header, arrays = unpacked(path)
            if header["format"] != _FORMAT:
                raise ValueError("another format")
            if header["version"] != VERSION or header["columns"] != _columns():
                raise InputError(
                    f"{path}: expected weights for the features of version {VERSION}, found some "
                    f"of version {header['version']!r}; they have to be trained again"
                )
            if header["sum"] != sum_of(arrays):
                raise ValueError("numbers that are not as they were written")
            return Weights(
                Network.of_arrays("schedules", ROW_NAMES, arrays),
                Network.of_arrays("candidates", NAMES, arrays),
                float(header["caution"]),
                _number(header["least"]),
                Card.from_json(header["card"]),
                _number(header["least_of_mappings"]),
            )
        except UNREADABLE as error:
            raise InputError(f"{path}: expected weights of a policy, found: {error}") from None


def _finite(least: float) -> float | None:
    """Return a number as JSON has it, None where no promise is enough."""
    return None if isinf(least) else least


def _number(least: float | None) -> float:
    return inf if least is None else float(least)


@cache
def shipped() -> Weights:
    """Return the weights that come with polygym.

    Raises:
        InputError: this package has none, or they are damaged.
    """
    return Weights.load(PATH)


def expect_weights() -> None:
    """Refuse to go on without weights.

    Raises:
        InputError: this package has none.
    """
    if not PATH.exists():
        raise InputError("expected weights that come with polygym, found none in this package")


@cache
def digest() -> str:
    """Return a word that is another one for other weights; empty in a package without any."""
    return digest_of(PATH) if PATH.exists() else ""


def _columns() -> str:
    """Return a word that is another one for other features."""
    return hashlib.sha256("\0".join((*NAMES, "", *ROW_NAMES)).encode()).hexdigest()[:12]
