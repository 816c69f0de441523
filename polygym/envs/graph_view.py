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

Example, y = Ax: two nodes, and two edges with the links (S, T) and (T, T), which is a loop.
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

GraphObservation: TypeAlias = dict[str, Any]

# The flat arrays that are in the graph.
_OF_STATEMENTS = ("statements", "rows", "generator", "point", "nest_of")
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
        nodes = len(node_columns(self._dimensions, decides=self._decides))
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
        return GraphInstance(
            nodes=np.concatenate(parts, axis=1).astype(np.float32),
            edges=table[is_shown][:, _SHOWN].astype(np.float32),
            edge_links=links[is_shown],
        )


def _box(size: int) -> spaces.Box:
    return spaces.Box(-_LARGEST, _LARGEST, (size,), np.float32)
