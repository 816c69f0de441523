"""Loops as Python functions, which run their instances in their order without touching any array.

``runner`` makes a function that returns the instances that loops run, ``sampler`` one that returns
some of them: of every loop the first iteration, the last one and some between.

Example: for ``for (c0 = 0; c0 <= n - 1; c0++) S(c0);`` the first is ::

    def run(v0):
      found = []
      add = found.append
      for v1 in counted((0), (v0 - (1)) + 1, 1):
        add(('S', (v1, )))
      return found
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias, assert_never

from polygym.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
    count_instances,
)
from polygym.errors import LimitError

Point: TypeAlias = tuple[str, tuple[int, ...]]
"""An instance: the statement and the values of its iterators."""

_MOST_ITERATIONS = 500_000

# About so many instances a sample has.
_SAMPLED = 4_000
_MOST_OF_A_LOOP = 12

_INFIX = {
    IndexOperator.ADD: "+",
    IndexOperator.SUBTRACT: "-",
    IndexOperator.MULTIPLY: "*",
    IndexOperator.DIVIDE_EXACT: "//",
    IndexOperator.DIVIDE_FLOOR: "//",
    IndexOperator.DIVIDE_NONNEGATIVE: "//",
    IndexOperator.REMAINDER_NONNEGATIVE: "%",
    IndexOperator.REMAINDER_ZERO_TEST: "%",
    IndexOperator.EQUAL: "==",
    IndexOperator.LESS: "<",
    IndexOperator.LESS_EQUAL: "<=",
    IndexOperator.GREATER: ">",
    IndexOperator.GREATER_EQUAL: ">=",
    IndexOperator.AND: "and",
    IndexOperator.OR: "or",
}


def runner(body: Node, parameters: Sequence[str]) -> Callable[..., list[Point]]:
    """Return the function from the values of parameters to all instances that run."""
    return _Text(_Counted()).function(body, parameters)


def sampler(body: Node, parameters: Sequence[str]) -> Callable[..., list[Point]]:
    """Return the function from the values of parameters to some of the instances that run."""
    share = _SAMPLED / max(1, count_instances(body))
    kept = int(share ** (1 / max(1, _depth(body))))
    return _Text(_Sampled(max(2, min(_MOST_OF_A_LOOP, kept)))).function(body, parameters)


def _depth(node: Node) -> int:
    """Return how many loops of more than one iteration lie around each other."""
    match node:
        case Block(children):
            return max(map(_depth, children), default=0)
        case Loop(lower=lower, upper=upper, body=body):
            return _depth(body) + (lower != upper)
        case Guard(_, then, otherwise):
            return max(_depth(then), 0 if otherwise is None else _depth(otherwise))
        case Instance():
            return 0
        case _:
            assert_never(node)


class _Counted:
    """``range``, as long as all loops together do not run too often."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.left = _MOST_ITERATIONS

    def __call__(self, lower: int, end: int, step: int) -> Sequence[int]:
        """Return the iterations of one loop."""
        found = range(lower, end, step)
        self.left -= len(found)
        if self.left < 0:
            raise LimitError("isl's loops run far more often than there are instances")
        return found


class _Sampled(_Counted):
    """The first and the last iteration of ``range``, and some between: always the same."""

    def __init__(self, kept: int) -> None:
        """Keep so many iterations of a loop."""
        super().__init__()
        self.kept = kept
        self.random = Random(0)

    def __call__(self, lower: int, end: int, step: int) -> Sequence[int]:
        """Return some iterations of one loop."""
        all_of_them = range(lower, end, step)
        if len(all_of_them) <= self.kept:
            return super().__call__(lower, end, step)
        between = self.random.sample(all_of_them[1:-1], self.kept - 2)
        found = (all_of_them[0], *sorted(between), all_of_them[-1])
        self.left -= len(found)
        if self.left < 0:
            raise LimitError("isl's loops have far too many parts")
        return found


class _Text:
    """Loops as the text of a Python function that returns the instances in their order."""

    def __init__(self, counted: _Counted) -> None:
        self.counted = counted
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def function(self, body: Node, parameters: Sequence[str]) -> Callable[..., list[Point]]:
        """Write the function, and return it, ready to be called."""
        for name in parameters:
            self._name(name)
        self.lines.append(f"def run({', '.join(self.names.values())}):")
        self.lines += ["  found = []", "  add = found.append"]
        self._node(body, 1)
        self.lines.append("  return found")
        space: dict[str, Any] = {"counted": self.counted}
        exec("\n".join(self.lines), space)
        run: Callable[..., list[Point]] = space["run"]
        return run

    def _name(self, variable: str) -> str:
        return self.names.setdefault(variable, f"v{len(self.names)}")

    def _node(self, node: Node, depth: int) -> None:
        lead = "  " * depth
        match node:
            case Block(()):
                self.lines.append(f"{lead}pass")
            case Block(children):
                for child in children:
                    self._node(child, depth)
            case Loop(variable, lower, upper, step, body):
                bounds = f"{self._index(lower)}, {self._index(upper)} + 1, {step}"
                self.lines.append(f"{lead}for {self._name(variable)} in counted({bounds}):")
                self._node(body, depth + 1)
            case Guard(condition, then, otherwise):
                self.lines.append(f"{lead}if {self._index(condition)}:")
                self._node(then, depth + 1)
                if otherwise is not None:
                    self.lines.append(f"{lead}else:")
                    self._node(otherwise, depth + 1)
            case Instance(statement, iterators):
                point = "".join(f"{self._index(index)}, " for index in iterators)
                self.lines.append(f"{lead}add(({statement!r}, ({point})))")
            case _:
                assert_never(node)

    def _index(self, index: Index) -> str:
        match index:
            case Number(value):
                return f"({value})"
            case Variable(name):
                return self._name(name)
            case Operation(operator, operands):
                parts = [self._index(operand) for operand in operands]
                match operator:
                    case IndexOperator.NEGATE:
                        return f"(-{parts[0]})"
                    case IndexOperator.MINIMUM:
                        return f"min({', '.join(parts)})"
                    case IndexOperator.MAXIMUM:
                        return f"max({', '.join(parts)})"
                    case IndexOperator.SELECT:
                        return f"({parts[1]} if {parts[0]} else {parts[2]})"
                    case _:
                        return f"({f' {_INFIX[operator]} '.join(parts)})"
            case _:
                assert_never(index)
