"""Operations of a block as statements: variables where they are needed, else expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polygym.codegen.c.kernel.expressions.operations import conditional_operands, operation_text
from polygym.codegen.c.kernel.expressions.texts import SUM, UNARY, Text
from polygym.codegen.c.kernel.expressions.value_texts import ValueTexts, constant_text
from polygym.codegen.c.kernel.names import type_name
from polygym.codegen.c.kernel.statements.effects import effect_lines
from polygym.codegen.c.kernel.statements.nodes import Assignment, Line, Node, Variable
from polygym.codegen.c.kernel.statements.phi_copies import ordered_copies
from polygym.codegen.c.kernel.statements.uses import FunctionUses
from polygym.codegen.c.kernel.statements.variables import Variables
from polygym.codegen.c.kernel.values import (
    EFFECTS,
    MEMORY_READS,
    Argument,
    BasicBlock,
    Constant,
    LiftedFunction,
    Operation,
    Phi,
    Value,
)

_LONGEST_TEXT = 200


@dataclass
class _Pending:
    """A value that has not been printed yet."""

    text: Text
    uses: frozenset[Variable]
    reads: bool


class BlockPrinter:
    """Appends statements to ``output``.

    ``used`` are the variables in the text that is being made, ``reads`` whether it reads memory.
    ``open`` are the headers of the loops around, ``counters`` the phis that loops count with.
    """

    def __init__(
        self, variables: Variables, uses: FunctionUses, callees: Mapping[str, LiftedFunction]
    ) -> None:
        """Begin with no statements."""
        self.variables, self.uses, self.callees = variables, uses, callees
        self.values = ValueTexts(self.text_of, variables.pointee)
        self.output: list[Node] = []
        self.used: set[Variable] = set()
        self.reads = False
        self.open: frozenset[BasicBlock] = frozenset()
        self.counters: dict[BasicBlock, Phi] = {}
        self.skipped: set[Operation] = set()
        self._allocas: dict[Operation, Text] = {}
        self._pending: dict[Operation, _Pending] = {}

    def text_of(self, value: Value) -> Text:
        """Return the text of a value; one that has no variable stands nowhere else."""
        if isinstance(value, Constant):
            return constant_text(value)
        if isinstance(value, Argument):
            return Text(value.name)
        if value in self.variables.of:
            self.used.add(self.variables.of[value])
            return Text(self.variables.of[value].name)
        if value in self._allocas:
            return self._allocas[value]
        if value.name == "table":
            return Text(value.hint)
        pending = self._pending.pop(value)
        self.used |= pending.uses
        self.reads |= pending.reads
        return pending.text

    def begin(self) -> None:
        """Begin a text."""
        self.used, self.reads = set(), False

    def condition(self, value: Value) -> tuple[str, frozenset[Variable]]:
        """Return a condition and its variables, after all values that are not printed yet."""
        self.begin()
        text = self.values.signed(value)
        uses = frozenset(self.used)
        self.flush()
        return text, uses

    def operations(self, block: BasicBlock) -> None:
        """Print the operations of a block."""
        for operation in block.operations:
            if operation in self.skipped:
                continue
            self.begin()
            if operation.name == "alloca":
                self._alloca(operation)
            elif operation.name in EFFECTS:
                self._effect(operation)
            else:
                self._value(operation, block)

    def _alloca(self, operation: Operation) -> None:
        """Declare memory of the function's own."""
        count = operation.data[1]
        name = self.variables.new_name(operation.hint or "slot")
        pointee = self.variables.pointee(operation)
        if count is None:
            self._allocas[operation] = Text(f"&{name}", UNARY)
            self.output.append(Line((f"{pointee} {name};",)))
            return
        self._allocas[operation] = Text(name)
        aligned = "__attribute__((aligned(64)))"
        self.output.append(Line((f"{pointee} {name}[{count}] {aligned};",)))

    def _effect(self, operation: Operation) -> None:
        """Print an operation with an effect, after what was read before it."""
        node: Node
        if operation.name == "allocate":
            text = f"polygym_allocate({self.values.arguments(operation.operands)})"
            node = Assignment(self.variables.declare(operation), text, frozenset(self.used))
        else:
            lines = effect_lines(self.values, operation, self.callees)
            node = Line(tuple(lines), frozenset(self.used))
        self.flush(only_reads=True)
        self.output.append(node)

    def _value(self, operation: Operation, block: BasicBlock) -> None:
        """Give a value a variable, or let it wait for its only use."""
        self._read_before(operation)
        text = operation_text(self.values, operation)
        if operation.name == "address" and operation.hint in self.variables.pointees:
            inner = self.values.pointer(operation.operands[0])
            offset = self.values.signed(operation.operands[1], SUM + 1)
            text = Text(f"({self.variables.pointee(operation)} *)({inner} + {offset})", UNARY)
            self._assign(self.variables.declare(operation), text, operation)
            return
        users = self.uses.blocks.get(operation, [])
        phi = self._updated(operation, block, users)
        if phi is not None:
            self._update(phi, operation, text)
            return
        reads = self.reads or operation.name in MEMORY_READS
        if len(users) == 1 and users[0] is block and len(text.text) < _LONGEST_TEXT:
            self._pending[operation] = _Pending(text, frozenset(self.used), reads)
            return
        if not users:
            return
        if _is_kept(operation, users):
            text = Text(f"polygym_keep_{type_name(operation.kind)}({text.text})")
        self._assign(self.variables.declare(operation), text, operation)

    def _read_before(self, operation: Operation) -> None:
        """Give variables to those operands that C would read under a condition alone.

        Compilers make no vectors, and no conditional moves, of reads that may not happen: so
        ``c ? a[i] : x`` is ``const double a_1 = a[i];`` and ``c ? a_1 : x``.
        """
        for operand in conditional_operands(operation):
            if isinstance(operand, Operation) and operand in self._pending:
                if self._pending[operand].reads:
                    self._flush_value(operand)

    def _updated(
        self, operation: Operation, block: BasicBlock, users: list[BasicBlock]
    ) -> Phi | None:
        """Return the phi whose next value an operation is, and whose value nobody needs any more.

        Then the variable gets its new value at once: the order of statements stays what it was.
        """
        if users != [block] or operation.kind.base == "p":
            return None
        home, place = self.uses.home, self.uses.place
        for target in block.targets:
            if target not in self.open:
                continue
            for phi in target.phis:
                if phi.incoming[block] is not operation or phi is self.counters.get(target):
                    continue
                if phi.operation in self.uses.on_edges:
                    return None
                others = self.uses.operations.get(phi.operation, [])
                if all(home[o] is block and place[o] <= place[operation] for o in others):
                    return phi
        return None

    def _update(self, phi: Phi, operation: Operation, text: Text) -> None:
        """Give the variable of a phi its next value."""
        variable = self.variables.of[phi.operation]
        uses = frozenset(self.used)
        for pending in [o for o, value in self._pending.items() if variable in value.uses]:
            self._flush_value(pending)
        self.used = set(uses)
        self._assign(variable, text, operation)
        self.variables.of[operation] = variable

    def _assign(self, variable: Variable, text: Text, operation: Operation) -> None:
        """Assign the value of an operation to a variable."""
        written = _signed_vector(text, operation)
        if operation.kind.base == "m" or operation.name == "select":
            written = text.text
        self.output.append(Assignment(variable, written, frozenset(self.used)))

    def flush(self, *, only_reads: bool = False) -> None:
        """Give pending values variables: all of them, or those that read memory."""
        for operation, pending in list(self._pending.items()):
            if pending.reads or not only_reads:
                self._flush_value(operation)

    def _flush_value(self, operation: Operation) -> None:
        """Give a pending value a variable."""
        pending = self._pending.pop(operation)
        saved = self.used
        self.used = set(pending.uses)
        self._assign(self.variables.declare(operation), pending.text, operation)
        self.used = saved

    def copy_phis(self, source: BasicBlock, target: BasicBlock, *, is_inside: bool) -> None:
        """Assign the phis of a block on the way to it, from inside of its loop or from outside."""
        skipped = self.counters.get(target) if is_inside else None
        copies: list[Assignment] = []
        for phi in target.phis:
            value, operation = phi.incoming[source], phi.operation
            if phi is skipped or value is operation:
                continue
            if isinstance(value, Constant) and value.value is None:
                continue
            self.begin()
            written = _signed_vector(self.text_of(value), operation)
            if operation not in self.variables.of:
                self.variables.declare(operation)
            variable = self.variables.of[operation]
            if variable.name != written:
                copies.append(Assignment(variable, written, frozenset(self.used)))
        if len(source.targets) == 1:
            self.flush()
        self.output.extend(ordered_copies(copies, self.variables.new_name))


def _signed_vector(text: Text, operation: Operation) -> str:
    """Return the text of an operation's value; vectors without sign get one."""
    if text.is_unsigned and operation.kind.lanes is not None:
        return f"({type_name(operation.kind)}){text.within(UNARY)}"
    return text.text


def _is_kept(operation: Operation, users: list[BasicBlock]) -> bool:
    """Whether a vector that is used several times in a loop comes from memory."""
    if operation.kind.lanes is None or operation.kind.base != "f" or len(users) < 2:
        return False
    return operation.name == "load"
