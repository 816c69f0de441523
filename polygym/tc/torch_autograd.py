"""Comprehensions as functions of PyTorch's autograd.

Gradients are operators that are called with the derivatives of the outputs, so that they have
gradients again. Transformations of ``torch.func`` find a batching rule and forward derivatives.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from polygym.errors import InputError
from polygym.frontend.tc.derivatives.signature import DerivativeInput, InputKind
from polygym.tc.arguments import dtype_of
from polygym.tc.gradients import GradientPart, Operator, derivative_name
from polygym.tc.torch_tensors import as_arrays, compute_with_arrays, is_transformed


def save_for_gradients(
    torch: Any,
    ctx: Any,
    operator: Operator,
    arguments: Sequence[Any],
    results: Sequence[Any],
    asked: Sequence[bool],
) -> dict[DerivativeInput, Any]:
    """Save what the gradients read, and return all that is known.

    ``asked`` says which arguments ask for a gradient.
    """
    definition = operator.definition
    names = [parameter.name for parameter in definition.parameters]
    outputs = [result.name for result in definition.outputs]
    wanted = tuple(name for name, is_wanted in zip(names, asked, strict=True) if is_wanted)
    ctx.operator, ctx.wanted = operator, wanted
    ctx.parts = operator.gradient_parts(wanted, arguments) if wanted else ()
    ctx.shapes = [getattr(argument, "shape", None) for argument in arguments]
    known = {
        **_by_input(InputKind.PARAMETER, names, arguments),
        **_by_input(InputKind.RESULT, outputs, results),
    }
    read = {entry for part in ctx.parts for entry in part.inputs}
    used = [entry for entry in known if entry in read]
    ctx.tensors = [entry for entry in used if isinstance(known[entry], torch.Tensor)]
    ctx.others = {entry: known[entry] for entry in used if entry not in ctx.tensors}
    ctx.save_for_backward(*(known[entry] for entry in ctx.tensors))
    return known


def gradients(ctx: Any, asked: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of the arguments, None of those that ask for none."""
    definition = ctx.operator.definition
    outputs = [output.name for output in definition.outputs]
    known = ctx.others | dict(zip(ctx.tensors, ctx.saved_tensors, strict=True))
    known |= _by_input(InputKind.DERIVATIVE, outputs, asked)
    result: dict[str, Any] = {}
    for part in ctx.parts:
        result |= _computed(part, known)
    for place, parameter in enumerate(definition.parameters):
        if parameter.name in ctx.wanted and parameter.name in result:
            _check_gradient(ctx, place, result[parameter.name])
    names = [parameter.name for parameter in definition.parameters]
    return tuple(result.get(name) if name in ctx.wanted else None for name in names)


@lru_cache(maxsize=2)
def autograd_function(torch: Any) -> Any:
    """Return the function of autograd that every operator is."""

    class Differentiated(torch.autograd.Function):  # type: ignore[misc]
        """A comprehension; its gradients are comprehensions too, and so on."""

        @staticmethod
        def forward(operator: Operator, *arguments: Any) -> tuple[Any, ...]:
            """Compute."""
            arrays = as_arrays(torch, operator.definition, arguments)
            return tuple(compute_with_arrays(torch, operator, arrays, None))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            """Save what the gradients read."""
            operator, *arguments = inputs
            asked = ctx.needs_input_grad[1:]
            known = save_for_gradients(torch, ctx, operator, arguments, output, asked)
            ctx.primals = [e for e, value in known.items() if isinstance(value, torch.Tensor)]
            ctx.constants = {e: value for e, value in known.items() if e not in ctx.primals}
            ctx.save_for_forward(*(known[entry] for entry in ctx.primals))
            # An output that has no derivative by arguments may have one along a direction.
            only_backward = ctx.wanted and not is_transformed(torch)
            read = {entry for part in ctx.parts for entry in part.inputs}
            outputs = operator.definition.outputs
            constant = [
                tensor
                for result, tensor in zip(outputs, output, strict=True)
                if not tensor.is_floating_point()
                or (
                    only_backward and DerivativeInput(InputKind.DERIVATIVE, result.name) not in read
                )
            ]
            ctx.mark_non_differentiable(*constant)

        @staticmethod
        def backward(ctx: Any, *asked: Any) -> tuple[Any, ...]:
            """Return the gradients of the operator, which has none, and of the arguments."""
            return (None, *gradients(ctx, asked))

        @staticmethod
        def jvp(ctx: Any, *asked: Any) -> tuple[Any, ...]:
            """Return the derivatives of the results along those of the arguments."""
            definition = ctx.operator.definition
            names = [parameter.name for parameter in definition.parameters]
            pairs = zip(names, asked[1:], strict=True)
            tangents = {name: tangent for name, tangent in pairs if tangent is not None}
            known = ctx.constants | dict(zip(ctx.primals, ctx.saved_tensors, strict=True))
            known |= _by_input(InputKind.TANGENT, tuple(tangents), tuple(tangents.values()))
            arguments = [known[DerivativeInput(InputKind.PARAMETER, name)] for name in names]
            part = ctx.operator.tangent_part(tuple(tangents), arguments)
            by_name = _computed(part, known)
            return tuple(by_name.get(output.name) for output in definition.outputs)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
            """Compute for a batch: by the comprehension with one dimension more."""
            operator, *arguments = inputs
            batched = operator.batched(tuple(place is not None for place in in_dims[1:]))
            given = [
                argument.movedim(place, 0)
                if place is not None
                else argument.expand(info.batch_size, *argument.shape)
                if is_batched
                else argument
                for argument, place, is_batched in zip(
                    arguments, in_dims[1:], batched.are_batched, strict=True
                )
            ]
            found = _as_tuple(batched.operator(*given))
            return found, tuple(0 if is_batched else None for is_batched in batched.results)

    return Differentiated


def _computed(part: GradientPart, known: Mapping[DerivativeInput, Any]) -> dict[str, Any]:
    """Return what a part of a derivative computes, by the names of tensors."""
    found = part.operator(*(known[entry] for entry in part.inputs))
    return dict(zip(part.tensors, _as_tuple(found), strict=True))


def _as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _by_input(
    kind: InputKind, names: Sequence[str], values: Sequence[Any]
) -> dict[DerivativeInput, Any]:
    return {DerivativeInput(kind, name): v for name, v in zip(names, values, strict=True)}


def _check_gradient(ctx: Any, place: int, gradient: Any) -> None:
    """Refuse a written gradient of another shape than its parameter's."""
    shape, definition = tuple(ctx.shapes[place]), ctx.operator.definition
    parameter = definition.parameters[place]
    if tuple(gradient.shape) != shape:
        by = next(part for part in ctx.parts if parameter.name in part.tensors)
        raise InputError(
            f"{by.operator.definition.name}: {derivative_name(parameter.name)}: expected "
            f"{dtype_of(parameter.type)} of shape {shape}, as {parameter.name} is, found "
            f"{str(gradient.dtype).removeprefix('torch.')} of shape {tuple(gradient.shape)}"
        )
