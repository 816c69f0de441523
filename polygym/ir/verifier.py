"""Invariants of a Scop: every front end establishes them, all later layers rely on them.

Checked here is what can be seen in the values themselves: names, types, ranks, the tuples that the
isl texts speak of. That the texts parse and say the right thing is for those who have isl. A
violation is a defect of polygym, never of the user's input.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import assert_never

from polygym.errors import InternalError
from polygym.ir import expressions
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.types import ScalarType

_INTEGER_ONLY = frozenset(
    {
        expressions.BinaryOperator.REMAINDER,
        expressions.BinaryOperator.BIT_AND,
        expressions.BinaryOperator.BIT_OR,
        expressions.BinaryOperator.BIT_XOR,
    }
)
_SHIFTS = frozenset({expressions.BinaryOperator.SHIFT_LEFT, expressions.BinaryOperator.SHIFT_RIGHT})


def verify(scop: Scop) -> Scop:
    """Return the Scop unchanged, or raise InternalError with everything that is wrong with it."""
    problems = list(problems_of(scop))
    if problems:
        raise InternalError(f"{scop.name}: " + "; ".join(problems))
    return scop


def problems_of(scop: Scop) -> Iterator[str]:
    """Yield a sentence for every invariant that does not hold."""
    yield from _check_names(scop)
    for parameter in scop.parameters:
        if not parameter.type.is_integer:
            yield f"parameter {parameter.name} is {parameter.type.value}, not an integer"
    for array in scop.arrays:
        yield from _check_array(array)
    for statement in scop.statements:
        for problem in _check_statement(statement, scop):
            yield f"statement {statement.name}: {problem}"
    for statement in scop.statements:
        count = len(re.findall(rf"\b{re.escape(statement.name)}\[", scop.schedule))
        if count != 1:
            yield f"the schedule has {count} maps for statement {statement.name}"


def _check_names(scop: Scop) -> Iterator[str]:
    """Every name means one thing; the signature knows only what exists."""
    parameters = [parameter.name for parameter in scop.parameters]
    arrays = [array.name for array in scop.arrays]
    statements = [statement.name for statement in scop.statements]
    yield from _check_unique([*parameters, *arrays, *statements])
    unused = [name for name, _ in scop.unused_arguments]
    for name in scop.signature:
        if name not in parameters and name not in arrays and name not in unused:
            yield f"the signature names {name}, which is neither parameter nor array"
    yield from (f"{name} stands twice in the signature" for name in _duplicates(scop.signature))
    if not scop.statements:
        yield "there are no statements"


def _duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _check_unique(names: Iterable[str]) -> Iterator[str]:
    """Complain about names that occur more than once."""
    for name in _duplicates(names):
        yield f"the name {name} means two things"


def _check_array(array: Array) -> Iterator[str]:
    """An array's two lists of sizes agree, and it has one initial value for every element."""
    if len(array.extents) != len(array.c_extents):
        yield f"array {array.name} has {len(array.extents)} extents and {len(array.c_extents)} in C"
    yield from _check_initial_value(array)
    if array.live_out and array.storage_class is StorageClass.BLOCK:
        yield f"{array.name} is live after the region but is {array.storage_class.value}"


def _check_initial_value(array: Array) -> Iterator[str]:
    """A scalar's initial value is one number, an array's as many as its constant sizes say."""
    if array.initial is None:
        return
    values = array.initial if isinstance(array.initial, tuple) else (array.initial,)
    if isinstance(array.initial, tuple) is not bool(array.rank):
        yield f"array {array.name} has {len(values)} initial value(s) and {array.rank} dimensions"
    elif not all(size.isdecimal() for size in array.c_extents):
        yield f"array {array.name} has initial values and a size that is not constant"
    elif len(values) != prod(int(size) for size in array.c_extents):
        yield f"array {array.name} has {len(values)} initial values, not one for every element"
    if array.type.is_integer and not all(isinstance(value, int) for value in values):
        yield f"an initial value of {array.name} is no integer"


def _check_statement(statement: Statement, scop: Scop) -> Iterator[str]:
    """A statement's texts speak of it, its accesses fit their arrays, its types are consistent."""
    yield from _check_unique(
        [*statement.iterators, *(parameter.name for parameter in scop.parameters)]
    )
    if f"{statement.name}[" not in statement.domain:
        yield f"its domain is not named after it: {statement.domain}"
    arrays = {array.name: array for array in scop.arrays}
    for access in (statement.write, *statement.reads):
        yield from _check_access(access, statement, arrays)
    if statement.write.gathered and not isinstance(statement.body, expressions.Update):
        yield f"it has no expressions for what it computes to write {statement.write.text}"
    if isinstance(statement.body, expressions.Update) and statement.body.access != statement.write:
        yield f"it updates {statement.body.access.text} and writes {statement.write.text}"
    if any(
        isinstance(node, expressions.Update)
        for part in expressions.children(statement.body)
        for node in expressions.walk(part)
    ):
        yield "an update is no part of an expression"
    written = arrays.get(statement.write.array)
    if written is not None and written.type is not statement.body.type:
        yield f"it stores {statement.body.type.value} in {written.name}, {written.type.value}"
    known = {parameter.name: parameter.type for parameter in scop.parameters}
    for node in expressions.walk(statement.body):
        yield from _check_types(node, statement, known, arrays)


def _check_access(
    access: expressions.Access, statement: Statement, arrays: dict[str, Array]
) -> Iterator[str]:
    """An access goes from its statement to a known array, with as many subscripts as that has."""
    if access.array not in arrays:
        yield f"{access.text} is in the unknown array {access.array}"
        return
    tuples = re.findall(rf"-> {re.escape(access.array)}\[([^\]]*)\]", access.relation)
    if f"{statement.name}[" not in access.relation or not tuples:
        yield f"the relation of {access.text} joins other tuples: {access.relation}"
    rank = arrays[access.array].rank
    for subscripts in tuples:
        depth = commas = 0
        for character in subscripts:
            depth += (character == "(") - (character == ")")
            commas += character == "," and depth == 0
        count = commas + 1 if subscripts.strip() else 0
        if count != rank:
            yield f"{access.text} has {count} subscripts in an array of rank {rank}"


def _check_types(
    node: expressions.Expression,
    statement: Statement,
    parameters: dict[str, ScalarType],
    arrays: dict[str, Array],
) -> Iterator[str]:
    """A node's type follows from its operands, as the intermediate representation defines it."""
    match node:
        case expressions.IntegerLiteral(value=value, type=scalar):
            if not scalar.is_integer or not scalar.lowest <= value <= scalar.highest:
                yield f"{value} is no {scalar.value}"
        case expressions.FloatLiteral(type=scalar):
            if not scalar.is_floating:
                yield f"a floating constant of type {scalar.value}"
        case expressions.IteratorValue(name=name, type=scalar):
            if name not in statement.iterators or not scalar.is_integer:
                yield f"{name} is no iterator of it"
        case expressions.ParameterValue(name=name, type=scalar):
            if parameters.get(name) is not scalar:
                yield f"{name} is no parameter of type {scalar.value}"
        case expressions.Load(access=access, type=scalar):
            array = arrays.get(access.array)
            if array is not None and array.type is not scalar:
                yield f"{access.text} is read as {scalar.value}, but is {array.type.value}"
            if access.gathered:
                yield f"{access.text} has computed subscripts and no expressions for them"
        case expressions.Gather():
            yield from _check_gather(node, arrays)
        case expressions.Unary():
            yield from _check_unary(node)
        case expressions.Binary():
            yield from _check_binary(node)
        case expressions.Comparison(operator=operator, left=left, right=right):
            if left.type is not right.type:
                yield f"{operator.value} compares {left.type.value} with {right.type.value}"
            if left.type.is_storage_only:
                yield f"{operator.value} compares {left.type.value}, which is only stored"
        case expressions.Conditional(
            condition=condition, then=then, otherwise=otherwise, type=scalar
        ):
            if condition.type.is_storage_only:
                yield f"a condition is {condition.type.value}, which is only stored"
            if not then.type is otherwise.type is scalar:
                yield f"the arms of ?: are {then.type.value} and {otherwise.type.value}"
        case expressions.Cast(operand=operand, type=scalar):
            for scalar_type, other in ((operand.type, scalar), (scalar, operand.type)):
                if scalar_type.is_storage_only and other not in (
                    ScalarType.FLOAT,
                    ScalarType.DOUBLE,
                ):
                    yield f"a conversion of {operand.type.value} to {scalar.value} at once"
        case expressions.Call():
            yield from _check_call(node)
        case expressions.Update(access=access, condition=condition, subscripts=subscripts):
            if condition is not None and condition.type.is_storage_only:
                yield f"a condition is {condition.type.value}, which is only stored"
            yield from _check_computed_subscripts(access, subscripts, arrays)
        case _:
            assert_never(node)


def _check_gather(node: expressions.Gather, arrays: dict[str, Array]) -> Iterator[str]:
    """A gather has an integer for each of its computed dimensions, which the array has."""
    text, dimensions = node.access.text, node.access.gathered
    array = arrays.get(node.access.array)
    if array is not None and array.type is not node.type:
        yield f"{text} is read as {node.type.value}, but is {array.type.value}"
    if not dimensions:
        yield f"{text} computes no subscripts"
    yield from _check_computed_subscripts(node.access, node.subscripts, arrays)


def _check_computed_subscripts(
    access: expressions.Access,
    subscripts: tuple[expressions.Expression, ...],
    arrays: dict[str, Array],
) -> Iterator[str]:
    """There is an integer for each of the computed dimensions of an access, which the array has."""
    text, dimensions = access.text, access.gathered
    array = arrays.get(access.array)
    if len(dimensions) != len(subscripts):
        yield f"{text} computes {len(subscripts)} subscripts for {len(dimensions)} dimensions"
    if list(dimensions) != sorted(set(dimensions)):
        yield f"{text} has its computed dimensions out of order: {dimensions}"
    if array is not None and not all(0 <= place < array.rank for place in dimensions):
        yield f"{text} computes subscripts {dimensions} in an array of rank {array.rank}"
    for subscript in subscripts:
        if not subscript.type.is_integer:
            yield f"{text} has a subscript of type {subscript.type.value}"


def _check_promoted(what: str, scalar: ScalarType) -> Iterator[str]:
    """Nothing is computed in a type that C would promote."""
    if scalar.promoted is not scalar:
        yield f"{what} is computed in {scalar.value}, which is no type to compute in"


def _check_unary(node: expressions.Unary) -> Iterator[str]:
    """The operand has the type of the result."""
    spelling, scalar = node.operator.value, node.type
    if node.operand.type is not scalar:
        yield f"{spelling} turns {node.operand.type.value} into {scalar.value}"
    yield from _check_promoted(spelling, scalar)
    if node.operator is expressions.UnaryOperator.BIT_NOT and not scalar.is_integer:
        yield f"{spelling} of {scalar.value}"


def _check_call(node: expressions.Call) -> Iterator[str]:
    """Arguments have the types that the function takes: of mathematics, that of the result."""
    function, arguments, scalar = node.function, node.arguments, node.type
    if isinstance(function, ForeignFunction):
        if tuple(argument.type for argument in arguments) != function.parameter_types:
            yield f"the arguments of {function.name} are not of its types"
        return
    if any(argument.type is not scalar for argument in arguments):
        yield f"an argument of {function.value} is no {scalar.value}"
    if len(arguments) != function.arity:
        yield f"{function.value} is given {len(arguments)} arguments"
    yield from _check_promoted(function.value, scalar)
    if scalar.is_integer is not (function is expressions.MathFunction.ABS):
        yield f"{function.value} of {scalar.value}"


def _check_binary(node: expressions.Binary) -> Iterator[str]:
    """Both operands have the type of the result; a shift's count is any integer."""
    spelling = node.operator.value
    yield from _check_promoted(spelling, node.type)
    if node.operator in _SHIFTS:
        if node.left.type is not node.type or not node.right.type.is_integer:
            yield f"{spelling} shifts {node.left.type.value} by {node.right.type.value}"
        if not node.type.is_integer:
            yield f"{spelling} of {node.type.value}"
        return
    if node.operator in _INTEGER_ONLY and not node.type.is_integer:
        yield f"{spelling} of {node.type.value}"
    if not node.left.type is node.right.type is node.type:
        yield f"{spelling} combines {node.left.type.value} and {node.right.type.value}"
