"""Episodes of rewriting, as values: a term, the steps that are left, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.errors import InputError, PolygymError
from polygym.lru_cache import LruCache
from polygym.mdp.observation.arrays import Array, ArraySpec, Observation
from polygym.rewrite.term import Term
from polygym.terms.cost import StaticCost
from polygym.terms.envs.encoding import COLUMNS, TermEncoder
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.program import TermProgram
from polygym.terms.rewriter import Position, Rewriter, RewriteStep

STOP = 0
"""The action that ends an episode."""

ILLEGAL_REWARD = -0.1
MAX_ILLEGAL_ACTIONS = 100

_REMEMBERED, _LEAST_REMEMBERED = 1 << 12, 16
_MOST_BYTES = 1 << 26
_NONE = np.zeros(0, np.int64)
_PART_OF, _PLACE = COLUMNS.index("part_of"), COLUMNS.index("place")


@dataclass(frozen=True, slots=True, eq=False)
class TermLayout:
    """A term written out: the rows of its nodes, and the actions that it allows, as numbers.

    ``nodes`` and ``values`` are as an agent sees them, padded and flat; ``mask`` is the same as
    ``actions`` for each that there is, 1 for those allowed.
    """

    rows: Array
    nodes: Array
    values: Array
    actions: Array
    mask: Array

    def place(self, row: int) -> Position:
        """Return the place of a node."""
        result: list[int] = []
        while row > 0:
            result.append(int(self.rows[row, _PLACE]))
            row = int(self.rows[row, _PART_OF])
        return tuple(reversed(result))


@dataclass(frozen=True, slots=True, eq=False)
class RewriteTask:
    """What episodes on a program share; ``is_relative_reward`` pays shares of the start's cost."""

    program: TermProgram
    rewriter: Rewriter
    cost: StaticCost
    max_steps: int
    max_nodes: int
    encoder: TermEncoder
    is_relative_reward: bool = False
    layouts: LruCache[Term, TermLayout] = field(init=False)

    def __post_init__(self) -> None:
        """Remember as many layouts as fit into memory."""
        size = self.actions + 8 * self.max_nodes * len(COLUMNS)
        most = max(_LEAST_REMEMBERED, min(_REMEMBERED, _MOST_BYTES // size))
        object.__setattr__(self, "layouts", LruCache(most))

    @property
    def actions(self) -> int:
        """How many actions there are: to stop, and every rule at every row."""
        return 1 + self.max_nodes * len(self.rewriter.rules)

    def start(self) -> RewriteEpisode:
        """Return an episode that begins.

        Raises:
            InputError: the term has more nodes than are shown.
        """
        nodes = term_facts(self.program.body).nodes
        if nodes > self.max_nodes:
            raise InputError(
                f"{self.program.name}: expected a term of at most {self.max_nodes} nodes "
                f"(max_nodes), found {nodes}"
            )
        return RewriteEpisode(self, self.program.body, self.max_steps)

    def layout(self, root: Term) -> TermLayout:
        """Return a term as it is written out."""
        return self.layouts.get(root, lambda: self._written_out(root))

    def _written_out(self, root: Term) -> TermLayout:
        rows, values, where, offers = self.encoder.layout(root)
        actions = where * np.int64(len(self.rewriter.rules))
        actions += offers[:, 0]
        actions += 1
        fits = offers[:, 1] <= self.max_nodes - len(rows)
        mask = np.zeros(self.actions, np.int8)
        mask[actions if fits.all() else actions[fits]] = 1
        mask[STOP] = 1
        nodes = np.zeros(self.max_nodes * len(COLUMNS), np.int16)
        nodes[: rows.size] = rows.reshape(-1)
        padded = np.zeros(self.max_nodes, np.float32)
        padded[: len(rows)] = values
        return TermLayout(rows, nodes, padded, mask.view(np.bool_).nonzero()[0], mask)

    def step(self, root: Term, action: int) -> RewriteStep:
        """Return the step that an action other than stopping is."""
        row, rule = divmod(action - 1, len(self.rewriter.rules))
        layout = self.layout(root)
        if row >= len(layout.rows):
            raise InputError(f"action {action}: expected a node, found row {row} empty")
        return RewriteStep(self.rewriter.rules[rule], layout.place(row))


@dataclass(frozen=True, slots=True, eq=False)
class RewriteEpisode:
    """A state, and the actions that led there."""

    task: RewriteTask
    term: Term
    steps_left: int
    actions: tuple[int, ...] = ()
    steps: tuple[RewriteStep, ...] = ()
    illegal: int = 0
    status: str = "running"
    reward: float = 0.0
    refusal: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status != "running"

    @property
    def cost(self) -> float:
        """What the term costs."""
        return self.task.cost(self.term)

    @property
    def initial_cost(self) -> float:
        """What the first term costs."""
        return self.task.cost(self.task.program.body)

    def legal_actions(self) -> Array:
        """Return the numbers of the actions that are possible, in their order; none at the end."""
        if self.is_over:
            return _NONE
        return self.task.layout(self.term).actions

    def step(self, action: int) -> RewriteEpisode:
        """Return the state after an action; one that is not possible costs, and changes nothing."""
        if self.is_over:
            raise InputError("an action: expected an episode that has not ended")
        if action == STOP:
            return replace(
                self, actions=(*self.actions, action), status="stopped", reward=0.0, refusal=""
            )
        mask = self.task.layout(self.term).mask
        if not (0 <= action < len(mask) and mask[action]):
            return self._refusing(action)
        step = self.task.step(self.term, action)
        made = self.task.rewriter.after(self.term, step)
        saved = self.cost - self.task.cost(made)
        if self.task.is_relative_reward:
            saved /= self.initial_cost or 1.0
        return RewriteEpisode(
            self.task,
            made,
            self.steps_left - 1,
            (*self.actions, action),
            (*self.steps, step),
            self.illegal,
            "running" if self.steps_left > 1 else "out of steps",
            saved,
        )

    def _refusing(self, action: int) -> RewriteEpisode:
        try:
            step = self.task.step(self.term, action)
            self.task.rewriter.after(self.term, step)
            reason = f"{step}: expected at most {self.task.max_nodes} nodes afterwards, found more"
        except PolygymError as error:
            reason = str(error)
        return replace(
            self,
            illegal=self.illegal + 1,
            status="invalid" if self.illegal + 1 >= MAX_ILLEGAL_ACTIONS else "running",
            reward=ILLEGAL_REWARD,
            refusal=reason,
        )


PROGRESS = ("steps_left", "cost", "nodes", "steps_taken", "illegal_actions")

_LARGEST = 1e6


def rewrite_tables(max_nodes: int, actions: int) -> Mapping[str, ArraySpec]:
    """Return the arrays of an observation by name."""
    return {
        "progress": ArraySpec((len(PROGRESS),), np.float32, 0.0, _LARGEST),
        "nodes": ArraySpec((max_nodes, len(COLUMNS)), np.int16, -1, 2**15 - 1),
        "constants": ArraySpec((max_nodes,), np.float32, -2048.0, 2048.0),
        "action_mask": ArraySpec((actions,), np.int8, 0, 1),
    }


def observe(episode: RewriteEpisode, mask: Array, cost: float) -> Observation:
    """Return what an agent sees, of a term that costs so many times what the first one did."""
    task, layout = episode.task, episode.task.layout(episode.term)
    progress = (
        episode.steps_left / task.max_steps,
        min(cost, _LARGEST),
        len(layout.rows) / task.max_nodes,
        len(episode.steps) / task.max_steps,
        episode.illegal / 100.0,
    )
    return {
        "progress": np.array(progress, np.float32),
        "nodes": layout.nodes.copy(),
        "constants": layout.values.copy(),
        "action_mask": mask.copy(),
    }
