"""Two forms of the paper on tensor comprehensions, in terms of the others.

A size may have the name of a tensor, as W in ``float(N, C, H, W) I, float(F, C, KH, KW) W``: a name
with subscripts is the tensor, a name without is the size, which gets another name.

An output that is read before it is assigned, as C in ``C(i, j) = b * C(i, j)``, is updated: it
becomes the last parameter, with the type and the sizes that the statements say.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from polygym.frontend.tc.inference.lowering_state import tensor_types
from polygym.frontend.tc.semantics.known_shapes import KnownShapes
from polygym.frontend.tc.semantics.types import ELEMENT_TYPES
from polygym.frontend.tc.syntax import tree

_Declared = TypeVar("_Declared", tree.TcParameter, tree.TcOutput)


def renamed_sizes(
    parameters: Sequence[tree.TcParameter], outputs: Sequence[tree.TcOutput]
) -> dict[str, str]:
    """Return other names for the sizes that are called as tensors are."""
    declared: list[tree.Declaration] = [*parameters, *outputs]
    sizes = {
        size.name
        for tensor in declared
        for size in tensor.sizes or ()
        if isinstance(size, tree.NameUse)
    }
    taken = {tensor.name for tensor in declared} | sizes
    result = {}
    for tensor in declared:
        if tensor.sizes and tensor.name in sizes:
            name = f"{tensor.name}_size"
            while name in taken:
                name += "_"
            result[tensor.name] = name
    return result


def with_sizes(declared: _Declared, names: dict[str, str]) -> _Declared:
    """Return a declaration with other names for sizes."""
    if not names or declared.sizes is None:
        return declared
    sizes = tuple(
        replace(size, name=names.get(size.name, size.name))
        if isinstance(size, tree.NameUse)
        else size
        for size in declared.sizes
    )
    return replace(declared, sizes=sizes)


def rename_sizes(expression: tree.Expression, names: dict[str, str]) -> tree.Expression:
    """Return an expression with other names for sizes."""
    if isinstance(expression, tree.NameUse):
        return replace(expression, name=names.get(expression.name, expression.name))
    return tree.with_operands(expression, lambda part: rename_sizes(part, names))


def with_updated_outputs(definition: tree.TcDefinition) -> tree.TcDefinition:
    """Return a definition with the outputs that are read too early as its last parameters."""
    early = _read_early(definition)
    if not early:
        return definition
    shapes = KnownShapes.of(definition.parameters, definition.outputs)
    for statement in definition.statements:
        shapes.add_statement(statement)
    values = [(statement.tensor, statement.value) for statement in definition.statements]
    types = tensor_types(definition, values)
    added = []
    for output in early:
        sizes = tuple(size for size in shapes.shapes.get(output.name, ()) if size is not None)
        if len(sizes) == len(shapes.shapes.get(output.name, (None,))):
            scalar = ELEMENT_TYPES[types[output.name]]
            added.append(tree.TcParameter(scalar, sizes, output.name, output.location))
    return replace(definition, parameters=(*definition.parameters, *added))


def _read_early(definition: tree.TcDefinition) -> list[tree.TcOutput]:
    """Return the outputs, no parameters, of which elements are read before they are assigned."""
    known = {parameter.name for parameter in definition.parameters}
    early: set[str] = set()
    for statement in definition.statements:
        if statement.initializes:
            known.add(statement.tensor)
        parts = tree.parts_of(statement.value)
        early |= {part.name for part in parts if isinstance(part, tree.ElementOrCall)} - known
        known.add(statement.tensor)
    return [output for output in definition.outputs if output.name in early]
