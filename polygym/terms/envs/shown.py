"""What an agent sees of an episode: a graph in flat arrays, padded, as large for every term.

A row is a node, in the order of the text. Edges are columns: what a node is a part of, as which
part, the first row with an identical part, and the row that binds a variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2

import numpy as np

from polygym.episodes.tables import Array, Observation, Table
from polygym.rewrite.term import Term
from polygym.terms.envs.episode import Episode, Layout, Task
from polygym.terms.language.nodes import FALSE, TRUE, is_lam, name_of
from polygym.terms.language.operators import OPERATORS

__all__ = ["COLUMNS", "KINDS", "PROGRESS", "observed", "rewrite_tables"]

KINDS = ("constant", "variable", "bound", "truth", "lam", *OPERATORS)
"""The kinds of nodes; a row has the number of its own, from 1."""

COLUMNS = ("kind", "part_of", "place", "same_as", "bound_by", "name")
PROGRESS = ("steps_left", "cost", "nodes", "steps_taken", "illegal_actions")

_NUMBERS = {kind: number for number, kind in enumerate(KINDS, 1)}
_LARGEST = 1e6


def rewrite_tables(max_nodes: int, actions: int) -> Mapping[str, Table]:
    """Return the arrays of an observation by name."""
    return {
        "progress": Table((len(PROGRESS),), np.float32, 0.0, _LARGEST),
        "nodes": Table((max_nodes, len(COLUMNS)), np.int16, -1, 2**15 - 1),
        "values": Table((max_nodes,), np.float32, -2048.0, 2048.0),
        "action_mask": Table((actions,), np.int8, 0, 1),
    }


def observed(episode: Episode, mask: Array) -> Observation:
    """Return what an agent sees."""
    task, layout = episode.task, episode.task.layout(episode.term)
    nodes, values = _rows(layout, task)
    first = episode.initial_cost or 1.0
    progress = np.array(
        [
            episode.left / task.steps,
            min(episode.cost / first, _LARGEST),
            len(layout.nodes) / task.max_nodes,
            len(episode.steps) / task.steps,
            episode.illegal / 100.0,
        ],
        np.float32,
    )
    return {
        "progress": progress,
        "nodes": nodes,
        "values": values,
        "action_mask": mask.astype(np.int8),
    }


def _rows(layout: Layout, task: Task) -> tuple[Array, Array]:
    nodes = np.zeros((task.max_nodes, len(COLUMNS)), np.int16)
    values = np.zeros(task.max_nodes, np.float32)
    first: dict[Term, int] = {}
    names: dict[str, int] = {}
    rows = []
    for row, (one, parent, at, binder) in enumerate(layout.nodes):
        kind, name = _kind(one), 0
        if kind == "variable":
            name = names.setdefault(name_of(one), len(names) + 1)
        elif kind == "constant":
            values[row] = _signed(one.head)
        elif kind == "truth":
            values[row] = float(one is TRUE)
        rows.append((_NUMBERS[kind], parent, at, first.setdefault(one, row), binder, name))
    nodes[: len(rows)] = rows
    return nodes.reshape(-1), values


def _kind(one: Term) -> str:
    head = one.head
    if not isinstance(head, str):
        return "constant"
    if one.children:
        return "lam" if is_lam(one) else head
    if one is TRUE or one is FALSE:
        return "truth"
    return "bound" if head.startswith("%") else "variable"


def _signed(value: object) -> float:
    """Return the signed logarithm of a number, whose size may be anything."""
    assert isinstance(value, int | float)
    size = log2(1.0 + abs(float(value)))
    return size if value >= 0 else -size
