"""Value functions in files: the weights of a network, and a card that says what they are.

A file is NumPy's archive of plain arrays (:mod:`polygym.cost.models.array_archives`) with a check
sum in its header, and the kinds of nodes that the network knows: weights for others are refused. A
checkpoint of a training is such a file with what its optimiser holds beside the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polygym.cost.models.array_archives import (
    ARCHIVE_ERRORS,
    arrays_checksum,
    pack_archive,
    unpack_archive,
)
from polygym.cost.models.cost_model import ModelCard
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.terms.learning.graph_encoding import KINDS
from polygym.terms.learning.numpy_network import VALUE_SCALE, NetworkValue, NumpyNetwork

PATH = Path(__file__).parent / "data" / "arithmetic.npz"
"""The weights that come with polygym."""

_FORMAT = "polygym value of terms"
_VERSION = 1
_WEIGHTS = "weights/"

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class ValueWeights:
    """A network, its card, and of a checkpoint more arrays by their names."""

    network: NumpyNetwork
    card: ModelCard
    extra_arrays: Arrays = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        own = {f"{_WEIGHTS}{name}": floats for name, floats in self.network.weights.items()}
        arrays = {**own, **self.extra_arrays}
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "kinds": list(KINDS),
            "rounds": self.network.rounds,
            "card": asdict(self.card),
            "sum": arrays_checksum(arrays),
        }
        write_atomically(path, pack_archive(header, arrays))

    @staticmethod
    def load(path: Path) -> ValueWeights:
        """Read a file.

        Raises:
            InputError: it has no weights, or some of other kinds of nodes.
        """
        try:
            header, arrays = unpack_archive(path)
            if header["format"] != _FORMAT or header["version"] != _VERSION:
                raise ValueError("another format")
            if header["sum"] != arrays_checksum(arrays):
                raise ValueError("numbers that are not as they were written")
            if header["kinds"] != list(KINDS):
                raise InputError(
                    f"{path}: expected weights for the {len(KINDS)} kinds of nodes that there are, "
                    "found some for others; they have to be trained again"
                )
            weights = {
                name.removeprefix(_WEIGHTS): array
                for name, array in arrays.items()
                if name.startswith(_WEIGHTS)
            }
            more = {name: array for name, array in arrays.items() if not name.startswith(_WEIGHTS)}
            network = NumpyNetwork(int(header["rounds"]), weights)
            return ValueWeights(network, ModelCard.from_json(header["card"]), more)
        except ARCHIVE_ERRORS as error:
            raise InputError(
                f"{path}: expected weights of a value function, found: {error}"
            ) from None


@cache
def shipped_weights() -> ValueWeights:
    """Return the weights that come with polygym.

    Raises:
        InputError: this package has none, or they are damaged.
    """
    return ValueWeights.load(PATH)


@cache
def shipped_value() -> NetworkValue:
    """Return the value function of the weights that come with polygym, as searches trust it."""
    return NetworkValue(shipped_weights().network, scale=VALUE_SCALE)
