"""Agents of the leaderboard: each finds code of a kernel with a number of trials.

==============================  ================================================================
a policy, ``bias_coeff_0``      plays as many episodes of `polygym optimize`, which measures their
                                schedules (``learned``: their mappings too)
``annealing``                   `polygym tune --strategy annealing` measures as many candidates
``rollouts``                    plays as many episodes of Schedule-v0, looking ahead by the static
                                score
a folder, ``runs/clone``        its network plays as many episodes in the environment that it was
                                trained in, the likeliest action each time in the first, then by
                                its probabilities; their ends are measured
==============================  ================================================================

In the end the best five of them run in turn with isl's schedule under the default mapping, in one
process, and the best of these beside isl's is what counts; of ``annealing``, which times its best
five beside what it began with, the one that it keeps runs beside isl's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from search_study.candidate_timing import candidate_clock
from search_study.gains import measure_gain

import polybench
from polygym.agents.evaluation.agent_sources import (
    FIRST_SEED,
    test_kernels_learned_by,
    with_environment_arguments,
)
from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import algorithm_class
from polygym.agents.experiments.train_test_leakage import test_kernels_among
from polygym.agents.policies import RolloutSearch, TrainedPolicy
from polygym.agents.policies.env_policy import EnvPolicy, inner_env, run_episode
from polygym.agents.trainers.training import trained_models
from polygym.errors import InputError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mdp.env_ids import SCHEDULE
from polygym.mdp.policies.registry import DETERMINISTIC, LEARNED, POLICIES
from polygym.mdp.rewards import RewardKind
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation.evaluator import MappedSchedule

ANNEALING, ROLLOUTS = "annealing", "rollouts"

_DEFAULTS = ("isl", "keep")  # the strategy and the storage that everybody is compared with
_REMEASURED, _ROUNDS = 5, 5
_SEED_STRIDE = 100_000  # episodes of one seed, and those of the next


@dataclass(frozen=True, slots=True)
class TrialBudget:
    """What holds for all who play: so many trials, at these sizes, in so many threads."""

    budget: int
    dataset: str
    threads: int

    @property
    def conditions(self) -> tuple[str, int]:
        """The sizes and the threads, which a row's numbers depend on."""
        return self.dataset, self.threads


@dataclass(frozen=True, slots=True)
class AgentOutcome:
    """What the best is worth beside isl's schedule; None where nothing ran.

    ``isl`` is that one's speedup over the original order, ``wrong`` counts outputs that were.
    """

    over_isl: float | None
    isl: float | None
    wrong: int


def is_deterministic(agent: str, budget: int) -> bool:
    """Whether an agent does the same with every seed."""
    return agent in DETERMINISTIC and (agent != LEARNED or budget == 1)


def agent_seeds(agent: str, seeds: int, budget: int) -> list[int]:
    """Return with which seeds an agent plays: a training's are those that it was trained with."""
    if Path(agent).is_dir():
        return list(trained_models(Path(agent))[1])
    return list(range(1 if is_deterministic(agent, budget) else seeds))


def check_agent(agent: str) -> None:
    """Refuse a name that is no agent's.

    Raises:
        InputError: it is none.
    """
    known = (*POLICIES, ANNEALING, ROLLOUTS)
    if agent not in known and not Path(agent).is_dir():
        raise InputError(
            f"an agent: expected one of {', '.join(known)}, or the folder of a training, found "
            f"{agent}"
        )


def check_no_leakage(agent: str, kernels: Sequence[str]) -> None:
    """Refuse a training that has learned from a kernel for tests that it would play on.

    Raises:
        InputError: it has.
    """
    seen = test_kernels_learned_by(agent)
    again = test_kernels_among(trained_models(Path(agent))[0], kernels) if seen else ()
    if both := [kernel for kernel in again if kernel in seen]:
        raise InputError(
            f"{agent}: expected an agent that has not learned from the kernels for tests that it "
            f"plays on, found one that has from {', '.join(both)}"
        )


def agent_outcome(agent: str, kernel: str, seed: int, rules: TrialBudget) -> AgentOutcome:
    """Let an agent play.

    Raises:
        PolygymError: there is no such agent, or a command came to no result.
    """
    if agent in POLICIES:
        return _run_optimize(agent, kernel, seed, rules)
    if agent == ANNEALING:
        return _run_tune(kernel, seed, rules)
    return _time_choices(kernel, _final_choices(agent, kernel, seed, rules), rules)


def _run_optimize(agent: str, kernel: str, seed: int, rules: TrialBudget) -> AgentOutcome:
    document = _command_json(
        "optimize", kernel, "--strategy", agent, "--budget", rules.budget, "--seed", seed,
        "--threads", rules.threads, "--dataset", rules.dataset,
    )  # fmt: skip
    isl = document["isl"]
    wrong = document["wrong"] + document["crashed"]
    return AgentOutcome(best_of(document["ranking"]), isl and isl["speedup"], wrong)


def best_of(ranking: Sequence[Mapping[str, Any]]) -> float | None:
    """Return what an agent's best is worth beside isl's schedule; None where nothing of it ran.

    Whatever the agent, the automatic schedule is ranked too, by its name: it is not the agent's.

    >>> own, other = {"source": "uniform#0"}, {"source": "auto"}
    >>> best_of([{**other, "speedup_over_isl": 3.0}, {**own, "speedup_over_isl": 2.0}])
    2.0
    """
    own = [row["speedup_over_isl"] for row in ranking if "#" in row["source"]]
    return max((speedup for speedup in own if speedup), default=None)


def _run_tune(kernel: str, seed: int, rules: TrialBudget) -> AgentOutcome:
    gain = measure_gain(
        kernel, rules.dataset, rules.threads, rules.budget, "annealing", seed, lambda _: None
    )
    _, over_isl, _, _ = gain.ratios
    is_same = gain.gain == 1 and not gain.splitting and (gain.strategy, gain.storage) == _DEFAULTS
    return AgentOutcome(1.0 if is_same else over_isl, gain.original / gain.isl, 0)


def _command_json(*words: object) -> dict[str, Any]:
    """Return what a command says with --json."""
    command = [sys.executable, "-m", "polygym", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()[-300:]}") from None
    return result


def _final_choices(
    agent: str, kernel: str, seed: int, rules: TrialBudget
) -> Iterator[MappedSchedule]:
    """Yield the schedules and mappings to which an agent's episodes lead; nothing is measured."""
    experiment, policies = _agent_policies(agent, seed)
    given = {"dataset": rules.dataset, "threads": rules.threads}
    if RewardKind.named(experiment.arguments.get("reward", "speedup")).is_measured:
        given["reward"] = "model"
    env = make_env(with_environment_arguments(experiment, [], **given), kernel)
    usual = replace(DEFAULT_MAPPING, threads=rules.threads)
    for number, policy in zip(range(rules.budget), policies, strict=False):
        ending = run_episode(env, policy, seed=FIRST_SEED + _SEED_STRIDE * seed + number)
        episode = inner_env(env).episode
        if ending.info["is_success"]:
            yield episode.schedule(), episode.mapping or usual
    env.close()


def _agent_policies(agent: str, seed: int) -> tuple[Experiment, Iterator[EnvPolicy]]:
    """Return the experiment of an agent that plays, and a policy for each of its episodes."""
    if agent == ROLLOUTS:
        experiment = Experiment(SCHEDULE, "gemm", 1, arguments={"reward": "static"})
        return experiment, repeat(RolloutSearch(seed=seed))
    experiment, models = trained_models(Path(agent))
    model = algorithm_class(experiment.algorithm).load(models[seed], device="cpu")
    model.set_random_seed(seed)
    return experiment, chain(
        [TrainedPolicy(model)], repeat(TrainedPolicy(model, deterministic=False))
    )


def _time_choices(kernel: str, ends: Iterable[MappedSchedule], rules: TrialBudget) -> AgentOutcome:
    """Time what was found, once each, and the best in turn with isl's schedule."""
    program = load_program(kernel, dataset=polybench.Dataset[rules.dataset.upper()])
    isl = isl_schedule(program.scop), replace(DEFAULT_MAPPING, threads=rules.threads)
    schedules = list(dict.fromkeys(ends))
    with candidate_clock(kernel, program, rules.threads) as measured:
        (own,) = measured.times([isl], no_cutoff=True)
        # The first has a time even if it is several times slower than isl's; later ones are ended.
        first = measured.times(schedules[:1], no_cutoff=True)
        later = measured.times(schedules[1:])
        ok = [
            (evaluation.seconds, choice)
            for choice, evaluation in zip(schedules, chain(first, later), strict=True)
            if evaluation.is_ok
        ]
        best = [choice for _, choice in sorted(ok, key=lambda pair: pair[0])[:_REMEASURED]]
        if not own.is_ok or not best:
            return AgentOutcome(None, own.speedup if own.is_ok else None, 0)
        beside, *again = measured.times_in_turn([isl, *best], _ROUNDS)
    return AgentOutcome(beside.seconds / min(timed.seconds for timed in again), beside.speedup, 0)
