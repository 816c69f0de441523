"""Demonstrations of a teacher: observation and chosen action of each decision.

A *search* shows the best episodes that it finds of each program
(:mod:`polygym.agents.trainers.search_demonstrations`). A *rule* plays the kernels of the
experiment, one episode each, or as many as ``load_demonstrations`` says if it is random. A *corpus*
shows for each of its cases (a program, its sizes, threads, a kind of machine) the best of what was
measured that an episode can reach from isl's schedule
(:func:`~polygym.mdp.action_sequence.actions_to`); the environment has that program, those sizes and
threads. Cases of test kernels, and of programs that do what one of these does, are left out for
every teacher.

The return of a rule's episode is what the environment paid for it; that of a case is what was
measured where the environment pays for a measurement, else again what the environment pays.

The training's folder keeps the positions (``demonstrations.npz``) and a table of the episodes
(``demonstrations.csv``), so that nothing is gathered, nor measured, twice; ``left-out.csv`` names
the cases of a corpus that no episode reaches, with the reason.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, cycle, islice
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import CORPUS_TEACHER, SEARCH_TEACHER, Experiment
from polygym.agents.experiments.options import CloningOptions
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.policies.env_policy import EnvPolicy, inner_env, run_episode
from polygym.agents.policies.guide import scaled_value
from polygym.agents.policies.heuristics import RulePolicy
from polygym.agents.trainers.corpus_episodes import end_of, reached_rows, steps_of
from polygym.agents.trainers.policy_dataset import PolicyDataset, PolicySample
from polygym.agents.trainers.search_demonstrations import FoundEpisode, search_programs
from polygym.agents.trainers.training_tables import TrainingEpisode, append_rows
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError, PolygymError
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import DETERMINISTIC, POLICIES
from polygym.mdp.rewards import reward_of_success
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.packing import LARGE_FILE, NEAR_FILE, open_packed
from polygym.search.corpus.program_choice import is_held_out
from polygym.search.corpus.rows import CorpusRow
from polygym.search.corpus.samples import CaseRows, case_rows, target_of, without_tests

_SEED = 3_000_000
_FOUND = OutcomeStatus.OK.value  # a search keeps nothing else
_EpisodeSamples = tuple[TrainingEpisode, list[PolicySample]]


class ExcludedCase(NamedTuple):
    """A case of a corpus that teaches nothing, and why."""

    program: str
    reason: str


@dataclass(slots=True)
class _RecordingPolicy:
    """A policy of which every step is written down: what was seen, allowed and done."""

    policy: EnvPolicy
    steps: list[tuple[Observation, tuple[bool, ...], int]] = field(default_factory=list)

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the policy's action."""
        own, action = inner_env(env), self.policy(env, observation)
        self.steps.append((observation, own.allowed(own.episode), action))
        return action


def load_demonstrations(experiment: Experiment, folder: Path) -> PolicyDataset:
    """Return what is learned from, gathered now if it was not before.

    Raises:
        InputError: there is nothing to learn from, or the corpus is none.
    """
    file = folder / "demonstrations.npz"
    env = make_env(experiment)
    dataset = PolicyDataset(inner_env(env).observation_space)
    if file.exists():
        dataset.load(file)
        return dataset
    options = CloningOptions(**experiment.hyperparameters)
    left_out: list[ExcludedCase] = []
    if experiment.teacher in POLICIES:
        shown = _of_rule(experiment, dataset, left_out)
    elif experiment.teacher == SEARCH_TEACHER:
        shown = _of_search(experiment, dataset, left_out, folder)
    else:
        shown = _of_corpus(experiment, dataset, left_out)
    rows = []
    for row, positions in islice(shown, options.demonstrations):
        rows.append(row)
        dataset.extend(positions)
    _write_excluded(left_out, folder)
    if not len(dataset):
        raise InputError(
            f"teacher: expected decisions to learn from, found none of {experiment.teacher}"
        )
    append_rows(folder / "demonstrations.csv", TrainingEpisode._fields, rows, -1)
    dataset.save(file)
    return dataset


def _of_rule(
    experiment: Experiment, into: PolicyDataset, left_out: list[ExcludedCase]
) -> Iterator[_EpisodeSamples]:
    """Yield the episodes of a rule, kernel by kernel; without an end if the rule is random.

    What does the same as a test kernel, under whatever name, goes to ``left_out``.
    """
    envs = _teaching_envs(experiment, left_out)
    rule = RulePolicy(experiment.teacher, seed=0)
    is_always_same = experiment.teacher in DETERMINISTIC
    for number, kernel in zip(count(), envs if is_always_same else cycle(envs)):
        teacher = _RecordingPolicy(rule)
        ending = run_episode(envs[kernel], teacher, seed=_SEED + number)
        yield (
            TrainingEpisode.of(0, ending),
            [_sample_of(into, *step, worth=scaled_value(ending.reward)) for step in teacher.steps],
        )


def _teaching_envs(experiment: Experiment, left_out: list[ExcludedCase]) -> dict[str, Any]:
    """Return an environment for each kernel that does not do what a test kernel does."""
    envs = {}
    for kernel in selected_kernels(experiment.kernels):
        env = make_env(experiment, kernel)
        env.reset(seed=_SEED)
        program = inner_env(env).problem.program
        if is_held_out(program.name, program):
            left_out.append(ExcludedCase(kernel, "it does what one of the kernels for tests does"))
        else:
            envs[kernel] = env
    return envs


def _of_search(
    experiment: Experiment, into: PolicyDataset, left_out: list[ExcludedCase], folder: Path
) -> Iterator[_EpisodeSamples]:
    """Yield the best episodes that a search finds of each kernel, with their weights."""
    options = CloningOptions(**experiment.hyperparameters)
    envs = _teaching_envs(experiment, left_out)
    for kernel, found in search_programs(experiment, tuple(envs), folder / "search.jsonl"):
        if not found:
            left_out.append(ExcludedCase(kernel, "no episode that ran was found"))
            continue
        best = max(episode.reward for episode in found)
        for episode in found:
            weight = 1.0
            if options.advantage_temperature > 0:
                weight = exp((episode.reward - best) / options.advantage_temperature)
            yield _played_again(inner_env(envs[kernel]), kernel, episode, weight, into)


def _played_again(
    env: PolygymEnv, kernel: str, found: FoundEpisode, weight: float, into: PolicyDataset
) -> _EpisodeSamples:
    steps = steps_of(env, found.actions)
    worth = scaled_value(found.reward)
    shown = TrainingEpisode(0, kernel, round(found.reward, 6), len(steps), _FOUND)
    return shown, [_sample_of(into, *step, worth=worth, weight=weight) for step in steps]


def _write_excluded(left_out: Sequence[ExcludedCase], folder: Path) -> None:
    """Keep which cases taught nothing, and say how many they are."""
    if not left_out:
        return
    file = folder / "left-out.csv"
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(ExcludedCase._fields)
        writer.writerows(left_out)
    print(f"{len(left_out)} cases teach nothing: {file} says why", file=sys.stderr)


def _of_corpus(
    experiment: Experiment, into: PolicyDataset, left_out: list[ExcludedCase]
) -> Iterator[_EpisodeSamples]:
    """Yield the best of what a corpus has of every case, as far as there is such.

    What cannot be read any more, is out of isl's reach or of the episodes' goes to ``left_out``.
    """
    files = (
        (NEAR_FILE, LARGE_FILE)
        if experiment.teacher == CORPUS_TEACHER
        else (Path(experiment.teacher),)
    )
    for file in files:
        with open_packed(file) as corpus:
            kept, _ = without_tests(case_rows(corpus))
        for group in kept:
            try:
                with TemporaryDirectory() as folder:
                    samples = _of_case(experiment, group, folder, into)
            except PolygymError as error:
                left_out.append(ExcludedCase(group.visit.case.program, str(error)))
                continue
            if samples is None:
                left_out.append(
                    ExcludedCase(group.visit.case.program, "no episode leads to a row of it")
                )
            else:
                yield samples


def _of_case(
    experiment: Experiment, group: CaseRows, folder: str, into: PolicyDataset
) -> _EpisodeSamples | None:
    """Return the best of a case that an episode can reach, if there is any.

    Episodes are of programs as they were written.
    """
    if group.visit.case.is_changed:
        return None
    target = target_of(group.visit, folder)
    parameters, threads = dict(group.visit.case.parameters), group.visit.threads
    env: Any = make_env(
        replace(
            experiment,
            arguments={**experiment.arguments, "parameters": parameters, "threads": threads},
        ),
        target,
    )
    env.reset(seed=_SEED)
    own = inner_env(env)
    for row, actions in reached_rows(own, group):
        return _replayed_samples(own, group, row, actions, into)
    return None


def _replayed_samples(
    env: PolygymEnv, group: CaseRows, row: CorpusRow, actions: tuple[int, ...], into: PolicyDataset
) -> _EpisodeSamples:
    steps = steps_of(env, actions)
    kind, factor = env.reward_kind, env.timeout_factor
    if kind.is_measured:
        value = reward_of_success(kind, group.original / row.seconds, factor)
    else:
        value = env.worth(end_of(env, actions))
    shown = TrainingEpisode(
        0, group.visit.case.program, round(value, 6), len(steps), row.status.value
    )
    return shown, [_sample_of(into, *step, worth=scaled_value(value)) for step in steps]


def _sample_of(
    into: PolicyDataset,
    observation: Any,
    allowed: tuple[bool, ...],
    action: int,
    *,
    worth: float,
    weight: float = 1.0,
) -> PolicySample:
    target = np.zeros(len(allowed))
    target[action] = 1.0
    return into.sample(observation, allowed, target, worth, weight)
