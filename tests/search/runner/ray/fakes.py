"""A transport without processes: workers that answer from scripts, and die when they are told to.

Time does not pass by itself: a call has something whenever it is looked at, unless its worker is
silent.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from polygym.mapping import machine as planned
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.search.runner.ray.fleet.jobs import ClusterJob, JobSupply, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, source_digest
from polygym.search.runner.ray.fleet.transport import MeasuringSite, WorkerLostError

Answer = Callable[[Json], Iterator[list[Json]]]


def kind(name: str = "one", governor: str = "") -> NodeKind:
    return NodeKind(MachineFingerprint(name, "f", 2, (), "22"), governor)


def three_rows(job: Json) -> Iterator[list[Json]]:
    """Answer with three rows about what was asked."""
    for number in range(3):
        yield [{"row": "result", "of": job["of"], "number": number}]


@dataclass
class FakeMachine:
    """A node: what it is, how it answers, when it dies: after so many texts that were taken."""

    kind: NodeKind = field(default_factory=kind)
    answer: Answer = three_rows
    dies_after: int | None = None
    clocks: list[float] = field(default_factory=lambda: [1.0])
    sources: str = field(default_factory=source_digest)
    is_silent: bool = False
    niceness: int = 0
    stopped: set[str] = field(default_factory=set)
    jobs: list[Json] = field(default_factory=list)

    def clock(self) -> float:
        return self.clocks.pop(0) if len(self.clocks) > 1 else self.clocks[0]

    def texts(self, method: str, text: str) -> Iterator[str]:
        match method:
            case "greet":
                greeting = {"row": "greeting", "kind": self.kind.to_json(), "version": "1"}
                more: Json = {"sources": self.sources, "system": "Linux", "seconds": self.clock()}
                more["niceness"] = self.niceness
                more["planned_for"] = asdict(planned.Machine(vector_bits=128))
                yield json.dumps([greeting | more])
            case "calibrate":
                yield json.dumps([{"row": "clock", "seconds": self.clock()}])
            case "stop":
                self.stopped.add(json.loads(text)["job"])
                yield "[]"
            case "work":
                job = json.loads(text)
                self.jobs.append(job)
                for rows in self.answer(job):
                    if job["job"] in self.stopped:
                        return
                    yield json.dumps(rows)


class FakeTransport:
    """A cluster of pretended machines, by name."""

    def __init__(self, machines: dict[str, FakeMachine]) -> None:
        self.machines = machines
        self.hired: list[str] = []
        self.dismissed: list[str] = []
        self.left: list[str] = []
        self.vanishing: set[str] = set()
        self.closed = False
        self._calls: dict[int, tuple[str, Iterator[str]]] = {}
        self._next = 0

    def sites(self) -> tuple[MeasuringSite, ...]:
        return tuple(MeasuringSite(name, "host", 2) for name in self.machines)

    def hire(self, site: MeasuringSite) -> str:
        if site.name in self.vanishing:
            self.vanishing.remove(site.name)
            raise WorkerLostError("it came and went")
        self.hired.append(site.name)
        return site.name

    def call(self, worker: str, method: str, text: str) -> int:
        self._next += 1
        machine = self.machines.get(worker)
        texts = iter(()) if machine is None else machine.texts(method, text)
        if method == "stop":
            texts = iter(list(texts))  # a call is under way whether or not anybody listens
        self._calls[self._next] = worker, texts
        return self._next

    def ready(self, calls: Sequence[int], seconds: float) -> list[int]:
        return [call for call in calls if not self._is_silent(call)]

    def _is_silent(self, call: int) -> bool:
        machine = self.machines.get(self._calls[call][0])
        return machine is not None and machine.is_silent

    def take(self, call: int) -> str | None:
        name, texts = self._calls[call]
        machine = self.machines.get(name)
        if machine is None:
            raise WorkerLostError("it left")
        if machine.dies_after == 0:
            del self.machines[name]
            raise WorkerLostError("it died")
        if machine.dies_after is not None:
            machine.dies_after -= 1
        return next(texts, None)

    def dismiss(self, worker: str) -> None:
        self.dismissed.append(worker)

    def leave(self, worker: str) -> None:
        self.left.append(worker)

    def close(self) -> None:
        self.closed = True


class FakeSupply(JobSupply[None]):
    """A supply of jobs with three rows each."""

    def __init__(self, count: int, refused: str = "") -> None:
        super().__init__()
        self.waiting = [ClusterJob(number, f"q{number}", {"of": number}) for number in range(count)]
        self.under_way: list[ClusterJob] = []
        self.rows: list[tuple[int, int]] = []
        self.failures: dict[str, str] = {}
        self.by: dict[int, list[str]] = {}
        self.refused = refused

    @property
    def is_done(self) -> bool:
        return not self.waiting and not self.under_way

    def accepts(self, kind: NodeKind) -> str:
        return "not here" if kind.machine.processor == self.refused else ""

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
        if not self.waiting:
            return None
        job = self.waiting.pop(0)
        self.under_way.append(job)
        self.by.setdefault(job.number, []).append(worker)
        return job

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        self.rows += [(row["of"], row["number"]) for row in rows if row["row"] == "result"]

    def job_ended(self, job: ClusterJob) -> None:
        self.under_way.remove(job)

    def job_lost(self, job: ClusterJob) -> None:
        self.under_way.remove(job)
        self.waiting.insert(0, job)

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        self.under_way.remove(job)
        self.failures[job.about] = reason
