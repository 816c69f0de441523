"""Times of calls on small arrays, where the call is all that there is.

    python -m benchmarks.comprehension_study.call_overhead

An operator is called again and again on arrays of 8 or 8 × 8 elements, with and without memory for
the result. Beside it stands an addition of NumPy's or PyTorch's. The least of 2,000 times counts,
each the mean of 100 calls; on a machine with load that is nearly what a quiet one shows.
"""

import argparse
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from polygym.tc.comprehension import define

ADD = "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }"
CALLS = 100


def microseconds(function: Callable[[], Any], repeats: int) -> float:
    """Return the least time of a call."""
    return 1e6 * min(timeit.repeat(function, number=CALLS, repeat=repeats)) / CALLS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(f"{'operator':10} {'library':8} {'call':>7} {'out=':>7} {'A + B':>7}   (µs)")
    for text, shape in ((ADD, (8,)), ("tc:matmul", (8, 8))):
        operator = define(text, threads=options.threads)
        arrays = [np.ones(shape, np.float32) for _ in range(3)]
        for library, wrap in (("NumPy", np.asarray), ("PyTorch", torch.from_numpy)):
            A, B, C = map(wrap, arrays)

            def call(A: Any = A, B: Any = B, operator: Any = operator) -> Any:
                return operator(A, B)

            def into(A: Any = A, B: Any = B, C: Any = C, operator: Any = operator) -> Any:
                return operator(A, B, out=C)

            def addition(A: Any = A, B: Any = B) -> Any:
                return A + B

            times = [microseconds(f, options.repeats) for f in (call, into, addition)]
            said = " ".join(f"{time:7.2f}" for time in times)
            print(f"{operator.name:10} {library:8} {said}", flush=True)


if __name__ == "__main__":
    main()
