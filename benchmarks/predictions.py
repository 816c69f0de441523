"""Candidates a second that a model-guided search scores, features included, on one core.

128 chains of annealing walk over the mappings of isl's schedule, as in `polygym tune --search
model`: every step changes one entry of each chain's mapping, and the model that comes with polygym
scores them all. A prediction is a candidate that was not looked at before; those that were cost
nothing. Left out is what is paid once for a schedule: its tree, its statements. The time is the
processor's, not the clock's, so that a busy machine changes little.

    python benchmarks/predictions.py
    python benchmarks/predictions.py gemm tc:conv2d --steps 24

With `--schedules` it says what a schedule costs that was not seen before, as in a search that walks
over schedules: the milliseconds from its rows to its features under the default mapping, the proof
that it is legal included. Half of the schedules are what policies play, half are changes of isl's.
Left out is what is paid once for a program: what depends on what, how much statements do.

    python benchmarks/predictions.py --schedules 24
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from statistics import geometric_mean, median

import numpy as np

import polybench
from polygym.cost.features.candidates.candidate_vector import FeatureExtractor
from polygym.cost.models.correction import base_scores
from polygym.cost.models.pretrained import pretrained_model
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import Program, load_program
from polygym.programs.selection import select_programs
from polygym.search.strategies.candidates import (
    Candidate,
    ScheduleSource,
    SearchSpace,
    schedules_of,
)
from polygym.search.strategies.feature_cache import FeatureCache, stack_features
from polygym.search.strategies.model_annealing import CHAIN_COUNT, AnnealingChains
from polygym.search.strategies.neighborhood import mutate_mapping
from polygym.search.strategies.samplers import EpisodeSchedules
from polygym.search.strategies.schedule_edits import edit_schedule

PROGRAMS = (*(kernel.name for kernel in polybench.KERNELS), "tc:conv2d", "tc:mlp3", "tc:moments")

START = replace(DEFAULT_MAPPING, threads=2)
_MAX_ATTEMPTS = 200


def count_predictions(name: str, steps: int, seed: int) -> tuple[int, float]:
    """Return how many candidates were looked at, and the seconds that it took."""
    model = pretrained_model()
    if model is None:
        raise PolygymError("predictions: expected a model that comes with polygym, found none")
    program = load_program(name)
    scop, sizes = program.scop, _sizes(program)
    ways: dict[ScheduleSource, Schedule] = {ISL: _default_schedule(program)}
    looked_at = FeatureCache(scop, sizes, ways)
    genes = SearchSpace.for_program(scop, (ISL,), sizes, START)
    rng = np.random.default_rng(seed)

    def score(candidates: Sequence[Candidate]) -> np.ndarray:
        looks = looked_at.features(candidates)
        known = [look for look in looks if look is not None]
        array = np.full(len(looks), -np.inf)
        if known:
            is_known = [look is not None for look in looks]
            array[is_known] = base_scores(model, *stack_features(known))
        return array

    score([Candidate(ISL, START)])
    chains = AnnealingChains([genes.sample(rng) for _ in range(CHAIN_COUNT)], rng)
    begin = time.process_time()
    seen = chains.run(
        steps, lambda candidate: Candidate(ISL, mutate_mapping(candidate.mapping, rng)), score
    )
    seconds = time.process_time() - begin
    return sum(map(np.isfinite, seen.values())), seconds


def schedule_milliseconds(name: str, count: int, seed: int) -> list[float]:
    """Return the milliseconds that the features of each of some new schedules take."""
    program = load_program(name)
    sizes = _sizes(program)

    def look_at(schedule: Schedule) -> float:
        begin = time.process_time()
        candidates = FeatureExtractor(LegalSchedule(program.scop, schedule), sizes)
        candidates.features([START])
        return 1e3 * (time.process_time() - begin)

    usual = _default_schedule(program)
    look_at(usual)
    schedules = new_schedules(program.scop, usual, count, np.random.default_rng(seed))
    if not schedules:
        raise PolygymError(f"{name}: neither changes of isl's schedule nor policies lead to any")
    return [look_at(schedule) for schedule in schedules]


def new_schedules(
    scop: Scop, default_schedule: Schedule, count: int, rng: np.random.Generator
) -> list[Schedule]:
    """Return legal schedules, as many or fewer, each once: in any order, but for the usual one."""
    seen = {default_schedule}
    schedules = [
        *islice(_edited_schedules(scop, default_schedule, seen, rng), count // 2),
        *islice(_policy_schedules(scop, seen, rng), count - count // 2),
    ]
    return [schedules[int(place)] for place in rng.permutation(len(schedules))]


def _sizes(program: Program) -> dict[str, int]:
    return {parameter.name: program.value(parameter.name) for parameter in program.scop.parameters}


def _default_schedule(program: Program) -> Schedule:
    ways = schedules_of(program.scop, sources=(ISL,))
    if ISL not in ways:
        raise PolygymError(f"{program.name}: isl finds no schedule in the time that is usual")
    return ways[ISL]


def _edited_schedules(
    scop: Scop, default_schedule: Schedule, seen: set[Schedule], rng: np.random.Generator
) -> Iterator[Schedule]:
    """Yield legal changes of a schedule, and changes of those, each once."""
    at = default_schedule
    for _ in range(_MAX_ATTEMPTS):
        schedule = edit_schedule(at, scop, rng)
        if schedule is not None and schedule not in seen:
            seen.add(schedule)
            yield schedule
        at = default_schedule if schedule is None or rng.random() < 0.5 else schedule


def _policy_schedules(
    scop: Scop, seen: set[Schedule], rng: np.random.Generator
) -> Iterator[Schedule]:
    """Yield schedules that policies construct, each once; none where spaces are too large."""
    plays = EpisodeSchedules(scop, rng)
    while schedules := plays.sample(lambda schedule: schedule not in seen, lambda: False):
        seen.update(schedules)
        yield from schedules


def report_mappings(names: Sequence[str], steps: int, seed: int) -> bool:
    """Print how many changes of the mapping are looked at in a second; whether there are any."""
    rates: dict[str, float] = {}
    for name in names:
        try:
            count, seconds = count_predictions(name, steps, seed)
        except PolygymError as error:
            print(f"{name:16} {error}", file=sys.stderr)
            continue
        rates[name] = count / seconds
        print(f"{name:16} {rates[name]:8.0f} a second", flush=True)
    if not rates:
        return False
    ordered = sorted(rates.values())
    print(f"median {ordered[len(ordered) // 2]:.0f}, geometric mean {geometric_mean(ordered):.0f}")
    print(f"at least 2,000: {sum(rate >= 2000 for rate in ordered)} of {len(ordered)}")
    return True


def report_schedules(names: Sequence[str], count: int, seed: int) -> bool:
    """Print how long new schedules take to be looked at; whether there are any."""
    times: dict[str, list[float]] = {}
    for name in names:
        try:
            times[name] = schedule_milliseconds(name, count, seed)
        except PolygymError as error:
            print(f"{name:16} {error}", file=sys.stderr)
            continue
        print(f"{name:16} {_spread(times[name])}", flush=True)
    if not times:
        return False
    medians = [median(some) for some in times.values()]
    every = [duration for some in times.values() for duration in some]
    print(f"all {len(every):<12} {_spread(every)}")
    print(f"medians: {median(medians):.1f} ms in the median, {max(medians):.1f} at most")
    return True


def _spread(times: Sequence[float]) -> str:
    most = sorted(times)[len(times) * 9 // 10]
    return f"median {median(times):6.1f} ms, 90 % up to {most:6.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help="kernels and comprehensions; the usual ones")
    parser.add_argument("--steps", type=int, default=6, help="of every chain")
    parser.add_argument("--schedules", type=int, help="so many new schedules instead of mappings")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    names = select_programs(options.programs) if options.programs else PROGRAMS
    if options.schedules:
        result = report_schedules(names, options.schedules, options.seed)
    else:
        result = report_mappings(names, options.steps, options.seed)
    return 0 if result else 1


if __name__ == "__main__":
    sys.exit(main())
