"""PyTorch's tensors as arguments and results, where the caller has imported PyTorch.

polygym never imports it: who has tensors has done so. A tensor in main memory is an array that
shares its memory, and so is the other way around; nothing is copied but what is not contiguous.
Those of bfloat16 change hands as integers, since NumPy does not know the type.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.ir.types import ScalarType
from polygym.programs import dtypes as outputs
from polygym.tc.arguments import listed_outputs
from polygym.tc.gradients import Operator


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
    if out is not None and any(isinstance(output, tensor) for output in listed_outputs(out)):
        return torch
    return None


def is_on_gpu(torch: Any, arguments: Sequence[Any]) -> bool:
    """Whether a tensor among the arguments lies on a GPU."""
    return any(isinstance(own, torch.Tensor) and own.is_cuda for own in arguments)


def as_arrays(torch: Any, definition: TcDefinition, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with arrays in place of tensors, which share their memory."""
    result = list(arguments)
    for place, argument in enumerate(result):
        if isinstance(argument, torch.Tensor):
            result[place] = _array(torch, argument, definition, place)
    return result


def is_transformed(torch: Any) -> bool:
    """Whether a transformation of ``torch.func`` or a forward derivative is at work."""
    forward: int = torch.autograd.forward_ad._current_level
    return forward >= 0 or bool(torch._C._are_functorch_transforms_active())


def is_recorded(torch: Any) -> bool:
    """Whether a dispatch mode or ``torch.jit.trace`` sees what is done with tensors."""
    own = torch._C
    return bool(own._len_torch_dispatch_stack()) or own._get_tracing_state() is not None


def is_observed(torch: Any) -> bool:
    """Whether something looks at what is done with tensors: a transformation, a tracer, a mode."""
    return is_recorded(torch) or is_transformed(torch) or bool(torch._C._len_torch_function_stack())


def compute_with_arrays(
    torch: Any, operator: Operator, arrays: Sequence[Any], out: Any
) -> list[Any]:
    """Compute with arrays in the place of tensors, and return tensors."""
    if out is None:
        return [as_tensor(torch, array) for array in operator.compute(arrays, None)]
    given = listed_outputs(out)
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


def as_tensor(torch: Any, array: np.ndarray) -> Any:
    """Return an array as a tensor that shares its memory."""
    if array.dtype.kind == "V":  # NumPy has no bfloat16 of its own
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
