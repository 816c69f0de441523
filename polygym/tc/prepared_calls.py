"""Calls that repeat: by the layout of its arguments, a call that was checked finds its kernel.

The layout of an argument is what a check looks at: type, shape and strides of an array or a tensor,
the value of a number. Two calls with equal layouts pass the same checks and run the same code, so
the second one needs addresses alone. What a layout does not tell is looked at every time: whether
an address is aligned, whether memory for outputs can be written and lies apart from all else, and
with tensors whether PyTorch watches or traces.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygym.poly.transform.storage.argument_layout import StoredLayout
from polygym.tc.arguments import ExpectedArgument, address_of, listed_outputs, prepare_arguments
from polygym.tc.kernel import CompiledKernel
from polygym.tc.torch_tensors import as_tensor, is_observed

_MOST_PREPARED = 256

_Layout = tuple[Any, ...]


def _array_layout(array: Any) -> _Layout:
    return (0, array.dtype, array.shape, array.strides)


def _tensor_layout(tensor: Any) -> _Layout:
    return (
        *(1, tensor.dtype, tensor.shape, tensor.stride()),
        *(tensor.requires_grad, tensor.is_cpu, tensor.is_neg()),
    )


# Of floats the digits: 0.0 equals -0.0, and NaN equals nothing.
_LAYOUTS: dict[type, Callable[[Any], _Layout]] = {
    np.ndarray: _array_layout,
    int: lambda value: (2, value),
    float: lambda value: (3, value.hex()),
}


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of a call: how its address is read, bits that it does not have, its bytes."""

    address: Callable[[Any], int]
    misaligned_bits: int
    size: int


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A kernel with what is left to be done for a call of one layout.

    ``addresses`` are functions that return those of arguments; ``misaligned_bits`` are bits that
    none of them has. ``outputs`` are those that are given; ``sizes`` the bytes of arguments, then
    of these.
    """

    kernel: CompiledKernel
    addresses: tuple[Callable[[Any], int], ...]
    misaligned_bits: int
    outputs: tuple[MemoryUse, ...]
    sizes: tuple[int, ...]
    has_tensors: bool
    asks_gradient: bool

    def results(self, arguments: Sequence[Any], memory: Sequence[Any] | None) -> list[Any] | None:
        """Compute; None where something has to be looked at more closely."""
        torch: Any = sys.modules["torch"] if self.has_tensors else None
        if self.has_tensors and (
            is_observed(torch) or (self.asks_gradient and torch.is_grad_enabled())
        ):
            return None
        given = [address(value) for address, value in zip(self.addresses, arguments)]  # noqa: B905
        bits = 0
        for address in given:
            bits |= address
        if bits & self.misaligned_bits:
            return None
        if not self.has_tensors:
            return self.kernel.run(given) if memory is None else self._written(given, memory)
        if 0 in given:  # a tensor of zeros without memory
            return None
        if memory is None:
            return [as_tensor(torch, array) for array in self.kernel.run(given)]
        results = self._written(given, memory)
        for value in results or ():
            if type(value) is not np.ndarray:
                torch.autograd.graph.increment_version(value)
        return results

    def _written(self, given: list[int], memory: Sequence[Any]) -> list[Any] | None:
        """Write to memory that is given, unless it is none that is apart from all else."""
        known = given.copy()
        written = []
        for use, value in zip(self.outputs, memory, strict=True):
            first = use.address(value)
            end = first + use.size
            if first & use.misaligned_bits or not first:
                return None
            for start, size in zip(known, self.sizes, strict=False):
                if first < start + size and start < end:
                    return None
            if type(value) is np.ndarray and not value.flags.writeable:
                return None
            written.append(first)
            known.append(first)
        self.kernel.write(given, written)
        return list(memory)


class PreparedCalls:
    """The calls of one operator that were checked, by layout."""

    def __init__(self) -> None:
        """Begin with none."""
        self._calls: dict[_Layout, PreparedCall | None] = {}

    def clear(self) -> None:
        """Forget them: there is another kernel for some."""
        self._calls.clear()

    def results(self, arguments: Sequence[Any], out: Any) -> list[Any] | None:
        """Return the results of a call that was prepared, None for any other."""
        compiler = getattr(sys.modules.get("torch"), "compiler", None)
        if compiler is not None and compiler.is_compiling():
            return None  # what traces must not see what is looked at here
        memory = None if out is None else listed_outputs(out)
        key = _key(arguments, memory)
        call = None if key is None else self._calls.get(key)
        return None if call is None else call.results(arguments, memory)

    def keep(
        self,
        expected: Sequence[ExpectedArgument],
        arguments: Sequence[Any],
        out: Any,
        kernel: Any,
        layouts: Mapping[str, StoredLayout],
    ) -> None:
        """Prepare a call that was done, where it can be."""
        memory = None if out is None else listed_outputs(out)
        key = _key(arguments, memory)
        if key is None or key in self._calls:
            return
        if len(self._calls) >= _MOST_PREPARED:
            self._calls.clear()
        self._calls[key] = _prepared(expected, arguments, memory or (), kernel, layouts)


def has_layouts(arguments: Sequence[Any]) -> bool:
    """Whether arguments are arrays, tensors or numbers, of which a layout is known."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor") and hasattr(torch, "nn"):
        _LAYOUTS.setdefault(torch.Tensor, _tensor_layout)
        _LAYOUTS.setdefault(torch.nn.Parameter, _tensor_layout)
    return all(type(argument) in _LAYOUTS for argument in arguments)


def _key(arguments: Sequence[Any], memory: Sequence[Any] | None) -> _Layout | None:
    """Return the layout of a call, None if it has arguments that have none."""
    try:
        layouts = [_LAYOUTS[type(argument)](argument) for argument in arguments]
        if memory is None:
            return tuple(layouts)
        return (*layouts, None, *[_LAYOUTS[type(value)](value) for value in memory])
    except (KeyError, RuntimeError):  # a tensor that is not dense has no strides
        return None


def _prepared(
    expected: Sequence[ExpectedArgument],
    arguments: Sequence[Any],
    memory: Sequence[Any],
    kernel: Any,
    layouts: Mapping[str, StoredLayout],
) -> PreparedCall | None:
    """Return a prepared call, None where arguments have to be converted or copied each time."""
    if not isinstance(kernel, CompiledKernel):
        return None
    if memory and [tuple(value.shape) for value in memory] != [o.shape for o in kernel.outputs]:
        return None
    read = [
        _use(need.dtype, value, need, layouts.get(need.name))
        for need, value in zip(expected, arguments, strict=True)
    ]
    outputs = kernel.outputs if memory else ()
    written = [_use(o.dtype, value) for o, value in zip(outputs, memory, strict=True)]
    uses = tuple(use for use in (*written, *read) if use is not None)
    if len(uses) < len(memory) + len(arguments):
        return None
    bits = 0
    for use in uses[len(memory) :]:
        bits |= use.misaligned_bits
    tensors = [value for value in (*arguments, *memory) if hasattr(value, "data_ptr")]
    return PreparedCall(
        kernel,
        tuple(use.address for use in uses[len(memory) :]),
        bits,
        uses[: len(memory)],
        tuple(use.size for use in (*uses[len(memory) :], *uses[: len(memory)])),
        bool(tensors),
        any(tensor.requires_grad for tensor in tensors),
    )


def _use(
    dtype: np.dtype[Any],
    value: Any,
    need: ExpectedArgument | None = None,
    layout: StoredLayout | None = None,
) -> MemoryUse | None:
    """Return how the memory of a value is used, None if it is not used as it is."""
    if isinstance(value, int | float):
        if need is None:
            return None
        array = prepare_arguments("", [need], [value])[0]
        # The array lives as long as what returns its address.
        return MemoryUse(lambda _: address_of(array), 0, array.nbytes)
    is_array = isinstance(value, np.ndarray)
    if is_array:
        is_used = value.dtype == dtype
    else:
        is_used = str(value.dtype) == f"torch.{dtype.name}" and value.is_cpu and not value.is_neg()
    bits, size = dtype.itemsize - 1, prod(value.shape) * dtype.itemsize
    address = address_of if is_array else type(value).data_ptr
    if not is_used:
        return None
    if layout is not None:
        before, first = layout.offset * dtype.itemsize, address
        return MemoryUse(lambda view: first(view) - before, bits, layout.span * dtype.itemsize)
    if element_strides(value) is not None:
        return None
    return MemoryUse(address, bits, size)


def element_strides(value: Any) -> tuple[int, ...] | None:
    """Return the strides of an array or a tensor, in elements; None if it is contiguous.

    Where a stride is no whole number of elements, they are none.
    """
    if isinstance(value, np.ndarray):
        if value.flags.c_contiguous:
            return None
        size = value.itemsize
        return (
            ()
            if any(s % size for s in value.strides)
            else tuple(stride // size for stride in value.strides)
        )
    if not hasattr(value, "stride") or value.is_contiguous():
        return None
    return tuple(value.stride())
