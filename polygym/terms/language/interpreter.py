"""Interpreter of terms: the reference for rules, passes and machine code.

Evaluation is strict, with two exceptions. Of an ``if`` only one arm is evaluated, and what ``let``
or ``apply`` binds is evaluated when it is needed first, and once (call by need). So a rule may
inline a binding, lift one out of an arm or a loop, or drop one that nobody needs, and no value
changes. Integers have 64 bits and go round, so that the rules of sums and products hold of them
exactly. Sums are added from the left. A term of any depth is evaluated: nothing here is limited by
Python's stack.

    >>> from polygym.terms.language.parser import parse_program
    >>> evaluate(parse_program("(let (y (/ x 0.0)) (if (> x 1) x y))"), {"x": 2.0})
    2.0
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from polygym.errors import InputError, LimitError
from polygym.rewrite.term import Term
from polygym.terms.language.nodes import FALSE, TRUE, index_of, is_lam, name_of, term_facts
from polygym.terms.language.program import TermProgram
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import FLOAT, FunctionType, TupleType, Type, VectorType
from polygym.terms.language.values import (
    Closure,
    EvaluationFailure,
    Value,
    ValueScope,
    convert_value,
    look_up,
    wrap_integer,
    zero_like,
)

MOST_STEPS = 20_000_000
"""How many nodes, and elements of constant vectors, are evaluated before :class:`LimitError`."""


class _EvaluationError(Exception):
    """A term has no value."""


class _LazyValue:
    """What is evaluated when it is needed, once."""

    __slots__ = ("scope", "term", "value")

    def __init__(self, node: Term, scope: ValueScope) -> None:
        self.term: Term | None = node
        self.scope: ValueScope = scope
        self.value: Value = None


def evaluate(program: TermProgram, values: Mapping[str, Any], steps: int = MOST_STEPS) -> Value:
    """Return what a program computes, a :class:`EvaluationFailure` where it has no value.

    ``values`` are by name; arrays and nested lists are vectors. Sizes may be left out, since the
    vectors have them.

    Raises:
        InputError: a value is missing, or does not fit its type or the other sizes.
        LimitError: it takes more steps than it may.
    """
    known: dict[str, Value] = {}
    sizes: dict[str, int] = {}
    for name, kind in program.parameters:
        if name not in values:
            raise InputError(f"{program.name}: expected a value of {name}, found none")
        known[name] = convert_value(name, values[name], kind)
        _measure(name, known[name], kind, sizes)
    for name, size in sizes.items():
        given = known.setdefault(name, values.get(name, size))
        if given != size:
            raise InputError(f"{program.name}: expected {name} = {size}, found {given}")
    unknown = sorted(set(values) - {name for name, _ in program.inputs})
    if unknown:
        raise InputError(f"{program.name}: expected no value of {', '.join(unknown)}, found one")
    for name in program.sizes:
        if name not in known:
            if not isinstance(values.get(name), int):
                raise InputError(f"{program.name}: expected a value of the size {name}, found none")
            known[name] = values[name]
    return evaluate_term(program.body, known, steps)


def evaluate_term(root: Term, values: Mapping[str, Value], steps: int = MOST_STEPS) -> Value:
    """Return what a term computes from the values of its free names."""
    try:
        result = run_trampoline(_Evaluator(values, steps).value(root, None))
    except _EvaluationError as failed:
        return EvaluationFailure(str(failed))
    if isinstance(result, Closure):
        raise InputError(f"a term: expected data, found a function of type {term_facts(root).type}")
    return result


def _measure(name: str, value: Value, kind: Type, sizes: dict[str, int]) -> None:
    """Note what the sizes of a type are in a value, and check that they agree."""
    match kind:
        case VectorType(element, size):
            if isinstance(size, str) and sizes.setdefault(size, len(value)) != len(value):
                raise InputError(
                    f"{name}: expected the size {size} = {sizes[size]}, found {len(value)}"
                )
            if isinstance(size, int) and len(value) != size:
                raise InputError(f"{name}: expected {size} elements, found {len(value)}")
            for item in value:
                _measure(name, item, element, sizes)
        case TupleType(parts):
            for item, part in zip(value, parts, strict=True):
                _measure(name, item, part, sizes)


class _Evaluator:
    def __init__(self, values: Mapping[str, Value], steps: int) -> None:
        self._values, self._left, self._most = values, steps, steps

    def value(self, node: Term, scope: ValueScope) -> Trampolined[Value]:
        """Evaluate a term; a generator for ``trampoline.run_trampoline``."""
        self._use(1)
        head, children = node.head, node.children
        if not children:
            return (yield self._leaf(node, scope))
        if head == "let":
            return (yield self.value(children[1], (_LazyValue(children[0], scope), scope)))
        if is_lam(node):
            return Closure(children[0], scope)
        if head == "if":
            chosen = yield self.value(children[0], scope)
            return (yield self.value(children[1 if chosen else 2], scope))
        if head == "apply":
            function = yield self.value(children[0], scope)
            argument = _LazyValue(children[1], scope)
            return (yield self.value(function.body, (argument, function.scope)))
        if head in ("build", "sumbuild"):
            return (yield self._repeated(node, scope))
        if head == "select":
            return (yield self.value(children[1], scope))[children[0].head]
        result = []
        for child in children:
            result.append((yield self.value(child, scope)))
        if head == "tuple":
            return tuple(result)
        if head in ("constVec", "deltaVec"):
            self._use(result[0])
        return PRIMITIVES[str(head)](*result)

    def _use(self, steps: int) -> None:
        """Count steps; of a vector that is written at once as many as it has elements."""
        self._left -= max(0, steps)
        if self._left < 0:
            raise LimitError(f"evaluating a term: expected at most {self._most} steps, took more")

    def _leaf(self, node: Term, scope: ValueScope) -> Trampolined[Value]:
        index = index_of(node)
        if index < 0:
            return self._constant(node)
        lazy_value = look_up(scope, index)
        if isinstance(lazy_value, _LazyValue):
            if lazy_value.term is not None:
                lazy_value.value = yield self.value(lazy_value.term, lazy_value.scope)
                lazy_value.term = lazy_value.scope = None
            return lazy_value.value
        return lazy_value

    def _constant(self, node: Term) -> Value:
        if node is TRUE or node is FALSE:
            return node is TRUE
        if not isinstance(node.head, str):
            return node.head
        name = name_of(node)
        if name not in self._values:
            raise InputError(f"a term: expected a value of {name or node.head}, found none")
        return self._values[name]

    def _repeated(self, node: Term, scope: ValueScope) -> Trampolined[Value]:
        count = _count((yield self.value(node.children[0], scope)))
        function = yield self.value(node.children[1], scope)
        is_sum = node.head == "sumbuild"
        if is_sum and count == 0:
            return _nothing(term_facts(node).type)
        result: list[Value] = []
        total: Value = None
        for place in range(count):
            element = yield self.value(function.body, (place, function.scope))
            if is_sum:
                total = element if place == 0 else _add(total, element)
            else:
                result.append(element)
        return total if is_sum else result


def _count(number: int) -> int:
    if number < 0:
        raise _EvaluationError(f"expected a size of 0 or more, found {number}")
    return number


def _nothing(kind: Type) -> Value:
    """Return the sum of no values of a type."""
    match kind:
        case TupleType(parts):
            return tuple(map(_nothing, parts))
        case VectorType():
            raise _EvaluationError("expected vectors to add, found none, whose sum has no size")
        case FunctionType():
            raise AssertionError("functions are not added")
        case _:
            return 0.0 if kind == FLOAT else 0


def _by_parts(name: str, work: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    def combine(one: Value, other: Value) -> Value:
        if isinstance(one, list | tuple):
            if len(one) != len(other):
                raise _EvaluationError(
                    f"{name}: expected vectors of one size, found {len(one)} and {len(other)}"
                )
            return type(one)(combine(left, right) for left, right in zip(one, other, strict=True))
        result = work(one, other)
        return result if isinstance(result, float) else wrap_integer(result)

    return combine


_add = _by_parts("add", operator.add)


def _multiply(one: Value, other: Value) -> Value:
    if isinstance(other, list | tuple):
        return type(other)(_multiply(one, part) for part in other)
    if isinstance(one, list | tuple):
        return type(one)(_multiply(part, other) for part in one)
    result = one * other
    return result if isinstance(result, float) else wrap_integer(result)


def _divide(one: Any, other: Any) -> Any:
    if isinstance(one, float):
        if other != 0:
            return one / other
        if one == 0 or math.isnan(one):
            return math.nan
        return math.copysign(math.inf, one) * math.copysign(1.0, other)
    if other == 0:
        raise _EvaluationError(f"div: expected an Integer other than 0, found {one} / 0")
    result = abs(one) // abs(other)
    return wrap_integer(result if (one < 0) == (other < 0) else -result)


def _negate(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(map(_negate, value))
    return -value if isinstance(value, float) else wrap_integer(-value)


def _real(work: Callable[..., float], at_zero: float = math.nan) -> Callable[..., float]:
    """Return a function with IEEE's answers where Python's raises."""

    def compute(*arguments: float) -> float:
        try:
            return float(work(*arguments))
        except OverflowError:
            return math.inf
        except ValueError:
            return at_zero if arguments[0] == 0 else math.nan

    return compute


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        is_odd = exponent.is_integer() and int(exponent) % 2 == 1
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _element(place: int, vector: Value) -> Value:
    if not 0 <= place < len(vector):
        raise _EvaluationError(
            f"index: expected a number from 0 to {len(vector) - 1}, found {place}"
        )
    return vector[place]


def _total(vector: Value) -> Value:
    if not vector:
        raise _EvaluationError("sum: expected elements to add, found none")
    total = vector[0]
    for element in vector[1:]:
        total = _add(total, element)
    return total


def _delta(count: int, place: int, value: Value) -> Value:
    if not 0 <= place < _count(count):
        raise _EvaluationError(f"deltaVec: expected a number from 0 to {count - 1}, found {place}")
    return [value if at == place else zero_like(value) for at in range(count)]


PRIMITIVES: Mapping[str, Callable[..., Value]] = {
    "add": _add,
    "sub": _by_parts("sub", operator.sub),
    "mul": _multiply,
    "div": _divide,
    "neg": _negate,
    "exp": _real(math.exp),
    "log": _real(math.log, -math.inf),
    "sqrt": _real(math.sqrt),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tanh": _real(math.tanh),
    "abs": abs,
    "pow": _power,
    "max": lambda one, other: other if math.isnan(other) else max(one, other),
    "min": lambda one, other: other if math.isnan(other) else min(one, other),
    "to_float": float,
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.not_,
    "index": _element,
    "size": len,
    "sum": _total,
    "deltaVec": _delta,
    "constVec": lambda count, value: [value] * _count(count),
}
"""Operators that take values, with what they do."""
