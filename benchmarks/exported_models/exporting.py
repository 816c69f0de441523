"""Models as ONNX files, by both exporters of PyTorch, with one call's inputs and results.

A folder has ``NAME-old.onnx`` and ``NAME-new.onnx`` (the exporter that traces, and the newer one
with ``dynamo=True``), ``NAME.npz`` with the arrays of the example call and what PyTorch returns,
and the messages of an exporter that failed.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from polygym.files import atomic_file

EXPORTERS = ("old", "new")


def call_module(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the results of a module as a list."""
    with torch.inference_mode():
        results = module(*inputs)
    return [results] if isinstance(results, torch.Tensor) else list(results)


def export_file(
    module: torch.nn.Module, inputs: Sequence[torch.Tensor], path: Path, exporter: str
) -> str:
    """Write a module as an ONNX file; return the exporter's problem, "" if there is none.

    Inputs are named ``x0``, ``x1``, …. Weights are in the file.
    """
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    # The fast path of attention is one operator that the exporter has no name for.
    torch.backends.mha.set_fastpath_enabled(False)
    names = [f"x{place}" for place in range(len(inputs))]
    options: dict[str, Any] = {"external_data": False} if exporter == "new" else {}
    try:
        with warnings.catch_warnings(), torch.no_grad(), atomic_file(path) as beside:
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module,
                tuple(inputs),
                str(beside),
                input_names=names,
                dynamo=exporter == "new",
                verbose=False,
                **options,
            )
    except Exception as error:  # an exporter raises what it likes
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    return ""


def write_example(
    module: torch.nn.Module, inputs: Sequence[torch.Tensor], path: Path
) -> list[torch.Tensor]:
    """Write the arrays of a call, and return its results."""
    results = call_module(module, inputs)
    arrays = {f"input{place}": tensor.numpy() for place, tensor in enumerate(inputs)}
    arrays |= {f"result{place}": tensor.numpy() for place, tensor in enumerate(results)}
    with atomic_file(path) as beside, beside.open("wb") as file:
        np.savez(file, **arrays)
    return results


def read_example(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the inputs and the results of a call."""
    with np.load(path, allow_pickle=False) as file:
        names = list(file)
        inputs = [file[name] for name in names if name.startswith("input")]
        return inputs, [file[name] for name in names if name.startswith("result")]
