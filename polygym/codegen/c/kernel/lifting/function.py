"""LLVM IR, as it is emitted → operations as C has them: blocks, phis, instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.c.kernel.dead_code import remove_dead
from polygym.codegen.c.kernel.lifting.block_order import reverse_postorder
from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.calls import call
from polygym.codegen.c.kernel.lifting.constants import constant_of, kind_of
from polygym.codegen.c.kernel.lifting.masks import comparison, mask_operation
from polygym.codegen.c.kernel.lifting.memory import memory_access
from polygym.codegen.c.kernel.lifting.selections import selection
from polygym.codegen.c.kernel.lifting.vectors import all_lanes, cast, extraction, shuffle
from polygym.codegen.c.kernel.names import RESERVED
from polygym.codegen.c.kernel.promotion import promote_scalars
from polygym.codegen.c.kernel.values import (
    POINTER,
    VOID,
    Argument,
    BasicBlock,
    Constant,
    LiftedFunction,
    Operation,
    Phi,
    Value,
    are_same,
)


def lift(
    function: Any, name: str, names: dict[str, str], pointees: dict[str, str]
) -> LiftedFunction:
    """Return a function of an LLVM module; ``names`` are those of functions, in C."""
    return _Lifter(function, name, names, pointees).run()


class _Lifter:
    """Lifts a function; ``values`` are those that stand for LLVM's, by their identities."""

    def __init__(
        self, function: Any, name: str, names: dict[str, str], pointees: dict[str, str]
    ) -> None:
        self.function, self.names = function, names
        self.values: dict[int, Value] = {}
        self.kept: list[Any] = []  # so that ids stay unique
        self.blocks: dict[Any, BasicBlock] = {}
        self.builder = OperationBuilder()
        self.targets: dict[Any, list[Any]] = {}
        self.waiting: list[tuple[Phi, Any]] = []
        self.result = LiftedFunction(
            name, [], [], not isinstance(function.function_type.return_type, ir.VoidType)
        )
        self._arguments(pointees)

    def _arguments(self, pointees: dict[str, str]) -> None:
        """Give the arguments names: those of arrays stay what they are."""
        hints = [getattr(argument, "hint", "") for argument in self.function.args]
        taken = {hint for hint in hints if hint in pointees}
        for position, argument in enumerate(self.function.args):
            hint = hints[position] or f"argument_{position}"
            pointee = ""
            if isinstance(argument.type, ir.PointerType):
                element = getattr(argument, "element", None)
                pointee = pointees.get(hint, "char" if element is None else "int")
            if hint not in pointees or not isinstance(argument.type, ir.PointerType):
                while hint in taken or hint in RESERVED:
                    hint += "_"
            taken.add(hint)
            lifted = Argument(kind_of(argument.type), hint, pointee)
            self.result.arguments.append(lifted)
            self.values[id(argument)] = lifted

    def run(self) -> LiftedFunction:
        """Lift all blocks that can be reached."""
        order = reverse_postorder(self.function.blocks[0])
        edges: set[tuple[Any, Any]] = set()
        reached = {order[0]}
        position = {block: place for place, block in enumerate(order)}
        for block in order:
            if block not in reached:
                continue
            lifted = BasicBlock(len(self.result.blocks))
            self.blocks[block] = lifted
            self.builder.begin_block(lifted)
            self.result.blocks.append(lifted)
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    self._phi(instruction, block, edges, position)
                elif not _is_terminator(instruction):
                    self.values[id(instruction)] = self._instruction(instruction)
            for target in self._terminator(block.terminator):
                edges.add((block, target))
                reached.add(target)
        for phi, instruction in self.waiting:
            for value, source in instruction.incomings:
                if (source, instruction.parent) in edges:
                    phi.incoming[self.blocks[source]] = self.value(value)
        for block in order:
            if block in self.blocks:
                self.blocks[block].targets = [
                    self.blocks[target] for target in self.targets.get(block, ())
                ]
        promote_scalars(self.result)
        remove_dead(self.result)
        return self.result

    def _terminator(self, instruction: Any) -> list[Any]:
        """Note where control goes after a block; return the targets."""
        block = instruction.parent
        targets: list[Any] = []
        if isinstance(instruction, ir.Ret):
            if instruction.operands:
                self.builder.current.condition = self.value(instruction.operands[0])
        elif len(instruction.operands) == 1:
            targets = [instruction.operands[0]]
        else:
            condition = self.value(instruction.operands[0])
            targets = list(instruction.operands[1:])
            if isinstance(condition, Constant):
                targets = [targets[0] if condition.value else targets[1]]
            elif targets[0] is targets[1]:
                targets = targets[:1]
            else:
                self.builder.current.condition = condition
        self.targets[block] = targets
        return targets

    def _phi(
        self, instruction: Any, block: Any, edges: set[tuple[Any, Any]], position: dict[Any, int]
    ) -> None:
        """Lift a phi; one that joins equal values is that value."""
        is_loop = any(
            position[source] >= position[block]
            for _, source in instruction.incomings
            if source in position
        )
        if not is_loop:
            live = [value for value, source in instruction.incomings if (source, block) in edges]
            values = [self.value(value) for value in live]
            if all(are_same(value, values[0]) for value in values):
                self.values[id(instruction)] = values[0]
                return
        operation = Operation("phi", kind_of(instruction.type), [], self.builder.current)
        operation.hint = instruction.name if not instruction.name.startswith(".") else ""
        phi = Phi(operation)
        self.builder.current.phis.append(phi)
        self.values[id(instruction)] = operation
        self.waiting.append((phi, instruction))

    def value(self, value: Any) -> Value:
        """Return the value that stands for one of LLVM's."""
        lifted = self.values.get(id(value))
        if lifted is None:
            assert isinstance(value, (ir.Constant, ir.GlobalVariable)), value
            lifted = self._constant(value)
            self.values[id(value)] = lifted
            self.kept.append(value)
        return lifted

    def _constant(self, value: Any) -> Value:
        """Return a constant, or the table that a global variable is."""
        if isinstance(value, ir.GlobalVariable):
            elements = tuple(element.constant for element in value.initializer.constant)
            kind = kind_of(value.initializer.type.element)
            name = value.name.split(".")[0] + "_initial"
            self.result.tables[name] = (str(value.initializer.type.element), elements)
            return Operation("table", POINTER, [], self.builder.current, (name, kind), name)
        return constant_of(value)

    def _instruction(self, instruction: Any) -> Value:
        """Return the value of an instruction."""
        name, builder = instruction.opname, self.builder
        if isinstance(instruction, ir.CallInstr):
            arguments = [self.value(argument) for argument in instruction.args]
            return call(builder, instruction, arguments, self.names)
        if isinstance(instruction, ir.AllocaInstr):
            return self._alloca(instruction)
        operands = [self.value(operand) for operand in instruction.operands]
        kind = kind_of(instruction.type)
        match name:
            case "load":
                return memory_access(builder, "load", kind, operands, kind.scalar)
            case "store":
                return memory_access(builder, "store", VOID, operands, operands[0].kind.scalar)
            case "getelementptr":
                element = kind_of(instruction.source_etype)
                result = builder.emit("address", kind, *operands, data=element)
                if isinstance(result, Operation) and result not in operands:
                    result.hint = getattr(instruction, "hint", "")
                return result
            case "icmp" | "fcmp":
                return comparison(builder, name, instruction.op, operands)
            case "select":
                return selection(builder, kind, operands)
            case "shufflevector":
                return shuffle(builder, kind, operands, instruction.operands[2])
            case "insertelement":
                vector, value, place = operands
                assert isinstance(place, Constant)
                result = builder.emit("insert", kind, vector, value, data=place.value)
                lanes = all_lanes(result)
                return result if lanes is None else builder.emit("lanes", kind, *lanes)
            case "extractelement":
                return extraction(builder, operands[0], operands[1])
            case "atomicrmw":
                return builder.emit("publish", VOID, *operands)
            case "and" | "or" | "xor" if kind.bits == 1 and kind.lanes is not None:
                return mask_operation(builder, name, operands)
            case _ if isinstance(instruction, ir.instructions.CastInstr):
                return cast(builder, name, kind, operands[0])
            case _:
                wraps = "nsw" not in instruction.flags and not hasattr(instruction, "is_place")
                return builder.emit(name, kind, *operands, data=wraps)

    def _alloca(self, instruction: Any) -> Value:
        """Return memory of the function."""
        count = instruction.operands[0].constant if instruction.operands else None
        element = instruction.allocated_type
        alloca = Operation("alloca", POINTER, [], self.builder.current, (kind_of(element), count))
        alloca.hint = instruction.name
        self.builder.current.operations.append(alloca)
        return alloca


def _is_terminator(instruction: Any) -> bool:
    """Whether a block ends with an instruction."""
    return isinstance(instruction, (ir.instructions.Terminator, ir.instructions.Unreachable))
