"""Comprehensions against NumPy and, where it is installed, PyTorch: naive, default, tuned.

Sizes are those of common kernels: products with a transposed matrix, batches of them, grouped
convolutions, perceptrons, lookup tables. The contenders run in this process in turn, and the best
of several rounds counts, of two where they are slow. In each round a contender waits until the
threads of the one before, which spin for a while in case that there is more to do, have fallen
asleep; then it is called without a clock, so that its own threads are awake and its caches warm,
and only then with one: what is compared is how long each takes when it is called again and again.
Times are the least, the median and the 90th percentile of the calls, as in the paper's tables.
Results are compared with those of NumPy or PyTorch in double precision. Tuning takes
``--time-limit`` a row, in processes of its own; 0s omits it. Operators of networks are measured by
``python -m benchmarks.comprehension_study.operators``.

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
from polygym.frontend.tc import TcDefinition, library, parse_definitions
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

# Differences from double precision, of the largest element.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class ComprehensionCase:
    """A comprehension of the library with sizes, and what else computes it.

    ``scalars`` are its first arguments; ``text`` is a definition that the library does not have.
    """

    name: str
    sizes: dict[str, int]
    numpy: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    scalars: tuple[Any, ...] = ()
    text: str = ""

    @property
    def definition(self) -> TcDefinition:
        """The definition."""
        if not self.text:
            return library.definition(self.name)
        return {one.name: one for one in parse_definitions(self.text)}[self.name]


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
    result = torch.nn.functional.conv2d(image.reshape(n, g * c, h, w), weights, groups=g)
    return result.reshape(n, g, -1, *result.shape[2:])


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


# Figure 15 of the paper, with the concatenation that is missing there, and no smaller tables.
PRODUCTION_MODEL = """
def production_model(
    float(E1, D) LUT1, int(B, L1) I1, float(E2, D) LUT2, int(B, L2) I2,
    float(B, WX) I3, float(WY, WX) W, float(N, M) W1, float(N) B1, float(O, N) W2, float(O) B2,
    float(P, O) W3, float(P) B3, float(Q, P) W4, float(Q) B4) -> (O4) {
  C1(b, d) +=! LUT1(I1(b, l), d)
  C2(b, d) +=! LUT2(I2(b, l), d)
  C3(b, y) +=! I3(b, x) * W(y, x)
  I(b, m) = m < D ? C1(b, m) : m < 2 * D ? C2(b, m - D) : C3(b, m - 2 * D) where m in 0:M
  O1(b, n) = B1(n)
  O1(b, n) += I(b, m) * W1(n, m)
  O1(b, n) = max(O1(b, n), 0)
  O2(b, o) = B2(o)
  O2(b, o) += O1(b, n) * W2(o, n)
  O2(b, o) = max(O2(b, o), 0)
  O3(b, p) = B3(p)
  O3(b, p) += O2(b, o) * W3(p, o)
  O3(b, p) = max(O3(b, p), 0)
  O4(b, q) = B4(q)
  O4(b, q) += O3(b, p) * W4(q, p)
  O4(b, q) = max(O4(b, q), 0)
}
"""


def production_model(t1: Any, i1: Any, t2: Any, i2: Any, i3: Any, w: Any, *layers: Any) -> Any:
    parts = [t1[i1].sum(1), t2[i2].sum(1), i3 @ w.T]
    result = np.concatenate(parts, 1)
    for weights, bias in weight_pairs(layers):
        result = relu(result @ weights.T + bias)
    return result


def torch_production_model(*given: Any) -> Any:
    t1, i1, t2, i2, i3, w, *layers = given
    bag, linear = torch.nn.functional.embedding_bag, torch.nn.functional.linear
    parts = [bag(i1, t1, mode="sum"), bag(i2, t2, mode="sum"), linear(i3, w)]
    result = torch.cat(parts, 1)
    for weights, bias in weight_pairs(layers):
        result = linear(result, weights, bias).relu()
    return result


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
    ComprehensionCase(  # C3 of the paper
        "tmm", {"M": 128, "K": 1000, "N": 1024}, lambda a, b: a @ b.T, lambda a, b: a @ b.T
    ),
    ComprehensionCase("mlp3", {"B": 128, "N": 128, "O": 64, "P": 32, "Q": 2}, mlp3, torch_mlp3),
    lookup_tables(1),
    lookup_tables(2),
    ComprehensionCase(
        "production_model",
        {"E1": 10**6, "E2": 10**6, "D": 64, "B": 128, "L1": 50, "L2": 50, "WX": 1000, "WY": 1024}
        | {"M": 1152, "N": 128, "O": 64, "P": 32, "Q": 2},
        production_model,
        torch_production_model,
        text=PRODUCTION_MODEL,
    ),
    ComprehensionCase("softmax", {"N": 1000, "D": 1000}, None, lambda x: torch.softmax(x, 1)),
)


ROWS = {"target": "C"}


def case_arrays(case: ComprehensionCase) -> Arrays:
    rng = np.random.default_rng(0)
    result = []
    for parameter in case.definition.parameters[len(case.scalars) :]:
        shape = [
            case.sizes[s.name] if isinstance(s, NameUse) else int(s.value) for s in parameter.sizes
        ]
        if parameter.type is ElementType.FLOAT:
            result.append(rng.random(shape, np.float32))
        else:  # the numbers of rows: those in I1 belong to a table with E1 of them
            rows = case.sizes[ROWS.get(parameter.name, parameter.name.replace("I", "E"))]
            result.append(rng.integers(0, rows, shape, np.int32))
    return result


def call_times(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the times of each in seconds; they run in turn, slow ones less often."""
    result: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        for name, call in calls.items():
            if number < MIN_ROUNDS or min(result[name]) * rounds < MAX_SECONDS:
                time.sleep(SLEEP_SECONDS)
                repeated_times(call, WARM_UP_SECONDS)
                result[name] += repeated_times(call, TIMED_SECONDS)
    return result


def repeated_times(call: Callable[[], Any], seconds: float) -> list[float]:
    """Call something once at least, and again for so long; return the times."""
    begin = start = time.perf_counter()
    result: list[float] = []
    while start - begin < seconds or not result:
        call()
        end = time.perf_counter()
        result.append(end - start)
        start = end
    return result


def reference_results(case: ComprehensionCase, arrays: Arrays) -> list[np.ndarray]:
    """Return the results in double precision."""
    wide = [array.astype(float) if array.dtype.kind == "f" else array for array in arrays]
    if case.numpy is not None:
        return listed(case.numpy(*case.scalars, *wide))
    assert torch is not None, f"{case.name}: PyTorch computes the results that are expected"
    found = case.torch(*case.scalars, *(torch.from_numpy(array) for array in wide))
    return [tensor.numpy() for tensor in listed(found)]


def listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, list | tuple) else [results]


def check_results(name: str, found: Any, expected: Sequence[np.ndarray]) -> None:
    """Stop where a result is wrong; of several, the last ones are compared."""
    for ours, theirs in zip(listed(found)[-len(expected) :], expected, strict=True):
        scale = float(np.abs(theirs).max(initial=0)) + 1e-30
        error = float(np.abs(ours - theirs).max(initial=0)) / scale
        if not error < TOLERANCE:
            raise SystemExit(f"{name}: a result differs by {error:.2g} of the largest element")


def measure_case(
    case: ComprehensionCase, threads: int, seconds: float, rounds: int
) -> dict[str, list[float]]:
    """Return the times of a case, in seconds."""
    arrays = case_arrays(case)
    shared = Mapping(threads=threads)
    definition, scalars = case.definition, case.scalars
    expected = reference_results(case, arrays)
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
            operator.tune(*scalars, *arrays, time_limit=seconds)
        check_results(f"{case.name}, {name}", operator(*scalars, *arrays), expected)
        calls[name] = lambda operator=operator: operator(*scalars, *arrays)
    if case.numpy is not None:
        calls["numpy"] = lambda: case.numpy(*scalars, *arrays)
    if torch is not None and case.torch is not None:
        tensors = [torch.from_numpy(array) for array in arrays]
        calls["torch"] = lambda: case.torch(*scalars, *tensors)
    return call_times(calls, rounds)


def percentiles(seconds: Sequence[float] | None) -> str:
    """Return p0, p50 and p90 in milliseconds."""
    if seconds is None:
        return "-"
    return " / ".join(f"{1e3 * time:.3f}" for time in np.percentile(seconds, (0, 50, 90)))


def main(cases: Sequence[ComprehensionCase] = CASES, description: str | None = __doc__) -> None:
    """Print a row for every case."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--time-limit", type=parse_duration, default="60s", help="tuning time of each row"
    )
    parser.add_argument("--rounds", type=int, default=15)
    names = sorted({case.name for case in cases})
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
    print("| comprehension | " + " | ".join(f"{name}, ms p0/p50/p90" for name in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for case in cases:
        if arguments.names and case.name not in arguments.names:
            continue
        seconds = measure_case(case, arguments.threads, arguments.time_limit, arguments.rounds)
        times = [percentiles(seconds.get(name)) for name in columns]
        sizes = ", ".join(f"{name}={value}" for name, value in case.sizes.items())
        print(f"| {case.name} ({sizes}) | {' | '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
