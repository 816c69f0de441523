"""The time of a step with its exact mask, for every kernel."""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from polygym.agents.experiments.splits import selected_kernels
from polygym.envs.transform import TransformEnv


def masks(options: argparse.Namespace) -> int:
    """Print the time of a step for every kernel."""
    medians: list[float] = []
    print("| program | first mask, ms | median step | slowest step | steps | most actions |")
    print("|---|---|---|---|---|---|")
    for kernel in selected_kernels(options.programs):
        env = TransformEnv(kernel, reward="static", threads=2, max_steps=options.steps)
        started = time.perf_counter()
        _, info = env.reset(seed=0)
        first = time.perf_counter() - started
        times, offered = [], 0
        for seed in range(options.episodes):
            _, info = env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(options.steps):
                allowed = np.flatnonzero(info["action_mask"])
                offered = max(offered, len(env.episode.offer.steps))
                if len(allowed) < 3:
                    break
                action = int(rng.choice(allowed[allowed > 1]))
                started = time.perf_counter()
                env.take(action)
                mask = env.action_masks()
                times.append(time.perf_counter() - started)
                info = {"action_mask": mask}
        medians.append(statistics.median(times))
        cells = (first, medians[-1], max(times))
        shown = " | ".join(f"{1e3 * value:.1f}" for value in cells)
        print(f"| {kernel} | {shown} | {len(times)} | {offered} |", flush=True)
    print(f"\nmedian of the medians {1e3 * statistics.median(medians):.1f} ms, "
          f"worst median {1e3 * max(medians):.1f} ms")  # fmt: skip
    return 0
