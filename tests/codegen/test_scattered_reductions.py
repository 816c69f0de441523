"""Histograms and scattered sums in threads with copies, against the order of the source."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.common.scattered_reductions import reduction_of
from polygym.codegen.llvm.loops import emit_parallel
from polygym.codegen.loopir.ir import loops_in
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.transforms import parallel_reductions
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import Mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.tuning import tune

HEAD = "void f(int n, int k[n], {kind} x[n], {kind} h[7], {kind} g[7][n], {kind} A[n][n]) {{\n"
NEST = "  for (int i = 0; i < n; i++)\n    for (int j = {first}; j < i; j++)\n      {line}\n"
SUMS = {
    "h[k[i]]++;": ReductionOperator.SUM,
    "h[k[i]] += x[j];": ReductionOperator.SUM,
    "h[k[i]] = x[i] - 3 + h[k[i]] - A[i][j];": ReductionOperator.SUM,
    "if (A[i][j] > 1) h[k[j]] -= x[i];": ReductionOperator.SUM,
    "h[(k[i] + k[j]) % 7] += A[i][j];": ReductionOperator.SUM,
    "h[k[i]] = A[i][j] > 2 ? h[k[i]] + 1 : h[k[i]];": ReductionOperator.SUM,
    "g[k[i]][j] += A[i][j];": ReductionOperator.SUM,
    "g[k[i]][k[j]] += 2;": ReductionOperator.SUM,
    "h[k[i]] *= 3;": ReductionOperator.PRODUCT,
    "h[0] += x[k[j]];": ReductionOperator.SUM,
}
BITS = {"h[k[j]] ^= x[i];": ReductionOperator.XOR, "h[k[i]] |= x[j];": ReductionOperator.OR}
READ_BESIDES = ("h[k[i]] += h[0];", "if (h[k[i]] < 3) h[k[i]] += 1;")
"""Sums of an array that they read besides: the loop's planner refuses them, not the statement."""

OTHERS = (
    *READ_BESIDES,
    "h[k[i]] = x[j];",
    "h[k[i]] = h[k[j]] + x[i];",
    "h[k[i]] = x[j] - h[k[i]];",
    "h[k[i]] = (h[k[i]] + 1) * 2;",
    "h[k[i]] = h[k[i]] / 2 + 1;",
    "h[k[i]] += h[k[i]];",
)


def text_of(line: str, kind: str, first: int = 0) -> str:
    """Return a program with a nest of two loops."""
    nest = NEST.format(line=line, first=first)
    return f"{HEAD.format(kind=kind)}#pragma scop\n{nest}#pragma endscop\n}}\n"


@pytest.mark.parametrize("line", [*SUMS, *BITS, *OTHERS])
def test_reductions_are_recognized(line: str) -> None:
    reduction = reduction_of(parse_text(text_of(line, "int")).statements[0])
    expected = (SUMS | BITS | dict.fromkeys(READ_BESIDES, ReductionOperator.SUM)).get(line)
    assert (reduction.operator if reduction else None) is expected


def copied_arrays(text: str, mapping: Mapping, n: int = 2000) -> list[str]:
    """Return the arrays of which threads have copies."""
    scop = parse_text(text)
    program = lower(LegalSchedule(scop, original_schedule(scop)), mapping, {"n": n})
    return [
        name
        for loop in loops_in(program.body)
        if isinstance(loop.annotation, ParallelLoop)
        for name, _ in loop.annotation.reductions
    ]


def test_floats_have_copies_where_their_order_is_free() -> None:
    text = text_of("h[k[i]] += x[j];", "float")
    assert copied_arrays(text, Mapping(threads=2)) == []
    assert copied_arrays(text, Mapping(threads=2, reassociate=True)) == ["h"]
    assert copied_arrays(text_of("h[k[i]] += x[j];", "int"), Mapping(threads=2)) == ["h"]


@pytest.mark.parametrize("line", [*SUMS, *BITS])
def test_threads_have_copies_unless_they_wait_for_nothing(line: str) -> None:
    expected = [] if "][j] +=" in line else ["h"]  # columns are independent
    names = copied_arrays(text_of(line, "int"), Mapping(threads=2))
    assert [name.replace("g", "h") for name in names] == expected


@pytest.mark.parametrize("line", OTHERS)
def test_other_updates_stay_in_one_thread(line: str) -> None:
    assert copied_arrays(text_of(line, "int"), Mapping(threads=2)) == []


KINDS = ("unsigned char", "signed char", "short", "int", "long")


@pytest.mark.parametrize("seed", range(18))
def test_threads_compute_the_bits_of_the_source(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, parallel_reductions, min_parallel_work=1, min_terms_per_element=0)
    tune(monkeypatch, emit_parallel, min_parallel_work=1, work_per_copied_element=0)
    rng = np.random.default_rng([54, seed])
    line = [*SUMS, *BITS][seed % 12]
    scop = parse_text(text_of(line, KINDS[seed % 5]))
    schedule = original_schedule(scop) if seed % 2 else isl_schedule(scop)
    for threads, n in ((1 + seed % 4, 23), (2, 1), (3, 2)):
        arrays = random_arrays(scop, {"n": n}, rng)
        arrays["k"][...] = rng.integers(0, min(n, 7), size=n)
        expected = {name: array.copy() for name, array in arrays.items()}
        run_in_order(scop, {"n": n}, expected)
        mapping, watched = Mapping(threads=threads), seed % 3 == 0
        run_natively(scop, schedule, {"n": n}, arrays, mapping, is_known=True, is_watched=watched)
        for name, array in arrays.items():
            assert array.tobytes() == expected[name].tobytes(), (line, threads, n, name)
