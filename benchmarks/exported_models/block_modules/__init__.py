"""Sixty modules as networks have them, written for this: exported at run time, and compared."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.exported_models.block_modules import attention, images, others
from benchmarks.exported_models.block_modules.registry import BLOCKS

__all__ = ["BLOCKS", "MODULE_NAMES", "attention", "check_module", "images", "others"]

MODULE_NAMES = tuple(BLOCKS)


def check_module(name: str, exporter: str, threads: int) -> dict[str, Any]:
    """Export a module, and return the row of what polygym makes of it."""
    from benchmarks.exported_models.acceptance import check_file
    from benchmarks.exported_models.exporting import call_module, export_file

    module, inputs = BLOCKS[name].example()
    expected = [tensor.numpy() for tensor in call_module(module, inputs)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.onnx"
        if problem := export_file(module, inputs, path, exporter):
            return {"status": "not exported", "message": problem}
        return check_file(path, [tensor.numpy() for tensor in inputs], expected, threads)
