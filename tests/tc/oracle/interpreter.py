"""What a comprehension means, point by point in Python: an oracle without isl and without a Scop.

Sizes are numbers here. Ranges are found by trying values (``interpreter_ranges``). A statement
computes all values of its right side before it assigns, in C's types (``interpreter_values``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from polygym.frontend.tc.syntax.tree import (
    Expression,
    NameUse,
    TcDefinition,
    TcStatement,
    WhereExists,
    WhereValue,
)
from tests.tc.oracle.interpreter_ranges import infer
from tests.tc.oracle.interpreter_state import DTYPES, NoRange, State, declared_shape
from tests.tc.oracle.interpreter_values import (
    REAL,
    TRUTH,
    WHOLE,
    combined,
    converted,
    declared_type,
    evaluate,
    free_names,
    kind,
    neutral,
)


def interpret(
    definition: TcDefinition, arrays: Mapping[str, np.ndarray], constants: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Return the outputs of a definition."""
    state = State({}, dict(constants))
    for parameter in definition.parameters:
        if parameter.name in constants:
            continue
        given = np.asarray(arrays[parameter.name], DTYPES[parameter.type])
        assert given.ndim == len(parameter.sizes)
        for size, length in zip(parameter.sizes, given.shape, strict=True):
            if isinstance(size, NameUse):
                assert state.values.setdefault(size.name, length) == length
        state.tensors[parameter.name] = given.astype(
            np.float64 if given.dtype.kind == "f" else given.dtype
        )
    for statement in definition.statements:
        run(statement, definition, state)
    return {tc_output.name: state.tensors[tc_output.name] for tc_output in definition.outputs}


def run(statement: TcStatement, definition: TcDefinition, state: State) -> None:
    lets = {w.name: w.value for w in statement.where if isinstance(w, WhereValue)}
    value = replaced(statement.value, lets)
    witnesses = [
        replaced(w.expression, lets) for w in statement.where if isinstance(w, WhereExists)
    ]
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
    operands: dict[tuple[int, ...], list[Any]] = {}
    for point in itertools.product(*boxes):
        names = dict(zip(loops, point, strict=True))
        place = tuple(names[name] for name in left)
        operands.setdefault(place, []).append(evaluate(value, names, state))
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
    if statement.initializes:
        for place in itertools.product(*(range(*ranges[n]) for n in left)):
            target[place] = neutral(statement.assign, target.dtype)
    for place, values in operands.items():
        for operand in values:
            before = target[place].item()
            target[place] = converted(combined(statement.assign, before, operand), target.dtype)


def from_the_next(
    statement: TcStatement, definition: TcDefinition, state: State
) -> dict[str, tuple[int, int]]:
    """Return the ranges of a tensor's indices from the next statement that assigns it."""
    place = definition.statements.index(statement)
    if statement.tensor in state.tensors:
        raise NoRange("it exists")
    for later in definition.statements[place + 1 :]:
        if later.tensor == statement.tensor:
            left = [index.name for index in later.indices]
            names = list(dict.fromkeys([*left, *free_names(later.value, state)]))
            result = infer(later, [later.value], names, state, definition, {})
            mine = [index.name for index in statement.indices]
            return dict(zip(mine, [result[name] for name in left], strict=True))
    raise NoRange("nothing follows")


def replaced(part: Expression, lets: Mapping[str, Expression]) -> Expression:
    from polygym.frontend.tc.syntax.where_values import substitute_values

    for name, value in reversed(list(lets.items())):
        part = substitute_values(part, {name: value})
    return part
