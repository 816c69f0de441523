"""What an agent sees of an episode: a graph in flat arrays, padded, as large for every term.

A row is a node, in the order of the text. Edges are columns: what a node is a part of, as which
part, the first row with an identical part, and the row that binds a variable.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polygym.mdp.observation.arrays import Array, ArraySpec, Observation
from polygym.terms.envs.encoding import COLUMNS
from polygym.terms.envs.episode import RewriteEpisode

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
