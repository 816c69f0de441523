"""Terms beside NumPy, PyTorch and JAX: wall time of twenty programs, taken in turn.

    python benchmarks/term_speed --out term-speed
    python benchmarks/term_speed --out term-speed --programs 'mixture*' --threads 2
    python benchmarks/term_speed --out term-speed --budget 12        also rewriting's searches

Each program of ``programs.ks`` is rewritten and its fastest form taken (as `polygym optimize`
does first; ``--budget 2`` or less leaves it as it is written). Its loops are compiled in two ways,
by ``polygym.terms.compile`` and as C by ``polygym.compile`` with the automatic schedule; the faster
one is timed. Sums may be taken in another order (``reassociate=on``), as the others do. PyTorch is
in eager mode; JAX is under jit, with 64 bits, if it can be imported.

All compute the same arguments first, and results are compared: to 1e-9 of the largest. Then they
are called in turn, ``--rounds`` times; the least time of each counts. A call takes arrays and
returns new ones. ``results.jsonl`` gets a line for each program; the same command leaves out those
that have one. Nothing else should run meanwhile: the load of the machine is recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any

FOLDER = Path(__file__).parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_TOLERANCE = 1e-9
_SECONDS = 0.25
_Call = Callable[[], Any]


def main() -> int:
    """Time the programs that are asked for, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/term_speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of results.jsonl")
    parser.add_argument("--programs", default="*", help="which of the twenty")
    parser.add_argument("--threads", type=int, default=1, help="threads of all libraries")
    parser.add_argument("--rounds", type=int, default=15, help="calls of each, in turn")
    parser.add_argument("--budget", type=int, default=8, help="forms of a term, doubled")
    options = parser.parse_args()
    for name in _THREADS:  # before the libraries are imported
        os.environ[name] = str(options.threads)
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    sys.path.insert(0, str(FOLDER))
    from references import SIZES

    from polygym.terms import parse_programs

    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "results.jsonl"
    rows = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    )
    done = {(row["program"], row["threads"], row["budget"]) for row in rows}
    text = (FOLDER / "programs.ks").read_text()
    for program in parse_programs(text, "programs.ks"):
        wanted = program.name in SIZES and fnmatch(program.name, options.programs)
        if not wanted or (program.name, options.threads, options.budget) in done:
            continue
        row = measure(program, SIZES[program.name], options)
        rows.append(row)
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(line_of(row), flush=True)
    asked = (options.threads, options.budget)
    print(summary([row for row in rows if (row["threads"], row["budget"]) == asked]))
    return int(any(row["wrong"] for row in rows))


def measure(program: Any, sizes: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of a program, and whose results are wrong."""
    import numpy as np

    from polygym.terms.scheduling.rewriting_stage import rewrite_first

    rng = np.random.default_rng(0)
    arrays = [_random(kind, sizes, rng) for _, kind in program.parameters]
    stage = rewrite_first(program, sizes, options.budget)
    with tempfile.TemporaryDirectory() as folder:
        contenders = _contenders(program.name, stage.program, arrays, options.threads, folder)
        expected = _flat(contenders["numpy"]())
        wrong, times = [], {}
        for name, call in list(contenders.items()):
            error = _error(_flat(call()), expected)
            if not error < _TOLERANCE:
                wrong.append(f"{name}: {error:g}")
        times = _in_turn(contenders, options.rounds)
    ours = {name: seconds for name, seconds in times.items() if name.startswith("polygym")}
    others = {name: seconds for name, seconds in times.items() if name not in ours}
    best = min(seconds for name, seconds in others.items() if name != "jax")
    return {
        "program": program.name,
        "threads": options.threads,
        "budget": options.budget,
        "sizes": sizes,
        "form": stage.candidates[stage.chosen].search,
        "seconds": times,
        "ratio": best / min(ours.values()),
        "ratio_jax": times["jax"] / min(ours.values()) if "jax" in times else None,
        "wrong": wrong,
        "load": os.getloadavg()[0],
    }


def _random(kind: Any, sizes: dict[str, int], rng: Any) -> Any:
    from polygym.terms.language.types import sizes_of

    extents = [sizes[str(size)] for size in sizes_of(kind)]
    return rng.uniform(-0.5, 0.5, extents) if extents else float(rng.uniform(0.05, 0.2))


def _contenders(
    name: str, form: Any, arrays: Sequence[Any], threads: int, folder: str
) -> dict[str, _Call]:
    """Return calls of every library; of polygym there are two, the code of both is compiled."""
    import torch
    from references import jax_form, numpy_form, torch_form

    torch.set_num_threads(threads)
    by_numpy, by_torch = numpy_form(name), torch_form(name)
    tensors = [torch.as_tensor(array, dtype=torch.float64) for array in arrays]
    calls: dict[str, _Call] = {
        "numpy": lambda: by_numpy(*arrays),
        "torch": lambda: by_torch(*tensors),
        **_own(form, arrays, threads, folder),
    }
    try:
        import jax.numpy as jnp
    except ImportError:
        return calls
    by_jax, given = jax_form(name), [jnp.asarray(array) for array in arrays]

    def call() -> Any:
        made = by_jax(*given)
        for part in made if isinstance(made, tuple) else (made,):
            part.block_until_ready()
        return made

    return {**calls, "jax": call}


def _own(form: Any, arrays: Sequence[Any], threads: int, folder: str) -> dict[str, _Call]:
    import numpy as np

    import polygym
    from polygym.mapping.mapping import parse_mapping
    from polygym.terms import compile as compile_term
    from polygym.terms.code.arguments import bind_arguments
    from polygym.terms.code.c_file import c_file
    from polygym.terms.code.emitter import emit_code
    from polygym.terms.code.kernel_build import CodeOptions

    mapping = f"reassociate=on threads={threads}"
    compiled = compile_term(form, options=CodeOptions(mapping=parse_mapping(mapping)))
    path = Path(folder) / "term.c"
    path.write_text(c_file([form]))
    loops = polygym.compile(path, schedule="auto", mapping="reassociate=on", threads=threads)
    code = emit_code(form, {}, is_symbolic=True)
    names = [name for name, _ in form.parameters]
    sizes, _ = bind_arguments(form, dict(zip(names, arrays, strict=True)))
    numbers = [sizes[name] for name, _ in code.sizes]
    known = dict(zip((c_name for _, c_name in code.sizes), numbers, strict=True))
    shapes = [[_extent(size, known) for size in its.extents] for its in code.results]

    def call() -> Any:
        made = [np.empty(shape) for shape in shapes]
        loops(*numbers, *arrays, *made)
        return tuple(made)

    return {"polygym terms": lambda: compiled(*arrays), "polygym auto": call}


def _extent(size: Any, known: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    return int(size.constant + sum(factor * known[name] for name, factor in size.terms))


def _flat(value: Any) -> Any:
    import numpy as np

    parts = value if isinstance(value, tuple | list) else (value,)
    return np.concatenate([np.asarray(part, dtype=float).reshape(-1) for part in parts])


def _error(actual: Any, expected: Any) -> float:
    """Return how far results are apart, relative to the largest; infinite for other shapes."""
    import numpy as np

    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    return float(np.abs(actual - expected).max() / max(1e-300, np.abs(expected).max()))


def _in_turn(calls: dict[str, _Call], rounds: int) -> dict[str, float]:
    """Return the least time of each; short calls are repeated within a round."""
    repeats = {}
    for name, call in calls.items():
        begin = perf_counter()
        call()
        repeats[name] = max(1, min(200, int(_SECONDS / rounds / (perf_counter() - begin + 1e-9))))
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = perf_counter()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (perf_counter() - begin) / repeats[name])
    return best


def line_of(row: dict[str, Any]) -> str:
    """Return the line of the table."""
    times = "  ".join(f"{name} {1e6 * its:9.1f} µs" for name, its in row["seconds"].items())
    wrong = f"  WRONG {', '.join(row['wrong'])}" if row["wrong"] else ""
    return f"{row['program']:20} {row['form']:8} {row['ratio']:6.2f}x  {times}{wrong}"


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the geometric means, over the best of NumPy and PyTorch, and over JAX."""
    if not rows:
        return "nothing was measured"
    mean = geometric_mean([row["ratio"] for row in rows])
    text = f"{len(rows)} programs: {mean:.2f} times the best of NumPy and PyTorch"
    by_jax = [row["ratio_jax"] for row in rows if row["ratio_jax"] is not None]
    if by_jax:
        text += f", {geometric_mean(by_jax):.2f} times JAX ({len(by_jax)})"
    loads = [row["load"] for row in rows]
    return f"{text}; geometric means; load average {min(loads):.1f} to {max(loads):.1f}"


if __name__ == "__main__":
    sys.exit(main())
