"""One model under PyTorch, torch.compile, onnxruntime and polygym, in turn in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.exported_models.acceptance import TOLERANCE, largest_error, model_of, results_of
from benchmarks.exported_models.exporting import call_module
from benchmarks.exported_models.public_models import example
from polygym.errors import PolygymError
from polygym.graphs.benchmark import time_interleaved
from polygym.graphs.execution import compile_model


def onnxruntime_call(path: Path, inputs: list[np.ndarray], threads: int) -> Callable[[], Any]:
    """Return a call of onnxruntime on the file as it was exported, with all of its rewriting."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait for the next call would take the processor from who is timed in between.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    # An exporter drops inputs that nothing needs; the others keep their numbers.
    names = [entry.name for entry in session.get_inputs()]
    given = {name: inputs[int(name.removeprefix("x"))] for name in names}
    return lambda: session.run(None, given)


def time_model(
    name: str, path: Path, after: Path | None, threads: int, seconds: float, rounds: int
) -> dict[str, Any]:
    """Return median milliseconds by library, and what went wrong.

    A library whose results are not PyTorch's is not timed.
    """
    torch.set_num_threads(threads)
    made = example(name)
    inputs = [tensor.numpy() for tensor in made.inputs]
    expected = [tensor.numpy() for tensor in call_module(made.module, made.inputs)]

    def torch_call(module: Any) -> Callable[[], Any]:
        return lambda: [tensor.numpy() for tensor in call_module(module, made.inputs)]

    def polygym_call(place: Path) -> Callable[[], Any]:
        compiled = compile_model(model_of(place), threads=threads)
        return lambda: results_of(compiled, inputs)

    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        "eager": lambda: torch_call(made.module),
        "torch.compile": lambda: torch_call(torch.compile(made.module)),
        "onnxruntime": lambda: onnxruntime_call(path, inputs, threads),
        "before": lambda: polygym_call(path),
    }
    if after is not None:
        makers["after"] = lambda: polygym_call(after)
    calls: dict[str, Callable[[], Any]] = {}
    row: dict[str, Any] = {"problem": ""}
    for library, make in makers.items():
        start = time.monotonic()
        try:
            call = make()
            error = largest_error(expected, call())
        except (PolygymError, RuntimeError, ValueError, TypeError, MemoryError) as problem:
            row["problem"] += f"{library}: {type(problem).__name__}: {str(problem)[:200]} "
            continue
        row[f"{library} ready"] = time.monotonic() - start
        if error > TOLERANCE:
            row["problem"] += f"{library}: results differ by {error:.2g} "
        else:
            calls[library] = call
    for library, taken in time_interleaved(calls, rounds, seconds, 0.1).items():
        row[library] = taken.median * 1e3
        row[f"{library} best"] = taken.best * 1e3
    return row
