"""A model leads the search: legal edits, no code twice, better than random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import (
    FEATURE_NAMES,
    MAPPING_COLUMNS,
    candidate_features,
)
from polygym.cost.models.correction import base_scores
from polygym.cost.models.cost_model import Acquisition, ModelCard, TrainingSamples
from polygym.cost.models.pretrained import ModelChoice, TargetMachine, pretrained_model
from polygym.cost.models.tree_gru import TreeGRUOptions, TreeGRUShape, train_tree_gru
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.search.strategies import feature_cache as looked_at_module
from polygym.search.strategies import model_annealing, model_options
from polygym.search.strategies.candidates import (
    Candidate,
    EditedSchedule,
    ScheduleSource,
    SearchSpace,
    schedules_of,
)
from polygym.search.strategies.feature_cache import FeatureCache, stack_features
from polygym.search.strategies.model_options import DEFAULT_MODEL_OPTIONS, ModelOptions
from polygym.search.strategies.neighborhood import mutate_mapping
from polygym.search.strategies.registry import StrategyContext, make_strategy
from polygym.search.strategies.schedule_edits import edit_schedule

pytest.importorskip("lightgbm")

START = replace(DEFAULT_MAPPING, threads=2)
SIZES = {"ni": 200, "nj": 220, "nk": 240}


def fitness(candidate: Candidate) -> float:
    """Return a made-up speedup of a mapping, which features can tell; 0 is a failure."""
    mapping = candidate.mapping
    if mapping.unroll_jam == 12:
        return 0.0
    score = 1.0 + (mapping.vector_bits != 0) + (mapping.vector_copies in (2, 3))
    score += sum(16 <= size <= 64 for size in (mapping.tile or ())[:2])
    return score + (mapping.unroll_jam == 4)


def searched(
    name: str,
    seed: int,
    count: int = 96,
    each: int = 16,
    led_by: ModelOptions = DEFAULT_MODEL_OPTIONS,
) -> list[tuple[Candidate, float]]:
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    search = make_strategy(
        name,
        StrategyContext(
            scop, SIZES, START, known, [Candidate(ISL, START)], seed, model_options=led_by
        ),
    )
    tried = []
    while len(tried) < count:
        for candidate in search.ask(each):
            search.tell(candidate, fitness(candidate))
            tried.append((candidate, fitness(candidate)))
            assert is_legal(scop, known[candidate.source])
    return tried


def test_the_model_and_the_filter_are_better_than_dice_and_repeat_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From their own measurements alone: what makes candidates fast here is made up."""
    monkeypatch.setattr(ModelChoice, "load", lambda _: None)

    def mean(name: str) -> float:
        late = [speedup for _, speedup in searched(name, 2, 64)[32:]]
        return float(np.mean(late))

    rng = mean("random")
    assert mean("annealing") > rng + 0.5
    assert mean("filter") > rng + 0.3
    first = [candidate for candidate, _ in searched("annealing", 1, 32)]
    assert first == [trial for trial, _ in searched("annealing", 1, 32)]
    assert len(set(first)) == len(first)
    assert first[0] == Candidate(ISL, START)


def test_with_the_model_that_comes_with_polygym_it_begins_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before it has measured enough to learn from, only the other model can choose."""
    monkeypatch.setattr(model_options, "matches_machine", lambda *_: True)
    with_it = [candidate for candidate, _ in searched("annealing", 3, 16, each=8)]
    monkeypatch.setattr(ModelChoice, "load", lambda _: None)
    without = [trial for trial, _ in searched("annealing", 3, 16, each=8)]
    assert len(set(with_it)) == len(with_it) == 16
    assert with_it[0] == without[0] == Candidate(ISL, START)  # what it is to begin with
    assert with_it[1:8] != without[1:8]
    scop, model = load_program("gemm").scop, pretrained_model()
    assert model is not None
    looked_at = FeatureCache(scop, SIZES, dict(schedules_of(scop, sources=(ISL,))))

    def mean(candidates: Sequence[Candidate]) -> float:
        known = [
            candidate for candidate in candidates if candidate.source == ISL
        ]  # others are edits
        looks = [look for look in looked_at.features(known) if look is not None]
        assert len(looks) >= 5
        return float(base_scores(model, *stack_features(looks)).mean())

    assert mean(with_it[1:]) > mean(without[1:]) + 0.3


@pytest.mark.parametrize(
    "acquisition", [Acquisition.EXPECTED_IMPROVEMENT, Acquisition.UPPER_CONFIDENCE_BOUND]
)
def test_doubt_may_be_taken_into_account(
    acquisition: Acquisition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other candidates than the most promising ones are tried; it is no worse than random."""
    monkeypatch.setattr(ModelChoice, "load", lambda _: None)
    led_by, gains = ModelOptions(acquisition=acquisition), []
    for seed in (2, 3):
        tried = searched("annealing", seed, 64, led_by=led_by)
        assert len({trial for trial, _ in tried}) == 64
        first, last = ([speedup for _, speedup in part] for part in (tried[:16], tried[32:]))
        gains.append(np.mean(last) - np.mean(first))
        assert gains[-1] > 0.25
        certain = {candidate for candidate, _ in searched("annealing", seed, 64)}
        assert len(certain & {trial for trial, _ in tried[32:]}) < 24
    assert np.mean(gains) > 0.75


@dataclass(frozen=True)
class Shifted:
    """A model of ranks, by one column, and something that says nothing."""

    by: float

    @property
    def card(self) -> ModelCard:
        return ModelCard("shifted", "rank", 0, 0, 0, 0)

    @property
    def wants_loops(self) -> bool:
        return False

    def scores(self, features: np.ndarray, loops: object = None) -> np.ndarray:
        return self.by - features[None, :, FEATURE_NAMES.index("total_cycles")] / 8


def test_what_is_to_be_expected_is_on_the_models_own_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model of ranks may be of any height."""
    monkeypatch.setattr(model_options, "matches_machine", lambda *_: True)
    led_by = ModelOptions(acquisition=Acquisition.EXPECTED_IMPROVEMENT)

    def found(by: float) -> list[tuple[Candidate, float]]:
        monkeypatch.setattr(ModelChoice, "load", lambda _: Shifted(by))
        return searched("annealing", 1, 40, 8, led_by)

    assert found(0.0) == found(16.0)


def test_a_network_leads_as_well(tmp_path: Path) -> None:
    """It looks at the trees of loops, which the search keeps for it."""
    pytest.importorskip("torch")
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    looked_at = FeatureCache(scop, SIZES, known, with_loops=True)
    genes, rng = SearchSpace.for_program(scop, tuple(known), SIZES, START), np.random.default_rng(0)
    some = [genes.sample(rng) for _ in range(24)]
    looks = [look for look in looked_at.features(some) if look is not None]
    vectors, loops = stack_features(looks)
    cases = np.arange(len(looks), dtype=np.int64) // 8
    times = 1.0 / np.array([max(0.1, fitness(candidate)) for candidate in some[: len(looks)]])
    path = tmp_path / "network.model"
    options = TreeGRUOptions(shape=TreeGRUShape(8, 8, 2), epochs=2)
    train_tree_gru(TrainingSamples(vectors, times, cases, loops), options).save(path)
    tried = searched("annealing", 0, 24, 8, ModelOptions(ModelChoice(str(path))))
    assert len({trial for trial, _ in tried}) == 24
    assert tried == searched("annealing", 0, 24, 8, ModelOptions(ModelChoice(str(path))))


def test_a_model_of_another_machine_shares_with_dice_until_it_is_corrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked what it thinks of what came before there is anything to correct it by."""
    monkeypatch.setattr(model_annealing, "_RANDOM_SHARE", 0.0)

    def first(is_of_here: bool) -> list[Candidate]:
        monkeypatch.setattr(model_options, "matches_machine", lambda *_: is_of_here)
        # But for what it is to begin with. Half of eleven are random: one seed says too little.
        return [trial for seed in range(4) for trial, _ in searched("annealing", seed, 12, 12)[1:]]

    here, there = first(True), first(False)
    monkeypatch.setattr(ModelChoice, "load", lambda _: None)
    without = first(True)
    model = pretrained_model()
    assert model is not None
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))

    def worth(some: list[Candidate]) -> float:
        chosen = [candidate for candidate in some if candidate.source in known]
        looks = FeatureCache(scop, SIZES, known).features(chosen)
        rows = [look.vector[: len(FEATURE_NAMES)] for look in looks if look is not None]
        return float(np.mean(model.scores(np.array(rows))))

    assert worth(without) < worth(there) < worth(here)


def test_loops_are_planned_for_the_machine_that_measures() -> None:
    there = TargetMachine(
        replace(machine_fingerprint(), processor="another"), Machine(vector_bits=128)
    )
    led_by = DEFAULT_MODEL_OPTIONS.on_machine(there)
    assert led_by.machine == there.machine
    assert DEFAULT_MODEL_OPTIONS.machine is None
    assert not led_by.is_local(led_by.model.load())
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    search = make_strategy(
        "annealing", StrategyContext(scop, SIZES, START, known, model_options=led_by)
    )
    assert isinstance(search, model_annealing.ModelAnnealing)
    (seen,) = search._looked_at.features([Candidate(ISL, START)])
    found_features = [
        candidate_features(LegalSchedule(scop, known[ISL]), START, SIZES, machine)
        for machine in (there.machine, replace(there.machine, vector_bits=512))
    ]
    vectors = [features.vector for features in found_features]
    assert seen is not None
    assert np.array_equal(seen.vector[: len(FEATURE_NAMES)], vectors[0])
    assert not np.array_equal(*vectors)


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "lu", "random:4"])
def test_edits_are_legal_and_new(name: str) -> None:
    scop = load_program(name).scop
    schedule = isl_schedule(scop)
    rng = np.random.default_rng(0)
    edited = set()
    for _ in range(12):
        other = edit_schedule(schedule, scop, rng)
        if other is not None:
            assert other != schedule
            assert is_legal(scop, other)
            assert parse_schedule(str(other), scop) == other
            edited.add(other)
            schedule = other
    assert len(edited) >= 4


def test_an_edit_is_a_schedule_of_the_search_with_a_name() -> None:
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    looked_at = FeatureCache(scop, SIZES, known)
    rng = np.random.default_rng(0)
    assert any(looked_at.edit(ISL, EditedSchedule(0), rng) for _ in range(5))
    assert str(looked_at.sources[-1]) == "edited#0"
    (look,) = looked_at.features([Candidate(EditedSchedule(0), START)])
    assert look is not None
    assert look.vector.shape == (len(FEATURE_NAMES) + len(MAPPING_COLUMNS),)
    assert look.loops is None


def test_what_was_seen_is_forgotten_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is worked out again, and is the same."""
    scop, rng = load_program("gemm").scop, np.random.default_rng(0)
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    monkeypatch.setattr(looked_at_module, "_MAX_ENTRIES", 20)
    looked_at = FeatureCache(scop, SIZES, known)
    tried = [Candidate(ISL, START)]
    while len(tried) < 60:
        tried.append(Candidate(ISL, mutate_mapping(tried[-1].mapping, rng)))
    first = [looked_at.features([trial])[0] for trial in tried]
    assert len(looked_at._looks) <= 21
    for candidate, look in zip(tried, first, strict=True):
        (again,) = looked_at.features([candidate])
        assert (look is None) is (again is None)
        if look is not None and again is not None:
            assert look.code == again.code
            np.testing.assert_array_equal(look.vector, again.vector)


@pytest.mark.parametrize("name", ["annealing", "filter"])
def test_the_same_code_is_not_measured_twice(name: str) -> None:
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    tried = [candidate for candidate, _ in searched(name, 1, 96) if candidate.source in known]
    looks = FeatureCache(scop, SIZES, known).features(tried)
    codes = [look.code for look in looks if look is not None]
    # The first 16 are random, and of the others one in twenty.
    assert len(codes) - len(set(codes)) <= 8


def test_two_mappings_may_be_the_same_code() -> None:
    scop = load_program("gemm").scop
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(scop, sources=(ISL,)))
    looked_at = FeatureCache(scop, SIZES, known)
    texts = ("tile=32", "tile=32 wavefront=off", "tile=32 diamond=off", "tile=16")
    ones = [Candidate(ISL, replace(parse_mapping(text), threads=2)) for text in texts]
    plain, no_wave, no_diamond, other = (look.code for look in looked_at.features(ones) if look)
    assert plain == no_wave == no_diamond != other
