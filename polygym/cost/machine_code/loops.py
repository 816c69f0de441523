"""The loops of a function of LLVM IR, and how often they run.

A loop is what an edge back to a block that dominates its start closes: the *header*, and all blocks
from which that edge is reached without passing the header. Counters go up by a constant, so the
iteration in which a loop is left is found by evaluating the condition of its exit: at iterations 0,
1, 2, 4, … until it holds, then by halving. For that it has to hold from some iteration on, or, as
of ``icmp eq``, at one: then the distance to that one is found from two differences.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from polygym.cost.machine_code.ir_text import BasicBlock, Function, Instruction
from polygym.cost.machine_code.values import Definitions, Values

UNKNOWN_TRIPS = 16
"""Trip count of a loop of which nothing is known."""

_MOST_TRIPS = 1 << 40


@dataclass(frozen=True, slots=True)
class MachineLoop:
    """A loop: its header, all its blocks, and the loops in it, outermost ones."""

    header: str
    blocks: frozenset[str]
    children: tuple["MachineLoop", ...] = ()


@dataclass(frozen=True, slots=True)
class LoopCount:
    """How often a loop runs: its trips, and the counters at its middle iteration."""

    trips: float
    middle: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True, slots=True)
class _Counter:
    """What goes up by a step, or has one value at first and another one from then on."""

    first: int
    second: int
    step: int

    def at(self, iteration: int) -> int:
        """Return its value at an iteration, from 0 on."""
        return self.second + (iteration - 1) * self.step if iteration else self.first


def loops_of(function: Function) -> tuple[MachineLoop, ...]:
    """Return the outermost loops of a function, with those inside."""
    order, back = _depth_first(function)
    predecessors: dict[str, list[str]] = {name: [] for name in function.blocks}
    for name in order:
        for successor in function.blocks[name].successors:
            predecessors[successor].append(name)
    blocks: dict[str, set[str]] = {}
    for latch, header in back:
        own = blocks.setdefault(header, {header})
        waiting = [latch]
        while waiting:
            name = waiting.pop()
            if name not in own:
                own.add(name)
                waiting += predecessors[name]
    return _nested([(header, frozenset(own)) for header, own in blocks.items()])


def _depth_first(function: Function) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the blocks that are reached, and the edges back to blocks that are being visited."""
    entry = next(iter(function.blocks))
    order, back, state = [entry], list[tuple[str, str]](), {entry: 1}
    stack = [(entry, iter(function.blocks[entry].successors))]
    while stack:
        name, left = stack[-1]
        successor = next(left, None)
        if successor is None:
            state[name] = 2
            stack.pop()
        elif successor not in state:
            state[successor] = 1
            order.append(successor)
            stack.append((successor, iter(function.blocks[successor].successors)))
        elif state[successor] == 1:
            back.append((name, successor))
    return order, back


def _nested(loops: list[tuple[str, frozenset[str]]]) -> tuple[MachineLoop, ...]:
    """Return loops with those inside them."""
    outer = [(header, own) for header, own in loops if not any(own < other for _, other in loops)]
    return tuple(
        MachineLoop(header, own, _nested([(name, other) for name, other in loops if other < own]))
        for header, own in outer
    )


def count_loop(
    function: Function,
    loop: MachineLoop,
    definitions: Definitions,
    context: Mapping[str, int],
) -> LoopCount:
    """Return how often a loop runs in a context."""
    counters = _counters(function.blocks[loop.header], loop, definitions, context)

    def at(iteration: int) -> dict[str, int]:
        return {
            **context,
            **{name: counter.at(iteration) for name, counter in counters.items()},
        }

    trips = min(
        (
            count
            for name in loop.blocks
            if (count := _trips_to_exit(function.blocks[name], loop, definitions, at)) is not None
        ),
        default=None,
    )
    known = UNKNOWN_TRIPS if trips is None else trips
    return LoopCount(known, at(known // 2))


def _counters(
    header: BasicBlock,
    loop: MachineLoop,
    definitions: Definitions,
    context: Mapping[str, int],
) -> dict[str, _Counter]:
    """Return the counters of a loop."""
    firsts: dict[str, int] = {}
    nexts: dict[str, str] = {}
    outside = Values(definitions, context)
    for phi in header.phis:
        inner = [value for source, value in phi.incoming if source in loop.blocks]
        outer = [value for source, value in phi.incoming if source not in loop.blocks]
        first = outside.value(outer[0]) if outer else None
        if first is not None and inner and phi.type.startswith("i"):
            firsts[phi.name], nexts[phi.name] = first, inner[0]
    result: dict[str, _Counter] = {}
    for name, first in firsts.items():
        second = Values(definitions, {**context, **firsts}).value(nexts[name])
        if second is None:
            continue
        third = Values(definitions, {**context, **firsts, name: second}).value(nexts[name])
        if third is not None and third - second in (0, second - first):
            result[name] = _Counter(first, second, third - second)
    return result


def _trips_to_exit(
    block: BasicBlock,
    loop: MachineLoop,
    definitions: Definitions,
    at: Callable[[int], dict[str, int]],
) -> int | None:
    """Return after how many iterations a block leaves the loop, None where that is unknown."""
    inside = [successor in loop.blocks for successor in block.successors]
    if not block.condition or all(inside) or not any(inside):
        return None
    goes_on = int(inside[0])

    def leaves(iteration: int) -> bool | None:
        value = Values(definitions, at(iteration)).value(block.condition)
        return None if value is None else value != goes_on

    is_top_tested = block.name == loop.header and len(loop.blocks) > 1
    last = _first_true(leaves)
    if last is None:
        last = _exact_hit(block, definitions, at, leaves)
    if last is None:
        return None
    return last if is_top_tested else last + 1


def _first_true(holds: Callable[[int], bool | None]) -> int | None:
    """Return the first iteration at which a condition holds that goes on to hold."""
    low, high = 0, 1
    first = holds(0)
    if first is None:
        return None
    if first:
        return 0
    while not (value := holds(high)):
        if value is None or high > _MOST_TRIPS:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _exact_hit(
    block: BasicBlock,
    definitions: Definitions,
    at: Callable[[int], dict[str, int]],
    leaves: Callable[[int], bool | None],
) -> int | None:
    """Return the iteration at which two sides of ``icmp eq`` or ``ne`` meet."""
    comparison = definitions.get(block.condition.removeprefix("%"))
    if not isinstance(comparison, Instruction) or comparison.opcode != "icmp":
        return None
    sides = comparison.rest.split(" ", 2)
    if sides[0] not in ("eq", "ne"):
        return None
    left, _, right = sides[2].partition(",")
    apart = []
    for iteration in (0, 1):
        values = Values(definitions, at(iteration))
        a, b = values.value(left), values.value(right)
        if a is None or b is None:
            return None
        apart.append(b - a)
    step = apart[0] - apart[1]
    if not step or apart[0] % step or apart[0] // step < 0:
        return None
    hit = apart[0] // step
    return hit if leaves(hit) else None
