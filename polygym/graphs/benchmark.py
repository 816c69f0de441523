"""Models end to end, in a process of its own: compiled, compared, timed in turn.

A sum of parts is not a whole, and generated code may crash: so graphs that compute the same run in
one process, interleaved, and what ends that process is a value. All have the weights of one source,
by name. The first is what the others are compared with: its results, and its time.

``python -m polygym.graphs.benchmark`` is that process: a request as JSON comes in, a reply goes
out.

Several ways to compute the same, timed in turn: whatever disturbs one disturbs all.

A round calls each once, or so often that its calls take long enough for the clock; a sample is the
time of a call in a round. Ratios come from medians over rounds, the spread is kept. The clock is
``CLOCK_MONOTONIC``, as everywhere.
"""

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from polygym.errors import InputError, PolygymError
from polygym.foreign.libc import exit_with_parent


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Seconds of a call, round by round."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The usual time."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """The shortest time."""
        return min(self.samples)

    @property
    def spread(self) -> float:
        """How far the middle half of the samples reaches, as a share of the median.

        >>> round(CallTimes((1.0, 1.0, 1.1, 1.2, 2.0)).spread, 2)
        0.55
        """
        if len(self.samples) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / self.median


def time_interleaved(
    calls: Mapping[str, Callable[[], object]],
    rounds: int = 11,
    seconds: float = 10.0,
    min_seconds: float = 0.02,
) -> dict[str, CallTimes]:
    """Call all in turn for ``rounds`` rounds, or until ``seconds`` are over: three at least.

    ``min_seconds`` is how long the calls of a round take together, where a single one is shorter.
    """
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()
        start = time.monotonic()
        call()
        counts[name] = max(1, math.ceil(min_seconds / max(time.monotonic() - start, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    begun = time.monotonic()
    for number in range(rounds):
        # Every other round runs backwards: no call always follows the same one.
        order = list(calls)[:: 1 if number % 2 == 0 else -1]
        for name in order:
            call, count = calls[name], counts[name]
            start = time.monotonic()
            for _ in range(count):
                call()
            samples[name].append((time.monotonic() - start) / count)
        if number >= 2 and time.monotonic() - begun > seconds:
            break
    return {name: CallTimes(tuple(times)) for name, times in samples.items()}


TOLERANCE = 1e-4
"""Largest difference of results that counts as none, relative to the largest of the first."""


class Backend(StrEnum):
    """Runner of a graph; unfused is polygym with a kernel for every operator.

    A library is one that was exported.
    """

    POLYGYM = "polygym"
    UNFUSED = "unfused"
    TORCH = "torch"
    TORCH_COMPILE = "torch.compile"
    ONNXRUNTIME = "onnxruntime"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class BenchmarkEntry:
    """A name, the runner, and the text of its graph ("" for that of the source).

    ``file`` is a file of the model, exported before, that a library or onnxruntime runs.
    """

    name: str
    backend: Backend = Backend.POLYGYM
    graph: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class ModelBenchmark:
    """Models to time: the source of weights and how to open it, the entries, threads, time.

    With no ``rounds`` they run once, and their results are compared.
    """

    target: str
    entries: tuple[BenchmarkEntry, ...]
    threads: int = 1
    seed: int = 0
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    rounds: int = 11
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Result of an entry: seconds of its calls, its error to the first, its problem."""

    samples: tuple[float, ...] = ()
    error: float = 0.0
    problem: str = ""

    @property
    def seconds(self) -> float | None:
        """The median of its calls, None if it was not timed."""
        return CallTimes(self.samples).median if self.samples else None

    @property
    def is_correct(self) -> bool:
        """Whether it ran, and computed what the first did."""
        return not self.problem and self.error <= TOLERANCE


def run_benchmark(request: ModelBenchmark, limit: float = 3600.0) -> dict[str, BenchmarkResult]:
    """Return the result of every entry, by name.

    Raises:
        InputError: the source cannot be opened.
    """
    command = [sys.executable, "-m", "polygym.graphs.benchmark", str(os.getpid())]
    environment = {**os.environ, "OMP_NUM_THREADS": str(request.threads)}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asdict(request)),
            capture_output=True,
            text=True,
            timeout=limit,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {
            entry.name: BenchmarkResult(problem=f"took more than {limit:g} s")
            for entry in request.entries
        }
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        problem = f"the process ended with {done.returncode}: {last}"
        return {entry.name: BenchmarkResult(problem=problem) for entry in request.entries}
    reply = json.loads(lines[-1])
    if "refused" in reply:
        raise InputError(reply["refused"])
    return {
        name: BenchmarkResult(tuple(result["samples"]), result["error"], result["problem"])
        for name, result in reply.items()
    }


def _run_request(request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked, in this process."""
    from polygym.graphs.ir.graph import Model, random_inputs
    from polygym.graphs.ir.text import parse_graph
    from polygym.graphs.saved_model import open_source

    source = open_source(request["target"], request["shapes"], request["seed"])
    arrays = random_inputs(source.graph, request["seed"] + 1)
    calls: dict[str, Callable[[], object]] = {}
    replies: dict[str, dict[str, Any]] = {}
    first: list[Any] | None = None
    for entry in request["entries"]:
        reply = replies[entry["name"]] = {"samples": [], "error": 0.0, "problem": ""}
        try:
            graph = parse_graph(entry["graph"]) if entry["graph"] else source.graph
            model = Model(graph, source.model.weights)
            call = _prepared(
                Backend(entry["backend"]), model, arrays, request["threads"], entry["file"]
            )
            results = [np.asarray(result) for result in call()]
        except (PolygymError, MemoryError, RuntimeError, ValueError, TypeError) as error:
            reply["problem"] = f"{type(error).__name__}: {error}"
            continue
        first = results if first is None else first
        reply["error"] = _difference(first, results)
        if reply["error"] <= TOLERANCE:
            calls[entry["name"]] = call
    timed = calls if request["rounds"] else {}
    times = time_interleaved(timed, request["rounds"], request["seconds"]) if timed else {}
    for name, taken in times.items():
        replies[name]["samples"] = list(taken.samples)
    return replies


def _prepared(
    backend: Backend, model: Any, arrays: list[Any], threads: int, file: str
) -> Callable[[], list[Any]]:
    """Return a call without arguments that gives a list of results."""
    match backend:
        case Backend.POLYGYM | Backend.UNFUSED:
            from polygym.graphs.execution import compile_model

            is_fused = backend is Backend.POLYGYM
            compiled = compile_model(model, threads=threads, fuse=is_fused)

            def run() -> list[Any]:
                results = compiled(*arrays)
                return results if isinstance(results, list) else [results]

            return run
        case Backend.TORCH | Backend.TORCH_COMPILE:
            import torch

            from polygym.graphs.backends import as_torch

            torch.set_num_threads(threads)
            tensors = [torch.from_numpy(array) for array in arrays]
            function: Any = as_torch(model)
            if backend is Backend.TORCH_COMPILE:
                function = torch.compile(function)

            def run_torch() -> list[Any]:
                with torch.inference_mode():
                    result: list[Any] = function(*tensors)
                return result

            return run_torch
        case Backend.ONNXRUNTIME:
            from polygym.graphs.backends import as_onnxruntime

            session = as_onnxruntime(model, threads, Path(file) if file else None)
            return lambda: session(arrays)
        case Backend.LIBRARY:
            from polygym.graphs.backends import as_library

            library = as_library(model.graph, Path(file))
            return lambda: library(arrays)
        case _:
            assert_never(backend)


_ROUNDING = {"float16": 40.0, "bfloat16": 300.0}
"""Times by which a result of half precision may differ more: it is rounded last."""


def _difference(first: list[Any], other: list[Any]) -> float:
    """Return the largest difference relative to the largest number; infinity where shapes differ.

    So it is where one result is NaN or infinite and the other is not the same.

    >>> _difference([np.array([1.0, -4.0])], [np.array([1.0, -4.4])])
    0.10000000000000009
    >>> _difference([np.array([np.nan, np.inf])], [np.array([np.nan, -np.inf])])
    inf
    """
    if [array.shape for array in first] != [array.shape for array in other]:
        return float("inf")
    worst = 0.0
    for left, right in zip(first, other, strict=True):
        wide, beside = left.astype(np.float64), right.astype(np.float64)
        finite = np.isfinite(wide)
        same = np.array_equal(wide[~finite], beside[~finite], equal_nan=True)
        if not same or not np.isfinite(beside[finite]).all():
            return float("inf")
        scale = float(np.max(np.abs(wide[finite]), initial=0.0)) or 1.0
        gap = float(np.max(np.abs(wide[finite] - beside[finite]), initial=0.0))
        worst = max(worst, gap / scale / _ROUNDING.get(left.dtype.name, 1.0))
    return worst


def main() -> None:
    """Answer a request; whatever libraries print goes to standard error.

    It ends with the process that asked, whose number it is told.
    """
    exit_with_parent(int(sys.argv[1]))
    asked = json.loads(sys.stdin.read())
    with contextlib.redirect_stdout(sys.stderr):
        try:
            reply = _run_request(asked)
        except PolygymError as error:
            reply = {"refused": str(error)}
    print(json.dumps(reply))


if __name__ == "__main__":
    main()
