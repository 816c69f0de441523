"""Is any mapped schedule's output wrong? Random ones, under random mappings, until time is up.

Every draw takes one of the test suite's programs (stencils with periodic boundaries, triangles,
contractions, recurrences, mixed types), a random legal schedule (or isl's, or the original order),
a random mapping and random sizes; the code is made for these sizes or for all, and runs with
threads that really start, however little there is to do. Its output must be that of the original
order bit for bit. Exit code 1 if one is not.

    PYTHONPATH=. python benchmarks/crash_study/random_mappings.py --time-limit 10m
"""

import argparse
import collections
import sys
import time

from polygym.durations import parse_duration
from tests.codegen.mapped_programs import PROGRAMS, REFUSED, disagreement
from tests.oracles.threads import every_loop_shared


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=parse_duration, default="10m", metavar="DURATION")
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first draw's seed")
    options = parser.parse_args()
    end = time.monotonic() + options.time_limit
    drawn: collections.Counter[str] = collections.Counter()
    wrong = refused = 0
    seed = options.seed
    with every_loop_shared() as forks:
        while time.monotonic() < end:
            for name in PROGRAMS:
                verdict = disagreement(name, seed)
                drawn[name] += verdict != REFUSED
                refused += verdict == REFUSED
                if verdict not in (None, REFUSED):
                    wrong += 1
                    print(verdict, flush=True)
                if time.monotonic() >= end:
                    break
            seed += 1
    print(
        f"{sum(drawn.values())} mapped schedules of {len(drawn)} programs ran, {wrong} wrong; "
        f"{refused} were too irregular for code; threads were started {len(forks.asked)} times"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
