"""Run ONNX's own tests of operators through polygym, and print what becomes of them.

Every case is read, compiled and run in a child process, so that a crash is seen and counted::

    python -m benchmarks.onnx_study
    python -m benchmarks.onnx_study --opsets 13-21 --floating --details
    python -m benchmarks.onnx_study --folder …/onnx/backend/test/data/node

The exit code is 1 if a result is wrong, or a case ends in an error or a crash.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from benchmarks.onnx_study.node_cases import (
    NodeCase,
    Outcome,
    cases_of_folder,
    installed_cases,
    operators_of,
    run_case,
)

_PER_PROCESS = 40


def selected_cases(folder: Path | None, opsets: tuple[int, int], floating: bool) -> list[NodeCase]:
    """Return the cases of a folder, or of the package, for some opsets."""
    cases = installed_cases() if folder is None else cases_of_folder(folder)
    low, high = opsets
    return [
        case
        for case in cases
        if case.opset is not None
        and low <= case.opset <= high
        and (case.is_floating or not floating)
    ]


def _run_chunk(
    folder: Path | None, opsets: tuple[int, int], floating: bool, places: Sequence[int]
) -> list[Outcome]:
    cases = selected_cases(folder, opsets, floating)
    return [run_case(cases[place]) for place in places]


def run_all(
    folder: Path | None, opsets: tuple[int, int], floating: bool, processes: int
) -> list[tuple[NodeCase, Outcome]]:
    """Return the outcomes of all cases; a chunk whose process dies is run case by case."""
    cases = selected_cases(folder, opsets, floating)
    outcomes: dict[int, Outcome] = {}
    chunks = [
        list(range(first, min(first + _PER_PROCESS, len(cases))))
        for first in range(0, len(cases), _PER_PROCESS)
    ]
    while chunks:
        failed: list[list[int]] = []
        with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
            futures = [
                (chunk, pool.submit(_run_chunk, folder, opsets, floating, chunk))
                for chunk in chunks
            ]
            for chunk, future in futures:
                try:
                    outcomes.update(zip(chunk, future.result(), strict=True))
                except BrokenProcessPool:
                    failed.append(chunk)
        chunks = []
        for chunk in failed:
            if len(chunk) == 1:
                outcomes[chunk[0]] = Outcome("error", "the process crashed")
            else:
                chunks += [[place] for place in chunk]
        processes = 1 if chunks else processes
    return [(case, outcomes[place]) for place, case in enumerate(cases)]


def report(results: Sequence[tuple[NodeCase, Outcome]], details: bool) -> int:
    """Print the table, and return the exit code."""
    counts = Counter(outcome.status for _, outcome in results)
    fixed = sum(bool(outcome.fixed) for _, outcome in results)
    total = max(len(results), 1)
    print(f"{len(results)} cases")
    for status in ("passed", "refused", "wrong", "error"):
        note = f", {fixed} of them with fixed inputs" if status == "passed" else ""
        print(f"{status:8} {counts[status]:5}  {100 * counts[status] / total:5.1f} %{note}")
    refused = Counter(
        operators_of(case).partition(" ")[0]
        for case, outcome in results
        if outcome.status == "refused"
    )
    for operator, count in refused.most_common():
        print(f"  refused {count:3}  {operator}")
    for case, outcome in results:
        if outcome.status in ("wrong", "error") or (details and outcome.status == "refused"):
            print(f"{outcome.status}: {case.name} (opset {case.opset}): {outcome.reason}")
    return int(bool(counts["wrong"] or counts["error"]))


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--opsets", default="13-21", help="first and last opset of the files")
    parser.add_argument("--folder", type=Path, help="data of another version of the package")
    parser.add_argument("--floating", action="store_true", help="cases with floats alone")
    parser.add_argument("--details", action="store_true", help="each refusal with its reason")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    low, _, high = options.opsets.partition("-")
    opsets = int(low), int(high or low)
    results = run_all(options.folder, opsets, options.floating, options.processes)
    return report(results, options.details)


if __name__ == "__main__":
    sys.exit(main())
