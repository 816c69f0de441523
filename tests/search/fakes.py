"""Outcomes without a clock: the speedup of a schedule is a function of its text."""

import hashlib
from pathlib import Path

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.folder import SearchFolder, create_search, resume_search
from polygym.search.settings import SearchSetting


def fake_evaluation(schedule: Schedule, mapping: Mapping = DEFAULT_MAPPING) -> Evaluation:
    """Return an outcome for a schedule: every fifth one times out, the others have a speedup."""
    number = int.from_bytes(hashlib.sha256(str(schedule).encode()).digest()[:4], "big")
    if number % 5 == 0:
        return Evaluation(
            schedule=schedule,
            status=OutcomeStatus.TIMEOUT,
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
        status=OutcomeStatus.OK,
        speedup=speedup,
        seconds=1 / speedup,
        baseline_seconds=1.0,
        samples=(1 / speedup,),
        baseline_samples=(1.0,),
        error_type="",
        error_details="",
        mapping=mapping,
    )


def setting(target: str = "mvt", policy: str = "bias_coeff_0", seed: int = 0) -> SearchSetting:
    """Return a search of a small kernel."""
    source = ProgramSource(target, None, Dataset.MINI, ())
    return SearchSetting(source=source, policy=policy, seed=seed)


def begin_fake(folder: Path, of: SearchSetting | None = None) -> SearchFolder:
    """Return a search that has just begun."""
    return create_search(of or setting(), folder, as_c)


def resume_fake(folder: Path, of: SearchSetting | None = None) -> SearchFolder:
    """Return a search that goes on."""
    return resume_search(of or setting(), folder, as_c)


def as_c(schedule: Schedule, mapping: Mapping) -> str:
    """Return a text that stands for the C code."""
    return str(schedule) if mapping == DEFAULT_MAPPING else f"{schedule} {mapping}"
