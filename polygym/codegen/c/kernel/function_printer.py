"""A lifted function as C.

A value that is used once, in the same block, stands where it is used; others get a variable.
A value that reads memory moves past no operation with an effect. Phis are variables that are
assigned where control comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.codegen.c.kernel.control_flow import ControlFlow, LoopBlocks, can_reach, control_flow
from polygym.codegen.c.kernel.expressions import (
    LOWEST,
    SUM,
    UNARY,
    Expressions,
    Text,
    matches,
    number_text,
)
from polygym.codegen.c.kernel.names import RESERVED, scalar_name, type_name
from polygym.codegen.c.kernel.statements import (
    Assignment,
    For,
    If,
    Line,
    Node,
    Variable,
    print_body,
)
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


class FunctionPrinter:
    """Prints a function; ``callees`` are the others of the module, by their names in C."""

    def __init__(
        self,
        function: LiftedFunction,
        pointees: Mapping[str, str],
        callees: Mapping[str, LiftedFunction],
    ) -> None:
        self.function, self.pointees, self.callees = function, pointees, callees
        self.flow: ControlFlow = control_flow(function)
        self.expressions = Expressions(self._text_of, self._pointee)
        self.taken = {argument.name for argument in function.arguments} | RESERVED
        self.taken |= {*function.tables, *callees, function.name}
        self.variables: dict[Operation, Variable] = {}
        self.allocas: dict[Operation, Text] = {}
        self.pending: dict[Operation, _Pending] = {}
        self.uses: set[Variable] = set()
        self.reads = False
        self.output: list[Node] = []
        self.known: list[Operation] = []
        self.counters: dict[BasicBlock, Phi] = {}
        self.skipped: set[Operation] = set()
        self.open: frozenset[BasicBlock] = frozenset()
        self.home: dict[Operation, BasicBlock] = {}
        for block in function.blocks:
            for operation in (*(phi.operation for phi in block.phis), *block.operations):
                self.home[operation] = block
        self._count_uses()

    def _count_uses(self) -> None:
        """Note which operations use each one, and in which blocks."""
        self.users: dict[Operation, list[BasicBlock]] = {}
        self.user_operations: dict[Operation, list[Operation]] = {}
        self.phi_sources: set[Operation] = set()
        self.place: dict[Operation, tuple[BasicBlock, int]] = {}
        for block in self.function.blocks:
            for number, operation in enumerate(block.operations):
                self.place[operation] = (block, number)
                for operand in operation.operands:
                    if isinstance(operand, Operation):
                        self.user_operations.setdefault(operand, []).append(operation)
            for phi in block.phis:
                for value in phi.incoming.values():
                    if isinstance(value, Operation) and value.name == "phi":
                        self.phi_sources.add(value)
            if isinstance(block.condition, Operation):
                self.phi_sources.add(block.condition)

        def use(value: Value | None, block: BasicBlock, times: int = 1) -> None:
            if isinstance(value, Operation):
                self.users.setdefault(value, []).extend([block] * times)

        latches = {loop.latch: loop for loop in self.flow.loops.values()}
        for block in self.function.blocks:
            for phi in block.phis:
                for source, value in phi.incoming.items():
                    left = source in latches and latches[source].after is block
                    use(value, block if left else source)
            for operation in block.operations:
                for place, operand in enumerate(operation.operands):
                    twice = operation.name == "parallel_call" and place == 4 - 1
                    twice |= operation.name == "scattered_store" and place == 0
                    use(operand, block, 2 if twice else 1)
            use(block.condition, block)

    def lines(self) -> list[str]:
        """Return the lines of the function's body."""
        self._emit(self.function.blocks[0], None)
        return print_body(self.output)

    # Values.

    def _text_of(self, value: Value) -> Text:
        if isinstance(value, Constant):
            return self.expressions.constant(value)
        if isinstance(value, Argument):
            return Text(value.name)
        if value in self.variables:
            self.uses.add(self.variables[value])
            return Text(self.variables[value].name)
        if value in self.allocas:
            return self.allocas[value]
        if value.name == "table":
            return Text(value.hint)
        pending = self.pending.pop(value)
        self.uses |= pending.uses
        self.reads |= pending.reads
        return pending.text

    def _pointee(self, value: Value) -> str:
        """Return the C type of what a pointer points to."""
        if isinstance(value, Argument):
            return value.pointee
        if isinstance(value, Constant):
            return "void"
        if value.name == "address":
            own = self.pointees.get(value.hint, "")
            if own:
                return own
            base = self._pointee(value.operands[0])
            return base if matches(base, value.data) else scalar_name(value.data)
        if value.name == "alloca":
            return self.pointees.get(value.hint.split(".")[0], scalar_name(value.data[0]))
        if value.name == "table":
            return self.pointees.get(
                value.hint.removesuffix("_initial"), scalar_name(value.data[1])
            )
        return "char"

    def _is_read_only(self, value: Value) -> bool:
        while isinstance(value, Operation) and value.name == "address":
            value = value.operands[0]
        if isinstance(value, Operation):
            return value.name == "table"
        return isinstance(value, Argument) and not value.is_written

    def _variable(self, operation: Operation, hint: str = "") -> Variable:
        """Return a new variable for an operation."""
        if operation.kind.base == "p":
            const = "const " if self._is_read_only(operation) else ""
            restrict = "restrict " if operation.hint in self.pointees else ""
            kind = f"{const}{self._pointee(operation)} *{restrict}"
        else:
            kind = type_name(operation.kind) + " "
        variable = Variable(self._name(hint or operation.hint or self._hint(operation)), kind)
        self.variables[operation] = variable
        return variable

    def _hint(self, operation: Operation) -> str:
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

    def _name(self, hint: str) -> str:
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in hint).strip("_") or "x"
        if base[0].isdigit():
            base = f"x{base}"
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    # Statements.

    def _begin(self) -> None:
        self.uses, self.reads = set(), False

    def _append(self, node: Node) -> None:
        self.output.append(node)

    def _operations(self, block: BasicBlock) -> None:
        """Print the operations of a block."""
        for operation in block.operations:
            if operation in self.skipped:
                continue
            self._begin()
            if operation.name == "alloca":
                self._alloca(operation)
            elif operation.name in EFFECTS:
                self._effect(operation)
            else:
                self._value(operation, block)

    def _alloca(self, operation: Operation) -> None:
        count = operation.data[1]
        name = self._name(operation.hint or "slot")
        pointee = self._pointee(operation)
        if count is None:
            self.allocas[operation] = Text(f"&{name}", UNARY)
            self._append(Line((f"{pointee} {name};",)))
            return
        self.allocas[operation] = Text(name)
        aligned = "__attribute__((aligned(64)))"
        self._append(Line((f"{pointee} {name}[{count}] {aligned};",)))

    def _value(self, operation: Operation, block: BasicBlock) -> None:
        text = self.expressions.operation(operation)
        if operation.name == "address" and operation.hint in self.pointees:
            inner = self.expressions.pointer(operation.operands[0])
            offset = self.expressions.signed(operation.operands[1], SUM + 1)
            text = Text(f"({self._pointee(operation)} *)({inner} + {offset})", UNARY)
            self._assign(self._variable(operation), text, operation)
            return
        users = self.users.get(operation, [])
        phi = self._updated(operation, block, users)
        if phi is not None:
            self._update(phi, operation, text)
            return
        reads = self.reads or operation.name in MEMORY_READS
        if len(users) == 1 and users[0] is block and len(text.text) < _LONGEST_TEXT:
            self.pending[operation] = _Pending(text, frozenset(self.uses), reads)
            return
        if not users:
            return
        if self._is_kept(operation, users):
            text = Text(f"polygym_keep_{type_name(operation.kind)}({text.text})")
        self._assign(self._variable(operation), text, operation)

    def _updated(
        self, operation: Operation, block: BasicBlock, users: list[BasicBlock]
    ) -> Phi | None:
        """Return the phi whose next value an operation is, and whose value nobody needs any more.

        Then the variable gets its new value at once: the order of statements stays what it was.
        """
        if users != [block] or operation.kind.base == "p":
            return None
        for target in block.targets:
            if target not in self.open:
                continue
            for phi in target.phis:
                if phi.incoming[block] is not operation or phi is self.counters.get(target):
                    continue
                own = phi.operation
                places = [self.place.get(user) for user in self.user_operations.get(own, [])]
                here = self.place[operation]
                if own in self.phi_sources:
                    return None
                known = [place for place in places if place is not None]
                if len(known) < len(places):
                    return None
                if all(home is block and place <= here[1] for home, place in known):
                    return phi
        return None

    def _update(self, phi: Phi, operation: Operation, text: Text) -> None:
        """Give the variable of a phi its next value."""
        variable = self.variables[phi.operation]
        uses = frozenset(self.uses)
        for pending in [o for o, value in self.pending.items() if variable in value.uses]:
            self._flush_value(pending)
        self.uses = set(uses)
        self._assign(variable, text, operation)
        self.variables[operation] = variable

    def _is_kept(self, operation: Operation, users: list[BasicBlock]) -> bool:
        """Whether a vector that is used several times in a loop comes from memory."""
        if operation.kind.lanes is None or operation.kind.base != "f" or len(users) < 2:
            return False
        return operation.name == "load"

    def _assign(self, variable: Variable, text: Text, operation: Operation) -> None:
        written = text.text
        if text.is_unsigned and operation.kind.lanes is not None:
            written = f"({type_name(operation.kind)}){text.within(UNARY)}"
        if operation.kind.base == "m" or (
            operation.name == "select" and operation.kind.lanes is not None
        ):
            written = text.text
        self._append(Assignment(variable, written, frozenset(self.uses)))

    def _flush(self, *, only_reads: bool) -> None:
        """Give pending values variables: all of them, or those that read memory."""
        for operation, pending in list(self.pending.items()):
            if pending.reads or not only_reads:
                self._flush_value(operation)

    def _flush_value(self, operation: Operation) -> None:
        pending = self.pending.pop(operation)
        saved = self.uses
        self.uses = set(pending.uses)
        self._assign(self._variable(operation), pending.text, operation)
        self.uses = saved

    def _effect(self, operation: Operation) -> None:
        lines, variable, text = self._effect_text(operation)
        uses = frozenset(self.uses)
        self._flush(only_reads=True)
        if variable is not None:
            self._append(Assignment(variable, text, uses))
        else:
            self._append(Line(tuple(lines), uses))

    def _effect_text(self, operation: Operation) -> tuple[list[str], Variable | None, str]:
        """Return the lines of an operation with an effect, or what a variable gets."""
        own, operands, text = self.expressions, operation.operands, ""
        arguments = own._arguments
        match operation.name:
            case "store":
                value = self._stored(operands[0], operands[1])
                place = own.place(operands[1], operands[0].kind, is_read=False)
                return [f"{place.text} = {value};"], None, ""
            case "masked_store":
                which, kind = operation.data
                stored, pointer, mask = operands
                name = f"polygym_store_{which}_{type_name(kind)}"
                text = f"{name}({own.pointer(pointer)}, {own.signed(stored)}, {own.signed(mask)});"
            case "strided_store" | "scatter":
                which, kind, element = operation.data
                suffix = "" if which == "all" else f"_{which}"
                base = own._typed(operands[1], element, LOWEST)
                rest = arguments([operands[2], operands[0], *operands[3:]])
                verb = "store_strided" if operation.name == "strided_store" else "scatter"
                text = f"polygym_{verb}{suffix}_{type_name(kind)}({base}, {rest});"
            case "scattered_store":
                return self._scattered_store(operation), None, ""
            case "stream":
                stored, pointer = operands
                name = f"polygym_stream_{type_name(stored.kind)}"
                text = f"{name}({own.pointer(pointer)}, {own.signed(stored)});"
            case "prefetch":
                text = f"__builtin_prefetch({own.pointer(operands[0])});"
            case "trap":
                text = "__builtin_trap();"
            case "fence":
                text = "polygym_fence();"
            case "copy_memory":
                text = f"__builtin_memcpy({arguments(operands)});"
            case "reserve":
                text = f"polygym_reserve({arguments(operands)});"
            case "free":
                text = f"free({arguments(operands)});"
            case "publish":
                text = f"polygym_publish({arguments(operands)});"
            case "allocate":
                value = f"polygym_allocate({arguments(operands)})"
                return [], self._variable(operation), value
            case "call" | "parallel_call":
                return self._call(operation), None, ""
            case _:
                raise AssertionError(operation.name)
        return [text], None, ""

    def _stored(self, value: Value, pointer: Value) -> str:
        if self._pointee(pointer) == "_Bool" and value.kind.lanes is None:
            return f"(_Bool){self.expressions.signed(value, UNARY)}"
        return self.expressions.signed(value)

    def _scattered_store(self, operation: Operation) -> list[str]:
        which, kind, _ = operation.data
        lanes = kind.lanes
        value, addresses, mask = (
            operation.operands[0],
            operation.operands[1 : 1 + lanes],
            operation.operands[1 + lanes :],
        )
        name = self.expressions.signed(value)
        lines = []
        tests = [""] * lanes
        if which != "all":
            tests = [f"if ({t}) " for t in self.expressions.lane_tests(which, mask, lanes)]
        for k, address in enumerate(addresses):
            place = self.expressions.place(address, kind.scalar, is_read=False)
            lines.append(f"{tests[k]}{place.text} = {name}[{k}];")
        return lines

    def _call(self, operation: Operation) -> list[str]:
        name, schedule, _ = operation.data
        callee = self.callees[name]
        texts = []
        for argument, value in zip(callee.arguments, operation.operands, strict=True):
            if value.kind.base != "p":
                texts.append(self.expressions.signed(value))
                continue
            text = self.expressions.pointer(value, UNARY)
            if self._pointee(value) != argument.pointee:
                const = "" if argument.is_written else "const "
                text = f"({const}{argument.pointee} *){text}"
            texts.append(text)
        if schedule is None:
            return _wrapped(f"{name}(", texts)
        chunks = texts[3]
        return [
            f"#pragma omp parallel for schedule({schedule})",
            f"for (long chunk = 0; chunk < {chunks}; chunk++)",
            *("  " + line for line in _wrapped(f"{name}(", ["chunk", *texts[1:]])),
        ]

    # Control flow.

    def _emit(self, block: BasicBlock | None, stop: BasicBlock | None) -> None:
        """Print from a block on until control comes to another one."""
        while block is not None and block is not stop:
            loop = self.flow.loops.get(block)
            if loop is not None and block not in self.open:
                block = self._loop(loop)
                continue
            block = self._block(block, stop)

    def _block(self, block: BasicBlock, stop: BasicBlock | None) -> BasicBlock | None:
        """Print a block and what its branch leads to; return where control goes on."""
        self._operations(block)
        if not block.targets:
            self._begin()
            result = "" if block.condition is None else self.expressions.signed(block.condition)
            uses = frozenset(self.uses)
            self._flush(only_reads=False)
            if self.function.returns:
                self._append(Line((f"return {result};",), uses))
            return None
        if len(block.targets) == 1:
            self._copies(block, block.targets[0])
            return block.targets[0]
        return self._branch(block)

    def _branch(self, block: BasicBlock) -> BasicBlock | None:
        then, otherwise = block.targets
        join = self.flow.joins[block]
        if join is None:
            join = otherwise
            assert not can_reach(then, otherwise)
        self._begin()
        assert block.condition is not None
        condition = block.condition
        text = self.expressions.signed(condition)
        uses = frozenset(self.uses)
        self._flush(only_reads=False)
        node = If(text, uses)
        outer = self.output
        known = [condition] if isinstance(condition, Operation) else []
        for target, part, facts in ((then, node.then, known), (otherwise, node.otherwise, [])):
            self.output = part
            self.known += facts
            self._copies(block, target)
            self._emit(target, join)
            del self.known[len(self.known) - len(facts) :]
        self.output = outer
        if not node.then and node.otherwise:
            node.condition = _negated(text)
            node.then, node.otherwise = node.otherwise, []
        if node.then:
            self._append(node)
        return join

    def _copies(self, source: BasicBlock, target: BasicBlock) -> None:
        """Assign the phis of a block on the way to it."""
        is_inside = source in self._loop_blocks(target)
        skip = self.counters.get(target) if is_inside else None
        phis = [phi for phi in target.phis if phi is not skip]
        copies: list[tuple[Variable, str, frozenset[Variable], Operation]] = []
        for phi in phis:
            value = phi.incoming[source]
            if value is phi.operation:
                continue
            if isinstance(value, Constant) and value.value is None:
                continue
            self._begin()
            text = self._text_of(value)
            operation = phi.operation
            written = text.text
            if text.is_unsigned and operation.kind.lanes is not None:
                written = f"({type_name(operation.kind)}){text.within(UNARY)}"
            if operation not in self.variables:
                self._variable(operation)
            if self.variables[operation].name != written:
                copies.append((self.variables[operation], written, frozenset(self.uses), operation))
        if len(source.targets) == 1:
            self._flush(only_reads=False)
        while copies:
            for place, (variable, written, uses, _) in enumerate(copies):
                others = (c for k, c in enumerate(copies) if k != place)
                if not any(variable in other[2] for other in others):
                    self._append(Assignment(variable, written, uses))
                    del copies[place]
                    break
            else:
                variable, written, uses, operation = copies[0]
                spare = Variable(self._name(f"{variable.name}_next"), variable.type)
                self._append(Assignment(spare, written, uses))
                copies[0] = (variable, spare.name, frozenset({spare}), operation)

    def _loop_blocks(self, header: BasicBlock) -> frozenset[BasicBlock]:
        loop = self.flow.loops.get(header)
        return loop.blocks if loop is not None else frozenset()

    def _counter(self, loop: LoopBlocks) -> tuple[Phi, Operation] | None:
        """Return the counter of a loop and its next value."""
        for phi in loop.header.phis:
            value = phi.incoming[loop.latch]
            if (
                isinstance(value, Operation)
                and value.name == "add"
                and value.operands[0] is phi.operation
                and isinstance(value.operands[1], Constant)
                and phi.operation.kind.lanes is None
                and phi.operation.kind.base == "i"
            ):
                return phi, value
        return None

    def _loop(self, loop: LoopBlocks) -> BasicBlock:
        """Print a loop; return where control goes on."""
        (before,) = (b for b in self.flow.predecessors[loop.header] if b not in loop.blocks)
        self.open = self.open | {loop.header}
        counter = self._counter(loop)
        bottom = None if loop.is_tested_at_top else self._bottom_test(loop, counter, before)
        first: str | None = None
        if counter is not None and (loop.is_tested_at_top or bottom is not None):
            phi, following = counter
            self.counters[loop.header] = phi
            if set(self.users[following]) <= {loop.latch} and self._only_steps(loop, following):
                self.skipped.add(following)
            # The counter has been assigned on the way here: let the loop's head do that.
            variable = self.variables[phi.operation]
            last = self.output[-1] if self.output else None
            for place in range(len(self.output) - 1, -1, -1):
                last = self.output[place]
                if not isinstance(last, Assignment):
                    break
                if last.variable is variable:
                    later = self.output[place + 1 :]
                    if not any(variable in node.uses for node in later):
                        first = last.text
                        first_uses = last.uses
                        del self.output[place]
                    break
        node = For(None, None, "", "", frozenset())
        if counter is not None and loop.header in self.counters:
            phi, following = counter
            variable = self.variables[phi.operation]
            step = following.operands[1]
            assert isinstance(step, Constant)
            node.counter, node.first = variable, first
            number = number_text(step.kind, step.value)
            node.step = f"{variable.name}++" if step.value == 1 else f"{variable.name} += {number}"
            if first is not None:
                node.uses |= first_uses
        outer, self.output = self.output, node.body
        if loop.is_tested_at_top:
            self._top_tested(loop, node)
        else:
            self._bottom_tested(loop, node, bottom)
        self.output = outer
        self._append(node)
        self.open = self.open - {loop.header}
        if not loop.is_tested_at_top:
            for phi in loop.header.phis:
                value = phi.incoming[loop.latch]
                if isinstance(value, Operation) and phi.operation in self.variables:
                    self.variables[value] = self.variables[phi.operation]
        exit_block = loop.header if loop.is_tested_at_top else loop.latch
        self._copies(exit_block, loop.after)
        return loop.after

    def _only_steps(self, loop: LoopBlocks, following: Operation) -> bool:
        """Whether the next value of a counter is used as such, and in the test, alone."""
        users = 1
        condition = loop.latch.condition
        if not loop.is_tested_at_top and isinstance(condition, Operation):
            users += sum(operand is following for operand in condition.operands)
        return len(self.users[following]) == users

    def _top_tested(self, loop: LoopBlocks, node: For) -> None:
        header = loop.header
        self._operations(header)
        self._begin()
        assert header.condition is not None
        inside = next(target for target in header.targets if target in loop.blocks)
        is_then = header.targets[0] is inside
        text = self.expressions.signed(header.condition)
        uses = frozenset(self.uses)
        self._flush(only_reads=False)
        condition = text if is_then else _negated(text)
        if node.body or node.counter is None:
            self._append(Line((f"if ({_negated(condition)})", "  break;"), uses))
        else:
            node.condition, node.uses = condition, node.uses | uses
        self._copies(header, inside)
        self._emit(inside, header)

    def _bottom_test(
        self, loop: LoopBlocks, counter: tuple[Phi, Operation] | None, before: BasicBlock
    ) -> tuple[Operation, Value] | None:
        """Return the test of a loop that is known to run, as that before an iteration."""
        condition = loop.latch.condition
        if counter is None or not isinstance(condition, Operation):
            return None
        phi, following = counter
        if (condition.name, condition.data) != ("icmp", "sle") or len(self.users[condition]) != 1:
            return None
        if condition.operands[0] is not following or loop.latch.targets[0] is not loop.header:
            return None
        upper, lower = condition.operands[1], phi.incoming[before]
        if isinstance(upper, Operation) and self.home[upper] in loop.blocks:
            return None
        if isinstance(upper, Constant) and isinstance(lower, Constant):
            return (condition, upper) if lower.value <= upper.value else None
        for fact in self.known:
            if (fact.name, fact.data) == ("icmp", "sle"):
                pairs = zip(fact.operands, (lower, upper), strict=True)
                if all(a is b or (isinstance(a, Constant) and a == b) for a, b in pairs):
                    return condition, upper
        return None

    def _bottom_tested(
        self, loop: LoopBlocks, node: For, test: tuple[Operation, Value] | None
    ) -> None:
        header, latch = loop.header, loop.latch
        inner_users = {}
        for phi in header.phis:
            value = phi.incoming[latch]
            if isinstance(value, Operation) and value in self.users:
                inner_users[value] = self.users[value]
                self.users[value] = [b for b in self.users[value] if b in loop.blocks]
                # The copies on the way out of the loop take the phi's variable.
        if test is not None:
            condition, upper = test
            self.skipped.add(condition)
            assert node.counter is not None
            self._begin()
            self.uses.add(node.counter)
            node.condition = f"{node.counter.name} <= {self.expressions.signed(upper, SUM)}"
            node.uses |= frozenset(self.uses)
        block: BasicBlock | None = header
        while block is not latch:
            assert block is not None
            inner = self.flow.loops.get(block)
            if inner is not None and block is not header:
                block = self._loop(inner)
            else:
                block = self._block(block, latch)
        self._latch(loop, test)
        self.users.update(inner_users)

    def _latch(self, loop: LoopBlocks, test: tuple[Operation, Value] | None) -> None:
        """Print the last block of a loop that is tested at its end."""
        latch, header = loop.latch, loop.header
        self._operations(latch)
        again: Variable | None = None
        if test is None:
            self._begin()
            assert latch.condition is not None
            text = self.expressions.signed(latch.condition)
            if latch.targets[0] is not header:
                text = _negated(text)
            again = Variable(self._name("again"), "int ")
            self._append(Assignment(again, text, frozenset(self.uses)))
        self._copies(latch, header)
        self._flush(only_reads=False)
        if again is not None:
            self._append(Line((f"if (!{again.name})", "  break;"), frozenset({again})))


def _negated(text: str) -> str:
    return f"!({text})"


def _wrapped(start: str, arguments: Sequence[str]) -> list[str]:
    """Return the lines of a call, none of them long."""
    lines, current = [], start
    for place, argument in enumerate(arguments):
        more = argument + ("," if place < len(arguments) - 1 else ");")
        if len(current) + len(more) > 94 and current.strip() and not current.endswith("("):
            lines.append(current.rstrip())
            current = " " * 4
        current += more + " "
    return [*lines, (current if arguments else start + ");").rstrip()]
