"""A model as an ONNX file that onnx's checker has seen before it has its name."""

from __future__ import annotations

import os
from pathlib import Path

from polygym.errors import InputError, InternalError, printable
from polygym.files import temporary_folder
from polygym.graphs.ir.graph import Model
from polygym.graphs.onnx.exporter import remove_stale_weights, write
from polygym.graphs.onnx.format import onnx_module


def write_checked(model: Model, path: Path) -> list[Path]:
    """Write a model; return the files, of which the last is the model.

    Raises:
        InputError: the file cannot be written, or ONNX has no such operators.
    """
    place = printable(str(path))
    if path.is_dir():
        raise InputError(f"--out {place}: expected a file to be written, found a folder")
    onnx_module()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(path.parent, ".export-") as folder:
            new = folder / path.name
            write(model, new)
            _check(new)
            beside = [made for made in folder.iterdir() if made != new]
            for made in (*beside, new):
                os.replace(made, path.with_name(made.name))
    except OSError as error:
        raise InputError(f"--out {place}: cannot be written to: {error.strerror}") from None
    others = [path.with_name(made.name) for made in beside]
    remove_stale_weights(path, next(iter(others), None))
    return [*others, path]


def _check(path: Path) -> None:
    checker = onnx_module("checker")
    try:
        checker.check_model(str(path), full_check=True)
    except (checker.ValidationError, RuntimeError) as error:  # of inference of shapes
        raise InternalError(f"onnx's checker refuses the file: {error}") from error
