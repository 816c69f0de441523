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
from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import DEFAULT, parse_mapping
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.alternatives import few
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.strategy import AUTO, ISL, ORIGINAL, parse_strategy
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.plan import parse_storage
from polygym.cost.own_memory import has_own
from polygym.episodes import automatic, learned_weights
from polygym.episodes.automatic import (
    LEAST,
    Choice,
    Ranked,
    choose,
    choose_within,
    settled,
    strategy_within,
)
from polygym.episodes.opinions import promise_of
from polygym.errors import LimitError, PolygymError
from polygym.programs import load_program
from polygym.programs.generate import generate
from polygym.search.corpus.held_out import TEST_KERNELS
from tests.rewriting import labelled, renamed, reversing

MACHINE = Machine(vector_bits=256, registers=16)
TWO = parse_mapping("threads=2")
NAMES = ("atax", "gesummv", "gemm", "jacobi-1d", "mvt", "durbin", "cholesky")


def chosen(name: str, dataset: polybench.Dataset = polybench.Dataset.LARGE) -> Choice:
    program = load_program(name, dataset=dataset)
    return choose(program.scop, dict(program.parameters), TWO, MACHINE)


def test_rankings(golden: Callable[[str, str], None]) -> None:
    assert not set(NAMES) & set(TEST_KERNELS)
    lines = []
    for name in NAMES:
        for dataset in (polybench.Dataset.SMALL, polybench.Dataset.LARGE):
            found = chosen(name, dataset)
            lines.append(f"{name}, {dataset}: {found.strategy}")
            lines += [f"  {one.promise:+.2f}  {one.strategy}" for one in found.ranking]
    golden("automatic.txt", "\n".join(lines).replace("-0.00", "+0.00") + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_taken_is_promised_enough_or_usual(name: str) -> None:
    found = chosen(name)
    usual, *others = found.ranking
    assert (usual.strategy, usual.promise) == (ISL, 0.0)
    assert {one.strategy: one.schedule for one in found.ranking} == few(load_program(name).scop)
    best = max((one.promise or 0.0 for one in others), default=0.0)
    taken = found.ranking[found.taken]
    assert taken.promise == best if best > LEAST else taken == usual
    said = found.to_json()
    assert json.loads(json.dumps(said)) == said
    assert parse_strategy(said["strategy"]) == found.strategy


@given(st.lists(st.none() | st.floats(-8, 8), max_size=6))
def test_the_first_of_the_greatest_is_taken(promises: list[float | None]) -> None:
    taken = automatic._taken([0.0, *promises], list(range(len(promises) + 1)))
    enough = [one for one in promises if one is not None and one > LEAST]
    assert taken == ([0.0, *promises].index(max(enough)) if enough else 0)


def test_where_the_usual_one_is_no_candidate_the_best_of_the_others_is_taken() -> None:
    assert automatic._taken([0.0, 3.0, -2.0, None, -1.0], [2, 3, 4]) == 4
    assert automatic._taken([0.0, None], [1]) == 1
    assert automatic._taken([0.0, 3.0, LEAST], [0, 2]) == 0


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
    scop = applied(parse_text(text), parse_storage("w=private:i,j"))
    found = choose(scop, {"n": 2000}, replace(DEFAULT, threads=2))
    own = [has_own(LegalSchedule(scop, one.schedule)) for one in found.ranking]
    assert own[found.taken]
    assert not all(own)


@given(st.floats(-8, 8), st.floats(-8, 8))
def test_both_models_must_promise(first: float, second: float) -> None:
    found = promise_of(first, second)
    assert min(first, second) - 1e-9 <= found <= max(first, second) + 1e-9
    assert found == promise_of(second, first)
    assert found <= 0 or min(first, second) > 0


@pytest.mark.parametrize("seed", [0, 4, 9])
def test_labels_say_nothing(seed: int) -> None:
    text = generate(seed)
    scop = parse_text(text)
    sizes = {one.name: 70 for one in scop.parameters}
    first = choose(scop, sizes, TWO, MACHINE)
    names = [one.name for one in scop.statements]
    other = parse_text(renamed(labelled(text), reversing(names, "zz")))
    second = choose(other, sizes, TWO, MACHINE)
    assert second.strategy == first.strategy
    assert [one.strategy for one in second.ranking] == [one.strategy for one in first.ranking]
    promises = [[one.promise for one in choice.ranking] for choice in (first, second)]
    np.testing.assert_allclose(*np.array(promises, dtype=float), atol=1e-6)


def test_without_sizes_or_models_the_usual_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    scop = load_program("gesummv").scop
    assert chosen("gesummv").strategy != ISL
    assert choose(scop, {}, TWO).strategy == ISL
    monkeypatch.setattr(learned_weights, "digest", lambda: "")
    found = choose(scop, {"n": 1301}, TWO)
    assert found.strategy == ISL
    assert {one.promise for one in found.ranking} == {None}


def test_settled() -> None:
    program = load_program("gesummv")
    sizes = dict(program.parameters)
    assert settled(ORIGINAL, program.scop, sizes, TWO) == ORIGINAL
    assert settled(AUTO, program.scop, sizes, TWO) == choose(program.scop, sizes, TWO).strategy


def test_in_a_process_of_its_own_it_is_the_same() -> None:
    program = load_program("gesummv")
    sizes = dict(program.parameters)
    here = choose(program.scop, sizes, TWO)
    assert choose_within(program.scop, sizes, TWO) == here
    assert strategy_within(AUTO, program.scop, sizes, TWO) == here.schedule


def test_where_there_is_no_time_for_several_there_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> Choice:
        raise LimitError("isl's scheduler: gave up")

    monkeypatch.setattr(automatic, "schedules_within", never)
    program = load_program("gesummv")
    found = choose_within(program.scop, dict(program.parameters), TWO)
    assert found == Choice((Ranked(ISL, few(program.scop)[ISL], None),), 0)


def test_loops_out_of_reach_are_not_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = automatic.vector_of

    def out_of_reach(legal: Any, setting: Any) -> Any:
        return usual(legal, setting) if legal.schedule == few(legal.scop)[ISL] else None

    monkeypatch.setattr(automatic, "vector_of", out_of_reach)
    program = load_program("gesummv", parameters={"n": 1303})
    found = choose(program.scop, dict(program.parameters), TWO)
    assert [one.promise for one in found.ranking] == [0.0, None, None]
    assert found.strategy == ISL


def test_a_program_out_of_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Scop) -> Any:
        raise LimitError("dependences: too many")

    monkeypatch.setattr(automatic, "few", never)
    program = load_program("gesummv", parameters={"n": 1302})
    with pytest.raises(PolygymError, match="too many"):
        choose(program.scop, dict(program.parameters), TWO)
