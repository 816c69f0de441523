"""Who plays for the leaderboard, and how: each finds code of a kernel with so many trials.

==============================  ================================================================
a policy, ``bias_coeff_0``      plays as many episodes of `polygym optimize`, which measures their
                                schedules (``learned``: their mappings too)
``annealing``                   `polygym tune --search model` measures as many candidates
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

from study.clock import clock
from study.gains import gained

import polybench
from agents.actors import FIRST_SEED, seen_by, with_arguments
from agents.experiments import Experiment, make_env
from agents.models import algorithm_of
from agents.policies import Network, RolloutSearch
from agents.policies.protocol import Policy, inner, run_episode
from agents.seen import among
from agents.training import trained
from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.poly.baselines import isl_schedule
from polygym.episodes.ids import SCHEDULE
from polygym.episodes.policies import DETERMINISTIC, LEARNED, POLICIES
from polygym.episodes.reward import Reward
from polygym.errors import InputError
from polygym.measure.evaluation.evaluator import Choice
from polygym.programs import load_program

ANNEALING, ROLLOUTS = "annealing", "rollouts"

_USUAL = ("isl", "keep")  # the strategy and the storage that everybody is compared with
_TIMED_AGAIN, _ROUNDS = 5, 5
_APART = 100_000  # episodes of one seed, and those of the next


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all who play: so many trials, at these sizes, in so many threads."""

    budget: int
    dataset: str
    threads: int

    @property
    def asked(self) -> tuple[str, int]:
        """The sizes and the threads, which a row's numbers depend on."""
        return self.dataset, self.threads


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the best is worth beside isl's schedule; None where nothing ran.

    ``isl`` is that one's speedup over the original order, ``wrong`` counts outputs that were.
    """

    over_isl: float | None
    isl: float | None
    wrong: int


def rolls_no_dice(agent: str, budget: int) -> bool:
    """Whether an agent does the same with every seed."""
    return agent in DETERMINISTIC and (agent != LEARNED or budget == 1)


def seeds_of(agent: str, seeds: int, budget: int) -> list[int]:
    """Return with which seeds an agent plays: a training's are those that it was trained with."""
    if Path(agent).is_dir():
        return list(trained(Path(agent))[1])
    return list(range(1 if rolls_no_dice(agent, budget) else seeds))


def expect_agent(agent: str) -> None:
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


def expect_unseen(agent: str, kernels: Sequence[str]) -> None:
    """Refuse a training that has learned from a kernel for tests that it would play on.

    Raises:
        InputError: it has.
    """
    seen = seen_by(agent)
    again = among(trained(Path(agent))[0], kernels) if seen else ()
    if both := [one for one in again if one in seen]:
        raise InputError(
            f"{agent}: expected an agent that has not learned from the kernels for tests that it "
            f"plays on, found one that has from {', '.join(both)}"
        )


def outcome(agent: str, kernel: str, seed: int, rules: Rules) -> Outcome:
    """Let an agent play.

    Raises:
        PolygymError: there is no such agent, or a command came to no result.
    """
    if agent in POLICIES:
        return _optimized(agent, kernel, seed, rules)
    if agent == ANNEALING:
        return _tuned(kernel, seed, rules)
    return _timed(kernel, _ends(agent, kernel, seed, rules), rules)


def _optimized(agent: str, kernel: str, seed: int, rules: Rules) -> Outcome:
    document = _answer(
        "optimize", kernel, "--policy", agent, "--budget", rules.budget, "--seed", seed,
        "--threads", rules.threads, "--dataset", rules.dataset,
    )  # fmt: skip
    isl = document["isl"]
    wrong = document["wrong"] + document["crashed"]
    return Outcome(best_of(document["ranking"]), isl and isl["speedup"], wrong)


def best_of(ranking: Sequence[Mapping[str, Any]]) -> float | None:
    """Return what an agent's best is worth beside isl's schedule; None where nothing of it ran.

    Whoever plays, the automatic schedule is ranked too, by its name: it is not the agent's.

    >>> best_of([{"index": "auto", "speedup_over_isl": 3.0}, {"index": 0, "speedup_over_isl": 2.0}])
    2.0
    """
    own = [one["speedup_over_isl"] for one in ranking if not isinstance(one["index"], str)]
    return max((one for one in own if one), default=None)


def _tuned(kernel: str, seed: int, rules: Rules) -> Outcome:
    found = gained(
        kernel, rules.dataset, rules.threads, rules.budget, "model", seed, lambda _: None
    )
    _, over_isl, _, _ = found.ratios
    is_same = found.gain == 1 and not found.splitting and (found.strategy, found.storage) == _USUAL
    return Outcome(1.0 if is_same else over_isl, found.original / found.isl, 0)


def _answer(*words: object) -> dict[str, Any]:
    """Return what a command says with --json."""
    command = [sys.executable, "-m", "polygym", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()[-300:]}") from None
    return found


def _ends(agent: str, kernel: str, seed: int, rules: Rules) -> Iterator[Choice]:
    """Yield the schedules and mappings to which an agent's episodes lead; nothing is measured."""
    experiment, policies = _player(agent, seed)
    given = {"dataset": rules.dataset, "threads": rules.threads}
    if Reward.named(experiment.arguments.get("reward", "speedup")).is_measured:
        given["reward"] = "model"
    env = make_env(with_arguments(experiment, [], **given), kernel)
    usual = replace(DEFAULT, threads=rules.threads)
    for number, policy in zip(range(rules.budget), policies, strict=False):
        ending = run_episode(env, policy, seed=FIRST_SEED + _APART * seed + number)
        episode = inner(env).episode
        if ending.info["is_success"]:
            yield episode.schedule(), episode.mapping or usual
    env.close()


def _player(agent: str, seed: int) -> tuple[Experiment, Iterator[Policy]]:
    """Return the experiment of an agent that plays, and a policy for each of its episodes."""
    if agent == ROLLOUTS:
        experiment = Experiment(SCHEDULE, "gemm", 1, arguments={"reward": "static"})
        return experiment, repeat(RolloutSearch(seed=seed))
    experiment, models = trained(Path(agent))
    model = algorithm_of(experiment.algorithm).load(models[seed], device="cpu")
    model.set_random_seed(seed)
    return experiment, chain([Network(model)], repeat(Network(model, deterministic=False)))


def _timed(kernel: str, ends: Iterable[Choice], rules: Rules) -> Outcome:
    """Time what was found, once each, and the best in turn with isl's schedule."""
    program = load_program(kernel, dataset=polybench.Dataset[rules.dataset.upper()])
    isl = isl_schedule(program.scop), replace(DEFAULT, threads=rules.threads)
    found = list(dict.fromkeys(ends))
    with clock(kernel, program, rules.threads) as measured:
        (own,) = measured.times([isl], waits=True)
        ok = [
            (one.seconds, choice)
            for choice, one in zip(found, measured.times(found), strict=True)
            if one.is_ok
        ]
        best = [choice for _, choice in sorted(ok, key=lambda pair: pair[0])[:_TIMED_AGAIN]]
        if not own.is_ok or not best:
            return Outcome(None, own.speedup if own.is_ok else None, 0)
        beside, *again = measured.times_in_turn([isl, *best], _ROUNDS)
    return Outcome(beside.seconds / min(one.seconds for one in again), beside.speedup, 0)
