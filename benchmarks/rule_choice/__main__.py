"""Choice of rules at equal sizes of the e-graph: a trained policy beside others, on unseen graphs.

    polygym train configs/saturate.yaml --out runs/saturate
    python benchmarks/rule_choice runs/saturate --out rules
    python benchmarks/rule_choice --out rules --growths 2,4,8 --contenders all,backoff

Every graph is played by every contender with at most G times the nodes of its start, for each G of
``--growths``. Graphs that the policy was trained on are refused. A row is kept in --out once it is
known; the same command goes on where it ended. It prints gains of the static cost in percent; of
random choices and of trained policies the mean over seeds with a 90 % interval.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from contenders import CONTENDERS, SAMPLES, play

from polygym.cli.dispatch import run_script
from polygym.errors import InputError, PolygymError
from polygym.files import try_lock
from polygym.graphs.envs import SaturateEnv
from polygym.graphs.envs.saturation_episode import SaturationEpisode
from polygym.graphs.envs.task import graphs_from_argument

_SETS = {
    "library": "bert,nasnet-a,nasrnn,inception-v3",
    "library, biases": "bert:bias,nasnet-a:bias,nasrnn:bias,inception-v3:bias",
    "random": "random:1000-1019",
    "random, biases": "random:1020-1039:bias",
}
"""The graphs of the test, none of which is in configs/saturate.yaml."""

_SET_NAMES = ",".join(name.replace(",", "") for name in _SETS)

_COLUMNS = (
    "contender", "seed", "growth", "set", "graph", "initial", "cost", "gain", "nodes", "limit",
    "steps", "status", "seconds",
)  # fmt: skip
_TRAINED = ("trained", f"trained-{SAMPLES}")
_SEEDS = 5


@click.command(help=__doc__)
@click.argument("run", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--growths", default="2,4,8", show_default=True, metavar="G,...")
@click.option("--contenders", default=",".join(CONTENDERS), metavar="NAME,...")
@click.option("--sets", default=_SET_NAMES, show_default=True, metavar="NAME,...")
@click.option("--max-nodes", default=1000, show_default=True)
def main(
    run: Path | None, out: Path, growths: str, contenders: str, sets: str, max_nodes: int
) -> None:
    """Play what is missing, and print the tables."""
    out.mkdir(parents=True, exist_ok=True)
    policies: dict[int, Any] = _trained_models(run) if run is not None else {}
    names = [name for name in contenders.split(",") if name]
    if unknown := set(names).difference(CONTENDERS):
        raise InputError(f"--contenders: expected some of {', '.join(CONTENDERS)}, found {unknown}")
    wanted_sets = {name: _SETS[name] for name in _SETS if name.replace(",", "") in sets.split(",")}
    with (out / "lock").open("w") as lock:
        if not try_lock(lock.fileno()):
            raise PolygymError(f"{out}: expected nobody else to write there")
        path = out / "rows.csv"
        rows = _read(path)
        done = {_key(row) for row in rows}
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
            if not rows:
                writer.writeheader()
            for row, ending in _trials(growths, names, policies, wanted_sets, max_nodes, done):
                row |= _outcome(*ending)
                writer.writerow(row)
                file.flush()
                rows.append({name: str(value) for name, value in row.items()})
    click.echo(_report(rows))


def _trials(
    growths: str,
    names: Sequence[str],
    policies: dict[int, Any],
    sets: dict[str, str],
    max_nodes: int,
    done: set[tuple[str, ...]],
) -> Iterator[tuple[dict[str, Any], tuple[SaturationEpisode, float]]]:
    for growth in (float(text) for text in growths.split(",")):
        for set_name, selection in sets.items():
            env = SaturateEnv(
                selection, max_growth=growth, max_nodes=max_nodes, max_steps=16,
                extraction_seconds=5.0,
            )  # fmt: skip
            for graph in map(str, graphs_from_argument(selection)):
                for name in [*names, *(_TRAINED if policies else ())]:
                    seeds = range(_SEEDS) if name.startswith("random") else [0]
                    for seed in policies if name in _TRAINED else seeds:
                        row = {
                            "contender": name, "seed": seed, "growth": growth, "set": set_name,
                            "graph": graph,
                        }  # fmt: skip
                        if _key(row) in done:
                            continue
                        env.reset(seed=seed, options={"graph": graph})
                        yield row, _played(env, name, seed, policies)


def _played(
    env: SaturateEnv, name: str, seed: int, policies: dict[int, Any]
) -> tuple[SaturationEpisode, float]:
    begin = time.process_time()
    start: SaturationEpisode = env.episode
    if name in CONTENDERS:
        end = CONTENDERS[name](start, np.random.default_rng(seed))
        return end, time.process_time() - begin
    likeliest, sampled = policies[seed]
    policy = likeliest if name == _TRAINED[0] else sampled

    def choice(episode: SaturationEpisode) -> int:
        env.adopt(episode)
        observation, _ = env._observation_and_info()
        return int(policy(env, observation))

    samples = (play(start, choice) for _ in range(1 if policy is likeliest else SAMPLES))
    return min(samples, key=lambda end: end.cost), time.process_time() - begin


def _outcome(end: SaturationEpisode, seconds: float) -> dict[str, Any]:
    initial = end.task.initial_cost
    return {
        "initial": initial,
        "cost": end.cost,
        "gain": 100 * (1 - end.cost / initial),
        "nodes": end.egraph.node_count,
        "limit": end.options.max_nodes,
        "steps": end.steps,
        "status": end.status,
        "seconds": round(seconds, 3),
    }


def _trained_models(run: Path) -> dict[int, Any]:
    """Return the policies of a training, which must not have seen the graphs of the test."""
    from stable_baselines3.common.utils import set_random_seed

    from polygym.agents.experiments.models import load_model
    from polygym.agents.policies.trained_network import TrainedPolicy
    from polygym.agents.trainers.training import trained_models

    experiment, models = trained_models(run)
    seen = set(map(str, graphs_from_argument(experiment.kernels)))
    for selection in _SETS.values():
        if both := seen.intersection(map(str, graphs_from_argument(selection))):
            raise InputError(f"{run}: expected no graph of the test, found {', '.join(both)}")
    set_random_seed(0)  # of the samples
    loaded = {seed: load_model(experiment.algorithm, path) for seed, path in models.items()}
    return {
        seed: (TrainedPolicy(model), TrainedPolicy(model, deterministic=False))
        for seed, model in loaded.items()
    }


def _report(rows: Sequence[dict[str, str]]) -> str:
    """Return a table for each growth: sets as columns, contenders as rows."""
    lines = []
    for growth in dict.fromkeys(row["growth"] for row in rows):
        some = [row for row in rows if row["growth"] == growth]
        sets = list(dict.fromkeys(row["set"] for row in some))
        lines += [f"At most {float(growth):g} times the nodes of the start:", ""]
        lines.append("| contender | " + " | ".join([*sets, "all"]) + " | s |")
        lines.append("|---" * (len(sets) + 3) + "|")
        for name in dict.fromkeys(row["contender"] for row in some):
            matching = [row for row in some if row["contender"] == name]
            cells = [
                _mean_text([row for row in matching if kind in ("", row["set"])])
                for kind in (*sets, "")
            ]
            seconds = np.mean([float(row["seconds"]) for row in matching])
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {seconds:.2f} |")
        lines.append("")
    lines += _graph_table(rows)
    return "\n".join(lines)


def _mean_text(rows: Sequence[dict[str, str]]) -> str:
    """Return the mean gain; over seeds with a 90 % interval."""
    seeds = sorted({row["seed"] for row in rows})
    means = np.array(
        [np.mean([float(row["gain"]) for row in rows if row["seed"] == seed]) for seed in seeds]
    )
    if len(seeds) < 2:
        return f"{means.mean():.2f}" if len(means) else ""
    quantile = {2: 6.31, 3: 2.92, 4: 2.35, 5: 2.13}.get(len(seeds), 1.7)
    half = quantile * means.std(ddof=1) / np.sqrt(len(seeds))
    return f"{means.mean():.2f} ± {half:.2f}"


def _graph_table(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the gains on each graph of the library."""
    some = [row for row in rows if row["set"].startswith("library")]
    names = list(dict.fromkeys(row["contender"] for row in some))
    lines = ["| graph | growth | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for graph in dict.fromkeys(row["graph"] for row in some):
        for growth in dict.fromkeys(row["growth"] for row in some):
            matching = [row for row in some if (row["graph"], row["growth"]) == (graph, growth)]
            cells = [
                _mean_text([row for row in matching if row["contender"] == name]) for name in names
            ]
            lines.append(f"| {graph} | {float(growth):g} | " + " | ".join(cells) + " |")
    return lines


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("contender", "seed", "growth", "graph"))


def _read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; one that a kill cut off is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row.get("seconds")]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return rows


if __name__ == "__main__":
    sys.exit(run_script(main))
