"""Value functions that learn: their graphs, with and without torch, training by a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from polygym.cost.models.cost_model import ModelCard
from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, explore
from polygym.terms.language.nodes import kind_of
from polygym.terms.language.parser import parse_program
from polygym.terms.learning import graph_encoding
from polygym.terms.learning.graph_encoding import (
    EDGE_TYPES,
    IDENTICAL,
    KINDS,
    GraphEncoder,
    TermGraphBatch,
)
from polygym.terms.learning.numpy_network import VALUE_SCALE, NetworkValue, NumpyNetwork
from polygym.terms.learning.replay_buffer import ReplayBuffer, sample_examples
from polygym.terms.learning.training import (
    NetworkShape,
    TrainingConfig,
    ValueNetwork,
    ValueTrainer,
    to_numpy,
    total_cost,
    train,
)
from polygym.terms.learning.weights import (
    PATH,
    ValueWeights,
    shipped_value,
    shipped_weights,
    value_function_named,
)
from polygym.terms.library import expressions, programs
from polygym.terms.rewriter import TermSystem
from polygym.terms.rules.rule_table import rules_named

SMALL = NetworkShape(horizon=5, width=48, rounds=2)
TEACHING = TrainingConfig(
    expressions=2,
    search_plan=PlanningLimits(5, 80),
    shape=SMALL,
    batch_size=16,
    examples_per_search=60,
    replay_capacity=4,
    updates=3,
    seed=3,
)
CARD = ModelCard("value of terms", "what is saved", 0, 0, 0, 0)


def network(seed: int = 0) -> ValueNetwork:
    torch.manual_seed(seed)
    made = ValueNetwork(SMALL)
    torch.nn.init.normal_(made.out.weight)
    return made


def edges_of(root: Term) -> tuple[list[str], list[tuple[int, int, int]]]:
    """What a graph has by the definition: kinds, and type, source and target of each edge."""
    nodes: list[Term] = []
    edges: list[tuple[int, int, int]] = []

    def walk(subterm: Term) -> int:
        here = len(nodes)
        nodes.append(subterm)
        for at, child in enumerate(subterm.children):
            place, there = min(at, 3), walk(child)
            edges.extend([(place, here, there), (4 + place, there, here)])
        return here

    walk(root)
    edges += [
        (IDENTICAL, at, other)
        for at, node in enumerate(nodes)
        for other, same in enumerate(nodes)
        if node is same and at != other
    ]
    return [kind_of(node) for node in nodes], sorted(edges)


def edges_in(batch: TermGraphBatch) -> list[tuple[int, int, int]]:
    """The edges of a batch of one graph."""
    result = [
        (kind, source, target)
        for kind, (sources, targets) in enumerate(batch.edges)
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True)
    ]
    alike = list(zip(batch.identical_nodes.tolist(), batch.classes.tolist(), strict=True))
    result += [
        (IDENTICAL, one, other) for one, a in alike for other, b in alike if a == b and one != other
    ]
    return sorted(result)


TERMS = [
    *(program.body for program in expressions("test")[:3]),
    *(term_program.body for term_program in programs("linear-algebra")),
    *(program.body for program in programs("convolution")),
    parse_program("(tuple x (add x y) (log x) (add x y) (log x) 1.0)").body,
    parse_program("(div 1.0 (sub 0.0 (mul -1.0 7.0)))").body,
    parse_program("x").body,
]


@pytest.mark.parametrize("small", [600, 0], ids=["part by part", "in one go"])
def test_graphs_are_what_the_definition_says(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_encoding, "_SMALL", small)
    for term in TERMS:
        batch = GraphEncoder().batch([term])
        kinds, edges = edges_of(term)
        named = [KINDS[kind] for kind in batch.kinds]
        assert [kind if kind in kinds else "constant" for kind in named] == kinds
        assert edges_in(batch) == edges
        assert len(batch.edges) == EDGE_TYPES - 1


def test_constants_that_rules_name_are_kinds() -> None:
    batch = GraphEncoder().batch([parse_program("(add (add 0.0 1.0) (add -1.0 2.0))").body])
    kinds = [KINDS[kind] for kind in batch.kinds]
    assert kinds == ["add", "add", "zero", "one", "add", "minus one", "constant"]


def test_graphs_side_by_side_do_not_touch() -> None:
    value = NetworkValue(to_numpy(network()))
    together = value(TERMS, 5)
    assert together.shape == (len(TERMS), 6)
    assert (together[:, 0] == 0).all()
    for row, term in zip(together, TERMS, strict=True):
        alone = NetworkValue(value.network)([term], 5)[0]
        np.testing.assert_allclose(alone, row, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_numpy_and_torch_say_the_same(rounds: int) -> None:
    torch.manual_seed(rounds)
    made = ValueNetwork(NetworkShape(horizon=5, width=48, rounds=rounds))
    torch.nn.init.normal_(made.out.weight)
    batch = GraphEncoder().batch(TERMS)
    with torch.no_grad():
        wanted = made(batch).numpy()
    floats = to_numpy(made)(batch)
    assert np.ptp(wanted) > 0.1
    np.testing.assert_allclose(floats, wanted, rtol=1e-5, atol=1e-5)


def test_messages_are_those_of_the_definition() -> None:
    """One round by hand: what nodes hear is a sum over edges, of identical nodes one message."""
    made, term = network(), TERMS[0]
    batch, (_, edges) = GraphEncoder().batch([term]), edges_of(term)
    own = to_numpy(made)
    state = np.random.default_rng(0).normal(size=(len(batch.kinds), SMALL.width))
    heard, is_told = np.zeros_like(state), set[int]()
    for kind, source, target in edges:
        heard[target] += own.weights[f"messages.{kind}.weight"] @ state[source]
        if kind != IDENTICAL or target not in is_told:
            heard[target] += own.weights[f"messages.{kind}.bias"]
        if kind == IDENTICAL:
            is_told.add(target)
    np.testing.assert_allclose(own._heard(batch, state.astype(np.float32)), heard, atol=1e-4)


def test_names_make_no_difference_and_structure_does() -> None:
    value = NetworkValue(to_numpy(network()))
    term, other, another = (
        parse_program(text).body
        for text in ("(add (mul x y) x)", "(add (mul b a) b)", "(add (mul x y) y)")
    )
    np.testing.assert_allclose(value([term], 5), value([other], 5), rtol=1e-5)
    assert abs(value([term], 5) - value([another], 5)).max() > 1e-3


def test_more_steps_than_are_known_save_as_much() -> None:
    value = NetworkValue(to_numpy(network()))
    few, many = value(TERMS[:3], 5), value(TERMS[:3], 8)
    np.testing.assert_array_equal(many[:, :6], few)
    np.testing.assert_array_equal(many[:, 6:], np.repeat(few[:, 5:], 3, axis=1))


def test_training_is_a_function_of_its_seed_and_of_what_the_trainer_holds() -> None:
    runs = [[epoch for epoch, _ in train(expressions("bootstrap"), TEACHING, 2)] for _ in "ab"]
    assert runs[0] == runs[1]
    assert runs[0][0].cost < runs[0][0].initial_cost
    assert runs[0][0].loss != runs[0][1].loss


def test_every_expression_comes_before_any_comes_again() -> None:
    trainer = ValueTrainer(expressions("bootstrap"), TEACHING)
    drawn = []
    for trainer.number in range(8):
        drawn += trainer._drawn()
    assert sorted(drawn[:8]) == sorted(drawn[8:]) == list(range(8))
    assert drawn[:8] != drawn[8:]


def test_examples_are_what_searches_could_have_saved() -> None:
    body = expressions("bootstrap")[3].body
    plan, rng = PlanningLimits(5, 150), np.random.default_rng(0)
    seen = [
        explore("breadth", TermSystem(rules_named(name)), body, plan)[0]
        for name in ("binding", "simple")
    ]
    examples = {example.term: example for example in sample_examples(seen, 1000, rng)}
    assert len(examples) > max(len(search_graph.states) for search_graph in seen) / 2
    for graph in seen:
        for state, targets, left in zip(
            graph.states, graph.targets(), graph.steps_left, strict=True
        ):
            if left > 0:
                assert (examples[state].targets >= targets[1:].astype(np.float32)).all()
                assert examples[state].known_steps >= left
    some = sample_examples(seen, 40, rng)
    assert len(some) == 40
    assert (
        sum(value_example.targets[value_example.known_steps - 1] > 0.05 for value_example in some)
        >= 20
    )


def test_examples_are_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    seen, _ = explore("greedy", TermSystem(), TERMS[0], PlanningLimits(5, 100))
    examples = ReplayBuffer(60)
    examples.extend(sample_examples([seen], 70, rng))
    assert len(examples) == 60
    examples.save(tmp_path / "a.npz")
    again = ReplayBuffer(60)
    again.load(tmp_path / "a.npz")
    for example, other in zip(examples._held, again._held, strict=True):
        assert example.term is other.term
        assert example.known_steps == other.known_steps
        np.testing.assert_array_equal(example.targets, other.targets)
    assert len({id(value_example) for value_example in again.sample(60, rng)}) == 60
    assert len(again.sample(100, rng)) == 100
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="expected examples"):
        again.load(tmp_path / "a.npz")


def test_the_targets_are_met_after_fitting() -> None:
    torch.manual_seed(0)
    system = TermSystem(rules_named("binding"))
    seen, _ = explore("breadth", system, expressions("bootstrap")[3].body, PlanningLimits(5, 200))
    targets = torch.from_numpy(seen.targets()[:, 1:] / np.arange(1, 6)).float()
    made = ValueNetwork(SMALL)
    optimizer = torch.optim.Adam(made.parameters(), lr=5e-3)
    batch = GraphEncoder().batch(seen.states)
    for _ in range(80):
        loss = torch.nn.functional.huber_loss(made(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    spread = float(((targets - targets.mean(0)) ** 2).mean())
    assert float(loss.detach()) < 0.4 * 0.5 * spread


def test_weights_are_kept(tmp_path: Path) -> None:
    own = to_numpy(network())
    ValueWeights(own, CARD, {"more": np.arange(3)}).save(tmp_path / "a.npz")
    again = ValueWeights.load(tmp_path / "a.npz")
    assert again.card == CARD
    assert again.extra_arrays["more"].tolist() == [0, 1, 2]
    batch = GraphEncoder().batch(TERMS)
    np.testing.assert_array_equal(own(batch), again.network(batch))
    for damage in (b"nothing", (tmp_path / "a.npz").read_bytes()[:-200]):
        (tmp_path / "b.npz").write_bytes(damage)
        with pytest.raises(InputError, match="expected weights"):
            ValueWeights.load(tmp_path / "b.npz")
    with pytest.raises(InputError, match="expected weights"):
        ValueWeights.load(tmp_path / "c.npz")
    missing = {name: floats for name, floats in own.weights.items() if name != "gate.bias"}
    with pytest.raises(InputError, match="a graph network"):
        NumpyNetwork(2, missing)


def test_weights_for_other_kinds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ValueWeights(to_numpy(network()), CARD).save(tmp_path / "a.npz")
    monkeypatch.setattr("polygym.terms.learning.weights.KINDS", (*KINDS, "another"))
    with pytest.raises(InputError, match="trained again"):
        ValueWeights.load(tmp_path / "a.npz")


def test_what_comes_with_polygym() -> None:
    """Small, with a card, for all steps of the paper; and it knows what sharing saves."""
    weights = shipped_weights()
    assert PATH.stat().st_size < 1 << 20
    assert weights.network.horizon == 10
    assert weights.card.kind == CARD.kind
    assert weights.card.machine
    assert weights.card.seconds > 0
    assert weights.card.notes["experiment"]["polygym/Rewrite-v0"]["kernels"] == "train"
    term, other = (
        parse_program(f"(mul (div x (sub y 1)) (add 2.0 (div x (sub {name} 1))))").body
        for name in ("y", "z")
    )
    (shared,), (plain_one,) = (shipped_value()([each], 10) for each in (term, other))
    assert shared[10] > plain_one[10] + 0.25


def test_a_network_is_trusted_so_many_times() -> None:
    made = to_numpy(network())
    once, more = NetworkValue(made)(TERMS, 7), NetworkValue(made, scale=1.5)(TERMS, 7)
    assert np.ptp(once) > 0.0
    np.testing.assert_allclose(more, 1.5 * once, rtol=1e-6)
    shipped_value.cache_clear()  # it keeps values of batches summed in another order
    np.testing.assert_allclose(
        value_function_named("learned")(TERMS, 10),
        VALUE_SCALE * NetworkValue(shipped_weights().network)(TERMS, 10),
    )


def test_both_expect_what_one_of_them_does() -> None:
    """On training expressions, on states of which more is known."""
    states = [program.body for program in expressions("train")]
    parts = [value_function_named(name)(states, 10) for name in ("learned", "counted")]
    estimates = value_function_named("both")(states, 10)
    np.testing.assert_array_equal(estimates, np.maximum(*parts))
    assert all((estimates > part).any() for part in parts)


def test_limits() -> None:
    with pytest.raises(InputError, match="a network's width: expected"):
        NetworkShape(width=8)
    with pytest.raises(InputError, match="horizon: expected that of the network, 5, found 6"):
        TrainingConfig(search_plan=PlanningLimits(6), shape=SMALL)
    with pytest.raises(InputError, match="examples_per_search: expected 1 or more, found 0"):
        TrainingConfig(examples_per_search=0)
    value = NetworkValue(to_numpy(network()))
    assert total_cost(expressions("bootstrap")[:1], value, PlanningLimits(5, 80)) <= 7.0
