"""Steps of an environment per second of processor time, kernel by kernel.

A random agent follows the mask; the reward is ``static`` (of Optimize-v0, which begins with the
original order, ``log_model``), so nothing is compiled or run. Every episode has its own seed: what
was computed for earlier ones may help, as it does in a training. Counted is all that a training
pays: resets, steps, the ends of episodes with their legality check and score. Left out is what is
paid once: loading the program, its dependences and their conditions. The time is the processor's,
not the clock's, so that a busy machine changes little; what asking for it takes, a tenth of a step
of Rewrite-v0 and more, is measured before and taken off. Kernels of Rewrite-v0 are sets of terms.

    python benchmarks/steps.py --kernel gemm --kernel lu
    python benchmarks/steps.py --id polygym/Rewrite-v0
    python benchmarks/steps.py --against ../older   # two source trees, in turn

Each kernel is measured in a process of its own, with the same seeds; of two trees they take turns,
``--rounds`` times, and the best round of each counts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from polygym.durations import parse_duration

IDS = ("polygym/Construct-v0", "polygym/Explore-v0", "polygym/Schedule-v0")
OPTIMIZE = "polygym/Optimize-v0"
TERMS = "polygym/Rewrite-v0"
ROOT = Path(__file__).resolve().parent.parent


def measure(name: str, kernel: str, seconds: float) -> dict[str, float]:
    """Return what one kernel's episodes take: six or more, until the time is over."""
    of_kernels: dict[str, Any] = {"kernel": kernel, "reward": "static", "dataset": "mini"}
    if name == OPTIMIZE:
        of_kernels = {"kernel": kernel, "reward": "log_model", "start": "original"}
    arguments = {"term": kernel} if name == TERMS else of_kernels
    env = gymnasium.make(f"polygym:{name}", **arguments)
    _, info = env.reset(seed=0)
    asking = clock_overhead()
    generator = np.random.default_rng(0)
    spent = in_steps = 0.0
    steps = episodes = 0
    while spent < seconds or episodes < 6:
        start, asks = time.process_time(), 1
        _, info = env.reset()
        over = False
        while not over:
            action = generator.choice(np.flatnonzero(info["action_mask"]))
            before = time.process_time()
            _, _, over, _, info = env.step(action)
            if not over:
                in_steps += time.process_time() - before - asking
            steps += 1
            asks += 1 + (not over)
        spent += time.process_time() - start - asking * asks
        episodes += 1
    return {
        "steps": steps,
        "episodes": episodes,
        "rate": steps / spent,
        "episodes a second": episodes / spent,
        "rate without ends": (steps - episodes) / in_steps if in_steps else 0.0,
    }


def clock_overhead(repeats: int = 2000) -> float:
    """Return what it takes to ask for the processor's time."""
    start = time.process_time()
    for _ in range(repeats - 1):
        time.process_time()
    return (time.process_time() - start) / repeats


def measure_in_process(tree: Path, name: str, kernel: str, seconds: float) -> dict[str, float]:
    """Return the figures of a kernel with the sources of a tree."""
    command = [sys.executable, __file__, "--measure", "--id", name, "--kernel", kernel]
    command += ["--time-limit", f"{seconds}s"]
    output = subprocess.check_output(command, env={**os.environ, "PYTHONPATH": str(tree)})
    figures: dict[str, float] = json.loads(output)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--id", choices=(*IDS, OPTIMIZE, TERMS), default=IDS[2])
    parser.add_argument("--kernel", action="append", help="one of them (default: all)")
    parser.add_argument(
        "--time-limit", type=parse_duration, default="2s", help="processor time of each"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", type=Path, help="another tree of sources to compare with")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.id, options.kernel[0], options.time_limit)))
        return
    import polybench

    trees = {"here": ROOT}
    if options.against:
        trees = {"there": options.against.resolve(), **trees}
    if not options.json:
        heads = [
            f"{what} {tree}" for what in ("steps/s", "inner/s", "episodes/s") for tree in trees
        ]
        print(f"{'kernel':16} {'  '.join(heads)}", flush=True)
    by_kernel: dict[str, dict[str, dict[str, float]]] = {}
    usual = (
        ["train", "test"]
        if options.id == TERMS
        else [polybench_kernel.name for polybench_kernel in polybench.KERNELS]
    )
    for kernel in options.kernel or usual:
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.rounds):
            for tree, path in trees.items():
                figures = measure_in_process(path, options.id, kernel, options.time_limit)
                if tree not in best or figures["rate"] > best[tree]["rate"]:
                    best[tree] = figures
        by_kernel[kernel] = best
        if not options.json:
            rates = [best[tree]["rate"] for tree in trees]
            inner = [best[tree]["rate without ends"] for tree in trees]
            whole = [best[tree]["episodes a second"] for tree in trees]
            gain = f"  {rates[1] / rates[0]:6.2f}" if options.against else ""
            numbers = " ".join(f"{rate:8.0f}" for rate in (*rates, *inner, *whole))
            print(f"{kernel:16} {numbers}{gain}", flush=True)
    if options.json:
        print(json.dumps(by_kernel, indent=1))


if __name__ == "__main__":
    main()
