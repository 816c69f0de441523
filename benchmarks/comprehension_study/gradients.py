"""Times of the library's gradients: derived by the compiler over written by hand.

Both compute the derivatives with respect to the same parameters from the same arguments, in turn;
the least time of several counts. A ratio below 1 says that the derived gradient is faster.

    python -m benchmarks.comprehension_study.gradients [--threads 2] [--repeats 30] [NAME ...]
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polygym.frontend.tc import library
from polygym.frontend.tc.derivatives.reverse import reverse_derivative
from polygym.frontend.tc.derivatives.signature import InputKind
from polygym.frontend.tc.syntax import tree
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.tc.comprehension import Comprehension
from polygym.tc.gradients import GradientPart, written_part

SIZES = {
    "M": 256, "N": 32, "K": 128, "B": 32, "C": 16, "H": 32, "W": 32, "KH": 3, "KW": 3, "F": 16,
    "G": 4, "D": 256, "O": 128, "P": 128, "Q": 64, "I": 16, "J": 16, "A": 16,
}  # fmt: skip
OWN_SIZES = {
    "conv1d": {"M": 4096, "N": 9},
    "matmul": {"N": 256},
    "tmm": {"N": 256},
    "matvec": {"M": 1024, "K": 1024},
    "softmax": {"N": 512, "D": 1024},
    "layer_norm": {"N": 512, "D": 1024},
    "moments": {"N": 512, "K": 1024},
    "group_norm": {"N": 8},
    "conv2d_grouped": {"N": 8, "C": 8, "F": 8},
}
CONSTANT = 2


def arguments(
    definition: tree.TcDefinition, rng: np.random.Generator
) -> tuple[list[object], dict[str, int]]:
    """Return arguments of an operator, and the scalars on which subscripts depend."""
    sizes = SIZES | OWN_SIZES.get(definition.name, {})
    result: list[object] = []
    constants = {}
    for parameter in definition.parameters:
        if not parameter.sizes:
            result.append(CONSTANT)
            if parameter.type is tree.ElementType.INT32:
                constants[parameter.name] = CONSTANT
            continue
        shape = [sizes[s.name] if isinstance(s, tree.NameUse) else s.value for s in parameter.sizes]
        result.append(rng.normal(size=shape).astype(np.float32))
    return result, constants


def compare(name: str, threads: int, repeats: int) -> float:
    """Return the time of the derived gradient over that of the written one, and print both."""
    definition = library.definition(name)
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    rng = np.random.default_rng(0)
    given, constants = arguments(definition, rng)
    operator = Comprehension(definition, mapping)
    found = operator(*given)
    results = found if isinstance(found, tuple) else (found,)
    derivatives = [rng.normal(size=result.shape).astype(np.float32) for result in results]
    written = [written_part(definition, Comprehension(g, mapping)) for g in library.gradients(name)]
    wanted = tuple(tensor for part in written for tensor in part.tensors)
    outputs = [output.name for output in definition.outputs]
    derived = reverse_derivative(definition, constants, wanted, outputs)
    part = GradientPart(Comprehension(derived.definition, mapping), derived.inputs, derived.tensors)

    names = [parameter.name for parameter in definition.parameters]
    values = {
        InputKind.PARAMETER: dict(zip(names, given, strict=True)),
        InputKind.RESULT: dict(zip(outputs, results, strict=True)),
        InputKind.DERIVATIVE: dict(zip(outputs, derivatives, strict=True)),
    }

    def call(parts: Sequence[GradientPart]) -> Callable[[], dict[str, np.ndarray]]:
        inputs = [[values[i.kind][i.tensor] for i in one.inputs] for one in parts]

        def run() -> dict[str, np.ndarray]:
            tensors: dict[str, np.ndarray] = {}
            for one, read in zip(parts, inputs, strict=True):
                made = one.operator(*read)
                several = made if isinstance(made, tuple) else (made,)
                tensors |= dict(zip(one.tensors, several, strict=True))
            return tensors

        return run

    runs = (call(written), call([part]))
    first, second = (run() for run in runs)
    for tensor in wanted:
        scale = max(float(np.abs(first[tensor]).max()), 1e-6)
        worst = float(np.abs(first[tensor] - second[tensor]).max()) / scale
        assert worst < 1e-3, (name, tensor, worst)
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        for run, seconds in zip(runs, times, strict=True):
            begin = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begin)
    by_hand, by_compiler = (min(seconds) for seconds in times)
    ratio = by_compiler / by_hand
    print(f"{name:18} {1e3 * by_hand:9.3f} {1e3 * by_compiler:9.3f} {ratio:7.2f}", flush=True)
    return ratio


def main() -> None:
    """Compare, and print the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    every = [n for n in library.definitions() if "gradient" not in n and library.gradients(n)]
    print(f"{'operator':18} {'written':>9} {'derived':>9} {'ratio':>7}   (times in ms)")
    ratios = [compare(n, options.threads, options.repeats) for n in options.names or every]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)}: {mean:.3f}")


if __name__ == "__main__":
    main()
