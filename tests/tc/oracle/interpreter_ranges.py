"""Ranges of indices as the definition of the language finds them: by trying values.

In rounds, an index that is the only unresolved one of a subscript may have the values for which,
with all values of the resolved ones, no access leaves its tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import assert_never

from polygym.frontend.tc.syntax.tree import (
    ConditionalExpression,
    ConvertExpression,
    ElementOrCall,
    Expression,
    InfixExpression,
    InfixOperator,
    NameUse,
    NumberLiteral,
    PrefixExpression,
    TcDefinition,
    TcStatement,
    WhereRange,
)
from tests.tc.oracle.interpreter_state import LARGEST, NoRange, State, declared_shape
from tests.tc.oracle.interpreter_values import evaluate, free_names


def infer(
    statement: TcStatement,
    parts: list[Expression],
    names: list[str],
    state: State,
    definition: TcDefinition,
    borrowed: dict[str, tuple[int, int]],
) -> dict[str, tuple[int, int]]:
    ranges = dict(borrowed)
    for where in statement.where:
        if isinstance(where, WhereRange):
            ranges[where.name] = (
                evaluate(where.lower, {}, state),
                evaluate(where.upper, {}, state),
            )
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
                if 0 <= end and not any(place > end for place in read):
                    ends[used[0]] = min(end, ends.get(used[0], end))
        for name, values in good.items():
            if LARGEST - 1 in first_values(values):
                good[name] = {value for value in values if value <= ends.get(name, LARGEST)}
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
    result = set()
    while values and (number := min(values) + len(result)) in values:
        result.add(number)
    return result


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
    result = set()
    for value in range(LARGEST):
        fine = not reading
        for point in itertools.product(*(range(*ranges[n]) for n in others)):
            at = {name: value, **dict(zip(others, point, strict=True))}
            if all(bool(evaluate(guard, at, state)) is holds for guard, holds in usable):
                fine = reading or (fine and 0 <= evaluate(subscript, at, state) < length)
        if fine:
            result.add(value)
    return result


def accesses(
    part: Expression, guards: list[tuple[Expression, bool]], state: State
) -> Iterator[tuple[Expression, int, list[tuple[Expression, bool]]]]:
    """Yield every subscript with the length that it must stay below, and what holds there."""
    match part:
        case NumberLiteral() | NameUse():
            return
        case ElementOrCall(name, arguments):
            if name in state.tensors:
                for argument, length in zip(arguments, state.tensors[name].shape, strict=True):
                    if is_affine(argument, state):
                        yield argument, length, guards
            for argument in arguments:
                yield from accesses(argument, guards, state)
        case ConvertExpression(operand=operand) | PrefixExpression(operand=operand):
            yield from accesses(operand, guards, state)
        case InfixExpression(operator, first, second):
            yield from accesses(first, guards, state)
            more = []
            if operator in (InfixOperator.AND, InfixOperator.OR) and is_affine(first, state):
                more = conjuncts(first, operator is InfixOperator.AND)
            yield from accesses(second, guards + more, state)
        case ConditionalExpression(condition, then, otherwise):
            yield from accesses(condition, guards, state)
            known = is_affine(condition, state)
            yield from accesses(then, guards + conjuncts(condition, True) * known, state)
            yield from accesses(otherwise, guards + [(condition, False)] * known, state)
        case _:
            assert_never(part)


def conjuncts(condition: Expression, holds: bool) -> list[tuple[Expression, bool]]:
    """Return the parts of a condition each of which must hold."""
    match condition:
        case InfixExpression(InfixOperator.AND, first, second) if holds:
            return conjuncts(first, holds) + conjuncts(second, holds)
        case _:
            return [(condition, holds)]


def is_affine(part: Expression, state: State) -> bool:
    """Whether a condition reads no tensor (in tests those are affine)."""
    match part:
        case NumberLiteral():
            return True
        case NameUse(name):
            return name not in state.tensors
        case ElementOrCall() | ConvertExpression():
            return False
        case PrefixExpression(operand=operand):
            return is_affine(operand, state)
        case InfixExpression(_, first, second):
            return is_affine(first, state) and is_affine(second, state)
        case ConditionalExpression():
            return False
        case _:
            assert_never(part)
