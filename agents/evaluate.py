"""Let trained agents, or rules, act on kernels, and write down what came of it.

    python -m agents.evaluate runs/mvt --kernels gemm,mvt
    python -m agents.evaluate runs/mvt --kernels split:train --set reward=speedup --out some.jsonl
    python -m agents.evaluate earliest --environment polygym/Schedule-v0 --kernels mvt

An agent is the folder of a training, all of whose seeds act, each with the likeliest action; or a
rule: uniform, bias_coeff_0, bias_select_dep, earliest, greedy. `--set` gives the environment
another argument than the training had. `python -m agents.compare` puts files of results beside each
other, and `python -m agents.validate` plays them again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

from agents import results
from agents.commands import parser_of
from agents.experiments import Experiment, make_env
from agents.models import algorithm_of
from agents.policies.heuristics import Heuristic
from agents.policies.networks import Network
from agents.policies.protocol import Policy, inner, run_episode
from agents.results import Result
from agents.splits import chosen
from agents.training import trained
from polygym.episodes.ids import IDS, SCHEDULE
from polygym.episodes.policies import DETERMINISTIC, POLICIES
from polygym.errors import InputError, PolygymError

# Episodes of evaluations have seeds of their own.
FIRST_SEED = 2_000_000


def agents_of(
    name: str, environment: str, seeds: Sequence[int]
) -> tuple[Experiment, Iterator[tuple[int, Policy]]]:
    """Return the experiment of an agent, and its policies by seed.

    Raises:
        InputError: there is no such agent, or none that has been trained.
    """
    if name in POLICIES:
        experiment = Experiment(environment, "gemm", 1, arguments={"reward": "static"})
        own = seeds if name not in DETERMINISTIC else seeds[:1]
        return experiment, ((seed, Heuristic(name, seed)) for seed in own)
    if not Path(name).is_dir():
        raise InputError(
            f"an agent: expected the folder of a training, or one of {', '.join(POLICIES)}, "
            f"found {name}"
        )
    experiment, models = trained(Path(name))
    if not models:
        raise InputError(f"{name}: expected a seed that has been trained to its end, found none")
    kind = algorithm_of(experiment.algorithm)
    return experiment, (
        (seed, Network(kind.load(path, device="cpu"))) for seed, path in models.items()
    )


def evaluated(
    name: str,
    experiment: Experiment,
    policies: Iterator[tuple[int, Policy]],
    kernels: Sequence[str],
    episodes: int,
) -> Iterator[Result]:
    """Yield what became of every episode."""
    for seed, policy in policies:
        for kernel in kernels:
            env = make_env(experiment, kernel)
            for number in range(episodes):
                ending = run_episode(env, policy, seed=FIRST_SEED + number)
                yield Result(
                    name, seed, ending.info["kernel"], number, round(ending.reward, 6),
                    round(ending.info["speedup"], 6), ending.info["status"],
                    inner(env).export(),
                )  # fmt: skip
            env.close()


def table(found: Sequence[Result]) -> str:
    """Return the means of rewards, and of speedups where there are any, by kernel."""
    kernels = list(dict.fromkeys(one.kernel for one in found))
    lines = [f"{'kernel':24} {'reward':>10} {'speedup':>10}  status"]
    for kernel in kernels:
        own = [one for one in found if one.kernel == kernel]
        reward = sum(one.reward for one in own) / len(own)
        states = ", ".join(dict.fromkeys(one.status for one in own))
        lines.append(f"{kernel:24} {reward:10.3f} {_geometric(own):>10}  {states}")
    lines.append(
        f"{'all':24} {sum(o.reward for o in found) / len(found):10.3f} {_geometric(found):>10}"
    )
    return "\n".join(lines)


def _geometric(found: Sequence[Result]) -> str:
    """Return the geometric mean of speedups; what failed counts as a thousandth."""
    if all(one.status == "not measured" for one in found):
        return "-"
    return f"{exp(sum(log(max(1e-3, one.speedup)) for one in found) / len(found)):.3f}x"


def main(arguments: list[str] | None = None) -> int:
    """Evaluate; return 0, or 2 for what cannot be done."""
    parser = parser_of("evaluate", __doc__)
    parser.add_argument("agent", help="the folder of a training, or a rule")
    parser.add_argument("--kernels", required=True, help="a selection, split:test among them")
    parser.add_argument("--episodes", type=int, default=1, help="of each kernel")
    parser.add_argument(
        "--environment", default=SCHEDULE, choices=IDS, metavar="ID", help="of a rule"
    )
    parser.add_argument("--seeds", type=int, default=1, help="of a rule that rolls dice")
    parser.add_argument(
        "--set", action="append", default=[], metavar="ARGUMENT=VALUE", dest="overrides",
        help="an argument of the environment, such as reward=speedup",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="a file for the results")
    options = parser.parse_args(arguments)
    try:
        if options.episodes < 1 or options.seeds < 1:
            raise InputError("--episodes and --seeds: expected numbers from 1 on")
        experiment, policies = agents_of(options.agent, options.environment, range(options.seeds))
        experiment = replace(
            experiment, arguments={**experiment.arguments, **_overrides(options.overrides)}
        )
        kernels = chosen(options.kernels)
        found = []
        for one in evaluated(options.agent, experiment, policies, kernels, options.episodes):
            found.append(one)
            print(f"seed {one.seed}, {one.kernel}: {one.reward:.3f}", file=sys.stderr, flush=True)
            if options.out is not None:
                results.write(options.out, found)
        print(table(found))
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ended; what was written is kept", file=sys.stderr)
        return 1
    return 0


def _overrides(texts: Sequence[str]) -> dict[str, Any]:
    import yaml

    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set: expected ARGUMENT=VALUE, found {text!r}")
        try:
            found[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"--set: expected a value, found {text!r}") from None
    return found


if __name__ == "__main__":
    sys.exit(main())
