"""Searches over transformation steps: random walks, a beam and a tree search from the source order.

A candidate is a state of :mod:`polygym.transformations`: the schedule and the mapping that some
legal steps lead to. Storage stays as the program has it. Three strategies propose states:

``steps``        random walks: a kind of step at random, then one of its legal steps
``steps-beam``   children of the fastest states, the most promising of a few by the cost model
``steps-mcts``   Monte Carlo tree search: a state gets more children the more it is visited,
                 new ones in the order of the cost model, and the next child is that with the
                 largest q(c) + 0.5 √(ln n / n(c)): n are visits of the parent and the child, q the
                 logarithm of the best speedup measured behind c, moved into [0, 1]. From a new
                 child on, further steps are taken as long as the model expects 2 % of each.

Without the cost model (``pip install 'polygym[cost]'``) the order is random. Example, gemm: the
root is the source order under the default mapping; its first child is the step of the largest
predicted gain, such as ``interchange L3 L4``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import Any

import numpy as np

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mdp.episode import Task
from polygym.mdp.predicted_reward import expect_cost_model, predicted_speedup
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import (
    Candidate,
    EpisodeSchedule,
    ScheduleSource,
    SearchSpace,
    known_source,
)
from polygym.search.strategies.neighborhood import sample_parent
from polygym.search.strategies.random_search import RandomSearch
from polygym.transformations.candidates import legal_steps, sample_by_kind
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import MappingStep, Step, TreeStep

_LONGEST_WALK = 8
_SAMPLED_CHILDREN = 48
_LEAST_GAIN = 0.02
_LONGEST_ROLLOUT = 4
_BEAM = 4
_EXPLORATION = 0.5
_FAILED = log(0.05)


def next_states(state: TransformState) -> list[tuple[Step, TransformState]]:
    """Return the legal steps about loops and the mapping, with the states that they lead to."""
    pairs = legal_steps(state, TreeStep | MappingStep)
    return [(step, verdict.state) for step, verdict in pairs if verdict.state is not None]


def sample_step(
    pairs: Sequence[tuple[Step, TransformState]], rng: np.random.Generator
) -> TransformState:
    """Return the state after a random step: each kind is as likely as every other."""
    return pairs[sample_by_kind([step for step, _ in pairs], rng)][1]


class StepSearch(RandomSearch):
    """Random walks over legal steps."""

    size = 4
    name = "steps"

    def __init__(
        self,
        space: SearchSpace,
        seeds: Sequence[Candidate],
        rng: np.random.Generator,
        scop: Scop,
        sizes: Mapping[str, int],
        known: dict[ScheduleSource, Schedule],
    ) -> None:
        """Begin with the seeds; schedules that are new get a source in ``known``."""
        super().__init__(space, seeds, rng)
        self._known, self._index = known, 0
        self._task = Task(scop, TaskOptions(), dict(sizes))
        self.root = TransformProgram(scop, sizes).start(space.default)
        self._predictions: dict[tuple[Schedule, MachineMapping], float] = {}
        try:
            expect_cost_model()
            self._has_model = True
        except InputError:
            self._has_model = False

    def ask(self, count: int) -> list[Candidate]:
        """Return the candidates of new states."""
        return self._fill(count, self._propose)

    def _propose(self) -> Candidate:
        state = self.root
        for _ in range(1 + int(self.rng.integers(_LONGEST_WALK))):
            pairs = next_states(state)
            if not pairs:
                break
            state = sample_step(pairs, self.rng)
        return self.candidate_of(state)

    def candidate_of(self, state: TransformState) -> Candidate:
        """Return a state as a candidate; equal schedules have one source."""
        source = EpisodeSchedule(self.name, self._index)
        self._index += 1
        return Candidate(known_source(self._known, source, state.schedule), state.mapping)

    def predicted(self, state: TransformState) -> float:
        """Return the logarithm of the predicted speedup of a state; random without a model."""
        if not self._has_model:
            return float(self.rng.random())
        key = (state.schedule, state.mapping)
        if key not in self._predictions:
            try:
                value = log(predicted_speedup(self._task, state.schedule, state.mapping))
            except LimitError:
                value = -inf
            self._predictions[key] = value
        return self._predictions[key]

    def promising(self, state: TransformState) -> list[tuple[float, TransformState]]:
        """Return some children of a state with their predictions, the best last."""
        pairs = next_states(state)
        if not pairs:
            return []
        sampled = {
            (child.schedule, child.mapping): child
            for child in (sample_step(pairs, self.rng) for _ in range(_SAMPLED_CHILDREN))
        }
        scored = [(self.predicted(child), child) for child in sampled.values()]
        return sorted(scored, key=lambda item: item[0])


class StepBeamSearch(StepSearch):
    """Children of the fastest states."""

    name = "steps-beam"

    def __init__(self, *given: Any) -> None:
        """Begin as every search over steps does."""
        super().__init__(*given)
        self._states: dict[Candidate, TransformState] = {}

    def _propose(self) -> Candidate:
        beam = [candidate for candidate in self.ranked() if candidate in self._states][:_BEAM]
        if not beam:
            state = self.root
        else:
            state = self._states[beam[sample_parent(len(beam), self.rng)]]
            scored = self.promising(state)
            while scored and self.candidate_of(state) in self.speedups:
                state = scored.pop()[1]
        candidate = self.candidate_of(state)
        self._states[candidate] = state
        return candidate


@dataclass(eq=False)
class _TreeNode:
    """A state, its children, those that it does not have yet, and what was measured behind it."""

    state: TransformState
    parent: _TreeNode | None
    untried: list[tuple[float, TransformState]] | None = None
    children: list[_TreeNode] = field(default_factory=list)
    visits: int = 0
    best: float = -inf


class StepTreeSearch(StepSearch):
    """Monte Carlo tree search over steps."""

    name = "steps-mcts"

    def __init__(self, *given: Any) -> None:
        """Begin as every search over steps does."""
        super().__init__(*given)
        self._tree = _TreeNode(self.root, None)
        self._nodes: dict[Candidate, _TreeNode] = {}
        self._least, self._greatest = inf, -inf

    def _propose(self) -> Candidate:
        node = self._tree if not self._nodes else self._selected()
        candidate = self.candidate_of(node.state)
        self._nodes.setdefault(candidate, node)
        at: _TreeNode | None = node
        while at is not None:
            at.visits += 1
            at = at.parent
        return candidate

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Tell all states on the way to a candidate how fast it is."""
        super().tell(candidate, speedup)
        value = log(speedup) if speedup > 0 else _FAILED
        self._least, self._greatest = min(self._least, value), max(self._greatest, value)
        at = self._nodes.get(candidate)
        while at is not None:
            at.best = max(at.best, value)
            at = at.parent

    def _selected(self) -> _TreeNode:
        """Return a new state below the most promising ones."""
        node = self._tree
        while True:
            untried = self._untried(node)
            if untried and len(node.children) < 1.5 * sqrt(node.visits + 1):
                return self._rollout(self._grown(node))
            if not node.children:
                return node
            node = max(node.children, key=lambda child: self._score(child, node.visits))

    def _untried(self, node: _TreeNode) -> list[tuple[float, TransformState]]:
        if node.untried is None:
            node.untried = self.promising(node.state)
        return node.untried

    def _grown(self, node: _TreeNode) -> _TreeNode:
        """Return a new child of a state, the most promising one."""
        _, state = self._untried(node).pop()
        child = _TreeNode(state, node)
        node.children.append(child)
        return child

    def _rollout(self, node: _TreeNode) -> _TreeNode:
        """Return the state after further steps that the model expects to gain something."""
        for _ in range(_LONGEST_ROLLOUT):
            untried = self._untried(node)
            if not self._has_model or not untried:
                break
            if untried[-1][0] < self.predicted(node.state) + _LEAST_GAIN:
                break
            node = self._grown(node)
        return node

    def _score(self, node: _TreeNode, visits: int) -> float:
        span = self._greatest - self._least
        best = max(node.best, self._least)
        value = (best - self._least) / span if span > 0 else 0.5
        return value + _EXPLORATION * sqrt(log(visits + 1) / (node.visits + 1))


STEP_SEARCHES: tuple[tuple[str, type[StepSearch]], ...] = (
    ("random transformation steps", StepSearch),
    ("more steps from the fastest states", StepBeamSearch),
    ("tree search over transformation steps", StepTreeSearch),
)
"""The strategies with their summaries."""
