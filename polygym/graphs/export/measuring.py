"""An export beside the model that polygym runs: results compared, times taken in turn."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polygym.export.c_compiler import UserCompiler
from polygym.export.measuring import SLOWER
from polygym.files import temporary_folder
from polygym.graphs.benchmark import (
    TOLERANCE,
    Backend,
    BenchmarkEntry,
    BenchmarkResult,
    ModelBenchmark,
    run_benchmark,
)
from polygym.graphs.export.writing import WrittenLibrary
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ExportCheck:
    """The model in polygym, and as exported."""

    own: BenchmarkResult
    exported: BenchmarkResult

    @property
    def ratio(self) -> float | None:
        """How many times as long the export takes, None where one of both was not timed."""
        pairs = list(zip(self.exported.samples, self.own.samples, strict=False))
        return statistics.median(new / own for new, own in pairs) if pairs else None

    @property
    def is_slower(self) -> bool:
        """Whether the export is slower in three of four rounds, by more than is to be expected."""
        pairs = list(zip(self.exported.samples, self.own.samples, strict=False))
        ratios = [new / own for new, own in pairs]
        if len(ratios) > 1:
            return statistics.quantiles(ratios, n=4)[0] > SLOWER
        return any(ratio > SLOWER for ratio in ratios)

    @property
    def problem(self) -> str:
        """What is wrong, "" if nothing is."""
        if problem := self.own.problem or self.exported.problem:
            return problem
        if self.exported.is_correct:
            return ""
        return f"results differ by {self.exported.error:.2g}, more than {TOLERANCE:g}"


def check_export(
    target: str,
    shapes: Mapping[str, Sequence[int]],
    seed: int,
    threads: int,
    backend: Backend,
    file: Path,
) -> ExportCheck:
    """Run the model of a target, and the file that it was exported to."""
    entries = (BenchmarkEntry("own"), BenchmarkEntry("exported", backend, file=str(file)))
    done = run_benchmark(ModelBenchmark(target, entries, threads, seed, shapes))
    return ExportCheck(done["own"], done["exported"])


def check_library(
    target: str,
    shapes: Mapping[str, Sequence[int]],
    seed: int,
    threads: int,
    made: WrittenLibrary,
    compiler: UserCompiler,
) -> ExportCheck:
    """Run the model of a target, and the library; an object is linked for it."""
    with temporary_folder() as folder:
        shared = folder / made.code.with_suffix(".so").name
        flags = ("-fopenmp", "-lm") if threads > 1 else ("-lm",)
        if made.code.suffix == ".so":
            shared.symlink_to(made.code.resolve())
        else:
            whole = ["-Wl,--whole-archive", str(made.code), "-Wl,--no-whole-archive"]
            compiler.link_shared([], shared, *whole, *flags)
        shared.with_suffix(".safetensors").symlink_to(made.weights.resolve())
        return check_export(target, shapes, seed, threads, Backend.LIBRARY, shared)
