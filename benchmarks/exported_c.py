"""Printed C kernels against polygym's own machine code: how much slower each is.

    python benchmarks/exported_c.py --out exported --prepare
    python benchmarks/exported_c.py --out exported
    python benchmarks/exported_c.py gemm sobel --out exported --compiler clang-19

The 30 kernels of PolyBench at one size and the 37 programs of ``unseen_programs/`` run under the
automatic schedule, storage and default mapping. The kernel is printed as C, compiled with ``-O3
-march=native -fopenmp``, and called in turn with the machine code in one process, on the same data.
The time is the least of all rounds.

``--prepare`` makes loops and machine code of all programs and keeps them in the folder; programs
that are not there are made when they are measured. ``results.jsonl`` gets a line for each program
and compiler; the same command leaves out what is there. Nothing else should run meanwhile. The exit
code is 1 if an output differs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from polybench import KERNELS, Dataset
from polygym.autoschedule.storage_choice import starting_program
from polygym.codegen.c import kernel_prelude, print_kernel
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.emit_module import caller_arrays
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import compile_program, lower
from polygym.foreign.calls import time_cell
from polygym.ir.scop import Scop
from polygym.mapping.mapping import parse_mapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import load_program
from polygym.programs.dtypes import DTYPES
from polygym.runtime.loader import load_object

PROGRAM_FOLDER = Path(__file__).parent / "unseen_programs"
FLAGS = ("-O3", "-march=native", "-fopenmp")
_SECONDS, _MIN_ROUNDS, _MAX_ROUNDS = 1.2, 3, 200

_ENTRY = """
#include <time.h>
int timed_kernel(void **arguments, long *nanoseconds);
int timed_kernel(void **arguments, long *nanoseconds)
{
  struct timespec start, end;
#ifdef _OPENMP
#pragma omp parallel
  __asm__ volatile("");
#endif
  clock_gettime(CLOCK_MONOTONIC, &start);
  const int code = kernel(%s);
  clock_gettime(CLOCK_MONOTONIC, &end);
  *nanoseconds = (end.tv_sec - start.tv_sec) * 1000000000L + (end.tv_nsec - start.tv_nsec);
  return code;
}
"""


def unseen_sizes() -> dict[str, dict[str, int]]:
    """Return the unseen programs by name, with their sizes."""
    texts = json.loads((PROGRAM_FOLDER / "sizes.json").read_text(encoding="utf-8"))
    return {
        name: {key: int(value) for key, value in (part.split("=") for part in text.split(","))}
        if text
        else {}
        for name, text in texts.items()
    }


def kernel_names() -> list[str]:
    """Return the names of PolyBench's kernels."""
    return [kernel.name for kernel in KERNELS]


def prepare(name: str, dataset: str, threads: int, folder: Path) -> Path:
    """Make the loops of a program and of its initial data, unless the folder has them."""
    file = folder / f"{name}.pickle"
    if file.exists():
        return file
    sizes = unseen_sizes()
    if name in sizes:
        program = load_program(str(PROGRAM_FOLDER / f"{name}.c"), parameters=sizes[name])
    else:
        program = load_program(name, dataset=Dataset[dataset])
    mapping = parse_mapping("default")
    mapping = parse_mapping(f"{mapping} threads={threads}") if threads > 1 else mapping
    chosen = starting_program(program, mapping, DEFAULT_MEMORY_LIMIT)
    assert chosen.choice is not None
    own = chosen.program
    legal = legal_with_storage(own.storage, own.scop, chosen.choice.schedule)
    values = dict(own.parameters)
    loops = lower(legal, mapping, values)
    filling = own.initial_data
    filled = lower(LegalSchedule(filling, original_schedule(filling)), sizes=values)
    content = (loops, compile_program(loops), filled, compile_program(filled), values)
    temporary = file.with_suffix(".part")
    temporary.write_bytes(pickle.dumps(content))
    temporary.rename(file)
    return file


def compile_c(loops: LoopProgram, compiler: str, stem: Path) -> Path:
    """Return the library of a printed kernel."""
    scop, count = loops.scop, len(caller_arrays(loops.scop))
    arguments = [f"arguments[{place}]" for place in range(count)]
    arguments += [f"*(long *)arguments[{count + k}]" for k in range(len(scop.parameters))]
    text = kernel_prelude([loops]) + print_kernel(loops, "kernel") + _ENTRY % ", ".join(arguments)
    source, library = stem.with_suffix(".c"), stem.with_suffix(f".{compiler}.so")
    source.write_text(text, encoding="utf-8")
    command = [compiler, *FLAGS, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(library), "-lm"], check=True)
    return library


def arrays_of(scop: Scop, values: dict[str, int]) -> dict[str, np.ndarray]:
    """Return memory for the arrays that a caller has, filled with zeros."""
    arrays = {}
    for array in caller_arrays(scop):
        count = prod(evaluate_extent(extent, values) for extent in array.extents)
        space = np.zeros(max(count, 1) * array.type.size + 128, np.uint8)
        start = -space.ctypes.data % 64
        kind = DTYPES[array.type]
        arrays[array.name] = space[start : start + max(count, 1) * array.type.size].view(kind)
    return arrays


def addresses_of(
    scop: Scop, values: dict[str, int], arrays: dict[str, np.ndarray]
) -> tuple[list[int], np.ndarray]:
    """Return the addresses of a kernel's arguments, and the memory of its parameters."""
    sizes = np.array([values[parameter.name] for parameter in scop.parameters], np.int64)
    addresses = [arrays[array.name].ctypes.data for array in caller_arrays(scop)]
    return addresses + [sizes.ctypes.data + 8 * k for k in range(len(sizes))], sizes


def measure(name: str, file: Path, library: Path, threads: int) -> dict[str, Any]:
    """Return the least times of both, and whether they leave the same."""
    loops, code, filling, filling_code, values = pickle.loads(file.read_bytes())
    data = arrays_of(filling.scop, values)
    fill = load_object(filling_code)
    addresses, _sizes = addresses_of(filling.scop, values, data)
    assert fill.call(addresses, time_cell()) == 0
    arrays = arrays_of(loops.scop, values)
    addresses, _sizes = addresses_of(loops.scop, values, arrays)
    own, cell = load_object(code), time_cell()
    entry = ctypes.CDLL(str(library)).timed_kernel
    block = (ctypes.c_void_p * len(addresses))(*addresses)
    nanoseconds = ctypes.c_long()

    def machine() -> int:
        assert own.call(addresses, cell) == 0
        return int(cell[0])

    def printed() -> int:
        assert entry(block, ctypes.byref(nanoseconds)) == 0
        return nanoseconds.value

    def run(function: Callable[[], int]) -> int:
        for key, array in arrays.items():
            if key in data:
                np.copyto(array, data[key])
            else:
                array.fill(0)
        return function()

    times: dict[str, list[int]] = {"machine": [], "printed": []}
    results: dict[str, dict[str, np.ndarray]] = {}
    begin = time.perf_counter()
    while len(times["machine"]) < _MAX_ROUNDS:
        for key, function in (("machine", machine), ("printed", printed)):
            times[key].append(run(function))
            if key not in results:
                results[key] = {k: array.copy() for k, array in arrays.items()}
        if len(times["machine"]) >= _MIN_ROUNDS and time.perf_counter() - begin > 2 * _SECONDS:
            break
    least = {key: min(values) / 1e6 for key, values in times.items()}
    differing = [
        array.name
        for array in caller_arrays(loops.scop)
        if array.live_out
        and not np.array_equal(
            results["machine"][array.name],
            results["printed"][array.name],
            equal_nan=array.type.is_floating and array.type.size >= 4,
        )
    ]
    return {
        "program": name,
        "threads": threads,
        "machine_ms": least["machine"],
        "printed_ms": least["printed"],
        "ratio": least["printed"] / least["machine"],
        "rounds": len(times["machine"]),
        "differing": differing,
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the ratios for people, the largest first, and their mean."""
    lines = ["| program | machine code (ms) | printed C (ms) | ratio |", "|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -row["ratio"]):
        numbers = f"{row['machine_ms']:.3f} | {row['printed_ms']:.3f} | {row['ratio']:.2f}"
        lines.append(f"| {row['program']} | {numbers} |")
    if rows:
        mean = geometric_mean(row["ratio"] for row in rows)
        lines.append(f"| **geometric mean of {len(rows)}** | | | **{mean:.3f}** |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help="some of them; default: all")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--dataset", default="LARGE")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prepare", action="store_true", help="make loops, measure nothing")
    parser.add_argument("--compile", action="store_true", help="compile C too, measure nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = [*kernel_names(), *unseen_sizes()]
    if unknown := [name for name in options.programs if name not in known]:
        parser.error(f"programs: expected some of {', '.join(known)}, found {unknown[0]}")
    options.programs = options.programs or known
    return options


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any] | None:
    """Measure a program in a process of its own."""
    command = [sys.executable, __file__, name, "--one", "--out", str(options.out)]
    command += ["--compiler", options.compiler, "--threads", str(options.threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(options.threads)}
    if "clang" in options.compiler:
        environment["KMP_BLOCKTIME"] = "0"  # its threads would be in the way of those of libgomp
    else:
        environment["OMP_PROC_BIND"] = "true"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        print(f"{name}: {done.stderr.strip()[-600:]}", file=sys.stderr)
        return None
    return result


def main() -> int:
    options = _arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        (name,) = options.programs
        file = options.out / f"{name}.pickle"
        library = options.out / f"{name}.{options.compiler}.so"
        print(json.dumps(measure(name, file, library, options.threads)))
        return 0
    results = options.out / "results.jsonl"
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    rows = {
        row["program"]: row
        for row in map(json.loads, text.splitlines())
        if row["compiler"] == options.compiler and row["threads"] == options.threads
    }
    for name in options.programs:
        if name in rows and not (options.prepare or options.compile):
            continue
        try:
            file = prepare(name, options.dataset, options.threads, options.out)
            library = options.out / f"{name}.{options.compiler}.so"
            if options.prepare:
                continue
            if options.compile or not library.exists():
                compile_c(pickle.loads(file.read_bytes())[0], options.compiler, options.out / name)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            continue
        if options.compile:
            continue
        row = _measured(name, options)
        if row is None:
            continue
        rows[name] = row | {"compiler": options.compiler}
        with results.open("a", encoding="utf-8") as more:
            more.write(json.dumps(rows[name]) + "\n")
        print(f"{name}: {rows[name]['ratio']:.2f}", file=sys.stderr, flush=True)
    done = [rows[name] for name in options.programs if name in rows]
    print(table(done))
    return int(any(row["differing"] for row in done))


if __name__ == "__main__":
    sys.exit(main())
