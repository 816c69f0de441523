"""Uses of a function's values: in which operations and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polygym.codegen.c.kernel.control_flow import ControlFlow
from polygym.codegen.c.kernel.values import BasicBlock, LiftedFunction, Operation, Value

CHUNKS = 3
"""The operand of a parallel call that is the number of chunks."""


@dataclass(frozen=True)
class FunctionUses:
    """Uses of each operation.

    ``blocks`` has a block for each use; ``operations`` are those with the value as an operand. The
    values of ``on_edges`` are assigned from phi to phi, or decide where control goes. ``home`` is
    the block of an operation, ``place`` its number there.
    """

    blocks: dict[Operation, list[BasicBlock]]
    operations: Mapping[Operation, list[Operation]]
    on_edges: frozenset[Operation]
    home: Mapping[Operation, BasicBlock]
    place: Mapping[Operation, int]


def function_uses(function: LiftedFunction, flow: ControlFlow) -> FunctionUses:
    """Return which operations use each one, and in which blocks."""
    operations: dict[Operation, list[Operation]] = {}
    on_edges: set[Operation] = set()
    home: dict[Operation, BasicBlock] = {}
    place: dict[Operation, int] = {}
    for block in function.blocks:
        for number, operation in enumerate(block.operations):
            home[operation], place[operation] = block, number
            for operand in operation.operands:
                if isinstance(operand, Operation):
                    operations.setdefault(operand, []).append(operation)
        for phi in block.phis:
            home[phi.operation] = block
            for value in phi.incoming.values():
                if isinstance(value, Operation) and value.name == "phi":
                    on_edges.add(value)
        if isinstance(block.condition, Operation):
            on_edges.add(block.condition)
    blocks = _using_blocks(function, flow)
    return FunctionUses(blocks, operations, frozenset(on_edges), home, place)


def _using_blocks(function: LiftedFunction, flow: ControlFlow) -> dict[Operation, list[BasicBlock]]:
    """Return a block for each use; the value of a phi is used where control comes from."""
    blocks: dict[Operation, list[BasicBlock]] = {}

    def use(value: Value | None, block: BasicBlock, times: int = 1) -> None:
        if isinstance(value, Operation):
            blocks.setdefault(value, []).extend([block] * times)

    latches = {loop.latch: loop for loop in flow.loops.values()}
    for block in function.blocks:
        for phi in block.phis:
            for source, value in phi.incoming.items():
                left = source in latches and latches[source].after is block
                use(value, block if left else source)
        for operation in block.operations:
            for number, operand in enumerate(operation.operands):
                twice = operation.name == "parallel_call" and number == CHUNKS
                twice |= operation.name == "scattered_store" and number == 0
                # One vector alone is both operands of the builtin.
                twice |= operation.name == "shuffle" and len(operation.operands) == 1
                use(operand, block, 2 if twice else 1)
        use(block.condition, block)
    return blocks
