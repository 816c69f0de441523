"""The study of what is learned for terms: Figures 5a, 5b and 9 of Knossos, and larger terms.

    python -m benchmarks.knossos train --out runs/knossos --only graph --seeds 0,1,2
    python -m benchmarks.knossos test --out runs/knossos
    python -m benchmarks.knossos report --out runs/knossos

`train` has trainings of several kinds, each seed in a folder of its own, which go on where they
were when the command is given again; several of them may run side by side. `test` asks what is
not seen while training: all searches with the last weights of each seed. `report` writes
KNOSSOS.md. Nothing is measured by the clock but how long epochs take.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.terms.report import written
from benchmarks.terms.tests import tested

from agents.experiments import Experiment, read
from agents.training import train
from polygym.errors import PolygymError

CONFIGURATION = Path(__file__).parent.parent / "configs" / "knossos_arithmetic.yaml"
KINDS = {
    "graph": (),
    "counts": ("hyperparameters.rounds=0",),
    "mcts": ("hyperparameters.search=mcts",),
    "bootstrap": ("kernels=bootstrap", "evaluation.kernels=bootstrap", "arguments.rules=all"),
}
"""What is trained: the configuration that is shipped, with other values."""


def experiment(kind: str, seed: int) -> Experiment:
    """Return the experiment of a kind with one seed."""
    return replace(read(CONFIGURATION, KINDS[kind]), seeds=(seed,))


def main() -> int:
    """Do a part of the study; return 0, or 2 for what cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=("train", "test", "report"))
    parser.add_argument("--out", type=Path, required=True, help="a folder for all of it")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of trainings")
    parser.add_argument("--seeds", default="0,1,2,3,4,5,6,7,8,9")
    options = parser.parse_args()
    try:
        if options.part == "report":
            written(options.out, Path(__file__).with_name("KNOSSOS.md"))
            return 0
        for seed in map(int, options.seeds.split(",")):
            for kind in options.only.split(","):
                folder = options.out / f"{kind}-{seed}"
                if options.part == "test":
                    tested(folder, kind, seed, options.out / "tests.jsonl")
                    continue
                train(
                    experiment(kind, seed),
                    folder,
                    lambda text: print(text, flush=True),
                    resume=True,
                )
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
