"""Episodes that a search finds for every program: kept as they come, one line for each program.

Programs are searched on all cores where nothing is measured, else one after the other. What is in
the file is not searched again, so an interrupted search goes on. Random numbers follow from the
name of a program, so that order and number of processes change nothing.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.options import CloningOptions
from polygym.agents.policies.env_policy import inner_env
from polygym.errors import InputError
from polygym.mdp.rewards import reward_of_failure
from polygym.mdp.task_options import Phase
from polygym.pickling import pickle_by_name
from polygym.search.strategies.decision_search import DecisionSearch, PlayedDraft
from polygym.search.strategies.step_episodes import PlayedSteps, StepEpisodeSearch

_SEED = 5_000_000


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FoundEpisode:
    """The actions of an episode, and what it was paid."""

    actions: tuple[int, ...]
    reward: float


def search_programs(
    experiment: Experiment, kernels: Sequence[str], file: Path
) -> Iterator[tuple[str, tuple[FoundEpisode, ...]]]:
    """Yield the best episodes of each program, in their order, the best first.

    Raises:
        InputError: the file has no lines of a search.
    """
    known = _read(file)
    missing = [kernel for kernel in kernels if kernel not in known]
    with file.open("a", encoding="utf-8") as lines:
        for number, (kernel, found) in enumerate(_search_all(experiment, missing), 1):
            known[kernel] = found
            episodes = [[list(episode.actions), episode.reward] for episode in found]
            lines.write(json.dumps({"kernel": kernel, "episodes": episodes}) + "\n")
            lines.flush()
            print(
                f"searched {number} of {len(missing)} programs: {kernel}, best reward "
                + (f"{found[0].reward:.3f}" if found else "of none that ran"),
                file=sys.stderr,
                flush=True,
            )
    for kernel in kernels:
        yield kernel, known[kernel]


def search_program(experiment: Experiment, kernel: str) -> tuple[FoundEpisode, ...]:
    """Return the best episodes that a search of a program finds, of those that do not fail."""
    options = CloningOptions(**experiment.hyperparameters)
    env = inner_env(make_env(experiment, kernel))
    env.reset(seed=_SEED)
    found: Sequence[PlayedDraft | PlayedSteps]
    if env.episode.phase is Phase.TRANSFORM:
        found = StepEpisodeSearch(env.episode, env.worth).run(options.trials, options.kept)
    else:
        rng = np.random.default_rng([_SEED, crc32(kernel.encode())])
        found = DecisionSearch(env.episode, env.worth, rng).run(options.trials, options.kept)
    failure = reward_of_failure(env.reward_kind, env.timeout_factor)
    return tuple(
        FoundEpisode(played.episode.actions, played.reward)
        for played in found
        if played.reward > failure
    )


def _search_all(
    experiment: Experiment, kernels: Sequence[str]
) -> Iterator[tuple[str, tuple[FoundEpisode, ...]]]:
    """Yield what is found of each program, in the order in which searches end."""
    workers = min(os.cpu_count() or 1, len(kernels))
    is_timed = inner_env(make_env(experiment)).reward_kind.is_measured
    if is_timed or workers < 2:
        for kernel in kernels:
            yield kernel, search_program(experiment, kernel)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        search = partial(search_program, experiment)
        running = {pool.submit(search, kernel): kernel for kernel in kernels}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _read(file: Path) -> dict[str, tuple[FoundEpisode, ...]]:
    """Return what a file has by now; a last line that was not finished counts for nothing."""
    if not file.exists():
        return {}
    result = {}
    text = file.read_text(encoding="utf-8")
    whole, _, rest = text.rpartition("\n")
    if rest:
        file.write_text(whole + "\n" if whole else "", encoding="utf-8")
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            row = json.loads(line)
            result[str(row["kernel"])] = tuple(
                FoundEpisode(tuple(map(int, actions)), float(reward))
                for actions, reward in row["episodes"]
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{file}:{number}: expected a program's episodes") from None
    return result
