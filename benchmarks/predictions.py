"""How many candidates a second a search by model looks at, features included, on one core.

128 chains of annealing walk over the mappings of isl's schedule, as in `polygym tune --search
model`: every step changes one entry of each chain's mapping, and the model that comes with polygym
scores them all. A prediction is a candidate that was not looked at before; those that were cost
nothing. Left out is what is paid once for a schedule: its tree, its statements. The time is the
processor's, not the clock's, so that a busy machine changes little.

    python benchmarks/predictions.py
    python benchmarks/predictions.py gemm tc:conv2d --steps 24
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import geometric_mean

import numpy as np

import polybench
from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.poly.strategy import ISL
from polygym.cost.shipped import shipped
from polygym.errors import PolygymError
from polygym.programs import load_program
from polygym.programs.selection import selected
from polygym.search.explore.neighbourhood import changed
from polygym.search.tune.annealing import CHAINS, Chains
from polygym.search.tune.candidates import Candidate, Genes, schedules_of
from polygym.search.tune.looked_at import LookedAt, together

PROGRAMS = (*(kernel.name for kernel in polybench.KERNELS), "tc:conv2d", "tc:mlp3", "tc:moments")


def measured(name: str, steps: int, seed: int) -> tuple[int, float]:
    """Return how many candidates were looked at, and the seconds that it took."""
    model = shipped()
    if model is None:
        raise PolygymError("predictions: expected a model that comes with polygym, found none")
    program = load_program(name)
    sizes = {one.name: program.value(one.name) for one in program.scop.parameters}
    ways = schedules_of(program.scop, strategies=(ISL,))
    if ISL not in ways:
        raise PolygymError(f"{name}: isl finds no schedule in the time that is usual")
    looked_at = LookedAt(program.scop, sizes, ways)
    start = replace(DEFAULT, threads=2)
    genes = Genes.of(program.scop, (ISL,), sizes, start)
    dice = np.random.default_rng(seed)

    def score(candidates: Sequence[Candidate]) -> np.ndarray:
        looks = looked_at.looks(candidates)
        known = [look for look in looks if look is not None]
        found = np.full(len(looks), -np.inf)
        if known:
            is_known = [look is not None for look in looks]
            found[is_known] = model.scores(together(known)[0]).mean(axis=0)
        return found

    score([Candidate(ISL, start)])
    chains = Chains([genes.random(dice) for _ in range(CHAINS)], dice)
    begin = time.process_time()
    seen = chains.run(steps, lambda one: Candidate(ISL, changed(one.mapping, dice)), score)
    seconds = time.process_time() - begin
    return sum(map(np.isfinite, seen.values())), seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="kernels and comprehensions; the usual ones")
    parser.add_argument("--steps", type=int, default=6, help="of every chain")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rates: dict[str, float] = {}
    for name in selected(options.programs) if options.programs else PROGRAMS:
        try:
            count, seconds = measured(name, options.steps, options.seed)
        except PolygymError as error:
            print(f"{name:16} {error}", file=sys.stderr)
            continue
        rates[name] = count / seconds
        print(f"{name:16} {rates[name]:8.0f} a second", flush=True)
    if not rates:
        return 1
    ordered = sorted(rates.values())
    print(f"median {ordered[len(ordered) // 2]:.0f}, geometric mean {geometric_mean(ordered):.0f}")
    print(f"at least 2,000: {sum(one >= 2000 for one in ordered)} of {len(ordered)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
