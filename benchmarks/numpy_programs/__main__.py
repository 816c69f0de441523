"""NumPy programs as C under polygym, beside Numba and Pythran: times in one run, taken in turn.

    python benchmarks/numpy_programs --out peers
    python benchmarks/numpy_programs --out peers --programs 'blur*' --threads 1
    python benchmarks/numpy_programs --out peers --peers numba --python ~/numba/bin/python

The programs are those of this folder: NAME.c has a region, NAME.py the same as loops over
arrays (``prange`` where iterations do not depend on each other) and, where that is how one writes
it, as NumPy expressions. polygym compiles the C file with its automatic schedule. Numba compiles
both forms with ``njit(parallel=True)``, Pythran both with ``-O3 -march=native -fopenmp``; the
faster form of each counts. No tool may change the order of sums.

Each tool is a process of its own (``--python`` is the one with Numba and Pythran, if they are not
installed beside polygym). They compute the same outputs first, which are compared; then they are
timed in turn, ``--rounds`` times, and the least time of each counts. Arrays that a call changes are
set back before each call, outside of what is timed. ``results.jsonl`` in the folder gets a line for
each program; the same command, with as many threads, leaves out those that have one. Nothing else
should run meanwhile.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
PEERS = ("numba", "pythran")
_LEAST_SECONDS = 0.2  # of a round
_TOLERANCES = {np.float32: 2e-3, np.float64: 1e-9}
_SEED = 54


def program_names(pattern: str = "*") -> list[str]:
    """Return the names of the programs that a pattern describes."""
    return sorted(file.stem for file in FOLDER.glob("*.c") if fnmatch(file.stem, pattern))


def load_module(name: str) -> ModuleType:
    """Import the Python side of a program."""
    return _imported(name, FOLDER / f"{name}.py")


def arguments_of(module: ModuleType, sizes: dict[str, int]) -> tuple[Any, ...]:
    """Return the arguments of a program, the same in every process."""
    return tuple(module.inputs(np.random.default_rng(_SEED), **sizes))


def pythran_text(text: str, arguments: Sequence[Any], names: Sequence[str]) -> str:
    """Return a program as Pythran takes it: exported functions, loops marked for threads.

    ``for i in prange(n):`` becomes ``#omp parallel for`` and ``for i in range(n):``.
    """
    text = text[: text.index("SIZES")] + text[text.index("def loops") :]
    text = text.replace("prange = range\n", "")
    text = re.sub(
        r"^( *)(for .* in )prange\(", r"\1#omp parallel for\n\1\2range(", text, flags=re.M
    )
    types = ", ".join(map(_pythran_type, arguments))
    exports = "".join(f"#pythran export {name}({types})\n" for name in names)
    return exports + text


def _pythran_type(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{','.join(':' * argument.ndim)}]"
    return "int"


def forms_of(peer: str, module: ModuleType) -> list[str]:
    """Return the forms of a program that a tool compiles."""
    if peer == "polygym":
        return ["c"]
    return [form for form in ("loops", "arrays") if hasattr(module, form)]


def compiled_form(
    peer: str, name: str, form: str, threads: int, folder: Path
) -> Callable[..., Any]:
    """Return a form of a program as a tool compiles it."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    match peer:
        case "polygym":
            import polygym

            return polygym.compile(FOLDER / f"{name}.c", threads=threads)
        case "numba":
            import numba  # type: ignore[import-not-found]

            scope: dict[str, Any] = {}
            exec(text.replace("prange = range", "from numba import prange"), scope)
            result: Callable[..., Any] = numba.njit(parallel=True)(scope[form])
            return result
        case "pythran":
            module = load_module(name)
            file = folder / f"{name}_{form}.py"
            arguments = arguments_of(module, module.SIZES)
            file.write_text(pythran_text(text, arguments, [form]), encoding="utf-8")
            library = file.with_suffix(".so")
            command = [sys.executable, "-P", "-m", "pythran.run", str(file), "-o", str(library)]
            flags = ["-O3", "-march=native", "-fopenmp"]
            done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr.strip()[-300:])
            compiled: Callable[..., Any] = getattr(_imported(file.stem, library), form)
            return compiled
        case _:
            raise AssertionError(peer)


def _imported(name: str, file: Path) -> ModuleType:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(str(file))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class ChangedArguments:
    """Arguments of calls, and copies of those that a call changes."""

    arguments: tuple[Any, ...]
    before: tuple[Any, ...]

    def restore(self) -> None:
        """Set the arrays back that a call has changed."""
        for array, copy in zip(self.arguments, self.before, strict=True):
            if copy is not None:
                array[...] = copy


def changed_by(function: Callable[..., Any], arguments: tuple[Any, ...]) -> ChangedArguments:
    """Call a function once; keep what the arrays held that it changes."""
    before = [a.copy() if isinstance(a, np.ndarray) else None for a in arguments]
    function(*arguments)
    kept = [
        copy if copy is not None and not np.array_equal(copy, argument) else None
        for copy, argument in zip(before, arguments, strict=True)
    ]
    return ChangedArguments(arguments, tuple(kept))


def serve(peer: str, threads: int) -> None:
    """Answer the commands of the benchmark, a JSON line each, until there are no more.

    ``["prepare", NAME, FILE]`` compiles and writes the outputs; ``["time"]`` gives seconds by form.
    """
    ready: dict[str, tuple[Callable[..., Any], ChangedArguments]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            command, *rest = json.loads(line)
            answer: Any
            try:
                if command == "prepare":
                    ready = _prepare(peer, rest[0], threads, Path(folder), Path(rest[1]))
                    answer = sorted(ready)
                else:
                    answer = {form: _least_seconds(*entry) for form, entry in ready.items()}
            except Exception as error:  # the other tools go on
                answer = {"error": f"{type(error).__name__}: {str(error).strip()[:300]}"}
            print(json.dumps(answer), flush=True)


def _prepare(
    peer: str, name: str, threads: int, folder: Path, file: Path
) -> dict[str, tuple[Callable[..., Any], ChangedArguments]]:
    module = load_module(name)
    result = {}
    outputs = {}
    reasons = []
    for form in forms_of(peer, module):
        try:
            function = compiled_form(peer, name, form, threads, folder)
            arguments = arguments_of(module, module.SIZES)
            result[form] = function, changed_by(function, arguments)
        except Exception as error:  # the other form may do
            reasons.append(f"{form}: {type(error).__name__}: {error}")
            continue
        outputs |= {
            f"{form}.{place}": array
            for place, array in enumerate(arguments)
            if isinstance(array, np.ndarray)
        }
    if not result:
        raise RuntimeError("; ".join(reasons))
    np.savez(file, **outputs)
    return result


def _least_seconds(function: Callable[..., Any], changed: ChangedArguments) -> float:
    """Return the least time of some calls."""
    least, whole = float("inf"), perf_counter()
    calls = 0
    while calls < 3 or perf_counter() - whole < _LEAST_SECONDS:
        changed.restore()
        begin = perf_counter()
        function(*changed.arguments)
        least = min(least, perf_counter() - begin)
        calls += 1
    return least


class Worker:
    """A process of a tool."""

    def __init__(self, peer: str, python: str, threads: int) -> None:
        """Start it; libraries with threads get as many as are asked for."""
        counts = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(counts, str(threads))}
        command = [python, "-P", __file__, "--serve", peer, "--threads", str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, *command: str) -> Any:
        """Return the answer to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": "the process has ended"}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def differences(mine: Path, theirs: Path) -> list[str]:
    """Return the outputs of a tool's forms that are not those of polygym."""
    result = []
    with np.load(mine) as own, np.load(theirs) as others:
        for name in others.files:
            form, place = name.split(".")
            expected, found = own[f"c.{place}"], others[name]
            tolerance = _TOLERANCES.get(expected.dtype.type, 0.0)
            least = 1.0 if expected.dtype == np.uint8 else tolerance  # a real number cut to a byte
            if not np.allclose(found.astype(float), expected, rtol=tolerance, atol=least):
                result.append(f"{form}: argument {place}")
    return result


def measure_program(
    name: str, workers: dict[str, Worker], rounds: int, threads: int
) -> dict[str, Any]:
    """Return the least times of a program under each tool, by form."""
    errors: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {peer: Path(folder) / f"{peer}.npz" for peer in workers}
        for peer, worker in workers.items():
            answer = worker.ask("prepare", name, str(files[peer]))
            if isinstance(answer, dict):
                errors[peer] = answer["error"]
            elif peer != "polygym" and "polygym" not in errors:
                if wrong := differences(files["polygym"], files[peer]):
                    errors[peer] = f"other outputs: {', '.join(wrong)}"
    times: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for peer in workers.keys() - errors.keys():
            for form, seconds in workers[peer].ask("time").items():
                known = times.setdefault(peer, {})
                known[form] = min(known.get(form, seconds), seconds)
    return {"program": name, "threads": threads, "seconds": times, "errors": errors}


def ratio(row: dict[str, Any], peer: str) -> float | None:
    """Return how many times as fast as a tool's faster form polygym is, None if not known."""
    seconds = row["seconds"]
    if peer not in seconds or "polygym" not in seconds:
        return None
    return float(min(seconds[peer].values()) / seconds["polygym"]["c"])


def table(rows: Sequence[dict[str, Any]], peers: Sequence[str]) -> str:
    """Return times in milliseconds and ratios for people."""
    lines = [
        f"| program | polygym, ms | {' | '.join(f'over {peer}' for peer in peers)} |",
        "|---|---|" + "---|" * len(peers),
    ]
    for row in rows:
        own = row["seconds"].get("polygym", {}).get("c")
        ratios = [ratio(row, peer) for peer in peers]
        cells = ["" if value is None else f"{value:.2f}" for value in ratios]
        mine = "" if own is None else f"{own * 1e3:.3g}"
        lines.append(f"| {row['program']} | {mine} | {' | '.join(cells)} |")
    means = []
    for peer in peers:
        known = [value for row in rows if (value := ratio(row, peer)) is not None]
        means.append(f"{geometric_mean(known):.2f} ({len(known)})" if known else "")
    lines.append(f"| geometric mean | | {' | '.join(means)} |")
    for row in rows:
        lines += [f"{row['program']}: {peer}: {why}" for peer, why in row["errors"].items()]
    return "\n".join(lines)


def earlier_rows(file: Path, threads: int) -> list[dict[str, Any]]:
    """Return the lines of earlier commands with as many threads; a torn last line is cut off."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [row for row in map(json.loads, whole.splitlines()) if row["threads"] == threads]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="a folder")
    parser.add_argument("--programs", default="*", help="a glob of their names; default: all")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--python", default=sys.executable, help="the one that has the peers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return 0
    names, peers = program_names(options.programs), options.peers.split(",")
    if options.out is None or not names or not set(peers) <= set(PEERS):
        parser.error("expected --out FOLDER, a glob of some programs, and known peers")
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.jsonl"
    known = {row["program"]: row for row in earlier_rows(file, options.threads)}
    pythons = {"polygym": sys.executable, **dict.fromkeys(peers, options.python)}
    workers = {peer: Worker(peer, python, options.threads) for peer, python in pythons.items()}
    try:
        for name in names:
            if name in known:
                continue
            row = measure_program(name, workers, options.rounds, options.threads)
            known[name] = row
            with file.open("a", encoding="utf-8") as more:
                more.write(json.dumps(row) + "\n")
            print(table([row], peers).splitlines()[2], file=sys.stderr, flush=True)
    finally:
        for worker in workers.values():
            worker.close()
    print(table([known[name] for name in names], peers))
    return int(any(known[name]["errors"] for name in names))


if __name__ == "__main__":
    sys.exit(main())
