"""Branches and loops of a lifted function as statements of C."""

from __future__ import annotations

from collections.abc import Mapping

from polygym.codegen.c.kernel.control_flow import ControlFlow, LoopBlocks, can_reach, control_flow
from polygym.codegen.c.kernel.expressions.texts import SUM
from polygym.codegen.c.kernel.statements.block_printer import BlockPrinter
from polygym.codegen.c.kernel.statements.lines import print_body
from polygym.codegen.c.kernel.statements.loop_heads import (
    BottomTest,
    LoopCounter,
    bottom_test,
    loop_counter,
    only_steps,
    take_first_value,
)
from polygym.codegen.c.kernel.statements.nodes import Assignment, For, If, Line, Variable
from polygym.codegen.c.kernel.statements.uses import function_uses
from polygym.codegen.c.kernel.statements.variables import Variables
from polygym.codegen.c.kernel.values import BasicBlock, LiftedFunction, Operation


class FunctionPrinter:
    """Prints a function; ``callees`` are the others of the module, by their names in C."""

    def __init__(
        self,
        function: LiftedFunction,
        pointees: Mapping[str, str],
        callees: Mapping[str, LiftedFunction],
    ) -> None:
        self.function = function
        self.flow: ControlFlow = control_flow(function)
        self.uses = function_uses(function, self.flow)
        self.variables = Variables(function, pointees, callees)
        self.printer = BlockPrinter(self.variables, self.uses, callees)
        self.facts: list[Operation] = []

    def lines(self) -> list[str]:
        """Return the lines of the function's body."""
        self._emit(self.function.blocks[0], None)
        return print_body(self.printer.output)

    def _emit(self, block: BasicBlock | None, stop: BasicBlock | None) -> None:
        """Print from a block on until control comes to another one."""
        while block is not None and block is not stop:
            loop = self.flow.loops.get(block)
            if loop is not None and block not in self.printer.open:
                block = self._loop(loop)
                continue
            block = self._block(block)

    def _block(self, block: BasicBlock) -> BasicBlock | None:
        """Print a block and what its branch leads to; return where control goes on."""
        self.printer.operations(block)
        if not block.targets:
            self._return(block)
            return None
        if len(block.targets) == 1:
            self._copies(block, block.targets[0])
            return block.targets[0]
        return self._branch(block)

    def _return(self, block: BasicBlock) -> None:
        """Print the end of the function."""
        printer = self.printer
        text, uses = "", frozenset[Variable]()
        if block.condition is None:
            printer.flush()
        else:
            text, uses = printer.condition(block.condition)
        if self.function.returns:
            printer.output.append(Line((f"return {text};",), uses))

    def _branch(self, block: BasicBlock) -> BasicBlock | None:
        """Print a branch; return where both ways join."""
        then, otherwise = block.targets
        join = self.flow.joins[block]
        if join is None:
            join = otherwise
            assert not can_reach(then, otherwise)
        assert block.condition is not None
        condition = block.condition
        node = If(*self.printer.condition(condition))
        outer = self.printer.output
        facts = [condition] if isinstance(condition, Operation) else []
        for target, part, known in ((then, node.then, facts), (otherwise, node.otherwise, [])):
            self.printer.output = part
            self.facts += known
            self._copies(block, target)
            self._emit(target, join)
            del self.facts[len(self.facts) - len(known) :]
        self.printer.output = outer
        if not node.then and node.otherwise:
            node.condition = _negated(node.condition)
            node.then, node.otherwise = node.otherwise, []
        if node.then:
            outer.append(node)
        return join

    def _copies(self, source: BasicBlock, target: BasicBlock) -> None:
        """Assign the phis of a block on the way to it."""
        loop = self.flow.loops.get(target)
        is_inside = loop is not None and source in loop.blocks
        self.printer.copy_phis(source, target, is_inside=is_inside)

    def _loop(self, loop: LoopBlocks) -> BasicBlock:
        """Print a loop; return where control goes on."""
        printer, header = self.printer, loop.header
        printer.open |= {header}
        counter = loop_counter(loop)
        (before,) = (b for b in self.flow.predecessors[header] if b not in loop.blocks)
        test: BottomTest | None = None
        if counter is not None and not loop.is_tested_at_top:
            lower = counter.phi.incoming[before]
            test = bottom_test(loop, counter, lower, self.uses, self.facts)
        node = For(None, None, "", "", frozenset())
        if counter is not None and (loop.is_tested_at_top or test is not None):
            self._count(loop, counter, node)
        outer, printer.output = printer.output, node.body
        if loop.is_tested_at_top:
            self._top_tested(loop, node)
        else:
            self._bottom_tested(loop, node, test)
        printer.output = outer
        outer.append(node)
        printer.open -= {header}
        if not loop.is_tested_at_top:
            for phi in header.phis:
                value = phi.incoming[loop.latch]
                if isinstance(value, Operation) and phi.operation in self.variables.of:
                    self.variables.of[value] = self.variables.of[phi.operation]
        self._copies(header if loop.is_tested_at_top else loop.latch, loop.after)
        return loop.after

    def _count(self, loop: LoopBlocks, counter: LoopCounter, node: For) -> None:
        """Let the head of a loop count."""
        self.printer.counters[loop.header] = counter.phi
        if only_steps(loop, counter.following, self.uses.blocks):
            self.printer.skipped.add(counter.following)
        # The counter has been assigned on the way here: let the loop's head do that.
        variable = self.variables.of[counter.phi.operation]
        first = take_first_value(self.printer.output, variable)
        node.counter, node.step = variable, counter.step_text(variable.name)
        if first is not None:
            node.first, node.uses = first.text, first.uses

    def _top_tested(self, loop: LoopBlocks, node: For) -> None:
        """Print a loop that may run not at all."""
        header = loop.header
        self.printer.operations(header)
        assert header.condition is not None
        inside = next(target for target in header.targets if target in loop.blocks)
        text, uses = self.printer.condition(header.condition)
        condition = text if header.targets[0] is inside else _negated(text)
        if node.body or node.counter is None:
            node.body.append(Line((f"if ({_negated(condition)})", "  break;"), uses))
        else:
            node.condition, node.uses = condition, node.uses | uses
        self._copies(header, inside)
        self._emit(inside, header)

    def _bottom_tested(self, loop: LoopBlocks, node: For, test: BottomTest | None) -> None:
        """Print a loop that runs at least once."""
        printer, users = self.printer, self.uses.blocks
        header, latch = loop.header, loop.latch
        all_users = {}
        for phi in header.phis:
            value = phi.incoming[latch]
            if isinstance(value, Operation) and value in users:
                all_users[value] = users[value]
                # The copies on the way out of the loop take the phi's variable.
                users[value] = [block for block in users[value] if block in loop.blocks]
        if test is not None:
            printer.skipped.add(test.condition)
            assert node.counter is not None
            printer.begin()
            printer.used.add(node.counter)
            node.condition = f"{node.counter.name} <= {printer.values.signed(test.upper, SUM)}"
            node.uses |= frozenset(printer.used)
        block: BasicBlock | None = header
        while block is not latch:
            assert block is not None
            inner = self.flow.loops.get(block)
            if inner is not None and block is not header:
                block = self._loop(inner)
            else:
                block = self._block(block)
        self._latch(loop, is_tested=test is None)
        users.update(all_users)

    def _latch(self, loop: LoopBlocks, *, is_tested: bool) -> None:
        """Print the last block of a loop that is tested at its end."""
        printer, latch, header = self.printer, loop.latch, loop.header
        printer.operations(latch)
        again: Variable | None = None
        if is_tested:
            printer.begin()
            assert latch.condition is not None
            text = printer.values.signed(latch.condition)
            if latch.targets[0] is not header:
                text = _negated(text)
            again = Variable(self.variables.new_name("again"), "int ")
            printer.output.append(Assignment(again, text, frozenset(printer.used)))
        self._copies(latch, header)
        printer.flush()
        if again is not None:
            printer.output.append(Line((f"if (!{again.name})", "  break;"), frozenset({again})))


def _negated(text: str) -> str:
    return f"!({text})"
