"""Outcomes without a clock: the speedup of a schedule is a function of its text."""

import hashlib
from pathlib import Path

from polybench import Dataset
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.kernels import Source
from polygym.measure.evaluation import Evaluation
from polygym.measure.worker.outcome import Status
from polygym.search.explore.folder import Search, begin, resume
from polygym.search.explore.setting import Setting


def pretended(schedule: Schedule, mapping: Mapping = DEFAULT) -> Evaluation:
    """Return an outcome for a schedule: every fifth one times out, the others have a speedup."""
    number = int.from_bytes(hashlib.sha256(str(schedule).encode()).digest()[:4], "big")
    if number % 5 == 0:
        return Evaluation(
            schedule=schedule,
            status=Status.TIMEOUT,
            speedup=0.0,
            seconds=0.0,
            baseline_seconds=1.0,
            samples=(),
            baseline_samples=(1.0,),
            error_type="Timeout",
            error_details="pretended",
            mapping=mapping,
        )
    speedup = (number % 1000 + 1) / 250
    return Evaluation(
        schedule=schedule,
        status=Status.OK,
        speedup=speedup,
        seconds=1 / speedup,
        baseline_seconds=1.0,
        samples=(1 / speedup,),
        baseline_samples=(1.0,),
        error_type="",
        error_details="",
        mapping=mapping,
    )


def setting(target: str = "mvt", policy: str = "bias_coeff_0", seed: int = 0) -> Setting:
    """Return a search of a small kernel."""
    source = Source(target, None, Dataset.MINI, ())
    return Setting(source=source, policy=policy, seed=seed)


def begun(folder: Path, of: Setting | None = None) -> Search:
    """Return a search that has just begun."""
    return begin(of or setting(), folder, as_c)


def resumed(folder: Path, of: Setting | None = None) -> Search:
    """Return a search that goes on."""
    return resume(of or setting(), folder, as_c)


def as_c(schedule: Schedule, mapping: Mapping) -> str:
    """Return a text that stands for the C code."""
    return str(schedule) if mapping == DEFAULT else f"{schedule} {mapping}"
