"""Values that are computed twice in a block, found by their structure.

Code that is emitted loads a row of B once for each row of a register block; printed C loads it
once. Only what reads memory, floating numbers and vectors are looked for: subscripts are easier to
read where they stand.
"""

from __future__ import annotations

from collections.abc import Hashable

from polygym.codegen.c.kernel.values import EFFECTS, MEMORY_READS, Constant, Operation, Value

_HARMLESS = frozenset({"alloca", "prefetch"})


class ValueNumbering:
    """Gives operations with the same value the same number."""

    def __init__(self) -> None:
        """Begin with no values."""
        self._numbers: dict[Hashable, int] = {}
        self._own: dict[Operation, int] = {}
        self._here: dict[int, Operation] = {}
        self._epoch = 0

    def begin_block(self) -> None:
        """Forget which values there are, and what memory holds."""
        self._here = {}
        self._epoch += 1

    def earlier(self, operation: Operation) -> Operation | None:
        """Return an operation of this block with the same value, if it is to take its place."""
        if operation.name in EFFECTS:
            if operation.name not in _HARMLESS:
                self._epoch += 1
            return None
        reads = operation.name in MEMORY_READS
        operands = tuple(self._key(operand) for operand in operation.operands)
        epoch = self._epoch if reads else 0
        key = (operation.name, operation.kind, repr(operation.data), operands, epoch)
        number = self._numbers.setdefault(key, len(self._numbers))
        self._own[operation] = number
        kind = operation.kind
        if not (reads or kind.base == "f" or kind.lanes is not None):
            return None
        known = self._here.setdefault(number, operation)
        return None if known is operation else known

    def _key(self, value: Value) -> Hashable:
        if isinstance(value, Constant):
            return (value.kind, repr(value.value))
        if isinstance(value, Operation) and value in self._own:
            return self._own[value]
        return ("value", id(value))
