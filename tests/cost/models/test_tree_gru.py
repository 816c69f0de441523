"""The TreeGRU: its steps one node at a time, what says nothing, what it learns, how it is kept."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.loop_tree import NODE_COLUMNS, LoopForest, LoopTree
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models import tree_gru
from polygym.cost.models.boosted_trees import BoostedTreeOptions, BoostedTrees, train_boosted_trees
from polygym.cost.models.correction import train_correction
from polygym.cost.models.cost_model import (
    MODEL_VERSION,
    SCORE_NOISE,
    ModelCard,
    Objective,
    TrainingSamples,
)
from polygym.cost.models.pretrained import load_model
from polygym.cost.models.pretrained import model_path as shipped_path
from polygym.cost.models.tree_gru import TreeGRU, TreeGRUOptions, TreeGRUShape, train_tree_gru
from polygym.errors import InputError

torch = pytest.importorskip("torch")

from polygym.cost.models.tree_gru_network import TreeGRUNetwork  # noqa: E402

SMALL = TreeGRUShape(embedding=16, hidden=12, slots=3)
FEW = TreeGRUOptions(shape=SMALL, epochs=2)
WIDTH = len(NODE_COLUMNS)


def random_tree(rng: np.random.Generator, most: int = 9) -> LoopTree:
    """Return a tree of any form, one root or several."""
    count = int(rng.integers(1, most + 1))
    parents = np.array([int(rng.integers(-1, node)) for node in range(count)], dtype=np.int64)
    levels = np.zeros(count, dtype=np.int64)
    for node, parent in enumerate(parents):
        levels[node] = 0 if parent < 0 else levels[parent] + 1
    return LoopTree(rng.normal(size=(count, WIDTH)).astype(np.float32), parents, levels)


def turned(tree: LoopTree, rng: np.random.Generator) -> LoopTree:
    """Return the tree with its nodes in another order, parents before children all the same."""
    keys = rng.random(len(tree))
    order = sorted(range(len(tree)), key=lambda node: (tree.levels[node], keys[node]))
    place = {node: number for number, node in enumerate(order)}
    parents = [place.get(int(tree.parents[node]), -1) for node in order]
    return LoopTree(tree.rows[order], np.array(parents, dtype=np.int64), tree.levels[order])


def network_of(seed: int) -> TreeGRUNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TreeGRUNetwork(WIDTH, SMALL.embedding, SMALL.hidden, SMALL.slots)
        network.standardize(torch.randn(50, WIDTH) * 3 + 1)
    return network.eval()


def model_of(seed: int, members: int = 1) -> TreeGRU:
    networks = tuple(network_of(seed + member) for member in range(members))
    return TreeGRU(networks, SMALL, ModelCard("tree-gru", "rank", 0, 0, 0, seed))


def asked(model: TreeGRU, trees: list[LoopTree]) -> np.ndarray:
    return model.scores(np.zeros((len(trees), 0)), LoopForest.of(trees))


def by_hand(network: TreeGRUNetwork, tree: LoopTree) -> float:
    """Return the score of one tree, one node after the other and its slots written down."""
    value = {
        name: tensor.numpy().astype(np.float64) for name, tensor in network.state_dict().items()
    }

    def sigmoid(at: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-at)))

    slots = np.zeros((SMALL.slots, SMALL.hidden))

    def state(node: int) -> np.ndarray:
        children = np.zeros(SMALL.hidden)
        for child in np.flatnonzero(tree.parents == node):
            children = children + state(int(child))
        row = (tree.rows[node] - value["mean"]) / value["deviation"]
        embedded = np.maximum(0.0, value["embed.weight"] @ row + value["embed.bias"])
        mine = np.split(value["step.weight_ih"] @ embedded + value["step.bias_ih"], 3)
        below = np.split(value["step.weight_hh"] @ children + value["step.bias_hh"], 3)
        reset, keep = sigmoid(mine[0] + below[0]), sigmoid(mine[1] + below[1])
        new = np.tanh(mine[2] + reset * below[2])
        array = (1 - keep) * new + keep * children
        likes = np.exp(value["slot.weight"] @ array)
        slots[:] += np.outer(likes / likes.sum(), array)
        return np.asarray(array)

    for root in np.flatnonzero(tree.parents == -1):
        state(int(root))
    return float((value["head.weight"] @ slots.ravel() + value["head.bias"])[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_a_batch_is_what_each_tree_is_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng) for _ in range(int(rng.integers(1, 7)))]
    model = model_of(seed)
    wanted = [by_hand(model.members[0], tree) for tree in trees]
    np.testing.assert_allclose(asked(model, trees)[0], wanted, rtol=1e-4, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_nodes_and_what_else_is_asked_say_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng) for _ in range(6)]
    model = model_of(1)
    scores = asked(model, trees)[0]
    other = asked(model, [turned(tree, rng) for tree in trees])[0]
    np.testing.assert_allclose(scores, other, rtol=1e-4, atol=1e-5)
    order = rng.permutation(6)
    np.testing.assert_allclose(
        asked(model, [trees[place] for place in order])[0], scores[order], rtol=1e-4, atol=1e-5
    )
    alone = [asked(model, [tree])[0, 0] for tree in trees]
    np.testing.assert_allclose(scores, alone, rtol=1e-4, atol=1e-5)


def test_many_candidates_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    trees, model = [random_tree(rng) for _ in range(25)], model_of(2, members=2)
    whole = asked(model, trees)
    assert whole.shape == (2, 25)
    monkeypatch.setattr(tree_gru, "_BATCH_SIZE", 4)
    np.testing.assert_allclose(asked(model, trees), whole, rtol=1e-4, atol=1e-5)
    assert asked(model, []).shape == (2, 0)


def test_inputs_are_standardised_and_constant_columns_do_no_harm() -> None:
    network = network_of(0)
    rows = torch.arange(12.0).reshape(4, 3) * torch.tensor([1.0, 10.0, 0.0])
    network = TreeGRUNetwork(3, 4, 4, 2)
    network.standardize(rows)
    assert network.mean.tolist() == [4.5, 55.0, 0.0]
    assert network.deviation.tolist() == pytest.approx([np.sqrt(11.25), 10 * np.sqrt(11.25), 1.0])


def samples(seed: int, cases: int = 16, each: int = 16) -> TrainingSamples:
    """Return times that follow from where in the tree a column is large, not from how often it is.

    Every tree is a root with two chains of two nodes. A one stands in the first column of two
    nodes: of one chain, which is fast, or of both, which is slow. So the sum over nodes is the
    same, and what sets them apart is who is whose parent.
    """
    rng = np.random.default_rng(seed)
    trees: list[LoopTree] = []
    seconds, originals, numbers = [], [], []
    parents, levels = (np.array(values) for values in ([-1, 0, 0, 1, 2], [0, 1, 1, 2, 2]))
    for case in range(cases):
        own = 3 * rng.normal()
        for _ in range(each):
            rows = np.zeros((5, WIDTH))
            rows[:, :3] = 0.1 * rng.normal(size=(5, 3))
            is_one_chain = rng.random() < 0.5
            rows[[1, 3 if is_one_chain else 4], 0] += 1.0
            trees.append(LoopTree(rows.astype(np.float32), parents, levels))
            seconds.append(2.0 ** (own - 2.0 * is_one_chain + 0.05 * rng.normal()))
            originals.append(2.0**own)
            numbers.append(case)
    vectors = rng.normal(size=(len(trees), len(FEATURE_NAMES)))
    return TrainingSamples(
        vectors, np.array(seconds), np.array(numbers), LoopForest.of(trees), np.array(originals)
    )


def share_of_pairs(model: TreeGRU, of: TrainingSamples) -> float:
    """Return how many pairs of a case that are a bit apart are in the right order."""
    scores, wanted = model.scores(of.features, of.loops)[0], of.scores
    apart = (wanted[:, None] - wanted[None, :] > 0.5) & (of.cases[:, None] == of.cases[None, :])
    right = scores[:, None] > scores[None, :]
    return float(right[apart].mean())


@pytest.mark.parametrize("objective", list(Objective))
def test_what_stands_in_the_form_of_the_tree_is_learned_for_other_cases(
    objective: Objective,
) -> None:
    options = TreeGRUOptions(objective, SMALL, epochs=60, learning_rate=1e-2)
    assert share_of_pairs(train_tree_gru(samples(0), options), samples(1)) > 0.95


@pytest.mark.parametrize("objective", list(Objective))
def test_the_loss_is_that_of_the_definition(objective: Objective) -> None:
    rng = np.random.default_rng(0)
    array, wanted, sizes = rng.normal(size=9), rng.normal(size=9), [4, 1, 4]
    total = []
    for begin, size in ((0, 4), (4, 1), (5, 4)):
        f, s = array[begin : begin + size], wanted[begin : begin + size]
        pairs = [
            np.log1p(np.exp(f[j] - f[i]))
            for i in range(size)
            for j in range(size)
            if s[i] - s[j] > SCORE_NOISE
        ]
        ranked = sum(pairs) / max(1, len(pairs))
        apart = np.mean((f - f.mean() - s) ** 2)
        ahead = np.mean((f - s) ** 2)
        total.append(
            {
                Objective.RANK: ranked,
                Objective.REGRESSION: apart,
                Objective.SPEEDUP: ahead,
            }[objective]
        )
    loss = tree_gru._loss(torch.tensor(array), torch.tensor(wanted), sizes, objective)
    assert float(loss) == pytest.approx(np.mean(total))


def test_the_rate_rises_and_falls_to_nothing() -> None:
    rates = [tree_gru._learning_rate_factor(step, 100) for step in range(101)]
    assert rates[9] == max(rates) == 1.0
    assert rates[:10] == sorted(rates[:10])
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert rates[100] == pytest.approx(0.0, abs=1e-12)


def test_a_seed_fixes_the_model_and_a_file_keeps_it(tmp_path: Path) -> None:
    given, other = samples(2, 4), samples(3, 4)
    before = torch.random.get_rng_state()
    first, second = (train_tree_gru(given, FEW) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    wanted = first.scores(other.features, other.loops)
    assert np.array_equal(wanted, second.scores(other.features, other.loops))
    third = train_tree_gru(given, replace(FEW, seed=1))
    assert not np.array_equal(wanted, third.scores(other.features, other.loops))
    first.save(tmp_path / "one.model")
    second_file = replace(second, model_card=first.model_card)
    second_file.save(tmp_path / "two.model")
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()
    read = load_model(tmp_path / "one.model")
    assert isinstance(read, TreeGRU)
    assert np.array_equal(read.scores(other.features, other.loops), wanted)
    assert (read.card, read.shape) == (first.card, SMALL)
    assert (read.card.kind, read.card.rows, read.card.objective) == ("tree-gru", 64, "rank")


def test_an_ensemble_says_how_sure_it_is(tmp_path: Path) -> None:
    model = train_tree_gru(samples(4, 4), replace(FEW, members=3))
    other = samples(5, 2)
    scores = model.scores(other.features, other.loops)
    assert scores.shape == (3, 32)
    assert scores.std(axis=0).min() > 0
    model.save(tmp_path / "three.model")
    read = TreeGRU.load(tmp_path / "three.model")
    assert np.array_equal(read.scores(other.features, other.loops), scores)


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], object]) -> bytes:
    """Return a model's file after a change of its header or its arrays."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


def test_other_files_and_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "good.model"
    bad = tmp_path / "bad.model"
    model_of(0).save(path)
    whole = path.read_bytes()
    torn = bytearray(whole)
    torn[len(whole) // 2] ^= 0xFF
    objects = io.BytesIO()
    np.savez(objects, header=np.array([{"a": 1}], dtype=object))
    alone = io.BytesIO()
    np.save(alone, np.zeros(3))
    weight = "0.embed.weight"

    def none_at(arrays: dict[str, np.ndarray]) -> None:
        arrays[weight] = np.full_like(arrays[weight], np.nan)

    for damaged in (
        b"",
        b"PK nothing of the kind",
        whole[:-30],
        bytes(torn),
        objects.getvalue(),
        alone.getvalue(),
        (shipped_path() or Path()).read_bytes(),
        changed(path, lambda header, _: header.update(format="another")),
        changed(path, lambda header, _: header.pop("card")),
        changed(path, lambda header, _: header.update(members=2)),
        changed(path, lambda header, _: header.update(members=0)),
        changed(path, lambda header, _: header.update(members="one")),
        changed(path, lambda header, _: header["shape"].update(hidden=10**9)),
        changed(path, lambda header, _: header["shape"].update(hidden=-1)),
        changed(path, lambda header, _: header["shape"].update(hidden=13)),
        changed(path, lambda _, arrays: none_at(arrays)),
        changed(path, lambda _, arrays: arrays.update({weight: np.zeros((2, 2), np.float32)})),
        changed(path, lambda _, arrays: arrays.update(more=np.zeros(2, np.float32))),
        changed(path, lambda _, arrays: arrays.pop(weight)),
    ):
        bad.write_bytes(damaged)
        with pytest.raises(InputError, match=r"bad\.model: expected a tree-gru, found"):
            TreeGRU.load(bad)
    with pytest.raises(InputError, match="expected a tree-gru, found"):
        TreeGRU.load(tmp_path / "none.model")
    bad.write_bytes(changed(path, lambda header, _: header.update(version=99)))
    with pytest.raises(
        InputError, match=rf"version {MODEL_VERSION}, found one of \d+ of version 99; it has"
    ):
        TreeGRU.load(bad)
    bad.write_bytes(changed(path, lambda header, _: header["columns"].pop()))
    with pytest.raises(InputError, match="it has to be trained again"):
        TreeGRU.load(bad)


def test_a_file_says_of_which_kind_it_is(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    model_of(0).save(path)
    assert isinstance(load_model(path), TreeGRU)
    with pytest.raises(InputError, match="expected a model of trees"):
        BoostedTrees.load(path)
    pytest.importorskip("lightgbm")
    assert isinstance(load_model(shipped_path() or Path()), BoostedTrees)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="expected a model of trees or a tree-gru, found neither"):
        load_model(path)
    with pytest.raises(InputError, match=r"none\.model: expected a model, found"):
        load_model(tmp_path / "none.model")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = samples(6, 1, 3)
    with pytest.raises(InputError, match="at least 4 rows, found 3"):
        train_tree_gru(few, FEW)
    some = samples(6, 2, 4)
    with pytest.raises(InputError, match="expected the candidates' loops, found none"):
        train_tree_gru(replace(some, loops=None), FEW)
    with pytest.raises(InputError, match="expected the candidates' loops, found none"):
        model_of(0).scores(some.features)
    model_of(0).save(tmp_path / "a.model")
    monkeypatch.setattr(tree_gru, "find_spec", lambda _: None)
    for call in (lambda: train_tree_gru(some, FEW), lambda: TreeGRU.load(tmp_path / "a.model")):
        with pytest.raises(InputError, match=r"pip install 'polygym\[cost\]'"):
            call()


def test_pytorch_is_not_imported_until_it_is_needed() -> None:
    code = (
        "import sys, polygym.cli.commands.cost, polygym.cost.models.pretrained; from "
        "polygym.search.corpus import samples; "
        "print('torch' in sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "False"


def test_trees_correct_what_a_network_expects() -> None:
    """The models of a search: one that has learned elsewhere, and what measurements add to it."""
    pytest.importorskip("lightgbm")
    given = samples(7, 4)
    other = train_tree_gru(given, FEW)
    assert other.wants_loops
    correction = train_correction(given, other, BoostedTreeOptions(rounds=3))
    assert correction.wants_loops
    own = correction.local.scores(given.features)
    expected = other.scores(given.features, given.loops).mean(axis=0)
    np.testing.assert_allclose(correction.scores(given.features, given.loops), own + expected)
    plain = train_boosted_trees(given, BoostedTreeOptions(rounds=3))
    assert not plain.wants_loops
    assert not train_correction(given, plain, BoostedTreeOptions(rounds=3)).wants_loops


@pytest.mark.parametrize("objective", list(Objective))
def test_a_network_corrects_what_trees_expect(objective: Objective) -> None:
    """It learns what is left: next to nothing where the other model knows all, and else all."""
    pytest.importorskip("lightgbm")
    given = samples(7, 4)
    learner = replace(FEW, objective=objective, epochs=30)

    @dataclass(frozen=True)
    class Oracle:
        sign: float
        card = ModelCard("oracle", "rank", 1, 1, 1, 0)
        wants_loops = False

        def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
            return 9.0 * self.sign * given.scores[None, :]

    deviations = {}
    for sign in (1.0, -1.0):
        other = Oracle(sign)
        correction = train_correction(given, other, learner)
        assert isinstance(correction.local, TreeGRU)
        assert correction.wants_loops
        own = correction.local.scores(given.features, given.loops)
        both = correction.scores(given.features, given.loops)
        np.testing.assert_allclose(both, own + 9.0 * sign * given.scores)
        deviations[sign] = float((own[0] * given.scores).sum())
    # Times nine the scores is too much for times, and enough for the order of pairs.
    assert deviations[-1.0] > deviations[1.0]
    if objective is Objective.REGRESSION:
        assert deviations[1.0] < 0 < deviations[-1.0]
