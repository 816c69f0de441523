"""What a definition declares: known scalars, parameters, and the type of every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygym.compiler.frontend.tc.affine import LARGEST
from polygym.compiler.frontend.tc.draft import Draft, declared_sizes, output_named
from polygym.compiler.frontend.tc.environment import Environment
from polygym.compiler.frontend.tc.resolve import needed_values, scalar_parameters
from polygym.compiler.frontend.tc.syntax import Definition, Expression
from polygym.compiler.frontend.tc.syntax import Parameter as Declaration
from polygym.compiler.frontend.tc.tensors import Role, Tensor
from polygym.compiler.frontend.tc.types import (
    SCALARS,
    Type,
    Weak,
    check_fits,
    settled,
    type_of,
    unified,
)
from polygym.compiler.ir.types import ScalarType
from polygym.errors import SourceError

_SOME = Tensor("", ScalarType.INT, (), Role.INPUT)


def check_constants(draft: Draft) -> None:
    """Refuse scalars without a value on which something depends, and values of other things."""
    scalars = scalar_parameters(draft.definition)
    for name in needed_values(draft.definition):
        if (output := output_named(draft, name)) is not None:
            raise SourceError(
                output.place,
                f"{name} cannot be returned: a subscript or a range depends on it, so that it must "
                "be known before",
            )
        if name not in draft.constants:
            raise SourceError(
                scalars[name].place,
                f"{name} must be known: a subscript or a range depends on it",
                f"give its value: -p {name}=VALUE; from Python, parameters={{{name!r}: VALUE}}",
            )
    for name, value in draft.constants.items():
        if name not in scalars:
            raise SourceError(
                draft.definition.place,
                f"{name} is no scalar parameter of {draft.definition.name}",
            )
        if abs(value) >= LARGEST:
            raise SourceError(scalars[name].place, f"{name} = {value} is too large")
        scalar = SCALARS[scalars[name].type]
        check_fits(value, f"{name} = {value}", scalar, scalars[name].place)


def declare(draft: Draft, parameter: Declaration) -> None:
    """Add a parameter."""
    output = output_named(draft, parameter.name)
    if output is not None and output.type is not None and output.type is not parameter.type:
        raise SourceError(
            output.place,
            f"{output.name} is {parameter.type.value} as a parameter and "
            f"{output.type.value} as an output",
        )
    draft.tensors[parameter.name] = Tensor(
        draft.names.take(parameter.name),
        SCALARS[parameter.type],
        declared_sizes(draft, parameter),
        Role.INPUT if output is None else Role.UPDATED,
    )


def tensor_types(
    definition: Definition,
    values: Sequence[tuple[str, Expression]],
    real: ScalarType = ScalarType.DOUBLE,
) -> dict[str, ScalarType]:
    """Return the type of every tensor; ``values`` are assigned to tensors by name.

    One that is not declared has that of the first value assigned to it that has one; literals
    give way, so that ``C(i) = 0`` may be followed by ``C(i) += A(i, k)``. Where literals with a
    point are all that there is, it is ``real``.
    """
    types = {one.name: SCALARS[one.type] for one in definition.parameters}
    for output in definition.outputs:
        if output.type is not None:
            types.setdefault(output.name, SCALARS[output.type])
    weak: dict[str, Type] = {}
    while any(name not in types for name, _ in values):
        before = len(types)
        for name, value in values:
            if name in types:
                continue
            try:
                found = type_among(types, value)
            except SourceError:
                continue
            if found is Weak.TRUTH:
                found = ScalarType.INT
            if isinstance(found, ScalarType):
                types[name] = found
            else:
                weak[name] = unified(weak.get(name, found), found)
        if len(types) == before:
            left = next(name for name, _ in values if name not in types)
            kind = weak.get(left, Weak.REAL)
            types[left] = real if kind is Weak.REAL else settled(kind)
    return types


def type_among(types: Mapping[str, ScalarType], value: Expression) -> Type:
    """Return the type of a value where tensors have these types.

    Raises:
        SourceError: an operand does not fit, or is of a tensor without a type.
    """
    tensors = {name: replace(_SOME, type=scalar) for name, scalar in types.items()}
    return type_of(value, Environment(tensors, {}, {}))
