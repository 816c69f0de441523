"""Substitute-v0: its candidates against brute force, what is shown of them, and what they pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs.envs import SteepestDescent
from polygym.graphs.envs.observation_tables import (
    CANDIDATE_COLUMNS,
    EDGE_COLUMNS,
    NODE_COLUMNS,
    OPERATOR_COLUMNS,
    OPERATOR_NAMES,
    SUBSTITUTION_COLUMNS,
)
from polygym.graphs.envs.rule_groups import RuleGroup, rule_group
from polygym.graphs.ir.build import binary, graph_input, matmul, relu, split, weight
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text
from polygym.rewrite.substitution import apply_match, find_matches
from polygym.rewrite.term import Term
from tests.graphs.envs.episodes import RULES, SUBSTITUTE, images, make, played, products

COLUMNS = {
    "nodes": NODE_COLUMNS,
    "kinds": OPERATOR_COLUMNS,
    "edges": EDGE_COLUMNS,
    "candidates": CANDIDATE_COLUMNS,
    "substitutions": SUBSTITUTION_COLUMNS,
}


def rows(observation: dict[str, Any], name: str, count: int | None = None) -> list[dict[str, Any]]:
    names = COLUMNS[name]
    result = observation[name].reshape(-1, len(names))[:count]
    return [dict(zip(names, row.tolist(), strict=True)) for row in result]


def by_brute_force(env: Any, root: Term) -> list[tuple[str, Term]]:
    """Return every rule at every place, one by one, each result once."""
    types, result, seen = env.episode.task.types, [], {root}
    for rule in env.table:
        for match in find_matches(root, [rule], types):
            made = apply_match(root, match, types)
            if made is not None and made not in seen:
                seen.add(made)
                result.append((rule.name, made))
    return result


@pytest.mark.parametrize("graph", [products, images])
def test_candidates_are_all_that_rules_make(graph: Any) -> None:
    env = make(SUBSTITUTE, graph(), max_steps=8)
    for seed in range(2):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        while not env.episode.is_over:
            episode = env.episode
            candidates = [(candidate.rule.name, candidate.root) for candidate in episode.candidates]
            assert candidates == by_brute_force(env, episode.root)
            for candidate in episode.candidates:
                assert (candidate.cost, candidate.nodes) == episode.task.cost_cache.of_graph(
                    candidate.root
                )
                assert env.table[candidate.number] is candidate.rule
                assert [episode.nodes[place] for place in episode.places_of(candidate)] == [
                    *candidate.places
                ]
            env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))


def test_an_action_is_its_candidate() -> None:
    env = make(SUBSTITUTE)
    env.reset(seed=0)
    chosen = env.episode.candidates[3]
    meaning = env.action_meanings[4]
    _, _, over, _, info = env.step(4)
    assert not over
    assert env.episode.root is chosen.root
    assert info["last"] == chosen.rule.name == meaning.split(" at ")[0]
    assert info["steps"] == 1


def test_of_too_many_those_are_offered_that_lead_to_the_cheapest() -> None:
    whole, part = make(SUBSTITUTE), make(SUBSTITUTE, max_actions=4)
    for env in (whole, part):
        _, info = env.reset(seed=0)
    every, offered = whole.episode.candidates, part.episode.candidates
    assert len(every) > 4 == len(offered)
    assert info["left_out"] == len(every) - 4
    assert [
        candidate.root for candidate in every if candidate.root in {x.root for x in offered}
    ] == [candidate.root for candidate in offered], "in their order"
    dearest = max(candidate.cost for candidate in offered)
    kept = {candidate.root for candidate in offered}
    assert all(candidate.cost >= dearest for candidate in every if candidate.root not in kept)


def test_rewards_add_up_to_the_gain() -> None:
    env = make(SUBSTITUTE, max_steps=20)
    gains = []
    for seed in range(6):
        total = 0.0
        for _, _, reward, _, _, info in played(env, seed):
            total += reward
            assert total == pytest.approx(info["gain"], abs=1e-12)
        assert info["status"] in ("stopped", "out of steps")
        gains.append(info["gain"])
    assert min(gains) < 0.0 < max(gains), "what makes a graph dearer costs"


def test_stopping_at_once_is_worth_nothing() -> None:
    env = make(SUBSTITUTE)
    env.reset(seed=0)
    _, reward, over, _, info = env.step(0)
    assert (reward, over, info["status"], info["is_success"]) == (0.0, True, "stopped", True)
    assert env.graph == products()


def test_an_episode_ends_after_its_steps() -> None:
    env = make(SUBSTITUTE, max_steps=3)
    env.reset(seed=0)
    overs = [env.step(1)[2:5:2] for _ in range(3)]
    assert [over for over, _ in overs] == [False, False, True]
    assert overs[-1][1]["status"] == "out of steps"


def test_the_steepest_descent_gains_with_every_step() -> None:
    env = make(SUBSTITUTE, images())
    _, info = env.reset(seed=0)
    policy, rewards = SteepestDescent(), []
    while info["status"] == "running":
        _, reward, _, _, info = env.step(policy(env, None))
        rewards.append(reward)
    assert info["gain"] > 0
    assert all(reward > 0 for reward in rewards[:-1])
    assert rewards[-1] == 0.0


def test_tables_show_the_graph() -> None:
    x, a = graph_input("x", 2, 4), weight("a", 4, 6)
    left, right = split(1, 2, matmul(x, a, "relu"))
    graph = Graph.of("g", relu(left), binary("ewadd", right, right))
    env = make(SUBSTITUTE, graph)
    observation, _ = env.reset(seed=0)
    nodes = rows(observation, "nodes", 9)
    kinds = rows(observation, "kinds", 9)
    heads = [OPERATOR_NAMES[row["operator"] - 1] if row["operator"] else "" for row in kinds]
    assert heads == ["input", "weight", "matmul", "split", "split0", "relu", "split1", "ewadd", ""]
    assert [row["exists"] for row in nodes] == [1.0] * 8 + [0.0]
    assert [row["constant"] for row in nodes[:3]] == [0.0, 1.0, 0.0]
    assert [row["result"] for row in nodes].count(1.0) == 2
    assert kinds[2]["activation"] == 1
    assert nodes[2]["extent_1"] == pytest.approx(np.log2(3))
    assert nodes[2]["extent_2"] == pytest.approx(np.log2(7))
    assert [nodes[3][f"literal_{place}"] for place in (1, 2, 3)] == pytest.approx(
        [1.0, np.log2(3), 0.0]
    )
    assert nodes[3]["users"] == pytest.approx(np.log2(3))
    assert sum(row["cost"] for row in nodes) == pytest.approx(1.0)
    edges = [tuple(row.values()) for row in rows(observation, "edges", 9)]
    assert edges == [
        (1, 0, 2, 0), (1, 1, 2, 1), (1, 2, 3, 0), (1, 3, 4, 0), (1, 4, 5, 0), (1, 3, 6, 0),
        (1, 6, 7, 0), (1, 6, 7, 1), (0, 0, 0, 0),
    ]  # fmt: skip


def test_tables_show_the_candidates() -> None:
    env = make(SUBSTITUTE)
    observation, info = env.reset(seed=0)
    episode, count = env.episode, info["candidates"]
    shown = rows(observation, "candidates", count + 1)
    places = rows(observation, "substitutions", count + 1)
    lines = graph_text(env.graph).splitlines()
    for candidate, row, place in zip(episode.candidates, shown, places, strict=False):
        gain = (episode.cost - candidate.cost) / episode.task.initial_cost
        assert row["exists"] == 1.0
        assert row["gain"] == pytest.approx(gain, abs=1e-6)
        assert [name for name in CANDIDATE_COLUMNS[3:] if row[name]] == [
            rule_group(candidate.rule).name.lower()
        ]
        assert RULES[place["rule"]] is candidate.rule
        assert (place["place_2"] == -1) == (not candidate.rule.is_multiple)
        assert lines[1 + place["place_1"]].startswith(
            f"%{place['place_1']} = {candidate.places[0].head}"
        )
    assert not any(shown[count].values())
    assert observation["action_mask"].sum() == 1 + count
    assert len(CANDIDATE_COLUMNS) == 3 + len(RuleGroup)


def test_a_graph_with_more_nodes_than_rows_shows_its_first_ones() -> None:
    env = make(SUBSTITUTE, max_nodes=6, max_edges=4, max_actions=300)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert sum(row["exists"] for row in rows(observation, "nodes")) == 6
    places = rows(observation, "substitutions", info["candidates"])
    assert {row["place_1"] for row in places} <= {-1, *range(6)}
    assert -1 in {row["place_1"] for row in places}


def test_a_candidate_can_be_seen() -> None:
    env: Any = make(SUBSTITUTE)
    env.reset(seed=0)
    pictures = {env.picture(action) for action in (1, 2)}
    assert len(pictures) == 2
    assert all(text.startswith("<svg") for text in pictures)
    for action in (0, len(env.episode.candidates) + 1):
        with pytest.raises(InputError, match="expected a substitution"):
            env.picture(action)


def test_a_text_marks_what_is_new() -> None:
    env = make(SUBSTITUTE, render_mode="ansi")
    env.reset(seed=0)
    assert "; new" not in env.render()
    fused = next(
        action
        for action, meaning in enumerate(env.action_meanings)
        if meaning.startswith("matmul-relu at")
    )
    env.step(fused)
    marked = [line for line in env.render().splitlines() if line.endswith("; new")]
    assert [line.split()[2:4] for line in marked] == [["matmul", "relu"]]


def test_a_record_names_rules_and_places() -> None:
    env = make(SUBSTITUTE)
    env.reset(seed=0)
    chosen = env.episode.candidates[0]
    places = list(env.episode.places_of(chosen))
    env.step(1)
    env.step(0)
    assert env.export()["actions"] == [
        {"action": chosen.rule.name, "places": places, "cost": chosen.cost},
        {"action": "stop", "places": [], "cost": chosen.cost},
    ]
