"""Noise of the measured reward: one schedule, judged by fresh evaluators.

Every look at a kernel is that of a new training: new processes, new memory, the first measurement
of isl's schedule under a mapping. The rewards of ``--count`` such looks should agree. For each
kernel and size: the median, the smallest and the largest reward, and the coefficient of variation,

    standard deviation / mean

With ``--busy N``, N processes compute beside all of it.

    python benchmarks/reward_noise.py --out noise.json
    python benchmarks/reward_noise.py --kernel gemm --dataset mini --count 8
    python benchmarks/reward_noise.py --busy 1 --dataset small

What has been measured stays in the file: the same command goes on where it was stopped.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polybench import Dataset
from polygym.cli.output import console
from polygym.files import write_atomically
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.worker.timing import describe_host

KERNELS = (
    "gemm", "mvt", "jacobi-2d", "atax", "syrk", "lu", "doitgen", "fdtd-2d", "covariance", "durbin",
)  # fmt: skip
SIZES = ("mini", "small", "medium")


def rewards(kernel: str, dataset: str, threads: int, count: int) -> list[float]:
    """Return the speedups that fresh evaluators measure for isl's schedule of a kernel."""
    program = load_program(kernel, dataset=Dataset.parse(dataset))
    schedule = isl_schedule(program.scop)
    result = []
    for _ in range(count):
        with Evaluator(program, EvaluationOptions(threads=threads)) as evaluator:
            evaluation = evaluator.evaluate(schedule)
        if not evaluation.is_ok:
            sys.exit(f"{kernel}, {dataset}: {evaluation.error_details or evaluation.status.value}")
        result.append(evaluation.speedup)
    return result


def variation(values: list[float]) -> float:
    """Return the coefficient of variation.

    >>> variation([1.0, 1.0]), round(variation([0.5, 1.5]), 3)
    (0.0, 0.707)
    """
    return statistics.stdev(values) / statistics.mean(values)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Have so many processes compute meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernel", action="append", help="one of them (default: ten)")
    parser.add_argument("--dataset", action="append", choices=SIZES, help="(default: all three)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="evaluators of each")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes beside it")
    parser.add_argument("--out", type=Path, help="a JSON file with all rewards")
    options = parser.parse_args()
    known = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    rows = []
    with busy(options.busy):
        for kernel in options.kernel or KERNELS:
            for dataset in options.dataset or SIZES:
                key = f"{kernel} {dataset} threads={options.threads} busy={options.busy}"
                if len(known.get(key, ())) < max(2, options.count):
                    known[key] = rewards(kernel, dataset, options.threads, max(2, options.count))
                    known["machine"] = describe_host().processor
                    if options.out:
                        write_atomically(options.out, json.dumps(known, indent=1).encode())
                values = known[key]
                numbers = (statistics.median(values), min(values), max(values), variation(values))
                rows.append((kernel, dataset, *(f"{number:.3f}" for number in numbers)))
                print(*rows[-1], file=sys.stderr, flush=True)
    console.print_table(("KERNEL", "SIZE", "MEDIAN", "LEAST", "MOST", "VARIATION"), rows, "llrrrr")


if __name__ == "__main__":
    main()
