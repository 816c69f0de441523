"""Non-temporal stores and prefetches (:mod:`polygym.codegen.recurrences.streams.transform`).

A store past the caches (``!nontemporal``) has to be of a whole vector at a multiple of its size,
which only the addresses say as the code runs: arrays are the caller's, rows may have any length.
So each asks for it, a test that the processor foresees::

    if address mod 64 = 0:  store past the caches
    else:                   store

Such stores are not in order with others. Fences are, before other threads begin with a task, at its
end, and at that of the kernel: who has seen that a task is there, or done, sees all that was stored
before.
"""

from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.source_builder import STREAM, SourceBuilder
from polygym.codegen.llvm.core.types import I32, I64, POINTER, declare_function, i32, i64

_FENCE = "llvm.x86.sse.sfence"
_PREFETCH = "llvm.prefetch.p0"
_READ, _NEAREST, _DATA = (i32(number) for number in (0, 3, 1))


def store_past(
    module: ir.Module, builder: ir.IRBuilder, value: Any, address: Any, size: int
) -> None:
    """Store a vector of so many bytes past the caches, where its address allows it.

    ``size`` is that of an element: no more is known of the address.
    """
    lanes = value.type
    if isinstance(builder, SourceBuilder):
        kind = ir.FunctionType(ir.VoidType(), [lanes, POINTER])
        helper = declare_function(module, f"{STREAM}.{lanes.intrinsic_name}", kind)
        builder.call(helper, [value, address])
        return
    whole = lanes.count * size
    number = builder.ptrtoint(address, I64)
    below = builder.and_(number, i64(whole - 1))
    is_whole = builder.icmp_unsigned("==", below, i64(0))
    with builder.if_else(is_whole, likely=True) as (past, usual):
        with past:
            stored = builder.store(value, address, align=whole)
            stored.set_metadata("nontemporal", module.add_metadata([i32(1)]))
        with usual:
            builder.store(value, address, align=size)


def settle(module: ir.Module, builder: ir.IRBuilder) -> None:
    """Emit the fence after which all stores past the caches are done."""
    builder.call(declare_function(module, _FENCE, ir.FunctionType(ir.VoidType(), [])), [])


def ask_for(module: ir.Module, builder: ir.IRBuilder, address: Any) -> None:
    """Ask for the line of an address, which need not be one of an array."""
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
    builder.call(declare_function(module, _PREFETCH, kind), [address, _READ, _NEAREST, _DATA])
