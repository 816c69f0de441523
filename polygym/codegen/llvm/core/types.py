"""LLVM types of values: one value, or a vector with one value in each lane.

Floating types that are only stored are their bits
(:mod:`polygym.codegen.llvm.expressions.emit_half`).

Functions that are defined elsewhere, each declared once in a module.
"""

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
