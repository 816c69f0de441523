"""Loops as Python functions, which run their instances in their order without touching any array.

``make_runner`` makes a function that returns the instances that loops run, ``make_sampler`` one
that returns some of them: of every loop the first iteration, the last one, those where conditions
inside turn over (``turning_points_of``) and some between, more of outer
loops than of inner ones. ``make_follower`` makes one that returns what runs of a statement while
every counter has the value that it is told.

Example: for ``for (c0 = 0; c0 <= n - 1; c0++) S(c0);`` the first is ::

    def run(v0):
      found = []
      add = found.append
      for v1 in counted((0), (v0 - (1)) + 1, 1):
        add(('S', (v1, )))
      return found

Turning points of a loop: values of its counter at which conditions inside change.

isl's loops consist of pieces that meet at such values, under guards and in the bounds of loops
further in. Example: in ::

    for (c0 = -20; c0 <= n; c0++)
      if (c0 >= 3 * c1) ...

``c0 >= 3 * c1`` turns at 3 * c1, whatever c1 is there.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any, TypeAlias, assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    min_max_operands,
    substitute,
)
from polygym.codegen.loopir.names import counter_depth
from polygym.codegen.loopir.python_text import python_text
from polygym.codegen.validate.order import WrongLoopsError
from polygym.mapping.tuning_parameters import TUNING


def turning_points_of(loop: ir.Loop) -> tuple[ir.Index, ...]:
    """Return the turning points of a loop's counter, in terms of the counters around it."""
    result: dict[ir.Index, None] = {}
    inside = counters_in(loop.body)
    for left, right in _compared_pairs(loop.body):
        steps = coefficient(left, loop.variable), coefficient(right, loop.variable)
        if None in steps or steps[0] == steps[1]:
            continue
        if any(depends_on(side, name) for side in (left, right) for name in inside):
            continue
        assert steps[0] is not None
        assert steps[1] is not None
        zero = {loop.variable: ir.IndexConstant(0)}
        rest = ir.IndexOperator.SUBTRACT(substitute(right, zero), substitute(left, zero))
        result[ir.IndexOperator.DIVIDE_FLOOR(rest, ir.IndexConstant(steps[0] - steps[1]))] = None
    return tuple(result)


def _compared_pairs(node: ir.Node) -> Iterator[tuple[ir.Index, ir.Index]]:
    """Yield the pairs of indices that decide what runs in a node."""
    match node:
        case ir.Loop(_, lower, upper):
            yield from product(
                min_max_operands(lower, ir.IndexOperator.MAXIMUM),
                min_max_operands(upper, ir.IndexOperator.MINIMUM),
            )
        case ir.Guard(condition):
            yield from _pairs_in_condition(condition)
        case ir.Block() | ir.Instance():
            pass
        case _:
            assert_never(node)
    for part in ir.children_of(node):
        yield from _compared_pairs(part)


def _pairs_in_condition(condition: ir.Index) -> Iterator[tuple[ir.Index, ir.Index]]:
    match condition:
        case ir.IndexOperation(operator, (left, right)) if operator in ir.COMPARISONS:
            yield left, right
        case ir.IndexOperation(_, operands):
            for operand in operands:
                yield from _pairs_in_condition(operand)
        case ir.IndexConstant() | ir.IndexVariable():
            return
        case _:
            assert_never(condition)


def counters_in(node: ir.Node) -> frozenset[str]:
    """Return the counters of the loops in a node."""
    return frozenset(loop.variable for loop in ir.loops_in(node))


InstancePoint: TypeAlias = tuple[str, tuple[int, ...]]
"""An instance: the statement and the values of its iterators."""

CounterValues: TypeAlias = tuple[int | None, ...]
"""The values of the counters c0, c1, …; None stands for a loop that is not there."""

InstanceExecution: TypeAlias = tuple[InstancePoint, int, CounterValues]
"""An instance that ran, by which statement of the loops' text, and where the counters stood."""


def make_runner(body: ir.Node, parameters: Sequence[str]) -> Callable[..., list[InstancePoint]]:
    """Return the function from the values of parameters to all instances that run."""
    return _FunctionText(_CountedRange()).function(body, parameters)


def make_sampler(
    body: ir.Node, parameters: Sequence[str]
) -> Callable[..., tuple[list[InstanceExecution], bool]]:
    """Return the function from the values of parameters to some of the instances that run.

    Where loops are few or short, more of them is taken, until there is enough or all. The second
    value says whether it got as far as the last loops.
    """
    sampled = _SampledRange()
    run = _SampledText(sampled).function(body, parameters)

    def enough(*values: int) -> tuple[list[InstanceExecution], bool]:
        executions: list[InstanceExecution] = []
        to_the_end = True
        for more in TUNING.sample_factors:
            sampled.restart(more)
            larger = run(*values)
            if executions and sampled.left <= 0:
                break  # it ended before the last loops, which the smaller one has reached
            executions, to_the_end = larger, sampled.left > 0
            if len(executions) >= TUNING.enough_samples or not sampled.is_part:
                break
        return executions, to_the_end

    return enough


def make_follower(
    body: ir.Node, parameters: Sequence[str], statement: str
) -> Callable[..., list[InstanceExecution] | None] | None:
    """Return the function from the values of parameters and of counters to the instances that run.

    It returns None where too many loops have no value, and there is none where the statement is
    nowhere in the loops.
    """
    if not any(instance.statement == statement for instance in ir.instances_in(body)):
        return None
    counted = _CountedRange()
    runs: dict[tuple[bool, ...], Callable[..., list[InstanceExecution]]] = {}

    def follow(*values: Any) -> list[InstanceExecution] | None:
        pinned = tuple(value is not None for value in values[-1])
        run = runs.get(pinned)
        if run is None:
            run = runs[pinned] = _PinnedText(counted, statement, pinned).function(body, parameters)
        counted.left = TUNING.max_followed
        try:
            return run(*values)
        except WrongLoopsError:
            return None

    return follow


class _CountedRange:
    """``range``, as long as all loops together do not run too often."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.left = TUNING.max_iterations

    def __call__(self, lower: int, end: int, step: int) -> Sequence[int]:
        """Return the iterations of one loop."""
        result = range(lower, end, step)
        self.left -= len(result)
        if self.left < 0:
            raise WrongLoopsError("isl's loops run far more often than there are instances")
        return result


class _SampledRange:
    """Some iterations of ``range``: the first, the last, those around turns, and some between."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.restart(1)

    def restart(self, more: int) -> None:
        """Begin a sample with so many times as much of every loop as usual."""
        self.more = more
        self.is_part = False
        self.left = TUNING.max_sampled
        self.random = Random(0)

    def __call__(
        self, lower: int, end: int, step: int, level: int, turns: Sequence[int]
    ) -> Sequence[int]:
        """Return some iterations of one loop."""
        if self.left <= 0:
            return ()
        kept, ends = self.more * TUNING.sample_sizes[level], TUNING.sample_ends[level]
        iterations = range(lower, end, step)
        if len(iterations) <= kept:
            self.left -= len(iterations)
            return iterations
        self.is_part = True
        last = len(iterations) - 1
        at_ends = {*range(ends), *range(last + 1 - ends, last + 1)}
        places = set(at_ends)
        for turn in turns:
            place = (turn - lower) // step
            places.update(near for near in (place, place + 1, place - 1) if 0 <= near <= last)
        if len(places) > kept:
            rest = sorted(places - at_ends)
            places = {*at_ends, *self.random.sample(rest, max(0, kept - len(at_ends)))}
        while len(places) < kept:
            places.add(self.random.randrange(last))
        self.left -= len(places)
        return [iterations[place] for place in sorted(places)]


class _FunctionText:
    """Loops as the text of a Python function that returns the instances in their order."""

    # What the function is given besides the parameters.
    _arguments: tuple[str, ...] = ()

    def __init__(self, counted: Callable[..., Sequence[int]]) -> None:
        self.counted = counted
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def function(self, body: ir.Node, parameters: Sequence[str]) -> Callable[..., list[Any]]:
        """Write the function, and return it, ready to be called."""
        for name in parameters:
            self._name(name)
        self.lines.append(f"def run({', '.join([*self.names.values(), *self._arguments])}):")
        self.lines += ["  found = []", "  add = found.append"]
        self._node(body, 1)
        self.lines.append("  return found")
        space: dict[str, Any] = {"counted": self.counted}
        exec("\n".join(self.lines), space)
        run: Callable[..., list[Any]] = space["run"]
        return run

    def _name(self, variable: str) -> str:
        return self.names.setdefault(variable, f"v{len(self.names)}")

    def _node(self, node: ir.Node, depth: int) -> None:
        lead = "  " * depth
        match node:
            case ir.Block(()):
                self.lines.append(f"{lead}pass")
            case ir.Block(children):
                for child in children:
                    self._node(child, depth)
            case ir.Loop():
                self._loop(node, depth)
            case ir.Guard(condition, then, otherwise):
                self.lines.append(f"{lead}if {self._index(condition)}:")
                self._node(then, depth + 1)
                if otherwise is not None:
                    self.lines.append(f"{lead}else:")
                    self._node(otherwise, depth + 1)
            case ir.Instance(statement, iterators):
                point = "".join(f"{self._index(index)}, " for index in iterators)
                self.lines.append(f"{lead}add({self._entry(f'({statement!r}, ({point}))')})")
            case _:
                assert_never(node)

    def _loop(self, loop: ir.Loop, depth: int) -> None:
        bounds = f"{self._index(loop.lower)}, {self._index(loop.upper)} + 1, {loop.step}"
        name, more = self._name(loop.variable), self._more(loop)
        self.lines.append(f"{'  ' * depth}for {name} in counted({bounds}{more}):")
        self._node(loop.body, depth + 1)

    def _entry(self, point: str) -> str:
        """Return what is found of an instance."""
        return point

    def _more(self, loop: ir.Loop) -> str:
        """Return further arguments with which a loop's iterations are chosen."""
        return ""

    def _index(self, index: ir.Index) -> str:
        return python_text(index, self._name)


class _LocatedText(_FunctionText):
    """Loops that say of every instance which statement of the text has run it, and the counters."""

    def __init__(self, counted: Callable[..., Sequence[int]]) -> None:
        super().__init__(counted)
        self._leaves = 0
        self._around: dict[int, str] = {}

    def _node(self, node: ir.Node, depth: int) -> None:
        if not isinstance(node, ir.Loop):
            super()._node(node, depth)
            return
        place = counter_depth(node.variable)
        self._around[place] = self._name(node.variable)
        super()._node(node, depth)
        del self._around[place]

    def _entry(self, point: str) -> str:
        self._leaves += 1
        places = range(max(self._around, default=-1) + 1)
        counters = "".join(f"{self._around.get(place)}, " for place in places)
        return f"({point}, {self._leaves - 1}, ({counters}))"


class _SampledText(_LocatedText):
    """Loops of which only some iterations run."""

    _level = 0

    def _node(self, node: ir.Node, depth: int) -> None:
        is_loop = isinstance(node, ir.Loop) and node.lower != node.upper
        self._level += is_loop
        super()._node(node, depth)
        self._level -= is_loop

    def _more(self, loop: ir.Loop) -> str:
        level = min(max(self._level, 1), len(TUNING.sample_sizes)) - 1
        turns = "".join(f"{self._index(turn)}, " for turn in turning_points_of(loop))
        return f", {level}, ({turns})"


class _PinnedText(_LocatedText):
    """Loops around one statement, whose counters have the values of the tuple ``at``.

    ``pinned`` says which do; the loop of such a counter is a question, whether it comes there::

      v1 = at[0]
      if (0) <= v1 and v1 <= (v0 - (1)):
    """

    _arguments = ("at",)

    def __init__(
        self, counted: Callable[..., Sequence[int]], statement: str, pinned: Sequence[bool]
    ) -> None:
        super().__init__(counted)
        self._statement = statement
        self._pinned = pinned

    def _node(self, node: ir.Node, depth: int) -> None:
        if any(instance.statement == self._statement for instance in ir.instances_in(node)):
            super()._node(node, depth)
        else:
            self.lines.append(f"{'  ' * depth}pass")

    def _loop(self, loop: ir.Loop, depth: int) -> None:
        place = counter_depth(loop.variable)
        if place >= len(self._pinned) or not self._pinned[place]:
            super()._loop(loop, depth)
            return
        lead, name = "  " * depth, self._name(loop.variable)
        # Without max and min, which are calls: most questions are settled by the first bound.
        tests = [f"{low} <= {name}" for low in self._each(loop.lower, ir.IndexOperator.MAXIMUM)]
        tests += [f"{name} <= {high}" for high in self._each(loop.upper, ir.IndexOperator.MINIMUM)]
        if loop.step != 1:
            tests.append(f"({name} - {self._index(loop.lower)}) % {loop.step} == 0")
        self.lines += [f"{lead}{name} = at[{place}]", f"{lead}if {' and '.join(tests)}:"]
        self._node(loop.body, depth + 1)

    def _each(self, bound: ir.Index, operator: ir.IndexOperator) -> list[str]:
        """Return the operands of the greatest or the least of several, or what there is alone."""
        if isinstance(bound, ir.IndexOperation) and bound.operator is operator:
            return [text for index in bound.operands for text in self._each(index, operator)]
        return [self._index(bound)]
