"""Memory of private arrays: small ones lie on the stack, large ones in blocks of slots.

The stack of a thread holds private arrays of ``TUNING.max_private_bytes`` together, in the order of
the program's arrays. Each of the others has a block of memory that the kernel asks for once, at
entry, and gives back at its end: a *slot* for every thread that a parallel loop may have. Outside
of parallel loops the first slot is used.

Slots are whole pages apart, so that threads share no line of the cache. Example: an array of
66,564 numbers of 8 bytes takes 532,512 bytes; its slots begin 131 pages, 536,576 bytes, apart.
"""

from math import prod

from polygym.codegen.loopir import ir
from polygym.ir.scop import StorageClass
from polygym.mapping.tuning_parameters import TUNING

_PAGE = 4096


def private_array_bytes(program: ir.LoopProgram, name: str) -> int:
    """Return how many bytes a thread needs for a private array; its loops are done."""
    return program.scop.array(name).type.size * _element_count(program, name)


def _element_count(program: ir.LoopProgram, name: str) -> int:
    pairs = zip(program.scop.arrays, program.extents, strict=True)
    (extents,) = (extents for array, extents in pairs if array.name == name)
    return prod(extent.value for extent in extents if isinstance(extent, ir.IndexConstant))


def slot_elements(program: ir.LoopProgram, name: str) -> int:
    """Return how many elements after another slot of a private array the next one begins."""
    size = program.scop.array(name).type.size
    pages = -(-private_array_bytes(program, name) // _PAGE)
    return pages * _PAGE // size


def pooled_arrays(program: ir.LoopProgram) -> tuple[str, ...]:
    """Return the names of the private arrays that the stack has no space for."""
    left, result = TUNING.max_private_bytes, []
    for array in program.scop.arrays:
        if array.storage_class is StorageClass.PRIVATE:
            size = private_array_bytes(program, array.name)
            if size <= left:
                left -= size
            else:
                result.append(array.name)
    return tuple(result)
