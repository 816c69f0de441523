"""Literals that make tensors double by themselves, and what to say where that is in the way.

In ``b(i) = 4.0`` nothing beside the literal has a type, so b is float64, and so is ``c(i) = a(i) +
b(i)`` with a float32 a. Were the literals of such statements written ``4.0f``, both were float32:
with types found once as they are and once so, those that differ are the literals' doing.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygym.frontend.tc.inference.declarations import tensor_types, type_of_value
from polygym.frontend.tc.semantics.types import UntypedKind, is_narrowing
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.where_values import substitute_values
from polygym.ir.types import ScalarType

TensorValues: TypeAlias = Sequence[tuple[str, tree.Expression]]
"""What is assigned, with the tensor that it is assigned to."""


def hint_for_output(definition: tree.TcDefinition, name: str) -> str:
    """Return the hint at the literal that makes an output float64; nothing if none does.

    >>> from polygym.frontend.tc import parse_definitions
    >>> (found,) = parse_definitions("def f(float(N) a) -> (b) { b(i) = 4.0 where exists a(i) }")
    >>> hint_for_output(found, "b")
    'b is float64 by the literal 4.0 alone; 4.0f makes it float32'
    """
    values = []
    for statement in definition.statements:
        known: dict[str, tree.Expression] = {}
        for entry in statement.where:
            if isinstance(entry, tree.WhereValue):
                known[entry.name] = substitute_values(entry.value, known)
        values.append((statement.tensor, substitute_values(statement.value, known)))
    return _literal_hint(definition, values, (name,))


def hint_for_value(
    definition: tree.TcDefinition, values: TensorValues, value: tree.Expression, target: ScalarType
) -> str:
    """Return the hint at the literal but for which a value would fit its target; or nothing."""
    single = tensor_types(definition, values, ScalarType.FLOAT)
    if is_narrowing(type_of_value(single, value), target):
        return ""
    return _literal_hint(
        definition,
        values,
        [
            expression.name
            for expression in _subexpressions(value)
            if isinstance(expression, tree.ElementOrCall)
        ],
    )


def _literal_hint(definition: tree.TcDefinition, values: TensorValues, names: Sequence[str]) -> str:
    double = tensor_types(definition, values)
    single = tensor_types(definition, values, ScalarType.FLOAT)
    waiting = [name for name in names if double.get(name) is not single.get(name)]
    seen = set(waiting)
    for name in waiting:  # which grows
        assigned = [value for tensor, value in values if tensor == name]
        parts = [part for value in assigned for part in _subexpressions(value)]
        if all(isinstance(type_of_value(double, value), UntypedKind) for value in assigned):
            if text := _bare_literal(parts):
                return f"{name} is float64 by the literal {text} alone; {text}f makes it float32"
        further = {
            expression.name for expression in parts if isinstance(expression, tree.ElementOrCall)
        }
        further = {one for one in further if double.get(one) is not single.get(one)} - seen
        seen |= further
        waiting += sorted(further)
    return ""


def _bare_literal(parts: Sequence[tree.Expression]) -> str:
    """Return the text of the first literal with a point and without a suffix; nothing if none."""
    for part in parts:
        if (
            isinstance(part, tree.NumberLiteral)
            and isinstance(part.value, float)
            and part.text[-1] not in "fF"
        ):
            return part.text
    return ""


def _subexpressions(expression: tree.Expression) -> Iterator[tree.Expression]:
    yield expression
    for child in tree.operands_of(expression):
        yield from _subexpressions(child)
