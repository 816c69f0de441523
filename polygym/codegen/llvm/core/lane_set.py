"""Lanes of a vector: which iterations run at once, and what an index is in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.emit_index import Environment, emit_index
from polygym.codegen.llvm.core.types import I32, I64, LaneType, splat
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import Index, IndexVariable


@dataclass(frozen=True)
class LaneSet:
    """The lanes of an instance: ``variable`` is ``base`` + k in lane k; without a mask, all run."""

    variable: str
    base: Any
    width: int
    mask: Any | None

    def lane(self, builder: ir.IRBuilder, number: int) -> Any:
        """Return the variable's value in one lane, of those too that do not exist.

        None wraps: loops have bounds within 2^62 (check_ranges), lanes are few.
        """
        return builder.add(self.base, ir.Constant(I64, number), flags=["nsw"])


def lane_values(
    builder: ir.IRBuilder, index: Index, environment: Environment, lanes: LaneSet
) -> Any:
    """Return the value of an index in every lane."""
    match index:
        case IndexVariable(name) if name in environment and is_vector(environment[name]):
            return environment[name]
        case _:
            step = coefficient(index, lanes.variable)
    kind = LaneType(I64, lanes.width)
    if step is not None:
        first = emit_index(builder, index, environment | {lanes.variable: lanes.base})
        growth = ir.Constant(kind, [step * number for number in range(lanes.width)])
        return builder.add(splat(builder, first, lanes.width), growth)
    vector: Any = ir.Constant(kind, ir.Undefined)
    for number in range(lanes.width):
        inside = environment | {lanes.variable: lanes.lane(builder, number)}
        value = emit_index(builder, index, inside)
        vector = builder.insert_element(vector, value, ir.Constant(I32, number))
    return vector


def is_vector(value: Any) -> bool:
    """Whether a value is one for every lane."""
    return isinstance(value.type, ir.VectorType)
