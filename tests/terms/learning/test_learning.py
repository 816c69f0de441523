"""Value functions that learn: their graphs, their shapes, training by a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from polygym.errors import InputError
from polygym.search.planning import Plan, explore
from polygym.terms.language.reading import parse_program
from polygym.terms.learning.graphs import EDGE_TYPES, KINDS, Graphs
from polygym.terms.learning.network import Learned, Shape, ValueNetwork, load, save
from polygym.terms.learning.training import Teaching, total_cost, trained
from polygym.terms.library import expressions
from polygym.terms.rules.sets import rules_named
from polygym.terms.system import TermSystem

SMALL = Shape(horizon=5, width=48, rounds=2, hidden=16)
PLAN = Plan(5, 80)


def test_a_graph() -> None:
    batch = Graphs().batch([parse_program("(mul (add x 1) (add x 1))").body])
    kinds = [KINDS[kind] for kind in batch.kinds]
    assert sorted(kinds) == ["add", "add", "constant", "constant", "mul", "variable", "variable"]
    edges = list(zip(batch.types, batch.sources, batch.targets, strict=True))
    down = [(kinds[source], kinds[target]) for type_, source, target in edges if type_ == 0]
    assert sorted(down) == [("add", "variable"), ("add", "variable"), ("mul", "add")]
    same = [(kinds[source], kinds[target]) for type_, source, target in edges if type_ == 8]
    assert sorted(same) == sorted(2 * [("add", "add"), ("constant", "constant"),
                                       ("variable", "variable")])  # fmt: skip
    for type_, source, target in edges:
        if type_ < 4:
            assert (type_ + 4, target, source) in edges
    assert max(batch.types) < EDGE_TYPES


def test_graphs_side_by_side_do_not_touch() -> None:
    torch.manual_seed(0)
    terms = [one.body for one in expressions("bootstrap")]
    value = Learned(ValueNetwork(SMALL))
    together = value(terms, 5)
    assert together.shape == (8, 6)
    assert (together[:, 0] == 0).all()
    for row, one in zip(together, terms, strict=True):
        np.testing.assert_allclose(Learned(value.network)([one], 5)[0], row, rtol=1e-4, atol=1e-6)


def test_names_make_no_difference() -> None:
    torch.manual_seed(0)
    value = Learned(ValueNetwork(SMALL))
    one, other = (parse_program(text).body for text in ("(add (mul x y) x)", "(add (mul b a) b)"))
    np.testing.assert_allclose(value([one], 5), value([other], 5), rtol=1e-5)


def test_training_is_a_function_of_its_seed() -> None:
    teaching = Teaching(epochs=2, expressions=2, plan=PLAN, shape=SMALL, seed=3)
    runs = [
        [(epoch.loss, epoch.cost) for epoch in trained(expressions("bootstrap"), teaching)]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_what_is_fitted_is_learned() -> None:
    """On one expression, over and over: the loss falls to a part of what it was."""
    teaching = Teaching(
        epochs=8, expressions=1, plan=PLAN, shape=SMALL, rules="binding", passes=4, rate=3e-3
    )
    losses = [epoch.loss for epoch in trained(expressions("bootstrap")[3:4], teaching)]
    assert min(losses[-3:]) < 0.5 * losses[0]


def test_the_targets_are_met_after_fitting() -> None:
    torch.manual_seed(0)
    system = TermSystem(rules_named("binding"))
    body = expressions("bootstrap")[3].body
    seen, _ = explore("breadth", system, body, Plan(5, 200))
    targets = torch.from_numpy(seen.targets()[:, 1:] / np.arange(1, 6)).float()
    value = Learned(ValueNetwork(SMALL))
    optimizer = torch.optim.Adam(value.network.parameters(), lr=3e-3)
    batch = value.graphs.batch(seen.states)
    for _ in range(120):
        loss = torch.nn.functional.huber_loss(value.network(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    spread = float(((targets - targets.mean(0)) ** 2).mean())
    assert float(loss.detach()) < 0.4 * 0.5 * spread


def test_networks_are_kept(tmp_path: Path) -> None:
    network = ValueNetwork(SMALL)
    save(network, tmp_path / "a.pt")
    again = load(tmp_path / "a.pt")
    assert again.shape == SMALL
    body = expressions("test")[0].body
    assert np.array_equal(Learned(network)([body], 5), Learned(again)([body], 5))
    (tmp_path / "b.pt").write_bytes(b"nothing")
    with pytest.raises(InputError, match="expected a network"):
        load(tmp_path / "b.pt")
    with pytest.raises(InputError, match="expected a network"):
        load(tmp_path / "c.pt")


def test_limits() -> None:
    with pytest.raises(InputError, match="a network's width: expected"):
        Shape(width=8)
    with pytest.raises(InputError, match="a horizon of at most 5, found 6"):
        Learned(ValueNetwork(SMALL))([expressions("test")[0].body], 6)
    assert total_cost(expressions("bootstrap")[:1], Learned(ValueNetwork(SMALL)), PLAN) <= 7.0
