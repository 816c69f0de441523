"""An estimate of the cycles of optimized code, from LLVM IR alone: nothing is run.

Loops are counted (:mod:`polygym.cost.machine_code.loops`) at the middle iteration of the loops
around them, branches in them are taken as they go there, or half and half where that is unknown.
An iteration takes as long as the busiest unit of the core
(:mod:`polygym.cost.machine_code.instruction_costs`), or as long as the longest chain from a value
of the iteration to that of the next one. Of an innermost loop also counts the longest way through
one iteration: a core begins the next ones meanwhile as far as its window reaches, and at the end of
the loop nothing is left to begin. Vectors that iterations hand on and that find no register are
loaded and stored again.

What the loops as planned do not show is seen here: that LLVM has unrolled the three by three terms
of a blur, and made vectors of what was outside of them.

Example, s += a[i] for n numbers: a load and an addition are half a cycle, but each addition waits
three cycles for the one before it, so the loop takes 3·n cycles; in vectors of 8 with 4 sums at a
time it takes 3·n / 32.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polygym.cost.machine_code.instruction_costs import (
    UnitCycles,
    cost_of,
    latency_of,
    registers_of,
    spill_cost,
)
from polygym.cost.machine_code.ir_text import (
    BasicBlock,
    Function,
    Instruction,
    PhiNode,
    read_functions,
)
from polygym.cost.machine_code.loops import MachineLoop, count_loop, loops_of
from polygym.cost.machine_code.values import Definitions, Values, definitions_of
from polygym.mapping.machine import Machine

KERNEL = "kernel"
_NAMES = re.compile(r"%([-\w.$]+|\"[^\"]+\")")
_CALL = re.compile(r"@(?P<name>[-\w.$]+)\((?P<arguments>.*)\)")
_UNKNOWN = 0.5
_MOST_CALLS = 4
_WORKING_REGISTERS = 2  # for operands of what is held
_WINDOW = 256  # instructions that a core looks at


@dataclass(frozen=True, slots=True)
class _Region:
    """The blocks of a loop, or all of a function, with the loops in it."""

    entry: str
    blocks: frozenset[str]
    children: tuple[MachineLoop, ...]


@dataclass(frozen=True, slots=True)
class CodeEstimate:
    """Cycles of code whose data are near, bytes of its cache lines, floating operations."""

    cycles: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0

    def plus(self, other: "CodeEstimate", times: float = 1.0) -> "CodeEstimate":
        """Return the estimate of this code and of other code that runs so often behind it."""
        return CodeEstimate(
            self.cycles + times * other.cycles,
            self.bytes + times * other.bytes,
            self.operations + times * other.operations,
        )


def estimate_code(llvm_ir: str, machine: Machine, kernel: str = KERNEL) -> CodeEstimate:
    """Return the estimate of one call of an optimized module's kernel, 0 without one."""
    functions = read_functions(llvm_ir)
    if kernel not in functions:
        return CodeEstimate()
    return _Estimator(functions, machine, 0).function(functions[kernel], {})


class _Estimator:
    """Estimates of functions, that may call each other a few levels deep."""

    def __init__(self, functions: Mapping[str, Function], machine: Machine, depth: int) -> None:
        self._functions, self._machine, self._depth = functions, machine, depth
        self._definitions: Definitions = {}

    def function(self, function: Function, context: Mapping[str, int]) -> CodeEstimate:
        """Return what a function takes in a context."""
        self._definitions = definitions_of(function)
        blocks = frozenset(function.blocks)
        region = _Region(next(iter(function.blocks)), blocks, loops_of(function))
        return self._region(function, region, context)

    def _region(
        self, function: Function, region: _Region, context: Mapping[str, int]
    ) -> CodeEstimate:
        """Return what one pass through a region takes."""
        inner, own = CodeEstimate(), UnitCycles()
        children = {child.header: child for child in region.children}
        values = Values(self._definitions, context)
        for name, share in self._shares(function, region, values):
            if share <= 0.0:
                continue
            if (child := children.get(name)) is not None:
                inner = inner.plus(self._loop(function, child, context), share)
                continue
            for instruction in function.blocks[name].body:
                called = self._called(instruction, values)
                if called is not None:
                    inner = inner.plus(called, share)
                else:
                    own = own.plus(cost_of(instruction, self._machine.vector_bits), share)
        if not children:
            own = own.plus(spill_cost(), self._spilled(function.blocks[region.entry]))
        return inner.plus(CodeEstimate(own.busiest, own.bytes, own.operations))

    def _loop(
        self, function: Function, loop: MachineLoop, context: Mapping[str, int]
    ) -> CodeEstimate:
        """Return the estimate of a loop."""
        count = count_loop(function, loop, self._definitions, context)
        region = _Region(loop.header, loop.blocks, loop.children)
        once = self._region(function, region, {**context, **count.middle})
        cycles = max(once.cycles, self._chain(function, loop), 1.0)
        latency = 0.0
        if not loop.children:
            latency, instructions = self._latency(function, loop)
            cycles = max(cycles, latency * min(1.0, instructions / _WINDOW))
        code = CodeEstimate().plus(replace(once, cycles=cycles), count.trips)
        return code.plus(CodeEstimate(latency))

    def _latency(self, function: Function, loop: MachineLoop) -> tuple[float, int]:
        """Return the longest way through one iteration, and how many instructions it has.

        A core begins so many iterations before the first one ends as its window has room for.
        """
        ends: dict[str, float] = {}
        body = [
            each
            for name in function.blocks
            if name in loop.blocks
            for each in function.blocks[name].body
            if latency_of(each)
        ]
        for each in body:
            begin = max((ends.get(name, 0.0) for name in _NAMES.findall(each.rest)), default=0.0)
            ends[each.name] = begin + latency_of(each)
        return max(ends.values(), default=0.0), len(body)

    def _spilled(self, header: BasicBlock) -> float:
        """Return how many of the vectors that iterations hand on find no register."""
        held = sum(registers_of(phi.type, self._machine.vector_bits) for phi in header.phis)
        return max(0.0, held + _WORKING_REGISTERS - self._machine.registers)

    def _shares(
        self, function: Function, region: _Region, values: Values
    ) -> Iterator[tuple[str, float]]:
        """Yield blocks and the headers of inner loops, with how often a pass runs through them."""
        owner = {name: child for child in region.children for name in child.blocks}
        shares = {region.entry: 1.0}
        for name in _in_order(function, region, owner):
            share = shares.get(name, 0.0)
            yield name, share
            child = owner.get(name)
            targets = (
                _loop_exits(function, child)
                if child is not None
                else list(self._weighted(function.blocks[name], region, values))
            )
            for target, weight in targets:
                if target in region.blocks and target != region.entry:
                    place = owner[target].header if target in owner else target
                    shares[place] = shares.get(place, 0.0) + share * weight

    def _weighted(
        self, block: BasicBlock, region: _Region, values: Values
    ) -> Iterator[tuple[str, float]]:
        """Yield the successors of a block in a region with their shares."""
        inside = [target for target in block.successors if target in region.blocks]
        if len(inside) <= 1 or not block.condition:
            yield from ((target, 1.0 / len(inside)) for target in inside)
            return
        taken = values.value(block.condition)
        first = _UNKNOWN if taken is None else float(taken)
        yield block.successors[0], first
        yield block.successors[1], 1.0 - first

    def _called(self, instruction: Instruction, values: Values) -> CodeEstimate | None:
        """Return what a call of a function of the module takes, None of anything else."""
        if instruction.opcode != "call" or self._depth >= _MOST_CALLS:
            return None
        call = _CALL.search(instruction.rest)
        function = None if call is None else self._functions.get(call["name"])
        if call is None or function is None:
            return None
        context = {}
        given = [part.split()[-1] for part in call["arguments"].split(",") if part.strip()]
        for name, operand in zip(function.arguments, given, strict=False):
            if (value := values.value(operand)) is not None:
                context[name] = value
        inside = _Estimator(self._functions, self._machine, self._depth + 1)
        return inside.function(function, context)

    def _chain(self, function: Function, loop: MachineLoop) -> float:
        """Return the longest chain of a loop from a value to that of the next iteration."""
        inner = {name for child in loop.children for name in child.blocks}
        own = {
            instruction.name: instruction
            for name in loop.blocks - inner
            for instruction in function.blocks[name].body
            if instruction.name
        }
        phis = {
            phi.name: phi
            for name in loop.blocks - inner
            if name != loop.header
            for phi in function.blocks[name].phis
        }
        longest = 0.0
        for phi in function.blocks[loop.header].phis:
            known: dict[str, float | None] = {phi.name: 0.0}
            for source, value in phi.incoming:
                if source in loop.blocks and value.startswith("%"):
                    longest = max(longest, _distance(value[1:], own, phis, known) or 0.0)
        return longest


def _distance(
    name: str,
    own: Mapping[str, Instruction],
    phis: Mapping[str, PhiNode],
    known: dict[str, float | None],
) -> float | None:
    """Return the latency from a phi to a value, None where the value does not depend on it."""
    if name in known:
        return known[name]
    known[name] = None
    if (phi := phis.get(name)) is not None:
        operands = [value[1:] for _, value in phi.incoming if value.startswith("%")]
        latency = 0.0
    elif (instruction := own.get(name)) is not None:
        operands, latency = _NAMES.findall(instruction.rest), latency_of(instruction)
    else:
        return None
    before = [
        distance
        for operand in operands
        if (distance := _distance(operand, own, phis, known)) is not None
    ]
    known[name] = latency + max(before) if before else None
    return known[name]


def _loop_exits(function: Function, loop: MachineLoop) -> list[tuple[str, float]]:
    """Return where a loop is left to, each with its share."""
    targets = list(
        dict.fromkeys(
            target
            for name in loop.blocks
            for target in function.blocks[name].successors
            if target not in loop.blocks
        )
    )
    return [(target, 1.0 / len(targets)) for target in targets]


def _in_order(function: Function, region: _Region, owner: Mapping[str, MachineLoop]) -> list[str]:
    """Return the blocks of a region and the headers of its loops, each behind those before it."""
    seen: set[str] = set()
    order: list[str] = []
    stack: list[tuple[str, Iterator[str]]] = []

    def targets(name: str) -> Iterator[str]:
        child = owner.get(name)
        after = (
            [target for target, _ in _loop_exits(function, child)]
            if child is not None
            else list(function.blocks[name].successors)
        )
        for target in after:
            if target in region.blocks and target != region.entry:
                yield owner[target].header if target in owner else target

    seen.add(region.entry)
    stack.append((region.entry, targets(region.entry)))
    while stack:
        name, left = stack[-1]
        target = next(left, None)
        if target is None:
            order.append(name)
            stack.pop()
        elif target not in seen:
            seen.add(target)
            stack.append((target, targets(target)))
    return order[::-1]
