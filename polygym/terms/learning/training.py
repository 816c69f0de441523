"""Training a value function: searches explore, the network learns what they could have saved.

An epoch draws a few expressions. Of each, A* under the present network explores; every state s that
it saw, with the steps t that it had left, becomes an example with the target of
:meth:`polygym.search.planning.explored.Explored.targets`; the network is fitted to these, by
Huber's loss of V / t, before the next expression. A seed fixes everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from polygym.rewrite.term import Term
from polygym.search.planning import Plan, explore
from polygym.search.planning.explored import Explored
from polygym.terms.language.program import Program
from polygym.terms.learning.network import Learned, Shape, ValueNetwork
from polygym.terms.rules.rule import Rule
from polygym.terms.rules.sets import rules_named
from polygym.terms.system import TermSystem

__all__ = ["Epoch", "Teaching", "total_cost", "trained"]


@dataclass(frozen=True, slots=True)
class Teaching:
    """What a training does, epoch by epoch; the usual values are the paper's, less its width."""

    epochs: int = 30
    expressions: int = 6
    plan: Plan = field(default_factory=Plan)
    shape: Shape = field(default_factory=Shape)
    rules: str = "simple"
    rate: float = 1e-3
    batch: int = 128
    passes: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch came to: the loss, and what its expressions cost after their searches."""

    number: int
    loss: float
    cost: float
    network: ValueNetwork


def trained(programs: Sequence[Program], teaching: Teaching) -> Iterator[Epoch]:
    """Train, and yield every epoch with the network as it then is."""
    torch.manual_seed(teaching.seed)
    dice = np.random.default_rng(teaching.seed)
    network = ValueNetwork(teaching.shape)
    value = Learned(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=teaching.rate)
    system = TermSystem(rules_named(teaching.rules))
    for number in range(1, teaching.epochs + 1):
        losses, cost = [], 0.0
        count = min(teaching.expressions, len(programs))
        for at in dice.choice(len(programs), count, replace=False):
            seen, _ = explore("astar", system, programs[int(at)].body, teaching.plan, value)
            cost += seen.costs[seen.best]
            losses.append(_fit(value, optimizer, seen, teaching, dice))
        yield Epoch(number, float(np.mean(losses)), cost, network)


def _fit(
    value: Learned,
    optimizer: torch.optim.Optimizer,
    seen: Explored[Term],
    teaching: Teaching,
    dice: np.random.Generator,
) -> float:
    """Fit the network to what a search saw; return the mean loss."""
    horizon = teaching.shape.horizon
    steps = np.arange(1, horizon + 1)
    targets = torch.from_numpy(seen.targets()[:, 1 : horizon + 1] / steps).float()
    # A target is known for as many steps as a state had left.
    known = torch.from_numpy(steps[None, :] <= np.array(seen.left)[:, None])
    loss_of = nn.HuberLoss(reduction="none")
    value.network.train()
    losses = []
    for _ in range(teaching.passes):
        order = dice.permutation(len(seen.states))
        for at in range(0, len(order), teaching.batch):
            chosen = order[at : at + teaching.batch]
            if not known[chosen].any():
                continue
            found = value.network(value.graphs.batch([seen.states[int(one)] for one in chosen]))
            loss = loss_of(found, targets[chosen])[known[chosen]].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    return float(np.mean(losses)) if losses else 0.0


def total_cost(
    programs: Sequence[Program],
    value: Learned,
    plan: Plan | None = None,
    rules: Sequence[Rule] | None = None,
) -> float:
    """Return what A* under a value function makes of programs, in all."""
    system, total = TermSystem(rules), 0.0
    for program in programs:
        seen, _ = explore("astar", system, program.body, plan, value)
        total += seen.costs[seen.best]
    return round(total, 6)
