"""Final answers of `polygym optimize` beside the source, on programs that nothing was tuned for.

    python benchmarks/never_slower.py --out slower
    python benchmarks/never_slower.py --out slower --programs 'unseen/*' --budget 20 --threads 1
    python benchmarks/never_slower.py --out slower --random 60 --seed 7

The programs are those of ``unseen_programs``, named ``unseen/NAME``, and ``--random`` programs of
:mod:`polygym.programs.generate`, named ``random/SEED`` and ``scalars/SEED`` in turn, whose seeds
follow from ``--seed`` and are none that a corpus has; each is written to a C file in the folder.
For each:

* `polygym optimize` with a small budget, storage and splitting left to it;
* the recorded answer, `best.json`, is then run in turn with the source by `polygym run`, three
  times in processes of their own: the median of the three ratios is what counts;
* `polygym run --schedule auto` beside the source, three times as well.

``results.jsonl`` in the folder gets a line for each program, with the machine, and the same command
leaves out those that have one. Nothing else should run meanwhile: a line says how busy the machine
was. The exit code is 1 if an answer is slower than the source by more than 3 %, an automatic
schedule below 0.9 of it, or an output was wrong.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from polygym.programs.generate import PREFIX, SCALARS_PREFIX, generate_source
from polygym.runtime.worker.timing import describe_host

PROGRAM_FOLDER = Path(__file__).parent / "unseen_programs"
LEAST_ANSWER, LEAST_AUTOMATIC = 0.97, 0.9
_REPEATS = 3
_FIRST_SEED = 700_000_000
_SECONDS = 900


@dataclass(frozen=True, slots=True)
class UnseenProgram:
    """A program: its name, its file, its sizes as the commands take them, "" for their own."""

    name: str
    file: Path
    parameters: str = ""


def programs(folder: Path, random: int, seed: int) -> Iterator[UnseenProgram]:
    """Yield the programs; random ones are written into the folder."""
    sizes: dict[str, str] = json.loads((PROGRAM_FOLDER / "sizes.json").read_text(encoding="utf-8"))
    for name, parameters in sizes.items():
        yield UnseenProgram(f"unseen/{name}", PROGRAM_FOLDER / f"{name}.c", parameters)
    for number in range(random):
        prefix = (PREFIX, SCALARS_PREFIX)[number % 2]
        own = _FIRST_SEED + 100_000 * seed + number
        name = prefix.rstrip(":")
        file = folder / "programs" / f"{name}-{own}.c"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(generate_source(own, prefix), encoding="utf-8")
        yield UnseenProgram(f"{name}/{own}", file)


def measure_program(
    program: UnseenProgram, folder: Path, budget: int, threads: int, dataset: str
) -> dict[str, Any]:
    """Return the ratios of a program's answer and of its automatic schedule over its source."""
    common = [str(program.file), "--dataset", dataset, "--threads", str(threads)]
    common += ["-p", program.parameters] if program.parameters else []
    out = folder / "searches" / program.name
    shutil.rmtree(out, ignore_errors=True)  # of a command that was ended
    search = _command_json("optimize", *common, "--budget", str(budget), "--out", str(out))
    answers = _ratios("run", *common, "--schedule", str(out / "best.json"))
    automatic = _ratios("run", *common, "--schedule", "auto")
    return {
        "program": program.name,
        "threads": threads,
        "budget": budget,
        "dataset": dataset,
        "searched": (search.get("best") or {}).get("speedup"),
        "is_source": search.get("is_source"),
        "answers": answers["speedups"],
        "automatic": automatic["speedups"],
        "automatic_storage": automatic["storage"],
        "wrong": bool(search.get("wrong")) or answers["is_wrong"] or automatic["is_wrong"],
        "error": search.get("error") or answers["error"] or automatic["error"],
        "background_load": search.get("background_load"),
        "machine": asdict(describe_host()),
    }


def _ratios(*words: str) -> dict[str, Any]:
    """Return the speedups of a command that runs a schedule beside the source, some times."""
    documents = [_command_json(*words, "--repeat", "9") for _ in range(_REPEATS)]
    statuses = [document.get("status") for document in documents]
    return {
        "speedups": [document["speedup"] for document in documents if document.get("speedup")],
        "storage": documents[0].get("storage", ""),
        "is_wrong": "wrong output" in statuses,
        "error": next((document["error"] for document in documents if "error" in document), None),
    }


def _command_json(*words: str) -> dict[str, Any]:
    """Return what a command says with --json; why it says nothing is its ``error``."""
    line = [sys.executable, "-m", "polygym", *words, "--json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=_SECONDS)
        result: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": f"{words[0]}: took longer than {_SECONDS} s"}
    except ValueError:
        return {"error": f"{words[0]}: {done.stderr.strip()[-300:]}"}
    return result


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return for people what the answers are worth, the slowest first, and what is missing."""
    lines = ["| program | answer | the source | automatic |", "|---|---|---|---|"]
    whole = [row for row in rows if row["answers"] and row["automatic"]]
    for row in sorted(whole, key=lambda row: median(row["answers"])):
        cells = [f"{median(row[name]):.2f}" for name in ("answers", "automatic")]
        own = "yes" if row["is_source"] else ""
        lines.append(f"| {row['program']} | {cells[0]} | {own} | {cells[1]} |")
    if whole:
        means = [
            geometric_mean(median(row[name]) for row in whole) for name in ("answers", "automatic")
        ]
        lines.append(f"| geometric mean of {len(whole)} | {means[0]:.2f} | | {means[1]:.2f} |")
    lines += [f"not measured: {row['program']}: {row['error']}" for row in rows if row not in whole]
    return "\n".join(lines)


def is_failure(row: dict[str, Any]) -> bool:
    """Whether a program's answer or automatic schedule is slower than it may be, or wrong."""
    is_slow = bool(row["answers"]) and median(row["answers"]) < LEAST_ANSWER
    automatic = bool(row["automatic"]) and median(row["automatic"]) < LEAST_AUTOMATIC
    return is_slow or automatic or bool(row["wrong"])


def _known_rows(file: Path) -> list[dict[str, Any]]:
    """Return the lines of an earlier command; a torn last line is left out, and cut off."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--programs", default="*", help="a glob of their names; default: all")
    parser.add_argument("--random", type=int, default=63, help="how many random ones")
    parser.add_argument("--seed", type=int, default=0, help="of the random ones")
    parser.add_argument("--budget", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--dataset", default="medium", help="of programs without sizes of their own"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.jsonl"
    wanted = [
        program
        for program in programs(options.out, options.random, options.seed)
        if fnmatch(program.name, options.programs)
    ]
    if not wanted:
        parser.error(f"--programs: expected a glob of some names, found {options.programs}")
    asked = {name: getattr(options, name) for name in ("threads", "budget", "dataset")}
    rows = {
        row["program"]: row
        for row in _known_rows(file)
        if all(row[name] == value for name, value in asked.items())
    }
    for program in wanted:
        if program.name in rows:
            continue
        row = measure_program(
            program, options.out, options.budget, options.threads, options.dataset
        )
        rows[program.name] = row
        with file.open("a", encoding="utf-8") as more:
            more.write(json.dumps(row) + "\n")
        print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)
    result = [rows[program.name] for program in wanted]
    print(table(result))
    failures = [row["program"] for row in result if is_failure(row)]
    print(f"slower or wrong: {', '.join(failures) or 'none'}")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
