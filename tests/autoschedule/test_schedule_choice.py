"""The automatic schedule: certain, legal, the same whatever things are called, isl's in doubt."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polybench
from polygym.autoschedule import schedule_choice, weights
from polygym.autoschedule.schedule_choice import (
    LEAST_GAIN,
    AutomaticSchedule,
    RankedSchedule,
    choose_schedule,
    choose_schedule_within,
    resolved_schedule_within,
    resolved_strategy,
)
from polygym.autoschedule.weights import combined_gain
from polygym.cost.features.candidates.private_arrays import has_private_arrays
from polygym.errors import InputError, LimitError, PolygymError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.alternatives import default_candidates
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import AUTO, ISL, ORIGINAL, parse_strategy
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs import load_program
from polygym.programs.generate import generate_source
from polygym.search.corpus.program_choice import TEST_KERNELS
from tests.renamed_programs import labelled, renamed, reversing

MACHINE = Machine(vector_bits=256, registers=16)
TWO = parse_mapping("threads=2")
NAMES = ("atax", "gesummv", "gemm", "jacobi-1d", "mvt", "durbin", "cholesky")


def chosen(name: str, dataset: polybench.Dataset = polybench.Dataset.LARGE) -> AutomaticSchedule:
    program = load_program(name, dataset=dataset)
    return choose_schedule(program.scop, dict(program.parameters), TWO, MACHINE)


def test_rankings(golden: Callable[[str, str], None]) -> None:
    assert not set(NAMES) & set(TEST_KERNELS)
    lines = []
    for name in NAMES:
        for dataset in (polybench.Dataset.SMALL, polybench.Dataset.LARGE):
            schedule = chosen(name, dataset)
            lines.append(f"{name}, {dataset}: {schedule.strategy}")
            lines += [
                f"  {ranked_schedule.predicted_gain:+.2f}  {ranked_schedule.strategy}"
                for ranked_schedule in schedule.ranking
            ]
    golden("automatic.txt", "\n".join(lines).replace("-0.00", "+0.00") + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_taken_is_promised_enough_or_usual(name: str) -> None:
    schedule = chosen(name)
    usual, *others = schedule.ranking
    assert (usual.strategy, usual.predicted_gain) == (ISL, 0.0)
    assert {
        ranked_schedule.strategy: ranked_schedule.schedule for ranked_schedule in schedule.ranking
    } == default_candidates(load_program(name).scop)
    best = max((ranked.predicted_gain or 0.0 for ranked in others), default=0.0)
    taken = schedule.ranking[schedule.chosen]
    assert taken.predicted_gain == best if best > LEAST_GAIN else taken == usual
    said = schedule.to_json()
    assert json.loads(json.dumps(said)) == said
    assert parse_strategy(said["strategy"]) == schedule.strategy


@given(st.lists(st.none() | st.floats(-8, 8), max_size=6))
def test_the_first_of_the_greatest_is_taken(promises: list[float | None]) -> None:
    taken = schedule_choice._best_candidate([0.0, *promises], list(range(len(promises) + 1)))
    enough = [promise for promise in promises if promise is not None and promise > LEAST_GAIN]
    assert taken == ([0.0, *promises].index(max(enough)) if enough else 0)


def test_where_the_usual_one_is_no_candidate_the_best_of_the_others_is_taken() -> None:
    assert schedule_choice._best_candidate([0.0, 3.0, -2.0, None, -1.0], [2, 3, 4]) == 4
    assert schedule_choice._best_candidate([0.0, None], [1]) == 1
    assert schedule_choice._best_candidate([0.0, 3.0, LEAST_GAIN], [0, 2]) == 0


def test_of_private_arrays_the_schedule_keeps_some_private() -> None:
    text = """
    void f(int n, float x[n][n], float y[n][n]) {
    #pragma scop
      for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++) {
          float w = x[i][j] - x[i - 1][j];
          y[i][j] = w * w;
        }
    #pragma endscop
    }
    """
    scop = apply_plan(parse_text(text), parse_storage("w=private:i,j"))
    schedule = choose_schedule(scop, {"n": 2000}, replace(DEFAULT_MAPPING, threads=2))
    own = [
        has_private_arrays(LegalSchedule(scop, ranked_schedule.schedule))
        for ranked_schedule in schedule.ranking
    ]
    assert own[schedule.chosen]
    assert not all(own)


@given(st.floats(-8, 8), st.floats(-8, 8))
def test_both_models_must_promise(first: float, second: float) -> None:
    gain = combined_gain(first, second)
    assert min(first, second) - 1e-9 <= gain <= max(first, second) + 1e-9
    assert gain == combined_gain(second, first)
    assert gain <= 0 or min(first, second) > 0


@pytest.mark.parametrize("seed", [0, 4, 9])
def test_labels_say_nothing(seed: int) -> None:
    text = generate_source(seed)
    scop = parse_text(text)
    sizes = {parameter.name: 70 for parameter in scop.parameters}
    first = choose_schedule(scop, sizes, TWO, MACHINE)
    names = [statement.name for statement in scop.statements]
    other = parse_text(renamed(labelled(text), reversing(names, "zz")))
    second = choose_schedule(other, sizes, TWO, MACHINE)
    assert second.strategy == first.strategy
    assert [schedule.strategy for schedule in second.ranking] == [
        ranked_schedule.strategy for ranked_schedule in first.ranking
    ]
    promises = [[ranked.predicted_gain for ranked in choice.ranking] for choice in (first, second)]
    np.testing.assert_allclose(*np.array(promises, dtype=float), atol=1e-6)


def test_without_sizes_or_models_the_usual_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    scop = load_program("gesummv").scop
    assert chosen("gesummv").strategy != ISL
    assert choose_schedule(scop, {}, TWO).strategy == ISL
    monkeypatch.setattr(weights, "weights_digest", lambda: "")
    schedule = choose_schedule(scop, {"n": 1301}, TWO)
    assert schedule.strategy == ISL
    assert {ranked_schedule.predicted_gain for ranked_schedule in schedule.ranking} == {None}


def test_settled() -> None:
    program = load_program("gesummv")
    sizes = dict(program.parameters)
    assert resolved_strategy(ORIGINAL, program.scop, sizes, TWO) == ORIGINAL
    assert (
        resolved_strategy(AUTO, program.scop, sizes, TWO)
        == choose_schedule(program.scop, sizes, TWO).strategy
    )


def test_in_a_process_of_its_own_it_is_the_same() -> None:
    program = load_program("gesummv")
    sizes = dict(program.parameters)
    here = choose_schedule(program.scop, sizes, TWO)
    assert choose_schedule_within(program.scop, sizes, TWO) == here
    assert resolved_schedule_within(AUTO, program.scop, sizes, TWO) == here.schedule


def test_where_there_is_no_time_for_several_there_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> AutomaticSchedule:
        raise LimitError("isl's scheduler: gave up")

    monkeypatch.setattr(schedule_choice, "schedules_within", never)
    program = load_program("gesummv")
    schedule = choose_schedule_within(program.scop, dict(program.parameters), TWO)
    assert schedule == AutomaticSchedule(
        (RankedSchedule(ISL, default_candidates(program.scop)[ISL], None),), 0
    )


@pytest.mark.parametrize("error", [LimitError, InputError])
def test_where_isl_gives_up_the_source_is_kept(
    monkeypatch: pytest.MonkeyPatch, error: type[PolygymError]
) -> None:
    def too_long(*_: Any) -> Any:
        raise LimitError("isl's scheduler: gave up after 60 s")

    def none(*_: Any) -> Any:
        raise error("isl's scheduler: none")

    monkeypatch.setattr(schedule_choice, "schedules_within", too_long)
    monkeypatch.setattr(schedule_choice, "schedule_within", none)
    scop = load_program("gesummv").scop
    result = choose_schedule_within(scop, {}, TWO)
    assert (result.strategy, result.schedule) == (ORIGINAL, original_schedule(scop))
    assert "the order of the source is kept" in result.note
    assert not choose_schedule(scop, {}, TWO).note


def test_loops_out_of_reach_are_not_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = schedule_choice.features_of

    def out_of_reach(legal: Any, setting: Any) -> Any:
        return (
            usual(legal, setting) if legal.schedule == default_candidates(legal.scop)[ISL] else None
        )

    monkeypatch.setattr(schedule_choice, "features_of", out_of_reach)
    program = load_program("gesummv", parameters={"n": 1303})
    schedule = choose_schedule(program.scop, dict(program.parameters), TWO)
    assert [ranked_schedule.predicted_gain for ranked_schedule in schedule.ranking] == [
        0.0,
        None,
        None,
    ]
    assert schedule.strategy == ISL


def test_a_program_out_of_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Scop) -> Any:
        raise LimitError("dependences: too many")

    monkeypatch.setattr(schedule_choice, "default_candidates", never)
    program = load_program("gesummv", parameters={"n": 1302})
    with pytest.raises(PolygymError, match="too many"):
        choose_schedule(program.scop, dict(program.parameters), TWO)
