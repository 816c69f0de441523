"""Heads of loops: the counter, its first value, and a test that may stand before an iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.codegen.c.kernel.control_flow import LoopBlocks
from polygym.codegen.c.kernel.expressions.numbers import number_text
from polygym.codegen.c.kernel.statements.nodes import Assignment, Node, Variable
from polygym.codegen.c.kernel.statements.uses import FunctionUses
from polygym.codegen.c.kernel.values import BasicBlock, Constant, Operation, Phi, Value


@dataclass(frozen=True)
class LoopCounter:
    """The counter of a loop: its phi, its next value, and by how much that is more."""

    phi: Phi
    following: Operation
    step: Constant

    def step_text(self, name: str) -> str:
        """Return the statement that counts: ``i++``, ``i += 8``."""
        if self.step.value == 1:
            return f"{name}++"
        return f"{name} += {number_text(self.step.kind, self.step.value)}"


@dataclass(frozen=True)
class BottomTest:
    """The test at the end of a loop, and the last value of the counter."""

    condition: Operation
    upper: Value


def loop_counter(loop: LoopBlocks) -> LoopCounter | None:
    """Return the counter of a loop, None without any."""
    for phi in loop.header.phis:
        value = phi.incoming[loop.latch]
        if (
            isinstance(value, Operation)
            and value.name == "add"
            and value.operands[0] is phi.operation
            and isinstance(step := value.operands[1], Constant)
            and phi.operation.kind.lanes is None
            and phi.operation.kind.base == "i"
        ):
            return LoopCounter(phi, value, step)
    return None


def only_steps(
    loop: LoopBlocks, following: Operation, users: Mapping[Operation, Sequence[BasicBlock]]
) -> bool:
    """Whether the next value of a counter is used as such, and in the test, alone."""
    if not set(users[following]) <= {loop.latch}:
        return False
    count = 1
    condition = loop.latch.condition
    if not loop.is_tested_at_top and isinstance(condition, Operation):
        count += sum(operand is following for operand in condition.operands)
    return len(users[following]) == count


def bottom_test(
    loop: LoopBlocks,
    counter: LoopCounter,
    lower: Value,
    uses: FunctionUses,
    facts: Sequence[Operation],
) -> BottomTest | None:
    """Return the test of a loop that is known to run, as that before an iteration.

    The counter begins with ``lower``; ``facts`` are conditions that hold before the loop.
    """
    condition = loop.latch.condition
    if not isinstance(condition, Operation):
        return None
    if (condition.name, condition.data) != ("icmp", "sle") or len(uses.blocks[condition]) != 1:
        return None
    if condition.operands[0] is not counter.following or loop.latch.targets[0] is not loop.header:
        return None
    upper = condition.operands[1]
    if isinstance(upper, Operation) and uses.home[upper] in loop.blocks:
        return None
    if isinstance(upper, Constant) and isinstance(lower, Constant):
        return BottomTest(condition, upper) if lower.value <= upper.value else None
    for fact in facts:
        if (fact.name, fact.data) == ("icmp", "sle"):
            pairs = zip(fact.operands, (lower, upper), strict=True)
            if all(a is b or (isinstance(a, Constant) and a == b) for a, b in pairs):
                return BottomTest(condition, upper)
    return None


def take_first_value(output: list[Node], variable: Variable) -> Assignment | None:
    """Remove the assignment of a variable from the end of statements, and return it.

    None if there is no such assignment, or if one after it uses the variable.
    """
    for place in range(len(output) - 1, -1, -1):
        node = output[place]
        if not isinstance(node, Assignment):
            return None
        if node.variable is variable:
            if any(variable in later.uses for later in output[place + 1 :]):
                return None
            del output[place]
            return node
    return None
