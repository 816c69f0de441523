"""Code for any sizes: the first call at new sizes, and its time over that of code of their own.

    python -m benchmarks.comprehension_study.any_size [--threads 2] [--repeats 30] [NAME ...]

Each operator of the library has code for all sizes compiled, then is called for the first time at
sizes that it has not had, then again and again, in turn with code for these sizes. The least time
of several counts. Results have to agree; whether they do bit for bit is said.
"""

import argparse
import math
import time

import numpy as np

from benchmarks.comprehension_study.gradients import arguments
from polygym.errors import InputError
from polygym.frontend.tc import library
from polygym.tc.comprehension import define


def compare(name: str, threads: int, repeats: int) -> float:
    """Return the time of code for any sizes over that of code for one set, and print both."""
    given, _ = arguments(library.definition(name), np.random.default_rng(0))
    smaller = [
        value[tuple(slice(max(1, size - 1)) for size in value.shape)].copy()
        if isinstance(value, np.ndarray)
        else value
        for value in given
    ]
    operators = [define(f"tc:{name}", threads=threads, sizes=sizes) for sizes in ("any", "each")]
    begin = time.perf_counter()
    operators[0](*smaller)
    compiling = time.perf_counter() - begin
    begin = time.perf_counter()
    operators[0](*given)
    first = time.perf_counter() - begin
    results = [operator(*given) for operator in operators]
    found, expected = (result if isinstance(result, tuple) else (result,) for result in results)
    is_same = all(map(np.array_equal, found, expected))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        for operator, seconds in zip(operators, times, strict=True):
            begin = time.perf_counter()
            operator(*given)
            seconds.append(time.perf_counter() - begin)
    general, own = (min(seconds) for seconds in times)
    print(
        f"{name:18} {compiling:9.2f} {1e3 * (first - general):9.2f} {1e3 * general:9.3f} "
        f"{1e3 * own:9.3f} {general / own:7.2f}   {'yes' if is_same else 'no'}",
        flush=True,
    )
    return general / own


def main() -> None:
    """Compare, and print the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    print(f"{'operator':18} {'compile':>9} {'new':>9} {'any':>9} {'each':>9} {'ratio':>7}   same")
    print(f"{'':18} {'s':>9} {'ms':>9} {'ms':>9} {'ms':>9}")
    ratios = []
    for name in options.names or [n for n in library.definitions() if "gradient" not in n]:
        try:
            ratios.append(compare(name, options.threads, options.repeats))
        except (KeyError, InputError) as error:
            print(f"{name:18} left out: {str(error)[:60]}")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)}: {mean:.2f}")


if __name__ == "__main__":
    main()
