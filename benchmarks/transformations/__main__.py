"""Transformation steps: the time of an exact mask, searches at equal evaluations, random sequences.

    python benchmarks/transformations masks                      # milliseconds a step
    python benchmarks/transformations curves --out curves --time-limit 60m
    python benchmarks/transformations curves --out curves --report
    python benchmarks/transformations sequences --out sequences --count 100000 --time-limit 60m

``masks`` plays random episodes of Transform-v0 without features in one process and times each step
with its mask: the state's offer, every candidate decided. ``curves`` searches every program with
every strategy from nothing, without isl's schedules: ``steps``, ``steps-beam`` and ``steps-mcts``
are transformations of the source order, ``bias_coeff_0`` episodes of Schedule-v0. All begin with
the same mapping. Row k is the best speedup over the original order (LLVM -O3, one thread) after k
candidates that were run; an equal candidate counts once. ``sequences`` compiles, runs and compares
the programs after random legal steps, storage and index-set splitting included.

Every command goes on where an earlier run with the same ``--out`` was stopped. Nothing else should
run beside ``masks`` and ``curves``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from step_curves import STRATEGIES, curves
from step_masks import masks
from step_sequences import sequences


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    masking = commands.add_parser("masks", help="the time of a step with its exact mask")
    masking.add_argument("--steps", type=int, default=12, metavar="N")
    masking.add_argument("--episodes", type=int, default=5, metavar="N")
    masking.set_defaults(run=masks)
    search = commands.add_parser("curves", help="the best speedup after so many evaluations")
    search.add_argument("--strategies", default=",".join(STRATEGIES), metavar="NAME,...")
    search.add_argument("--threads", type=int, default=2, metavar="N")
    search.add_argument("--mapping", default="default", metavar="MAPPING")
    search.add_argument("--budget", type=int, default=100, metavar="N")
    search.add_argument("--report", action="store_true", help="print the tables, run nothing")
    search.set_defaults(run=curves, dataset="medium")
    sequence = commands.add_parser("sequences", help="run programs after random legal steps")
    sequence.add_argument("--count", type=int, default=1000, metavar="N")
    sequence.add_argument("--round", type=int, default=40, metavar="N", help="of one program")
    sequence.add_argument("--part", type=int, default=0, metavar="K", help="of --parts, from 0")
    sequence.add_argument("--parts", type=int, default=1, metavar="N")
    sequence.set_defaults(run=sequences, dataset="mini")
    for command in (masking, search, sequence):
        command.add_argument("--programs", default="all", metavar="SELECTION")
    for command, dataset in ((search, "medium"), (sequence, "mini")):
        command.add_argument("--out", type=Path, required=True, metavar="DIR")
        command.add_argument("--dataset", default=dataset, metavar="SIZE")
        command.add_argument("--seed", type=int, default=0, metavar="N")
        command.add_argument("--time-limit", default="60m", metavar="DURATION")
    options = parser.parse_args()
    try:
        result: int = options.run(options)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    return result


if __name__ == "__main__":
    sys.exit(main())
