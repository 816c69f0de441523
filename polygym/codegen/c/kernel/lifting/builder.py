"""Operations appended to a block: constants where they are known, equal values once."""

from __future__ import annotations

from typing import Any

from polygym.codegen.c.kernel.folding import folded
from polygym.codegen.c.kernel.value_numbering import ValueNumbering
from polygym.codegen.c.kernel.values import BasicBlock, Kind, Operation, Value


class OperationBuilder:
    """Appends operations to the block that is ``current``."""

    current: BasicBlock

    def __init__(self) -> None:
        """Begin without a block."""
        self._numbering = ValueNumbering()

    def begin_block(self, block: BasicBlock) -> None:
        """Append to a block from now on."""
        self.current = block
        self._numbering.begin_block()

    def emit(self, name: str, kind: Kind, *operands: Value, data: Any = None) -> Value:
        """Return the value of an operation: a constant where it is one."""
        simple = folded(name, kind, operands, data)
        if simple is not None:
            return simple
        operation = Operation(name, kind, list(operands), self.current, data)
        earlier = self._numbering.earlier(operation)
        if earlier is not None:
            return earlier
        self.current.operations.append(operation)
        return operation
