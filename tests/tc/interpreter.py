"""What a comprehension means, point by point in Python: an oracle without isl and without a Scop.

Sizes are numbers here. Ranges are found as the language's definition says, by trying values: in
rounds, an index that is the only unresolved one of a subscript may have the values for which, with
all values of the resolved ones, no access leaves its tensor. A statement computes all values of its
right side before it assigns. Integers wrap in the types that C gives to what is computed with
them; floating numbers are all double here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from polygym.compiler.frontend.tc.syntax import (
    Assign,
    Choice,
    Convert,
    Definition,
    Element,
    Exists,
    Expression,
    In,
    Infix,
    Let,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
    Scalar,
    Statement,
)

# No size in a test is larger, nor is any sum of two.
LARGEST = 60

DTYPES = {
    Scalar.BOOL: np.bool_,
    Scalar.INT8: np.int8,
    Scalar.INT16: np.int16,
    Scalar.INT32: np.int32,
    Scalar.INT64: np.int64,
    Scalar.UINT8: np.uint8,
    Scalar.UINT16: np.uint16,
    Scalar.UINT32: np.uint32,
    Scalar.UINT64: np.uint64,
    Scalar.FLOAT: np.float32,
    Scalar.DOUBLE: np.float64,
}


class NoRange(Exception):
    """A range is ambiguous, empty or has no end."""


class OutOfRange(Exception):
    """A subscript that is computed is none of the tensor's."""


@dataclass
class State:
    """Tensors by name, and the values of sizes and of known scalars.

    ``literal`` are the tensors that have been assigned nothing with a type of its own yet.
    """

    tensors: dict[str, np.ndarray]
    values: dict[str, int]
    literal: set[str] = field(default_factory=set)


def interpret(
    definition: Definition, arrays: Mapping[str, np.ndarray], constants: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Return the outputs of a definition."""
    state = State({}, dict(constants))
    for parameter in definition.parameters:
        if parameter.name in constants:
            continue
        given = np.asarray(arrays[parameter.name], DTYPES[parameter.type])
        assert given.ndim == len(parameter.sizes)
        for size, length in zip(parameter.sizes, given.shape, strict=True):
            if isinstance(size, Name):
                assert state.values.setdefault(size.name, length) == length
        state.tensors[parameter.name] = given.astype(
            np.float64 if given.dtype.kind == "f" else given.dtype
        )
    for statement in definition.statements:
        run(statement, definition, state)
    return {one.name: state.tensors[one.name] for one in definition.outputs}


def run(statement: Statement, definition: Definition, state: State) -> None:
    lets = {w.name: w.value for w in statement.where if isinstance(w, Let)}
    value = replaced(statement.value, lets)
    witnesses = [replaced(w.expression, lets) for w in statement.where if isinstance(w, Exists)]
    left = [index.name for index in statement.indices]
    loops = list(dict.fromkeys([*left, *free_names(value, state)]))
    helpers = [n for w in witnesses for n in free_names(w, state) if n not in loops]
    names = list(dict.fromkeys([*loops, *helpers]))
    try:
        ranges = infer(statement, [value, *witnesses], names, state, definition, {})
    except NoRange:
        borrowed = from_the_next(statement, definition, state)
        ranges = infer(statement, [value, *witnesses], names, state, definition, borrowed)
    boxes = [range(*ranges[name]) for name in loops]
    found: dict[tuple[int, ...], list[Any]] = {}
    for point in itertools.product(*boxes):
        names = dict(zip(loops, point, strict=True))
        place = tuple(names[name] for name in left)
        found.setdefault(place, []).append(evaluate(value, names, state))
    name = statement.tensor
    if name not in state.tensors:
        shape = declared_shape(definition, name, state) or tuple(ranges[n][1] for n in left)
        state.tensors[name] = np.zeros(shape, np.int32)
        state.literal.add(name)
    if name in state.literal:
        dtype = declared_type(definition, name) or kind(value, state)
        if dtype not in (WHOLE, TRUTH):
            state.literal.remove(name)
            state.tensors[name] = state.tensors[name].astype(np.float64 if dtype == REAL else dtype)
    target = state.tensors[name]
    if statement.initialises:
        for place in itertools.product(*(range(*ranges[n]) for n in left)):
            target[place] = neutral(statement.assign, target.dtype)
    for place, values in found.items():
        for one in values:
            before = target[place].item()
            target[place] = converted(combined(statement.assign, before, one), target.dtype)


def from_the_next(
    statement: Statement, definition: Definition, state: State
) -> dict[str, tuple[int, int]]:
    """Return the ranges of a tensor's indices from the next statement that assigns it."""
    place = definition.statements.index(statement)
    if statement.tensor in state.tensors:
        raise NoRange("it exists")
    for later in definition.statements[place + 1 :]:
        if later.tensor == statement.tensor:
            left = [index.name for index in later.indices]
            names = list(dict.fromkeys([*left, *free_names(later.value, state)]))
            found = infer(later, [later.value], names, state, definition, {})
            mine = [index.name for index in statement.indices]
            return dict(zip(mine, [found[name] for name in left], strict=True))
    raise NoRange("nothing follows")


# The types of what has none of its own: literals and truth values.
WHOLE, REAL, TRUTH = "whole", "real", "truth"
Kind = np.dtype | str
_INT = np.dtype(np.int32)


def declared_type(definition: Definition, name: str) -> np.dtype | None:
    """Return the type of an output that declares one; all floating ones are double here."""
    for one in definition.outputs:
        if one.name == name and one.type is not None:
            return widened(np.dtype(DTYPES[one.type]))
    return None


def widened(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def promoted(one: Kind) -> Kind:
    """Return the type in which C computes with a type."""
    if one == TRUTH:
        return _INT
    return _INT if isinstance(one, np.dtype) and one.kind in "biu" and one.itemsize < 4 else one


def unified(one: Kind, other: Kind) -> Kind:
    """Return C's type of two operands."""
    if one == other:
        return one
    one, other = (_INT if k == TRUTH else k for k in (one, other))
    if isinstance(one, str) or isinstance(other, str):
        strong, weak = (other, one) if isinstance(one, str) else (one, other)
        if isinstance(strong, str):
            return REAL if REAL in (one, other) else WHOLE
        return np.dtype(np.float64) if weak == REAL and strong.kind != "f" else strong
    first, second = promoted(one), promoted(other)
    assert isinstance(first, np.dtype)
    assert isinstance(second, np.dtype)
    order = ("int32", "uint32", "int64", "uint64", "float64")
    return max(first, second, key=lambda dtype: order.index(dtype.name))


def kind(part: Expression, state: State) -> Kind:
    """Return the type of an expression."""
    match part:
        case Number(value):
            return WHOLE if isinstance(value, int) else REAL
        case Name(name):
            return state.tensors[name].dtype if name in state.tensors else _INT
        case Element(name, arguments):
            if name in state.tensors:
                return state.tensors[name].dtype
            found = kind(arguments[0], state)
            for argument in arguments[1:]:
                found = unified(found, kind(argument, state))
            if name == "abs":
                return promoted(found)
            whole = found in (WHOLE, TRUTH) or (isinstance(found, np.dtype) and found.kind != "f")
            return np.dtype(np.float64) if whole and name not in ("min", "max") else found
        case Convert(scalar):
            return widened(np.dtype(DTYPES[scalar]))
        case Prefixed(prefix, operand):
            return promoted(kind(operand, state)) if prefix is Prefix.NEGATE else TRUTH
        case Infix(operator, first, second):
            if operator not in ARITHMETIC:
                return TRUTH
            return promoted(unified(kind(first, state), kind(second, state)))
        case Choice(_, then, otherwise):
            return unified(kind(then, state), kind(otherwise, state))
        case _:
            assert_never(part)


ARITHMETIC = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.REMAINDER,
)


def converted(value: Any, to: Kind) -> Any:
    """Return a value in a type: integers wrap, floating numbers that do not fit saturate."""
    if isinstance(to, str):
        return value
    if to.kind == "f":
        return float(value)
    if to.kind == "b":
        return bool(value)
    info = np.iinfo(to)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        return (
            int(max(info.min, min(info.max, value)))
            if math.isinf(value)
            else max(info.min, min(info.max, math.trunc(value)))
        )
    return (int(value) - info.min) % (info.max - info.min + 1) + info.min


def neutral(assign: Assign, dtype: np.dtype) -> Any:
    match assign:
        case Assign.ADD:
            return 0
        case Assign.MULTIPLY:
            return 1
        case Assign.MINIMUM:
            return math.inf if dtype.kind == "f" else largest(dtype)
        case Assign.MAXIMUM:
            return (
                -math.inf if dtype.kind == "f" else -largest(dtype) - 1 if dtype.kind == "i" else 0
            )
        case Assign.SET:
            raise AssertionError


def largest(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def combined(assign: Assign, before: Any, value: Any) -> Any:
    match assign:
        case Assign.SET:
            return value
        case Assign.ADD:
            return before + value
        case Assign.MULTIPLY:
            return before * value
        case Assign.MINIMUM:
            return min(before, value)
        case Assign.MAXIMUM:
            return max(before, value)
        case _:
            assert_never(assign)


def declared_shape(definition: Definition, name: str, state: State) -> tuple[int, ...] | None:
    for one in definition.outputs:
        if one.name == name and one.sizes is not None:
            return tuple(
                state.values[s.name] if isinstance(s, Name) else int(s.value) for s in one.sizes
            )
    return None


def infer(
    statement: Statement,
    parts: list[Expression],
    names: list[str],
    state: State,
    definition: Definition,
    borrowed: dict[str, tuple[int, int]],
) -> dict[str, tuple[int, int]]:
    ranges = dict(borrowed)
    for one in statement.where:
        if isinstance(one, In):
            ranges[one.name] = (evaluate(one.lower, {}, state), evaluate(one.upper, {}, state))
    subscripts = [entry for part in parts for entry in accesses(part, [], state)]
    shape = (
        state.tensors[statement.tensor].shape
        if statement.tensor in state.tensors
        else declared_shape(definition, statement.tensor, state)
    )
    if shape is not None:
        for index, length in zip(statement.indices, shape, strict=True):
            subscripts.append((index, length, []))
    while missing := [name for name in names if name not in ranges]:
        good: dict[str, set[int]] = {}
        ends: dict[str, int] = {}
        for subscript, length, guards in subscripts:
            used = [n for n in free_names(subscript, state) if n in missing]
            if len(set(used)) == 1:
                values = allowed(used[0], subscript, length, guards, ranges, state)
                good[used[0]] = good.get(used[0], values) & values
                end = max(allowed(used[0], subscript, length, [], ranges, state), default=-1)
                read = allowed(used[0], subscript, length, guards, ranges, state, reading=True)
                if 0 <= end and not any(one > end for one in read):
                    ends[used[0]] = min(end, ends.get(used[0], end))
        for name, values in good.items():
            if LARGEST - 1 in first_values(values):
                good[name] = {one for one in values if one <= ends.get(name, LARGEST)}
        if not good:
            raise NoRange(f"{missing} ambiguous")
        for name, values in good.items():
            if not values:
                raise NoRange(f"{name} empty")
            end = max(first_values(values)) + 1
            if end == LARGEST:
                raise NoRange(f"{name} without end")
            ranges[name] = (min(values), end)
    return ranges


def first_values(values: set[int]) -> set[int]:
    """Return the values from the lowest one on, up to the first that is missing."""
    found = set()
    while values and (one := min(values) + len(found)) in values:
        found.add(one)
    return found


def allowed(
    name: str,
    subscript: Expression,
    length: int,
    guards: list[tuple[Expression, bool]],
    ranges: Mapping[str, tuple[int, int]],
    state: State,
    *,
    reading: bool = False,
) -> set[int]:
    """Return the values with which nothing is read outside, or those with which something is read.

    Guards that mention indices which are not resolved may hold.
    """
    mentioned = set(free_names(subscript, state))
    usable = []
    for guard, holds in guards:
        others = set(free_names(guard, state)) - {name}
        if others <= ranges.keys():
            usable.append((guard, holds))
            mentioned |= others
    others = [n for n in ranges if n in mentioned and n != name]
    found = set()
    for value in range(LARGEST):
        fine = not reading
        for point in itertools.product(*(range(*ranges[n]) for n in others)):
            at = {name: value, **dict(zip(others, point, strict=True))}
            if all(bool(evaluate(guard, at, state)) is holds for guard, holds in usable):
                fine = reading or (fine and 0 <= evaluate(subscript, at, state) < length)
        if fine:
            found.add(value)
    return found


def accesses(
    part: Expression, guards: list[tuple[Expression, bool]], state: State
) -> Iterator[tuple[Expression, int, list[tuple[Expression, bool]]]]:
    """Yield every subscript with the length that it must stay below, and what holds there."""
    match part:
        case Number() | Name():
            return
        case Element(name, arguments):
            if name in state.tensors:
                for argument, length in zip(arguments, state.tensors[name].shape, strict=True):
                    if is_affine(argument, state):
                        yield argument, length, guards
            for argument in arguments:
                yield from accesses(argument, guards, state)
        case Convert(operand=operand) | Prefixed(operand=operand):
            yield from accesses(operand, guards, state)
        case Infix(operator, first, second):
            yield from accesses(first, guards, state)
            more = []
            if operator in (Operator.AND, Operator.OR) and is_affine(first, state):
                more = conjuncts(first, operator is Operator.AND)
            yield from accesses(second, guards + more, state)
        case Choice(condition, then, otherwise):
            yield from accesses(condition, guards, state)
            known = is_affine(condition, state)
            yield from accesses(then, guards + conjuncts(condition, True) * known, state)
            yield from accesses(otherwise, guards + [(condition, False)] * known, state)
        case _:
            assert_never(part)


def conjuncts(condition: Expression, holds: bool) -> list[tuple[Expression, bool]]:
    """Return the parts of a condition each of which must hold."""
    match condition:
        case Infix(Operator.AND, first, second) if holds:
            return conjuncts(first, holds) + conjuncts(second, holds)
        case _:
            return [(condition, holds)]


def is_affine(part: Expression, state: State) -> bool:
    """Whether a condition reads no tensor (in tests those are affine)."""
    match part:
        case Number():
            return True
        case Name(name):
            return name not in state.tensors
        case Element() | Convert():
            return False
        case Prefixed(operand=operand):
            return is_affine(operand, state)
        case Infix(_, first, second):
            return is_affine(first, state) and is_affine(second, state)
        case Choice():
            return False
        case _:
            assert_never(part)


def free_names(part: Expression, state: State) -> list[str]:
    """Return the indices in an expression, in order, repeats kept."""
    match part:
        case Number():
            return []
        case Name(name):
            return [] if name in state.tensors or name in state.values else [name]
        case Element(arguments=arguments):
            return [n for argument in arguments for n in free_names(argument, state)]
        case Convert(operand=operand) | Prefixed(operand=operand):
            return free_names(operand, state)
        case Infix(_, first, second):
            return free_names(first, state) + free_names(second, state)
        case Choice(condition, then, otherwise):
            return [n for one in (condition, then, otherwise) for n in free_names(one, state)]
        case _:
            assert_never(part)


def replaced(part: Expression, lets: Mapping[str, Expression]) -> Expression:
    from polygym.compiler.frontend.tc.values import substituted

    for name, value in reversed(list(lets.items())):
        part = substituted(part, {name: value})
    return part


def evaluate(part: Expression, at: Mapping[str, int], state: State) -> Any:
    match part:
        case Number(value):
            return value
        case Name(name):
            if name in at:
                return at[name]
            return state.values[name] if name in state.values else state.tensors[name].item()
        case Element(name, arguments):
            values = [evaluate(argument, at, state) for argument in arguments]
            if name in state.tensors:
                tensor = state.tensors[name]
                if not all(0 <= v < n for v, n in zip(values, tensor.shape, strict=True)):
                    raise OutOfRange(f"{name}{values}")
                return state.tensors[name][tuple(values)].item()
            return called(name, values)
        case Convert(scalar, operand):
            value = evaluate(operand, at, state)
            if scalar in (Scalar.FLOAT, Scalar.DOUBLE):
                return float(DTYPES[scalar](value))
            return converted(value, np.dtype(DTYPES[scalar]))
        case Prefixed(Prefix.NEGATE, operand):
            return converted(-evaluate(operand, at, state), kind(part, state))
        case Prefixed(Prefix.NOT, operand):
            return int(not evaluate(operand, at, state))
        case Infix(Operator.AND, first, second):
            return int(bool(evaluate(first, at, state)) and bool(evaluate(second, at, state)))
        case Infix(Operator.OR, first, second):
            return int(bool(evaluate(first, at, state)) or bool(evaluate(second, at, state)))
        case Infix(operator, first, second):
            within = promoted(unified(kind(first, state), kind(second, state)))
            left = converted(evaluate(first, at, state), within)
            right = converted(evaluate(second, at, state), within)
            found = computed(operator, left, right)
            return converted(found, within) if operator in ARITHMETIC else found
        case Choice(condition, then, otherwise):
            chosen = then if evaluate(condition, at, state) else otherwise
            return converted(evaluate(chosen, at, state), kind(part, state))
        case _:
            assert_never(part)


def computed(operator: Operator, first: Any, second: Any) -> Any:
    match operator:
        case Operator.ADD:
            return first + second
        case Operator.SUBTRACT:
            return first - second
        case Operator.MULTIPLY:
            return first * second
        case Operator.DIVIDE:
            if isinstance(first, int) and isinstance(second, int):
                if not second:
                    return 0
                quotient = abs(first) // abs(second)
                return quotient if (first < 0) == (second < 0) else -quotient
            return first / second
        case Operator.REMAINDER:
            return int(math.fmod(first, second)) if second else 0
        case Operator.LESS:
            return int(first < second)
        case Operator.LESS_EQUAL:
            return int(first <= second)
        case Operator.GREATER:
            return int(first > second)
        case Operator.GREATER_EQUAL:
            return int(first >= second)
        case Operator.EQUAL:
            return int(first == second)
        case Operator.NOT_EQUAL:
            return int(first != second)
        case _:
            raise AssertionError(operator)


def called(name: str, values: list[Any]) -> Any:
    if name in ("max", "fmax", "fmaxf"):
        return max(values)
    if name in ("min", "fmin", "fminf"):
        return min(values)
    if name in ("abs", "fabs", "fabsf"):
        return abs(values[0])
    return getattr(math, name.removesuffix("f") if not hasattr(math, name) else name)(*values)
