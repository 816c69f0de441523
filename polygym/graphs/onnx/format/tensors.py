"""Arrays of ONNX tensors, those in files beside the model too, and which types they may have.

Half precision is read as single precision: ``float16`` and ``bfloat16`` become ``float32``, inputs
and results of the model included. Everything else stays what it is, and what polygym has no type
for (booleans, bytes) may appear where it is known while the file is read, in shapes and masks.
"""

import stat
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError, printable
from polygym.graphs.onnx.format.onnx_package import onnx_module

Array = np.ndarray[Any, Any]

_HALF_TYPES = ("float16", "bfloat16")


def widen_half(array: Array) -> Array:
    """Return an array in single precision if it is in half."""
    return array.astype(np.float32) if array.dtype.name in _HALF_TYPES else array


def dtype_of(number: int) -> str:
    """Return the name of an ONNX element type as it is read, or what ONNX calls it.

    >>> dtype_of(1), dtype_of(10), dtype_of(8), dtype_of(999)
    ('float32', 'float32', 'STRING', 'type 999')
    """
    onnx = onnx_module()
    if number not in onnx.TensorProto.DataType.values():
        return f"type {number}"
    title = str(onnx.TensorProto.DataType.Name(number))
    if title in ("STRING", "UNDEFINED"):
        return title
    string = np.dtype(onnx_module("helper").tensor_dtype_to_np_dtype(number)).name
    return "float32" if string in _HALF_TYPES else str(string)


def array_of(tensor: Any, folder: Path, place: str) -> Array:
    """Return the elements of a tensor.

    Raises:
        InputError: they are not all there, or lie outside of the model's folder.
    """
    onnx, arrays = onnx_module(), onnx_module("numpy_helper")
    place = f"{place}: tensor {printable(tensor.name) or 'without a name'}"
    kind = dtype_of(tensor.data_type)
    if kind in ("STRING", "UNDEFINED") or kind.startswith("type"):
        raise InputError(f"{place}: expected numbers, found {kind}")
    if tensor.HasField("segment") or min(tensor.dims, default=0) < 0:
        raise InputError(f"{place}: expected a whole tensor, found extents {list(tensor.dims)}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return widen_half(_read_external(tensor, folder, place))
    try:
        return widen_half(np.asarray(arrays.to_array(tensor)))
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise InputError(
            f"{place}: expected {kind} of the extents {list(tensor.dims)}, "
            f"found other data: {error}"
        ) from None


def _read_external(tensor: Any, folder: Path, place: str) -> Array:
    """Read the part of a file beside the model that a tensor names."""
    said = {one.key: one.value for one in tensor.external_data}
    path = _path_inside(folder, said.get("location", ""), place)
    dtype = np.dtype(onnx_module("helper").tensor_dtype_to_np_dtype(tensor.data_type))
    shape = tuple(tensor.dims)
    count = int(np.prod(shape, dtype=object))
    if dtype.name in ("int4", "uint4", "float4_e2m1fn"):
        raise InputError(f"{place}: expected elements of whole bytes, found {dtype.name}")
    try:
        offset = int(said.get("offset", 0))
        length = int(said.get("length", count * dtype.itemsize))
    except ValueError:
        raise InputError(f"{place}: expected numbers for offset and length, found {said}") from None
    size = path.stat().st_size
    if length != count * dtype.itemsize or not 0 <= offset <= size - length:
        raise InputError(
            f"{place}: expected {count * dtype.itemsize} bytes for the extents {list(shape)}, "
            f"found {length} from byte {offset} on of the {size} in {path.name}"
        )
    try:
        array = np.fromfile(path, dtype.newbyteorder("<"), count, offset=offset)
    except (OSError, MemoryError) as error:
        raise InputError(f"{place}: {path.name}: {error}") from None
    return array.astype(dtype, copy=False).reshape(shape)


def _path_inside(folder: Path, location: str, place: str) -> Path:
    """Return the path of a file of data, which must lie in the model's own folder."""
    relative = Path(location)
    if not location or "\0" in location or relative.is_absolute() or ".." in relative.parts:
        raise InputError(
            f"{place}: expected data in a file beside the model, found the place {location!r}"
        )
    path = folder / relative
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{place}: expected its data in {printable(str(path))}, found none: {reason}"
        ) from None
    if not is_regular or not is_inside:
        raise InputError(
            f"{place}: expected a file inside of {folder}, found {printable(str(path))}, "
            "which leads elsewhere or is none"
        )
    return path
