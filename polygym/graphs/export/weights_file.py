"""The file of a library's weights: arrays in the format of safetensors, and a check sum.

::

    8 bytes      n, the length of the header, from the lowest byte on
    n bytes      JSON: {"__metadata__": {"polygym": IDENTITY},
                 "0": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, …} and spaces
    the rest     the arrays one after the other, from the lowest byte on

The identity is that of the library, which reads no other file. In memory each array begins at a
multiple of 64 bytes; the check sum is over that memory as 32-bit words w: a = Σ w, and b = Σ a, the
sum of a after every word, both modulo 2⁶⁴. The header has a sum of its own. Both are constants of
the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polygym.graphs.execution.planning.arena import ALIGNMENT

_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
_CHUNK = 1 << 20

Array = np.ndarray[Any, Any]


def header_start(identity: str) -> str:
    """Return how the header of the file of an identity begins."""
    return f'{{"__metadata__": {{"polygym": "{identity}"}}'


def weights_header(identity: str, arrays: Sequence[Array]) -> bytes:
    """Return what stands before the arrays."""
    entries, end = [], 0
    for number, array in enumerate(arrays):
        entry = {
            "dtype": _DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        entries.append(f', "{number}": {json.dumps(entry)}')
        end += array.nbytes
    text = header_start(identity) + "".join(entries) + "}"
    text += " " * (-(len(text) + 8) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text.encode()


def header_sum(header: bytes) -> int:
    """Return the check sum of a header: s = 31 s + byte, modulo 2⁶⁴.

    >>> header_sum(b"ab")
    3105
    """
    result = 0
    for byte in header:
        result = (31 * result + byte) % (1 << 64)
    return result


def write_weights(path: Path, identity: str, arrays: Sequence[Array]) -> None:
    """Write the file."""
    with path.open("wb") as file:
        file.write(weights_header(identity, arrays))
        for array in arrays:
            file.write(array_bytes(array))


def array_bytes(array: Array) -> memoryview:
    """Return the elements as they stand in the file."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def checksum(arrays: Sequence[Array]) -> tuple[int, int]:
    """Return both sums over the memory of the weights.

    >>> checksum([np.array([1, 2], np.int32)])
    (3, 46)
    """
    first = second = 0
    for words in _words(arrays):
        count = len(words)
        left = np.arange(count, 0, -1, dtype=np.uint64)
        second += count * first + int((words * left).sum(dtype=np.uint64))
        first += int(words.sum(dtype=np.uint64))
        first, second = first % (1 << 64), second % (1 << 64)
    return first, second


def _words(arrays: Sequence[Array]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield pieces of the memory as words, the bytes between arrays among them."""
    for array in arrays:
        data = np.frombuffer(array_bytes(array), np.uint8)
        whole = np.concatenate([data, np.zeros(-len(data) % ALIGNMENT, np.uint8)])
        words = whole.view("<u4")
        for start in range(0, len(words), _CHUNK):
            yield words[start : start + _CHUNK].astype(np.uint64)
