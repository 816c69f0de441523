"""Time of the learned policy for an episode of each kernel; nothing is measured.

    python benchmarks/inference.py

A process of its own for each: the program is read and its dependences are known, as for any
schedule; then isl's schedule is edited and its mapping decided, and what takes time is what isl and
the features need. Seconds, and how many actions there were.
"""

from __future__ import annotations

import subprocess
import sys

import polybench

_SCRIPT = """
import sys, time
import numpy as np
import polybench
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import own_sizes
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.mdp.episode import Task
from polygym.mdp.task_options import Decides, TaskOptions
from polygym.mdp.policies.pretrained import Learned
from polygym.cost.models.pretrained import walked
from polygym.autoschedule.weights import shipped
from polygym.mdp.policies.registry import play
from polygym.programs import load_program
program = load_program(sys.argv[1], dataset=polybench.Dataset.LARGE)
isl_schedule(program.scop)
sizes = own_sizes(program.scop, dict(program.parameters))
choose = Learned(shipped(), trees=walked())
began = time.perf_counter()
task = Task(program.scop, TaskOptions(decides=Decides(parse_mapping("threads=2"), ISL)), sizes)
ended = play(task.start(), choose, np.random.default_rng(0))
print(time.perf_counter() - began, len(ended.actions))
"""


def main() -> int:
    times = []
    for kernel in polybench.KERNELS:
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, kernel.name], capture_output=True, text=True, check=True
        )
        seconds, actions = done.stdout.split()
        times.append(float(seconds))
        print(f"{kernel.name:16} {float(seconds):6.2f} s {actions:>4} actions", flush=True)
    within = sum(time <= 1.0 for time in times)
    print(f"{within} of {len(times)} within a second; the slowest {max(times):.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
