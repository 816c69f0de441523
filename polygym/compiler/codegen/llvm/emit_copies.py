"""Copies of arrays in which the chunks of a parallel loop take terms together, each for itself.

::

    memory = room for the copies of every chunk, one after the other, in whole cache lines
    chunk k:   its copy of q = (what changes nothing, …);  its iterations, with that in q's place
    then:      for each chunk k: for each element f: q[f] = q[f] ⊕ copy k [f]

Copies begin as chains do (:mod:`polygym.compiler.codegen.llvm.emit_chains`): with −0, 1 or 0, and
where x ⊕ x is x with what q has, which nobody changes meanwhile. They are taken together by one
thread, in the order of the chunks. Which thread ran a chunk is no matter, and how many there are
only the mapping decides: so results are the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polygym.compiler.codegen.common.packable import LINE
from polygym.compiler.codegen.common.reductions import Operator
from polygym.compiler.codegen.llvm.emit_chains import combined, emit_carrying, neutral
from polygym.compiler.codegen.llvm.emitting import Outlining
from polygym.compiler.codegen.llvm.heap import take
from polygym.compiler.codegen.llvm.kinds import I64, LLVM_TYPE
from polygym.compiler.ir.types import ScalarType


@dataclass(frozen=True)
class Copy:
    """The copies of an array: where each is in the memory of a chunk, and what they are for.

    ``elements`` is a constant, as sizes are where copies are made.
    """

    array: str
    operator: Operator
    type: ScalarType
    elements: int
    offset: int

    @property
    def end(self) -> int:
        """The first byte behind it, and the rest of its cache line."""
        return self.offset + -(-self.elements * self.type.size // LINE) * LINE


def copies_of(emitter: Outlining, sums: Sequence[tuple[str, Operator]]) -> tuple[Copy, ...]:
    """Return the copies that a chunk needs, one behind the other."""
    found: list[Copy] = []
    for name, operator in sums:
        elements = 1
        for extent in emitter.extents[name]:
            assert isinstance(extent, ir.Constant)
            elements *= extent.constant
        scalar = emitter.program.scop.array(name).type
        offset = found[-1].end if found else 0
        found.append(Copy(name, operator, scalar, elements, offset))
    return tuple(found)


def room(module: ir.Module, builder: ir.IRBuilder, copies: Sequence[Copy], chunks: Any) -> Any:
    """Return memory for the copies of all chunks; null where there is none."""
    return take(module, builder, builder.mul(chunks, ir.Constant(I64, copies[-1].end)))


def place_of(builder: ir.IRBuilder, copy: Copy, memory: Any, chunk: Any, chunk_bytes: int) -> Any:
    """Return where the copy of a chunk is."""
    before = builder.mul(chunk, ir.Constant(I64, chunk_bytes))
    offset = builder.add(before, ir.Constant(I64, copy.offset))
    return builder.gep(memory, [offset], source_etype=ir.IntType(8))


def begin(builder: ir.IRBuilder, copy: Copy, place: Any, array: Any) -> None:
    """Let a copy begin: with what changes nothing, or with what the ``array`` itself has."""
    kind = LLVM_TYPE[copy.type]

    def one(number: Any) -> None:
        there = builder.gep(place, [number], source_etype=kind)
        if copy.operator.is_idempotent:
            own = builder.gep(array, [number], source_etype=kind)
            builder.store(builder.load(own, typ=kind), there)
        else:
            builder.store(neutral(copy.operator, kind), there)

    _each(builder, ir.Constant(I64, copy.elements), one)


def take_together(
    builder: ir.IRBuilder,
    copies: Sequence[Copy],
    arrays: Sequence[Any],
    memory: Any,
    chunks: Any,
) -> None:
    """Take what all chunks have together in the arrays, in the order of the chunks."""
    chunk_bytes = copies[-1].end

    def of_chunk(chunk: Any) -> None:
        for copy, array in zip(copies, arrays, strict=True):
            place = place_of(builder, copy, memory, chunk, chunk_bytes)

            def one(number: Any, copy: Copy = copy, place: Any = place, array: Any = array) -> None:
                own = builder.gep(array, [number], source_etype=LLVM_TYPE[copy.type])
                there = builder.gep(place, [number], source_etype=LLVM_TYPE[copy.type])
                values = [builder.load(where, typ=LLVM_TYPE[copy.type]) for where in (own, there)]
                builder.store(combined(builder, copy.operator, copy.type, *values), own)

            _each(builder, ir.Constant(I64, copy.elements), one)

    _each(builder, chunks, of_chunk)


def _each(builder: ir.IRBuilder, count: Any, body: Callable[[Any], None]) -> None:
    """Emit a loop over 0, …, count - 1."""

    def one(number: Any, _: list[Any]) -> list[Any]:
        body(number)
        return []

    first, step = ir.Constant(I64, 0), ir.Constant(I64, 1)
    emit_carrying(builder, first, builder.sub(count, step), step, [], one)
