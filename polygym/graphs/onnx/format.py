"""ONNX files: the package, safe names, tensors, and the file as it is opened.

Nothing in a file is believed: its kind, its size and what it names are checked first.

Names of foreign files, made safe: for texts of graphs, for ``name@shape``, and all different.

A name keeps its letters, digits and ``_ . : / -``; every other character becomes ``_``.

An ONNX file, opened: parsed, its operator set known, its functions put in place.

Nothing in a file is believed: what it is, how large it is and what it names is looked at first.
"""

import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError, MissingLibraryError, printable


def onnx_module(name: str = "") -> Any:
    """Return ``onnx``, or a module of it.

    Raises:
        InputError: it is not installed; says how it is.
    """
    try:
        return import_module(f"onnx.{name}" if name else "onnx")
    except ImportError:
        raise MissingLibraryError("ONNX files", "onnx", "graphs") from None


_UNSAFE = re.compile(r"[^A-Za-z0-9_.:/-]")


class SafeNames:
    """Hands out names, none of them twice.

    >>> names = SafeNames()
    >>> names.unique("a b@3"), names.unique("a_b@3"), names.unique("")
    ('a_b_3', 'a_b_3_2', 'unnamed')
    """

    def __init__(self) -> None:
        """Begin with none taken."""
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, preferred: str) -> str:
        """Return a safe name, as near to what is wished for as is free."""
        safe = _UNSAFE.sub("_", preferred) or "unnamed"
        name, number = safe, self._next.get(safe, 2)
        while name in self._taken:
            name, number = f"{safe}_{number}", number + 1
        self._next[safe] = number
        self._taken.add(name)
        return name


Array = np.ndarray[Any, Any]


def dtype_of(number: int) -> str:
    """Return the name of an ONNX element type in NumPy, or what ONNX calls it.

    >>> dtype_of(1), dtype_of(10), dtype_of(8), dtype_of(999)
    ('float32', 'float16', 'STRING', 'type 999')
    """
    onnx = onnx_module()
    if number not in onnx.TensorProto.DataType.values():
        return f"type {number}"
    title = str(onnx.TensorProto.DataType.Name(number))
    if title in ("STRING", "UNDEFINED"):
        return title
    return str(np.dtype(onnx_module("helper").tensor_dtype_to_np_dtype(number)).name)


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
        return _read_external(tensor, folder, place)
    try:
        return np.asarray(arrays.to_array(tensor))
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise InputError(
            f"{place}: expected {kind} of the extents {list(tensor.dims)}, "
            f"found other data: {error}"
        ) from None


def _read_external(tensor: Any, folder: Path, place: str) -> Array:
    """Read the part of a file beside the model that a tensor names."""
    said = {entry.key: entry.value for entry in tensor.external_data}
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


OLDEST_OPSET = 7
"""Before it, broadcasting was said by attributes."""

NEWEST_OPSET = 27
"""The newest whose changes to the operators here were read."""

_MAX_BYTES = (1 << 31) - 1
_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """A model as ONNX has it, where it lies, and the version of its operators."""

    model: Any
    path: Path
    opset: int

    @property
    def display_name(self) -> str:
        """How errors name the file."""
        return printable(str(self.path))


def open_onnx(path: Path) -> OnnxFile:
    """Open a file.

    Raises:
        InputError: it is no ONNX model, or one of an operator set that is not supported.
    """
    title = printable(str(path))
    model = _parse(path, title)
    if not model.HasField("graph") or not model.graph.output:
        raise InputError(f"{title}: expected an ONNX model, found no graph with results in it")
    if not all(isinstance(text, str) for text in _texts(model)):
        raise InputError(f"{title}: expected an ONNX model, found names that are no text")
    if model.functions:
        model = _inline_functions(model, title)
    _reject_duplicates(model.graph, title)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    opset = next((versions[name] for name in _STANDARD if name in versions), None)
    if opset is None or not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        opset_text = f"opset {opset}" if opset is not None else "none"
        raise InputError(
            f"{title}: expected operators of opset {OLDEST_OPSET} to {NEWEST_OPSET}, found "
            f"{opset_text}: export with opset_version=18, or convert it with onnx.version_converter"
        )
    return OnnxFile(model, path, opset)


def _parse(path: Path, title: str) -> Any:
    onnx = onnx_module()
    try:
        if not path.is_file():
            literal = (
                "a folder" if path.is_dir() else "none" if not path.exists() else "another thing"
            )
            raise InputError(f"{title}: expected a file, found {literal}")
        if (size := path.stat().st_size) > _MAX_BYTES:
            raise InputError(
                f"{title}: expected at most {_MAX_BYTES} bytes, which is all that such a file can "
                f"hold, found {size}: save it with its weights beside it (save_as_external_data)"
            )
        return onnx.ModelProto.FromString(path.read_bytes())
    except (OSError, ValueError, MemoryError) as error:
        raise InputError(f"{title}: expected a file that can be read: {error}") from None
    except InputError:
        raise
    except Exception as error:  # protobuf's own class, whose module differs between its versions
        if type(error).__name__ != "DecodeError":
            raise
        raise InputError(
            f"{title}: expected an ONNX model, found something else, or a part of one "
            f"(onnx {onnx.__version__}: {error})"
        ) from None


def _reject_duplicates(graph: Any, title: str) -> None:
    """Refuse weights without a meaning of their own: of one name, or written sparsely."""
    if graph.sparse_initializer:
        name = printable(graph.sparse_initializer[0].values.name)
        raise InputError(f"{title}: expected weights with all elements, found the sparse {name}")
    counts = Counter(weight.name for weight in graph.initializer)
    for name, count in counts.items():
        if count > 1 or not name:
            raise InputError(
                f"{title}: expected different names for weights, found {count} named "
                f"{printable(name)!r}"
            )


def _texts(message: Any) -> Iterator[str | bytes]:
    """Yield all texts in a message: protobuf leaves as bytes what is none."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            yield from [value] if isinstance(value, str | bytes) else value
        elif field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _texts(part)


def _inline_functions(model: Any, title: str) -> Any:
    """Return a model whose own functions stand where they were called."""
    try:
        return onnx_module("inliner").inline_local_functions(model)
    except Exception as error:  # of the C++ library, without a class of their own
        raise InputError(f"{title}: its functions cannot be put in place: {error}") from None
