"""Programs for tests of features, and schedules of them: two known ones, and what policies play."""

from __future__ import annotations

from functools import cache

import numpy as np

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.search.strategies.samplers import schedule_or_reason
from tests.c_programs import SMALL_PROGRAMS, kernel_scop

KERNELS = ("gemm", "mvt", "trmm", "lu", "jacobi-1d", "fdtd-2d", "durbin")


@cache
def program(name: str) -> Scop:
    if name in SMALL_PROGRAMS:
        return parse_text(SMALL_PROGRAMS[name])
    if name.startswith("random:"):
        return load_program(name).scop
    return kernel_scop(name)


@cache
def schedules(name: str, seed: int = 0) -> tuple[Schedule, ...]:
    """Return the original order, isl's, and what two policies play."""
    scop = program(name)
    result = [original_schedule(scop), isl_schedule(scop)]
    for number, which in enumerate(("bias_coeff_0", "uniform")):
        played = play_episode(
            Task(scop, TaskOptions()).start(),
            policy_named(which),
            np.random.default_rng([seed, number]),
        )
        schedule = schedule_or_reason(played)
        if isinstance(schedule, Schedule):
            result.append(schedule)
    return tuple(result)


def sizes_of(scop: Scop, size: int = 5) -> dict[str, int]:
    return {p.name: size + place % 3 for place, p in enumerate(scop.parameters)}
