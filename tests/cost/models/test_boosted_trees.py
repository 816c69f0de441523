"""Boosted trees: the gradient of the rank objective, what they learn, how they are kept."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES, candidate_features
from polygym.cost.models import boosted_trees, tree_inference
from polygym.cost.models import pretrained as shipped_models
from polygym.cost.models.boosted_trees import (
    BoostedTreeOptions,
    BoostedTrees,
    _pair_weights,
    _PairGradient,
    feature_importances,
    train_boosted_trees,
)
from polygym.cost.models.cost_model import (
    MODEL_VERSION,
    Acquisition,
    ModelCard,
    Objective,
    TrainingSamples,
    acquisition_values,
)
from polygym.cost.models.pretrained import (
    DATA_FOLDER,
    matches_machine,
    model_path,
    pretrained_model,
    training_machines,
)
from polygym.errors import InputError
from polygym.mapping.machine import Machine, this_machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation.fingerprint import machine_fingerprint

WIDTH = len(FEATURE_NAMES)
FEW = BoostedTreeOptions(rounds=60, leaves=7)


def samples(seed: int, cases: int = 30, each: int = 20) -> TrainingSamples:
    """Return times that follow from two columns, times a constant of the case, and noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(cases * each, WIDTH))
    case = np.repeat(np.arange(cases), each)
    own = rng.normal(scale=4.0, size=cases)[case]
    scores = 2.0 * features[:, 3] - np.maximum(0.0, features[:, 7]) + own
    seconds = np.exp2(-scores + 0.05 * rng.normal(size=len(scores)))
    return TrainingSamples(features, seconds, case, originals=np.exp2(-own))


def within(model: BoostedTrees, of: TrainingSamples) -> float:
    """Return the mean rank correlation within cases."""
    result = []
    for case in np.unique(of.cases):
        own = of.cases == case
        ranks = [
            np.argsort(np.argsort(values))
            for values in (model.scores(of.features[own])[0], -of.seconds[own])
        ]
        result.append(np.corrcoef(*ranks)[0, 1])
    return float(np.mean(result))


@pytest.mark.parametrize("objective", list(Objective))
def test_what_is_learned_holds_on_other_cases(objective: Objective) -> None:
    model = train_boosted_trees(samples(0), BoostedTreeOptions(objective, rounds=150, leaves=7))
    assert within(model, samples(1)) > 0.9
    names = [name for name, _ in feature_importances(model, 2)]
    assert set(names) == {FEATURE_NAMES[3], FEATURE_NAMES[7]}


def test_speedups_are_of_the_original_order_whatever_else_is_in_the_case() -> None:
    """With others of a case left out, scores move; speedups do not."""
    floats = np.zeros((3, WIDTH))
    every = TrainingSamples(floats, np.array([1.0, 2.0, 8.0]), np.zeros(3, np.int64))
    with pytest.raises(InputError, match="times of the original order, found none"):
        every.targets(Objective.SPEEDUP)
    with_originals = replace(every, originals=np.full(3, 4.0))
    some = with_originals.select(np.array([0, 1]))
    assert with_originals.targets(Objective.SPEEDUP).tolist() == [2.0, 1.0, -1.0]
    assert some.targets(Objective.SPEEDUP).tolist() == [2.0, 1.0]
    assert some.targets(Objective.REGRESSION).tolist() == [0.5, -0.5]


def test_predicted_speedups_are_those_of_other_cases() -> None:
    model = train_boosted_trees(
        samples(0), BoostedTreeOptions(Objective.SPEEDUP, rounds=150, leaves=7)
    )
    other = samples(1)
    wrong = model.scores(other.features)[0] - other.targets(Objective.SPEEDUP)
    assert np.median(np.abs(wrong)) < 0.3 < np.std(other.targets(Objective.SPEEDUP)) / 5


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(0)
    scores, array = rng.normal(size=12), rng.normal(size=12)
    cases = np.repeat([0, 1, 2], 4)

    def loss(at: np.ndarray) -> float:
        total = 0.0
        for i in range(12):
            for j in range(12):
                if cases[i] == cases[j] and scores[i] - scores[j] > np.log2(1.03):
                    total += np.log1p(np.exp(at[j] - at[i])) / 4
        return total

    gradient, curvature = _PairGradient(scores, cases, 0.0)(array, None)
    for place in range(12):
        step = np.zeros(12)
        step[place] = 1e-5
        up, here, down = loss(array + step), loss(array), loss(array - step)
        assert gradient[place] == pytest.approx((up - down) / 2e-5, abs=1e-5)
        assert curvature[place] == pytest.approx((up - 2 * here + down) / 1e-10, abs=1e-3)


def test_pairs_of_slow_ones_may_weigh_less() -> None:
    scores = np.array([0.0, -1.0, -2.0])
    # The faster one of the first two pairs is the best, that of the third has half of its speed.
    floats = _pair_weights(scores, 1.0)
    assert floats == pytest.approx(np.array([[0, 1, 1], [0, 0, 0.5], [0, 0, 0]]) * 3 / 2.5)
    assert _pair_weights(scores, 0.0) == pytest.approx(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    assert _pair_weights(np.zeros(3), 1.0) == pytest.approx(np.zeros((3, 3)))  # none is faster


def test_a_seed_fixes_the_model_and_a_file_keeps_it(tmp_path: Path) -> None:
    given = samples(2)
    first, second = (train_boosted_trees(given, FEW) for _ in range(2))
    asked = samples(3).features
    assert np.array_equal(first.scores(asked), second.scores(asked))
    first.save(tmp_path / "model.gz")
    read = BoostedTrees.load(tmp_path / "model.gz")
    assert np.array_equal(read.scores(asked), first.scores(asked))
    assert read.card == first.card
    assert read.card.rows == 600


def test_a_second_thread_takes_many_rows_and_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import lightgbm

    asked: list[int] = []

    def grown(parameters: dict[str, Any], *given: Any) -> Any:
        asked.append(parameters["num_threads"])
        return usual(parameters, *given)

    usual = lightgbm.train
    monkeypatch.setattr(lightgbm, "train", grown)
    given, options = samples(4, 4), replace(FEW, rounds=3, threads=2)
    alone = train_boosted_trees(given, options)
    monkeypatch.setattr(boosted_trees, "_ROWS_PER_THREAD", len(given))
    together = train_boosted_trees(given, options)
    assert asked == [1, 2]
    assert together.scores(given.features).tobytes() == alone.scores(given.features).tobytes()
    train_boosted_trees(given, replace(options, threads=1))
    assert asked == [1, 2, 1]


def test_an_ensemble_says_how_sure_it_is() -> None:
    model = train_boosted_trees(samples(4), BoostedTreeOptions(rounds=40, leaves=7, members=4))
    scores = model.scores(samples(5).features)
    assert scores.shape == (4, 600)
    assert scores.std(axis=0).min() > 0
    mean = acquisition_values(scores, Acquisition.MEAN, 0.0)
    assert np.allclose(mean, scores.mean(axis=0))
    upper = acquisition_values(scores, Acquisition.UPPER_CONFIDENCE_BOUND, 0.0, 2.0)
    assert np.allclose(upper, mean + 2 * scores.std(axis=0))
    better = acquisition_values(scores, Acquisition.EXPECTED_IMPROVEMENT, float(mean.max()))
    assert (better >= 0).all()
    assert better.argmax() in np.argsort(-upper)[:30]


def test_other_files_and_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="expected a model of trees"):
        BoostedTrees.load(path)
    train_boosted_trees(samples(6, 5), FEW).save(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    # Its card may say more than today's.
    later = {**document, "version": 99, "card": {**document["card"], "weather": "fine"}}
    path.write_bytes(gzip.compress(json.dumps(later).encode()))
    with pytest.raises(
        InputError, match=rf"version {MODEL_VERSION}, found one of \d+ of version 99"
    ):
        BoostedTrees.load(path)
    whole = gzip.compress(json.dumps(document).encode())
    turned = bytearray(whole)
    turned[len(whole) // 2] ^= 0xFF
    strange = gzip.compress(json.dumps({**document, "members": ["no trees"]}).encode())
    for damaged in (whole[:-20], bytes(turned), strange):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="expected a model of trees"):
            BoostedTrees.load(path)
    path.write_bytes(gzip.compress(b'{"format": "something else"}'))
    with pytest.raises(InputError, match="found: the format 'something else'"):
        BoostedTrees.load(path)


def test_what_is_unpacked_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.gz"
    train_boosted_trees(samples(6, 5), FEW).save(path)
    monkeypatch.setattr(tree_inference, "_MAX_BYTES", len(gzip.decompress(path.read_bytes())))
    BoostedTrees.load(path)
    monkeypatch.setattr(tree_inference, "_MAX_BYTES", tree_inference._MAX_BYTES - 1)
    with pytest.raises(InputError, match="expected a model of trees, found: more than"):
        BoostedTrees.load(path)


def test_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="at least 4 rows, found 2"):
        train_boosted_trees(samples(7, 1, 2), FEW)


def test_the_model_that_comes_with_polygym_is_of_these_features_and_small() -> None:
    """It ranks what anyone knows: a product in vectors and threads before one without."""
    model = pretrained_model()
    assert model is not None
    files = sorted(DATA_FOLDER.glob("*.model"))
    assert model_path() in files
    assert sum(file.stat().st_size for file in files) <= 2_000_000
    for file in files:
        card = BoostedTrees.load(file).card
        assert card.processor
        assert card.notes["validation"]["spearman"] >= 0.75
        told = [Machine(**entry["planned_for"]) for entry in card.notes["machines"]]
        assert {machine.vector_bits for machine in told} == {256, 512}
    program = load_program("gemm")
    legal = LegalSchedule(program.scop, isl_schedule(program.scop))
    sizes = dict(program.parameters)
    rows = [
        candidate_features(legal, parse_mapping(text), sizes).vector
        for text in ("threads=2", "vector_bits=off scalar_replacement=off tile=off unroll_jam=1")
    ]
    fast, slow = model.scores(np.array(rows))[0]
    assert fast > slow


def test_machines_that_are_alike_share_a_model() -> None:
    here = machine_fingerprint()
    card = ModelCard("trees", "rank", 1, 1, 1, 0, "another key", notes={})
    assert not matches_machine(card)
    for llvm, other in (("1.0", True), (here.llvm, False)):
        processor = here.processor if other else "another processor"
        told = replace(here, llvm=llvm, processor=processor)
        far = replace(here, processor="far away")
        # As JSON has it, with lists for tuples.
        notes = json.loads(json.dumps(training_machines([(far, Machine()), (told, Machine())])))
        assert matches_machine(replace(card, notes=notes)) is other
    for strange in ({}, {"caches": 3}, {"processor": None, "else": 1}):
        notes = {"machines": [{"fingerprint": strange}, strange, 3]}
        assert not matches_machine(replace(card, notes=notes))
    assert not matches_machine(replace(card, notes={"machines": 3}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"card": {}}, "no card"),
        ({"card": None}, "no card"),
        ({"members": []}, "without trees"),
        ({"members": ["tree"]}, "expected a model of trees"),
        ({"names": ["a", "b"]}, f"found one of 2 of version {MODEL_VERSION}"),
    ],
)
def test_a_strange_model_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    train_boosted_trees(samples(3, 4, 8), FEW).save(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(document | change).encode()))
    with pytest.raises(InputError, match=words):
        BoostedTrees.load(path)
    for name, value in (("seconds", "x"), ("notes", None), ("rows", True)):
        card = document["card"] | {name: value}
        path.write_bytes(gzip.compress(json.dumps(document | {"card": card}).encode()))
        with pytest.raises(InputError, match=f"a card with {name}"):
            BoostedTrees.load(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [("split_feature=", "split_feature=9"), ("left_child=", "left_child=0 "), ("", "")],
)
def test_damaged_trees_are_refused_before_lightgbm_sees_them(
    before: str, after: str, tmp_path: Path
) -> None:
    """It ends the process where a text is cut, and goes round for ever in a circle."""
    path = tmp_path / "m.model"
    train_boosted_trees(samples(3, 4, 8), FEW).save(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    (text,) = document["members"]
    damaged = text.replace(before, after, 1) if before else text[: len(text) // 2]
    path.write_bytes(gzip.compress(json.dumps(document | {"members": [damaged]}).encode()))
    with pytest.raises(InputError, match="trees that are not as they were written"):
        BoostedTrees.load(path)


def test_of_several_models_that_of_this_machine_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the one whose machine has vectors as wide, else the first by name."""
    here, bits = machine_fingerprint(), this_machine().vector_bits
    made = train_boosted_trees(samples(7, 2, 20), FEW)

    def save(name: str, processor: str, vector_bits: int) -> Path:
        machine = Machine(vector_bits=vector_bits)
        notes = training_machines([(replace(here, processor=processor), machine)])
        card = replace(made.card, machine=name, notes=json.loads(json.dumps(notes)))
        file = tmp_path / f"{name}.model"
        replace(made, model_card=card).save(file)
        return file

    monkeypatch.setattr(shipped_models, "DATA_FOLDER", tmp_path)
    lookup = shipped_models.model_path.__wrapped__
    assert lookup() is None
    first = save("a", "another processor", 64)
    assert lookup() == first
    alike = save("b", "another processor", bits)
    assert lookup() == alike
    own = save("c", here.processor, 64)
    assert lookup() == own
