"""LLVM types of values: one value, or a vector with one value in each lane.

Floating types that are only stored are their bits
(:mod:`polygym.codegen.llvm.expressions.emit_half`).

Functions that are defined elsewhere, each declared once in a module.

Binary interface of compiled code: names of functions, numbers that they return.

An object exports one function::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds);

It returns 0 and stores how long its kernel took, or returns 1 when it could not allocate memory, or
2 + k when the computed subscript number k was out of range (:mod:`polygym.ir.gathers`), or
the negative number of a promise that it would have broken (:class:`BrokenAssumption`); then what it
has left in its outputs means nothing.

Parallel code asks for its threads through one function that it is given::

    void polygym_fork(void (*task)(void *), void *data, unsigned threads, unsigned flags);

Code that calls functions of a user's library names the library in a text of its own, the functions
as :func:`foreign_symbol` says; the loader opens the one and finds the others
(:mod:`polygym.foreign.calls`).

The emitters make code that keeps to this, and the loader and its callers rely on it; neither knows
the other.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polygym.ir.types import ScalarType

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()

LLVM_TYPE = {
    **{scalar: ir.IntType(8 * scalar.size) for scalar in ScalarType},
    ScalarType.FLOAT: ir.FloatType(),
    ScalarType.DOUBLE: ir.DoubleType(),
}


def i32(number: int) -> ir.Constant:
    """Return a constant of 32 bits."""
    return ir.Constant(I32, number)


def i64(number: int) -> ir.Constant:
    """Return a constant of 64 bits."""
    return ir.Constant(I64, number)


class LaneType(ir.VectorType):  # type: ignore[misc]
    """A vector type that can take part in the name of an intrinsic: ``llvm.sqrt.v8f64``."""

    @property
    def intrinsic_name(self) -> str:
        """The part of an intrinsic's name that stands for this type."""
        return f"v{self.count}{self.element.intrinsic_name}"


def value_type(element: Any, lanes: int | None) -> Any:
    """Return an element's type, or the type of a vector of it."""
    return element if lanes is None else LaneType(element, lanes)


def element_type(kind: Any) -> Any:
    """Return the type of the value in a lane, or of the one value that there is."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def constant_of(kind: Any, value: int | float) -> Any:
    """Return a constant of a type, the same in every lane where it has lanes."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def splat(builder: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """Return a vector with one value in every lane."""
    kind = LaneType(value.type, lanes)
    if isinstance(value, ir.Constant):
        return ir.Constant(kind, [value] * lanes)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, i32(0))
    mask = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return _with_lane_type(
        builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask), kind
    )


def reverse_lanes(builder: ir.IRBuilder, vector: Any) -> Any:
    """Return a vector with its lanes in the opposite order."""
    kind, count = vector.type, vector.type.count
    order = ir.Constant(ir.VectorType(I32, count), list(range(count))[::-1])
    return _with_lane_type(
        builder.shuffle_vector(vector, ir.Constant(kind, ir.Undefined), order), kind
    )


def _with_lane_type(value: Any, kind: LaneType) -> Any:
    """Give a value the type object that knows its name; the two print alike."""
    value.type = kind
    return value


def declare_function(
    module: ir.Module, name: str, kind: ir.FunctionType, *attributes: str
) -> ir.Function:
    """Return a function of this name and type, declared with its attributes where it is not yet."""
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, kind, name)
        for attribute in attributes:
            function.attributes.add(attribute)
    return function


ENTRY_POINT = "polygym_run"
"""The name of the function that every object exports."""

FORK_FUNCTION = "polygym_fork"
"""The name of the function by which code asks for threads."""

LIBRARY_PREFIX = "polygym-library"
"""What the text begins with that names a user's library; its digest and its path follow."""

FOREIGN_PREFIX = "polygym_foreign"
"""What the names of a user's functions begin with."""


def library_text(digest: str, path: str) -> bytes:
    """Return the text that names a user's library."""
    return f"{LIBRARY_PREFIX}:{digest}:{path}".encode() + bytes(1)


def foreign_symbol(digest: str, name: str) -> str:
    """Return the name that a function of a user's library has in code."""
    return f"{FOREIGN_PREFIX}_{digest[:16]}_{name}"


OUT_OF_MEMORY = 1
FIRST_OUT_OF_RANGE = 2


class BrokenAssumption(IntEnum):
    """A promise that was not kept, by the number that the kernel returns for it."""

    OUT_OF_BOUNDS = -1
    OVERFLOW = -2
    EMPTY_LANES = -3
    INEXACT_DIVISION = -4


BROKEN_ASSUMPTION_TEXTS: Mapping[int, str] = MappingProxyType(
    {
        BrokenAssumption.OUT_OF_BOUNDS: "its loops would leave an array",
        BrokenAssumption.OVERFLOW: "its index arithmetic does not fit 64 bits",
        BrokenAssumption.EMPTY_LANES: "it runs a vector without lanes",
        BrokenAssumption.INEXACT_DIVISION: "a division leaves a remainder",
    }
)
"""What code that was refused as it ran was about to do; it has touched nothing outside its arrays.
"""
