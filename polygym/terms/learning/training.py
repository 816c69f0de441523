"""Training a value function: searches explore, the network learns what they could have saved.

An epoch takes a few expressions, all of them before any comes again. Of each, A* under the present
network explores with every set of rules that the training has: with few rules, those of binding,
what pays is found by itself, with all of them only where the network leads. States that were seen
become examples (:mod:`polygym.terms.learning.replay_buffer`), with the targets of
:meth:`polygym.search.planning.search_graph.SearchGraph.targets`; the network is fitted to examples
of the last searches, by Huber's loss of V / t, before the next expression.

An epoch is a function of the seed, its number, and of what the trainer holds: the network, its
optimiser, and the examples. So a training that was interrupted goes on as if it had not been.

The graph network of *Knossos: Compiling AI with AI*, section 3.2, to be trained by torch.

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

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, ValueFunction, explore
from polygym.terms.language.program import TermProgram
from polygym.terms.learning import graph_encoding
from polygym.terms.learning.numpy_network import NetworkValue, NumpyNetwork
from polygym.terms.learning.replay_buffer import ReplayBuffer, ValueExample, sample_examples
from polygym.terms.rewriter import TermSystem
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.whole_programs.program_system import SPACES, start_in, system_named


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """How large a network is; ``horizon`` is for how many steps it has answers."""

    horizon: int = 10
    width: int = 48
    rounds: int = 3

    def __post_init__(self) -> None:
        """Refuse a network that kinds do not fit into."""
        graph_encoding.expect_width(self.width)


class ValueNetwork(nn.Module):
    """From graphs to what each step saves."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.messages = nn.ModuleList(
            nn.Linear(width, width) for _ in range(graph_encoding.EDGE_TYPES)
        )
        self.cell = nn.GRUCell(width, width)
        self.gate = nn.Linear(2 * width, width)
        self.read = nn.Linear(width, width)
        self.out = nn.Linear(width, shape.horizon)
        # Nothing is expected before anything was learned: the first searches are greedy ones.
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, batch: graph_encoding.TermGraphBatch) -> Tensor:
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

    def __init__(self, batch: graph_encoding.TermGraphBatch) -> None:
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
            said.append(
                messages[graph_encoding.IDENTICAL](every.index_select(0, self._classes) - own)
            )
        if not said:
            return torch.zeros_like(state)
        return torch.zeros_like(state).index_add(0, self._targets, torch.cat(said))


def to_numpy(network: ValueNetwork) -> NumpyNetwork:
    """Return a network as it now is, without torch."""
    weights = {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}
    return NumpyNetwork(network.shape.rounds, weights)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """What a training does in an epoch.

    ``space`` is one of :data:`polygym.terms.whole_programs.program_system.SPACES`;
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
    space: str = "terms"
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
        if self.space not in SPACES:
            raise InputError(f"space: expected one of {', '.join(SPACES)}, found {self.space!r}")
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
        self.average = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        self.examples = ReplayBuffer(config.examples_per_search * config.replay_capacity)
        self.number = self.steps = 0
        self._graphs = graph_encoding.GraphEncoder()
        self._systems = [system_named(config.space, name) for name in config.rules]

    @property
    def value(self) -> ValueFunction[Term] | None:
        """The value function of what was learned; None before there was anything to learn."""
        return NetworkValue(self.averaged, self._graphs) if len(self.examples) else None

    @property
    def averaged(self) -> NumpyNetwork:
        """The network with its mean weights."""
        weights = {name: tensor.numpy().copy() for name, tensor in self.average.items()}
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
                    start_in(self.config.space, self.programs[at].body),
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
        for name, tensor in self.network.state_dict().items():
            self.average[name].lerp_(tensor, share)

    def _loss(self, examples: Sequence[ValueExample]) -> torch.Tensor:
        steps = torch.arange(1, self.config.shape.horizon + 1)
        targets = torch.from_numpy(np.stack([example.targets for example in examples])) / steps
        known = steps <= torch.tensor([example.known_steps for example in examples])[:, None]
        predictions = self.network(self._graphs.batch([example.term for example in examples]))
        each = nn.functional.huber_loss(predictions, targets, reduction="none")
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
