"""Convolutions as TVM's own tuner makes them: MetaSchedule, with its boosted trees.

TVM is no dependency: :data:`INSTALL` into an environment beside polygym, its extra ``cost`` and
PyTorch is all that it takes. (AutoTVM, which the study is modelled on, went out of TVM before 0.25,
the oldest release that there still is; and with a newer apache-tvm-ffi TVM 0.27 crashes.)

TVM's tuner times candidates by its own clock; what it has found runs under ours, as everything
else does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError
from search_study.programs import ConvolutionLayer

INSTALL = (
    "pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1 xgboost psutil cloudpickle"
)
_BATCH = 32


def tune_convolution(
    layer: ConvolutionLayer,
    image: np.ndarray,
    kernel: np.ndarray,
    threads: int,
    trials: int,
    folder: Path,
) -> Callable[[], Any]:
    """Return what runs the best of so many candidates, and returns TVM's tensor.

    TVM leaves its notes in ``folder``, which is emptied before: it would go on from earlier ones.

    Raises:
        InputError: TVM is not installed, or another one than this is written for.
    """
    try:
        import tvm
        from tvm import te
        from tvm.s_tir import meta_schedule
    except ImportError as error:
        raise InputError(f"TVM: expected `{INSTALL}`, found: {error}") from None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Its threads are made when they are first needed, and its workers are other processes.
    os.environ["TVM_NUM_THREADS"] = str(threads)
    name = tvm.target.codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": name, "num-cores": threads})
    _, channels, *sides = image.shape
    filters, _, *window = kernel.shape
    out = (1, filters, *((a - b) // layer.stride + 1 for a, b in zip(sides, window, strict=True)))
    pixels, weights = te.placeholder(image.shape), te.placeholder(kernel.shape)
    c, i, j = (te.reduce_axis((0, count)) for count in (channels, *window))
    step = layer.stride
    result = te.compute(
        out,
        lambda n, f, y, x: te.sum(
            pixels[n, c, y * step + i, x * step + j] * weights[f, c, i, j], axis=[c, i, j]
        ),
    )
    module = tvm.IRModule({"main": te.create_prim_func([pixels, weights, result])})
    database = meta_schedule.tir_integration.tune_tir(
        module,
        target,
        str(folder),
        trials,
        num_trials_per_iter=min(_BATCH, trials),
        num_tuning_cores="logical",
        seed=1,
    )
    best = meta_schedule.tir_integration.compile_tir(database, module, target)
    if best is None:
        raise InputError(f"TVM: expected a candidate that runs, found none among {trials}")
    function = tvm.compile(best.mod, target)["main"]
    arguments = [tvm.runtime.tensor(array) for array in (image, kernel, np.zeros(out, np.float32))]

    def run() -> Any:
        function(*arguments)
        return arguments[-1]

    return run
