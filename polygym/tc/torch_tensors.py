"""PyTorch's tensors as arguments and results, where the caller has imported PyTorch.

polygym never imports it: who has tensors has done so. A tensor in main memory is an array that
shares its memory, and so is the other way around; nothing is copied but what is not contiguous.
Those of bfloat16 change hands as integers, since NumPy does not know the type.

Gradients follow where the operator has a comprehension for them (:mod:`polygym.tc.gradient`). Then
a call is a function of PyTorch's autograd: what the gradient's comprehension reads is saved, and it
is called when PyTorch asks for gradients.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.ir.types import ScalarType
from polygym.programs import dtypes as outputs
from polygym.tc.arguments import dtype_of
from polygym.tc.gradient import Gradient, GradientPart, derivative_name

Compute = Callable[[Sequence[Any], Any], list[np.ndarray]]
"""An operator on arrays: the arguments, and the memory of its outputs or None."""


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
    if out is not None and any(isinstance(one, tensor) for one in _listed(out)):
        return torch
    return None


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, list | tuple) else [out]


def as_arrays(torch: Any, definition: TcDefinition, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with arrays in place of tensors, which share their memory."""
    result = list(arguments)
    for place, one in enumerate(result):
        if isinstance(one, torch.Tensor):
            result[place] = _array(torch, one, definition, place)
    return result


def call_with_tensors(
    torch: Any,
    definition: TcDefinition,
    compute: Compute,
    gradient: Gradient | None,
    arguments: Sequence[Any],
    out: Any,
) -> list[Any]:
    """Compute with tensors; results are tensors, those of ``out`` where it is given.

    Raises:
        InputError: a tensor is not in main memory, or asks for a gradient that there is not.
    """
    arrays = as_arrays(torch, definition, arguments)
    asking = [
        place
        for place, argument in enumerate(arguments)
        if isinstance(argument, torch.Tensor) and argument.requires_grad
    ]
    if not (asking and torch.is_grad_enabled() and len(arguments) == len(definition.parameters)):
        return _computed(torch, definition, compute, arrays, out)
    names = [definition.parameters[place].name for place in asking]
    if out is not None:
        raise InputError(
            f"{definition.name}: out: expected none where a gradient is asked for (by "
            f"{names[0]}); call it under torch.no_grad(), or on {names[0]}.detach()"
        )
    for name in names:
        if gradient is None or name not in gradient.parameters:
            raise InputError(
                f"{definition.name}: {name} asks for a gradient (requires_grad), of which "
                f"{definition.name} knows none: with_gradient() says how it is computed, from a "
                f"comprehension that returns {derivative_name(name)}; else call it under "
                f"torch.no_grad(), or on {name}.detach()"
            )
    assert gradient is not None
    function = _function(torch)
    result = function.apply(definition, compute, gradient, *arguments)
    return [result] if isinstance(result, torch.Tensor) else list(result)


def _computed(
    torch: Any, definition: TcDefinition, compute: Compute, arrays: Sequence[Any], out: Any
) -> list[Any]:
    if out is None:
        return [_tensor(torch, array) for array in compute(arrays, None)]
    given = _listed(out)
    places = []
    for one in given:
        tensor = isinstance(one, torch.Tensor)
        if tensor and one.requires_grad and torch.is_grad_enabled():
            raise InputError(
                f"{definition.name}: out: expected a tensor that asks for no gradient, found one "
                "with requires_grad"
            )
        places.append(_array(torch, one, definition, None) if tensor else one)
    compute(arrays, places)
    for one in given:
        if isinstance(one, torch.Tensor):
            torch.autograd.graph.increment_version(one)  # autograd sees that it was written to
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


def _derivatives(
    torch: Any, part: GradientPart, known: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a part of a gradient computes, by the names of the parameters that ask for it.

    ``wanted`` has their shapes and types.
    """
    read = as_arrays(torch, part.definition, [known[name] for name in part.reads])
    result = {}
    for name, array in zip(part.parameters, part.compute(read, None), strict=True):
        if name in wanted:
            if (array.shape, array.dtype) != wanted[name]:
                shape, dtype = wanted[name]
                raise InputError(
                    f"{part.definition.name}: {derivative_name(name)}: expected {dtype} of shape "
                    f"{shape}, as {name} is, found {array.dtype} of shape {array.shape}"
                )
            result[name] = _tensor(torch, array)
    return result


@lru_cache(maxsize=2)
def _function(torch: Any) -> Any:
    """Return the function of autograd that every operator with a gradient is."""

    class Differentiated(torch.autograd.Function):  # type: ignore[misc]
        """A comprehension and its gradient."""

        @staticmethod
        def forward(
            ctx: Any,
            definition: TcDefinition,
            compute: Compute,
            gradient: Gradient,
            *arguments: Any,
        ) -> Any:
            """Compute, and save what the gradient reads."""
            names = [parameter.name for parameter in definition.parameters]
            outputs = [output.name for output in definition.outputs]
            results = _computed(
                torch, definition, compute, as_arrays(torch, definition, arguments), None
            )
            known = dict(zip(names, arguments, strict=True)) | dict(
                zip(outputs, results, strict=True)
            )
            read = [name for name in gradient.reads if name in known]
            tensors = [name for name in read if isinstance(known[name], torch.Tensor)]
            ctx.save_for_backward(*(known[name] for name in tensors))
            ctx.tensors = tensors
            ctx.others = {name: known[name] for name in read if name not in tensors}
            ctx.definition, ctx.gradient = definition, gradient
            ctx.shapes = [getattr(argument, "shape", None) for argument in arguments]
            ctx.mark_non_differentiable(
                *(
                    result
                    for name, result in zip(outputs, results, strict=True)
                    if derivative_name(name) not in gradient.reads
                )
            )
            return results[0] if len(results) == 1 else tuple(results)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *asked: Any) -> tuple[Any, ...]:
            """Return the gradients of the arguments."""
            definition, gradient = ctx.definition, ctx.gradient
            outputs = [derivative_name(output.name) for output in definition.outputs]
            known: Mapping[str, Any] = {
                **ctx.others,
                **dict(zip(ctx.tensors, ctx.saved_tensors, strict=True)),
                **dict(zip(outputs, asked, strict=True)),
            }
            wanted = {
                parameter.name: (tuple(ctx.shapes[place]), dtype_of(parameter.type))
                for place, parameter in enumerate(definition.parameters)
                if ctx.needs_input_grad[place + 3]
            }
            found: dict[str, Any] = {}
            for part in gradient.parts:
                if not wanted.keys().isdisjoint(part.parameters):
                    found |= _derivatives(torch, part, known, wanted)
            return (
                None,
                None,
                None,
                *(found.get(parameter.name) for parameter in definition.parameters),
            )

    return Differentiated
