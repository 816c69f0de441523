"""Value functions in files: the weights of a network, and a card that says what they are.

A file is NumPy's archive of plain arrays (:mod:`polygym.cost.models.array_archives`) with a check
sum in its header, and the kinds of nodes that the network knows: weights for others are refused. A
checkpoint of a training is such a file with what its optimiser holds beside the weights.

:func:`value_function_named` finds a value function by name. ``counted`` is
:class:`~polygym.terms.fusion_value.ReuseValue`, ``learned`` the network that ships with polygym,
trained on the paper's arithmetic, ``both`` the maximum of the two; other names are files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polygym.cost.models import array_archives
from polygym.cost.models.cost_model import ModelCard
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.rewrite.term import Term
from polygym.search.planning import ValueFunction
from polygym.search.planning.protocol import Values
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.learning.graph_encoding import KINDS
from polygym.terms.learning.numpy_network import VALUE_SCALE, NetworkValue, NumpyNetwork
from polygym.terms.rules.rule_types import TermRule

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
            "sum": array_archives.arrays_checksum(arrays),
        }
        write_atomically(path, array_archives.pack_archive(header, arrays))

    @staticmethod
    def load(path: Path) -> ValueWeights:
        """Read a file.

        Raises:
            InputError: it has no weights, or some of other kinds of nodes.
        """
        try:
            header, arrays = array_archives.unpack_archive(path)
            if header["format"] != _FORMAT or header["version"] != _VERSION:
                raise ValueError("another format")
            if header["sum"] != array_archives.arrays_checksum(arrays):
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
        except array_archives.ARCHIVE_ERRORS as error:
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


VALUE_FUNCTIONS = {
    "counted": "what binding and fusing loops would save",
    "learned": "the network that comes with polygym",
    "both": "of these two the one that expects more",
}


class MaximumValue:
    """Expects of each state what that one of several value functions does that expects most.

    Each sees something that is to be gained and may miss what another one sees: what is counted by
    hand knows of binding for certain, and of arithmetic nothing; a network knows of both roughly.
    """

    def __init__(self, *values: ValueFunction[Term]) -> None:
        """Take the value functions, at least one."""
        self._values = values

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        result: Values = np.max([value(states, horizon) for value in self._values], axis=0)
        return result


def value_function_named(name: str, rules: Sequence[TermRule] = ()) -> ValueFunction[Term]:
    """Return the value function of a name or a file; ``rules`` are those that will be applied.

    Raises:
        InputError: there is none.
    """
    if name == "counted":
        return ReuseValue(rules=rules)
    if name == "learned":
        return shipped_value()
    if name == "both":
        return MaximumValue(shipped_value(), ReuseValue(rules=rules))
    if not Path(name).is_file():
        raise InputError(
            f"a policy: expected {', '.join(VALUE_FUNCTIONS)}, or a file of weights, found {name!r}"
        )
    return NetworkValue(ValueWeights.load(Path(name)).network, scale=VALUE_SCALE)
