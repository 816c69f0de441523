"""Arrays of others on a device, described by their ``__cuda_array_interface__``.

An array is taken where it is if its rows are without gaps and it begins at a multiple of 16 bytes,
of which the kernels make use; else the caller has to copy it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from polygym.errors import InputError
from polygym.gpu.device_program import ALIGNMENT


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """The address of an array, its shape, and its elements as NumPy writes types: ``f4``."""

    address: int
    shape: tuple[int, ...]
    kind: str
    writable: bool

    @property
    def size(self) -> int:
        """The number of bytes."""
        return prod(self.shape) * int(self.kind[1:])


def is_device_array(value: object) -> bool:
    """Whether a value lies on a device."""
    # A tensor on the CPU has the attribute as well, and refuses to tell it.
    return bool(getattr(value, "is_cuda", False)) or (
        not hasattr(value, "is_cuda") and hasattr(value, "__cuda_array_interface__")
    )


def device_array(name: str, value: Any) -> DeviceArray:
    """Return where an argument of that name lies.

    Raises:
        InputError: it is no array on a device, has gaps, or begins where kernels do not expect it.
    """
    if getattr(value, "requires_grad", False):
        value = value.detach()  # which says the same of the same memory
    try:
        interface: Mapping[str, Any] = value.__cuda_array_interface__
    except (AttributeError, TypeError) as error:
        raise InputError(f"{name}: expected an array on a GPU, found {error}") from None
    shape = tuple(map(int, interface["shape"]))
    kind = str(interface["typestr"])
    address, is_read_only = interface["data"]
    if kind[0] == ">":
        raise InputError(f"{name}: expected little-endian elements, found {kind}")
    found = DeviceArray(int(address or 0), shape, kind[1:], not is_read_only)
    strides = interface.get("strides")
    if (
        strides is not None
        and 0 not in shape
        and not _is_dense(shape, strides, int(found.kind[1:]))
    ):
        raise InputError(f"{name}: expected rows without gaps, found the strides {tuple(strides)}")
    if found.address % ALIGNMENT:
        raise InputError(
            f"{name}: expected an address that is a multiple of {ALIGNMENT}, found "
            f"{found.address:#x}: hand over a copy"
        )
    return found


def _is_dense(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    expected = size
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True
