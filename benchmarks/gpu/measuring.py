"""Times of a row: polygym's kernels under mappings, and PyTorch's, on the same arrays.

Both are times of the GPU, between two events around all launches of one call; the median counts.
Outputs are compared with PyTorch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.mappings import neighbour, random_mapping
from benchmarks.gpu.rows import TableRow
from polygym.errors import PolygymError
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.gpu.mapping.device_model import A100, H100
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.runtime.device.worker import DeviceWorker, KeptArrays
from polygym.runtime.worker.outcome import Ok

RUNS = 20
_TUNING_RUNS = 7
_RELATIVE = 2e-4  # of the greatest number: sums of thousands of floats in another order
_SLOW = 1.0  # seconds; a candidate is given so long in all


class MeasuredRow:
    """A row with its arrays on the device, to be run under mappings."""

    def __init__(self, row: TableRow, device: DeviceWorker) -> None:
        """Make the program, its schedule and its arrays."""
        self.row, self.device = row, device
        self.architecture = device.properties().architecture
        self.program = row.loaded()
        scop = self.program.scop
        self.legal = LegalSchedule(scop, isl_schedule(scop))
        self.arrays = KeptArrays(row.arrays(self.program))
        self.outputs = [output.array for output in self.program.outputs]

    def run(
        self, mapping: DeviceMapping, runs: int, *, wants_results: bool, seconds: float = 20.0
    ) -> tuple[float | None, dict[str, np.ndarray[Any, Any]], str]:
        """Return the median time, the outputs, and what to say if it failed."""
        sizes = dict(self.program.parameters)
        model = A100 if self.architecture < H100.target else H100
        try:
            program = map_to_device(self.legal, mapping, sizes, model)
            code = compile_ptx(program, self.architecture)
            done = self.device.run(
                program,
                code,
                self.arrays,
                sizes,
                results=self.outputs if wants_results else (),
                runs=runs,
                seconds=seconds,
            )
        except PolygymError as error:
            return None, {}, f"{type(error).__name__}: {error}"
        if not isinstance(done.outcome, Ok):
            return None, {}, str(done.outcome)
        return median(done.outcome.samples), dict(done.arrays), ""

    def difference(self, mapping: DeviceMapping, expected: list[np.ndarray[Any, Any]]) -> str:
        """Return how outputs under a mapping differ from others; nothing where they do not."""
        _, found, text = self.run(mapping, 1, wants_results=True)
        if text:
            return text
        for name, value in zip(self.outputs[-len(expected) :], expected, strict=True):
            own = found[name].reshape(value.shape).astype(np.float64)
            scale = max(float(np.abs(value).max(initial=0.0)), 1e-30)
            distance = float(np.abs(own - value).max(initial=0.0)) / scale
            if not distance <= _RELATIVE:
                return f"{name} differs by {distance:.2g} of its greatest number"
        return ""

    def tune(self, deadline: Deadline, seed: int) -> tuple[DeviceMapping, float | None, int]:
        """Return the fastest mapping that was found, its time, and how many were tried.

        Half of the tries are random ones, half differ from the best in one option.
        """
        rng = np.random.default_rng(seed)
        best: tuple[float, DeviceMapping] | None = None
        tried: set[DeviceMapping] = set()
        mapping, misses = DEFAULT_DEVICE_MAPPING, 0
        while deadline.left and misses < 50:
            if mapping in tried:
                misses += 1
            else:
                misses = 0
                tried.add(mapping)
                seconds, _, _ = self.run(mapping, _TUNING_RUNS, wants_results=False, seconds=_SLOW)
                if seconds is not None and (best is None or seconds < best[0]):
                    best = (seconds, mapping)
            if best is None or rng.random() < 0.5:
                mapping = random_mapping(rng)
            else:
                mapping = neighbour(best[1], rng)
        return (
            (best[1], best[0], len(tried)) if best else (DEFAULT_DEVICE_MAPPING, None, len(tried))
        )


@contextmanager
def exact_torch() -> Iterator[Any]:
    """Lend PyTorch with products of floats in single precision alone."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield torch
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def torch_times(measured: MeasuredRow) -> tuple[float, list[np.ndarray[Any, Any]]]:
    """Return the median time of PyTorch and its outputs."""
    written = {own.write.array for own in measured.program.scop.statements}
    names = [name for name in measured.program.scop.signature if name in measured.arrays.arrays]
    with exact_torch() as torch:
        inputs = [
            torch.from_numpy(measured.arrays.arrays[name]).cuda()
            for name in names
            if name not in written
        ]
        for _ in range(3):
            result = measured.row.peer(torch, *inputs)
        samples = []
        for _ in range(RUNS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            result = measured.row.peer(torch, *inputs)
            end.record()
            end.synchronize()
            samples.append(start.elapsed_time(end) / 1000.0)
        outputs = result if isinstance(result, tuple) else (result,)
        return median(samples), [own.cpu().numpy().astype(np.float64) for own in outputs]
