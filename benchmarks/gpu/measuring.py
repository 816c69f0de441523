"""Times of a row: polygym's kernels under mappings, and PyTorch's, on the same arrays.

Both are times of the GPU, between two events around all launches of one call; the median counts.
PyTorch's launches are captured as a graph, where that is possible, as ours are if they are many.
Outputs are compared with PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.mappings import neighbour, random_mapping
from benchmarks.gpu.rows import TableRow
from polygym.errors import PolygymError
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.gpu.mapping.device_model import model_for
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.runtime.device.worker import DeviceWorker, KeptArrays
from polygym.runtime.worker.outcome import Ok

RUNS = 20
_TUNING_RUNS = 7
_RELATIVE = 2e-4  # of the greatest number: sums of thousands of floats in another order
_SLOW = 4.0  # seconds; a candidate is given so long in all, arrays and assembler included


@dataclass(frozen=True)
class Measured:
    """The times of some runs in seconds, outputs, and what to say if they failed."""

    samples: tuple[float, ...] = ()
    outputs: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    text: str = ""

    @property
    def seconds(self) -> float | None:
        """The median time, None where there is none."""
        return median(self.samples) if self.samples else None


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
        self, mapping: DeviceMapping, runs: int, seconds: float, *, wants_results: bool = False
    ) -> Measured:
        """Return the times, and the outputs if they are asked for; ``seconds`` is the limit."""
        sizes = dict(self.program.parameters)
        try:
            program = map_to_device(self.legal, mapping, sizes, model_for(self.architecture))
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
            return Measured(text=f"{type(error).__name__}: {error}")
        if not isinstance(done.outcome, Ok):
            return Measured(text=str(done.outcome))
        return Measured(done.outcome.samples, dict(done.arrays))

    def difference(
        self, mapping: DeviceMapping, expected: list[np.ndarray[Any, Any]], seconds: float
    ) -> str:
        """Return how outputs under a mapping differ from others; nothing where they do not."""
        done = self.run(mapping, 1, seconds, wants_results=True)
        if done.text:
            return done.text
        for name, value in zip(self.outputs[-len(expected) :], expected, strict=True):
            own = done.outputs[name].reshape(value.shape).astype(np.float64)
            scale = max(float(np.abs(value).max(initial=0.0)), 1e-30)
            distance = float(np.abs(own - value).max(initial=0.0)) / scale
            if not distance <= _RELATIVE:
                return f"{name} differs by {distance:.2g} of its greatest number"
        return ""

    def tune(
        self, tuning: Deadline, deadline: Deadline, seed: int
    ) -> tuple[DeviceMapping, float | None, int]:
        """Return the fastest mapping that was found, its time, and how many were tried.

        Half of the tries are random ones, half differ from the best in one option. The last one
        begins before the end of ``tuning`` and ends before that of ``deadline``.
        """
        rng = np.random.default_rng(seed)
        best: tuple[float, DeviceMapping] | None = None
        tried: set[DeviceMapping] = set()
        mapping, misses = DEFAULT_DEVICE_MAPPING, 0
        while tuning.left and misses < 50:
            if mapping in tried:
                misses += 1
            else:
                misses = 0
                tried.add(mapping)
                seconds = self.run(mapping, _TUNING_RUNS, deadline.limit(_SLOW)).seconds
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


@dataclass(frozen=True)
class TorchTimes:
    """PyTorch's times in seconds and outputs; ``in_graph`` if Python launched nothing meanwhile."""

    samples: tuple[float, ...]
    outputs: list[np.ndarray[Any, Any]]
    in_graph: bool


def torch_times(measured: MeasuredRow) -> TorchTimes:
    """Return the times of PyTorch and its outputs, on the GPU of the row's worker."""
    written = {own.write.array for own in measured.program.scop.statements}
    names = [name for name in measured.program.scop.signature if name in measured.arrays.arrays]
    ordinal = measured.device.ordinal
    with exact_torch() as torch, torch.cuda.device(ordinal):
        inputs = [
            torch.from_numpy(measured.arrays.arrays[name]).to(f"cuda:{ordinal}")
            for name in names
            if name not in written
        ]
        repeat, in_graph = captured(torch, lambda: measured.row.peer(torch, *inputs))
        samples = []
        for _ in range(RUNS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            result = repeat()
            end.record()
            end.synchronize()
            samples.append(start.elapsed_time(end) / 1000.0)
        outputs = result if isinstance(result, tuple) else (result,)
        found = [own.cpu().numpy().astype(np.float64) for own in outputs]
        return TorchTimes(tuple(samples), found, in_graph)


def captured(torch: Any, call: Callable[[], Any]) -> tuple[Callable[[], Any], bool]:
    """Return what repeats a call and returns its results, and whether it is a graph.

    Where PyTorch cannot capture the call, it is the call that is repeated.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            result = call()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        torch.cuda.synchronize()
        return call, False

    def replayed() -> Any:
        graph.replay()
        return result

    return replayed, True
