"""No access outside its array gets as far as the machine: proved, or checked as code runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polybench import Dataset
from polygym.codegen.analysis.value_ranges import BoundContext, ProofBudget
from polygym.codegen.llvm.core.binary_interface import BrokenAssumption
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
)
from polygym.codegen.pipeline import compile_program, lower
from polygym.codegen.validate import bounds as check_bounds
from polygym.codegen.validate.bounds import WRITE_ACCESS, unproved_accesses, with_bounds_proofs
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from tests.c_programs import kernel_scop, small_parameters
from tests.codegen.llvm.core.test_emit_index import value_of
from tests.oracles.compiled_runs import random_arrays, run_code
from tests.oracles.tuning import tune

COPY = """
void f(int n, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
S:  A[i] = B[i] + 1.0;
#pragma endscop
}
"""
SCOP = parse_text(COPY)
N = 12
I = IndexVariable("i")  # noqa: E741


def operation(operator: IndexOperator, *operands: Index | int) -> Index:
    return IndexOperation(
        operator,
        tuple(
            IndexConstant(operand) if isinstance(operand, int) else operand for operand in operands
        ),
    )


def program(body: Node, size: int = N) -> LoopProgram:
    extents = ((IndexConstant(size),), (IndexConstant(size),))
    return LoopProgram(SCOP, body, extents, frozenset(), sizes=(("n", size),))


def copies(write: Index, read: Index, lanes: Lanes | None = None) -> Instance:
    return Instance("S", (I,), (write,), ((read,),), lanes)


def loop(lower: Index | int, upper: Index | int, body: Node, step: int = 1) -> Loop:
    low, high = (IndexConstant(end) if isinstance(end, int) else end for end in (lower, upper))
    return Loop("i", low, high, step, body)


ONE_TOO_MANY = {
    "the last iteration": loop(0, N, copies(I, IndexConstant(0))),
    "the first iteration": loop(-1, N - 1, copies(I, IndexConstant(0))),
    "a read beside": loop(0, N - 1, copies(I, operation(IndexOperator.ADD, I, 1))),
    "the last lane": loop(0, N - 1, copies(I, I, Lanes("i", I, 8, None)), step=8),
    "a lane that exists": loop(8, N - 1, copies(I, I, Lanes("i", I, 8, IndexConstant(5))), step=8),
    "an arm": loop(
        0,
        N - 1,
        copies(I, operation(IndexOperator.SELECT, operation(IndexOperator.EQUAL, I, 3), N, I)),
    ),
    "a guard that does not bound": Guard(
        operation(IndexOperator.GREATER_EQUAL, IndexConstant(1), 0), loop(0, N, copies(I, I)), None
    ),
}


@pytest.mark.parametrize("name", ONE_TOO_MANY)
def test_what_leaves_an_array_is_seen_and_stopped(name: str) -> None:
    """The code says so, has touched nothing else, and did what was right."""
    loops = program(ONE_TOO_MANY[name])
    access_keys = unproved_accesses(loops, {"n": N})
    assert access_keys
    room = np.full(3 * N, 7.0)
    given = {"A": room[N : 2 * N], "B": np.arange(N, dtype=np.float64)}
    code = compile_program(replace(loops, unproved_accesses=access_keys))
    assert run_code(code, loops, {"n": N}, given) == BrokenAssumption.OUT_OF_BOUNDS
    assert (room[:N] == 7.0).all()
    assert (room[2 * N :] == 7.0).all()
    assert (room[N : 2 * N] != 7.0).any()


@pytest.mark.parametrize("name", ONE_TOO_MANY)
def test_watched_code_stops_itself_too(name: str) -> None:
    loops = program(ONE_TOO_MANY[name])
    given = {"A": np.zeros(N), "B": np.zeros(N)}
    assert (
        run_code(compile_program(loops, is_watched=True), loops, {"n": N}, given)
        == BrokenAssumption.OUT_OF_BOUNDS
    )


def test_watched_code_sees_what_wraps() -> None:
    huge = operation(IndexOperator.MULTIPLY, 2**62, operation(IndexOperator.ADD, I, 1))
    wraps = operation(IndexOperator.REMAINDER_NONNEGATIVE, huge, 4)
    loops = program(loop(0, N - 1, copies(wraps, I)))
    given = {"A": np.zeros(N), "B": np.zeros(N)}
    assert (
        run_code(compile_program(loops, is_watched=True), loops, {"n": N}, given)
        == BrokenAssumption.OVERFLOW
    )


def test_watched_code_sees_vectors_without_lanes() -> None:
    lanes = Lanes("i", I, 8, operation(IndexOperator.SUBTRACT, 3, I))
    loops = program(loop(3, 3 + 0 * N, copies(I, IndexConstant(0), lanes)))
    assert unproved_accesses(loops, {"n": N}) == {("S", WRITE_ACCESS), ("S", 0)}
    given = {"A": np.zeros(N), "B": np.zeros(N)}
    assert (
        run_code(compile_program(loops, is_watched=True), loops, {"n": N}, given)
        == BrokenAssumption.EMPTY_LANES
    )


FINE = {
    "the loop": loop(0, N - 1, copies(I, I)),
    "all lanes": loop(0, N - 8, copies(I, I, Lanes("i", I, 8, None)), step=4),
    "the lanes that exist": loop(
        8, N - 1, copies(I, I, Lanes("i", I, 8, IndexConstant(4))), step=8
    ),
    "half of the iterations": loop(
        0, 2 * N - 1, copies(operation(IndexOperator.DIVIDE_EXACT, I, 2), IndexConstant(0))
    ),
    "a remainder": loop(
        -9, 99, copies(operation(IndexOperator.REMAINDER_NONNEGATIVE, I, N), IndexConstant(0))
    ),
    "a guard": loop(
        -N,
        N * N,
        Guard(
            operation(
                IndexOperator.AND,
                operation(IndexOperator.GREATER, I, -1),
                operation(IndexOperator.LESS, operation(IndexOperator.MULTIPLY, 2, I), 2 * N - 1),
            ),
            copies(I, I),
            None,
        ),
    ),
    "the other branch": loop(
        0, N, Guard(operation(IndexOperator.GREATER_EQUAL, I, N), Block(()), copies(I, I))
    ),
    "a minimum": loop(
        0, 5 * N, copies(operation(IndexOperator.MINIMUM, I, N - 1), IndexConstant(0))
    ),
    "nothing": loop(5, 4, copies(operation(IndexOperator.ADD, I, 100), IndexConstant(0))),
}


@pytest.mark.parametrize("name", FINE)
def test_what_stays_inside_is_proved(name: str) -> None:
    if name == "nothing":
        assert unproved_accesses(program(FINE[name]), {"n": N}) == {("S", WRITE_ACCESS)}
    else:
        assert unproved_accesses(program(FINE[name]), {"n": N}) == frozenset()


def test_divisions_that_leave_no_remainder_are_known() -> None:
    """By the steps of a loop; in another loop the same one may leave one."""
    half = operation(IndexOperator.DIVIDE_EXACT, operation(IndexOperator.SUBTRACT, I, 1), 2)
    odd = loop(1, 2 * N - 1, copies(half, IndexConstant(0)), step=2)
    assert with_bounds_proofs(program(odd), {"n": N}).exact_divisions == {half}
    even = loop(2, 2 * N - 1, copies(half, IndexConstant(0)), step=2)
    assert with_bounds_proofs(program(even), {"n": N}).exact_divisions == frozenset()
    assert with_bounds_proofs(program(Block((odd, even))), {"n": N}).exact_divisions == frozenset()
    wrong = replace(program(even), exact_divisions=frozenset({half}))
    given = {"A": np.zeros(N), "B": np.zeros(N)}
    assert (
        run_code(compile_program(wrong, is_watched=True), wrong, {"n": N}, given)
        == BrokenAssumption.INEXACT_DIVISION
    )


def bounds() -> st.SearchStrategy[Index]:
    """Return bounds of an inner loop j, or conditions' sides, in terms of i."""
    small = st.integers(-6, 6)
    linear = st.builds(
        lambda a, b: operation(IndexOperator.ADD, operation(IndexOperator.MULTIPLY, a, I), b),
        st.integers(-3, 3),
        small,
    )
    divided = st.builds(
        lambda operator, form, by: operation(operator, form, by),
        st.sampled_from(
            [
                IndexOperator.DIVIDE_FLOOR,
                IndexOperator.DIVIDE_EXACT,
                IndexOperator.REMAINDER_NONNEGATIVE,
            ]
        ),
        linear,
        st.integers(1, 4),
    )
    either = linear | divided
    extremes = st.builds(
        lambda operator, *pair: operation(operator, *pair),
        st.sampled_from([IndexOperator.MINIMUM, IndexOperator.MAXIMUM]),
        either,
        either,
    )
    return either | extremes


def reached(node: Node, values: dict[str, int]) -> Iterator[int]:
    """Yield the elements that instances write."""
    match node:
        case Block(children):
            for child in children:
                yield from reached(child, values)
        case Loop(name, lower, upper, step, body):
            first, last = value_of(lower, values), value_of(upper, values)
            for counter in range(first, last + 1, step):
                yield from reached(body, {**values, name: counter})
        case Guard(condition, then, otherwise):
            if value_of(condition, values):
                yield from reached(then, values)
            elif otherwise is not None:
                yield from reached(otherwise, values)
        case Instance(_, _, (write,), _):
            yield value_of(write, values)


@settings(max_examples=300, deadline=None)
@given(
    bounds(),
    bounds(),
    bounds(),
    bounds(),
    st.sampled_from([IndexOperator.LESS, IndexOperator.EQUAL, IndexOperator.GREATER_EQUAL]),
    st.integers(1, 3),
    st.integers(-2, 2),
)
def test_nothing_is_proved_that_is_not_so(
    lower: Index,
    upper: Index,
    left: Index,
    right: Index,
    comparison: IndexOperator,
    step: int,
    factor: int,
) -> None:
    """Random loops, guards and subscripts, against running them."""
    subscript = operation(
        IndexOperator.ADD, IndexVariable("j"), operation(IndexOperator.MULTIPLY, factor, I)
    )
    inner: Node = copies(subscript, IndexConstant(0))
    inner = Guard(
        IndexOperation(comparison, (left, right)), inner, copies(subscript, IndexConstant(0))
    )
    body = loop(-3, 6, Loop("j", lower, upper, step, inner))
    places = set(reached(body, {}))
    for size in (1, 5, N, 40):
        is_proved = not unproved_accesses(program(body, size), {"n": size})
        assert not is_proved or all(0 <= place < size for place in places)


KERNELS = ("gemm", "lu", "jacobi-2d", "seidel-2d", "syrk", "trmm", "durbin")


@pytest.mark.rotates
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "mapping", ["default", "sequential", "default threads=2 tile=5x3 unroll_jam=3"]
)
def test_usual_schedules_of_kernels_are_proved(kernel: str, mapping: str) -> None:
    """What is proved costs nothing as it runs."""
    scop = kernel_scop(kernel)
    sizes = {name: 37 + place for place, name in enumerate(small_parameters(scop))}
    chosen: Mapping = parse_mapping(mapping)
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        assert lower(LegalSchedule(scop, schedule), chosen, sizes).unproved_accesses == frozenset()


@pytest.mark.parametrize("kernel", ["lu", "trmm"])
def test_places_may_share_what_they_know(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds variables is the same there: each place alone finds the same, in more steps."""
    scop = kernel_scop(kernel)
    mapping = parse_mapping("tile=4x2 unroll_jam=2")
    loops = lower(LegalSchedule(scop, isl_schedule(scop)), mapping)
    taken: list[int] = []
    unproved = []
    together = BoundContext.with_names
    for inside in (together, lambda *given: replace(together(*given), greatest_memo={})):
        monkeypatch.setattr(BoundContext, "with_names", inside)
        effort = ProofBudget(steps_left=10**6, combinations_left=3000)
        unproved.append(check_bounds._collect_unproved(loops, None, effort))
        taken.append(10**6 - effort.steps_left)
    assert unproved[0] == unproved[1]
    assert taken[0] < taken[1]


def test_a_proof_that_takes_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, check_bounds, bounds_steps=1)
    access_keys = unproved_accesses(program(FINE["a guard"]), {"n": N})
    assert access_keys == {("S", WRITE_ACCESS), ("S", 0)}


def test_loops_say_what_is_not_proved_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, check_bounds, bounds_steps=1)
    scop = kernel_scop("gemm")
    loop_program = lower(LegalSchedule(scop, original_schedule(scop)), sizes=small_parameters(scop))
    assert loop_program.unproved_accesses == {
        (statement.name, place)
        for statement in scop.statements
        for place in (WRITE_ACCESS, *range(len(statement.reads)))
    }


@pytest.mark.parametrize("name", ["lu", "ludcmp", "cholesky", "trisolv", "nussinov"])
def test_nothing_is_left_unproved_of_tiles_of_factorisations(name: str) -> None:
    """Bounds that follow from loops that are not empty, and from guards with those around."""
    program = load_program(name, dataset=Dataset.LARGE)
    legal = LegalSchedule(program.scop, isl_schedule(program.scop))
    loop_program = lower(legal, parse_mapping("threads=2"), dict(program.parameters))
    assert loop_program.unproved_accesses == frozenset()


def test_watched_code_of_kernels_keeps_its_promises() -> None:
    for kernel in ("gemm", "correlation", "nussinov"):
        scop = kernel_scop(kernel)
        sizes = {name: 19 + place for place, name in enumerate(small_parameters(scop))}
        start = random_arrays(scop, sizes, np.random.default_rng(0))
        for text in (
            "default",
            "default threads=2",
            "tile=4 unroll_jam=3 vector_copies=2 separate=on",
        ):
            loops = lower(LegalSchedule(scop, isl_schedule(scop)), parse_mapping(text), sizes)
            given = {key: value.copy() for key, value in start.items()}
            assert run_code(compile_program(loops, is_watched=True), loops, sizes, given) == 0
