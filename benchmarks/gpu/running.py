"""The steps, one after the other, and the page after each."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu import correctness, tables
from benchmarks.gpu.clock import Deadline, allotted
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.report import CHECKS, TABLES, report
from benchmarks.gpu.rows import ROWS, SGEMM
from polygym.runtime.device.device import DeviceProperties
from polygym.runtime.device.worker import DeviceWorker
from polygym.runtime.worker.worker import Worker
from polygym.source_fingerprint import source_fingerprint

_SOURCES = ("codegen", "frontend", "gpu", "ir", "mapping", "poly", "programs", "runtime")


@dataclass(frozen=True)
class _Step:
    """A step: the rows that it writes, under a name in the journal, and what writes them."""

    key: str
    names: Sequence[str]
    run: Callable[[Deadline], None]


def run_steps(
    shares: Mapping[str, float],
    folder: Path,
    deadline: Deadline,
    ordinal: int,
    seed: int,
    today: str,
) -> int:
    """Run steps; 0 when there are outputs that were compared, and all of them agree.

    A step has the time that is left, less the shares of later ones that have rows to do.
    """
    with closing(Worker()) as cpu, DeviceWorker(ordinal) as device:
        properties = device.properties()
        journal = Journal(folder / "results.jsonl", stamp(properties))
        note_machine(properties, journal, today)
        steps = _steps(device, cpu, journal, seed)
        for number, name in enumerate(names := list(shares)):
            if not journal.open_names(steps[name].key, steps[name].names):
                continue
            later = sum(
                shares[other]
                for other in names[number + 1 :]
                if journal.open_names(steps[other].key, steps[other].names)
            )
            print(f"{name}: {deadline.left:.0f} s left", flush=True)
            try:
                steps[name].run(deadline.part(allotted(deadline.left, shares[name], later)))
            finally:
                journal.write_page(report(journal))
        asked = [steps[name] for name in names if steps[name].key in (*CHECKS, *TABLES)]
        compared = [row for step in asked for row in journal.of_step(step.key)]
        planned = sum(len(step.names) for step in asked)
    right = sum(bool(row["ok"]) for row in compared)
    print(f"{right} of {len(compared)} agree, of {planned} to be compared", flush=True)
    return int(not compared or right < len(compared))


def _steps(device: DeviceWorker, cpu: Worker, journal: Journal, seed: int) -> dict[str, _Step]:
    def programs(step: str, names: list[str]) -> _Step:
        return _Step(
            step,
            names,
            lambda part: correctness.check_programs(step, names, device, cpu, journal, part),
        )

    def check_mappings(part: Deadline) -> None:
        correctness.check_random_mappings(device, cpu, journal, part, seed)

    def rows(step: str, own: Sequence[tables.TableRow]) -> _Step:
        return _Step(
            step,
            [row.name for row in own],
            lambda part: tables.measure_rows(step, own, device, journal, part),
        )

    choices = correctness.random_choices(seed)
    return {
        "library": programs("library", correctness.library_names()),
        "kernel": programs("kernel", correctness.kernel_names()),
        "mappings": _Step("random mapping", [key for key, _, _ in choices], check_mappings),
        "rows": rows("row", ROWS),
        "product": rows("product", [SGEMM]),
        "stencils": _Step(
            "stencil",
            [tables.stencil_key(name, sizes) for name, sizes, _ in tables.STENCILS],
            lambda part: tables.measure_stencils(device, journal, part),
        ),
    }


def stamp(properties: DeviceProperties) -> dict[str, str]:
    """Return what results hold for: the GPU, the commit where there is one, and the sources."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
        commit = done.stdout.strip()
    except OSError:
        commit = ""
    return {"GPU": properties.name, "commit": commit, "sources": source_fingerprint(_SOURCES)}


def note_machine(properties: DeviceProperties, journal: Journal, today: str) -> None:
    """Write down the machine and the day."""
    if journal.is_done("machine", "machine"):
        return
    journal.add(
        "machine",
        "machine",
        ok=True,
        architecture=properties.architecture,
        multiprocessors=properties.multiprocessors,
        bandwidth=f"{properties.bandwidth / 1e12:.2f} TB/s",
        CUDA=".".join(map(str, properties.driver)),
        date=today,
    )
