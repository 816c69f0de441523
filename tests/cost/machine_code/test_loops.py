"""Loops of LLVM IR: how often they run, beside running them by hand."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.cost.machine_code.ir_text import Instruction, read_functions
from polygym.cost.machine_code.loops import UNKNOWN_TRIPS, count_loop, loops_of
from polygym.cost.machine_code.values import Values, definitions_of


def counted(head: str, tail: str) -> str:
    """Return a function with a loop over %i whose block ends as is said."""
    return f"""define void @kernel(ptr %a, i64 %n) {{
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  {head}
  {tail}

exit:                                             ; preds = %loop
  ret void
}}
"""


def trips(text: str, **context: int) -> float:
    (function,) = read_functions(text).values()
    (loop,) = loops_of(function)
    return count_loop(function, loop, definitions_of(function), context).trips


@given(
    first=st.integers(-50, 50),
    step=st.sampled_from([1, 2, 3, 8, -1, -5]),
    distance=st.integers(1, 200),
    predicate=st.sampled_from(["slt", "sle", "ne", "eq", "sgt", "sge"]),
)
@settings(max_examples=200, deadline=None)
def test_trips_are_those_of_running_the_loop(
    first: int, step: int, distance: int, predicate: str
) -> None:
    bound = first + distance * step
    if predicate in ("slt", "sle", "sgt", "sge") and (step > 0) != (predicate[1] == "l"):
        predicate = {"l": "g", "g": "l"}[predicate[1]].join(("s", predicate[2]))
    comparisons: dict[str, Callable[[int], bool]] = {
        "slt": lambda x: x < bound,
        "sle": lambda x: x <= bound,
        "sgt": lambda x: x > bound,
        "sge": lambda x: x >= bound,
        "ne": lambda x: x != bound,
        "eq": lambda x: x == bound,
    }
    holds = comparisons[predicate]
    goes_on, leaves = ("exit", "loop") if predicate == "eq" else ("loop", "exit")
    text = counted(
        f"%i = phi i64 [ {first}, %entry ], [ %next, %loop ]\n  %next = add nsw i64 %i, {step}",
        f"%c = icmp {predicate} i64 %next, {bound}\n  br i1 %c, label %{goes_on}, label %{leaves}",
    )
    expected = next(k for k in count(1) if holds(first + k * step) is (predicate == "eq"))
    assert trips(text) == expected


def test_a_bound_may_be_computed_from_arguments() -> None:
    text = counted(
        "%i = phi i64 [ 0, %entry ], [ %next, %loop ]\n  %next = add nuw nsw i64 %i, 4\n"
        "  %m = shl nsw i64 %n, 1\n  %top = tail call i64 @llvm.smin.i64(i64 %m, i64 100)",
        "%c = icmp samesign ult i64 %next, %top\n  br i1 %c, label %loop, label %exit",
    )
    assert trips(text, n=10) == 5
    assert trips(text, n=1000) == 25
    assert trips(text) == UNKNOWN_TRIPS


def test_a_flag_is_set_once() -> None:
    text = counted(
        "%first = phi i1 [ true, %entry ], [ false, %loop ]\n"
        "  %i = phi i64 [ 0, %entry ], [ 64, %loop ]",
        "br i1 %first, label %loop, label %exit",
    )
    assert trips(text) == 2


def test_what_memory_decides_is_unknown() -> None:
    text = counted("%x = load i1, ptr %a, align 1", "br i1 %x, label %loop, label %exit")
    assert trips(text) == UNKNOWN_TRIPS


@given(
    a=st.integers(-(2**31), 2**31 - 1),
    b=st.integers(-(2**31), 2**31 - 1),
    opcode=st.sampled_from(
        ["add", "sub", "mul", "and", "or", "xor", "sdiv", "srem", "udiv", "urem"]
    ),
)
@settings(max_examples=200, deadline=None)
def test_values_are_kept_in_their_bits(a: int, b: int, opcode: str) -> None:
    known = Values({"r": Instruction("r", opcode, f"i32 {a}, {b}")}, {}).value("%r")
    unsigned = (a % 2**32, b % 2**32)
    if opcode in ("sdiv", "srem", "udiv", "urem") and b == 0:
        assert known is None
        return
    magnitude = abs(a) // abs(b) if b else 0
    quotient = magnitude if (a < 0) == (b < 0) else -magnitude
    exact = {
        "add": a + b,
        "sub": a - b,
        "mul": a * b,
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "sdiv": quotient,
        "srem": a - b * quotient,
        "udiv": unsigned[0] // unsigned[1] if b else 0,
        "urem": unsigned[0] % unsigned[1] if b else 0,
    }[opcode]
    assert known is not None
    assert (known - exact) % 2**32 == 0
    assert -(2**31) <= known < 2**31


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("usub.sat", 3, 16, 0),
        ("usub.sat", 40, 16, 24),
        ("uadd.sat", 40, 16, 56),
        ("uadd.sat", -1, 16, -1),
        ("umin", -1, 16, 16),
        ("smax", -1, 16, 16),
    ],
)
def test_calls_in_bounds_have_values(name: str, a: int, b: int, expected: int) -> None:
    """LLVM writes ``usub.sat`` for ``max(0, x - 16)``, the first tile of a wavefront."""
    call = Instruction("r", "call", f"tail call i16 @llvm.{name}.i16(i16 %a, i16 %b)")
    assert Values({"r": call}, {"a": a, "b": b}).value("%r") == expected


def test_loops_are_nested() -> None:
    text = """define void @kernel(ptr %a) {
entry:
  br label %outer

outer:                                            ; preds = %after, %entry
  %i = phi i64 [ 0, %entry ], [ %ni, %after ]
  br label %inner

inner:                                            ; preds = %inner, %outer
  %j = phi i64 [ %i, %outer ], [ %nj, %inner ]
  %nj = add i64 %j, 1
  %c = icmp eq i64 %nj, 100
  br i1 %c, label %after, label %inner

after:                                            ; preds = %inner
  %ni = add i64 %i, 1
  %d = icmp eq i64 %ni, 80
  br i1 %d, label %exit, label %outer

exit:                                             ; preds = %after
  ret void
}
"""
    (function,) = read_functions(text).values()
    (outer,) = loops_of(function)
    (inner,) = outer.children
    assert (outer.header, inner.header) == ("outer", "inner")
    definitions = definitions_of(function)
    result = count_loop(function, outer, definitions, {})
    assert (result.trips, result.middle["i"]) == (80, 40)
    assert count_loop(function, inner, definitions, result.middle).trips == 60


@pytest.mark.parametrize("text", ["", "define void @kernel() {\nentry:\n  ret void\n}\n"])
def test_without_loops_there_are_none(text: str) -> None:
    assert all(not loops_of(function) for function in read_functions(text).values())
