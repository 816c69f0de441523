"""Variables of a function: their names, their types, and what pointers point to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygym.codegen.c.kernel.expressions.pointees import matches
from polygym.codegen.c.kernel.names import RESERVED, scalar_name, type_name
from polygym.codegen.c.kernel.statements.nodes import Variable
from polygym.codegen.c.kernel.values import (
    Argument,
    Constant,
    LiftedFunction,
    Operation,
    Value,
)


class Variables:
    """The variables of a function's values; ``of`` has those that there are so far."""

    def __init__(
        self, function: LiftedFunction, pointees: Mapping[str, str], callees: Iterable[str]
    ) -> None:
        """Begin with the names that are taken: arguments, tables, functions."""
        self.function, self.pointees = function, pointees
        self.of: dict[Operation, Variable] = {}
        self.taken = {argument.name for argument in function.arguments} | RESERVED
        self.taken |= {*function.tables, *callees, function.name}

    def declare(self, operation: Operation) -> Variable:
        """Return a new variable for an operation."""
        if operation.kind.base == "p":
            const = "const " if _is_read_only(operation) else ""
            restrict = "restrict " if operation.hint in self.pointees else ""
            kind = f"{const}{self.pointee(operation)} *{restrict}"
        else:
            kind = type_name(operation.kind) + " "
        variable = Variable(self.new_name(operation.hint or self._hint(operation)), kind)
        self.of[operation] = variable
        return variable

    def new_name(self, hint: str) -> str:
        """Return a name that nothing has yet, like a hint: ``x``, ``x_1``, ``x_2``."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in hint).strip("_") or "x"
        if base[0].isdigit():
            base = f"x{base}"
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def _hint(self, operation: Operation) -> str:
        """Return a name for a value without one, such as that of the values of a phi."""
        for phi in (p for block in self.function.blocks for p in block.phis):
            if phi.operation is operation:
                for value in phi.incoming.values():
                    if isinstance(value, Operation) and value.hint and value is not operation:
                        return value.hint
        if operation.kind.is_truth:
            return "holds"
        if operation.kind.base in "im" and operation.kind.lanes is None:
            return "n"
        return "x"

    def pointee(self, value: Value) -> str:
        """Return the C type of what a pointer points to."""
        if isinstance(value, Argument):
            return value.pointee
        if isinstance(value, Constant):
            return "void"
        if value.name == "address":
            own = self.pointees.get(value.hint, "")
            if own:
                return own
            base = self.pointee(value.operands[0])
            return base if matches(base, value.data) else scalar_name(value.data)
        if value.name == "row":
            base = self.pointee(value.operands[0])
            return base if matches(base, value.data[0]) else scalar_name(value.data[0])
        if value.name == "alloca":
            return self.pointees.get(value.hint.split(".")[0], scalar_name(value.data[0]))
        if value.name == "table":
            name = value.hint.removesuffix("_initial")
            return self.pointees.get(name, scalar_name(value.data[1]))
        return "char"


def _is_read_only(value: Value) -> bool:
    """Whether a pointer is into a table, or into an argument that is not written."""
    while isinstance(value, Operation) and value.name in ("address", "row"):
        value = value.operands[0]
    if isinstance(value, Operation):
        return value.name == "table"
    return isinstance(value, Argument) and not value.is_written
