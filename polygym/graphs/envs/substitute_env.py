"""``polygym/Substitute-v0``: one substitution at one place, again and again."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from polygym.graphs.envs import observation_tables
from polygym.graphs.envs.base import (
    GraphEnv,
    Info,
    integer_argument,
    with_shared_sections,
)
from polygym.graphs.envs.observation_tables import MAX_VALUE, signed_log
from polygym.graphs.envs.rule_groups import RuleGroup, rule_group
from polygym.graphs.envs.substitution_episode import (
    SubstitutionEpisode,
    SubstitutionOptions,
    start_substitution,
)
from polygym.graphs.envs.task import GraphTask
from polygym.mdp.observation.arrays import Array, ArraySpec, Observation

SUBSTITUTION_PROGRESS = (
    "steps_by_limit",
    "cost",
    "least_cost",
    "nodes",
    "start_nodes",
    "candidates",
    "left_out",
    "illegal_actions",
)

_GROUPS = {group: place for place, group in enumerate(RuleGroup)}
_MAX_ROWS = 1 << 14


def substitution_table_specs(options: SubstitutionOptions) -> Mapping[str, ArraySpec]:
    """Return the arrays of an observation by name."""
    return {
        "progress": ArraySpec((len(SUBSTITUTION_PROGRESS),), np.float32, 0.0, MAX_VALUE),
        **observation_tables.graph_table_specs(
            options.max_nodes, options.max_edges, options.max_actions
        ),
        "action_mask": ArraySpec((1 + options.max_actions,), np.int8, 0, 1),
    }


@with_shared_sections
class SubstituteEnv(GraphEnv):
    """Make a tensor graph cheaper, one substitution at a time.

    ## Description

    The state is a graph of tensor operators. An action applies one rule at one place, which makes
    another graph that computes the same; the agent goes on from there, or stops. It is the move of
    TASO's search, which keeps a queue of all graphs that it has seen: here an agent chooses, and
    may take a step that makes the graph dearer because of what it makes possible.

    ## Action Space

    `Discrete(1 + max_actions)`: 0 stops, k is the k-th substitution that is possible. These are
    counted in the order of the table of rules and of the places where a rule matches; of several
    that make the same graph the first counts. Where there are more than `max_actions`, those are
    offered that lead to the cheapest graphs, in their order.

    ## Observation Space

    A `Dict` of boxes whose shapes depend on `max_nodes`, `max_edges` and `max_actions` alone.
    Tables are flattened in row-major order; rows that are not used are 0, a graph with more nodes
    shows its first ones. Sizes and numbers are signed logarithms, sign(x) · log2(1 + |x|); costs
    are shares of the start's cost.

    `progress`, float32 (8,): `steps_by_limit`; `cost` now, `least_cost` of a candidate; `nodes`,
    `start_nodes`, `candidates`, `left_out` (more candidates than are offered); `illegal_actions` /
    100.

    `nodes`, float32, max_nodes by 14, children first: `exists`, `constant` (known from weights
    alone), `result`, `cost`, `users`, `elements`, `rank`, `extent_1` … `extent_4`, `literal_1` …
    `literal_3`: numbers such as strides and axes.

    `kinds`, int8, max_nodes by 2: `operator` (from 1,
    `polygym.graphs.envs.observation_tables.OPERATOR_NAMES`), `activation` (0 none, relu, tanh,
    sigmoid, gelu).

    `edges`, int16, max_edges by 4: `exists`, `source` and `target` (rows of `nodes`), `position`
    among the target's tensors.

    `candidates`, float32, max_actions by 14: `exists`, `gain` (by the start's cost, less than 0
    where the graph becomes dearer), `more_nodes`, and one column for each group of rules
    (`polygym.graphs.envs.rule_groups`): 1 for the rule's.

    `substitutions`, int16, max_actions by 3: `rule` (its number in the table, from 0), `place_1`
    and `place_2`, the rows of the nodes that it matches at; -1 where there is none, or it is not
    shown.

    `action_mask`, int8 (1 + max_actions,): 1 for the actions that are allowed.

    ## Rewards

    (c(g) - c(g')) / c(start) for a substitution, 0 for stopping: the sum over an episode is its
    gain.

    ## Determinism

    All is a function of the actions, unless costs are measured.

    ## Episode End

    Terminated by action 0 (`status` "stopped") or after `max_steps` substitutions ("out of steps");
    never truncated.

    ## More Information

    Beside what both environments say, `info` has `steps`, `candidates` and `left_out` (int), and
    `last` (str): the rule that was applied last.

    ## More Arguments

    | argument | default | meaning |
    |---|---|---|
    | `max_actions` | 256 | substitutions that are offered at most |
    | `max_steps` | 64 | substitutions of an episode at most |
    | `max_nodes`, `max_edges` | 256, 768 | rows of the observation |
    """

    ID: ClassVar[str] = "polygym/Substitute-v0"

    def __init__(
        self,
        graph: Any = "nasrnn",
        *,
        max_actions: int = 256,
        max_steps: int = 64,
        max_nodes: int = 256,
        max_edges: int = 768,
        **others: Any,
    ) -> None:
        super().__init__(graph, **others)
        self._options = SubstitutionOptions(
            integer_argument("max_actions", max_actions, 1, _MAX_ROWS),
            integer_argument("max_steps", max_steps, 1, _MAX_ROWS),
            integer_argument("max_nodes", max_nodes, 1, _MAX_ROWS),
            integer_argument("max_edges", max_edges, 1, _MAX_ROWS),
        )
        self._add_arguments(self._options)
        self._define_spaces(substitution_table_specs(self._options))

    def picture(self, action: int) -> str:
        """Return the graph as SVG, with the nodes coloured that a substitution would replace.

        Raises:
            InputError: the action is not a substitution that is possible now.
        """
        from polygym.graphs.envs.rendering import matched_nodes_svg

        return matched_nodes_svg(self.episode, action)

    def _start(self, task: GraphTask) -> SubstitutionEpisode:
        return start_substitution(task, self._options)

    def _more_info(self) -> Info:
        episode: SubstitutionEpisode = self.episode
        return {
            "steps": len(episode.applied),
            "candidates": len(episode.candidates),
            "left_out": int(episode.omitted),
            "last": episode.applied[-1].rule if episode.applied else "",
        }

    def _observe(self, allowed: Array) -> Observation:
        episode: SubstitutionEpisode = self.episode
        options, task, nodes = episode.options, episode.task, episode.nodes
        first = task.initial_cost
        shares = [task.cost_cache.of_node(term) / first for term in nodes[: options.max_nodes]]
        return {
            "progress": self._progress(episode),
            "nodes": observation_tables.node_table(episode.graph, nodes, shares, options.max_nodes),
            "kinds": observation_tables.operator_table(nodes, options.max_nodes),
            "edges": observation_tables.edge_table(nodes, options.max_edges, options.max_nodes),
            "candidates": self._candidates(episode),
            "substitutions": self._substitutions(episode),
            "action_mask": allowed.astype(np.int8),
        }

    def _progress(self, episode: SubstitutionEpisode) -> Array:
        first, options = episode.task.initial_cost, episode.options
        least = min((candidate.cost for candidate in episode.candidates), default=episode.cost)
        result = (
            len(episode.applied) / options.max_steps,
            episode.cost / first,
            least / first,
            signed_log(len(episode.nodes)),
            signed_log(sum(episode.task.start_operators.values())),
            signed_log(len(episode.candidates)),
            signed_log(episode.omitted),
            episode.illegal / 100,
        )
        return np.clip(np.array(result, np.float32), 0.0, MAX_VALUE)

    def _candidates(self, episode: SubstitutionEpisode) -> Array:
        options, first = episode.options, episode.task.initial_cost
        array = np.zeros(
            (options.max_actions, len(observation_tables.CANDIDATE_COLUMNS)), np.float32
        )
        for row, candidate in enumerate(episode.candidates):
            array[row, :3] = (
                1.0,
                (episode.cost - candidate.cost) / first,
                signed_log(candidate.nodes - len(episode.nodes)),
            )
            array[row, 3 + _GROUPS[rule_group(candidate.rule)]] = 1.0
        return np.clip(array, -MAX_VALUE, MAX_VALUE).reshape(-1)

    def _substitutions(self, episode: SubstitutionEpisode) -> Array:
        options = episode.options
        array = np.zeros(
            (options.max_actions, len(observation_tables.SUBSTITUTION_COLUMNS)), np.int16
        )
        for row, candidate in enumerate(episode.candidates):
            places = [
                place if place < options.max_nodes else -1 for place in episode.places_of(candidate)
            ]
            array[row] = candidate.number, *[*places, -1, -1][:2]
        return array.reshape(-1)
