"""Comprehensions against NumPy and, where it is installed, PyTorch: naive, default, tuned.

Sizes are those of common kernels: products with a transposed matrix, batches of them, grouped
convolutions, perceptrons, lookup tables. The contenders run in this process in turn, and the best
of several rounds counts, of two where they are slow. In each round a contender waits until the
threads of the one before, which spin for a while in case that there is more to do, have fallen
asleep; then it is called without a clock, so that its own threads are awake and its caches warm,
and only then with one: what is compared is how long each takes when it is called again and again.
Tuning takes ``--time-limit`` a row, in processes of its own; 0s omits it.

    python benchmarks/tc.py --threads 2 --time-limit 60s
    python benchmarks/tc.py --time-limit 0s tmm mlp3
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.durations import parse_duration
from polygym.frontend.tc import library
from polygym.frontend.tc.syntax.tree import ElementType, NameUse
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.tc.comprehension import Comprehension

try:
    import torch
except ImportError:
    torch = None

Arrays = list[np.ndarray]

# Seconds: between two contenders, of calls without a clock, and of those with one, in each round.
SLEEP_SECONDS = 0.1
WARM_UP_SECONDS = 0.01
TIMED_SECONDS = 0.02

# What would take longer than this in all rounds, in seconds, is left with fewer of them.
MAX_SECONDS = 10.0
MIN_ROUNDS = 2


@dataclass(frozen=True)
class ComprehensionCase:
    """A comprehension of the library with sizes, and what else computes it."""

    name: str
    sizes: dict[str, int]
    numpy: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def mlp3(x: np.ndarray, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> np.ndarray:
    return relu(relu(relu(x @ w2.T + b2) @ w3.T + b3) @ w4.T + b4)


def torch_mlp3(x: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> Any:
    linear, positive = torch.nn.functional.linear, torch.nn.functional.relu
    return positive(linear(positive(linear(positive(linear(x, w2, b2)), w3, b3)), w4, b4))


def grouped_convolution(image: Any, kernel: Any) -> Any:
    n, g, c, h, w = image.shape
    weights = kernel.reshape(-1, c, *kernel.shape[-2:])
    return torch.nn.functional.conv2d(image.reshape(n, g * c, h, w), weights, groups=g)


def convolution(channels: int, side: int) -> ComprehensionCase:
    sizes = {"N": 32, "G": 32, "C": channels, "F": channels, "H": side, "W": side}
    return ComprehensionCase(
        "conv2d_grouped", {**sizes, "KH": 3, "KW": 3}, torch=grouped_convolution
    )


def lookup_tables(count: int) -> ComprehensionCase:
    """Return lookups in one or two tables of a million rows, which no cache holds."""
    sizes = {"D": 64, "B": 128}
    for number in [""] if count == 1 else ["1", "2"]:
        sizes |= {f"E{number}": 10**6, f"L{number}": 50}
    bag = torch and torch.nn.functional.embedding_bag
    return ComprehensionCase(
        f"{count}LUT",
        sizes,
        lambda *given: [table[rows].sum(1) for table, rows in weight_pairs(given)],
        lambda *given: [bag(rows, table, mode="sum") for table, rows in weight_pairs(given)],
    )


def weight_pairs(given: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(given[::2], given[1::2], strict=True)


CASES = (
    ComprehensionCase(
        "tmm", {"M": 128, "K": 32, "N": 256}, lambda a, b: a @ b.T, lambda a, b: a @ b.T
    ),
    ComprehensionCase(
        "tmm", {"M": 128, "K": 1024, "N": 1024}, lambda a, b: a @ b.T, lambda a, b: a @ b.T
    ),
    ComprehensionCase(
        "tmm", {"M": 128, "K": 4096, "N": 16384}, lambda a, b: a @ b.T, lambda a, b: a @ b.T
    ),
    ComprehensionCase(
        "tbmm",
        {"B": 500, "N": 26, "M": 72, "K": 26},
        lambda x, y: x @ y.transpose(0, 2, 1),
        lambda x, y: torch.bmm(x, y.transpose(1, 2)),
    ),
    convolution(16, 14),
    convolution(32, 7),
    convolution(4, 56),
    convolution(8, 28),
    ComprehensionCase("mlp1", {"B": 128, "M": 1000, "N": 400}, lambda x, w, b: relu(x @ w.T + b)),
    ComprehensionCase("mlp3", {"B": 128, "N": 128, "O": 64, "P": 32, "Q": 2}, mlp3, torch_mlp3),
    lookup_tables(1),
    lookup_tables(2),
    ComprehensionCase("softmax", {"N": 1000, "D": 1000}, None, lambda x: torch.softmax(x, 1)),
)


def case_arrays(case: ComprehensionCase) -> Arrays:
    rng = np.random.default_rng(0)
    result = []
    for parameter in library.definition(case.name).parameters:
        shape = [case.sizes[s.name] for s in parameter.sizes if isinstance(s, NameUse)]
        if parameter.type is ElementType.FLOAT:
            result.append(rng.random(shape, np.float32))
        else:  # the numbers of rows: those in I1 belong to a table with E1 of them
            rows = case.sizes[parameter.name.replace("I", "E")]
            result.append(rng.integers(0, rows, shape, np.int32))
    return result


def best_times(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the best time of each in seconds; they run in turn, slow ones less often."""
    result = dict.fromkeys(calls, float("inf"))
    for number in range(rounds):
        for name, call in calls.items():
            if number < MIN_ROUNDS or result[name] * rounds < MAX_SECONDS:
                time.sleep(SLEEP_SECONDS)
                best_time(call, WARM_UP_SECONDS)
                result[name] = min(result[name], best_time(call, TIMED_SECONDS))
    return result


def best_time(call: Callable[[], Any], seconds: float) -> float:
    """Call something once at least, and again for so long; return its best time."""
    begin = start = time.perf_counter()
    best = float("inf")
    while start - begin < seconds or best == float("inf"):
        call()
        end = time.perf_counter()
        best, start = min(best, end - start), end
    return best


def measure_case(
    case: ComprehensionCase, threads: int, seconds: float, rounds: int
) -> dict[str, float]:
    """Return the times of a case, in seconds."""
    arrays = case_arrays(case)
    shared = Mapping(threads=threads)
    definition = library.definition(case.name)
    calls: dict[str, Callable[[], Any]] = {}
    for name, mapping in (
        ("naive", SEQUENTIAL_MAPPING),
        ("default", DEFAULT_MAPPING),
        ("tuned", DEFAULT_MAPPING),
    ):
        chosen = mapping if name == "naive" else shared
        operator = Comprehension(definition, chosen)
        if name == "tuned":
            if seconds <= 0:
                continue
            operator.tune(*arrays, time_limit=seconds)
        calls[name] = lambda operator=operator: operator(*arrays)
    if case.numpy is not None:
        calls["numpy"] = lambda: case.numpy(*arrays)
    if torch is not None and case.torch is not None:
        tensors = [torch.from_numpy(array) for array in arrays]
        calls["torch"] = lambda: case.torch(*tensors)
    return best_times(calls, rounds)


def main() -> None:
    """Print a row for every case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--time-limit", type=parse_duration, default="60s", help="tuning time of each row"
    )
    parser.add_argument("--rounds", type=int, default=15)
    names = sorted({case.name for case in CASES})
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}: all")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds: expected a number from 1 on, found {arguments.rounds}")
    if unknown := set(arguments.names) - set(names):
        parser.error(f"expected some of {', '.join(names)}, found {', '.join(sorted(unknown))}")
    # What is found in this run counts, not what an earlier one has left.
    os.environ["POLYGYM_CACHE"] = "off"
    if torch is not None:
        torch.set_num_threads(arguments.threads)
    columns = ("naive", "default", "tuned", "numpy", "torch")
    print("| comprehension | " + " | ".join(f"{name}, ms" for name in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for case in CASES:
        if arguments.names and case.name not in arguments.names:
            continue
        seconds = measure_case(case, arguments.threads, arguments.time_limit, arguments.rounds)
        times = [f"{1e3 * seconds[name]:.3f}" if name in seconds else "-" for name in columns]
        sizes = ", ".join(f"{name}={value}" for name, value in case.sizes.items())
        print(f"| {case.name} ({sizes}) | {' | '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
