"""A definition on batches of some of its arguments: one dimension more, in front of the others.

``C(m, n) +=! A(m, k) * B(k, n)`` on a batch of A is ``C(batch, m, n) +=! A(batch, m, k) * B(k, n)
where batch in 0:BATCH``. What depends on a batch is one.
"""

from collections.abc import Collection
from dataclasses import replace

from polygym.errors import InputError
from polygym.frontend.tc.derivatives.arithmetic import NOWHERE, ZERO, name
from polygym.frontend.tc.semantics.name_resolution import required_constants, size_locations
from polygym.frontend.tc.syntax import tree


def batched_definition(
    definition: tree.TcDefinition, parameters: Collection[str]
) -> tuple[tree.TcDefinition, frozenset[str]]:
    """Return the definition on batches of some parameters, and all tensors that are batches.

    Raises:
        InputError: subscripts depend on one of the parameters.
    """
    for parameter in required_constants(definition):
        if parameter in parameters:
            raise InputError(
                f"{definition.name}: {parameter}: expected one value, found a batch: a subscript "
                "or a range depends on it"
            )
    tensors = _dependent(definition, parameters)
    taken = {part for s in definition.statements for part in s.local_names}
    taken |= {s.tensor for s in definition.statements} | size_locations(definition).keys()
    taken |= {parameter.name for parameter in definition.parameters}
    index, size = (_free(wanted, taken) for wanted in ("batch", "BATCH"))
    made = tree.TcDefinition(
        definition.name,
        tuple(
            replace(p, sizes=(name(size), *p.sizes)) if p.name in tensors else p
            for p in definition.parameters
        ),
        tuple(
            replace(output, sizes=(name(size), *output.sizes))
            if output.name in tensors and output.sizes is not None
            else output
            for output in definition.outputs
        ),
        tuple(_batched(s, tensors, index, size) for s in definition.statements),
        definition.location,
    )
    return made, tensors


def _dependent(definition: tree.TcDefinition, parameters: Collection[str]) -> frozenset[str]:
    """Return the tensors that depend on parameters, and these."""
    result = set(parameters)
    while True:
        before = len(result)
        for statement in definition.statements:
            if not tree.names_read(*statement.expressions).isdisjoint(result):
                result.add(statement.tensor)
        if len(result) == before:
            return frozenset(result)


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _batched(
    statement: tree.TcStatement, tensors: frozenset[str], index: str, size: str
) -> tree.TcStatement:
    """Return a statement on batches."""

    def new(expression: tree.Expression) -> tree.Expression:
        expression = tree.with_operands(expression, new)
        match expression:
            case tree.NameUse(tensor) if tensor in tensors:
                return tree.ElementOrCall(tensor, (name(index),), NOWHERE)
            case tree.ElementOrCall(tensor, arguments) if tensor in tensors:
                return replace(expression, arguments=(name(index), *arguments))
            case _:
                return expression

    result = statement.with_expressions(new)
    if statement.tensor not in tensors:
        return result
    return replace(
        result,
        subscripts=(name(index), *result.subscripts),
        where=(tree.WhereRange(index, ZERO, name(size), NOWHERE), *result.where),
    )
