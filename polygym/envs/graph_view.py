"""An observation as a graph: statements are its nodes, dependences its edges, as many as there are.

    env = GraphView(gymnasium.make("polygym:polygym/Schedule-v0", kernel="mvt"))
    observation, info = env.reset()
    graph = observation["graph"]
    graph.nodes.shape, graph.edges.shape, graph.edge_links

It says what the flat arrays say, without rows that stand for nothing. A node has, side by side, the
columns of its row in ``statements``, in every dimension of ``rows``, in ``generator`` and in
``point``, and in Optimize-v0 its nest's number (``nest_of``); an edge has the columns of its row in
``dependences``, less whether it exists and which statements it joins: those are the link, from the
source's node to the sink's. What is of the whole state (``progress``, ``question``, ``choices`` …)
stays beside the graph as it is. :func:`node_columns` and :func:`edge_columns` name the columns.

In Transform-v0 loops are nodes too, behind the statements, with the columns of their rows in
``loops``; a statement has 0 there, and a loop 0 in all others. More edges, with 0 in all columns of
a dependence, link a loop to each loop and statement of its body. :func:`loop_node_columns` names
the columns that are added.

Example, y = Ax: two nodes, and two edges with the links (S, T) and (T, T), which is a loop. In
Transform-v0 five nodes, and four edges more: L1 → S, L2 → L3 and so on.
"""

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.spaces import GraphInstance
from gymnasium.utils import RecordConstructorArgs

from polygym.envs.base import PolygymEnv
from polygym.errors import InputError
from polygym.mdp.observation.arrays import MOST_DEPENDENCES, MOST_STATEMENTS, Array, Observation
from polygym.mdp.observation.episode_arrays import (
    DEPENDENCE_COLUMNS,
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
)
from polygym.mdp.observation.transform_arrays import LOOP_COLUMNS

GraphObservation: TypeAlias = dict[str, Any]

# The flat arrays that are in the graph.
_OF_STATEMENTS = ("statements", "rows", "generator", "point", "nest_of", "loop_of", "loops")
_OF_DEPENDENCES = ("dependences",)
_LINK = ("exists", "source", "sink")
_EXISTS, _SOURCE, _SINK = (DEPENDENCE_COLUMNS.index(name) for name in _LINK)
_SHOWN = [place for place, name in enumerate(DEPENDENCE_COLUMNS) if name not in _LINK]
_STATEMENT_EXISTS = STATEMENT_COLUMNS.index("exists")
_LARGEST = 127.0


def node_columns(max_dimensions: int, *, decides: bool) -> tuple[str, ...]:
    """Return the names of a node's numbers; ``decides``: in Optimize-v0.

    >>> node_columns(1, decides=True)[27:31], node_columns(1, decides=True)[-1]
    (('rank', 'moved', 'row_1_iterator_1', 'row_1_iterator_2'), 'nest')
    """
    rows = [f"row_{number}" for number in range(1, max_dimensions + 1)]
    return (
        *STATEMENT_COLUMNS,
        *(f"{row}_{name}" for row in (*rows, "generator", "point") for name in ROW_COLUMNS),
        *(("nest",) if decides else ()),
    )


def loop_node_columns() -> tuple[str, ...]:
    """Return the names of the numbers that a node has in Transform-v0 behind the others."""
    return tuple(f"loop_{name}" for name in LOOP_COLUMNS)


def edge_columns() -> tuple[str, ...]:
    """Return the names of an edge's numbers."""
    return tuple(DEPENDENCE_COLUMNS[place] for place in _SHOWN)


class GraphView(
    gymnasium.ObservationWrapper[GraphObservation, np.int64, Observation], RecordConstructorArgs
):
    """Shows observations as graphs; the module's docstring says what is in them."""

    def __init__(self, env: gymnasium.Env[Observation, np.int64]) -> None:
        """Show one of polygym's environments so.

        Raises:
            InputError: another environment, or one whose observation has been changed already.
        """
        RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        shown = env.observation_space
        known = getattr(env.unwrapped, "observation_space", None)
        if not isinstance(env.unwrapped, PolygymEnv) or shown != known:
            raise InputError(
                "a view as a graph: expected one of polygym's environments with its own "
                f"observations, found {env}"
            )
        boxes = env.unwrapped.observation_boxes
        self._decides = "nest_of" in boxes
        self._dimensions = boxes["rows"].shape[0] // (MOST_STATEMENTS * len(ROW_COLUMNS))
        self._transforms = "loops" in boxes
        nodes = len(node_columns(self._dimensions, decides=self._decides))
        nodes += len(LOOP_COLUMNS) * self._transforms
        self.observation_space = spaces.Dict(
            {
                "graph": spaces.Graph(_box(nodes), _box(len(_SHOWN))),
                **{
                    name: box
                    for name, box in boxes.items()
                    if name not in (*_OF_STATEMENTS, *_OF_DEPENDENCES)
                },
            }
        )

    def observation(self, observation: Observation) -> GraphObservation:
        """Return a flat observation as a graph."""
        whole = {
            name: array
            for name, array in observation.items()
            if name not in (*_OF_STATEMENTS, *_OF_DEPENDENCES)
        }
        return {"graph": self._graph(observation), **whole}

    def action_masks(self) -> Array:
        """Return which actions are allowed, for algorithms with masks."""
        env = self.env.unwrapped
        assert isinstance(env, PolygymEnv)
        return env.action_masks()

    def _graph(self, shown: Observation) -> GraphInstance:
        statements = shown["statements"].reshape(MOST_STATEMENTS, len(STATEMENT_COLUMNS))
        count = int(statements[:, _STATEMENT_EXISTS].sum())
        rows = shown["rows"].reshape(self._dimensions, MOST_STATEMENTS, len(ROW_COLUMNS))
        parts = [statements[:count], *rows[:, :count]]
        for name in ("generator", "point"):
            parts.append(shown[name].reshape(MOST_STATEMENTS, len(ROW_COLUMNS))[:count])
        if self._decides:
            parts.append(shown["nest_of"][:count, None])
        table = shown["dependences"].reshape(MOST_DEPENDENCES, len(DEPENDENCE_COLUMNS))
        table = table[: int(table[:, _EXISTS].sum())]
        links = table[:, [_SOURCE, _SINK]].astype(np.int64)
        # Of more statements than are shown a dependence may join some that are not.
        is_shown = (links < count).all(axis=1)
        graph = GraphInstance(
            nodes=np.concatenate(parts, axis=1).astype(np.float32),
            edges=table[is_shown][:, _SHOWN].astype(np.float32),
            edge_links=links[is_shown],
        )
        return _with_loops(graph, shown) if self._transforms else graph


def _with_loops(graph: GraphInstance, shown: Observation) -> GraphInstance:
    """Return the graph with a node for every loop, and an edge to what is in its body."""
    loops = shown["loops"].reshape(-1, len(LOOP_COLUMNS))
    loops = loops[loops[:, LOOP_COLUMNS.index("exists")] > 0]
    known: Array = np.asarray(graph.nodes)
    edges: Array = np.asarray(graph.edges)
    count, width = known.shape
    nodes = np.zeros((count + len(loops), width + len(LOOP_COLUMNS)), np.float32)
    nodes[:count, :width] = known
    nodes[count:, width:] = loops
    parents = loops[:, LOOP_COLUMNS.index("parent")].astype(np.int64)
    pairs = [(parent - 1 + count, count + own) for own, parent in enumerate(parents) if parent]
    inner = shown["loop_of"][:count].astype(np.int64)
    pairs += [(loop - 1 + count, own) for own, loop in enumerate(inner) if loop]
    assert graph.edge_links is not None
    more = np.array(pairs, np.int64).reshape(-1, 2)
    return GraphInstance(
        nodes=nodes,
        edges=np.concatenate([edges, np.zeros((len(more), edges.shape[1]), np.float32)]),
        edge_links=np.concatenate([graph.edge_links.reshape(-1, 2), more]),
    )


def _box(size: int) -> spaces.Box:
    return spaces.Box(-_LARGEST, _LARGEST, (size,), np.float32)
