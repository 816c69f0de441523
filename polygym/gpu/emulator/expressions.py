"""Code of threads as Python text: loops, guards and instances, with every access a call.

``C[i][j] += A[i][k] * B[k][j]`` becomes ::

    store('S', 0, (v0, v1), k0(load('S', 0, 0, (v0, v1)), k1(load('S', 1, 1, (v0, v2)), …)))

where ``k0`` and ``k1`` are operators. An arm of a condition that is not chosen is not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.python_text import python_text
from polygym.errors import InputError
from polygym.gpu.emulator.arithmetic import binary, called, converted, numpy_type, wrapped
from polygym.ir import expressions
from polygym.ir.expressions import Expression, loaded_accesses
from polygym.ir.scop import Scop, Statement

_COMPARISONS = {
    expressions.ComparisonOperator.LESS: "<",
    expressions.ComparisonOperator.LESS_EQUAL: "<=",
    expressions.ComparisonOperator.GREATER: ">",
    expressions.ComparisonOperator.GREATER_EQUAL: ">=",
    expressions.ComparisonOperator.EQUAL: "==",
    expressions.ComparisonOperator.NOT_EQUAL: "!=",
}


class ThreadText:
    """The text of a function that one thread runs; constants and operators have names in it."""

    def __init__(self, scop: Scop, variables: Sequence[str]) -> None:
        """Begin a function of some variables."""
        self._statements = {statement.name: statement for statement in scop.statements}
        self._arrays = {array.name: number for number, array in enumerate(scop.arrays)}
        self._names = {name: f"v{number}" for number, name in enumerate(variables)}
        self._arguments = ", ".join(self._names.values())
        self._lines: list[str] = []
        self._constants: dict[str, Any] = {}

    def function(
        self, node: ir.Node, load: Callable[..., Any], store: Callable[..., None]
    ) -> Callable[..., None]:
        """Return the function, which calls ``load`` and ``store``."""
        self._lines = [f"def run({self._arguments}):"]
        self._node(node, 1)
        space = {**self._constants, "load": load, "store": store}
        exec("\n".join(self._lines), space)
        run: Callable[..., None] = space["run"]
        return run

    def _name(self, variable: str) -> str:
        return self._names.setdefault(variable, f"v{len(self._names)}")

    def _index(self, index: ir.Index) -> str:
        return python_text(index, self._name)

    def _indices(self, indices: Sequence[ir.Index]) -> str:
        return f"({''.join(f'{self._index(index)}, ' for index in indices)})"

    def _constant(self, value: Any) -> str:
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name

    def _node(self, node: ir.Node, depth: int) -> None:
        lead = "  " * depth
        match node:
            case ir.Block(()):
                self._lines.append(f"{lead}pass")
            case ir.Block(children):
                for child in children:
                    self._node(child, depth)
            case ir.Loop(variable, lower, upper, step, body):
                bounds = f"{self._index(lower)}, {self._index(upper)} + 1, {step}"
                self._lines.append(f"{lead}for {self._name(variable)} in range({bounds}):")
                self._node(body, depth + 1)
            case ir.Guard(condition, then, otherwise):
                self._lines.append(f"{lead}if {self._index(condition)}:")
                self._node(then, depth + 1)
                if otherwise is not None:
                    self._lines.append(f"{lead}else:")
                    self._node(otherwise, depth + 1)
            case ir.Instance():
                if node.lanes is not None:
                    raise InputError("emulator: expected instances of a thread, found lanes")
                self._instance(node, depth)
            case _:
                assert_never(node)

    def _instance(self, instance: ir.Instance, depth: int) -> None:
        statement, lead = self._statements[instance.statement], "  " * depth
        body = statement.body
        text = _BodyText(self, statement, instance)
        array = self._arrays[statement.write.array]
        if not isinstance(body, expressions.Update):
            place, value = self._indices(instance.write), text.value(body, 0)
            self._lines.append(f"{lead}store({statement.name!r}, {array}, {place}, {value})")
            return
        start = 1
        if body.condition is not None:
            self._lines.append(f"{lead}if {text.value(body.condition, start)} != 0:")
            start += len(loaded_accesses(body.condition))
            lead += "  "
        place, start = text.computed_place(instance.write, body, start)
        value = text.value(body.value, start)
        self._lines.append(f"{lead}store({statement.name!r}, {array}, {place}, {value})")


class _BodyText:
    """The body of one instance; ``start`` is the number of an expression's first read."""

    def __init__(self, thread: ThreadText, statement: Statement, instance: ir.Instance) -> None:
        self._thread = thread
        self._statement = statement
        self._instance = instance

    def value(self, expression: Expression, start: int) -> str:
        """Return the text of an expression."""
        constant = self._thread._constant
        match expression:
            case expressions.IntegerLiteral(value, scalar):
                return constant(wrapped(scalar, value))
            case expressions.FloatLiteral(value, scalar):
                kind: Any = numpy_type(scalar)
                return constant(kind(value))
            case expressions.IteratorValue(name, scalar):
                place = self._statement.iterators.index(name)
                index = self._thread._index(self._instance.iterators[place])
                return f"{constant(lambda value: wrapped(scalar, value))}({index})"
            case expressions.ParameterValue(name, scalar):
                return f"{constant(lambda v: wrapped(scalar, v))}({self._thread._name(name)})"
            case expressions.Load():
                return self._load(start, self._thread._indices(self._instance.reads[start]))
            case expressions.Gather():
                subscripts = self._instance.reads[start]
                element, _ = self.computed_place(subscripts, expression, start + 1)
                return self._load(start, element)
            case expressions.Conditional(condition, then, otherwise):
                parts = self._each((condition, then, otherwise), start)
                return f"({parts[1]} if {parts[0]} != 0 else {parts[2]})"
            case expressions.Comparison(operator, left, right):
                first, second = self._each((left, right), start)
                return f"{constant(np.int32)}({first} {_COMPARISONS[operator]} {second})"
            case expressions.Update():
                raise AssertionError("an update is no part of an expression")
            case _:
                return self._operation(expression, start)

    def _operation(self, expression: Any, start: int) -> str:
        """Return the text of an operator or a function applied to operands."""
        parts = ", ".join(self._each(expressions.children(expression), start))
        return f"{self._thread._constant(_operator(expression))}({parts})"

    def _each(self, parts: Sequence[Expression], start: int) -> list[str]:
        result = []
        for part in parts:
            result.append(self.value(part, start))
            start += len(loaded_accesses(part))
        return result

    def _load(self, number: int, place: str) -> str:
        array = self._thread._arrays[self._statement.reads[number].array]
        is_own = number in self._statement.accumulator_reads
        return f"load({self._statement.name!r}, {array}, {place}, {is_own})"

    def computed_place(
        self,
        subscripts: Sequence[ir.Index],
        gather: expressions.Gather | expressions.Update,
        start: int,
    ) -> tuple[str, int]:
        """Return an element with its computed subscripts, and the number of the next read."""
        texts = [self._thread._index(index) for index in subscripts]
        for place, part in zip(gather.access.gathered, gather.subscripts, strict=True):
            texts[place] = f"int({self.value(part, start)})"
            start += len(loaded_accesses(part))
        return f"({''.join(f'{text}, ' for text in texts)})", start


def _operator(expression: Any) -> Callable[..., Any]:
    match expression:
        case expressions.Unary(expressions.UnaryOperator.NEGATE, _, scalar):
            if scalar.is_floating:
                return lambda value: -value
            return lambda value: wrapped(scalar, -int(value))
        case expressions.Unary(expressions.UnaryOperator.BIT_NOT, _, scalar):
            return lambda value: wrapped(scalar, ~int(value))
        case expressions.Binary(operator, _, _, scalar):
            return binary(operator, scalar)
        case expressions.Cast(_, scalar):
            return lambda value: converted(scalar, value)
        case expressions.Call(function, _, scalar):
            return called(function, scalar)
        case _:
            raise AssertionError(f"no operator: {expression}")
