"""Image pipelines as C under polygym, beside Halide's autoschedulers and passes compiled by gcc.

    python benchmarks/image_pipelines --python ~/halide/bin/python
    python benchmarks/image_pipelines --programs canny --size 4096 --threads 1

NAME.c of this folder has separate passes through whole images. polygym compiles it with its
automatic schedule; ``gcc -O3 -march=native -fopenmp`` the same passes, each parallel along its
rows, with temporaries that stay from call to call. ``halide_pipelines.py`` has the stages in
Halide, for which each autoscheduler finds a schedule; the fastest counts. ``--python`` is the
Python that has Halide.

Outputs are compared with those of gcc's code. Times are taken in turn, ``--rounds`` times, and the
least of each counts. A line of JSON for each program is printed, then a table.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

FOLDER = Path(__file__).parent
PROGRAMS = ("harris", "bilateral", "canny")
HALIDE = ("Adams2019", "Mullapudi2016", "Li2018")
_MARGIN = 3
_FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")

_KEPT = """#include <stdlib.h>
static void *kept[8];
static void *keep(int k, size_t size) { return kept[k] ? kept[k] : (kept[k] = malloc(size)); }
#define malloc(size) keep(__COUNTER__, size)
#define free(pointer) (void)(pointer)
"""

Run = Callable[[np.ndarray, np.ndarray], None]


def images(name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the input of a program, the same in every process, and memory for its output."""
    random = np.random.default_rng(54)
    kind = np.float32 if name == "harris" else np.uint8
    values = random.random((size, size)) * (1 if name == "harris" else 256)
    return values.astype(kind), np.zeros((size, size), kind)


def passes_text(text: str) -> str:
    """Return a program whose passes run in threads, and whose temporaries are not given back."""
    text = text.replace("#include <stdlib.h>\n", _KEPT)
    return (
        text.replace("#pragma scop\n", "")
        .replace("#pragma endscop\n", "")
        .replace("\n  for (", "\n#pragma omp parallel for\n  for (")
    )


def compiled(tool: str, name: str, size: int, threads: int, folder: Path) -> Run:
    """Return a program as a tool compiles it."""
    file = FOLDER / f"{name}.c"
    if tool == "polygym":
        import polygym

        function = polygym.compile(file, threads=threads)
        return lambda source, result: function(size, size, source, result)
    if tool == "passes":
        changed, library = folder / f"{name}.c", folder / f"{name}.so"
        changed.write_text(passes_text(file.read_text(encoding="utf-8")), encoding="utf-8")
        command = ["gcc", *_FLAGS, str(changed), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        own = getattr(ctypes.CDLL(str(library)), name)
        pointer = ctypes.c_void_p
        return lambda source, result: own(
            size, size, pointer(source.ctypes.data), pointer(result.ctypes.data)
        )
    sys.path.insert(0, str(FOLDER))
    import halide_pipelines  # type: ignore[import-not-found]

    run: Run = halide_pipelines.compiled(name, tool, size, threads)
    return run


def serve(tool: str, name: str, size: int, threads: int, file: str) -> None:
    """Compile, write the output to a file, and give the least of some times for every line read."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = compiled(tool, name, size, threads, Path(folder))
            source, result = images(name, size)
            run(source, result)
            np.save(file, result[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN])
        except Exception as error:  # the other tools go on
            print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:200]}"}), flush=True)
            return
        print(json.dumps({}), flush=True)
        for _ in sys.stdin:
            times = []
            for _ in range(12):
                begin = perf_counter()
                run(source, result)
                times.append(perf_counter() - begin)
            print(json.dumps({"seconds": min(times)}), flush=True)


class Worker:
    """A process of a tool with one program."""

    def __init__(self, command: list[str], threads: int) -> None:
        """Start it, and wait until it is ready."""
        counts = ("OMP_NUM_THREADS", "HL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(counts, str(threads))}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.error = str(self._answer().get("error", ""))

    def _answer(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        result: dict[str, object] = json.loads(line) if line else {"error": "the process has ended"}
        return result

    def seconds(self) -> float:
        """Return the least of some times."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(str(self._answer()["seconds"]))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def measure(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Return the least times of a program under each tool, and the errors."""
    with tempfile.TemporaryDirectory() as folder:
        workers = {}
        for tool in ("passes", "polygym", *HALIDE):
            python = options.python if tool in HALIDE else sys.executable
            file = f"{folder}/{tool}.npy"
            rest = [name, str(options.size), str(options.threads), file]
            workers[tool] = Worker([python, __file__, "--serve", tool, *rest], options.threads)
        errors = {tool: worker.error for tool, worker in workers.items() if worker.error}
        expected = np.load(f"{folder}/passes.npy").astype(float)
        for tool in workers.keys() - errors.keys():
            found = np.load(f"{folder}/{tool}.npy").astype(float)
            near = np.isclose(found, expected, rtol=1e-3, atol=1e-3 if name == "harris" else 1.0)
            if near.mean() < 1.0:
                errors[tool] = f"other outputs at {1 - near.mean():.2%}"
        times: dict[str, float] = {}
        for _ in range(options.rounds):
            for tool in workers:
                if tool not in errors:
                    times[tool] = min(times.get(tool, 1e9), workers[tool].seconds())
        for worker in workers.values():
            worker.close()
    return {"program": name, "size": options.size, "seconds": times, "errors": errors}


def table(rows: list[dict[str, object]]) -> str:
    """Return times in milliseconds and ratios for people."""
    lines = [
        "| program | polygym, ms | over Halide's best | over passes by gcc |",
        "|---|---|---|---|",
    ]
    for row in rows:
        times = row["seconds"]
        assert isinstance(times, dict)
        own = times.get("polygym", float("nan"))
        best = min((times[tool] for tool in HALIDE if tool in times), default=float("nan"))
        passes = times.get("passes", float("nan"))
        ratios = f"{best / own:.2f} | {passes / own:.2f}"
        lines.append(f"| {row['program']} | {own * 1e3:.3g} | {ratios} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="default: all")
    parser.add_argument("--size", type=int, default=2048, help="rows and columns; default: 2048")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="the one that has Halide")
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        tool, name, size, threads, file = options.serve
        serve(tool, name, int(size), int(threads), file)
        return 0
    names = options.programs.split(",")
    if not set(names) <= set(PROGRAMS):
        parser.error(f"expected some of {', '.join(PROGRAMS)}, found {options.programs}")
    rows = []
    for name in names:
        rows.append(measure(name, options))
        print(json.dumps(rows[-1]), flush=True)
    print(table(rows))
    return int(any(row["errors"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
