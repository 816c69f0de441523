"""The tables: comprehensions beside PyTorch, a large product beside cuBLAS, stencils."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.measuring import RUNS, MeasuredRow, torch_times
from benchmarks.gpu.rows import TableRow
from polygym.errors import PolygymError
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, parse_device_mapping
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


def measure_rows(
    step: str,
    rows: Sequence[TableRow],
    device: DeviceWorker,
    journal: Journal,
    deadline: Deadline,
) -> None:
    """Tune each row for an equal share of the time, and measure it beside PyTorch."""
    left = [row for row in rows if (step, row.name) not in journal]
    for place, row in enumerate(left):
        if not deadline.left:
            return
        share = deadline.part(deadline.left / (len(left) - place))
        try:
            values = measured_row(row, device, share)
        except Exception as error:  # the next row is to be tried
            text = f"{type(error).__name__}: {error}"
            values = {**dict.fromkeys(("torch", "default", "tuned")), "wrong": text}
            values |= {"mapping": "", "tried": 0}
        journal.add(step, row.name, **values)


def measured_row(row: TableRow, device: DeviceWorker, deadline: Deadline) -> dict[str, Any]:
    """Return the times of a row as plain data."""
    measured = MeasuredRow(row, device)
    theirs, expected = torch_times(measured)
    default, _, text = measured.run(DEFAULT_DEVICE_MAPPING, RUNS, wants_results=False)
    mapping, _, tried = measured.tune(deadline, seed=0)
    tuned, _, _ = measured.run(mapping, RUNS, wants_results=False)
    wrong = [measured.difference(own, expected) for own in {DEFAULT_DEVICE_MAPPING, mapping}]
    return {
        "torch": theirs,
        "default": default,
        "tuned": tuned,
        "mapping": str(mapping),
        "tried": tried,
        "wrong": "; ".join(filter(None, [text, *wrong])),
    }


def measure_stencils(device: DeviceWorker, journal: Journal, deadline: Deadline) -> None:
    """Measure stencils in the order of the source: each step is a launch or two."""
    properties = device.properties()
    for name, sizes, moved in STENCILS:
        key = f"{name} n={sizes['n']}"
        if ("stencil", key) in journal or not deadline.left:
            continue
        program = load_program(name, parameters=sizes)
        legal = LegalSchedule(program.scop, original_schedule(program.scop))
        best: tuple[float, str] | None = None
        arrays = KeptArrays({own.name: zeros(program, own) for own in program.scop.arrays})
        for text in ("", "block=32x8", "block=64x4", "block=128x2", "block=256", "block=32x4x2"):
            mapping = parse_device_mapping(f"device=cuda {text}")
            try:
                kernels = map_to_device(legal, mapping, sizes)
                code = compile_ptx(kernels, properties.architecture)
            except PolygymError:
                continue
            done = device.run(kernels, code, arrays, sizes, runs=3, seconds=20.0)
            if isinstance(done.outcome, Ok) and (best is None or done.outcome.best < best[0]):
                best = (done.outcome.best, str(mapping))
        size = moved * sizes["n"] ** _DIMENSIONS[name] * sizes["tsteps"]
        is_known = best is not None and properties.bandwidth > 0
        share = size / best[0] / properties.bandwidth if is_known else None
        journal.add(
            "stencil",
            key,
            seconds=None if best is None else best[0],
            mapping="" if best is None else best[1],
            share=share,
        )


def zeros(program: Any, array: Any) -> Any:
    """Return an array of a program that holds zeros."""
    return np.zeros(program.shape(array), dtype_of(array.type))
