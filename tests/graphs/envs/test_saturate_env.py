"""Saturate-v0: what its actions do to the e-graph, what they cost, and what is extracted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs.envs import SteepestDescent, Tensat, replay
from polygym.graphs.envs.rule_groups import RuleGroup, rule_group, rule_operators
from polygym.graphs.envs.saturate_env import GROUP_COLUMNS, SATURATION_PROGRESS
from polygym.graphs.envs.saturation_episode import (
    ACTIONS,
    ALL_MULTI_SOURCE,
    ALL_SINGLE_SOURCE,
    EXTRACT_GREEDY,
    EXTRACT_OPTIMAL,
    start_saturation,
)
from polygym.graphs.ir.build import graph_input, matmul, weight
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.egraph import EGraph, SaturationLimits, run_iteration, saturate
from tests.graphs.envs.episodes import RULES, SATURATE, SUBSTITUTE, images, make, played, products


def egraph_of(graph: Graph) -> EGraph:
    egraph = EGraph(TENSOR_DOMAIN)
    egraph.add_term(graph.root)
    egraph.rebuild()
    return egraph


def shape_of(egraph: EGraph) -> tuple[int, int, list[int]]:
    return egraph.node_count, egraph.class_count, egraph.blacklist


def table(observation: dict[str, Any], name: str) -> dict[str, Any]:
    rows = observation["groups"].reshape(len(ACTIONS), len(GROUP_COLUMNS))
    return dict(zip(GROUP_COLUMNS, rows[ACTIONS.index(name)].tolist(), strict=True))


@pytest.mark.parametrize("graph", [products, images])
def test_an_action_does_what_a_step_of_its_rules_does(graph: Any) -> None:
    env, oracle = make(SATURATE, graph()), egraph_of(graph())
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        allowed = np.flatnonzero(env.action_masks())
        action = int(rng.choice(allowed[allowed < EXTRACT_GREEDY]))
        if action < ALL_SINGLE_SOURCE:
            rules = [rule for rule in RULES if rule_group(rule).value == ACTIONS[action]]
        else:
            rules = [rule for rule in RULES if rule.is_multiple == (action == ALL_MULTI_SOURCE)]
        # The order of groups is that of the actions.
        rules.sort(key=lambda rule: list(RuleGroup).index(rule_group(rule)))
        before = oracle.node_count
        done = run_iteration(oracle, rules, 400)
        observation, *_ = env.step(action)
        assert shape_of(env.episode.egraph) == shape_of(oracle)
        shown = table(observation, ACTIONS[action])
        assert shown["last_growth"] == pytest.approx(np.log2(1 + oracle.node_count - before))
        assert shown["last_matches"] == pytest.approx(np.log2(1 + sum(done.applications.values())))


def test_what_is_masked_could_change_nothing() -> None:
    """A masked group, applied nevertheless, leaves the e-graph as it is; so is the mask exact."""
    env = make(SATURATE, max_nodes=2000)
    refused = 0
    for seed in range(3):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            episode, mask = env.episode, env.action_masks()
            for action in np.flatnonzero(~mask):
                assert not episode.is_full
                copy = episode.egraph.copy()
                before = copy.changes
                assert not run_iteration(copy, episode.rules_of(int(action)), 2000).changed
                assert copy.changes == before
                refused += 1
            others = np.flatnonzero(mask)[:-2]
            if not others.size:
                break
            env.step(int(rng.choice(others)))
    assert refused > 20


def test_a_saturated_e_graph_allows_extraction_alone() -> None:
    x = graph_input("x", 2, 3)
    chain = matmul(x, matmul(weight("a", 3, 4), weight("b", 4, 5)))
    single = [rule for rule in RULES if not rule.is_multiple]
    env = make(SATURATE, Graph.of("g", chain), rules=single)
    env.reset(seed=0)
    assert env.action_masks()[ALL_SINGLE_SOURCE]
    while env.action_masks()[ALL_SINGLE_SOURCE]:
        env.step(ALL_SINGLE_SOURCE)
    assert np.flatnonzero(env.action_masks()).tolist() == [EXTRACT_GREEDY, EXTRACT_OPTIMAL]
    idle = "nothing has changed since it was applied last without effect"
    assert env.episode.refusal(1) == idle, "together with the others"
    assert env.step(1)[4]["refused"] == idle


def test_a_full_e_graph_allows_extraction_alone() -> None:
    env = make(SATURATE, max_nodes=45)
    _, info = env.reset(seed=0)
    while info["action_mask"][:EXTRACT_GREEDY].any():
        observation, *_, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert info["nodes"] <= 45
    assert observation["progress"][SATURATION_PROGRESS.index("is_full")] == 1.0
    assert "full" in env.episode.refusal(ALL_SINGLE_SOURCE)
    _, _, over, _, info = env.step(EXTRACT_OPTIMAL)
    assert over
    assert info["status"] == "optimal"


@pytest.mark.parametrize(("growth", "most"), [(1.5, 80), (0.0, 100), (9.0, 100)])
def test_the_limit_may_be_by_the_nodes_of_the_start(growth: float, most: int) -> None:
    env = make(SATURATE, graph="bert", max_growth=growth, max_nodes=100)
    _, start = env.reset(seed=0)
    assert start["nodes"] == 53
    env.step(ALL_MULTI_SOURCE)
    *_, info = env.step(ALL_SINGLE_SOURCE)
    assert info["nodes"] == most
    env.step(EXTRACT_OPTIMAL)
    assert replay(env.unwrapped.export()).graph == env.unwrapped.graph


def test_the_last_step_allows_extraction_alone() -> None:
    env = make(SATURATE, max_steps=2)
    env.reset(seed=0)
    env.step(ALL_MULTI_SOURCE)
    _, _, over, _, info = env.step(ALL_SINGLE_SOURCE)
    assert not over
    assert np.flatnonzero(info["action_mask"]).tolist() == [EXTRACT_GREEDY, EXTRACT_OPTIMAL]
    assert "2 groups" in env.episode.refusal(ALL_SINGLE_SOURCE)


@pytest.mark.parametrize("price", [0.0, 1e-5])
def test_rewards_add_up_to_the_gain_less_the_price_of_nodes(price: float) -> None:
    env = make(SATURATE, node_price=price)
    gains = set()
    for seed in range(5):
        total, nodes = 0.0, 0
        for _, _, reward, _, _, info in played(env, seed):
            total += reward
            nodes += info["nodes"]
        assert total == pytest.approx(info["gain"] - price * nodes)
        assert info["gain"] == pytest.approx(1 - info["cost"] / info["initial_cost"])
        assert info["gain"] >= 0.0
        gains.add(round(info["gain"], 6))
    assert len(gains) > 1


def test_time_has_a_price_if_it_is_asked_for() -> None:
    free, dear = (make(SATURATE, node_price=0.0, second_price=price) for price in (0.0, 1e3))
    for env in (free, dear):
        env.reset(seed=0)
    assert free.step(ALL_SINGLE_SOURCE)[1] == 0.0
    assert dear.step(ALL_SINGLE_SOURCE)[1] < 0.0


@pytest.mark.parametrize("graph", [products, images])
def test_the_optimum_is_no_dearer_than_greedy_and_not_below_its_bound(graph: Any) -> None:
    env = make(SATURATE, graph())
    env.reset(seed=0)
    for action in (ALL_MULTI_SOURCE, ALL_SINGLE_SOURCE, ALL_SINGLE_SOURCE):
        env.step(action)
    greedy, optimal = env.fork(), env.fork()
    shown = env.episode.cost
    first = greedy.step(EXTRACT_GREEDY)[4]
    second = optimal.step(EXTRACT_OPTIMAL)[4]
    assert first["cost"] == shown, "what greedy extraction would choose is said before"
    assert (first["status"], second["status"]) == ("greedy", "optimal")
    assert second["bound"] == pytest.approx(second["cost"])
    assert second["cost"] <= first["cost"] < first["initial_cost"]


def test_a_solver_that_is_stopped_says_so() -> None:
    env = make(SATURATE, images(), extraction_seconds=0.0, max_nodes=4000)
    env.reset(seed=0)
    for action in (ALL_MULTI_SOURCE, ALL_SINGLE_SOURCE, ALL_SINGLE_SOURCE):
        env.step(action)
    _, _, over, _, info = env.step(EXTRACT_OPTIMAL)
    assert over
    assert info["status"] == "bounded"
    assert 0.0 <= info["bound"] <= info["cost"] <= info["initial_cost"]


@pytest.mark.parametrize(("name", "k_multi"), [("bert", 0), ("bert", 2), ("nasrnn", 1)])
def test_tensat_reaches_the_e_graph_of_saturation(name: str, k_multi: int) -> None:
    """Apart from cycles, which are cut once more between the groups, it is the same process."""
    env = make(SATURATE, name, max_nodes=10_000)
    policy = Tensat(k_multi)
    _, info = env.reset(seed=0)
    while info["status"] == "running":
        *_, info = env.step(policy(env, None))
    oracle = egraph_of(env.episode.task.graph)
    report = saturate(oracle, env.table, SaturationLimits(k_multi=k_multi, nodes=10_000))
    actions = env.episode.actions
    assert actions.count(ALL_MULTI_SOURCE) == k_multi
    assert actions.count(ALL_SINGLE_SOURCE) <= report.iterations
    assert actions[-1] == EXTRACT_OPTIMAL
    assert abs(info["nodes"] - report.nodes) <= report.nodes // 20


def test_policies_know_their_environments() -> None:
    saturate_env, substitute_env = make(SATURATE), make(SUBSTITUTE)
    for env in (saturate_env, substitute_env):
        env.reset(seed=0)
    assert Tensat(is_greedy=True)(saturate_env) == ALL_MULTI_SOURCE
    with pytest.raises(InputError, match="Saturate"):
        Tensat()(substitute_env)
    with pytest.raises(InputError, match="Substitute"):
        SteepestDescent()(saturate_env)


def test_the_first_observation_shows_the_graph() -> None:
    env = make(SATURATE)
    observation, _ = env.reset(seed=0)
    progress = dict(zip(SATURATION_PROGRESS, observation["progress"].tolist(), strict=True))
    start = len(products().nodes())
    assert progress["start_nodes"] == pytest.approx(np.log2(1 + start))
    assert progress["cost"] == 1.0
    assert progress["paid"] == progress["illegal_actions"] == 0.0
    first, now = observation["operators"].reshape(2, -1)
    # Results are joined by noop in an e-graph.
    assert first.sum() == pytest.approx(now.sum() - 1.0)
    assert table(observation, "several products") == {
        "allowed": 1.0,
        "rules": 1.0,
        "applications": 0.0,
        "last_matches": 0.0,
        "last_growth": 0.0,
        "idle": 0.0,
    }
    assert table(observation, "several convolutions")["allowed"] == 0.0
    assert table(observation, "convolutions and pools")["rules"] == 0.0


def test_groups_whose_operators_are_missing_are_masked() -> None:
    env = make(SATURATE)
    env.reset(seed=0)
    episode = env.episode
    for action, group in enumerate(RuleGroup):
        there = episode.nodes_by_head.keys()
        rules = [rule for rule in RULES if rule_group(rule) is group]
        fits = any(rule_operators(rule, of_sources=True) <= there for rule in rules)
        assert episode.mask()[action] == fits


def test_a_start_is_the_same_whatever_came_before() -> None:
    env = make(SATURATE)
    env.reset(seed=0)
    task, options = env.episode.task, env.episode.options
    env.step(ALL_SINGLE_SOURCE)
    assert shape_of(start_saturation(task, options).egraph) == shape_of(egraph_of(task.graph))
