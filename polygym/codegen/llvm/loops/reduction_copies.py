"""Copies of arrays in which the chunks of a parallel loop take terms together, each for itself.

::

    memory = room for the copies of every chunk, one after the other, in whole cache lines
    chunk k:   its copy of q = (what changes nothing, …);  its iterations, with that in q's place
    then:      for each chunk k: for each element f: q[f] = q[f] ⊕ copy k [f]

Copies begin as chains do (:mod:`polygym.codegen.llvm.loops.emit_split_accumulators`): with −0, 1 or
0, and where x ⊕ x is x with what q has, which nobody changes meanwhile. They are taken together by
one thread, in the order of the chunks. Which thread ran a chunk is no matter, and how many there
are only the mapping decides: so results are the same every time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.types import LLVM_TYPE, i64
from polygym.codegen.llvm.loops.emit_split_accumulators import (
    combine_values,
    emit_accumulating_loop,
    neutral_element,
)
from polygym.ir.types import ScalarType


@dataclass(frozen=True)
class ReductionCopy:
    """The copies of an array: where each is in the memory of a chunk, and what they are for.

    ``elements`` is a constant, as sizes are where copies are made.
    """

    array: str
    operator: ReductionOperator
    type: ScalarType
    elements: int
    offset: int

    @property
    def end(self) -> int:
        """The first byte behind it, and the rest of its cache line."""
        return self.offset + -(-self.elements * self.type.size // CACHE_LINE) * CACHE_LINE


def reduction_copies(
    emitter: Emitter, sums: Sequence[tuple[str, ReductionOperator]]
) -> tuple[ReductionCopy, ...]:
    """Return the copies that a chunk needs, one behind the other."""
    copies: list[ReductionCopy] = []
    for name, operator in sums:
        elements = 1
        for extent in emitter.extents[name]:
            assert isinstance(extent, ir.Constant)
            elements *= extent.constant
        scalar = emitter.program.scop.array(name).type
        offset = copies[-1].end if copies else 0
        copies.append(ReductionCopy(name, operator, scalar, elements, offset))
    return tuple(copies)


def copy_address(
    builder: ir.IRBuilder, copy: ReductionCopy, buffer: Any, chunk: Any, chunk_bytes: int
) -> Any:
    """Return where the copy of a chunk is."""
    before = builder.mul(chunk, i64(chunk_bytes))
    offset = builder.add(before, i64(copy.offset))
    return builder.gep(buffer, [offset], source_etype=ir.IntType(8))


def initialize_copy(builder: ir.IRBuilder, copy: ReductionCopy, address: Any, array: Any) -> None:
    """Let a copy begin: with what changes nothing, or with what the ``array`` itself has."""
    kind = LLVM_TYPE[copy.type]

    def one(number: Any) -> None:
        there = builder.gep(address, [number], source_etype=kind)
        if copy.operator.is_idempotent:
            own = builder.gep(array, [number], source_etype=kind)
            builder.store(builder.load(own, typ=kind), there)
        else:
            builder.store(neutral_element(copy.operator, kind), there)

    _emit_element_loop(builder, i64(copy.elements), one)


def combine_copies(
    builder: ir.IRBuilder,
    copies: Sequence[ReductionCopy],
    arrays: Sequence[Any],
    buffer: Any,
    chunks: Any,
) -> None:
    """Take what all chunks have together in the arrays, in the order of the chunks."""
    chunk_bytes = copies[-1].end

    def of_chunk(chunk: Any) -> None:
        for copy, array in zip(copies, arrays, strict=True):
            place = copy_address(builder, copy, buffer, chunk, chunk_bytes)

            def one(
                number: Any, copy: ReductionCopy = copy, place: Any = place, array: Any = array
            ) -> None:
                own = builder.gep(array, [number], source_etype=LLVM_TYPE[copy.type])
                there = builder.gep(place, [number], source_etype=LLVM_TYPE[copy.type])
                values = [builder.load(where, typ=LLVM_TYPE[copy.type]) for where in (own, there)]
                builder.store(combine_values(builder, copy.operator, copy.type, *values), own)

            _emit_element_loop(builder, i64(copy.elements), one)

    _emit_element_loop(builder, chunks, of_chunk)


def _emit_element_loop(builder: ir.IRBuilder, count: Any, body: Callable[[Any], None]) -> None:
    """Emit a loop over 0, …, count - 1."""

    def one(number: Any, _: list[Any]) -> list[Any]:
        body(number)
        return []

    first, step = i64(0), i64(1)
    emit_accumulating_loop(builder, first, builder.sub(count, step), step, [], one)
