"""``polygym train``: train an agent as a YAML file describes it."""

from pathlib import Path
from typing import Any

import click

from polygym.cli.interrupts import EXIT_INTERRUPTED, interrupts_raise
from polygym.cli.options.cluster import cluster_option, open_fleet
from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_argument
from polygym.cli.output.console import CommandResult, answer, write_text
from polygym.errors import InputError
from polygym.search.runner.ray.fleet.transport import ClusterAddress

_HELP = """Train an agent as a file describes it, or continue a training.

FILE is a YAML file: environment, kernels, steps, algorithm, hyperparameters, seeds (see configs/
and docs/guides/train-agents.md). --out gets a folder for each seed, with checkpoints, tables of
episodes and the model. A training that Ctrl-C or a kill ended continues with --resume from its last
checkpoint, and ends with the same weights as an uninterrupted one.

\b
Examples:
  polygym train configs/optimize.yaml --out runs/optimize
  polygym train configs/optimize.yaml --out runs/optimize --resume
  polygym train configs/optimize.yaml --out runs/short \\
      --set steps=2000 --set seeds=[7]
  polygym evaluate runs/short --programs split:test
"""


@click.command("train", help=_HELP)
@file_argument("file", "FILE")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="The folder of the models; created if it does not exist.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value of an entry of FILE, such as hyperparameters.gamma=0.9; may be repeated.",
)
@click.option("--resume", "resumed", is_flag=True, help="Continue the training in --out DIR.")
@cluster_option
@json_option
def command(
    file: Path,
    out: Path,
    overrides: tuple[str, ...],
    resumed: bool,
    on: ClusterAddress | None,
    as_json: bool,
) -> CommandResult:
    """Train."""
    from polygym.agents.experiments.experiment import Experiment
    from polygym.agents.experiments.reading import read_experiment
    from polygym.agents.trainers.delayed_rewards import refusal_reason
    from polygym.agents.trainers.training import train_experiment, trained_models

    def tell(text: str) -> None:
        write_text(text, err=as_json)

    def train(experiment: Experiment) -> None:
        if on is None:
            train_experiment(experiment, out, tell, resume=resumed)
            return
        if reason := refusal_reason(experiment):
            raise InputError(f"--cluster: {reason}")
        from polygym.search.runner.ray.episode_rewards import RayRewards

        with open_fleet(on) as fleet, RayRewards(fleet) as endings:
            train_experiment(experiment, out, tell, resume=resumed, endings=endings)

    experiment = read_experiment(file, list(overrides))
    try:
        with interrupts_raise():
            train(experiment)
    except KeyboardInterrupt:
        hint = f"stopped; all up to the last checkpoint is kept: --out {out} --resume continues"
        write_text(hint, err=True)
        return answer(as_json, {"error": "interrupted"}, code=EXIT_INTERRUPTED)
    return answer(as_json, _document(out, trained_models(out)[1]))


def _document(out: Path, models: dict[int, Path]) -> dict[str, Any]:
    return {
        "folder": str(out),
        "models": [{"seed": seed, "file": str(path)} for seed, path in models.items()],
    }
