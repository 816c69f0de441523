"""The plan of a C library: its arguments, the code of its steps, and where every array lies.

An array lies in the arena of a context, among the weights, or is an argument. The *base* of a place
says which: 0 the arena, 1 the weights, 2 + k argument k, inputs before results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np

from polygym.errors import InputError
from polygym.graphs.execution.ir.views import view_strides
from polygym.graphs.execution.planning.arena import ALIGNMENT, plan_arena
from polygym.graphs.execution.planning.execution_plan import (
    ElementCopy,
    ExecutionPlan,
    KernelLaunch,
    StorageKind,
    StorageLocation,
)
from polygym.graphs.execution.planning.kernel_variants import KernelSource
from polygym.graphs.execution.runtime.compiled_model import argument_places
from polygym.graphs.execution.timing.step_profile import plan_temporaries
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import ELEMENT_BYTES, TensorType
from polygym.tc.kernel import CompiledKernel

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""The types of arguments; numbers of 16 bits are their bits."""

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
    linux unix
    """.split()
)
_TAKEN = re.compile(r"u?int(_?\w*)\d+_t|\w+_t|str\w*|mem\w*|errno|std\w*|NULL|EOF|assert")
ARENA, WEIGHTS, FIRST_ARGUMENT = range(3)


@dataclass(frozen=True, slots=True)
class LibraryArgument:
    """An input or a result: its name in C, and in the graph, and what it is."""

    name: str
    title: str
    tensor: TensorType
    is_result: bool

    @property
    def c_type(self) -> str:
        """The type of the elements."""
        return C_TYPES[self.tensor.dtype]


@dataclass(frozen=True, slots=True)
class Place:
    """So many bytes behind a base."""

    base: int
    offset: int


@dataclass(frozen=True, slots=True)
class StridedCopy:
    """Elements that are moved: extents, and for both sides the first element and the strides."""

    item_bytes: int
    extents: tuple[int, ...]
    source: tuple[int, tuple[int, ...]]
    target: tuple[int, tuple[int, ...]]


StepCode: TypeAlias = KernelSource | StridedCopy


@dataclass(frozen=True, slots=True)
class LibraryStep:
    """A step: the number of its code, and the places of its arguments."""

    code: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class LibraryPlan:
    """A model as it is written in C.

    ``objects`` has the machine code of the codes that are kernels, as it was measured;
    ``constants`` are arrays and their offsets among the weights.
    """

    name: str
    title: str
    arguments: tuple[LibraryArgument, ...]
    codes: tuple[StepCode, ...]
    objects: tuple[bytes | None, ...]
    steps: tuple[LibraryStep, ...]
    constants: tuple[tuple[int, np.ndarray[Any, Any]], ...]
    weight_bytes: int
    arena_bytes: int
    threads: int


def plan_library(
    name: str,
    graph: Graph,
    layout: ExecutionPlan,
    kernels: Sequence[CompiledKernel | None],
    threads: int,
) -> LibraryPlan:
    """Return the plan of a compiled model.

    Raises:
        InputError: the name is none for C, or C has no type for an argument.
    """
    arguments = _arguments(expect_c_name(name), graph)
    constants, weight_bytes = _packed(layout.constants)
    temporaries, blocks = plan_temporaries(layout, kernels)
    memory = plan_arena(blocks)

    def place_of(location: StorageLocation) -> Place:
        storage = location.storage
        match storage.kind:
            case StorageKind.ARENA:
                return Place(ARENA, memory.offsets[storage.number] + location.offset)
            case StorageKind.CONSTANT:
                return Place(WEIGHTS, constants[storage.number][0] + location.offset)
            case StorageKind.INPUT:
                return Place(FIRST_ARGUMENT + storage.number, location.offset)
            case StorageKind.OUTPUT:
                first = FIRST_ARGUMENT + len(layout.inputs)
                return Place(first + storage.number, location.offset)
            case _:
                assert_never(storage.kind)

    numbers: dict[StepCode, int] = {}
    objects: list[bytes | None] = []
    steps: list[LibraryStep] = []
    for step, kernel, own in zip(layout.steps, kernels, temporaries, strict=True):
        if isinstance(step, KernelLaunch):
            assert kernel is not None, "a step that launches a kernel has one"
            code: StepCode = step.recipe
            locations = argument_places(step, kernel, own)
        else:
            code, locations = _strided_copy(step), [step.reads, step.writes]
        if code not in numbers:
            objects.append(None if kernel is None else kernel.object_code)
        number = numbers.setdefault(code, len(numbers))
        steps.append(LibraryStep(number, tuple(map(place_of, locations))))
    return LibraryPlan(
        name,
        graph.name,
        arguments,
        tuple(numbers),
        tuple(objects),
        tuple(steps),
        constants,
        weight_bytes,
        memory.bytes,
        threads,
    )


def expect_c_name(name: str) -> str:
    """Return a name for the functions of a library.

    Raises:
        InputError: it is none that C and C++ take.
    """
    if not (re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and _is_free(name)):
        raise InputError(
            f"--name: expected letters, digits and _, no word of C or C++, found {name[:60]!r}"
        )
    return name


def c_name(title: str, taken: frozenset[str] = frozenset()) -> str:
    """Return a name for C that is near to a title, and not taken.

    >>> c_name("inception-v3"), c_name("3x3"), c_name("int"), c_name("x", frozenset({"x"}))
    ('inception_v3', 'm_3x3', 'int_', 'x_2')
    """
    safe = re.sub(r"\W", "_", title, flags=re.ASCII).strip("_") or "m"
    safe = safe if safe[0].isalpha() else f"m_{safe}"
    safe = safe if _is_free(safe) else f"{safe}_"
    name, number = safe, 2
    while name in taken:
        name, number = f"{safe}_{number}", number + 1
    return name


def _is_free(name: str) -> bool:
    return name not in _KEYWORDS and not _TAKEN.fullmatch(name)


def _arguments(name: str, graph: Graph) -> tuple[LibraryArgument, ...]:
    given = [(part.name, part.tensor, False) for part in graph.signatures]
    given += [(title, graph.tensor(node), True) for title, node in graph.outputs]
    taken = {"model", name}
    result = []
    for title, tensor, is_result in given:
        if tensor.dtype not in C_TYPES:
            raise InputError(f"graph {graph.name}: {title}: C has no type for {tensor.dtype}")
        own = c_name(title, frozenset(taken))
        taken.add(own)
        result.append(LibraryArgument(own, title, tensor, is_result))
    return tuple(result)


def _packed(
    arrays: Sequence[np.ndarray[Any, Any]],
) -> tuple[tuple[tuple[int, np.ndarray[Any, Any]], ...], int]:
    """Return arrays with their offsets, each at the beginning of a line of a cache."""
    result, end = [], 0
    for array in arrays:
        result.append((end, array))
        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    return tuple(result), end


def _strided_copy(step: ElementCopy) -> StridedCopy:
    """Return a copy with as few axes as there can be.

    Neighbouring axes are one where the elements of both sides lie one after the other.
    """
    sides = (step.view, step.target)
    (start, strides), (to, to_strides) = map(view_strides, sides)
    merged: list[tuple[int, int, int]] = []
    for extent, stride, other in zip(step.view.shape, strides, to_strides, strict=True):
        if extent == 1:
            continue
        if merged and merged[-1][1:] == (extent * stride, extent * other):
            merged[-1] = (merged[-1][0] * extent, stride, other)
        else:
            merged.append((extent, stride, other))
    extents, own, others = zip(*merged, strict=True) if merged else ((), (), ())
    return StridedCopy(ELEMENT_BYTES[step.view.dtype], extents, (start, own), (to, others))
