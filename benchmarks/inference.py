"""Time of the learned policy for an episode of each kernel; nothing is measured.

    python benchmarks/inference.py
    python benchmarks/inference.py gemm lu --dataset medium

A process of its own for each: the program is read and its dependences are known, as for any
schedule; then isl's schedule is edited and its mapping decided, and what takes time is what isl and
the features need. Seconds, and how many actions there were.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import polybench
from polygym.autoschedule.weights import shipped_weights
from polygym.cost.models.pretrained import pretrained_inference
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Task
from polygym.mdp.policies.pretrained import PretrainedPolicy
from polygym.mdp.policies.registry import play_episode
from polygym.mdp.task_options import MappingDecisions, TaskOptions
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program


def episode_seconds(kernel: str, dataset: polybench.Dataset) -> tuple[float, int]:
    """Return how long the policy takes for an episode, and how many actions it plays."""
    program = load_program(kernel, dataset=dataset)
    isl_schedule(program.scop)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    policy = PretrainedPolicy(shipped_weights(), trees=pretrained_inference())
    decisions = MappingDecisions(parse_mapping("threads=2"), ISL)
    began = time.perf_counter()
    task = Task(program.scop, TaskOptions(mapping_decisions=decisions), sizes)
    ended = play_episode(task.start(), policy, np.random.default_rng(0))
    return time.perf_counter() - began, len(ended.actions)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [kernel.name for kernel in polybench.KERNELS]
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="all by default")
    parser.add_argument(
        "--dataset", choices=[size.name.lower() for size in polybench.Dataset], default="large"
    )
    options = parser.parse_args(arguments)
    dataset, times = polybench.Dataset[options.dataset.upper()], []
    for kernel in options.kernels or names:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            seconds, actions = process.submit(episode_seconds, kernel, dataset).result()
        times.append(seconds)
        print(f"{kernel:16} {seconds:6.2f} s {actions:>4} actions", flush=True)
    within = sum(taken <= 1.0 for taken in times)
    print(f"{within} of {len(times)} within a second; the slowest {max(times):.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
