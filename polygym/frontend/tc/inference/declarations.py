"""Declarations of a definition: known scalars, parameters, and the type of every tensor."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygym.errors import SourceError
from polygym.frontend.tc.inference.lowering_state import (
    LoweringState,
    declared_output,
    declared_sizes,
)
from polygym.frontend.tc.semantics.affine import LARGEST_COEFFICIENT
from polygym.frontend.tc.semantics.environment import NameEnvironment, TensorInfo, TensorRole
from polygym.frontend.tc.semantics.name_resolution import required_constants, scalar_parameters
from polygym.frontend.tc.semantics.types import (
    SCALAR_TYPES,
    UntypedKind,
    ValueType,
    check_fits,
    default_type,
    type_of,
    unified_type,
)
from polygym.frontend.tc.syntax.tree import Expression, TcDefinition
from polygym.frontend.tc.syntax.tree import TcParameter as Declaration
from polygym.ir.types import ScalarType

_SCALAR_TENSOR = TensorInfo("", ScalarType.INT, (), TensorRole.INPUT)


def check_constants(draft: LoweringState) -> None:
    """Refuse scalars without a value on which something depends, and values of other things."""
    scalars = scalar_parameters(draft.definition)
    for name in required_constants(draft.definition):
        if (output := declared_output(draft, name)) is not None:
            raise SourceError(
                output.location,
                f"{name} cannot be returned: a subscript or a range depends on it, so that it must "
                "be known before",
            )
        if name not in draft.constants:
            raise SourceError(
                scalars[name].location,
                f"{name} must be known: a subscript or a range depends on it",
                f"give its value: -p {name}=VALUE; from Python, parameters={{{name!r}: VALUE}}",
            )
    for name, value in draft.constants.items():
        if name not in scalars:
            raise SourceError(
                draft.definition.location,
                f"{name} is no scalar parameter of {draft.definition.name}",
            )
        if abs(value) >= LARGEST_COEFFICIENT:
            raise SourceError(scalars[name].location, f"{name} = {value} is too large")
        scalar = SCALAR_TYPES[scalars[name].type]
        check_fits(value, f"{name} = {value}", scalar, scalars[name].location)


def declare_parameter(draft: LoweringState, parameter: Declaration) -> None:
    """Add a parameter."""
    output = declared_output(draft, parameter.name)
    if output is not None and output.type is not None and output.type is not parameter.type:
        raise SourceError(
            output.location,
            f"{output.name} is {parameter.type.value} as a parameter and "
            f"{output.type.value} as an output",
        )
    draft.tensors[parameter.name] = TensorInfo(
        draft.identifiers.take(parameter.name),
        SCALAR_TYPES[parameter.type],
        declared_sizes(draft, parameter),
        TensorRole.INPUT if output is None else TensorRole.UPDATED,
    )


def tensor_types(
    definition: TcDefinition,
    values: Sequence[tuple[str, Expression]],
    real: ScalarType = ScalarType.DOUBLE,
) -> dict[str, ScalarType]:
    """Return the type of every tensor; ``values`` are assigned to tensors by name.

    One that is not declared has that of the first value assigned to it that has one; literals
    give way, so that ``C(i) = 0`` may be followed by ``C(i) += A(i, k)``. Where literals with a
    point are all that there is, it is ``real``.
    """
    types = {parameter.name: SCALAR_TYPES[parameter.type] for parameter in definition.parameters}
    for output in definition.outputs:
        if output.type is not None:
            types.setdefault(output.name, SCALAR_TYPES[output.type])
    weak: dict[str, ValueType] = {}
    while any(name not in types for name, _ in values):
        before = len(types)
        for name, value in values:
            if name in types:
                continue
            try:
                value_type = type_of_value(types, value)
            except SourceError:
                continue
            if value_type is UntypedKind.TRUTH:
                value_type = ScalarType.INT
            if isinstance(value_type, ScalarType):
                types[name] = value_type
            else:
                weak[name] = unified_type(weak.get(name, value_type), value_type)
        if len(types) == before:
            left = next(name for name, _ in values if name not in types)
            kind = weak.get(left, UntypedKind.REAL)
            types[left] = real if kind is UntypedKind.REAL else default_type(kind)
    return types


def type_of_value(types: Mapping[str, ScalarType], value: Expression) -> ValueType:
    """Return the type of a value where tensors have these types.

    Raises:
        SourceError: an operand does not fit, or is of a tensor without a type.
    """
    tensors = {name: replace(_SCALAR_TENSOR, type=scalar) for name, scalar in types.items()}
    return type_of(value, NameEnvironment(tensors, {}, {}))
