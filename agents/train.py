"""Train an agent as a file says, or go on with a training.

    python -m agents.train configs/optimize.yaml --out runs/optimize
    python -m agents.train configs/optimize.yaml --out runs/optimize --resume
    python -m agents.train configs/optimize.yaml --set steps=2000 --set seeds=[7] --out runs/short

A training that was ended, by Ctrl-C or a kill, goes on from its last checkpoint, and comes to the
same weights as if it had not been ended. `agents.experiments.experiment` says what may stand in a
file.
"""

import sys
from argparse import Namespace
from pathlib import Path

from agents.command_line import exit_code, parser_of
from agents.experiments.reading import read_experiment
from agents.trainers.delayed_rewards import refusal_reason
from agents.trainers.training import train_experiment
from polygym.errors import InputError


def main(arguments: list[str] | None = None) -> int:
    """Train; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("train", __doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="a YAML file, see configs/")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a folder for the models"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="ENTRY=VALUE", dest="overrides",
        help="another value of an entry, such as hyperparameters.gamma=0.9",
    )  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    parser.add_argument(
        "--cluster", metavar="ray[://HOST:PORT]",
        help="measure the ends of episodes on a Ray cluster, while other episodes go on",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    return exit_code(
        lambda: _train(options),
        f"ended; up to the last checkpoint all is kept: --out {options.out} --resume goes on",
    )


def _train(options: Namespace) -> None:
    experiment = read_experiment(options.file, options.overrides)

    def tell(text: str) -> None:
        print(text, flush=True)

    if options.cluster is None:
        train_experiment(experiment, options.out, tell, resume=options.resume)
        return
    if reason := refusal_reason(experiment):
        raise InputError(f"--cluster: {reason}")
    # Imported here: the import takes half a second.
    from polygym.search.runner.ray.episode_rewards import RayRewards
    from polygym.search.runner.ray.fleet.fleet import Fleet
    from polygym.search.runner.ray.fleet.transport import parse_address
    from polygym.search.runner.ray.ray_transport import RayTransport

    address = parse_address(options.cluster)
    with (
        Fleet(RayTransport(address.text), tell) as fleet,
        RayRewards(fleet) as endings,
    ):
        train_experiment(experiment, options.out, tell, resume=options.resume, endings=endings)


if __name__ == "__main__":
    sys.exit(main())
