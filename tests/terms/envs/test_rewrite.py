"""polygym/Rewrite-v0: what it offers, what it shows, what it pays; copies, records, libraries."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import polygym  # noqa: F401 (registers the environment)
from polygym.errors import InputError
from polygym.terms.cost import StaticCost
from polygym.terms.derivation import replay_derivation
from polygym.terms.envs import RewriteEnv, replay_episode
from polygym.terms.envs.encoding import COLUMNS, KINDS
from polygym.terms.language.nodes import binds, index_of, term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.library import expressions
from polygym.terms.rewriter import Rewriter
from polygym.terms.rules.rule_table import rules_named

ID = "polygym/Rewrite-v0"
LOOPS = (
    "(def f Float ((v : Vec n Float) (x : Float)) "
    "(sumbuild n (lam i (let (a (mul x 2.0)) (mul a (index i (build n (lam j (index j v)))))))))"
)


def made(**arguments: Any) -> RewriteEnv:
    env = gymnasium.make(ID, **arguments).unwrapped
    assert isinstance(env, RewriteEnv)
    return env


def play(env: RewriteEnv, seed: int) -> list[tuple[Any, ...]]:
    """Return what comes of random actions under the mask."""
    rng = np.random.default_rng(seed)
    result: list[tuple[Any, ...]] = [env.reset(seed=seed)]
    over = False
    while not over:
        actions = np.flatnonzero(env.action_masks())
        step = env.step(int(rng.choice(actions[1:] if len(actions) > 1 else actions)))
        result.append(step)
        over = step[2]
    return result


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("term", ["train", LOOPS])
def test_gymnasium_checks_it(term: str) -> None:
    check_env(made(term=term, render_mode="ansi"), skip_render_check=True)


def test_it_is_deterministic_and_within_its_space() -> None:
    for seed in range(3):
        one, other = play(made(), seed), play(made(), seed)
        for left, right in zip(one, other, strict=True):
            assert made().observation_space.contains(left[0])
            for name, array in left[0].items():
                assert array.dtype == right[0][name].dtype
                assert np.array_equal(array, right[0][name])
            assert str(left[1:]) == str(right[1:])


@pytest.mark.parametrize("term", ["test", LOOPS, "bootstrap"])
def test_what_is_offered_is_what_can_be_done(term: str) -> None:
    env = made(term=term, rules="extended", max_nodes=40)
    fresh = Rewriter(rules_named("extended"))
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    for _ in range(6):
        body = env.episode.term
        offered = set(np.flatnonzero(env.action_masks()).tolist()) - {0}
        wanted = set()
        places = places_of(body)
        for step in fresh.steps(body):
            if term_facts(fresh.after(body, step)).nodes <= 40:
                wanted.add(env.action_of(step.rule.name, places.index(step.position)))
        assert offered == wanted
        if not offered:
            break
        action = int(rng.choice(sorted(offered)))
        expected = fresh.after(body, fresh.step_named(env.meaning_of(action)))
        cost = StaticCost()
        _, reward, over, _, info = env.step(action)
        assert env.episode.term is expected
        assert reward == pytest.approx(cost(body) - cost(expected))
        assert info["cost"] == cost(expected)
        assert not over


def places_of(root: Any) -> list[tuple[int, ...]]:
    """Return the places of a term's nodes in the order of its text, by recursion."""
    result: list[tuple[int, ...]] = [()]
    for at, child in enumerate(root.children):
        result += [(at, *place) for place in places_of(child)]
    return result


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_the_nodes(seed: int) -> None:
    env = made(term=[LOOPS, "test"], rules="extended", max_nodes=60)
    play(env, seed)
    observation, _ = env.reset(options={"term": LOOPS})
    if seed:
        action = int(np.flatnonzero(env.action_masks())[seed])
        observation, *_ = env.step(action)
    rows = observation["nodes"].reshape(-1, len(COLUMNS))
    wanted = rows_of(env.episode.term)
    assert rows[: len(wanted)].tolist() == wanted
    assert not rows[len(wanted) :].any()


def rows_of(root: Any) -> list[list[int]]:
    """Return the rows, one by one."""
    rows: list[list[int]] = []
    terms: list[Any] = []
    names: list[Any] = []

    def visit(node: Any, parent: int, at: int, scope: tuple[int, ...]) -> None:
        here = len(rows)
        head = str(node.head)
        kind = head.partition(":")[0] if node.children else "constant"
        name = 0
        if not node.children and isinstance(node.head, str):
            kind = "bound" if head.startswith("%") else "variable"
            if kind == "variable":
                if node not in names:
                    names.append(node)
                name = names.index(node) + 1
        index = index_of(node)
        terms.append(node)
        rows.append(
            [KINDS.index(kind) + 1, parent, at, terms.index(node), scope[-1 - index]
             if index >= 0 else -1, name]
        )  # fmt: skip
        for place, child in enumerate(node.children):
            visit(child, here, place, (*scope, here) if binds(node, place) else scope)

    visit(root, -1, 0, ())
    return rows


def test_what_is_forbidden_costs_and_changes_nothing() -> None:
    env = made(term="(add x y)", max_nodes=8)
    env.reset(seed=0)
    before = env.episode.term
    for number in range(1, 101):
        _, reward, over, _, info = env.step(env.action_of("div-one", 0))
        assert (reward, over) == (-0.1, number == 100)
        assert "expected div-one" in info["refused"]
        assert env.episode.term is before
    assert info["status"] == "invalid"
    assert not info["is_success"]
    assert env.action_masks().all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_terms_do_not_outgrow_the_observation() -> None:
    env = made(term="(mul x (add y z))", max_nodes=5)
    env.reset(seed=0)
    assert not env.action_masks()[env.action_of("distribute-add", 0)]
    *_, info = env.step(env.action_of("distribute-add", 0))
    assert "expected at most 5 nodes afterwards, found more" in info["refused"]
    with pytest.raises(InputError, match=r"at most 4 nodes \(max_nodes\), found 5"):
        made(term="(mul x (add y z))", max_nodes=4).reset()


def test_ends() -> None:
    env = made(term="(add x y)", max_steps=2, reward="relative")
    env.reset(seed=0)
    _, reward, over, _, info = env.step(0)
    assert (reward, over, info["status"], info["term"]) == (0.0, True, "stopped", "(add x y)")
    env.reset()
    assert not env.step(env.action_of("add-commutes", 0))[2]
    *_, info = env.step(env.action_of("add-commutes", 0))
    assert (info["status"], info["steps"], info["is_success"]) == ("out of steps", 2, True)


def test_the_rewards_of_an_episode_are_what_was_saved() -> None:
    env = made(term="(mul (div x 1.0) (add 0.0 y))", reward="relative")
    env.reset(seed=0)
    total = sum(
        env.step(env.action_of(rule, row))[1] for rule, row in (("div-one", 1), ("add-zero", 2))
    )
    assert total == pytest.approx(3 / 5)
    assert env.episode.cost == 2.0


def test_the_place_is_marked() -> None:
    env = made(term="(mul (div x 1.0) (add 0.0 y))", render_mode="ansi")
    env.reset(seed=0)
    env.step(env.action_of("add-zero", 4))
    assert env.render() == (
        "it: cost 4 of 5, 9 steps left, running\n(mul (div x 1.0) »y«)\nby add-zero at 1\n"
    )


def test_the_term_is_drawn() -> None:
    env = made(term=LOOPS, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert (first.dtype, first.ndim, first.shape[2]) == (np.uint8, 3, 3)
    env.step(int(np.flatnonzero(env.action_masks())[1]))
    assert not np.array_equal(env.render(), first)


def test_copies_are_independent() -> None:
    env = made()
    env.reset(seed=5)
    fork = env.fork()
    action = int(np.flatnonzero(env.action_masks())[3])
    env.step(action)
    assert fork.episode.term is not env.episode.term
    assert len(fork.episode.actions) == 0
    fork.step(action)
    assert fork.episode.term is env.episode.term
    again = copy.deepcopy(env)
    assert again.reset()[1]["program"] == env.reset()[1]["program"]
    assert again.episode.term is env.episode.term  # the same random numbers


@pytest.mark.parametrize("seed", range(4))
def test_records_are_derivations_and_episodes(seed: int) -> None:
    env = made(term=["test", LOOPS], rules="extended", max_nodes=100)
    play(env, seed)
    record = json.loads(json.dumps(env.export()))
    assert replay_derivation(record).terms[-1] is env.episode.term
    again = replay_episode(record)
    assert again.term is env.episode.term
    assert (again.actions, again.status) == (env.episode.actions, env.episode.status)
    other = {**record, "actions": [*record["actions"][:-1], 0]}
    with pytest.raises(InputError, match=r"expected the (actions|end)|action"):
        replay_episode(other)
    with pytest.raises(InputError, match="expected an episode of polygym/Rewrite-v0"):
        replay_episode({**record, "environment": "polygym/Other-v0"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"term": "nothing"}, "expected one of train, test"),
        ({"term": "(add x"}, "that closes this"),
        ({"term": []}, "expected a text or several"),
        ({"rules": "none"}, "expected one of binding"),
        ({"rules": []}, "expected one or more, found none"),
        ({"max_nodes": 0}, "expected an integer from 1 to 4,096"),
        ({"max_steps": 2.5}, "expected an integer, found 2.5"),
        ({"reward": "speedup"}, "expected one of cost, relative"),
    ],
)
def test_arguments_are_refused_by_their_names(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**arguments)
    with pytest.raises(InputError, match="render_mode"):
        RewriteEnv(render_mode="human")


def test_wrong_actions_and_options() -> None:
    env = made()
    env.reset(seed=0)
    with pytest.raises(InputError, match="an action: expected an integer from 0 to"):
        env.step(10**6)
    with pytest.raises(InputError, match=r"expected \{\"term\": …\}"):
        env.reset(options={"kernel": "gemm"})
    assert env.episode.steps_left == 10  # the episode before is as it was


def test_files_and_rules_of_ones_own(tmp_path: Path) -> None:
    program, rules, wrong = tmp_path / "p.ks", tmp_path / "r.rules", tmp_path / "w.rules"
    program.write_text(LOOPS)
    rules.write_text("double: (add ?a ?a) => (mul 2.0 ?a) if (float ?a)")
    wrong.write_text("triple: (add ?a ?a) => (mul 3.0 ?a) if (float ?a)")
    env = made(term=str(program), rules=["arithmetic", str(rules)])
    _, info = env.reset(seed=0)
    assert info["program"] == "f"
    env.reset(options={"term": "(add y y)"})
    env.step(env.action_of("double", 0))
    assert env.episode.cost == 2.0
    with pytest.raises(InputError, match="rule triple: expected both sides to be equal"):
        made(rules=str(wrong))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasium_vectors(mode: str) -> None:
    envs = gymnasium.make_vec(f"polygym:{ID}", 2, vectorization_mode=mode, max_steps=3)
    _, info = envs.reset(seed=1)
    ended = 0
    for _ in range(9):
        actions = np.array([np.flatnonzero(mask)[-1] for mask in info["action_mask"]])
        _, _, over, _, info = envs.step(actions)
        ended += int(over.sum())
    assert ended >= 4
    envs.close()


@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_agents_learn_under_the_mask() -> None:
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(f"polygym:{ID}", n_envs=2, env_kwargs={"max_nodes": 48, "max_steps": 4})
    model = MaskablePPO("MultiInputPolicy", envs, n_steps=16, batch_size=16, n_epochs=1, seed=0)
    model.learn(64)


def test_it_can_be_pickled_before_it_begins() -> None:
    spec = gymnasium.spec(ID)
    assert "RewriteEnv" in str(spec.entry_point)
    assert pickle.loads(pickle.dumps(parse_program("(add x y)"))) == parse_program("(add x y)")
    assert len(made(term=["train", "test"])._programs) == len(expressions("train")) + 12
