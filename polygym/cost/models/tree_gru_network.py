"""The network of the TreeGRU: from the loops of many candidates to a score of each, all at once.

Figure 3d of AutoTVM ("Learning to Optimize Tensor Programs"), over the nodes of
:mod:`polygym.cost.features.candidates.loop_tree`. With x the standardised row of a node and h̃ = Σ
h of its children, from the leaves to the roots:

    e = relu(E·x + a)                             embedding
    r = σ(R·e + R'·h̃ + b),  z = σ(Z·e + Z'·h̃ + c)    what is reset, what is kept
    n = tanh(N·e + d + r∘(N'·h̃ + d'))
    h = (1 - z)∘n + z∘h̃

that is a GRU's step whose state is the sum of the children's, so that their order says nothing. A
node's softmax p = softmax(W·h) says to which of m slots of memory it belongs (a level of the
hierarchy, as it were); slot i of the candidate is Σ p_i·h over its nodes, and the score is linear
in all slots.

Example: one node, m = 2, W·h = (0, log 3): p = (1/4, 3/4), and the slots hold h/4 and 3h/4.

Nodes are sorted by their level, so that each level is one matrix: a batch takes as many steps as
its deepest tree has levels, however many candidates there are. What a level hands to the one above
is one sum by indices.

This module imports PyTorch, so it is imported where a network is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from polygym.cost.features.candidates.loop_tree import LoopForest


@dataclass(frozen=True, slots=True, eq=False)
class LoopTreeBatch:
    """The nodes of many candidates, by level, the roots first.

    ``sizes`` has the nodes of each level; ``parents`` for each level but the first where in the
    level above the parents are; ``candidates`` whose every node is, of ``count``.
    """

    rows: Tensor
    sizes: tuple[int, ...]
    parents: tuple[Tensor, ...]
    candidates: Tensor
    count: int

    @staticmethod
    def of(forest: LoopForest) -> LoopTreeBatch:
        """Sort the nodes of trees."""
        order = np.argsort(forest.levels, kind="stable")
        sizes = np.bincount(forest.levels) if len(forest.levels) else np.zeros(0, dtype=np.int64)
        begins = np.cumsum(sizes) - sizes
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        whose = forest.candidates
        above = forest.parents + forest.starts[:-1][whose]
        parents = tuple(
            torch.from_numpy(place[above[order[begin : begin + size]]] - begins[level])
            for level, (begin, size) in enumerate(zip(begins[1:], sizes[1:], strict=True))
        )
        return LoopTreeBatch(
            torch.from_numpy(forest.rows[order]),
            tuple(int(size) for size in sizes),
            parents,
            torch.from_numpy(whose[order]),
            len(forest),
        )


class TreeGRUNetwork(nn.Module):
    """The embedding, the step up the tree, the slots and the linear head."""

    def __init__(self, columns: int, embedding: int, hidden: int, slots: int) -> None:
        """Begin with random weights; inputs are taken as they are."""
        super().__init__()
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("deviation", torch.ones(columns))
        self.embed = nn.Linear(columns, embedding)
        self.step = nn.GRUCell(embedding, hidden)
        self.slot = nn.Linear(hidden, slots, bias=False)
        self.head = nn.Linear(slots * hidden, 1)

    def standardize(self, rows: Tensor) -> None:
        """Take these rows' mean and deviation as those of the inputs."""
        self.mean.copy_(rows.mean(dim=0))
        deviation = rows.std(dim=0, correction=0)
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, torch.ones(())))

    def forward(self, batch: LoopTreeBatch) -> Tensor:
        """Return the scores of a batch's candidates."""
        embedded = torch.relu(self.embed((batch.rows - self.mean) / self.deviation))
        levels = torch.split(embedded, list(batch.sizes))
        states: list[Tensor] = []
        below = embedded.new_zeros(0)
        for level in reversed(range(len(levels))):
            children = embedded.new_zeros(batch.sizes[level], self.step.hidden_size)
            if states:
                children = children.index_add(0, batch.parents[level], below)
            below = self.step(levels[level], children)
            states.append(below)
        state = torch.cat(states[::-1])
        # The head is linear: its sum over slots and the slots' sum over nodes change places, and
        # no node's slots are ever written down.
        weights = self.head.weight.view(-1, state.shape[1])
        share = torch.softmax(self.slot(state), dim=1)
        parts = (share * (state @ weights.T)).sum(dim=1)
        return self.head.bias + state.new_zeros(batch.count).index_add(0, batch.candidates, parts)
