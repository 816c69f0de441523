"""The package ``onnx``, which the extra ``graphs`` brings, asked for where it is needed."""

from importlib import import_module
from typing import Any

from polygym.errors import InputError


def onnx_module(name: str = "") -> Any:
    """Return ``onnx``, or a module of it.

    Raises:
        InputError: it is not installed; says how it is.
    """
    try:
        return import_module(f"onnx.{name}" if name else "onnx")
    except ImportError as error:
        raise InputError(
            "ONNX files: expected the package onnx, which is not there "
            f"({error}): pip install 'polygym[graphs]'"
        ) from None
