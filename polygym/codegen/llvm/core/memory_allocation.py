"""Memory that code asks the C library for: for arrays that the kernel makes, and for copies.

What is larger than 32 MB the C library asks the operating system for, and gives it back: it comes
fresh in each run, page by page, at the first touch: 4 KB a time, each a trap of a quarter of a
microsecond and more. So code wishes for *huge pages* (2 MB on x86), which begin at a multiple of
their size; where there are none, or the system does not know the wish, nothing comes of it.

Smaller arrays can have the pages of the run before, if the C library has kept them. It keeps twice
as much as the largest piece that was ever given back, so of three arrays of 9 MB it gives 27 MB to
the system in each run, and touches them again page by page, which takes longer than a pass over an
image. Where all arrays of a kernel together are no more than 32 MB, one piece as large as all of
them is therefore asked for, and given back, before them (:func:`preallocate`).

Arrays of one kernel are *staggered*, as those are that callers have: addresses that are equal
modulo 4096 make loads wait for stores that they have nothing to do with. Array k of n begins
(2k + 1) / 2n of the way to 4096, in whole lines of the cache: two begin at 1024 and at 3072.

Tiles and small private arrays: each function that uses some has them on its own stack. A large
private array is one that the kernel makes, with a slot for each thread
(:mod:`polygym.codegen.analysis.private_memory`).
"""

import mmap
from math import prod
from typing import Any

from llvmlite import ir

from polygym.codegen.analysis.private_memory import pooled_arrays
from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.core.source_builder import ALLOCATE, RESERVE, SourceBuilder
from polygym.codegen.llvm.core.types import I32, I64, LLVM_TYPE, POINTER, declare_function, i32, i64
from polygym.codegen.loopir.ir import IndexConstant, LoopProgram
from polygym.ir.scop import StorageClass

MAX_REUSED_BYTES = 32 << 20
"""The most that the GNU C library keeps when it is given back."""

_HUGE_PAGE = 2 << 20

_ALLOCATE, _FREE, _ADVISE = "aligned_alloc", "free", "madvise"
_PAGE = 4096


def allocate_memory(module: ir.Module, builder: ir.IRBuilder, size: Any, name: str = "") -> Any:
    """Return memory of so many bytes, whole cache lines, that begins with one; null: there is none.

    Much of it begins with a huge page, and is wished to be of such pages.
    """
    if isinstance(builder, SourceBuilder):
        helper = declare_function(module, ALLOCATE, ir.FunctionType(POINTER, [I64]))
        return builder.call(helper, [size], name=name)
    allocate = declare_function(module, _ALLOCATE, ir.FunctionType(POINTER, [I64, I64]))
    allocate.return_value.add_attribute("noalias")
    huge = i64(_HUGE_PAGE)
    is_much = builder.icmp_unsigned(">", size, i64(MAX_REUSED_BYTES))
    alignment = builder.select(is_much, huge, i64(CACHE_LINE))
    whole = builder.select(is_much, rounded_up(builder, size, _HUGE_PAGE), size)
    memory = builder.call(allocate, [alignment, whole], name=name)
    is_there = builder.icmp_unsigned("!=", memory, ir.Constant(POINTER, None))
    with builder.if_then(builder.and_(is_much, is_there)):
        advise = declare_function(module, _ADVISE, ir.FunctionType(I32, [POINTER, I64, I32]))
        builder.call(advise, [memory, whole, i32(mmap.MADV_HUGEPAGE)])
    return memory


def preallocate(module: ir.Module, builder: ir.IRBuilder, size: Any) -> None:
    """Have the C library keep so many bytes when they are given back, if that is not much.

    LLVM leaves out what is asked for and given back with nothing between; so there is code of which
    it does not know that it is none.
    """
    if isinstance(builder, SourceBuilder):
        helper = declare_function(module, RESERVE, ir.FunctionType(ir.VoidType(), [I64]))
        builder.call(helper, [size])
        return
    is_little = builder.icmp_unsigned("<=", size, i64(MAX_REUSED_BYTES))
    with builder.if_then(is_little):
        memory = allocate_memory(module, builder, rounded_up(builder, size, CACHE_LINE))
        unknown = ir.FunctionType(ir.VoidType(), [POINTER])
        builder.asm(unknown, "", "r,~{memory}", [memory], side_effect=True)
        release(module, builder, memory)


def release(module: ir.Module, builder: ir.IRBuilder, memory: Any) -> None:
    """Give memory back."""
    free = declare_function(module, _FREE, ir.FunctionType(ir.VoidType(), [POINTER]))
    builder.call(free, [memory])


def staggered_offset(place: int, count: int) -> int:
    """Return how many bytes behind the begin of its memory one of several arrays begins.

    >>> [staggered_offset(place, 2) for place in range(2)], staggered_offset(0, 1)
    ([1024, 3072], 2048)
    """
    return CACHE_LINE * ((2 * place + 1) * (_PAGE // CACHE_LINE) // (2 * count))


def rounded_up(builder: ir.IRBuilder, size: Any, block: int) -> Any:
    """Return a number of bytes as whole blocks, of a power of two each."""
    more = builder.add(size, i64(block - 1))
    return builder.and_(more, i64(-block))


STACK_STORAGE = frozenset({StorageClass.TILE, StorageClass.PRIVATE})
"""The arrays that every function has for itself."""


def stack_arrays(program: LoopProgram) -> frozenset[str]:
    """Return the names of the arrays that lie on the stack of every function."""
    own = {array.name for array in program.scop.arrays if array.storage_class in STACK_STORAGE}
    return frozenset(own.difference(pooled_arrays(program)))


def allocate_stack_arrays(builder: ir.IRBuilder, program: LoopProgram) -> dict[str, Any]:
    """Return room on a function's stack for what is its own; unused room is no cost."""
    result, own = {}, stack_arrays(program)
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        if array.name in own:
            sizes = [extent.value for extent in extents if isinstance(extent, IndexConstant)]
            place = builder.alloca(LLVM_TYPE[array.type], prod(sizes), name=array.name)
            place.align = CACHE_LINE
            place.type = POINTER
            result[array.name] = place
    return result
