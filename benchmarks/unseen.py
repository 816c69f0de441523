"""Programs as people write them, from no suite that anything was made for: what they gain, unasked.

    python benchmarks/unseen.py --out outside
    python benchmarks/unseen.py sobel kmeans --out outside --threads 1
    python benchmarks/unseen.py --out outside --against gcc,polly

Images, physics, learning, dynamic programming and recurrences, 37 C files in ``unseen_programs/``
with their sizes in ``unseen_programs/sizes.json``: scalars in loops, flat pointers, structures, as
they come. None was learned from. Of each stand beside its source, compiled at -O3 by the same LLVM:

* *isl*: isl's schedule under the default mapping, values where the source has them;
* *auto*: the automatic schedule and storage, as of `polygym run --schedule auto`;
* *learned*: the one answer of `polygym optimize --strategy learned --budget 1`.

Each is measured in turn with the source in a process of its own; ratios of such ratios are shown.
``results.jsonl`` in the folder gets a line for each program, and the same command leaves out what
is there. With ``--against`` the automatic schedule runs in turn with the source and with other
compilers' code of it, and is compared with the fastest of them (``against.jsonl``). Nothing else
should run meanwhile. The exit code is 1 if an output was wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

PROGRAM_FOLDER = Path(__file__).parent / "unseen_programs"
_NAMES = ("isl", "auto", "learned")
_ORIGINAL, _AUTO = "original", "auto"
_MEASURABLE = 5e-5  # seconds of the fastest; a mean of less would say little


def sizes() -> dict[str, str]:
    """Return the programs by name, with their sizes as the commands take them."""
    result: dict[str, str] = json.loads((PROGRAM_FOLDER / "sizes.json").read_text(encoding="utf-8"))
    return result


def measure_program(name: str, parameters: str, threads: int) -> dict[str, Any]:
    """Return how many times as fast as the source each is; None for what does not run."""
    usual = ("--parameters", parameters, "--threads", threads)
    isl = _command_json("run", name, *usual, "--schedule", "isl", "--storage", "keep")
    auto = _command_json("run", name, *usual, "--schedule", "auto")
    learned = _command_json("optimize", name, *usual, "--strategy", "learned", "--budget", 1)
    own = [entry["speedup"] for entry in learned.get("ranking", []) if entry["index"] == 0]
    return {
        "program": name,
        "threads": threads,
        "isl": _speedup(isl),
        "auto": _speedup(auto),
        "learned": own[0] if own else None,
        "storage": auto.get("storage", ""),
        "wrong": any(document.get("status") == "wrong output" for document in (isl, auto))
        or bool(learned.get("wrong")),
    }


def measure_against(name: str, parameters: str, threads: int, compilers: str) -> dict[str, Any]:
    """Return the seconds of the source, of other compilers' code, and of the automatic schedule."""
    how = ("--schedules", f"{_ORIGINAL},{_AUTO}", "--against", compilers, "--repeat", 8)
    document = _command_json("bench", name, "--parameters", parameters, "--threads", threads, *how)
    entries = document.get("entries", [])
    return {
        "program": name,
        "threads": threads,
        "against": compilers,
        "seconds": {
            entry["schedule"]: entry["seconds"] for entry in entries if entry["status"] == "ok"
        },
        "wrong": any(
            entry["status"] == "wrong output"
            for entry in entries
            if entry["schedule"] in (_ORIGINAL, _AUTO)
        ),
    }


def _command_json(command: str, name: str, *words: object) -> dict[str, Any]:
    """Return what a command says with --json, nothing if that is not JSON."""
    file = str(PROGRAM_FOLDER / f"{name}.c")
    line = [sys.executable, "-m", "polygym", command, file, *map(str, words), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        print(f"{name}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return {}
    return result


def _speedup(document: dict[str, Any]) -> float | None:
    return document["speedup"] if document.get("status") == "ok" else None


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return for people what each program gains, and the means."""
    lines = ["| program | isl | auto | learned | learned over isl |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [f"{row[name]:.2f}" if row[name] else "-" for name in _NAMES]
        over = f"{row['learned'] / row['isl']:.2f}" if row["learned"] and row["isl"] else "-"
        lines.append(f"| {' | '.join([row['program'], *cells, over])} |")
    whole = [row for row in rows if all(row[name] for name in _NAMES)]
    if whole:
        means = [geometric_mean(row[name] for row in whole) for name in _NAMES]
        means.append(geometric_mean(row["learned"] / row["isl"] for row in whole))
        cells = [f"**{mean:.2f}**" for mean in means]
        lines.append(f"| geometric mean of {len(whole)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def over_best(row: dict[str, Any]) -> float | None:
    """Return how many times as fast as the best of the others the automatic schedule is."""
    others = [seconds for name, seconds in row["seconds"].items() if name != _AUTO]
    own = row["seconds"].get(_AUTO)
    return min(others) / own if own and others else None


def table_against(rows: Sequence[dict[str, Any]], compilers: str) -> str:
    """Return for people the times of each program in milliseconds, and the ratio to the best."""
    names = (_ORIGINAL, *compilers.split(","), _AUTO)
    lines = [f"| program | {' | '.join(names)} | over the best |", "|---" * (len(names) + 2) + "|"]
    gains = []
    for row in rows:
        times = [row["seconds"].get(name) for name in names]
        cells = [f"{1e3 * time:.3g}" if time else "-" for time in times]
        gain = over_best(row)
        if gain is not None and min(filter(None, times[:-1])) >= _MEASURABLE:
            gains.append(gain)
        lines.append(f"| {' | '.join([row['program'], *cells, f'{gain:.2f}' if gain else '-'])} |")
    if gains:
        mean = f"**{geometric_mean(gains):.2f}**"
        blank = " | ".join("" for _ in names)
        lines.append(f"| geometric mean of {len(gains)} | {blank} | {mean} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help="some of them; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--against", metavar="COMPILER,...", help="gcc, clang, polly")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    options = parser.parse_args()
    known = sizes()
    if unknown := [name for name in options.programs if name not in known]:
        parser.error(f"programs: expected some of {', '.join(known)}, found {unknown[0]}")
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / ("against.jsonl" if options.against else "results.jsonl")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        file.write_text(text + "\n", encoding="utf-8")  # the command was ended while it wrote
    rows = {
        row["program"]: row
        for row in map(json.loads, (line for line in lines if line.endswith("}")))
        if row["threads"] == options.threads and row.get("against") == options.against
    }
    wanted = options.programs or list(known)
    for name in wanted:
        if name in rows:
            continue
        rows[name] = (
            measure_against(name, known[name], options.threads, options.against)
            if options.against
            else measure_program(name, known[name], options.threads)
        )
        with file.open("a", encoding="utf-8") as more:
            more.write(json.dumps(rows[name]) + "\n")
        print(f"{name}: {rows[name]}", file=sys.stderr, flush=True)
    result = [rows[name] for name in wanted]
    print(table_against(result, options.against) if options.against else table(result))
    return int(any(row["wrong"] for row in result))


if __name__ == "__main__":
    sys.exit(main())
