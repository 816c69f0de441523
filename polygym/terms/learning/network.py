"""The graph network of *Knossos: Compiling AI with AI*, section 3.2, and its value function.

A node v begins with h⁰, its kind as a one-hot vector, padded with 0. T times over

    h ← GRU(Σ over edge types p and neighbours v′ along p of m_p(h_v′), h),

m_p one dense layer for each type. The sum of σ(g(h, h⁰)) · r(h) over the nodes goes through two
dense layers to one number for each count of steps: V̂(e)[t], what each of t steps saves. The value
is t · V̂(e)[t]. Without message passing (``rounds`` 0) kinds are counted, and nothing else is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import torch
from torch import Tensor, nn

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning.protocol import Values
from polygym.terms.learning.graphs import EDGE_TYPES, KINDS, Batch, Graphs

__all__ = ["Learned", "Shape", "ValueNetwork", "load", "save"]

_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a network is; ``horizon`` is for how many steps it has answers."""

    horizon: int = 10
    width: int = 64
    rounds: int = 5
    hidden: int = 64
    dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a network that kinds do not fit into."""
        if self.width < len(KINDS):
            raise InputError(
                f"a network's width: expected {len(KINDS)} or more, found {self.width}"
            )


class ValueNetwork(nn.Module):
    """From graphs to what each step saves."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, hidden = shape.width, shape.hidden
        self.messages = nn.Linear(width, EDGE_TYPES * width)
        self.cell = nn.GRUCell(width, width)
        self.gate = nn.Linear(2 * width, width)
        self.read = nn.Linear(width, width)
        self.out = nn.Sequential(
            nn.Linear(width, hidden),
            nn.Tanh(),
            nn.Dropout(shape.dropout),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Dropout(shape.dropout),
            nn.Linear(hidden, shape.horizon),
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return a row a graph, a column for each number of steps from 1."""
        kinds = torch.from_numpy(batch.kinds)
        first = nn.functional.one_hot(kinds, self.shape.width).float()
        state = first
        places = torch.from_numpy(batch.sources * EDGE_TYPES + batch.types)
        targets = torch.from_numpy(batch.targets)
        for _ in range(self.shape.rounds):
            said = self.messages(state).view(-1, self.shape.width)
            heard = torch.zeros_like(state).index_add(0, targets, said[places])
            state = self.cell(heard, state)
        shown = torch.sigmoid(self.gate(torch.cat([state, first], 1))) * torch.tanh(
            self.read(state)
        )
        whole = torch.zeros(batch.count, self.shape.width)
        found: Tensor = self.out(whole.index_add(0, torch.from_numpy(batch.graphs), shown))
        return found


class Learned:
    """The value function of a network."""

    def __init__(self, network: ValueNetwork) -> None:
        self.network, self.graphs = network, Graphs()

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        known = self.network.shape.horizon
        if horizon > known:
            raise InputError(f"a network: expected a horizon of at most {known}, found {horizon}")
        self.network.eval()
        rows = []
        with torch.no_grad():
            for at in range(0, len(states), _AT_ONCE):
                rows.append(self.network(self.graphs.batch(states[at : at + _AT_ONCE])).numpy())
        each = np.concatenate(rows)[:, :horizon].astype(np.float64)
        steps = np.arange(1, horizon + 1)
        return np.concatenate([np.zeros((len(states), 1)), each * steps], axis=1)


def save(network: ValueNetwork, path: Path) -> None:
    """Write a network to a file."""
    torch.save({"shape": asdict(network.shape), "weights": network.state_dict()}, path)


def load(path: Path) -> ValueNetwork:
    """Read a network from a file.

    Raises:
        InputError: there is none in it.
    """
    try:
        found = torch.load(path, weights_only=True)
        network = ValueNetwork(Shape(**found["shape"]))
        network.load_state_dict(found["weights"])
    except OSError as error:
        raise InputError(f"{path}: expected a network, cannot read it: {error}") from None
    except (RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError):
        raise InputError(f"{path}: expected a network of polygym.terms, found none") from None
    return network
