"""The plan of an exported kernel: its arguments, when it may run, and the loops for each case.

A kernel is one function. It runs the fast loops where all that was proved of them holds, and does
nothing where it does not; then the caller runs the loops of the source::

    int gemm_kernel(double *C, const double *A, const double *B, int64_t n)
        n is in its range, and in the context of the program   else return 1
        C overlaps neither A nor B                              else return 1
        n == 2000: loops for that size;  else: loops for all sizes

It returns 0 when the work is done.
"""

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.generation.parameters import context_condition, extent_indices
from polygym.codegen.llvm.core.memory_allocation import STACK_STORAGE
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.ir import IndexConstant, IndexOperator, IndexVariable, LoopProgram
from polygym.codegen.pipeline import lower
from polygym.codegen.validate.ranges import MAX_LONG_PARAMETER
from polygym.errors import InputError, InternalError, LimitError
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Array, Parameter, Scop, StorageClass
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import Mapping, nests_of
from polygym.poly.evaluation import context_holds
from polygym.poly.legality import LegalSchedule

NOT_RUN = 1
"""The number that a kernel returns when it has done nothing."""


@dataclass(frozen=True, slots=True)
class CpuKernelVariant:
    """Loops for certain sizes, or for all: ``sizes`` is None. ``suffix`` names the function."""

    suffix: str
    sizes: tuple[tuple[str, int], ...] | None
    program: LoopProgram


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """An exported kernel, whatever language it is written in.

    ``arrays`` and ``parameters`` are its arguments. ``conditions`` are over the parameters and must
    hold. ``array_bytes`` is the size of each array. ``disjoint`` are pairs of arrays, by their
    places, that must not overlap. ``watched`` are names of objects that no array that is written
    may overlap either: places of variables that the loops take for constant. They are further
    pointer arguments, with their sizes, and with the names of the structures that they are members
    of or None; other members of these are other objects. ``variants`` come in the order in which
    they are tried. ``notes`` are sentences for the reader of the header.
    """

    name: str
    arrays: tuple[Array, ...]
    parameters: tuple[Parameter, ...]
    written: frozenset[str]
    conditions: tuple[ir.Index, ...]
    array_bytes: tuple[ir.Index, ...]
    disjoint: tuple[tuple[int, int], ...]
    watched: tuple[tuple[str, int, str | None], ...]
    variants: tuple[CpuKernelVariant, ...]
    threads: int
    notes: tuple[str, ...] = ()

    @property
    def watched_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of an array that is written and an object that is watched, by their places."""
        return tuple(
            (place, watched)
            for place, array in enumerate(self.arrays)
            if array.name in self.written
            for watched, (_, _, structures) in enumerate(self.watched)
            if structures is None or structures != _structures(array)
        )


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """What to export: a legal schedule under a mapping, and for which sizes it is specialised.

    ``objects`` are the arrays that overlap no other object, since the source declares them as
    arrays. With ``assumes_disjoint`` the others are not looked at either.
    """

    name: str
    legal: LegalSchedule
    mapping: Mapping
    sizes: tuple[Dictionary[str, int], ...]
    objects: frozenset[str] = frozenset()
    watched: tuple[tuple[str, int, str | None], ...] = ()
    assumes_disjoint: bool = False


def within_registers(mapping: Mapping, vector_bits: int) -> Mapping:
    """Return a mapping with no vector wider than the registers of a processor.

    More of the narrower vectors run together. LLVM makes the same of wide ones, but gcc keeps a
    vector in memory that is wider than its registers: a convolution of 0.08 ms took 1.97 ms.

    >>> from polygym.mapping.mapping import parse_mapping
    >>> mapping = parse_mapping("vector_bits=256 S1:vector_bits=512 S1:vector_copies=3")
    >>> str(within_registers(mapping, 256))
    'vector_bits=256 S1:vector_bits=256 S1:vector_copies=6'
    """
    shared = _narrowed({name: getattr(mapping, name) for name in _VECTOR_KNOBS}, vector_bits)
    if mapping.vector_bits is None and vector_bits < this_machine().vector_bits:
        shared["vector_bits"] = vector_bits
    nests = nests_of({name: _narrowed(dict(own), vector_bits) for name, own in mapping.nests})
    return replace(mapping, nests=nests, **shared)


_VECTOR_KNOBS = ("vector_bits", "vector_copies")


def _narrowed(knobs: dict[str, Any], vector_bits: int) -> dict[str, Any]:
    """Return knobs with vectors of so many bits at most, and as many more of them."""
    bits, copies = (knobs.get(name) for name in _VECTOR_KNOBS)
    if bits is None or bits <= vector_bits:
        return knobs
    more = {} if copies is None else {"vector_copies": min(copies * (bits // vector_bits), 16)}
    return {**knobs, "vector_bits": vector_bits, **more}


def plan_kernel(request: KernelRequest, vector_bits: int | None = None) -> KernelPlan:
    """Return the plan of a kernel, all loops of it generated.

    ``vector_bits`` is the width of the processor's vectors, None for this machine's. Where isl
    finds no end to loops for all sizes, the kernel runs at the given ones alone; a note says so.

    Raises:
        InputError: the program is not defined for the given sizes.
    """
    scop = request.legal.scop
    mapping = within_registers(request.mapping, vector_bits or this_machine().vector_bits)
    variants, notes = [], []
    for number, sizes in enumerate(request.sizes if scop.parameters else ()):
        _check_sizes(scop, sizes)
        program = lower(request.legal, mapping, sizes)
        own = tuple((p.name, sizes[p.name]) for p in scop.parameters)
        variants.append(CpuKernelVariant(f"sizes_{number}", own, _with_own_arrays(program)))
    try:
        general = lower(request.legal, mapping, None if scop.parameters else {})
        variants.append(CpuKernelVariant("general", None, _with_own_arrays(general)))
    except (LimitError, InputError, InternalError) as error:
        if not variants:
            raise
        notes.append(f"Other sizes run the loops of the source: {error}")
    arrays = _arguments(scop)
    written = frozenset(statement.write.array for statement in scop.statements)
    pairs = () if request.assumes_disjoint else _pairs(arrays, written, request.objects)
    return KernelPlan(
        request.name,
        arrays,
        scop.parameters,
        written & {array.name for array in arrays},
        _conditions(scop),
        _sizes_in_bytes(scop, arrays),
        pairs,
        () if request.assumes_disjoint else request.watched,
        tuple(variants),
        max(map(_threads, variants)),
        tuple(notes),
    )


def _threads(variant: CpuKernelVariant) -> int:
    """Return how many threads the loops use: without parallel loops they need no OpenMP."""
    program = variant.program
    shared = any(isinstance(loop.annotation, ParallelLoop) for loop in ir.loops_in(program.body))
    return program.threads if shared else 1


def _check_sizes(scop: Scop, sizes: Dictionary[str, int]) -> None:
    missing = [p.name for p in scop.parameters if p.name not in sizes]
    if missing:
        raise InputError(f"-p: expected a value of {', '.join(missing)}, found none")
    if not context_holds(scop.context, {p.name: sizes[p.name] for p in scop.parameters}):
        raise InputError(f"{scop.name} is not defined for {dict(sizes)}")


def _arguments(scop: Scop) -> tuple[Array, ...]:
    """Return the arrays that a caller gives: all but those of the kernel's own."""
    own = PRIVATE_STORAGE_CLASSES | STACK_STORAGE | {StorageClass.SCRATCH, StorageClass.BLOCK}
    return tuple(array for array in scop.arrays if array.storage_class not in own)


def _with_own_arrays(program: LoopProgram) -> LoopProgram:
    """Return a program whose arrays that are declared in the region are the kernel's own."""
    arrays = tuple(
        replace(array, storage_class=StorageClass.SCRATCH)
        if array.storage_class is StorageClass.BLOCK
        else array
        for array in program.scop.arrays
    )
    return replace(program, scop=replace(program.scop, arrays=arrays))


def _pairs(
    arrays: Sequence[Array], written: frozenset[str], objects: frozenset[str]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of arguments that might overlap, and must not: one of them is written."""
    return tuple(
        (first, second)
        for second, later in enumerate(arrays)
        for first, earlier in enumerate(arrays[:second])
        if written & {earlier.name, later.name}
        and not {earlier.name, later.name} <= objects
        and (later.structure is None or _structures(earlier) != _structures(later))
    )


def _structures(array: Array) -> str | None:
    """Return the name of the structures that an array shows, None if it shows none."""
    return None if array.structure is None else array.structure.name


def _conditions(scop: Scop) -> tuple[ir.Index, ...]:
    """Return the conditions on parameters: the ranges of their types, and the context."""
    result: list[ir.Index] = []
    for parameter in scop.parameters:
        kind, value = parameter.type, IndexVariable(parameter.name)
        limit = MAX_LONG_PARAMETER if kind.size == 8 else kind.highest
        high = limit if kind.is_signed or kind.bits < 32 else min(limit, kind.highest >> 1)
        low = -limit if kind.is_signed else 0
        result.append(IndexOperator.GREATER_EQUAL(value, IndexConstant(low)))
        result.append(IndexOperator.LESS_EQUAL(value, IndexConstant(high)))
    context = context_condition(scop)
    return (*result, *([] if context is None else [context]))


def _sizes_in_bytes(scop: Scop, arrays: Sequence[Array]) -> tuple[ir.Index, ...]:
    """Return how many bytes arrays have, as functions of the parameters."""
    result = []
    for array in arrays:
        size: ir.Index = IndexConstant(array.type.size)
        for extent in extent_indices(scop, array):
            size = IndexOperator.MULTIPLY(size, extent)
        result.append(size)
    return tuple(result)
