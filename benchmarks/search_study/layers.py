"""The layers of a network beside another library's: nothing measured, and after a search.

The contenders of a row run in turn in one process, on the same image, the best of several rounds of
each; outputs are compared. The ratio is the library's time over ours. What an earlier search has
found, or this one, is not what the default is: the user's cache is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from tc import call_times

from polygym.errors import PolygymError
from polygym.frontend.tc import library
from polygym.mapping.mapping import Mapping
from polygym.tc.comprehension import Comprehension
from search_study import tvm_tuner
from search_study.candidate_timing import check_tuned
from search_study.journal import append_line, read_lines
from search_study.programs import LAYERS
from search_study.version import code_version, versions_note

POPULATION = 32


@dataclass(frozen=True)
class LayerTimes:
    """Seconds of a layer: the other library's, ours by default, and after a search of trials.

    Trials are in whole generations, and what a search begins with is tried in any case, so
    ``tried`` may be more than were asked for. ``tvm`` is after as many as ``tried`` of TVM's.
    ``version`` is that of polygym, empty where it is not known.
    """

    layer: str
    torch: float
    default: float
    tuned: float | None
    trials: int
    search: str
    rounds: int
    tvm: float | None = None
    tried: int = 0
    version: str = ""

    @property
    def best(self) -> float:
        """The better one of ours."""
        return self.default if self.tuned is None else min(self.default, self.tuned)


def measure_layer(
    name: str, threads: int, trials: int, search: str, rounds: int, tvm: Path | None = None
) -> LayerTimes:
    """Return the times of a layer; 0 trials leave the search out.

    ``tvm`` is the folder in which TVM's tuner leaves its notes, None where it is not to be asked.

    Raises:
        PolygymError: an output was wrong, code crashed, or TVM is not installed.
    """
    import torch

    torch.set_num_threads(threads)
    layer = LAYERS[name]
    rng = np.random.default_rng(0)
    sizes = layer.sizes
    image = rng.random([sizes[letter] for letter in "NCHW"], np.float32) - np.float32(0.5)
    kernel = rng.random([sizes[literal] for literal in ("F", "C", "KH", "KW")], np.float32)
    steps = (layer.stride, layer.stride) if layer.stride > 1 else ()
    definition = library.definition(layer.comprehension)
    operators = {"default": Comprehension(definition, Mapping(threads=threads))}
    tried = 0
    if trials:
        operators["tuned"] = Comprehension(definition, Mapping(threads=threads))
        population = min(POPULATION, trials)
        result = operators["tuned"].tune(
            *steps, image, kernel, strategy=search, population=population,
            generations=-(-trials // population),
        )  # fmt: skip
        check_tuned(name, result)
        tried = result.tried
    tensors = torch.from_numpy(image), torch.from_numpy(kernel)
    conv2d = torch.nn.functional.conv2d

    def ours(operator: Comprehension) -> Callable[[], Any]:
        return lambda: operator(*steps, image, kernel)

    calls: dict[str, Callable[[], Any]] = {
        which: ours(operator) for which, operator in operators.items()
    }
    calls["torch"] = lambda: conv2d(*tensors, stride=layer.stride)
    expected = calls["torch"]().numpy()
    if tvm is not None:
        calls["tvm"] = tvm_tuner.tune_convolution(layer, image, kernel, threads, tried, tvm / name)
    for which, call in calls.items():
        output = call()
        values = output if isinstance(output, np.ndarray) else output.numpy()
        if values.shape != expected.shape or not np.allclose(values, expected, 2e-3, 2e-3):
            raise PolygymError(f"{name}, {which}: expected PyTorch's output, found another")
    with torch.inference_mode():
        times = {which: min(taken) for which, taken in call_times(calls, rounds).items()}
    return LayerTimes(
        name, times["torch"], times["default"], times.get("tuned"), trials, search, rounds,
        times.get("tvm"), tried, code_version(),
    )  # fmt: skip


LayerKey: TypeAlias = tuple[str, int, str, int, bool]
"""A layer, how many trials of which search, how many rounds, and whether TVM is beside it."""


def read_times(path: Path) -> dict[LayerKey, LayerTimes]:
    """Return what an earlier run has measured."""
    result = {}
    for _, times in read_lines(path, lambda data: LayerTimes(**data)):
        has_tvm = times.tvm is not None
        result[times.layer, times.trials, times.search, times.rounds, has_tvm] = times
    return result


def append_times(path: Path, times: LayerTimes) -> None:
    """Add a row to a file."""
    append_line(path, json.dumps(asdict(times)))


def layers_table(rows: Sequence[LayerTimes]) -> str:
    """Return a table in Markdown, the geometric means of the ratios in the last row."""
    has_tvm = any(times.tvm for times in rows)
    heads = ["layer", "torch, ms", "default, ms", "tuned, ms", "torch/default", "torch/best"]
    heads += ["tvm, ms", "tvm/best"] if has_tvm else []
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for layer_times in rows:
        cells = [
            layer_times.layer,
            _ms(layer_times.torch),
            _ms(layer_times.default),
            _ms(layer_times.tuned),
        ]
        cells += [
            f"{layer_times.torch / layer_times.default:.2f}",
            f"{layer_times.torch / layer_times.best:.2f}",
        ]
        cells += (
            [
                _ms(layer_times.tvm),
                f"{layer_times.tvm / layer_times.best:.2f}" if layer_times.tvm else "-",
            ]
            if has_tvm
            else []
        )
        lines.append(f"| {' | '.join(cells)} |")
    if rows:
        cells = ["geometric mean", "", "", "", _mean(row.torch / row.default for row in rows)]
        cells.append(_mean(row.torch / row.best for row in rows))
        cells += ["", _mean(row.tvm / row.best for row in rows if row.tvm)] if has_tvm else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + versions_note(row.version for row in rows)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.3f}"


def _mean(ratios: Iterable[float]) -> str:
    return f"{exp(fmean(map(log, ratios))):.2f}"
