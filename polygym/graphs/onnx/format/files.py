"""An ONNX file, opened: parsed, its operator set known, its functions put in place.

Nothing in a file is believed: what it is, how large it is and what it names is looked at first.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.onnx.format.onnx_package import onnx_module

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
        InputError: it is no ONNX model, or one of an operator set that is not understood.
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
    versions = {one.domain: one.version for one in model.opset_import}
    opset = next((versions[name] for name in _STANDARD if name in versions), None)
    if opset is None or not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        found = f"opset {opset}" if opset is not None else "none"
        raise InputError(
            f"{title}: expected operators of opset {OLDEST_OPSET} to {NEWEST_OPSET}, found "
            f"{found}: export with opset_version=18, or convert it with onnx.version_converter"
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
    counts = Counter(one.name for one in graph.initializer)
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
            for one in [value] if hasattr(value, "ListFields") else value:
                yield from _texts(one)


def _inline_functions(model: Any, title: str) -> Any:
    """Return a model whose own functions stand where they were called."""
    try:
        return onnx_module("inliner").inline_local_functions(model)
    except Exception as error:  # of the C++ library, without a class of their own
        raise InputError(f"{title}: its functions cannot be put in place: {error}") from None
