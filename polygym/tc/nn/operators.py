"""The library's operators by the types of tensors, and refusals of what they do not compute."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from polygym.errors import InputError
from polygym.tc.comprehension import define

_SUFFIXES = {torch.float32: "", torch.float64: ":double"}


# An object, since torch.compile sees attributes that come while it traces, and no keys that do.
_OPERATORS = SimpleNamespace()


def _defined(name: str) -> str:
    """Return the name of an operator, which there is from now on."""
    if not hasattr(_OPERATORS, name):
        setattr(_OPERATORS, name, define(f"tc:{name}"))
    return name


# As torch.compiler.assume_constant_result: tracers call it, and do not look into it.
_defined._dynamo_marked_constant = True  # type: ignore[attr-defined]


def call(name: str, tensor: Tensor, *arguments: Any) -> Any:
    """Compute with an operator of the library, in the type of a tensor among the arguments.

    Raises:
        InputError: the library does not compute in this type.
    """
    is_cast = torch.is_autocast_enabled("cpu") and tensor.dtype in (torch.float16, torch.bfloat16)
    suffix = "" if is_cast else _SUFFIXES.get(tensor.dtype)
    if suffix is None:
        raise InputError(
            f"{name}: expected tensors of float32 or float64, found {tensor.dtype}; "
            ".float() converts them"
        )
    return getattr(_OPERATORS, _defined(name + suffix))(*arguments)


def as_batch(tensor: Tensor, rank: int) -> Tensor:
    """Return a tensor of so many dimensions: what comes without a batch gets one of its own."""
    return tensor if tensor.ndim == rank else tensor.unsqueeze(0)


def like_input(result: Tensor, tensor: Tensor, rank: int) -> Tensor:
    """Return a result without the batch that :func:`as_batch` gave its input."""
    return result if tensor.ndim == rank else result.squeeze(0)


def grouped(tensor: Tensor, dim: int, count: int) -> Tensor:
    """Return a tensor with a dimension as so many groups, one after the other."""
    shape = tensor.shape
    return tensor.reshape(*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :])


def refuse_options(module: torch.nn.Module, **options: tuple[Any, Any]) -> None:
    """Refuse options, each with its value and the one that is expected.

    Raises:
        InputError: one has another value.
    """
    for name, (value, expected) in options.items():
        if value != expected:
            raise InputError(
                f"{type(module).__name__}: {name}: expected {expected!r}, found {value!r}; "
                f"torch.nn.{type(module).__name__} has it"
            )


def pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    """Return a number twice, or the two that are given."""
    first, second = value if isinstance(value, tuple | list) else (value, value)
    return int(first), int(second)
