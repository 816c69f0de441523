"""Shards of the experiment: one program, one mapping, one seed, and the rows that come of it.

A shard is a sweep with a store of its own in the work folder. Once it is complete its rows are
packed into a file that is small enough to be committed::

    rows/default-0/gemm.csv.xz
    table       name           number  schedule  size    status  seconds  original  text
    run                                                                             0.3.0, AMD …
    episode     bias_coeff_0   17      5                 ok
    episode     uniform        3                         …why there is no schedule
    outcome                            5         medium  ok      0.0012   0.0030
    confirmed                          5         large   ok      0.021    0.101     [i] -> …
    reference   isl                              large   ok      0.020    0.101

``number`` counts a policy's episodes, ``schedule`` the distinct schedules of the shard;
``original`` is the time of the original order beside them.
"""

from __future__ import annotations

import csv
import io
import lzma
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import PolygymError
from polygym.files import write_atomically
from polygym.search.sweep.reader import SweepContents, read_sweep
from polygym.search.sweep.rows import Timing

POLICIES = ("uniform", "bias_coeff_0", "bias_select_dep")
COLUMNS = (
    "table", "name", "number", "schedule", "size", "status", "seconds", "original", "text",
)  # fmt: skip

_CONFIRMED = 6
# A sweep that is to stop finishes the schedule in flight.
_STOP_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all shards have in common."""

    budget: int = 1000
    search_size: str = "medium"
    size: str = "large"
    threads: int = 2
    against: str = "clang,gcc,polly"


@dataclass(frozen=True, slots=True)
class Shard:
    """One program under a mapping, with a seed."""

    kernel: str
    mapping: str
    seed: int

    @property
    def group(self) -> str:
        """The name of the shards that belong together."""
        return f"{self.mapping}-{self.seed}"

    def rows_file(self, rows: Path) -> Path:
        """Return where the rows of the complete shard are."""
        return rows / self.group / f"{self.kernel}.csv.xz"

    def command(self, conditions: Conditions, work: Path) -> list[str]:
        """Return the sweep of this shard."""
        mapping = () if self.mapping == "default" else ("--mapping", self.mapping)
        return [
            sys.executable, "-m", "polygym", "sweep", self.kernel,
            "--strategy", ",".join(POLICIES), "--budget", str(conditions.budget),
            "--seed", str(self.seed), "--initial-schedules", "none",
            "--search-dataset", conditions.search_size, "--dataset", conditions.size,
            "--confirm", str(_CONFIRMED), "--threads", str(conditions.threads),
            "--against", conditions.against, *mapping,
            "--out", str(self.store(work)),
        ]  # fmt: skip

    def store(self, work: Path) -> Path:
        """Return the folder of the sweep."""
        return work / self.group / self.kernel


def run_shard(shard: Shard, conditions: Conditions, work: Path, deadline: float) -> bool:
    """Go on with a shard until it is complete or ``deadline``; return whether it is.

    Raises:
        PolygymError: the sweep failed.
        KeyboardInterrupt: somebody ended it; the store has all up to then.
    """
    process = subprocess.Popen(shard.command(conditions, work), stdout=subprocess.DEVNULL)
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as reason:
        process.send_signal(signal.SIGTERM)  # SIGINT means nothing to what began under nohup
        process.wait(_STOP_SECONDS)
        if isinstance(reason, KeyboardInterrupt):
            raise
        return False
    contents = read_sweep(shard.store(work))
    if len(contents.episodes) < conditions.budget * len(POLICIES):
        raise PolygymError(
            f"{shard.kernel}: expected a complete sweep, found exit code {code} after "
            f"{len(contents.episodes)} episodes; see polygym report {shard.store(work)}"
        )
    return True


def pack_shard(shard: Shard, work: Path, rows: Path) -> Path:
    """Write the rows of a complete shard, and return the file."""
    file = shard.rows_file(rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(read_sweep(shard.store(work))))
    write_atomically(file, lzma.compress(text.getvalue().encode(), preset=9))
    return file


def rows_of(contents: SweepContents) -> Iterator[dict[str, object]]:
    """Yield the rows of a store."""
    for run in contents.runs:
        when = time.strftime("%Y-%m-%d", time.gmtime(run.moment))
        machine = f"{run.version}, {run.processor}, {run.cores} cores, {run.system}, {when}"
        yield {"table": "run", "text": machine}
    texts = {outcome.number: outcome.schedule for outcome in contents.outcomes}
    statuses = {outcome.number: outcome.timing.status.value for outcome in contents.outcomes}
    for episode in contents.episodes:
        known = {} if episode.outcome is None else {"schedule": episode.outcome}
        yield {
            "table": "episode", "name": episode.policy, "number": episode.index, **known,
            "status": episode.reason or statuses[episode.outcome or 0],
        }  # fmt: skip
    for outcome in contents.outcomes:
        size = str(contents.setting.search_dataset)
        yield {
            "table": "outcome", "schedule": outcome.number, "size": size, **_timed(outcome.timing),
        }  # fmt: skip
    for again in contents.confirmations:
        yield {
            "table": "confirmed", "schedule": again.outcome, "size": again.dataset,
            **_timed(again.timing), "text": texts[again.outcome],
        }  # fmt: skip
    for reference in contents.references:
        yield {
            "table": "reference", "name": reference.name, "size": reference.dataset,
            **_timed(reference.timing),
        }  # fmt: skip


def _timed(timing: Timing) -> dict[str, object]:
    return {
        "status": timing.status.value,
        "seconds": f"{timing.seconds:.6g}",
        "original": f"{timing.baseline_seconds:.6g}",
    }


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a packed shard."""
    return list(csv.DictReader(io.StringIO(lzma.decompress(file.read_bytes()).decode())))
