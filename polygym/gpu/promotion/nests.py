"""The points of a block with arrays promoted: registers for sums, shared memory for stages.

The body of the points is taken apart (:mod:`polygym.gpu.promotion.points`): values are set or
loaded for all points of a thread, then each part of the body runs for all of them, stages with
barriers around what they fill, and at the end values are stored.

A point that is not there computes with zeros in a stage, if all that the stage reads and writes is
promoted and nothing in it can fail: so there are no conditions around the innermost loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import maximum, minimum, substitute
from polygym.codegen.loopir.linear_sums import add_indices
from polygym.gpu.device_program import (
    STATIC_SHARED_BYTES,
    Barrier,
    KernelNode,
    ThreadCode,
    UniformLoop,
)
from polygym.gpu.promotion.copies import MadeCode, Promoted, Replacement, Subscripts
from polygym.gpu.promotion.points import (
    PointNest,
    at_each_point,
    body_items,
    pushed_inward,
)
from polygym.gpu.promotion.stages import Stage, StagePlanner, filling
from polygym.gpu.promotion.sums import HeldElement, accesses_in, held_elements
from polygym.gpu.shared_loops.index_bounds import Ranges
from polygym.ir.expressions import Binary, BinaryOperator, Call, Gather, walk


@dataclass(frozen=True, slots=True)
class PromotionOptions:
    """The choices of a mapping: arrays in shared memory, None as it pays, and sums in registers.

    ``tile`` are the points of a block, and after those the step of a stage.
    """

    shared: tuple[str, ...] | None
    registers: bool
    tile: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PromotedNest:
    """The code of a block, and the arrays of ours in shared memory and in registers."""

    body: tuple[KernelNode, ...]
    shared: tuple[str, ...]
    local: tuple[str, ...]


@dataclass(frozen=True)
class NestPromoter:
    """Promotion in a kernel whose statements write ``written`` arrays."""

    made: MadeCode
    options: PromotionOptions
    written: frozenset[str]
    threads: tuple[int, int, int]
    ranges: Ranges

    def promoted(self, nest: PointNest, taken: int = 0) -> PromotedNest | None:
        """Return what becomes of points; None where nothing is promoted.

        ``taken`` are the bytes of shared memory that the rest of the kernel has.
        """
        program = self.made.program
        held: tuple[HeldElement, ...] = ()
        if self.options.registers:
            held = held_elements(nest, self.made.statements, program.unproved_accesses)
        planner = self._planner(nest)
        items = body_items(nest)
        stages: list[Stage | None] = []
        for item in items:
            planner = replace(planner, most_bytes=STATIC_SHARED_BYTES - taken)
            stage = None if self.options.shared == () else planner.stage(item)
            taken += 0 if stage is None else planner.bytes_of(stage.boxes)
            stages.append(stage)
        if not held and not any(stages):
            return None
        registers = {one.array: self._register(nest, one) for one in held}
        body: list[KernelNode] = [*self._beginning(nest, held, registers)]
        shared: list[str] = []
        for item, stage in zip(items, stages, strict=True):
            if stage is None:
                body.append(ThreadCode(self._at_points(nest, item, registers)))
                continue
            nodes, names = self._staged(nest, stage, registers, planner)
            body += nodes
            shared += names
        body += self._end(nest, held, registers)
        return PromotedNest(
            tuple(body), tuple(shared), tuple(made.array.name for made in registers.values())
        )

    def _planner(self, nest: PointNest) -> StagePlanner:
        program = self.made.program
        return StagePlanner(
            nest,
            self.made.statements,
            {array.name: array.type.size for array in program.scop.arrays},
            self.ranges,
            self.written,
            program.guarded_reads | program.unproved_accesses,
            None if self.options.shared is None else frozenset(self.options.shared),
            next(iter(self.options.tile[len(nest.axes) :]), None),
            STATIC_SHARED_BYTES,
        )

    def _register(self, nest: PointNest, held: HeldElement) -> Promoted:
        source = self.made.program.scop.array(held.array)
        return self.made.promote(source, "sum", tuple(axis.copies for axis in nest.axes))

    def _extents(self, array: str) -> tuple[ir.Index, ...]:
        program = self.made.program
        names = [own.name for own in program.scop.arrays]
        return program.extents[names.index(array)]

    def _at_points(self, nest: PointNest, item: ir.Node, registers: dict[str, Promoted]) -> ir.Node:
        """Return a part of the body for all points of a thread, one after the other."""
        own = self.made.redirected(item, _by_point(nest, registers))
        return at_each_point(nest, own, is_guarded=True)

    def _beginning(
        self, nest: PointNest, held: Sequence[HeldElement], registers: dict[str, Promoted]
    ) -> list[KernelNode]:
        parts: list[ir.Node] = []
        inside = nest.copy_variables
        for one in held:
            made = registers[one.array]
            if any(axis.conditions for axis in nest.axes):
                parts.append(at_each_point(nest, made.cleared(inside), is_guarded=False))
            if one.is_loaded:
                load = made.filled(one.subscripts, inside)
                parts.append(at_each_point(nest, load, is_guarded=True))
        return [ThreadCode(ir.block_of(parts))] if parts else []

    def _end(
        self, nest: PointNest, held: Sequence[HeldElement], registers: dict[str, Promoted]
    ) -> list[KernelNode]:
        inside = nest.copy_variables
        stores = [registers[one.array].stored(one.subscripts, inside) for one in held]
        parts = [at_each_point(nest, store, is_guarded=True) for store in stores]
        return [ThreadCode(ir.block_of(parts))] if parts else []

    def _staged(
        self,
        nest: PointNest,
        stage: Stage,
        registers: dict[str, Promoted],
        planner: StagePlanner,
    ) -> tuple[list[KernelNode], list[str]]:
        """Return a loop in stages, and the arrays in shared memory."""
        made, loop = self.made, stage.loop
        first = made.names.fresh(f"{loop.variable}_first")
        at_first = {loop.variable: ir.IndexVariable(first)}
        ranges = {**self.ranges, first: stage.firsts}
        new: dict[str, Replacement] = {}
        fills: list[KernelNode] = []
        for array, box in stage.boxes.items():
            reads = accesses_in(loop, made.statements)
            own_reads = [row[3] for row in reads if row[2].array == array]
            lengths = planner.lengths_in_memory(box, own_reads)
            promoted = made.promote(made.program.scop.array(array), "block", lengths)
            own = replace(box, origin=tuple(substitute(at, at_first) for at in box.origin))
            new[array] = promoted, own.subscripts_inside
            counter = made.names.fresh(f"{promoted.array.name}_element")
            fill = filling(own, promoted, self._extents(array), self.threads, ranges, counter)
            fills.append(ThreadCode(fill))
        last = add_indices(ir.IndexVariable(first), ir.IndexConstant(stage.step - 1))
        inner = replace(
            loop,
            lower=ir.IndexVariable(first)
            if stage.lower == loop.lower
            else maximum(loop.lower, ir.IndexVariable(first)),
            upper=last if stage.is_even else minimum(loop.upper, last),
        )
        code = self._stage_code(nest, inner, new, registers)
        body = (*fills, Barrier(), ThreadCode(code), Barrier())
        node = UniformLoop(first, stage.lower, stage.upper, stage.step, body)
        return [node], [promoted.array.name for promoted, _ in new.values()]

    def _stage_code(
        self,
        nest: PointNest,
        loop: ir.Loop,
        new: dict[str, Replacement],
        registers: dict[str, Promoted],
    ) -> ir.Node:
        """Return what a thread runs of a stage."""
        is_guarded = not self._cannot_fail(loop, new, registers)
        own = self.made.redirected(loop, {**new, **_by_point(nest, registers)})
        if is_guarded and any(axis.conditions for axis in nest.axes):
            return at_each_point(nest, own, is_guarded=True)
        return pushed_inward(nest, own, is_guarded=False)

    def _cannot_fail(
        self, loop: ir.Loop, new: dict[str, Replacement], registers: dict[str, Promoted]
    ) -> bool:
        """Whether a point that is not there may run a stage: it touches nothing but our arrays."""
        promoted = {*new, *registers}
        for statement, _, access, _ in accesses_in(loop, self.made.statements):
            if access.array not in promoted:
                return False
            if any(map(_may_fail, walk(statement.body))):
                return False
        return True


def _may_fail(expression: object) -> bool:
    match expression:
        case Binary(BinaryOperator.DIVIDE | BinaryOperator.REMAINDER, _, _, scalar):
            return scalar.is_integer
        case Gather() | Call():
            return True
        case _:
            return False


def _by_point(nest: PointNest, registers: dict[str, Promoted]) -> dict[str, Replacement]:
    """Return the registers of a point."""
    inside: Subscripts = nest.copy_variables
    return {array: (made, lambda _: inside) for array, made in registers.items()}
