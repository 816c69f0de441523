"""Plain arrays with a header in one file: NumPy's archive, in which nothing is run.

What such a file holds is not trusted: how large it is unpacked is known before anything is, and
:data:`ARCHIVE_ERRORS` are the errors with which NumPy and its libraries answer to damage.

Example: the header ``{"format": "x"}`` and an array ``a`` make an archive with the members ``a``
and ``header``, the latter as the bytes of JSON.
"""

import hashlib
import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NamedArrays = dict[str, np.ndarray[Any, Any]]

ARCHIVE_ERRORS = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError,
    zipfile.BadZipFile, tokenize.TokenError, zlib.error,
)  # fmt: skip

_HEADER = "header"
_MAX_BYTES = 1 << 28


def pack_archive(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return the bytes of a file."""
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    every: dict[str, Any] = {**arrays, _HEADER: text}
    bytes_io = io.BytesIO()
    np.savez_compressed(bytes_io, **every)
    return bytes_io.getvalue()


def arrays_checksum(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """Return a check sum of arrays: of names, types, shapes and numbers."""
    result = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        result.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
        result.update(array.tobytes())
    return result.hexdigest()


def unpack_archive(path: Path) -> tuple[Any, NamedArrays]:
    """Return the header and the arrays of a file.

    Raises:
        UNREADABLE: it is damaged, or no such file.
    """
    contents = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(contents)) as members:
        told = members.infolist()
    plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(zip_info.compress_type not in plain for zip_info in told):
        raise ValueError("an archive that is compressed in another way")
    if sum(info.file_size for info in told) > _MAX_BYTES:
        raise ValueError(f"an archive of more than {_MAX_BYTES >> 20} MB")
    archive = np.load(io.BytesIO(contents), allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError("one array alone")
    with archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop(_HEADER).tobytes()), arrays
