"""Exported kernels beside polygym's own code: how much slower each is.

    python benchmarks/exported.py --out exported
    python benchmarks/exported.py gemm sobel --out exported --kind c
    CC=clang-19 python benchmarks/exported.py --out exported-clang --kind c

The 30 kernels of PolyBench at one size and the programs of ``unseen_programs/`` run under the
automatic schedule, storage and mapping. Each is exported as an object, and as C which the user's
compiler ($CC) compiles. Both are called from a driver, in turn with polygym's code and with the
source, in one process on the same data; the time is the least of all rounds. Outputs are compared.
Where the automatic choice is the source, its export is the source unchanged, and is not measured.

``results.jsonl`` gets a line for each program and kind; the same command leaves out what is there.
Nothing else should run meanwhile. The exit code is 1 if an output differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from polybench import KERNELS, Dataset
from polygym.autoschedule.code_choice import confirmed_start
from polygym.errors import PolygymError
from polygym.export.c_compiler import UserCompiler, user_compiler
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.export.measuring import measure_export
from polygym.mapping.mapping import parse_mapping
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import load_program
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.timing import describe_host

_FOLDER = Path(__file__).parent / "unseen_programs"
_KINDS = ("object", "c")
_KERNELS = [kernel.name for kernel in KERNELS]


def _programs(names: list[str]) -> list[str]:
    """Return what is measured: kernels by name, programs by the names of their files."""
    known = [*_KERNELS, *sorted(path.stem for path in _FOLDER.glob("*.c"))]
    for name in names:
        if name not in known:
            sys.exit(f"expected a kernel or a file of {_FOLDER}, found {name}")
    return names or known


def _export(name: str, dataset: Dataset, threads: int) -> Export:
    """Return a program with its automatic schedule, ready to be exported."""
    target = name if name in _KERNELS else str(_FOLDER / f"{name}.c")
    program = load_program(target, dataset=dataset)
    mapping = parse_mapping(f"threads={threads}")
    confirmed = confirmed_start(program, mapping, DEFAULT_MEMORY_LIMIT)
    taken = confirmed.start.program
    options = ExportOptions(sizes=(taken.parameters,))
    return prepare_export(taken, confirmed.choice.schedule, confirmed.mapping, options)


def _measured(name: str, kind: str, export: Export, compiler: UserCompiler) -> dict[str, Any]:
    """Return the line of a program and a kind; there is nothing to measure of the source itself."""
    if export.is_source:
        return {"program": name, "kind": kind, "ratio": None, "status": None, "is_source": True}
    times = measure_export(export, compiler, as_c=kind == "c", rounds=7, with_source=False)
    outcomes = {"source": times.source, "polygym": times.own, "exported": times.exported}
    return {
        "program": name,
        "kind": kind,
        "ratio": times.ratio,
        "status": times.exported.status.value,
        "seconds": {
            key: outcome.best if isinstance(outcome, Ok) else None
            for key, outcome in outcomes.items()
        },
        "mapping": str(export.mapping),
        "general": export.plan.variants[-1].sizes is None,
        "compiler": compiler.version,
        "machine": asdict(describe_host()),
    }


def _report(lines: list[dict[str, Any]]) -> int:
    """Print the summary of all lines; return the exit code."""
    for kind in _KINDS:
        own = [line for line in lines if line["kind"] == kind]
        ratios = [line["ratio"] for line in own if line.get("ratio")]
        if ratios:
            worst = sorted(own, key=lambda line: -(line.get("ratio") or 0))[:5]
            shown = ", ".join(f"{line['program']} {line['ratio']:.2f}" for line in worst)
            print(f"{kind}: {geometric_mean(ratios):.3f} in the mean of {len(ratios)}; {shown}")
        if kept := sum(line.get("is_source", False) for line in own):
            print(f"{kind}: {kept} stay as the source has them")
    wrong = [line for line in lines if line.get("status") not in ("ok", None)]
    for line in wrong:
        print(f"{line['program']} {line['kind']}: {line['status']}")
    for line in lines:
        if "error" in line:
            print(f"{line['program']} {line['kind']}: {line['error']}")
    return int(bool(wrong))


def main() -> int:
    """Measure what is not there yet, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--kind", choices=_KINDS, action="append")
    parser.add_argument("--dataset", type=Dataset.parse, default=Dataset.LARGE, metavar="SIZE")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    chosen = parser.parse_args()
    compiler = user_compiler()
    if compiler is None:
        sys.exit("expected a C compiler (CC, cc, gcc, clang), found none")
    chosen.out.mkdir(parents=True, exist_ok=True)
    journal = chosen.out / "results.jsonl"
    lines = (
        [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    )
    there = {(line["program"], line["kind"]) for line in lines}
    for name in _programs(chosen.programs):
        export = None
        for kind in chosen.kind or _KINDS:
            if (name, kind) in there:
                continue
            try:
                export = export or _export(name, chosen.dataset, chosen.threads)
                line = _measured(name, kind, export, compiler)
            except PolygymError as error:
                line = {"program": name, "kind": kind, "error": str(error)[:500]}
            lines.append(line)
            with journal.open("a") as file:
                file.write(json.dumps(line) + "\n")
            said = "source" if line.get("is_source") else line.get("error", line.get("status"))
            print(name, kind, line.get("ratio") or said, flush=True)
    return _report(lines)


if __name__ == "__main__":
    sys.exit(main())
