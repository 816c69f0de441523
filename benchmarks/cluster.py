"""Scaling of a sweep on a cluster: the driver's own code, and simulated workers.

    python benchmarks/cluster.py scale [--workers 1,16,64,256] [--time-limit 20s]
    python benchmarks/cluster.py saturate [--time-limit 10s]
    python benchmarks/cluster.py ray [--workers 64] [--actors 2]
    python benchmarks/cluster.py draw FILE.json docs/images/cluster-scaling.png
    python benchmarks/cluster.py compare DIR [--kernels mvt,atax] [--budget 8]
    python benchmarks/cluster.py overhead DIR [--kernels mvt,atax] [--budget 60] [--pairs 5]

What is real: the fleet's loop, the sweep's jobs, JSON both ways, and the SQLite store with every
row on the disk. What is pretended: a worker plays, compiles and measures nothing; it sends rows of
an outcome's usual size after the times that playing, compiling and running would take (at random,
0.5 s an episode on average). `scale` and `saturate` have workers without processes, so they leave
out what Ray takes; `ray` has the same workers as actors of Ray, many to a process, so its messages
are real. Efficiency is the time that the episodes took over workers times the time that passed;
that a program is opened (a second, once per job) counts as lost, and what a driver is late too.

`print_comparison` and `overhead` pretend nothing (:mod:`ray_study.comparison`,
:mod:`ray_study.overhead`):
the first says whether a sweep on three nodes of Ray to which everything happens finds what one
without a cluster finds (exit code 1: it does not), the second what a cluster of one machine costs.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ray_study.comparison import print_comparison
from ray_study.overhead import measure_overhead

from polybench import Dataset
from polygym.durations import parse_duration
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, source_digest
from polygym.search.runner.ray.fleet.transport import MeasuringSite
from polygym.search.runner.ray.ray_transport import RayTransport
from polygym.search.runner.ray.sweep_tasks import timing_json
from polygym.search.runner.ray.sweeps import RaySweep
from polygym.search.sweep.rows import Timing
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import create_or_open
from polygym.search.sweep.workload import SweepWorkload

ON_RAY = ("compare", "overhead")
SIMULATED_KIND = NodeKind(MachineFingerprint("pretended", "f", 16, (), "22"))
EPISODE_SECONDS = 0.5
_OPENING_SECONDS = 1.0
_JOB_SECONDS = 60.0
_BUNDLE_SECONDS = 0.25
_MAX_ROWS = 50
_SWEEP_SETTING = SweepSetting(search_dataset=Dataset.MINI, dataset=Dataset.MINI)
_SCHEDULE = (
    "[n] -> { S0[i, j] -> [0, i + 2j, 0, j, 0]; S1[i, j] -> [1, i, 0, j, 0] } # " + "x" * 400
)


def greeting_reply() -> str:
    row = {
        "row": "greeting",
        "kind": SIMULATED_KIND.to_json(),
        "version": "",
        "sources": source_digest(),
    }
    more = {"system": "Linux", "planned_for": asdict(Machine()), "seconds": 0.001}
    return json.dumps([row | more])


def simulated_rows(job: Json, mean: float) -> Iterator[tuple[float, Json]]:
    """Yield when each row comes, and the row."""
    rng = np.random.default_rng([job["first"], job["last"], len(job["program"]["name"])])
    at = 0.0
    if not job["compared"]:
        timing = timing_json(Timing(OutcomeStatus.OK, 1e-3, 2e-3, (1e-3,), (2e-3,)))
        yield at, {"row": "reference", "dataset": "mini", "name": "isl", "timing": timing}
    at += _OPENING_SECONDS * min(1.0, mean / EPISODE_SECONDS)
    for index in range(job["first"], job["last"]):
        at += float(rng.gamma(2.0, mean / 2)) if mean else 0.0
        if at > _JOB_SECONDS:
            return
        samples = tuple(1e-3 + 1e-6 * k for k in range(15))
        timing = timing_json(Timing(OutcomeStatus.OK, 1e-3, 2e-3, samples, samples))
        row = {"row": "episode", "policy": "uniform", "index": index, "reason": ""}
        text = f"{_SCHEDULE}{job['program']['name']} {index}"
        yield at, row | {"schedule": text, "timing": timing}


@dataclass(slots=True)
class SimulatedTransport:
    """Workers without processes: what they send is there when its time has come."""

    workers: int
    mean: float
    _queue: list[tuple[float, int, int, str | None]] = field(default_factory=list)
    _messages: dict[int, list[str | None]] = field(default_factory=dict)
    _calls: int = 0
    _count: int = 0
    _of_jobs: dict[str, int] = field(default_factory=dict)
    _stopped: set[int] = field(default_factory=set)

    def sites(self) -> tuple[MeasuringSite, ...]:
        return tuple(MeasuringSite(f"node{number}", "host", 16) for number in range(self.workers))

    def hire(self, site: MeasuringSite) -> str:
        return site.name

    def call(self, worker: str, method: str, text: str) -> int:
        self._calls += 1
        now = time.monotonic()
        if method == "greet":
            self._send(now, greeting_reply())
        elif method == "stop":
            stopped = self._of_jobs[json.loads(text)["job"]]
            self._stopped.add(stopped)
            self._messages.setdefault(stopped, []).append(None)
        elif method == "work":
            job = json.loads(text)
            self._of_jobs[job["job"]] = self._calls
            now = self._work(now, job)
        self._send(now, None)
        return self._calls

    def _work(self, now: float, job: Json) -> float:
        bundle: list[Json] = []
        began = last = 0.0
        for at, row in simulated_rows(job, self.mean):
            if len(bundle) == _MAX_ROWS or (bundle and at - began > _BUNDLE_SECONDS):
                self._send(now + (began + _BUNDLE_SECONDS if self.mean else at), json.dumps(bundle))
                bundle, began = [], at
            bundle.append(row)
            last = at
        if bundle:
            self._send(now + last, json.dumps(bundle))
        return now + last

    def _send(self, at: float, text: str | None) -> None:
        self._count += 1
        heapq.heappush(self._queue, (at, self._count, self._calls, text))

    def ready(self, calls: Sequence[int], seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            while self._queue and self._queue[0][0] <= now:
                _, _, call, text = heapq.heappop(self._queue)
                if call in self._stopped:
                    continue
                self._messages.setdefault(call, []).append(text)
            if result := [call for call in calls if call in self._messages]:
                return result
            until = min(deadline, self._queue[0][0] if self._queue else deadline)
            if now >= deadline:
                return []
            time.sleep(max(0.0, until - now))

    def take(self, call: int) -> str | None:
        texts = self._messages[call]
        text = texts.pop(0)
        if not texts:
            del self._messages[call]
        return text

    def dismiss(self, worker: str) -> None:
        """Nothing is to be ended."""

    def leave(self, worker: str) -> None:
        """Nothing is to be ended."""

    def close(self) -> None:
        """Nothing is to be left."""


class SleepingNode:
    """A node of Ray that sleeps where others measure; many of them fit into one process."""

    async def greet(self, _: str = "") -> AsyncIterator[str]:
        yield greeting_reply()

    async def calibrate(self, _: str = "") -> AsyncIterator[str]:
        yield '[{"row": "clock", "seconds": 0.001}]'

    def __init__(self) -> None:
        self._stopped: set[str] = set()

    async def stop(self, text: str) -> AsyncIterator[str]:
        self._stopped.add(json.loads(text)["job"])
        yield "[]"

    async def work(self, text: str) -> AsyncIterator[str]:
        import asyncio

        began, bundle, first = time.monotonic(), [], 0.0
        job = json.loads(text)
        for at, row in simulated_rows(job, EPISODE_SECONDS):
            if job["job"] in self._stopped:
                return
            if bundle and at - first > _BUNDLE_SECONDS:
                await asyncio.sleep(max(0.0, began + first + _BUNDLE_SECONDS - time.monotonic()))
                yield json.dumps(bundle)
                bundle, first = [], at
            bundle.append(row)
        await asyncio.sleep(max(0.0, began + first - time.monotonic()))
        yield json.dumps(bundle)


class SharedActorTransport(RayTransport):
    """Several sites per actor, which is how many workers fit onto one machine."""

    def __init__(self, workers: int, actors: int) -> None:
        super().__init__("", SleepingNode)
        remote = self._ray.remote(self._actor)
        several = remote.options(num_cpus=0, max_concurrency=workers)
        self._actors = [several.remote() for _ in range(actors)]
        self._workers = workers

    def sites(self) -> tuple[MeasuringSite, ...]:
        return tuple(MeasuringSite(f"node{number}", "host", 16) for number in range(self._workers))

    def hire(self, site: MeasuringSite) -> Any:
        return self._actors[int(site.name[4:]) % len(self._actors)]

    def call(self, worker: Any, method: str, text: str) -> Any:
        return getattr(worker, method).options(num_returns="streaming").remote(text)

    def dismiss(self, worker: Any) -> None:
        """It is others' as well."""


def simulate_sweep(transport: Any, workers: int, seconds: float, mean: float) -> dict[str, float]:
    """Sweep for so long; return rows, seconds, and what a driver needs for itself."""
    kernels = ("gemm", "mvt", "atax", "bicg", "gesummv", "syrk", "syr2k", "trmm")
    orders = SweepWorkload(kernels, ("uniform",), 1_000_000, 0)
    with tempfile.TemporaryDirectory() as folder, Fleet(transport) as fleet:
        fleet.assemble()
        with create_or_open(Path(folder), _SWEEP_SETTING) as store:
            cpu, began = time.process_time(), time.monotonic()
            count = "SELECT count(*) FROM episodes"
            end: dict[str, float] = {}

            def is_stopped() -> bool:
                if not end and time.monotonic() - began > seconds:
                    (end["rows"],) = store.connection.execute(count).fetchone()
                    end["at"], end["cpu"] = time.monotonic() - began, time.process_time() - cpu
                return bool(end)

            RaySweep(store, _SWEEP_SETTING, orders, fleet, SIMULATED_KIND).run(
                is_stopped, lambda _: None
            )
            drained = time.monotonic() - began - end["at"]
    rows, took, used = end["rows"], end["at"], end["cpu"]
    return {
        "workers": workers,
        "rows": rows,
        "seconds": took,
        "rows_per_second": rows / took,
        "efficiency": rows * mean / (workers * took),
        "driver_cpu": used / took,
        "rows_per_cpu_second": rows / used,
        "drained": drained,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("scale", "saturate", "ray", "draw", *ON_RAY))
    parser.add_argument(
        "files", nargs="*", type=Path, help="draw: lines and a picture; compare, overhead: a folder"
    )
    parser.add_argument("--workers", default="1,4,16,64,128,256")
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--time-limit", type=parse_duration, default="20s", metavar="DURATION")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_intermixed_args()
    needed, given = {"draw": 2, **dict.fromkeys(ON_RAY, 1)}.get(options.what, 0), options.files
    if len(given) != needed:
        parser.error(f"{options.what}: expected {needed} files or folders, found {len(given)}")
    kernels = tuple(filter(None, options.kernels.split(",")))
    counts = [int(number) for number in options.workers.split(",")]
    match options.what:
        case "scale":
            for count in counts:
                figures = simulate_sweep(
                    SimulatedTransport(count, EPISODE_SECONDS),
                    count,
                    options.time_limit,
                    EPISODE_SECONDS,
                )
                print(json.dumps({"way": "pretended", **figures}), flush=True)
        case "saturate":
            figures = simulate_sweep(SimulatedTransport(32, 0.0), 32, options.time_limit, 0.0)
            print(json.dumps({"way": "saturated", **figures}), flush=True)
        case "ray":
            for count in counts:
                transport = SharedActorTransport(count, options.actors)
                figures = simulate_sweep(transport, count, options.time_limit, EPISODE_SECONDS)
                print(json.dumps({"way": "ray", **figures}), flush=True)
        case "draw":
            draw(*options.files)
        case "compare":
            return print_comparison(options.files[0], kernels, options.budget or 8)
        case "overhead":
            measure_overhead(options.files[0], kernels, options.budget or 60, options.pairs)
    return 0


def draw(source: Path, target: Path) -> None:
    """Draw efficiency over workers from the lines of `scale`, and of `ray` if there are some."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    for name, marker in (("pretended", "o"), ("ray", "s")):
        some = [line for line in lines if line["way"] == name]
        if some:
            label = {"pretended": "without Ray's messages", "ray": "with Ray's messages"}[name]
            workers = [row["workers"] for row in some]
            axes.plot(workers, [row["efficiency"] for row in some], marker + "-", label=label)
    axes.axhline(0.9, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="workers", ylabel="efficiency", ylim=(0, 1.05))
    axes.legend()
    figure.savefig(target, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
