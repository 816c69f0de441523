"""The layers of a network beside another library's: nothing measured, and after a search.

The contenders of a row run in turn in one process, on the same image, the best of several rounds of
each; outputs are compared. The ratio is the library's time over ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from tc import best_times

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.frontend.tc import library
from polygym.tc.comprehension import Comprehension
from study.journal import add_line, read_lines
from study.programs import LAYERS

POPULATION = 32


@dataclass(frozen=True)
class Times:
    """Seconds of a layer: the other library's, ours by default, and after a search of trials.

    Trials are in whole generations: 48 are two of 32.
    """

    layer: str
    torch: float
    default: float
    tuned: float | None
    trials: int
    search: str
    rounds: int

    @property
    def best(self) -> float:
        """The better one of ours."""
        return self.default if self.tuned is None else min(self.default, self.tuned)


def measured(name: str, threads: int, trials: int, search: str, rounds: int) -> Times:
    """Return the times of a layer; 0 trials leave the search out."""
    import torch

    torch.set_num_threads(threads)
    layer = LAYERS[name]
    dice = np.random.default_rng(0)
    sizes = layer.sizes
    image = dice.random([sizes[one] for one in "NCHW"], np.float32) - np.float32(0.5)
    kernel = dice.random([sizes[one] for one in ("F", "C", "KH", "KW")], np.float32)
    steps = (layer.stride, layer.stride) if layer.stride > 1 else ()
    definition = library.definition(layer.comprehension)
    operators = {"default": Comprehension(definition, Mapping(threads=threads))}
    if trials:
        operators["tuned"] = Comprehension(definition, Mapping(threads=threads))
        population = min(POPULATION, trials)
        operators["tuned"].tune(
            *steps, image, kernel, search=search, population=population,
            generations=-(-trials // population),
        )  # fmt: skip
    tensors = torch.from_numpy(image), torch.from_numpy(kernel)
    conv2d = torch.nn.functional.conv2d

    def ours(operator: Comprehension) -> Callable[[], Any]:
        return lambda: operator(*steps, image, kernel)

    calls: dict[str, Callable[[], Any]] = {
        name: ours(operator) for name, operator in operators.items()
    }
    calls["torch"] = lambda: conv2d(*tensors, stride=layer.stride)
    expected = calls["torch"]().numpy()
    for which in operators:
        np.testing.assert_allclose(calls[which](), expected, rtol=2e-3, atol=2e-3)
    with torch.inference_mode():
        found = best_times(calls, rounds)
    return Times(name, found["torch"], found["default"], found.get("tuned"), trials, search, rounds)


Key: TypeAlias = tuple[str, int, str, int]
"""A layer, how many trials of which search, and how many rounds."""


def remembered(path: Path) -> dict[Key, Times]:
    """Return what an earlier run has measured."""
    found = {}
    for _, times in read_lines(path, lambda data: Times(**data)):
        found[times.layer, times.trials, times.search, times.rounds] = times
    return found


def keep(path: Path, times: Times) -> None:
    """Add a row to a file."""
    add_line(path, json.dumps(asdict(times)))


def table(rows: Sequence[Times]) -> str:
    """Return a table in Markdown, the geometric means of the ratios in the last row."""
    lines = ["| layer | torch, ms | default, ms | tuned, ms | torch/default | torch/best |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for one in rows:
        tuned = f"{1e3 * one.tuned:.3f}" if one.tuned is not None else "-"
        lines.append(
            f"| {one.layer} | {1e3 * one.torch:.3f} | {1e3 * one.default:.3f} | {tuned} | "
            f"{one.torch / one.default:.2f} | {one.torch / one.best:.2f} |"
        )
    if rows:
        by_default = exp(fmean(log(one.torch / one.default) for one in rows))
        by_best = exp(fmean(log(one.torch / one.best) for one in rows))
        lines.append(f"| geometric mean | | | | {by_default:.2f} | {by_best:.2f} |")
    return "\n".join(lines)
