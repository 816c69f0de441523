"""The experiment of the PolyGym paper: random policies on all kernels, from nothing, in shards.

    python benchmarks/paper_experiment --time-limit 110m
    python benchmarks/paper_experiment --kernels mvt,atax --mapping default --seed 0
    python benchmarks/paper_experiment --report

Each policy plays ``--budget`` episodes of every program; none begins with a known schedule. The
search is at MEDIUM, and the six best schedules are measured again at LARGE, beside the original
order, isl's schedule, gcc, clang and Polly. There are two mappings, polygym's default and the
sequential one, which shows what the schedule alone is worth, and two seeds. Shards come in this
order: the first seed under the default mapping, then sequential, then the second seed.

A shard is one program under one mapping with one seed. Its store is in ``--work``; it survives
Ctrl-C and crashes, and the same command goes on. A complete shard's rows are in ``--rows``, small
enough to be committed, and it is not run again. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from paper_curves import tables
from paper_shards import POLICIES, Conditions, Shard, pack_shard, read_rows, run_shard

from polygym.agents.experiments.splits import selected_kernels
from polygym.durations import parse_duration
from polygym.errors import PolygymError

MAPPINGS = ("default", "sequential")
SEEDS = (0, 1)
ROWS = Path(__file__).parent / "rows"


def shards_of(
    kernels: Sequence[str], mappings: Sequence[str], seeds: Sequence[int]
) -> Iterator[Shard]:
    """Yield the shards in the order in which they matter."""
    for seed in seeds:
        for mapping in mappings:
            for kernel in kernels:
                yield Shard(kernel, mapping, seed)


def run_all(shards: Sequence[Shard], options: argparse.Namespace, deadline: float) -> int:
    """Run what is missing until the time is over; return how many shards are missing then."""
    conditions = Conditions(
        options.budget, options.search_dataset, options.dataset, options.threads, options.against
    )
    missing = [shard for shard in shards if not shard.rows_file(options.rows).exists()]
    done = 0
    for shard in missing:
        if time.monotonic() >= deadline:
            break
        begun = time.monotonic()
        if run_shard(shard, conditions, options.work, deadline):
            file = pack_shard(shard, options.work, options.rows)
            done += 1
            minutes = (time.monotonic() - begun) / 60
            print(f"{shard.group} {shard.kernel}: {minutes:.1f} minutes, {file}", file=sys.stderr)
    return len(missing) - done


def report(shards: Sequence[Shard], options: argparse.Namespace) -> None:
    """Print tables of the shards that are complete."""
    groups: dict[str, dict[str, list[dict[str, str]]]] = {}
    for shard in shards:
        if (file := shard.rows_file(options.rows)).exists():
            groups.setdefault(shard.group, {})[shard.kernel] = read_rows(file)
    for group, found in groups.items():
        print(f"## {group}: {len(found)} programs\n\n{tables(found, POLICIES, options.dataset)}\n")
    if not groups:
        print(f"{options.rows}: no shard is complete", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default="all", help="a selection (default: all)")
    parser.add_argument("--mapping", action="append", choices=MAPPINGS, help="(default: both)")
    parser.add_argument("--seed", action="append", type=int, metavar="N", help="(default: 0, 1)")
    parser.add_argument("--budget", type=int, default=1000, metavar="N", help="of each policy")
    parser.add_argument("--search-dataset", default="medium", metavar="SIZE")
    parser.add_argument("--dataset", default="large", metavar="SIZE")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--against", default="clang,gcc,polly", metavar="NAMES")
    parser.add_argument(
        "--time-limit", type=parse_duration, default=float("inf"), metavar="DURATION"
    )
    parser.add_argument("--work", type=Path, default=Path("build/paper_experiment"))
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--report", action="store_true", help="print tables, run nothing")
    options = parser.parse_args()
    deadline = time.monotonic() + options.time_limit
    try:
        kernels = selected_kernels(options.kernels)
        shards = list(shards_of(kernels, options.mapping or MAPPINGS, options.seed or SEEDS))
        missing = 0 if options.report else run_all(shards, options, deadline)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    report(shards, options)
    if missing:
        print(f"{missing} shards are not complete; the same command goes on", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
