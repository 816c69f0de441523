"""Exported models as libraries: a context, called with the addresses of arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polygym.errors import ForeignCallError
from polygym.foreign._libc import ffi
from polygym.foreign.calls import function_at, library_digest, open_library

_CREATE = ffi.typeof("int(*)(const char *, uintptr_t *)")
_RUN = ffi.typeof("int(*)(uintptr_t, uintptr_t *, uintptr_t *)")
_DESTROY = ffi.typeof("void(*)(uintptr_t)")
_MESSAGE = ffi.typeof("const char *(*)(int)")


class ModelContext:
    """A context of the library of a model, by the name of its functions."""

    def __init__(self, path: Path, name: str, weights: Path) -> None:
        """Open the library and read the weights.

        Raises:
            ForeignCallError: the library refuses them.
        """
        handle = open_library(str(path), library_digest(path.read_bytes()))
        self._functions = {
            part: ffi.cast(kind, function_at(handle, f"{name}_{part}") or 0)
            for part, kind in (
                ("create", _CREATE),
                ("run_arrays", _RUN),
                ("destroy", _DESTROY),
                ("message", _MESSAGE),
            )
        }
        cell = ffi.new("uintptr_t[1]")
        self._expect_success(self._functions["create"](str(weights).encode(), cell))
        self._context = cell[0]

    def run(self, inputs: Sequence[int], results: Sequence[int]) -> None:
        """Compute, with the addresses of all arrays.

        Raises:
            ForeignCallError: the library says that it could not.
        """
        given, made = (ffi.new("uintptr_t[]", list(part) or [0]) for part in (inputs, results))
        self._expect_success(self._functions["run_arrays"](self._context, given, made))

    def close(self) -> None:
        """Give the context back."""
        self._functions["destroy"](self._context)
        self._context = 0

    def _expect_success(self, code: int) -> None:
        if code:
            text: Any = ffi.string(self._functions["message"](code))
            raise ForeignCallError(code, text.decode())
