"""Do whole C programs, as people write them, compute what gcc makes of them with the fast loops?

    python benchmarks/whole_programs.py --out whole          # 1,000 random ones, 2,000 mutants
    python benchmarks/whole_programs.py --kind random --count 100 --out some
    python benchmarks/whole_programs.py --kind mutant --number 17      # one of them, with its text

A random program has pointers that are set before its loops, structures, aliases that are really
there, rows, bytes, guards, gathers, walking pointers and more; ``main`` prints a digest of all
memory. A mutant is a program of the suite in which a word or a statement was changed. The region is
exported under schedules and mappings drawn from the seed, as C or as an object, and the program
built again. It prints what gcc's code prints, or it was refused with a sentence, or has no meaning
in C by sanitizers and other flags of gcc ("invalid"), or there is a defect: a wrong output,
a crash, an error of polygym's own, or an answer that takes too long.

``results.jsonl`` in --out has a line for each; the same command leaves out what is there. The exit
code is 1 if there is a defect.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from coverage_study.bounded import run_bounded
from coverage_study.reasons import kind_of_reason
from whole_program_study.checking import CheckedProgram, check
from whole_program_study.random_program import random_program
from whole_program_study.results import ProgramRow, Stage, Verdict, decisive_stage
from whole_program_study.suite_mutants import suite_mutant

from polygym.errors import LongWaitWarning

KINDS = {"random": 1000, "mutant": 2000}
PER_BATCH = 5
SECONDS = 300.0


def made(kind: str, seed: int, number: int) -> tuple[str, CheckedProgram]:
    """Return the name and the text of a program."""
    if kind == "random":
        return "random", random_program((seed, number))
    return suite_mutant((seed, number))


def checked(kind: str, seed: int, number: int, exports: int) -> ProgramRow:
    """Make a program, and see what becomes of it in a process of its own."""
    warnings.simplefilter("ignore", LongWaitWarning)
    start = time.monotonic()
    name, program = made(kind, seed, number)
    entries, failure = run_bounded(partial(_entries, program, (seed, number), exports), SECONDS)
    stages = [entry["stage"] for entry in entries]
    last = decisive_stage(stages) if stages else Stage("reference", Verdict.OK)
    if failure:
        verdict = Verdict.HANG if failure.startswith("gave up") else Verdict.INTERNAL
        last = Stage(f"after {stages[-1].name if stages else 'nothing'}", verdict, failure)
    row = ProgramRow(
        kind, number, name, last.verdict.value, last.name, last.detail, time.monotonic() - start
    )
    text = program.files[0][1] if row.is_defect else ""
    return ProgramRow(**{**row.to_json(), "text": text})


def _entries(
    program: CheckedProgram, seed: tuple[int, int], exports: int
) -> Iterator[dict[str, Stage]]:
    """Yield the stages as they are sent to this process."""
    for stage in check(program, seed, exports):
        yield {"stage": stage}


def batch(kind: str, seed: int, numbers: tuple[int, ...], exports: int) -> list[ProgramRow]:
    """Check several programs, one after the other."""
    return [checked(kind, seed, number, exports) for number in numbers]


def report(rows: list[ProgramRow]) -> str:
    """Return the counts of each kind, and of the reasons of refusals."""
    lines = []
    for kind in KINDS:
        own = [row for row in rows if row.kind == kind]
        if not own:
            continue
        counts = collections.Counter(row.verdict for row in own)
        lines.append(f"{kind}: {len(own)} programs, {dict(counts.most_common())}")
        refused = [row for row in own if row.verdict == Verdict.REFUSED.value]
        kinds = collections.Counter(kind_of_reason(row.detail) for row in refused)
        lines += [f"  refused {count:5}  {reason}" for reason, count in kinds.most_common()]
    return "\n".join(lines)


def _show(kind: str, seed: int, number: int, exports: int) -> int:
    """Print a program and what becomes of it."""
    name, program = made(kind, seed, number)
    print(program.files[0][1])
    row = checked(kind, seed, number, exports)
    print(f"{name}, region at line {program.line}: {row.stage}: {row.verdict}: {row.detail}")
    return int(row.is_defect)


def earlier_rows(path: Path, seed: int) -> list[ProgramRow]:
    """Return the rows of an earlier run with the same seed; the last line may be cut."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.pop("seed") == seed:
            rows.append(ProgramRow(**entry))
    return rows


def append_rows(path: Path, seed: int, rows: Sequence[ProgramRow]) -> None:
    """Write rows behind those that are there."""
    with path.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"seed": seed, **row.to_json()}) + "\n")


def main() -> int:
    """Check what is not there yet, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=KINDS, help="both by default")
    parser.add_argument("--count", type=int, help="programs of each kind; 1,000 and 2,000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="check one, and print it")
    parser.add_argument("--exports", type=int, default=2, help="schedules of each program")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, metavar="DIR", help="continues there")
    options = parser.parse_args()
    kinds = [options.kind] if options.kind else list(KINDS)
    if options.number is not None:
        return _show(kinds[0], options.seed, options.number, options.exports)
    if options.out is None:
        parser.error("expected --out or --number")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.jsonl"
    rows = earlier_rows(path, options.seed)
    there = {(row.kind, row.number) for row in rows}
    parts = []
    for kind in kinds:
        numbers = [n for n in range(options.count or KINDS[kind]) if (kind, n) not in there]
        parts += [
            (kind, tuple(numbers[k : k + PER_BATCH])) for k in range(0, len(numbers), PER_BATCH)
        ]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        futures = [
            pool.submit(batch, kind, options.seed, numbers, options.exports)
            for kind, numbers in parts
        ]
        for done, future in enumerate(as_completed(futures), start=1):
            new = future.result()
            rows += new
            append_rows(path, options.seed, new)
            counts = collections.Counter(row.verdict for row in rows)
            print(f"{done}/{len(futures)} batches  {dict(counts)}", file=sys.stderr, flush=True)
            for row in new:
                if row.is_defect:
                    print(
                        f"{row.verdict.upper()} {row.kind} {row.number}: {row.detail[:300]}",
                        flush=True,
                    )
    print(report(rows))
    return int(any(row.is_defect for row in rows))


if __name__ == "__main__":
    sys.exit(main())
