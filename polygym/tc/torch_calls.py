"""Calls with PyTorch's tensors: computed at once, watched by autograd, or traced."""

from collections.abc import Sequence
from typing import Any

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.syntax.tree import ElementType
from polygym.tc.arguments import check_argument_count, dtype_of
from polygym.tc.gradients import Operator, derivative_name
from polygym.tc.torch_autograd import autograd_function
from polygym.tc.torch_operators import is_traced, traced_call
from polygym.tc.torch_tensors import as_arrays, compute_with_arrays, is_transformed

_CAST = (ElementType.FLOAT, ElementType.FLOAT16, ElementType.BFLOAT16)


def _declared_types(torch: Any, definition: TcDefinition, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments in the types that are declared, as autocast has them.

    As in PyTorch's operators, float, float16 and bfloat16 are converted, and double is not.
    """
    cast = {torch.float32, torch.float16, torch.bfloat16}
    result = list(arguments)
    for place, (parameter, value) in enumerate(zip(definition.parameters, arguments, strict=True)):
        is_cast = isinstance(value, torch.Tensor) and value.dtype in cast
        if is_cast and parameter.type in _CAST:
            result[place] = value.to(getattr(torch, dtype_of(parameter.type).name))
    return result


def call_with_tensors(
    torch: Any, operator: Operator, arguments: Sequence[Any], out: Any
) -> list[Any]:
    """Compute with tensors; results are tensors, those of ``out`` where it is given.

    Raises:
        InputError: the number of arguments is wrong, a tensor is not in main memory, or asks for a
            gradient that there is not.
    """
    definition = operator.definition
    parameters = [parameter.name for parameter in definition.parameters]
    check_argument_count(definition.name, parameters, arguments)
    if torch.is_autocast_enabled("cpu"):
        arguments = _declared_types(torch, definition, arguments)
    if is_traced(torch):
        if out is not None:
            raise InputError(
                f"{definition.name}: out: expected none under a tracer, which would not see what "
                "is written; copy the result there"
            )
        return traced_call(torch, operator, arguments)
    is_watched = is_transformed(torch)
    asking = [
        place
        for place, argument in enumerate(arguments)
        if isinstance(argument, torch.Tensor) and argument.requires_grad
    ]
    is_asked = asking and torch.is_grad_enabled()
    if not (is_asked or is_watched):
        return compute_with_arrays(torch, operator, as_arrays(torch, definition, arguments), out)
    names = tuple(parameters[place] for place in asking)
    if out is not None:
        whom = f"(by {names[0]}); call it under torch.no_grad(), or on {names[0]}.detach()"
        raise InputError(
            f"{definition.name}: out: expected none where a gradient is asked for "
            f"{whom if names else 'or a transformation is at work'}"
        )
    parts = operator.gradient_parts(names, arguments) if names else ()
    known = {name for part in parts for name in part.tensors}
    for name in names:
        if name not in known:
            raise InputError(
                f"{definition.name}: {name} asks for a gradient (requires_grad), of which "
                f"{definition.name} knows none: with_gradient() says how it is computed, from a "
                f"comprehension that returns {derivative_name(name)}; else call it under "
                f"torch.no_grad(), or on {name}.detach()"
            )
    return list(autograd_function(torch).apply(operator, *arguments))
