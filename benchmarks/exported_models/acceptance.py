"""Whether polygym accepts an ONNX file, and computes what PyTorch does.

An error is the largest difference relative to the largest number of the result, for the worst
result. Integers and truth values must be equal.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError, PolygymError
from polygym.graphs.execution import CompiledModel, compile_model
from polygym.graphs.ir.graph import Model
from polygym.graphs.onnx import read
from polygym.graphs.saved_model import load

TOLERANCE = 1e-4
"""Largest error that counts as none: sums are added in another order."""


def largest_error(expected: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> float:
    """Return the error of the worst result, infinity where shapes or types differ.

    >>> largest_error([np.array([1.0, 4.0])], [np.array([1.0, 3.0])])
    0.25
    """
    if [(x.shape, x.dtype) for x in expected] != [(x.shape, x.dtype) for x in found]:
        return float("inf")
    return max(map(_error, expected, found), default=0.0)


def _error(expected: np.ndarray, found: np.ndarray) -> float:
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(expected, found) else float("inf")
    wide, other = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(wide)
    if not np.array_equal(wide[~finite], other[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(other[finite]).all():
        return float("inf")
    scale = float(np.max(np.abs(wide[finite]), initial=0.0)) or 1.0
    return float(np.max(np.abs(wide - other)[finite], initial=0.0)) / scale


def results_of(compiled: CompiledModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the results of a call as a list."""
    results = compiled(*inputs)
    return results if isinstance(results, list) else [results]


def optimize_file(
    path: Path, folder: Path, costs: str, threads: int, limit: float
) -> dict[str, Any]:
    """Run ``polygym graph optimize`` into a folder; return its report.

    Raises:
        InputError: the command fails, or takes longer than ``limit`` seconds.
    """
    command = [sys.executable, "-m", "polygym", "graph", "optimize", str(path), "--costs", costs]
    command += ["--threads", str(threads), "--out", str(folder), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"polygym graph optimize took more than {limit:g} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"polygym graph optimize: {last}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def check_file(
    path: Path, inputs: Sequence[np.ndarray], expected: Sequence[np.ndarray], threads: int
) -> dict[str, Any]:
    """Return the row of a file or an optimized folder: refused with which sentence, or its error.

    Nodes, seconds and kernels are those of the model as it is.
    """
    row: dict[str, Any] = {"status": "ok", "message": ""}
    start = time.monotonic()
    try:
        model = model_of(path)
        row["read_seconds"] = time.monotonic() - start
        row["nodes"] = sum(1 for term in model.graph.nodes() if term.children)
        start = time.monotonic()
        compiled = compile_model(model, threads=threads)
    except PolygymError as error:
        return row | {"status": "refused", "message": str(error).replace(str(path), path.name)}
    row["compile_seconds"] = time.monotonic() - start
    row["kernels"] = len(compiled.steps)
    row["error"] = largest_error(expected, results_of(compiled, inputs))
    return row | ({} if row["error"] <= TOLERANCE else {"status": "wrong"})


def model_of(path: Path) -> Model:
    """Return the model of an ONNX file or of a folder of ``polygym graph optimize``."""
    return load(path).model if path.is_dir() else read(path)
