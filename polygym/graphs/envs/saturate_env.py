"""``polygym/Saturate-v0``: groups of rules grow an e-graph, from which a graph is extracted."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from polygym.graphs.envs.base import (
    GraphEnv,
    Info,
    integer_argument,
    real_argument,
    with_shared_sections,
)
from polygym.graphs.envs.observation_tables import OPERATOR_NAMES, signed_log
from polygym.graphs.envs.saturation_episode import (
    ACTIONS,
    SaturationEpisode,
    SaturationOptions,
    start_saturation,
)
from polygym.graphs.envs.task import GraphTask
from polygym.mdp.observation.arrays import Array, ArraySpec, Observation

ID = "polygym/Saturate-v0"

SATURATION_PROGRESS = (
    "nodes_by_limit",
    "steps_by_limit",
    "nodes",
    "classes",
    "blacklisted",
    "start_nodes",
    "cost",
    "paid",
    "is_full",
    "illegal_actions",
)
GROUP_COLUMNS = ("allowed", "rules", "applications", "last_matches", "last_growth", "idle")

_MAX_NODES = 1_000_000


def saturation_tables() -> Mapping[str, ArraySpec]:
    """Return the arrays of an observation by name."""
    return {
        "progress": ArraySpec((len(SATURATION_PROGRESS),), np.float32, 0.0, 64.0),
        "operators": ArraySpec((2, len(OPERATOR_NAMES)), np.float32, 0.0, 64.0),
        "groups": ArraySpec((len(ACTIONS), len(GROUP_COLUMNS)), np.float32, 0.0, 64.0),
        "action_mask": ArraySpec((len(ACTIONS),), np.int8, 0, 1),
    }


@with_shared_sections
class SaturateEnv(GraphEnv):
    """Grow an e-graph of everything that a tensor graph is equal to, then extract the cheapest.

    ## Description

    Rules never replace anything here: their results are added to an *e-graph*, which holds all
    graphs that are known to be equal. So the order of rules matters only because nodes are limited.
    The limit is always reached: rules that merge two products of one input make more such products,
    and the e-graph grows with the fourth power of their number. An agent decides which group of
    rules is worth its nodes, and when to stop. The method of TENSAT is the policy
    `polygym.graphs.envs.policies.Tensat`: every rule of several outputs `k_multi` times, the
    others until nothing changes.

    ## Action Space

    `Discrete(15)`. An action applies the rules of a group to all their matches, once, or ends:

    | number | action | the rules with |
    |---|---|---|
    | 0 | element-wise algebra | sums, products and other functions of elements |
    | 1 | products | products of matrices |
    | 2 | convolutions and pools | convolutions, pools, enlarged and merged kernels |
    | 3 | activations | relu, tanh, sigmoid … and what they are applied to |
    | 4 | transposes and reshapes | another order or another shape |
    | 5 | concatenations and splits | parts of a tensor, without products |
    | 6 | concatenations of products | parts of a tensor, and products |
    | 7 | concatenations of convolutions | parts of a tensor, and convolutions |
    | 8 | several outputs | several sources, without products |
    | 9 | several products | several sources that are products |
    | 10 | several convolutions | several sources that are convolutions |
    | 11 | every rule of one output | 0 to 7 together |
    | 12 | every rule of several outputs | 8 to 10 together |
    | 13 | extract greedily | the end: the cheapest node of every class, as if nothing were shared |
    | 14 | extract optimally | the end: the best graph by integer programming |

    A rule is in the first group that fits, from 10 to 8, then 7 to 5, 4, 3, 2, 1, 0.

    ## Observation Space

    A `Dict` of boxes whose shapes are always the same. Tables are flattened in row-major order;
    numbers of things are log2(1 + x); all are float32 in [0, 64] but the mask.

    `progress` (10,): `nodes_by_limit`, `steps_by_limit`; `nodes`, `classes`, `blacklisted` nodes of
    the e-graph; `start_nodes` it began with; `cost` of what greedy extraction would choose, by the
    start's; `paid` so far for nodes and time; `is_full`; `illegal_actions` / 100.

    `operators`, 2 by 47: how many nodes there were of each operator at the start, and are
    now (`polygym.graphs.envs.observation_tables.OPERATOR_NAMES` names the columns).

    `groups`, 15 by 6, a row for every action: `allowed`, number of `rules`, number of
    `applications`; of the last one `last_matches`, that changed something, and `last_growth`, the
    nodes that it added; `idle`, 1 where it changed nothing and nothing has changed since.

    `action_mask`, int8 (15,): 1 for the actions that are allowed.

    ## Masks

    A group is not allowed if the table has no rules of it, if none of them has all its operators in
    the e-graph, if it was applied and nothing has changed since, if the e-graph is full, or after
    `max_steps` groups. Extraction always is.

    ## Rewards

    Every action costs `node_price` times the nodes of the e-graph after it, since that is what
    searching, applying and extracting takes time for: with the default 0.001 of the start's cost
    in an e-graph of 10,000 nodes. An extraction brings the gain,
    (c(start) - c(result)) / c(start), as well; a result that costs more than the start is not
    taken. `second_price` is a price of wall-clock time beside it, 0 unless it is asked for.

    ## Determinism

    All is a function of the actions, unless `second_price` is more than 0, costs are measured, or
    the solver is stopped by its clock after `extraction_seconds`, in which case the status is
    "bounded". So this environment is registered as `nondeterministic`.

    ## Episode End

    Terminated by an extraction; never truncated. `status` is then "greedy", "optimal" (proved), or
    "bounded": the solver was stopped before a proof, and no graph costs less than `bound`.

    ## More Information

    Beside what both environments say, `info` has `nodes`, `classes`, `steps` (int), and `bound`
    (float): less than that no graph in the e-graph costs, 0 where nothing is known.

    ## More Arguments

    | argument | default | meaning |
    |---|---|---|
    | `max_nodes` | 10000 | nodes of the e-graph at most |
    | `max_growth` | 0.0 | nodes at most, by those of the start; 0: no such limit |
    | `max_steps` | 30 | groups of rules that are applied at most |
    | `node_price` | 1e-7 | what a node costs in every step |
    | `second_price` | 0.0 | what a second costs |
    | `extraction_seconds` | 5.0 | when the solver is stopped |
    """

    ID: ClassVar[str] = ID

    def __init__(
        self,
        graph: Any = "nasrnn",
        *,
        max_nodes: int = 10_000,
        max_growth: float = 0.0,
        max_steps: int = 30,
        node_price: float = 1e-7,
        second_price: float = 0.0,
        extraction_seconds: float = 5.0,
        **others: Any,
    ) -> None:
        super().__init__(graph, **others)
        self._options = SaturationOptions(
            integer_argument("max_nodes", max_nodes, 1, _MAX_NODES),
            real_argument("max_growth", max_growth),
            integer_argument("max_steps", max_steps, 1, _MAX_NODES),
            real_argument("node_price", node_price),
            real_argument("second_price", second_price),
            real_argument("extraction_seconds", extraction_seconds),
        )
        self._add_arguments(self._options)
        self._define_spaces(saturation_tables())

    def _start(self, task: GraphTask) -> SaturationEpisode:
        return start_saturation(task, self._options)

    def _more_info(self) -> Info:
        episode: SaturationEpisode = self.episode
        return {
            "nodes": int(episode.egraph.node_count),
            "classes": int(episode.egraph.class_count),
            "steps": int(episode.steps),
            "bound": float(episode.lower_bound),
        }

    def _observe(self, allowed: Array) -> Observation:
        episode: SaturationEpisode = self.episode
        egraph, options = episode.egraph, episode.options
        start = episode.task.start_operators
        progress = (
            egraph.node_count / options.max_nodes,
            episode.steps / options.max_steps,
            signed_log(egraph.node_count),
            signed_log(egraph.class_count),
            signed_log(len(egraph.blacklist)),
            signed_log(sum(start.values())),
            episode.cost / episode.task.initial_cost,
            episode.total_price,
            episode.is_full,
            episode.illegal / 100,
        )
        counts = [
            [signed_log(counter[name]) for name in OPERATOR_NAMES]
            for counter in (start, episode.nodes_by_operator)
        ]
        groups = [
            (
                allowed[action],
                signed_log(len(episode.rules_of(action))),
                signed_log(done.count),
                signed_log(done.matches),
                signed_log(max(done.growth, 0)),
                episode.is_idle(action),
            )
            for action, done in enumerate(episode.action_statistics)
        ]
        return {
            "progress": _log_scaled(progress),
            "operators": _log_scaled(counts),
            "groups": _log_scaled(groups),
            "action_mask": allowed.astype(np.int8),
        }


def _log_scaled(values: Any) -> Array:
    return np.clip(np.array(values, np.float32), 0.0, 64.0).reshape(-1)
