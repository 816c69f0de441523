"""The graph network of *Knossos: Compiling AI with AI*, section 3.2, to be trained by torch.

A node v begins with h⁰, its kind as a one-hot vector, padded with 0. T times over

    h ← GRU(Σ over edge types p and neighbours v′ along p of m_p(h_v′), h),

m_p one dense layer for each type. The sum of σ(g(h, h⁰)) · r(h) over the nodes goes through a dense
layer (Equation 5; Table 2 has two more) to one number for each count of steps: V̂(e)[t], what each
of t steps saves. The value is t · V̂(e)[t]. Since the layer is linear, so is what is expected of
terms side by side, however large they are. Without message passing (``rounds`` 0) kinds are
counted, and nothing else is known.

A message is computed where there is an edge to send it along, not for every node and type. What a
node hears of those that are identical to it is one message, of the sum of their h.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from polygym.terms.learning.graph_encoding import (
    EDGE_TYPES,
    IDENTICAL,
    TermGraphBatch,
    expect_width,
)
from polygym.terms.learning.numpy_network import NumpyNetwork


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """How large a network is; ``horizon`` is for how many steps it has answers."""

    horizon: int = 10
    width: int = 48
    rounds: int = 3

    def __post_init__(self) -> None:
        """Refuse a network that kinds do not fit into."""
        expect_width(self.width)


class ValueNetwork(nn.Module):
    """From graphs to what each step saves."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.messages = nn.ModuleList(nn.Linear(width, width) for _ in range(EDGE_TYPES))
        self.cell = nn.GRUCell(width, width)
        self.gate = nn.Linear(2 * width, width)
        self.read = nn.Linear(width, width)
        self.out = nn.Linear(width, shape.horizon)
        # Nothing is expected before anything was learned: the first searches are greedy ones.
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, batch: TermGraphBatch) -> Tensor:
        """Return a row a graph, a column for each number of steps from 1."""
        kinds = torch.from_numpy(batch.kinds)
        first = nn.functional.one_hot(kinds, self.shape.width).float()
        state = first
        if self.shape.rounds:
            edges = _Edges(batch)
            for _ in range(self.shape.rounds):
                state = self.cell(edges.heard(self.messages, state), state)
        shown = torch.sigmoid(self.gate(torch.cat([state, first], 1))) * torch.tanh(
            self.read(state)
        )
        whole = torch.zeros(batch.count, self.shape.width)
        tensor: Tensor = self.out(whole.index_add(0, torch.from_numpy(batch.graphs), shown))
        return tensor


class _Edges:
    """The edges of a batch as tensors, all that are there."""

    def __init__(self, batch: TermGraphBatch) -> None:
        pairs = [(kind, *ends) for kind, ends in enumerate(batch.edges) if len(ends[0])]
        self._sources = [(kind, torch.from_numpy(sources)) for kind, sources, _ in pairs]
        targets = [targets for *_, targets in pairs]
        self._alike = torch.from_numpy(batch.identical_nodes)
        self._classes = torch.from_numpy(batch.classes)
        self._count = int(batch.classes[-1]) + 1 if len(batch.classes) else 0
        self._targets = torch.from_numpy(np.concatenate([*targets, batch.identical_nodes]))

    def heard(self, messages: nn.ModuleList, state: Tensor) -> Tensor:
        """Return the sum of the messages at each node."""
        said = [messages[kind](state.index_select(0, tensor)) for kind, tensor in self._sources]
        if self._count:
            own = state.index_select(0, self._alike)
            every = own.new_zeros(self._count, own.shape[1]).index_add(0, self._classes, own)
            said.append(messages[IDENTICAL](every.index_select(0, self._classes) - own))
        if not said:
            return torch.zeros_like(state)
        return torch.zeros_like(state).index_add(0, self._targets, torch.cat(said))


def to_numpy(network: ValueNetwork) -> NumpyNetwork:
    """Return a network as it now is, without torch."""
    weights = {name: one.numpy().copy() for name, one in network.state_dict().items()}
    return NumpyNetwork(network.shape.rounds, weights)
