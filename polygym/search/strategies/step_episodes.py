"""Beam search over episodes of Transform-v0, which cloning imitates.

A *node* is an episode that goes on; it is worth what the environment pays if it stops now, less
``_STEP_PRICE`` for each of its steps. Every allowed step about loops and the mapping is tried from
the best ``_WIDTH`` nodes of a level, which make the next level. The search ends when two levels
bring nothing better, after so many trials, or with the steps of an episode. At the end, steps that
are worth nothing are taken out of the best episodes: a network could not know why they were taken.

Example, gemm: the source order is worth 6.8 times the original, ``tile L1 32`` 13.0; the next steps
gain 2 % each, less than a step costs, so the best episode is ``tile L1 32; stop``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from polygym.mdp.episode import Episode
from polygym.mdp.transforming import STOP_ACTION
from polygym.transformations.state import TransformState
from polygym.transformations.steps import MappingStep, Step, TreeStep

_WIDTH = 3
_STEP_PRICE = 0.05  # of a logarithm of a speedup: less is within the errors of the cost model
_MOST_LEVELS_WITHOUT_GAIN = 2


@dataclass(frozen=True, slots=True)
class PlayedSteps:
    """An episode that has stopped, and its reward."""

    episode: Episode
    reward: float


class _Node(NamedTuple):
    value: float
    reward: float
    episode: Episode


class StepEpisodeSearch:
    """Searches the episodes of one program from ``start``; ``reward_of`` is what an end is paid."""

    def __init__(self, start: Episode, reward_of: Callable[[Episode], float]) -> None:
        self._start, self._reward_of = start, reward_of
        self._nodes: dict[object, _Node] = {}

    def run(self, trials: int, kept: int) -> list[PlayedSteps]:
        """Return the best episodes of so many trials, simplified, the best first."""
        best = self._node(self._start)
        level, without_gain = [best], 0
        while level and len(self._nodes) < trials and without_gain < _MOST_LEVELS_WITHOUT_GAIN:
            children = [
                child
                for node in level
                for child in self._children(node.episode, trials - len(self._nodes))
            ]
            level = sorted(children, key=lambda node: -node.value)[:_WIDTH]
            without_gain += 1
            if level and level[0].value > best.value:
                best, without_gain = level[0], 0
        ranked = sorted(self._nodes.values(), key=lambda node: -node.value)[:kept]
        simple = {_end_of(node.episode): node for node in map(self._simplified, ranked)}
        return [
            PlayedSteps(node.episode.after(STOP_ACTION), node.reward)
            for node in sorted(simple.values(), key=lambda node: -node.value)
        ]

    def _children(self, episode: Episode, most: int) -> list[_Node]:
        """Return the nodes one step further that are new, at most so many."""
        result: list[_Node] = []
        offer = episode.offer
        for action, step in enumerate(offer.steps):
            if len(result) >= most:
                break
            if not isinstance(step, TreeStep | MappingStep) or not offer.is_allowed(action):
                continue
            child = episode.after(action)
            if _end_of(child) not in self._nodes:
                result.append(self._node(child))
        return result

    def _node(self, episode: Episode) -> _Node:
        """Return the node of an episode that goes on."""
        end = _end_of(episode)
        if end not in self._nodes:
            reward = self._reward_of(episode.after(STOP_ACTION))
            value = reward - _STEP_PRICE * len(episode.actions)
            self._nodes[end] = _Node(value, reward, episode)
        return self._nodes[end]

    def _simplified(self, node: _Node) -> _Node:
        """Return a node without the steps that are worth less than they cost."""
        for index in range(len(node.episode.actions) - 1, -1, -1):
            steps = _state_of(node.episode).steps
            shorter = self._replayed((*steps[:index], *steps[index + 1 :]))
            if shorter is None:
                continue
            reward = self._reward_of(shorter.after(STOP_ACTION))
            value = reward - _STEP_PRICE * len(shorter.actions)
            if value >= node.value:
                node = _Node(value, reward, shorter)
        return node

    def _replayed(self, steps: Sequence[Step]) -> Episode | None:
        """Return the episode of these steps, if each is offered and allowed."""
        episode = self._start
        for step in steps:
            offer = episode.offer
            if step not in offer.steps or not offer.is_allowed(offer.steps.index(step)):
                return None
            episode = episode.after(offer.steps.index(step))
        return episode


def _state_of(episode: Episode) -> TransformState:
    state = episode.transform_state
    assert state is not None
    return state


def _end_of(episode: Episode) -> object:
    """Return the candidate that an episode ends with if it stops now."""
    state = _state_of(episode)
    return state.schedule, state.mapping
