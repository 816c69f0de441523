"""Stores of sweeps that were never measured: every number is random."""

from pathlib import Path

import numpy as np

from polybench import Dataset
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep.rows import (
    ISL,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ReferenceTiming,
    Timing,
)
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, create_or_open

SETTING = SweepSetting(search_dataset=Dataset.MINI, dataset=Dataset.SMALL)


def timing(speedup: float, status: OutcomeStatus = OutcomeStatus.OK) -> Timing:
    """Return what a schedule with this speedup would take."""
    if status is not OutcomeStatus.OK:
        return Timing(status, 0.0, 1.0, (), (1.0,), "pretended")
    return Timing(status, 1 / speedup, 1.0, (1 / speedup,), (1.0,))


def fill(
    folder: Path,
    kernels: tuple[str, ...] = ("gemm", "mvt"),
    policies: tuple[str, ...] = ("bias_coeff_0", "uniform"),
    episodes: int = 20,
    references: tuple[str, ...] = (ISL,),
    confirm: int = 3,
    wrong: int = 0,
    crashed: int = 0,
) -> None:
    """Make a store in a folder, as a sweep would have left it."""
    rng = np.random.default_rng(0)
    with create_or_open(folder, SETTING) as store:
        store.add_kernels(kernels)
        for kernel in kernels:
            level = float(rng.lognormal(0.8, 0.7))
            numbers = []
            for index in range(episodes):
                for position, policy in enumerate(policies):
                    speedup = float(rng.lognormal(-0.6 - 0.5 * position, 0.9)) * level
                    status = OutcomeStatus.TIMEOUT if rng.random() < 0.1 else OutcomeStatus.OK
                    status = OutcomeStatus.WRONG_OUTPUT if index < wrong else status
                    status = OutcomeStatus.CRASH if index >= episodes - crashed else status
                    result = timing(speedup, status)
                    text = f"{kernel} {policy} {index}"
                    number = store.add_measured(
                        EpisodeRow(kernel, policy, index, None), text, result
                    )
                    numbers.append((result.speedup or 0.0, number))
            for moment in range(3):
                samples = (1.0 + 0.01 * moment,)
                store.add_baseline(
                    BaselineTiming(kernel, str(SETTING.search_dataset), moment, samples)
                )
            _compare(store, kernel, level, references, sorted(numbers, reverse=True)[:confirm], rng)


def _compare(
    store: SweepStore,
    kernel: str,
    level: float,
    references: tuple[str, ...],
    best: list[tuple[float, int]],
    rng: np.random.Generator,
) -> None:
    for name in references:
        reference = timing(level * float(rng.lognormal(-0.3, 0.5)))
        for dataset in {str(SETTING.search_dataset), str(SETTING.dataset)}:
            store.set_reference(ReferenceTiming(kernel, dataset, name, reference))
    store.set_confirmations(
        [
            Confirmation(number, kernel, str(SETTING.dataset), timing(speedup * 0.9))
            for speedup, number in best
            if speedup
        ],
        [],
    )
