"""How good is the sequential code? The original order through polygym against a C compiler.

Every kernel's C file is compiled by clang (or gcc) with ``-O3 -march=native`` and by polygym in its
original order; both run in turn in one worker process, on the same buffers, by the same clock.
Prints the ratio of each kernel (polygym's time over the compiler's; below 1 polygym is faster) and
the geometric mean. Usage::

    python benchmarks/against_compiler.py [--compiler clang-19] [--dataset large] [KERNEL...]
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import polybench
from polygym.ir.scop import Scop, Storage
from polygym.measure.options import MeasureOptions
from polygym.measure.outcome import Ok
from polygym.measure.problem import Program as Candidate
from polygym.measure.timing import Repetition, this_machine
from polygym.measure.worker import Worker
from polygym.programs import Program, load_program
from polygym.programs.compiling import compile_problem

TOLERANCE = 1e-6


def wrapper(scop: Scop, source: Path) -> str:
    """Return C that gives the kernel the worker's calling convention."""
    arrays = {array.name: array for array in scop.arrays}
    parameters = {parameter.name: parameter for parameter in scop.parameters}
    arguments = []
    for name in scop.signature:
        if name in parameters:
            # Parameters follow the arrays in the argument block.
            position = len(_array_names(scop)) + list(parameters).index(name)
            arguments.append(f"({parameters[name].type.value})*(long *)arguments[{position}]")
            continue
        slot = f"arguments[{_array_names(scop).index(name)}]"
        by_value = arrays[name].storage is Storage.VALUE
        arguments.append(f"*({arrays[name].type.value} *){slot}" if by_value else slot)
    return f"""
#include <time.h>
#include "{source}"
int polygym_run(void **arguments, long *nanoseconds) {{
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  {scop.name}({", ".join(arguments)});
  clock_gettime(CLOCK_MONOTONIC, &end);
  *nanoseconds = (end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec;
  return 0;
}}
"""


def _array_names(scop: Scop) -> list[str]:
    """Return the arrays that are arguments of the function."""
    return [array.name for array in scop.arrays if array.name in scop.signature]


def compile_with(compiler: str, flags: list[str], program: Program, source: Path) -> Candidate:
    """Return the kernel compiled by a C compiler, bound to the program's buffers."""
    scop = program.scop
    with tempfile.TemporaryDirectory() as folder:
        text, result = Path(folder, "kernel.c"), Path(folder, "kernel.o")
        text.write_text(wrapper(scop, source))
        command = [compiler, *flags, "-w", "-fPIC", "-c", str(text), "-o", str(result)]
        subprocess.run(command, check=True)
        code = result.read_bytes()
    names = [array.name for array in scop.arrays]
    return Candidate(
        code,
        tuple(names.index(name) for name in _array_names(scop)),
        tuple(program.value(parameter.name) for parameter in scop.parameters),
    )


def main() -> int:
    """Measure and print; exit with 1 when an output is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=["all"])
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--flags", default="-O3 -march=native")
    parser.add_argument("--dataset", default="large")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    compiler = options.compiler or next(
        (name for name in ("clang-19", "clang", "gcc") if shutil.which(name)), None
    )
    if compiler is None:
        print("no clang and no gcc found: install clang-19, or name one with --compiler")
        return 2
    dataset = polybench.Dataset.parse(options.dataset)
    results: dict[str, dict[str, object]] = {}
    ratios, failed = [], False
    with Worker() as worker:
        for kernel in polybench.select(options.kernels or ["all"]):
            program = load_program(kernel.name, dataset=dataset)
            problem = compile_problem(program)
            other = compile_with(compiler, options.flags.split(), program, kernel.path)
            session = worker.open(problem, Repetition(minimum=1))
            ours, theirs = session.measure_together(
                (problem.original, other), options.rounds, MeasureOptions(tolerance=TOLERANCE)
            )
            session.close()
            if not (isinstance(ours, Ok) and isinstance(theirs, Ok)):
                print(f"{kernel.name:16} polygym {ours}; {compiler} {theirs}", flush=True)
                failed = True
                continue
            ratio = ours.best / theirs.best
            ratios.append(ratio)
            results[kernel.name] = {"polygym": ours.samples, compiler: theirs.samples}
            print(
                f"{kernel.name:16} polygym {ours.best:9.5f} s   {compiler} {theirs.best:9.5f} s"
                f"   ratio {ratio:.3f}",
                flush=True,
            )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{'geometric mean':16} {mean:.3f} over {len(ratios)} kernels at {dataset}")
    if options.json:
        machine = asdict(this_machine())
        document = {"machine": machine, "flags": options.flags, "samples": results}
        options.json.write_text(json.dumps(document, indent=2))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
