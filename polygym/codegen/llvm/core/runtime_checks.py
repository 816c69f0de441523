"""Runtime checks: facts that code records as it runs and reports when it ends.

A note is a number; the largest is what is kept, so there is no branch in noting, and the variable
of a function lives in a register::

    note = max(note, bad ? number : 0)

What a parallel loop's threads have noted meets in one variable that they share, at the end of each
of their chunks. Numbers from 1 on are those of computed subscripts (gathers), counted from the last
one back, so that the first one wins. Above them stand the broken promises: what must never happen,
since code relies on it, and what is checked only where it could not be proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.binary_interface import FIRST_OUT_OF_RANGE, BrokenAssumption
from polygym.codegen.llvm.core.types import I1, I32, LaneType, i32
from polygym.codegen.loopir.ir import Index, LoopProgram
from polygym.ir.gathers import computed_subscripts
from polygym.poly.subscript_ranges import sure_subscripts


@dataclass(frozen=True)
class RuntimeChecks:
    """Variables of one function and of all; ``gather_count`` is the number of gathers."""

    local: Any
    shared: Any
    gather_count: int

    def for_callee(self, builder: ir.IRBuilder, shared: Any) -> RuntimeChecks:
        """Return what a function uses that is called from here; ``shared`` is its argument."""
        return RuntimeChecks(new_check_variable(builder), shared, self.gather_count)

    def record_gather(self, builder: ir.IRBuilder, number: int, bad: Any) -> None:
        """Note that the computed subscript of a number is out of range, where ``bad`` says so."""
        self._record(builder, self.gather_count - number, bad)

    def record_violation(self, builder: ir.IRBuilder, promise: BrokenAssumption, bad: Any) -> None:
        """Note that a promise is broken, where ``bad`` says so; in lanes, in any of them."""
        self._record(builder, self.gather_count - promise, bad)

    def _record(self, builder: ir.IRBuilder, number: int, bad: Any) -> None:
        if isinstance(bad.type, ir.VectorType):
            bad = _any_lane(builder, bad)
        instr = builder.select(bad, i32(number), i32(0))
        builder.store(_maximum(builder, builder.load(self.local, typ=I32), instr), self.local)

    def publish(self, builder: ir.IRBuilder) -> None:
        """Tell the others what this function has noted, if it has."""
        load_instr = builder.load(self.local, typ=I32)
        with builder.if_then(builder.icmp_unsigned("!=", load_instr, i32(0)), likely=False):
            builder.atomic_rmw("umax", self.shared, load_instr, "monotonic")

    def return_code(self, builder: ir.IRBuilder) -> Any:
        """Return what the kernel returns when all is done.

        With g gathers, the note g - k stands for gather k, the note g + k for the code -k.
        """
        own, shared = (builder.load(place, typ=I32) for place in (self.local, self.shared))
        result = _maximum(builder, own, shared)
        zero, gathers = i32(0), i32(self.gather_count)
        first = i32(FIRST_OUT_OF_RANGE + self.gather_count)
        is_gather = builder.icmp_unsigned("<=", result, gathers)
        code = builder.select(is_gather, builder.sub(first, result), builder.sub(gathers, result))
        return builder.select(builder.icmp_unsigned("==", result, zero), zero, code)


def new_check_variable(builder: ir.IRBuilder) -> Any:
    """Return a new variable of the function that begins at the builder."""
    slot = builder.alloca(I32, name="note")
    builder.store(i32(0), slot)
    return slot


@dataclass(frozen=True)
class SubscriptChecks:
    """What is checked as a function runs, and where it is noted.

    ``numbers`` are those of the sites, by statement, read and dimension; ``sure`` are sites that
    are in range for sure; ``sizes`` are those of the arrays.
    """

    runtime_checks: RuntimeChecks
    numbers: Mapping[tuple[str, int, int], int]
    sure: frozenset[tuple[str, int, int]]
    sizes: Mapping[str, tuple[Index, ...]]

    def for_callee(self, builder: ir.IRBuilder, shared: Any) -> SubscriptChecks:
        """Return what a function uses that is called from here; ``shared`` is its argument."""
        return replace(self, runtime_checks=self.runtime_checks.for_callee(builder, shared))


def begin_subscript_checks(
    builder: ir.IRBuilder, program: LoopProgram, *, is_instrumented: bool = False
) -> SubscriptChecks | None:
    """Return the checks of a kernel that begins at the builder, None where it needs none."""
    subscripts = computed_subscripts(program.scop)
    if not (subscripts or program.unproved_accesses or is_instrumented):
        return None
    names = (array.name for array in program.scop.arrays)
    checks = RuntimeChecks(
        new_check_variable(builder), new_check_variable(builder), len(subscripts)
    )
    numbers = {(own.statement, own.read, own.dimension): k for k, own in enumerate(subscripts)}
    sizes = dict(zip(names, program.extents, strict=True))
    sure = frozenset() if is_instrumented else sure_subscripts(program.scop)
    return SubscriptChecks(checks, numbers, sure, sizes)


class CheckedBuilder(ir.IRBuilder):  # type: ignore[misc]
    """Notes where a sum, a difference or a product wraps, or a division is not as exact as it says.

    Code is built with it in tests: what is promised is proved
    (:mod:`polygym.codegen.validate.ranges`,
    :mod:`polygym.codegen.validate.bounds`), and here the proof is put to the test.
    """

    checks: RuntimeChecks | None = None

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Return a sum."""
        if "nsw" not in flags or self.checks is None:
            return super().add(lhs, rhs, name, flags)
        return self._check_overflow(self.sadd_with_overflow(lhs, rhs, name))

    def sub(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Return a difference."""
        if "nsw" not in flags or self.checks is None:
            return super().sub(lhs, rhs, name, flags)
        return self._check_overflow(self.ssub_with_overflow(lhs, rhs, name))

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Return a product."""
        if "nsw" not in flags or self.checks is None:
            return super().mul(lhs, rhs, name, flags)
        return self._check_overflow(self.smul_with_overflow(lhs, rhs, name))

    def sdiv(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Return a quotient."""
        if "exact" in flags and self.checks is not None:
            rest = self.icmp_signed("!=", self.srem(lhs, rhs), ir.Constant(lhs.type, 0))
            self.checks.record_violation(self, BrokenAssumption.INEXACT_DIVISION, rest)
            flags = ()
        return super().sdiv(lhs, rhs, name, flags)

    def _check_overflow(self, pair: Any) -> Any:
        assert self.checks is not None
        value, wraps = (self.extract_value(pair, place) for place in (0, 1))
        self.checks.record_violation(self, BrokenAssumption.OVERFLOW, wraps)
        return value


def _any_lane(builder: ir.IRBuilder, bad: Any) -> Any:
    """Return whether a lane is bad."""
    kind = LaneType(I1, bad.type.count)
    reduce = builder.module.declare_intrinsic(
        "llvm.vector.reduce.or", [kind], ir.FunctionType(I1, [kind])
    )
    return builder.call(reduce, [bad])


def _maximum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_unsigned(">", left, right), left, right)
