"""What a teacher did, gathered once for a training: of each decision what was seen and chosen.

A *rule* plays the kernels of the experiment, one episode each, or as many as ``demonstrations``
says if it rolls dice. A *corpus* shows for each of its cases (a program, its sizes, threads, a kind
of machine) the best of what was measured that an episode can reach from isl's schedule
(:mod:`polygym.episodes.toward`); the environment has that program, those sizes and threads. Cases
of test kernels, and of programs that do what one of these does, are left out, whoever teaches.

The return of a rule's episode is what the environment paid for it; that of a case is what was
measured where the environment pays for a measurement, else again what the environment pays.

The training's folder keeps the positions (``demonstrations.npz``) and a table of the episodes
(``demonstrations.csv``), so that nothing is gathered, nor measured, twice; ``left-out.csv`` names
the cases of a corpus that no episode reaches, with the reason.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

from agents.experiments import CORPUS, make_env
from agents.legs.options import CloningOptions
from agents.legs.positions import Position, Positions
from agents.policies.guide import scaled
from agents.policies.heuristics import Heuristic
from agents.policies.protocol import Policy, inner, run_episode
from agents.splits import chosen
from agents.tables import Played, append
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule, parse
from polygym.envs.base import PolygymEnv
from polygym.episodes.episode import Episode
from polygym.episodes.policies import DETERMINISTIC, POLICIES
from polygym.episodes.reward import of_success
from polygym.episodes.tables import Observation
from polygym.episodes.toward import nest_by_nest, toward
from polygym.errors import InputError, PolygymError
from polygym.search.corpus.held_out import is_held_out
from polygym.search.corpus.packed import NEAR, SHIPPED, opened
from polygym.search.corpus.rows import Row
from polygym.search.corpus.samples import Group, groups, target_of, without_tests

if TYPE_CHECKING:
    from agents.experiments import Experiment

_SEED = 3_000_000
_Shown = tuple[Played, list[Position]]


class LeftOut(NamedTuple):
    """A case of a corpus that teaches nothing, and why."""

    program: str
    why: str


@dataclass(slots=True)
class _Watched:
    """A policy of which every step is written down: what was seen, allowed and done."""

    policy: Policy
    steps: list[tuple[Observation, tuple[bool, ...], int]] = field(default_factory=list)

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the policy's action."""
        own, action = inner(env), self.policy(env, observation)
        self.steps.append((observation, own.allowed(own.episode), action))
        return action


def demonstrations(experiment: Experiment, folder: Path) -> Positions:
    """Return what is learned from, gathered now if it was not before.

    Raises:
        InputError: there is nothing to learn from, or the corpus is none.
    """
    file = folder / "demonstrations.npz"
    env = make_env(experiment)
    found = Positions(inner(env).observation_space)
    if file.exists():
        found.load(file)
        return found
    options = CloningOptions(**experiment.hyperparameters)
    left_out: list[LeftOut] = []
    if experiment.teacher in POLICIES:
        shown = _of_rule(experiment, found, left_out)
    else:
        shown = _of_corpus(experiment, found, left_out)
    rows = []
    for row, positions in islice(shown, options.demonstrations):
        rows.append(row)
        found.extend(positions)
    _say(left_out, folder)
    if not len(found):
        raise InputError(
            f"teacher: expected decisions to learn from, found none of {experiment.teacher}"
        )
    append(folder / "demonstrations.csv", Played._fields, rows, -1)
    found.save(file)
    return found


def _of_rule(experiment: Experiment, into: Positions, left_out: list[LeftOut]) -> Iterator[_Shown]:
    """Yield the episodes of a rule, kernel by kernel; without an end if the rule rolls dice.

    What does the same as a test kernel, under whatever name, goes to ``left_out``.
    """
    envs = {}
    for kernel in chosen(experiment.kernels):
        env = make_env(experiment, kernel)
        env.reset(seed=_SEED)
        program = inner(env).subject.program
        if is_held_out(program.name, program):
            left_out.append(LeftOut(kernel, "it does what one of the kernels for tests does"))
        else:
            envs[kernel] = env
    rule = Heuristic(experiment.teacher, seed=0)
    is_always_same = experiment.teacher in DETERMINISTIC
    for number, kernel in zip(count(), envs if is_always_same else cycle(envs)):
        teacher = _Watched(rule)
        ending = run_episode(envs[kernel], teacher, seed=_SEED + number)
        yield (
            Played.of(0, ending),
            [_position(into, *step, worth=scaled(ending.reward)) for step in teacher.steps],
        )


def _say(left_out: Sequence[LeftOut], folder: Path) -> None:
    """Keep which cases taught nothing, and say how many they are."""
    if not left_out:
        return
    file = folder / "left-out.csv"
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(LeftOut._fields)
        writer.writerows(left_out)
    print(f"{len(left_out)} cases teach nothing: {file} says why", file=sys.stderr)


def _of_corpus(
    experiment: Experiment, into: Positions, left_out: list[LeftOut]
) -> Iterator[_Shown]:
    """Yield the best of what a corpus has of every case, as far as there is such.

    What cannot be read any more, is out of isl's reach or of the episodes' goes to ``left_out``.
    """
    files = (NEAR, SHIPPED) if experiment.teacher == CORPUS else (Path(experiment.teacher),)
    for file in files:
        with opened(file) as corpus:
            kept, _ = without_tests(groups(corpus))
        for group in kept:
            try:
                with TemporaryDirectory() as folder:
                    found = _of_case(experiment, group, folder, into)
            except PolygymError as error:
                left_out.append(LeftOut(group.visit.case.program, str(error)))
                continue
            if found is None:
                left_out.append(
                    LeftOut(group.visit.case.program, "no episode leads to a row of it")
                )
            else:
                yield found


def _of_case(experiment: Experiment, group: Group, folder: str, into: Positions) -> _Shown | None:
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
    own = inner(env)
    for row in sorted(group.rows, key=lambda row: row.seconds):
        actions = _way(own.episode, row)
        if actions is not None:
            return _replayed(own, group, row, actions, into)
    return None


def _way(episode: Episode, row: Row) -> tuple[int, ...] | None:
    """Return the actions that lead to a row's schedule and mapping."""
    scop, decides = episode.task.scop, episode.task.options.decides
    assert decides is not None
    mapping = parse_mapping(row.mapping)
    if mapping.threads != decides.mapping.threads:
        return None
    schedule: Schedule = LegalSchedule(scop, parse(row.schedule, scop)).schedule
    nests = episode.task.nests(schedule)
    return toward(episode, schedule, nest_by_nest(mapping, decides.mapping, nests))


def _replayed(
    env: PolygymEnv, group: Group, row: Row, actions: tuple[int, ...], into: Positions
) -> _Shown:
    steps, episode = [], env.episode
    for action in actions:
        steps.append((env.observed(episode), env.allowed(episode), action))
        episode = env.following(episode, action)
    kind, factor = env.reward_kind, env.timeout_factor
    is_timed = kind.is_measured
    value = of_success(kind, row.speedup, factor) if is_timed else env.worth(episode)
    shown = Played(0, group.visit.case.program, round(value, 6), len(steps), row.status.value)
    return shown, [_position(into, *step, worth=scaled(value)) for step in steps]


def _position(
    into: Positions, observation: Any, allowed: tuple[bool, ...], action: int, *, worth: float
) -> Position:
    target = np.zeros(len(allowed))
    target[action] = 1.0
    return into.position(observation, allowed, target, worth)
