"""Arguments and results of a module as tensors in a row, and back.

::

    f(x, {"mask": m, "scale": 2})   names   x, state.mask           tensors of the graph
                                    fixed   state.scale = 2         must be the same at every call
    f → {"logits": y, "past": (k, v), "loss": None}
                                    names   logits, past.0, past.1
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError, MissingLibraryError


def torch_package() -> Any:
    """Return PyTorch.

    Raises:
        MissingLibraryError: it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingLibraryError("modules of PyTorch", "torch", "agents") from None
    return torch


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value in a structure: its name, and shape and type of a tensor, or what is fixed."""

    name: str
    shape: tuple[int, ...] | None
    dtype: Any
    value: Any = None

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.shape is not None


@dataclass(frozen=True, slots=True)
class Structure:
    """Leaves in order, and how PyTorch puts them together again."""

    leaves: tuple[Leaf, ...]
    spec: Any

    @property
    def tensors(self) -> tuple[Leaf, ...]:
        """The leaves that are tensors."""
        return tuple(leaf for leaf in self.leaves if leaf.is_tensor)

    def together(self, tensors: Sequence[Any]) -> Any:
        """Return the values, with these tensors."""
        given = iter(tensors)
        values = [next(given) if leaf.is_tensor else leaf.value for leaf in self.leaves]
        return _pytree().tree_unflatten(values, self.spec)


def structure_of(value: Any, top: str) -> tuple[Structure, list[Any]]:
    """Return the structure of a value, and its tensors; ``top`` names a value that has no name."""
    torch = torch_package()
    pairs, spec = _pytree().tree_flatten_with_path(value)
    taken: set[str] = set()
    leaves, tensors = [], []
    for path, item in pairs:
        name = _name(path, top, taken)
        if isinstance(item, torch.Tensor):
            leaves.append(Leaf(name, tuple(item.shape), item.dtype))
            tensors.append(item)
        else:
            leaves.append(Leaf(name, None, None, item))
    return Structure(tuple(leaves), spec), tensors


def bound_arguments(
    module: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments by the names of the parameters of ``forward``.

    Raises:
        InputError: they do not fit the parameters.
    """
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise InputError(
            f"{type(module).__name__}: expected arguments of forward{signature}, found others: "
            f"{error}"
        ) from None
    return dict(bound.arguments)


def call_bound(module: Any, bound: Mapping[str, Any]) -> Any:
    """Call a module with arguments by name."""
    signature = inspect.signature(module.forward)
    arguments = inspect.BoundArguments(signature, dict(bound))
    return module(*arguments.args, **arguments.kwargs)


def run_module(module: Any, arguments: Structure, tensors: Sequence[Any]) -> list[Any]:
    """Return the tensors of the results of a module for the tensors of its arguments."""
    with torch_package().no_grad():
        return structure_of(call_bound(module, arguments.together(tensors)), "y")[1]


def expect_arguments(title: str, value: Any, expected: Structure) -> list[Any]:
    """Return the tensors of arguments, which must be as those of the example.

    Raises:
        InputError: another structure, shape, type or device, or another fixed value.
    """
    found, tensors = structure_of(value, "x")
    if found.spec != expected.spec:
        names = ", ".join(leaf.name for leaf in expected.leaves)
        others = ", ".join(leaf.name for leaf in found.leaves)
        raise InputError(
            f"{title}: expected the arguments of the example ({names}), found ({others})"
        )
    given = iter(tensors)
    for leaf, other in zip(expected.leaves, found.leaves, strict=True):
        place = f"{title}: {leaf.name}"
        if leaf.is_tensor != other.is_tensor:
            kinds = [_kind(part) for part in (leaf, other)]
            raise InputError(f"{place}: expected {kinds[0]}, found {kinds[1]}")
        if not leaf.is_tensor:
            if not _is_same(leaf.value, other.value):
                raise InputError(
                    f"{place}: expected {leaf.value!r} as in the example, found {other.value!r}: "
                    "compile the module again for other values"
                )
            continue
        expect_tensor(place, next(given), leaf)
    return tensors


def expect_tensor(place: str, tensor: Any, leaf: Leaf) -> None:
    """Refuse a tensor that is not as expected."""
    if tensor.dtype != leaf.dtype:
        raise InputError(f"{place}: expected {leaf.dtype}, found {tensor.dtype}")
    if tuple(tensor.shape) != leaf.shape:
        raise InputError(f"{place}: expected shape {leaf.shape}, found {tuple(tensor.shape)}")
    if tensor.device.type != "cpu":
        raise InputError(f"{place}: expected a tensor of the CPU, found one of {tensor.device}")


def _kind(leaf: Leaf) -> str:
    return "a tensor" if leaf.is_tensor else type(leaf.value).__name__


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


_PART = re.compile(r"[A-Za-z0-9_]+")


def _name(path: Any, top: str, taken: set[str]) -> str:
    """Return a name for a place in a structure, as ``past.0``, that is not taken."""
    base = ".".join(_PART.findall(_pytree().keystr(path))) or top
    base = f"{top}.{base}" if base[0].isdigit() else base
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name


def _pytree() -> Any:
    from torch.utils import _pytree

    return _pytree
