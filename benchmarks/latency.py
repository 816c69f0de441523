"""Latency of an environment: the first reset, a step, a step that closes a dimension.

Every kernel is measured in a process of its own, so that the first reset has everything to do but
imports: parsing, dependences, conditions and, in Explore-v0, the generators of a whole space.

    python benchmarks/latency.py --id polygym/Schedule-v0
"""

import argparse
import json
import subprocess
import sys
import time

import gymnasium
import numpy as np

import polybench

IDS = ("polygym/Construct-v0", "polygym/Explore-v0", "polygym/Schedule-v0")


def measure(name: str, kernel: str, episodes: int) -> dict[str, float]:
    """Return the figures of one kernel in milliseconds."""
    env = gymnasium.make(f"polygym:{name}", kernel=kernel, reward="static")
    start = time.perf_counter()
    _, info = env.reset(seed=0)
    first = time.perf_counter() - start
    times: dict[str, list[float]] = {"step": [], "closing": [], "reset": [], "end": []}
    for _ in range(episodes):
        over = False
        while not over:
            dimensions = len(env.unwrapped.episode.dimensions)
            action = env.action_space.sample(info["action_mask"])
            start = time.perf_counter()
            _, _, over, _, info = env.step(action)
            passed = time.perf_counter() - start
            closed = len(env.unwrapped.episode.dimensions) > dimensions
            times["end" if over else "closing" if closed else "step"].append(passed)
        start = time.perf_counter()
        _, info = env.reset()
        times["reset"].append(time.perf_counter() - start)
    return {
        "first reset": 1e3 * first,
        "later resets": 1e3 * max(times["reset"]),
        "step, 95 %": 1e3 * float(np.percentile(times["step"] or [0.0], 95)),
        "closing step": 1e3 * max(times["closing"], default=0.0),
        "static end": 1e3 * max(times["end"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--id", choices=IDS, action="append")
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--kernel", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kernel:
        print(json.dumps(measure(options.id[0], options.kernel, options.episodes)))
        return
    for name in options.id or IDS:
        rows = {}
        for kernel in polybench.KERNELS:
            command = [sys.executable, __file__, "--id", name, "--kernel", kernel.name]
            command += ["--episodes", str(options.episodes)]
            rows[kernel.name] = json.loads(subprocess.check_output(command))
        print(name, "(milliseconds)")
        for figure in next(iter(rows.values())):
            values = sorted((row[figure], kernel) for kernel, row in rows.items())
            median, (worst, where) = values[len(values) // 2][0], values[-1]
            print(f"  {figure:14} median {median:8.2f}   worst {worst:8.2f} ({where})")


if __name__ == "__main__":
    main()
