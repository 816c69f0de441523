"""Lifting of single instructions: kinds of values that C has in another way."""

from __future__ import annotations

from llvmlite import ir

from polygym.codegen.c.kernel.lifting.function import lift
from polygym.codegen.c.kernel.values import Kind, Operation


def test_lanes_of_one_bit_are_a_mask() -> None:
    """C has no lanes of one bit: the odd lanes are those of a mask as wide as the integers."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [ir.PointerType()] * 3), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    integers, doubles = (ir.VectorType(kind, 4) for kind in (ir.IntType(64), ir.DoubleType()))
    numbers = builder.load(function.args[0], typ=integers)
    odd = builder.trunc(numbers, ir.VectorType(ir.IntType(1), 4))
    values = builder.load(function.args[1], typ=doubles)
    builder.store(builder.select(odd, values, ir.Constant(doubles, [0.0] * 4)), function.args[2])
    builder.ret_void()
    operations = lift(function, "f", {"f": "f"}, {}).blocks[0].operations
    (chosen,) = (operation for operation in operations if operation.name == "select")
    mask = chosen.operands[0]
    assert isinstance(mask, Operation)
    assert (mask.name, mask.data, mask.kind) == ("icmp", "ne", Kind("m", 64, 4))
    assert [operation.name for operation in operations if operation.name == "trunc"] == []
