"""Is a product of matrices as fast as the library's that NumPy comes with?

    python benchmarks/blas.py --threads 2
    python benchmarks/blas.py --threads 1 --sizes 2000x2000x2000

`gemm`, C = beta C + alpha A B, under isl's schedule and the default mapping, and NumPy's product of
the same matrices into memory that is there already, run in turn in one process; the library is left
time to send its threads to sleep before ours begin. Both run twice, and the second time counts.
What ours computes is compared. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from math import prod
from statistics import median

_AWAKE = 0.2  # seconds; threads of OpenBLAS wait for more work for some milliseconds, busily
_ALPHA, _BETA = 1.5, 1.2


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", default="1000x1100x1200", help="rows, columns, terms of a sum")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)  # read as NumPy is imported
    sizes = dict(zip(("ni", "nj", "nk"), map(int, options.sizes.split("x")), strict=True))
    library, ours = timed(sizes, options.threads, options.rounds)
    for name, times in (("NumPy's library", library), ("polygym", ours)):
        rate = 2e-9 * prod(sizes.values()) / min(times)
        print(
            f"{name:16}{1e3 * min(times):9.2f} ms, {1e3 * median(times):.2f} in the median, "
            f"{rate:.0f} GFLOP/s"
        )
    print(
        f"polygym is {min(library) / min(ours):.2f} times as fast, "
        f"{median(library) / median(ours):.2f} in the median"
    )
    return 0


def timed(sizes: dict[str, int], threads: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of the library's product and of ours, round by round."""
    import numpy as np

    from polygym.foreign.calls import time_cell
    from polygym.mapping.mapping import DEFAULT_MAPPING
    from polygym.poly.scheduling.baselines import isl_schedule
    from polygym.programs import load_program
    from polygym.runtime.evaluation.compilation import compile_schedule
    from polygym.runtime.loader import load_object

    program = load_program("gemm", parameters=sizes)
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    code = load_object(compile_schedule(program, isl_schedule(program.scop), mapping).object_code)
    ni, nj, nk = (sizes[name] for name in ("ni", "nj", "nk"))
    rng = np.random.default_rng(0)
    values = {
        "A": rng.random((ni, nk)),
        "B": rng.random((nk, nj)),
        "C": np.ones((ni, nj)),
        "alpha": np.array([_ALPHA]),
        "beta": np.array([_BETA]),
    }
    buffers = [
        *(values[array.name] for array in program.scop.arrays),
        *(np.array(sizes[parameter.name]) for parameter in program.scop.parameters),
    ]
    arguments, clocked = [buffer.ctypes.data for buffer in buffers], time_cell()
    product, library, ours = np.empty((ni, nj)), [], []
    for _ in range(rounds):
        for _ in range(2):
            begin = time.perf_counter()
            np.dot(values["A"], values["B"], out=product)
            took = time.perf_counter() - begin
        library.append(took)
        time.sleep(_AWAKE)
        values["C"][:] = 1
        for _ in range(2):
            assert code.call(arguments, clocked) == 0
        ours.append(clocked[0] / 1e9)
    # Two times, one after the other, from ones.
    expected = _BETA * (_BETA + _ALPHA * product) + _ALPHA * product
    np.testing.assert_allclose(values["C"], expected, rtol=1e-9)
    return library, ours


if __name__ == "__main__":
    raise SystemExit(main())
