"""PyTorch's tensors as arguments and results, where the caller has imported PyTorch.

polygym never imports it: who has tensors has done so. A tensor in main memory is an array that
shares its memory, and so is the other way around; nothing is copied but what is not contiguous.
Those of bfloat16 change hands as integers, since NumPy does not know the type.

Where a tensor asks for a gradient, or a transformation of ``torch.func`` is at work, the call is a
function of PyTorch's autograd. Gradients are operators that are called with the derivatives of the
outputs, so that they have gradients again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.derivatives.signature import DerivativeInput, InputKind
from polygym.ir.types import ScalarType
from polygym.programs import dtypes as outputs
from polygym.tc.arguments import dtype_of
from polygym.tc.gradients import Operator, derivative_name


def torch_if_used(arguments: Sequence[Any], out: Any = None) -> Any:
    """Return PyTorch if there is a tensor among arguments or outputs, else None."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None:
        return None
    for argument in arguments:
        # Asking a class of PyTorch's takes as long as the rest of a call: arrays are known by type.
        if type(argument) is not np.ndarray and isinstance(argument, tensor):
            return torch
    if out is not None and any(isinstance(output, tensor) for output in _listed(out)):
        return torch
    return None


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, list | tuple) else [out]


def as_arrays(torch: Any, definition: TcDefinition, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with arrays in place of tensors, which share their memory."""
    result = list(arguments)
    for place, argument in enumerate(result):
        if isinstance(argument, torch.Tensor):
            result[place] = _array(torch, argument, definition, place)
    return result


def call_with_tensors(
    torch: Any, operator: Operator, arguments: Sequence[Any], out: Any
) -> list[Any]:
    """Compute with tensors; results are tensors, those of ``out`` where it is given.

    Raises:
        InputError: a tensor is not in main memory, or asks for a gradient that there is not.
    """
    definition = operator.definition
    is_watched = is_transformed(torch)
    if not is_watched:
        arrays = as_arrays(torch, definition, arguments)
    asking = [
        place
        for place, argument in enumerate(arguments)
        if isinstance(argument, torch.Tensor) and argument.requires_grad
    ]
    is_asked = asking and torch.is_grad_enabled()
    if not (is_asked or is_watched) or len(arguments) != len(definition.parameters):
        return compute_with_arrays(torch, operator, arrays, out)
    names = tuple(definition.parameters[place].name for place in asking)
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


def is_transformed(torch: Any) -> bool:
    """Whether a transformation of ``torch.func`` or a forward derivative is at work."""
    forward: int = torch.autograd.forward_ad._current_level
    return forward >= 0 or bool(torch._C._are_functorch_transforms_active())


def compute_with_arrays(
    torch: Any, operator: Operator, arrays: Sequence[Any], out: Any
) -> list[Any]:
    """Compute with arrays in the place of tensors, and return tensors."""
    if out is None:
        return [_tensor(torch, array) for array in operator.compute(arrays, None)]
    given = _listed(out)
    places = []
    for output in given:
        tensor = isinstance(output, torch.Tensor)
        if tensor and output.requires_grad and torch.is_grad_enabled():
            raise InputError(
                f"{operator.definition.name}: out: expected a tensor that asks for no gradient, "
                "found one with requires_grad"
            )
        places.append(_array(torch, output, operator.definition, None) if tensor else output)
    operator.compute(arrays, places)
    for output in given:
        if isinstance(output, torch.Tensor):
            torch.autograd.graph.increment_version(output)  # autograd sees that it was written to
    return given


def _array(torch: Any, tensor: Any, definition: TcDefinition, place: int | None) -> Any:
    """Return a tensor's memory as an array; ``place`` is which argument it is, None for ``out``."""
    if tensor.is_cpu and tensor.layout is torch.strided:
        try:
            plain = tensor.detach()
            is_read_negated = place is not None and plain.is_neg()
            plain = plain.resolve_neg() if is_read_negated else plain
            if plain.dtype is torch.bfloat16:
                return plain.view(torch.int16).numpy().view(outputs.dtype_of(ScalarType.BFLOAT))
            return plain.numpy()
        except (TypeError, RuntimeError) as error:
            wrong = f"no tensor of {tensor.dtype} that NumPy has: {error}"
    elif tensor.layout is not torch.strided:
        wrong = f"expected a dense tensor, found {tensor.layout}"
    else:
        wrong = f"expected a tensor in main memory, found one on {tensor.device}; .cpu() copies it"
    names = [parameter.name for parameter in definition.parameters]
    name = "out" if place is None else names[place] if place < len(names) else str(place)
    raise InputError(f"{definition.name}: {name}: {wrong}")


def _tensor(torch: Any, array: np.ndarray) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


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
            definition = operator.definition
            names = [parameter.name for parameter in definition.parameters]
            results = [result.name for result in definition.outputs]
            asked = zip(names, ctx.needs_input_grad[1:], strict=True)
            wanted = tuple(name for name, is_wanted in asked if is_wanted)
            ctx.operator, ctx.wanted = operator, wanted
            ctx.parts = operator.gradient_parts(wanted, arguments) if wanted else ()
            ctx.shapes = [getattr(argument, "shape", None) for argument in arguments]
            known: dict[DerivativeInput, Any] = {
                **_by_input(InputKind.PARAMETER, names, arguments),
                **_by_input(InputKind.RESULT, results, output),
            }
            read = {entry for part in ctx.parts for entry in part.inputs}
            used = [entry for entry in known if entry in read]
            ctx.tensors = [entry for entry in used if isinstance(known[entry], torch.Tensor)]
            ctx.others = {entry: known[entry] for entry in used if entry not in ctx.tensors}
            ctx.save_for_backward(*(known[entry] for entry in ctx.tensors))
            everything = [
                entry for entry, value in known.items() if isinstance(value, torch.Tensor)
            ]
            ctx.primals = everything
            ctx.constants = {e: value for e, value in known.items() if e not in everything}
            ctx.save_for_forward(*(known[entry] for entry in everything))
            # An output that has no derivative by arguments may have one along a direction.
            only_backward = wanted and not is_transformed(torch)
            constant = [
                tensor
                for name, tensor in zip(results, output, strict=True)
                if not tensor.is_floating_point()
                or (only_backward and DerivativeInput(InputKind.DERIVATIVE, name) not in read)
            ]
            ctx.mark_non_differentiable(*constant)

        @staticmethod
        def backward(ctx: Any, *asked: Any) -> tuple[Any, ...]:
            """Return the gradients of the arguments, None of those that ask for none."""
            definition = ctx.operator.definition
            results = [output.name for output in definition.outputs]
            known = ctx.others | dict(zip(ctx.tensors, ctx.saved_tensors, strict=True))
            known |= _by_input(InputKind.DERIVATIVE, results, asked)
            gradients: dict[str, Any] = {}
            for part in ctx.parts:
                found = part.operator(*(known[entry] for entry in part.inputs))
                several = found if isinstance(found, tuple) else (found,)
                gradients |= dict(zip(part.tensors, several, strict=True))
            for place, parameter in enumerate(definition.parameters):
                name = parameter.name
                if name in ctx.wanted and name in gradients:
                    _check_gradient(ctx, place, gradients[name])
            names = [parameter.name for parameter in definition.parameters]
            return (None, *(gradients.get(n) if n in ctx.wanted else None for n in names))

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
            found = part.operator(*(known[entry] for entry in part.inputs))
            several = found if isinstance(found, tuple) else (found,)
            by_name = dict(zip(part.tensors, several, strict=True))
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
            found = batched.operator(*given)
            several = found if isinstance(found, tuple) else (found,)
            return several, tuple(0 if is_batched else None for is_batched in batched.results)

    return Differentiated


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
