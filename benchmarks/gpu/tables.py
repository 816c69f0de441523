"""The tables: comprehensions beside PyTorch, a large product beside cuBLAS, stencils."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.correctness import note
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.measuring import RUNS, MeasuredRow, torch_times
from benchmarks.gpu.rows import TableRow
from polygym.errors import PolygymError
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, parse_device_mapping
from polygym.gpu.mapping.device_model import model_for
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.programs.dtypes import dtype_of
from polygym.runtime.device.worker import DeviceWorker, KeptArrays
from polygym.runtime.worker.outcome import Ok

# Sizes at LARGE and about 8 times that, and the bytes that one step has to move for each element.
STENCILS = (
    ("jacobi-2d", {"tsteps": 50, "n": 1300}, 4 * 8),
    ("jacobi-2d", {"tsteps": 50, "n": 3700}, 4 * 8),
    ("heat-3d", {"tsteps": 50, "n": 120}, 4 * 8),
    ("heat-3d", {"tsteps": 50, "n": 240}, 4 * 8),
)
_DIMENSIONS = {"jacobi-2d": 2, "heat-3d": 3}
_MOST_SECONDS = 20.0
_TUNING_SHARE = 0.7  # of the time of a row; the rest is for measuring and comparing
_NOTHING_MEASURED: dict[str, Any] = {
    **dict.fromkeys(("torch", "default", "tuned")),
    "mapping": "",
    "tried": 0,
}


def measure_rows(
    step: str,
    rows: Sequence[TableRow],
    device: DeviceWorker,
    journal: Journal,
    deadline: Deadline,
) -> None:
    """Tune each row for an equal share of the time, and measure it beside PyTorch."""
    by_name = {row.name: row for row in rows}
    left = journal.open_names(step, by_name)
    for number, name in enumerate(left):
        if not deadline.left:
            return
        tuning = deadline.part(_TUNING_SHARE * deadline.left / (len(left) - number))
        try:
            values = measured_row(by_name[name], device, tuning, deadline)
        except Exception as error:  # the next row is to be tried
            values = {**_NOTHING_MEASURED, "wrong": f"{type(error).__name__}: {error}"}
        note(journal, step, name, {**values, "ok": not values["wrong"]}, deadline)


def measured_row(
    row: TableRow, device: DeviceWorker, tuning: Deadline, deadline: Deadline
) -> dict[str, Any]:
    """Return the times of a row as plain data: medians, and all samples."""
    measured = MeasuredRow(row, device)
    theirs = torch_times(measured)
    default = measured.run(DEFAULT_DEVICE_MAPPING, RUNS, deadline.limit(_MOST_SECONDS))
    mapping, _, tried = measured.tune(tuning, deadline, seed=0)
    tuned = measured.run(mapping, RUNS, deadline.limit(_MOST_SECONDS))
    wrong = [
        measured.difference(own, theirs.outputs, deadline.limit(_MOST_SECONDS))
        for own in dict.fromkeys((DEFAULT_DEVICE_MAPPING, mapping))
    ]
    return {
        "torch": median(theirs.samples),
        "torch_in_graph": theirs.in_graph,
        "default": default.seconds,
        "tuned": tuned.seconds,
        "mapping": str(mapping),
        "tried": tried,
        "wrong": "; ".join(dict.fromkeys(filter(None, [default.text, tuned.text, *wrong]))),
        "torch_samples": list(theirs.samples),
        "default_samples": list(default.samples),
        "tuned_samples": list(tuned.samples),
    }


def stencil_key(name: str, sizes: Mapping[str, int]) -> str:
    """Return what to call a stencil at sizes."""
    return f"{name} n={sizes['n']}"


def measure_stencils(device: DeviceWorker, journal: Journal, deadline: Deadline) -> None:
    """Measure stencils in the order of the source: each step is a launch or two."""
    stencils = {stencil_key(name, sizes): (name, sizes, moved) for name, sizes, moved in STENCILS}
    for key in journal.open_names("stencil", stencils):
        if not deadline.left:
            return
        try:
            values = measured_stencil(*stencils[key], device, deadline)
        except Exception as error:  # the next one is to be tried
            values = {"ok": False, "seconds": None, "mapping": "", "share": None}
            values["text"] = f"{type(error).__name__}: {error}"
        note(journal, "stencil", key, values, deadline)


def measured_stencil(
    name: str, sizes: Mapping[str, int], moved: int, device: DeviceWorker, deadline: Deadline
) -> dict[str, Any]:
    """Return the time of a stencil under its best block as plain data."""
    properties = device.properties()
    program = load_program(name, parameters=dict(sizes))
    legal = LegalSchedule(program.scop, original_schedule(program.scop))
    arrays = KeptArrays({own.name: zeros(program, own) for own in program.scop.arrays})
    best, text = "", ""
    samples: tuple[float, ...] = ()
    for block in ("", "block=32x8", "block=64x4", "block=128x2", "block=256", "block=32x4x2"):
        mapping = parse_device_mapping(f"device=cuda {block}")
        try:
            kernels = map_to_device(legal, mapping, sizes, model_for(properties.architecture))
            code = compile_ptx(kernels, properties.architecture)
            limit = deadline.limit(_MOST_SECONDS)
            done = device.run(kernels, code, arrays, sizes, runs=3, seconds=limit)
        except PolygymError as error:
            text = f"{type(error).__name__}: {error}"
            continue
        if not isinstance(done.outcome, Ok):
            text = str(done.outcome)
        elif not samples or min(done.outcome.samples) < min(samples):
            best, samples = str(mapping), done.outcome.samples
    size = moved * sizes["n"] ** _DIMENSIONS[name] * sizes["tsteps"]
    is_known = samples and properties.bandwidth > 0
    return {
        "ok": bool(samples),
        "seconds": min(samples, default=None),
        "mapping": best,
        "share": size / min(samples) / properties.bandwidth if is_known else None,
        "samples": list(samples),
        "text": "" if samples else text,
    }


def zeros(program: Any, array: Any) -> Any:
    """Return an array of a program that holds zeros."""
    return np.zeros(program.shape(array), dtype_of(array.type))
