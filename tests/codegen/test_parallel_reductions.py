"""Sums and the like in any order: in chains, and in threads with copies of what they reduce.

All numbers are integers, so that every order of their sums has the same bits, and a term that is
lost, or taken twice, or at the wrong time, is seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.common.loop_annotation import (
    ParallelLoop,
    ScalarReplacement,
    SplitAccumulators,
)
from polygym.codegen.common.reductions import ReductionOperator, reduction_operator
from polygym.codegen.llvm.loops import emit_parallel
from polygym.codegen.loopir.ir import Loop, loops_in
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.transforms import parallel_reductions
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import random_mapping
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.random_schedules import random_legal_schedule
from tests.oracles.tuning import tune

HEAD = "void f(int n, {kind} s[1], {kind} *t, {kind} x[n], {kind} y[n], {kind} z[n], "
HEAD += "{kind} A[n][n], {kind} B[n][n], {kind} C[n][n]) {{\n#pragma scop\n"
TARGETS = ("s[0]", "*t", "w", "x[i]", "x[j]", "x[n - 1 - i]", "C[i][j]", "A[i][0]", "A[0][j]")
TERMS = (
    "A[i][j]",
    "A[j][i]",
    "y[j]",
    "y[n - 1 - j]",
    "y[i] * z[j]",
    "A[i][j] * y[j]",
    "B[i][n - 1 - j] * z[j]",
    "B[j][i] + y[i]",
    "i - j",
)
BOUNDS = (
    "int j = 0; j < n; j++",
    "int j = n - 1; j >= 0; j--",
    "int j = 0; j < n; j += 3",
    "int j = 0; j <= i; j++",
    "int j = i + 1; j < n; j++",
    "int j = n - 2; j > i; j -= 2",
)
FORMS = {
    "sum": ("{x} += {e};", "{x} = {e} + {x};", "{x} -= {e};", "{x} = {x} + {e} - y[j];"),
    "product": ("{x} *= z[j] > 0 ? 1 : -1;", "{x} = (i > 1 ? -1 : 1) * {x};"),
    "extreme": (
        "{x} = {e} > {x} ? {e} : {x};",
        "{x} = {x} <= {e} ? {x} : {e};",
        "{x} = {x} >= {e} ? {x} : {e};",
    ),
    "condition": ("if ({e} > {x}) {x} = {e};", "if (y[j] > 0) {x} += {e};"),
    "bits": ("{x} &= {e};", "{x} = {e} | {x};", "{x} ^= {e};"),
}


def random_text(rng: np.random.Generator) -> str:
    """Return a program of one to three nests, each with one or two reductions."""
    kind = str(rng.choice(["double", "float", "int", "long", "signed char", "short"]))
    names = [name for name in FORMS if name != "bits" or kind not in ("double", "float")]
    lines = [HEAD.format(kind=kind), f"  {kind} w = 3;\n"]
    for _ in range(rng.integers(1, 4)):
        body = []
        for _ in range(rng.integers(1, 3)):
            form = str(rng.choice(FORMS[str(rng.choice(names))]))
            target = str(rng.choice(TARGETS))
            body.append("      " + form.format(x=target, e=str(rng.choice(TERMS))) + "\n")
        outer = "int i = n - 1; i >= 0; i--" if rng.random() < 0.2 else "int i = 0; i < n; i++"
        lines.append(f"  for ({outer}) {{\n")
        if rng.random() < 0.3:
            lines.append("    x[i] = 1;\n")
        lines.append(f"    for ({rng.choice(BOUNDS)}) {{\n{''.join(body)}    }}\n")
        if rng.random() < 0.3:
            lines.append("    z[i] = w > y[i] ? 2 : -1;\n")
        lines.append("  }\n")
    lines.append("  y[0] = w;\n#pragma endscop\n}\n")
    return "".join(lines)


def whole_numbers(
    scop: Scop, parameters: dict[str, int], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return arrays of small integers, zeros of both signs among those of floats."""
    arrays = random_arrays(scop, parameters, rng)
    for array in arrays.values():
        array[...] = rng.integers(-3, 4, size=array.shape)
        if array.dtype.kind == "f":
            array[(array == 0) & (rng.random(array.shape) < 0.5)] = -0.0
    return arrays


def disagreement(text: str, seed: int, mapping: Mapping, *, watched: bool) -> str | None:
    """Run a program under one schedule and mapping; say what differs from its own order."""
    scop, rng = parse_text(text), np.random.default_rng(seed)
    match rng.integers(3):
        case 0:
            schedule = original_schedule(scop)
        case 1:
            schedule = isl_schedule(scop)
        case _:
            schedule = random_legal_schedule(scop, rng, rows=int(rng.integers(1, 3)))
    largest = 3 if " float " in text else 8  # sums of floats are to stay below 2^24
    parameters = {"n": int(rng.choice([1, 3, 17, 2, 5, 8, 40, 67][:largest]))}
    arrays = whole_numbers(scop, parameters, rng)
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    try:
        run_natively(scop, schedule, parameters, arrays, mapping, is_known=True, is_watched=watched)
    except LimitError:
        return None
    for array in scop.arrays:
        if array.is_observable and arrays[array.name].tobytes() != expected[array.name].tobytes():
            return f"{array.name} differs with {parameters}, {schedule}, {mapping}, seed {seed}"
    return None


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads however little there is to do."""
    tune(monkeypatch, parallel_reductions, min_parallel_work=1, min_terms_per_element=0)
    tune(monkeypatch, emit_parallel, min_parallel_work=1, work_per_copied_element=0)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(48))
@pytest.mark.usefixtures("eager")
def test_every_order_of_whole_numbers_has_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng([20, seed])
    text = random_text(rng)
    mapping = replace(random_mapping(rng), reassociate=True, threads=1 + seed % 4)
    if seed % 3:
        mapping = Mapping(threads=1 + seed % 4, reassociate=True)
    answer = disagreement(text, seed, mapping, watched=seed % 5 == 0)
    assert answer is None, f"{answer}\n{text}"


REDUCTIONS = {
    "x[i] = x[i] + A[i][j];": ReductionOperator.SUM,
    "x[i] = A[i][j] * y[j] + x[i];": ReductionOperator.SUM,
    "x[i] -= A[i][j];": ReductionOperator.SUM,
    "x[i] = y[j] + (x[i] - A[i][j]);": ReductionOperator.SUM,
    "x[i] *= A[i][j];": ReductionOperator.PRODUCT,
    "x[i] = y[j] * (A[i][j] * x[i]);": ReductionOperator.PRODUCT,
    "x[i] = A[i][j] > x[i] ? A[i][j] : x[i];": ReductionOperator.MAXIMUM,
    "x[i] = fmin(x[i], A[i][j]);": ReductionOperator.MINIMUM,
    "x[i] = A[i][j] - x[i];": None,
    "x[i] /= A[i][j];": None,
    "x[i] = y[j] * x[i] + A[i][j];": None,
    "x[i] = x[i] + x[i];": None,
    "x[i] = sqrt(x[i]) + A[i][j];": None,
    "x[i] = A[i][j] > x[i] ? y[j] : x[i];": None,
    "if (A[i][j] > x[i]) x[i] = A[i][j];": ReductionOperator.MAXIMUM,
    "if (A[i][j] > 0) x[i] += A[i][j];": ReductionOperator.SUM,
    "if (x[i] > 0) x[i] += A[i][j];": None,
    "x[i] = A[i][j];": None,
}


@pytest.mark.parametrize("line", REDUCTIONS)
def test_what_is_a_reduction(line: str) -> None:
    scop = parse_text(nest(line))
    assert reduction_operator(scop.statements[0]) is REDUCTIONS[line]


def nest(body: str, kind: str = "double", bounds: str = BOUNDS[0], before: str = "") -> str:
    """Return a program with a nest of two loops."""
    inner = f"    for ({bounds}) {{\n      {body}\n    }}\n"
    outer = f"  {before}for (int i = 0; i < n; i++)\n{inner}"
    return f"{HEAD.format(kind=kind)}{outer}#pragma endscop\n}}\n"


def loops_of(text: str, mapping: str, n: int = 2000) -> list[Loop]:
    """Return the loops of a program in its own order under a mapping."""
    scop = parse_text(text)
    program = lower(LegalSchedule(scop, original_schedule(scop)), parse_mapping(mapping), {"n": n})
    return list(loops_in(program.body))


def chains_of(loops: list[Loop]) -> list[SplitAccumulators]:
    """Return the chains of loops."""
    held = [
        loop.annotation.scalar_replacement
        if isinstance(loop.annotation, ParallelLoop)
        else loop.annotation
        for loop in loops
    ]
    return [
        replacement.accumulators
        for replacement in held
        if isinstance(replacement, ScalarReplacement) and replacement.accumulators is not None
    ]


def sums_of(loops: list[Loop]) -> list[tuple[str, ReductionOperator]]:
    """Return the arrays of which threads have copies."""
    return [
        pair
        for loop in loops
        if isinstance(loop.annotation, ParallelLoop)
        for pair in loop.annotation.reductions
    ]


def test_chains_need_a_mapping_that_says_so() -> None:
    text = nest("x[i] += A[i][j] * y[n - 1 - j];")
    lanes = "vector_bits=256 unroll_jam=1 reassociate=on"
    assert chains_of(loops_of(text, "vector_bits=256 unroll_jam=1")) == []
    assert chains_of(loops_of(text, lanes)) == [SplitAccumulators(4, 4)]
    assert chains_of(loops_of(text, f"sequential {lanes[-14:]}")) == []
    # down a column there are chains, but no lanes; of short loops there are fewer
    (column, *_) = chains_of(loops_of(nest("s[0] += A[j][i] * A[i][j];"), lanes))
    assert column == SplitAccumulators(1, 4)
    assert chains_of(loops_of(text, lanes, n=9)) == [SplitAccumulators(4, 1)]


def test_elements_that_terms_may_need_have_no_chains() -> None:
    lanes = "vector_bits=256 unroll_jam=1 reassociate=on"
    apart = nest("A[i][i] += A[i][j] * 0.5;", bounds="int j = 0; j < i; j++")
    assert chains_of(loops_of(apart, lanes))
    for body in ("A[i][0] += A[i][j] * 0.5;", "x[i] += x[j];", "s[0] += y[j]; y[j] = s[0];"):
        assert chains_of(loops_of(nest(body), lanes)) == [], body


def test_maxima_that_are_read_elsewhere_in_their_array_have_chains() -> None:
    text = """
void f(int n, int t[n][n]) {
#pragma scop
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++)
      for (int k = i + 1; k < j; k++)
        t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
#pragma endscop
}
"""
    assert chains_of(loops_of(text, "reassociate=on", n=60))


def test_sums_in_threads_have_copies() -> None:
    on = "threads=2 reassociate=on"
    total = nest("s[0] += A[i][j];")
    assert sums_of(loops_of(total, on)) == [("s", ReductionOperator.SUM)]
    assert sums_of(loops_of(total, "threads=2")) == []
    assert sums_of(loops_of(total, "reassociate=on")) == []
    assert sums_of(loops_of(total, f"{on} parallel=off")) == []
    assert sums_of(loops_of(total, on, n=20)) == []  # nothing to gain
    both = nest("x[j] += A[i][j]; s[0] += A[i][j];")
    assert sums_of(loops_of(both, on))
    # columns are independent: nothing has to wait for anything
    assert sums_of(loops_of(nest("x[j] += A[i][j];"), on)) == []


@pytest.mark.parametrize(
    "text",
    [
        nest("s[0] += A[i][j]; y[0] = s[0];"),  # every sum is seen
        nest("s[0] += s[0] * A[i][j];"),
        nest("s[0] = s[0] * y[j] + A[i][j];"),
        nest("s[0] = A[i][j] > s[0] ? A[i][j] : s[0];"),  # NaN, and zeros of both signs
        nest("s[0] += A[i][j]; s[0] *= y[j];"),
        nest("A[0][0] += A[i][j];"),
    ],
)
def test_what_is_more_than_a_sum_stays_in_one_thread(text: str) -> None:
    assert sums_of(loops_of(text, "threads=2 reassociate=on")) == []


def test_copies_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = nest("x[n - 1 - i] += y[i]; x[j] += A[i][j];")
    on = "threads=4 reassociate=on"
    assert sums_of(loops_of(text, on)) == [("x", ReductionOperator.SUM)]
    tune(monkeypatch, parallel_reductions, max_reduction_copy_bytes=4 * 2000 * 8 - 1)
    assert sums_of(loops_of(text, on)) == []


def test_what_sets_a_sum_parts_ways_first() -> None:
    scop = parse_text(nest("s[0] += A[i][j];", before="s[0] = 0;\n  "))
    legal = LegalSchedule(scop, isl_schedule(scop))
    program = lower(legal, parse_mapping("threads=2 reassociate=on"), {"n": 2000})
    assert sums_of(list(loops_in(program.body))) == [("s", ReductionOperator.SUM)]
    assert "reduction(+: s[0:1])" in print_c(program)


def test_sums_in_threads_are_the_same_every_time() -> None:
    scop = parse_text(nest("s[0] += A[i][j] * y[j];"))
    first = None
    for _ in range(5):
        arrays = random_arrays(scop, {"n": 300}, np.random.default_rng(4))
        on = Mapping(threads=3, reassociate=True)
        run_natively(scop, original_schedule(scop), {"n": 300}, arrays, on, is_known=True)
        first = first or arrays["s"].tobytes()
        assert arrays["s"].tobytes() == first


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("form", FORMS["extreme"])
def test_maxima_of_floats_have_the_bits_of_the_source(form: str, special: float) -> None:
    """In chains as well: which of two zeros is kept, and what NaN does."""
    for target in ("x[i]", "s[0]"):
        scop = parse_text(nest(form.format(x=target, e="A[i][j]")))
        rng = np.random.default_rng(7)
        arrays = random_arrays(scop, {"n": 45}, rng)
        arrays["A"][...] = rng.choice([0.0, special, -1.0], size=(45, 45), p=[0.1, 0.05, 0.85])
        arrays["A"][:22] = rng.normal(size=(22, 45))
        changed = target[0]
        arrays[changed][::3] = special
        expected = {name: array.copy() for name, array in arrays.items()}
        run_in_order(scop, {"n": 45}, expected)
        on = Mapping(threads=2, reassociate=True)
        run_natively(scop, isl_schedule(scop), {"n": 45}, arrays, on, is_known=True)
        assert arrays[changed].tobytes() == expected[changed].tobytes(), target
