"""Demonstrations of a teacher: observation and chosen action of each decision.

A *rule* plays the kernels of the experiment, one episode each, or as many as
``load_demonstrations`` says if it is random. A *corpus* shows for each of its cases (a program,
its sizes, threads, a kind of machine) the best of what was measured that an episode can reach from
isl's schedule (:func:`~polygym.mdp.action_sequence.actions_to`); the environment has that program,
those sizes and threads. Cases of test kernels, and of programs that do what one of these does, are
left out for every teacher.

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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import CORPUS_TEACHER, Experiment
from polygym.agents.experiments.options import CloningOptions
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.policies.env_policy import EnvPolicy, inner_env, run_episode
from polygym.agents.policies.guide import scaled_value
from polygym.agents.policies.heuristics import RulePolicy
from polygym.agents.trainers.policy_dataset import PolicyDataset, PolicySample
from polygym.agents.trainers.training_tables import TrainingEpisode, append_rows
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError, PolygymError
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.action_sequence import actions_to, per_nest_mapping
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import DETERMINISTIC, POLICIES
from polygym.mdp.rewards import reward_of_success
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.search.corpus.packing import LARGE_FILE, NEAR_FILE, open_packed
from polygym.search.corpus.program_choice import is_held_out
from polygym.search.corpus.rows import CorpusRow
from polygym.search.corpus.samples import CaseRows, case_rows, target_of, without_tests

_SEED = 3_000_000
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
    envs = {}
    for kernel in selected_kernels(experiment.kernels):
        env = make_env(experiment, kernel)
        env.reset(seed=_SEED)
        program = inner_env(env).problem.program
        if is_held_out(program.name, program):
            left_out.append(ExcludedCase(kernel, "it does what one of the kernels for tests does"))
        else:
            envs[kernel] = env
    rule = RulePolicy(experiment.teacher, seed=0)
    is_always_same = experiment.teacher in DETERMINISTIC
    for number, kernel in zip(count(), envs if is_always_same else cycle(envs)):
        teacher = _RecordingPolicy(rule)
        ending = run_episode(envs[kernel], teacher, seed=_SEED + number)
        yield (
            TrainingEpisode.of(0, ending),
            [_sample_of(into, *step, worth=scaled_value(ending.reward)) for step in teacher.steps],
        )


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
    for row in sorted(group.rows, key=lambda row: row.seconds):
        actions = _actions_to_row(own.episode, row)
        if actions is not None:
            return _replayed_samples(own, group, row, actions, into)
    return None


def _actions_to_row(episode: Episode, row: CorpusRow) -> tuple[int, ...] | None:
    """Return the actions that lead to a row's schedule and mapping."""
    scop, decides = episode.task.scop, episode.task.options.mapping_decisions
    assert decides is not None
    mapping = parse_mapping(row.mapping)
    if mapping.threads != decides.mapping.threads:
        return None
    schedule: Schedule = LegalSchedule(scop, parse_schedule(row.schedule, scop)).schedule
    nests = episode.task.nests(schedule)
    return actions_to(episode, schedule, per_nest_mapping(mapping, decides.mapping, nests))


def _replayed_samples(
    env: PolygymEnv, group: CaseRows, row: CorpusRow, actions: tuple[int, ...], into: PolicyDataset
) -> _EpisodeSamples:
    steps, episode = [], env.episode
    for action in actions:
        steps.append((env.observation_of(episode), env.allowed(episode), action))
        episode = env.following(episode, action)
    kind, factor = env.reward_kind, env.timeout_factor
    is_timed = kind.is_measured
    value = reward_of_success(kind, row.speedup, factor) if is_timed else env.worth(episode)
    shown = TrainingEpisode(
        0, group.visit.case.program, round(value, 6), len(steps), row.status.value
    )
    return shown, [_sample_of(into, *step, worth=scaled_value(value)) for step in steps]


def _sample_of(
    into: PolicyDataset, observation: Any, allowed: tuple[bool, ...], action: int, *, worth: float
) -> PolicySample:
    target = np.zeros(len(allowed))
    target[action] = 1.0
    return into.sample(observation, allowed, target, worth)
