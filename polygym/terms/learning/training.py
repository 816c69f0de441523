"""Training a value function: searches explore, the network learns what they could have saved.

An epoch takes a few expressions, all of them before any comes again. Of each, A* under the present
network explores with every set of rules that the training has: with few rules, those of binding,
what pays is found by itself, with all of them only where the network leads. States that were seen
become examples (:mod:`polygym.terms.learning.replay_buffer`), with the targets of
:meth:`polygym.search.planning.search_graph.SearchGraph.targets`; the network is fitted to examples
of the last searches, by Huber's loss of V / t, before the next expression.

An epoch is a function of the seed, its number, and of what the trainer holds: the network, its
optimiser, and the examples. So a training that was interrupted goes on as if it had not been.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, ValueFunction, explore
from polygym.terms.language.program import TermProgram
from polygym.terms.learning.graph_encoding import GraphEncoder
from polygym.terms.learning.numpy_network import NetworkValue, NumpyNetwork
from polygym.terms.learning.replay_buffer import ReplayBuffer, ValueExample, sample_examples
from polygym.terms.learning.torch_network import NetworkShape, ValueNetwork
from polygym.terms.rules.rule_sets import rules_named
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.term_system import TermSystem


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """What a training does in an epoch.

    ``rules`` are sets by name, the last one with all rules; ``search`` is how they are explored;
    ``examples_per_search`` is how many examples a search leaves, ``replay_capacity`` of how many
    searches they are remembered, ``updates`` how many batches the network is fitted to after each.
    Weights swing from batch to batch: what searches ask, and what is kept, is their mean, in which
    those of one batch before count ``averaging`` times as much. Within ``epochs`` the rate falls to
    ``final_learning_rate`` times what it is at first (:meth:`learning_rate_at`).
    """

    expressions: int = 6
    search_plan: PlanningLimits = field(default_factory=lambda: PlanningLimits(10, 1500, 64))
    shape: NetworkShape = field(default_factory=NetworkShape)
    rules: tuple[str, ...] = ("binding", "simple")
    search: str = "astar"
    learning_rate: float = 2e-3
    final_learning_rate: float = 1.0
    epochs: int = 10
    batch_size: int = 32
    examples_per_search: int = 1000
    replay_capacity: int = 36
    updates: int = 64
    averaging: float = 0.998
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name in (
            *("expressions", "epochs", "batch_size"),
            *("examples_per_search", "replay_capacity", "updates"),
        ):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)}")
        if not 0.0 < self.final_learning_rate <= 1.0:
            raise InputError(
                "final_learning_rate: expected more than 0, at most 1, found "
                f"{self.final_learning_rate}"
            )
        if not self.rules:
            raise InputError("rules: expected the name of a set or several, found none")
        if self.search_plan.horizon != self.shape.horizon:
            raise InputError(
                f"horizon: expected that of the network, {self.shape.horizon}, found "
                f"{self.search_plan.horizon}"
            )

    def learning_rate_at(self, batch: int, count: int) -> float:
        """Return the rate for a batch, counted from 0, where there are so many in all.

        It falls as half a cosine does, slowly at first and at last, and stays where it ends.

        >>> config = TrainingConfig(learning_rate=0.1, final_learning_rate=0.5)
        >>> [round(config.learning_rate_at(batch, 5), 4) for batch in range(6)]
        [0.1, 0.0927, 0.075, 0.0573, 0.05, 0.05]
        """
        share = min(1.0, batch / max(1, count - 1))
        falling = 0.5 * (1.0 + math.cos(math.pi * share))
        return self.learning_rate * (
            self.final_learning_rate + (1.0 - self.final_learning_rate) * falling
        )


@dataclass(frozen=True, slots=True)
class TrainingEpoch:
    """What an epoch came to: the loss, what expressions cost before and after their searches."""

    number: int
    loss: float
    initial_cost: float
    cost: float


class ValueTrainer:
    """A network that learns, and all that its next epoch depends on."""

    def __init__(self, programs: Sequence[TermProgram], config: TrainingConfig) -> None:
        """Begin with a network that knows nothing, and expects nothing."""
        self.programs, self.config = tuple(programs), config
        torch.manual_seed(config.seed)
        self.network = ValueNetwork(config.shape)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=config.learning_rate, fused=True
        )
        self.average = {name: one.clone() for name, one in self.network.state_dict().items()}
        self.examples = ReplayBuffer(config.examples_per_search * config.replay_capacity)
        self.number = self.steps = 0
        self._graphs = GraphEncoder()
        self._systems = [TermSystem(rules_named(name)) for name in config.rules]

    @property
    def value(self) -> ValueFunction[Term] | None:
        """The value function of what was learned; None before there was anything to learn."""
        return NetworkValue(self.averaged, self._graphs) if len(self.examples) else None

    @property
    def averaged(self) -> NumpyNetwork:
        """The network with its mean weights."""
        weights = {name: one.numpy().copy() for name, one in self.average.items()}
        return NumpyNetwork(self.config.shape.rounds, weights)

    def epoch(self) -> TrainingEpoch:
        """Explore, learn, and return what it came to.

        Graphs are small: one thread is as fast as several, and always adds in the same order.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return self._epoch()
        finally:
            torch.set_num_threads(threads)

    def _epoch(self) -> TrainingEpoch:
        seeds = np.random.SeedSequence([self.config.seed, self.number])
        rng = np.random.default_rng(seeds)
        torch.manual_seed(int(seeds.generate_state(1)[0]))
        losses, before, after = [], 0.0, 0.0
        for at in self._drawn():
            value = self.value
            seen = [
                explore(
                    self.config.search,
                    system,
                    self.programs[at].body,
                    self.config.search_plan,
                    value,
                    int(rng.integers(1 << 31)),
                )[0]
                for system in self._systems
            ]
            before += seen[-1].costs[0]
            after += min(graph.costs[graph.best] for graph in seen)
            self.examples.extend(sample_examples(seen, self.config.examples_per_search, rng))
            losses.append(self._fit(rng))
        self.number += 1
        return TrainingEpoch(self.number, float(np.mean(losses)), round(before, 6), round(after, 6))

    def _drawn(self) -> list[int]:
        """Return which expressions this epoch has: the next ones in orders at random."""
        count, each = len(self.programs), min(self.config.expressions, len(self.programs))
        chosen = []
        for place in range(self.number * each, (self.number + 1) * each):
            order = np.random.default_rng([self.config.seed, place // count, count])
            chosen.append(int(order.permutation(count)[place % count]))
        return chosen

    def _fit(self, rng: np.random.Generator) -> float:
        """Fit the network to examples; return the mean loss."""
        config = self.config
        drawn = self.examples.sample(config.batch_size * config.updates, rng)
        searches = config.epochs * min(config.expressions, len(self.programs))
        self.network.train()
        losses = []
        for at in range(0, len(drawn), config.batch_size):
            loss = self._loss(drawn[at : at + config.batch_size])
            self.optimizer.zero_grad()
            for group in self.optimizer.param_groups:
                group["lr"] = config.learning_rate_at(self.steps, searches * config.updates)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.steps += 1
            self._note_weights()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    @torch.no_grad()
    def _note_weights(self) -> None:
        """Take the present weights into the mean; of the first batches no more than is there."""
        share = max(1.0 - self.config.averaging, 1.0 / (1.0 + self.steps))
        for name, one in self.network.state_dict().items():
            self.average[name].lerp_(one, share)

    def _loss(self, examples: Sequence[ValueExample]) -> torch.Tensor:
        steps = torch.arange(1, self.config.shape.horizon + 1)
        targets = torch.from_numpy(np.stack([example.targets for example in examples])) / steps
        known = steps <= torch.tensor([example.known_steps for example in examples])[:, None]
        found = self.network(self._graphs.batch([example.term for example in examples]))
        each = nn.functional.huber_loss(found, targets, reduction="none")
        return each[known].mean()


def train(
    programs: Sequence[TermProgram], config: TrainingConfig, epochs: int
) -> Iterator[tuple[TrainingEpoch, ValueTrainer]]:
    """Train, and yield every epoch with the trainer as it then is."""
    trainer = ValueTrainer(programs, config)
    for _ in range(epochs):
        yield trainer.epoch(), trainer


def total_cost(
    programs: Sequence[TermProgram],
    value: ValueFunction[Term] | None,
    plan: PlanningLimits | None = None,
    rules: Sequence[TermRule] | None = None,
    search: str = "astar",
    seed: int = 0,
) -> float:
    """Return what a search under a value function makes of programs, in all."""
    system, total = TermSystem(rules), 0.0
    for program in programs:
        seen, _ = explore(search, system, program.body, plan, value, seed)
        total += seen.costs[seen.best]
    return round(total, 6)
