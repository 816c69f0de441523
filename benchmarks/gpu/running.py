"""The steps, one after the other, and the page after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.gpu import correctness, tables
from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.report import CHECKS, report
from benchmarks.gpu.rows import ROWS, SGEMM
from polygym.runtime.device.worker import DeviceWorker
from polygym.runtime.worker.worker import Worker


def run_steps(
    shares: Mapping[str, float],
    journal: Journal,
    deadline: Deadline,
    ordinal: int,
    seed: int,
    today: str,
) -> int:
    """Run steps, each for its share of the time; 0 when all outputs that were compared agree."""
    cpu = Worker()
    with DeviceWorker(ordinal) as device:
        note_machine(device, journal, today)

        def programs(step: str, names: list[str], part: Deadline) -> None:
            correctness.check_programs(step, names, device, cpu, journal, part)

        steps: dict[str, Callable[[Deadline], None]] = {
            "library": lambda part: programs("library", correctness.library_names(), part),
            "kernel": lambda part: programs("kernel", list(correctness.KERNELS), part),
            "mappings": lambda part: correctness.check_random_mappings(
                device, cpu, journal, part, seed
            ),
            "rows": lambda part: tables.measure_rows("row", ROWS, device, journal, part),
            "product": lambda part: tables.measure_rows("product", [SGEMM], device, journal, part),
            "stencils": lambda part: tables.measure_stencils(device, journal, part),
        }
        for name, seconds in shares.items():
            print(f"{name}: {deadline.left:.0f} s left", flush=True)
            steps[name](deadline.part(seconds))
            journal.write_page(report(journal))
    cpu.close()
    wrong = [row for step in CHECKS for row in journal.of_step(step) if not row["ok"]]
    print(f"{len(wrong)} programs differ from the CPU", flush=True)
    return int(bool(wrong))


def note_machine(device: DeviceWorker, journal: Journal, today: str) -> None:
    """Write down the machine and the day."""
    if ("machine", "machine") in journal:
        return
    properties = device.properties()
    version = ".".join(map(str, properties.driver))
    journal.add(
        "machine",
        "machine",
        GPU=properties.name,
        architecture=properties.architecture,
        multiprocessors=properties.multiprocessors,
        bandwidth=f"{properties.bandwidth / 1e12:.2f} TB/s",
        CUDA=version,
        date=today,
    )
