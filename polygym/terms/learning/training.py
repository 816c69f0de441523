"""Training a value function: searches explore, the network learns what they could have saved.

An epoch takes a few expressions, all of them before any comes again. Of each, A* under the present
network explores with every set of rules that the training has: with few rules, those of binding,
what pays is found by itself, with all of them only where the network leads. States that were seen
become examples (:mod:`polygym.terms.learning.examples`), with the targets of
:meth:`polygym.search.planning.explored.Explored.targets`; the network is fitted to examples of the
last searches, by Huber's loss of V / t, before the next expression.

An epoch is a function of the seed, its number, and of what the trainer holds: the network, its
optimiser, and the examples. So a training that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import Plan, ValueFunction, explore
from polygym.terms.language.program import Program
from polygym.terms.learning.examples import Example, Examples, seen_by
from polygym.terms.learning.graphs import Graphs
from polygym.terms.learning.inference import NetworkValue, PlainNetwork
from polygym.terms.learning.network import Shape, ValueNetwork
from polygym.terms.rules.rule import Rule
from polygym.terms.rules.sets import rules_named
from polygym.terms.system import TermSystem

__all__ = ["Epoch", "Teaching", "Trainer", "total_cost", "trained"]


@dataclass(frozen=True, slots=True)
class Teaching:
    """What a training does in an epoch.

    ``rules`` are sets by name, the last one with all rules; ``search`` is how they are explored;
    ``kept`` is how many examples a search leaves, ``memory`` of how many searches they are
    remembered, ``updates`` how many batches the network is fitted to after each. Weights swing from
    batch to batch: what searches ask, and what is kept, is their mean, in which those of one batch
    before count ``averaging`` times as much. Within ``epochs`` the rate falls to ``last_rate``
    times what it is at first (:meth:`rate_at`).
    """

    expressions: int = 6
    plan: Plan = field(default_factory=lambda: Plan(10, 1500, 64))
    shape: Shape = field(default_factory=Shape)
    rules: tuple[str, ...] = ("binding", "simple")
    search: str = "astar"
    rate: float = 2e-3
    last_rate: float = 1.0
    epochs: int = 10
    batch: int = 32
    kept: int = 1000
    memory: int = 36
    updates: int = 64
    averaging: float = 0.998
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name in ("expressions", "epochs", "batch", "kept", "memory", "updates"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)}")
        if not 0.0 < self.last_rate <= 1.0:
            raise InputError(f"last_rate: expected more than 0, at most 1, found {self.last_rate}")
        if not self.rules:
            raise InputError("rules: expected the name of a set or several, found none")
        if self.plan.horizon != self.shape.horizon:
            raise InputError(
                f"horizon: expected that of the network, {self.shape.horizon}, found "
                f"{self.plan.horizon}"
            )

    def rate_at(self, batch: int, count: int) -> float:
        """Return the rate for a batch, counted from 0, where there are so many in all.

        It falls as half a cosine does, slowly at first and at last, and stays where it ends.

        >>> teaching = Teaching(rate=0.1, last_rate=0.5)
        >>> [round(teaching.rate_at(batch, 5), 4) for batch in range(6)]
        [0.1, 0.0927, 0.075, 0.0573, 0.05, 0.05]
        """
        share = min(1.0, batch / max(1, count - 1))
        falling = 0.5 * (1.0 + math.cos(math.pi * share))
        return self.rate * (self.last_rate + (1.0 - self.last_rate) * falling)


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch came to: the loss, what expressions cost before and after their searches."""

    number: int
    loss: float
    initial_cost: float
    cost: float


class Trainer:
    """A network that learns, and all that its next epoch depends on."""

    def __init__(self, programs: Sequence[Program], teaching: Teaching) -> None:
        """Begin with a network that knows nothing, and expects nothing."""
        self.programs, self.teaching = tuple(programs), teaching
        torch.manual_seed(teaching.seed)
        self.network = ValueNetwork(teaching.shape)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=teaching.rate, fused=True)
        self.average = {name: one.clone() for name, one in self.network.state_dict().items()}
        self.examples = Examples(teaching.kept * teaching.memory)
        self.number = self.steps = 0
        self._graphs = Graphs()
        self._systems = [TermSystem(rules_named(name)) for name in teaching.rules]

    @property
    def value(self) -> ValueFunction[Term] | None:
        """The value function of what was learned; None before there was anything to learn."""
        return NetworkValue(self.averaged, self._graphs) if len(self.examples) else None

    @property
    def averaged(self) -> PlainNetwork:
        """The network with its mean weights."""
        weights = {name: one.numpy().copy() for name, one in self.average.items()}
        return PlainNetwork(self.teaching.shape.rounds, weights)

    def epoch(self) -> Epoch:
        """Explore, learn, and return what it came to.

        Graphs are small: one thread is as fast as several, and always adds in the same order.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return self._epoch()
        finally:
            torch.set_num_threads(threads)

    def _epoch(self) -> Epoch:
        seeds = np.random.SeedSequence([self.teaching.seed, self.number])
        dice = np.random.default_rng(seeds)
        torch.manual_seed(int(seeds.generate_state(1)[0]))
        losses, before, after = [], 0.0, 0.0
        for at in self._drawn():
            value = self.value
            seen = [
                explore(
                    self.teaching.search,
                    system,
                    self.programs[at].body,
                    self.teaching.plan,
                    value,
                    int(dice.integers(1 << 31)),
                )[0]
                for system in self._systems
            ]
            before += seen[-1].costs[0]
            after += min(one.costs[one.best] for one in seen)
            self.examples.extend(seen_by(seen, self.teaching.kept, dice))
            losses.append(self._fit(dice))
        self.number += 1
        return Epoch(self.number, float(np.mean(losses)), round(before, 6), round(after, 6))

    def _drawn(self) -> list[int]:
        """Return which expressions this epoch has: the next ones in orders by dice."""
        count, each = len(self.programs), min(self.teaching.expressions, len(self.programs))
        chosen = []
        for place in range(self.number * each, (self.number + 1) * each):
            order = np.random.default_rng([self.teaching.seed, place // count, count])
            chosen.append(int(order.permutation(count)[place % count]))
        return chosen

    def _fit(self, dice: np.random.Generator) -> float:
        """Fit the network to examples; return the mean loss."""
        teaching = self.teaching
        drawn = self.examples.drawn(teaching.batch * teaching.updates, dice)
        searches = teaching.epochs * min(teaching.expressions, len(self.programs))
        self.network.train()
        losses = []
        for at in range(0, len(drawn), teaching.batch):
            loss = self._loss(drawn[at : at + teaching.batch])
            self.optimizer.zero_grad()
            for group in self.optimizer.param_groups:
                group["lr"] = teaching.rate_at(self.steps, searches * teaching.updates)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.steps += 1
            self._note_weights()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    @torch.no_grad()
    def _note_weights(self) -> None:
        """Take the present weights into the mean; of the first batches no more than is there."""
        share = max(1.0 - self.teaching.averaging, 1.0 / (1.0 + self.steps))
        for name, one in self.network.state_dict().items():
            self.average[name].lerp_(one, share)

    def _loss(self, examples: Sequence[Example]) -> torch.Tensor:
        steps = torch.arange(1, self.teaching.shape.horizon + 1)
        targets = torch.from_numpy(np.stack([one.targets for one in examples])) / steps
        known = steps <= torch.tensor([one.left for one in examples])[:, None]
        found = self.network(self._graphs.batch([one.term for one in examples]))
        each = nn.functional.huber_loss(found, targets, reduction="none")
        return each[known].mean()


def trained(
    programs: Sequence[Program], teaching: Teaching, epochs: int
) -> Iterator[tuple[Epoch, Trainer]]:
    """Train, and yield every epoch with the trainer as it then is."""
    trainer = Trainer(programs, teaching)
    for _ in range(epochs):
        yield trainer.epoch(), trainer


def total_cost(
    programs: Sequence[Program],
    value: ValueFunction[Term] | None,
    plan: Plan | None = None,
    rules: Sequence[Rule] | None = None,
    search: str = "astar",
    seed: int = 0,
) -> float:
    """Return what a search under a value function makes of programs, in all."""
    system, total = TermSystem(rules), 0.0
    for program in programs:
        seen, _ = explore(search, system, program.body, plan, value, seed)
        total += seen.costs[seen.best]
    return round(total, 6)
