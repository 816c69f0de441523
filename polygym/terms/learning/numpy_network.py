"""The graph network without torch: the same numbers from the same weights, by NumPy.

Of the types of edges all but one have no two edges with one target, so that messages are added by
places; those of the fourth children and further ones are added one by one. Numbers differ from
torch's by what the order of additions leaves.

What a network learned from is what a search saw, and so at most what can be saved: what it expects
is too little as a rule. A* goes on with what it has found already, then, where it should look for
more; so searches may *trust* more than it says, :data:`VALUE_SCALE` times as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning.protocol import Values
from polygym.terms.learning.graph_encoding import IDENTICAL, KINDS, GraphEncoder, TermGraphBatch

Floats = NDArray[np.float32]

VALUE_SCALE = 1.5
"""How often searches with a network that was trained take what it expects."""

_UP_REST = 7
_AT_ONCE = 256


@dataclass(frozen=True, slots=True, eq=False)
class NumpyNetwork:
    """Weights by the names that torch gives them, and how often messages are passed."""

    rounds: int
    weights: Mapping[str, Floats]

    def __post_init__(self) -> None:
        """Refuse weights that are not those of a network.

        Raises:
            InputError: some are missing, or have other shapes.
        """
        wanted = _shapes(self.width, self.horizon)
        any_shapes = {name: floats.shape for name, floats in self.weights.items()}
        if any_shapes != wanted or self.width < len(KINDS) or self.rounds < 0:
            raise InputError("weights: expected those of a graph network, found others")

    @property
    def width(self) -> int:
        """How many numbers a node has."""
        return self._size("read.weight", 0)

    @property
    def horizon(self) -> int:
        """For how many steps there are answers."""
        return self._size("out.bias", 0)

    def _size(self, name: str, axis: int) -> int:
        floats = self.weights.get(name)
        return int(floats.shape[axis]) if floats is not None and floats.ndim > axis else 0

    def __call__(self, batch: TermGraphBatch) -> Floats:
        """Return a row a graph, a column for each number of steps from 1."""
        first = np.zeros((len(batch.kinds), self.width), np.float32)
        first[np.arange(len(batch.kinds)), batch.kinds] = 1.0
        state = first
        for _ in range(self.rounds):
            state = self._next(self._heard(batch, state), state)
        gates = _sigmoid(self._dense("gate", np.concatenate([state, first], axis=1)))
        shown = gates * np.tanh(self._dense("read", state))
        starts = np.searchsorted(batch.graphs, np.arange(batch.count))
        whole = np.add.reduceat(shown, starts, axis=0)
        return self._dense("out", whole)

    def _dense(self, name: str, values: Floats) -> Floats:
        floats: Floats = values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return floats

    def _heard(self, batch: TermGraphBatch, state: Floats) -> Floats:
        heard = np.zeros_like(state)
        for kind, (sources, targets) in enumerate(batch.edges):
            if not len(sources):
                continue
            said = self._dense(f"messages.{kind}", state[sources])
            if kind == _UP_REST:
                np.add.at(heard, targets, said)
            else:
                heard[targets] += said
        if len(batch.identical_nodes):
            own = state[batch.identical_nodes]
            starts = np.searchsorted(batch.classes, np.arange(batch.classes[-1] + 1))
            every = np.add.reduceat(own, starts, axis=0)
            said = self._dense(f"messages.{IDENTICAL}", every[batch.classes] - own)
            heard[batch.identical_nodes] += said
        return heard

    def _next(self, heard: Floats, state: Floats) -> Floats:
        """Return what a gated recurrent unit makes of what was heard, with torch's gates."""
        weights = self.weights
        new = heard @ weights["cell.weight_ih"].T + weights["cell.bias_ih"]
        old = state @ weights["cell.weight_hh"].T + weights["cell.bias_hh"]
        width = self.width
        both = _sigmoid(new[:, : 2 * width] + old[:, : 2 * width])
        reset, update = both[:, :width], both[:, width:]
        other = np.tanh(new[:, 2 * width :] + reset * old[:, 2 * width :])
        floats: Floats = other + update * (state - other)
        return floats


class NetworkValue:
    """The value function of a network."""

    def __init__(
        self, network: NumpyNetwork, graphs: GraphEncoder | None = None, scale: float = 1.0
    ) -> None:
        """Take a network, what is known of the graphs of terms already, and how far to trust."""
        self.network, self._graphs = network, GraphEncoder() if graphs is None else graphs
        self._trust = scale

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps.

        Of more steps than the network knows as much is expected as of those that it knows.
        """
        known = self.network.horizon
        array = np.zeros((len(states), horizon + 1))
        steps = np.arange(1, min(horizon, known) + 1)
        times = self._trust * steps
        for at in range(0, len(states), _AT_ONCE):
            each = self.network(self._graphs.batch(states[at : at + _AT_ONCE]))
            array[at : at + _AT_ONCE, 1 : len(steps) + 1] = each[:, : len(steps)] * times
        array[:, len(steps) + 1 :] = array[:, len(steps) : len(steps) + 1]
        return array


def _sigmoid(values: Floats) -> Floats:
    floats: Floats = 0.5 * np.tanh(0.5 * values) + 0.5
    return floats


def _shapes(width: int, horizon: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's weights by their names."""
    result: dict[str, tuple[int, ...]] = {
        "cell.weight_ih": (3 * width, width),
        "cell.weight_hh": (3 * width, width),
        "cell.bias_ih": (3 * width,),
        "cell.bias_hh": (3 * width,),
    }
    layers: dict[str, Any] = {
        **{f"messages.{kind}": (width, width) for kind in range(IDENTICAL + 1)},
        "gate": (width, 2 * width),
        "read": (width, width),
        "out": (horizon, width),
    }
    for name, shape in layers.items():
        result[f"{name}.weight"], result[f"{name}.bias"] = shape, shape[:1]
    return result
