"""A nest as the text of a comprehension.

Names are by position, so that equal work has equal text, by which kernels are kept.
"""

from polygym.graphs.execution.ir.nests import (
    AffineIndex,
    ArrayAccess,
    Expression,
    GuardedSelect,
    TensorNest,
    TextTemplate,
    statement_indices,
)
from polygym.graphs.operators.element_text import tc_type


def nest_text(nest: TensorNest) -> str:
    """Return the text of a comprehension.

    >>> from polygym.graphs.execution.ir.nests import NestArray, NestStatement, index_named
    >>> i, a, b = index_named("i"), NestArray("a", (4,), "float32"), NestArray("b", (4,), "float32")
    >>> twice = TextTemplate("(2.0f * {0})", (ArrayAccess("a", (i,)),))
    >>> double = NestStatement("b", ("i",), "=", twice)
    >>> print(nest_text(TensorNest((("i", 4),), (a, b), 1, (double,), "b")))
    def kernel(float(4) A0) -> (R) {
      R(i0) = (2.0f * A0(i0)) where i0 in 0:4
    }
    """
    arrays = {array.name: f"A{place}" for place, array in enumerate(nest.parameters)}
    is_update = nest.result in arrays
    for place, nest_array in enumerate(nest.arrays[nest.parameter_count :]):
        arrays[nest_array.name] = "R" if nest_array.name == nest.result else f"T{place}"
    indices = {name: f"i{place}" for place, (name, _) in enumerate(nest.extents)}
    extents = dict(nest.extents)
    lines = []
    for statement in nest.statements:
        ranges = [
            f"{indices[index]} in 0:{extents[index]}" for index in statement_indices(statement)
        ]
        subscripts = ", ".join(indices[subscript] for subscript in statement.subscripts)
        left = f"{arrays[statement.target]}({subscripts})"
        right = _expression_text(statement.value, arrays, indices)
        lines.append(f"  {left} {statement.operator} {right} where {', '.join(ranges)}")
    parameters = ", ".join(
        f"{tc_type(parameter.dtype)}({', '.join(map(str, parameter.shape))}) "
        f"{arrays[parameter.name]}"
        for parameter in nest.parameters
    )
    result = arrays[nest.result] if is_update else "R"
    return "\n".join([f"def kernel({parameters}) -> ({result}) {{", *lines, "}"])


def _expression_text(
    expression: Expression, arrays: dict[str, str], indices: dict[str, str]
) -> str:
    match expression:
        case ArrayAccess(array, at):
            result = (
                _rename_indices(subscript, indices).text()
                if isinstance(subscript, AffineIndex)
                else _expression_text(subscript, arrays, indices)
                for subscript in at
            )
            return f"{arrays[array]}({', '.join(result)})"
        case TextTemplate(text, parts):
            return text.format(*(_expression_text(part, arrays, indices) for part in parts))
        case GuardedSelect(ranges, inside, outside):
            asked = []
            for index, low, high in ranges:
                value = _rename_indices(index, indices).text()
                asked += [f"{value} >= {low}", f"{value} < {high}"]
            texts = (_expression_text(part, arrays, indices) for part in (inside, outside))
            return "({} ? {} : {})".format(" && ".join(asked), *texts)


def _rename_indices(affine: AffineIndex, indices: dict[str, str]) -> AffineIndex:
    return AffineIndex(
        tuple((indices[name], factor) for name, factor in affine.terms), affine.offset
    )
