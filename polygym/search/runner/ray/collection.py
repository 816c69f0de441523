"""A collection on a fleet: visits on many nodes, one corpus, which the driver writes.

A visit is made by one node from its beginning to its end, since its candidates follow from the
outcomes before. Clocks of nodes go into the corpus as those of one machine do.

The jobs of a collection: visits, of which every kind of node has a series of its own.

A corpus keeps every row by kind of machine, so nodes of several kinds may collect at once. Which
program a visit is of follows from the seed and its number; so two kinds that make the same visit
measure the same program, each under its own key. Two frequency policies of one machine have one
key in a corpus, so only one of them may work.

Collection tasks of a node: one visit, whose rows go to the driver as they come.

It is done by :meth:`polygym.search.corpus.collector.Collection.visit`, with a corpus that keeps
nothing: it knows what the driver knows of the visit, and sends what is added.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from os import sched_getaffinity
from pathlib import Path

from polygym.autoschedule.program_recipes import recipe_from_json
from polygym.errors import InputError
from polygym.mapping.machine import Machine, this_machine
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import (
    COMPILE_SECONDS,
    Collection,
    CollectionProgress,
    CollectPlan,
    Sampling,
)
from polygym.search.corpus.program_choice import ProgramChoice
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow, VisitKey
from polygym.search.corpus.store import Corpus
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, ClusterJob, JobSupply, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, this_node_kind
from polygym.search.runner.ray.fleet.programs import ProgramTexts


@dataclass(slots=True, kw_only=True)
class RayCollection(Collection):
    """A collection at work on a fleet; ``beat`` is called again and again meanwhile."""

    fleet: Fleet
    is_stopped: Callable[[], bool] = lambda: False
    beat: Callable[[], None] = lambda: None
    _clocks: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """Collect until there are enough rows, the time is up, or it is stopped.

        Raises:
            InputError: there are no nodes, nothing more to be measured, or the corpus is damaged.
        """
        self.corpus.expect_whole()
        self.rows = self.corpus.count()
        self.fleet.assemble(self.is_stopped)
        self.fleet.run(VisitSupply(self), self.is_stopped, self._look)
        self.interrupted = self.is_stopped()

    def _look(self) -> None:
        """Write down how long the clock program took on nodes whose machine is in the corpus."""
        self.beat()
        for member in self.fleet.members.values():
            if member.greeting is None or self._clocks.get(member.name) == member.calibrated_at:
                continue
            key = member.greeting.kind.machine.key
            calibration = member.calibration
            if calibration is not None and key in self.corpus.machines():
                self._clocks[member.name] = member.calibrated_at
                seconds = calibration.last or calibration.first
                self.corpus.add_clock(key, time.time(), seconds)


@dataclass(slots=True)
class ActiveVisit:
    """A visit that a node is at: its place in the corpus, once it is known what it is of."""

    kind: NodeKind
    number: int
    visit: CaseVisit | None = None
    place: int = 0
    known: set[tuple[str, str]] = field(default_factory=set)
    best: float = 0.0
    added: int = 0


class VisitSupply(JobSupply[ActiveVisit]):
    """The visits of a collection."""

    def __init__(self, collection: Collection) -> None:
        """Begin where the corpus stands."""
        super().__init__()
        self._collection = collection
        self._corpus, self._plan = collection.corpus, collection.plan
        self._governors: dict[str, str] = {}
        self._begun: dict[str, set[int]] = {}
        self._barren = 0

    @property
    def is_done(self) -> bool:
        """Whether there are rows enough or time is up; what is under way may be stopped."""
        return self._collection.is_over

    def accepts(self, kind: NodeKind) -> str:
        """Refuse another frequency policy of a machine that is at work."""
        before = self._governors.setdefault(kind.machine.key, kind.governor)
        if before == kind.governor:
            return ""
        return f"expected the frequency policy {before!r} of its like, found {kind.governor!r}"

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob:
        """Return the next visit for a kind of node."""
        key, plan = kind.machine.key, self._plan
        if key not in self._begun:
            self._begun[key] = set(self._corpus.finished(key, plan.threads, plan.visit_seed))
        number = next(candidate for candidate in range(10**9) if candidate not in self._begun[key])
        self._begun[key].add(number)
        place = self._corpus.place_of((key, plan.threads, plan.visit_seed, number))
        known = () if place is None else tuple(self._corpus.known_rows(place).values())
        document = {
            "task": "visit",
            "names": [self._sent.program(worker, name) for name in plan.choice.names],
            "work": list(plan.choice.operations),
            "function": plan.choice.function,
            "each": plan.candidates,
            "threads": plan.threads,
            "seed": plan.seed,
            "sampling": plan.sampling.value,
            "recipe": plan.recipe.to_json(),
            "storage_limit": plan.storage_limit,
            "visit": number,
            "known": list(map(row_json, known)),
        }
        active = ActiveVisit(kind, number, known={(row.schedule, row.mapping) for row in known})
        return self._new_job(f"visit {number} of {key}", document, active)

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Write rows down, until there are enough."""
        at = self._under_way[job]
        for row in rows:
            match row["row"]:
                case "visit":
                    self._begin(at, row)
                case "candidate" if not self.is_done:
                    self._add(at, row)
                case "finished" if at.visit is not None and not self.is_done:
                    self._corpus.finish(at.place, float(row["background_load"]))
                    self._collection.visits += 1
                case "skipped":
                    self._collection.skipped.append(str(row["reason"]))
                case kind if kind == FAILED_ROW:
                    self._collection.skipped.append(f"visit {at.number}: {row['reason']}")

    def job_ended(self, job: ClusterJob) -> None:
        """Take note that a visit is over.

        Raises:
            InputError: one visit after another had nothing new.
        """
        at = self._under_way.pop(job)
        self._barren = 0 if at.added else self._barren + 1
        if not self.is_done:
            self._collection.expect_rows(self._barren)

    def job_lost(self, job: ClusterJob) -> None:
        """Take a visit back; another node of its kind goes on in its middle."""
        at = self._under_way.pop(job)
        self._begun[at.kind.machine.key].discard(at.number)

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Leave a visit out."""
        at = self._under_way.pop(job)
        self._collection.skipped.append(f"visit {at.number}: {reason}")

    def _begin(self, at: ActiveVisit, row: Json) -> None:
        key, plan = at.kind.machine.key, self._plan
        self._corpus.add_machine(at.kind.machine, Machine(**row["planned_for"]))
        parameters = tuple((str(name), int(value)) for name, value in row["parameters"])
        case = CorpusCase.from_name(str(row["program"]), parameters)
        visit = plan.new_visit(at.number, case, row["text"], key, float(row["moment"]))
        place = self._collection.begin(visit)
        if place is not None:
            at.visit, at.place = visit, place
            at.known |= set(self._corpus.known_rows(place))

    def _add(self, at: ActiveVisit, row: Json) -> None:
        corpus_row, collection = row_from_json(row), self._collection
        key = corpus_row.schedule, corpus_row.mapping
        if at.visit is None or key in at.known:
            return
        at.known.add(key)
        collection.add_row(at.place, corpus_row)
        at.added += 1
        at.best = max(at.best, corpus_row.speedup)
        collection.on_progress(CollectionProgress(at.visit, corpus_row, collection.rows, at.best))


# A visit ends by itself, or is stopped.
_UNLIMITED = 10**9


def visit_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Make a visit, and say what was left out."""
    names = tuple(_local_program(texts, name) for name in job["names"])
    least, most = job["work"]
    plan = CollectPlan(
        ProgramChoice(names, (least, most), job["function"]),
        _UNLIMITED,
        job["each"],
        job["threads"],
        job["seed"],
        None,
        Sampling(job["sampling"]),
        recipe_from_json(job["recipe"]),
        job["storage_limit"],
    )

    @contextmanager
    def waiting() -> Iterator[None]:
        if is_stopped():
            raise KeyboardInterrupt
        yield

    known = tuple(row_from_json(row) for row in job["known"])
    with ForwardingCorpus(emit, known) as corpus:
        collection = Collection(corpus, plan, waiting=waiting)
        with closing(CompilerPool(COMPILE_SECONDS, sorted(sched_getaffinity(0)))) as compilers:
            try:
                collection.visit(job["visit"], this_node_kind().machine.key, compilers)
            except KeyboardInterrupt:
                return
        for reason in collection.skipped:
            emit({"row": "skipped", "reason": reason})


def _local_program(texts: ProgramTexts, program: Json) -> str:
    """Return a program's name here; of one that could not be sent only the visits of it fail."""
    try:
        return texts.resolve(program)
    except InputError:
        return str(program["name"])


class ForwardingCorpus(Corpus):
    """A corpus that keeps nothing, and sends what a visit adds to it."""

    def __init__(self, emit: Callable[[Json], None], known: tuple[CorpusRow, ...]) -> None:
        """Know some rows of the visit's case."""
        super().__init__(Path(":memory:"), sqlite3.connect(":memory:"))
        self._emit = emit
        self._known = {(row.schedule, row.mapping): row for row in known}
        self._sent = 0

    def visit_contents(self, key: VisitKey) -> tuple[CorpusCase, str] | None:
        """Return nothing: the driver says what does not fit."""
        return None

    def begin(self, visit: CaseVisit) -> int:
        """Send what the visit is of, and for what machine loops are planned here."""
        self._emit(
            {
                "row": "visit",
                "program": visit.case.name,
                "parameters": [list(parameter) for parameter in visit.case.parameters],
                "text": visit.text,
                "moment": visit.moment,
                "planned_for": asdict(this_machine()),
            }
        )
        return 0

    def known_rows(self, visit: int) -> dict[tuple[str, str], CorpusRow]:
        """Return what the driver knows of the case."""
        return self._known

    def add(self, visit: int, row: CorpusRow) -> bool:
        """Send a row; here nobody else has one."""
        self._emit({"row": "candidate", **row_json(row)})
        self._sent += 1
        return True

    def count(self) -> int:
        """Return how many rows were sent."""
        return self._sent

    def finish(self, visit: int, background_load: float) -> None:
        """Send that the visit is at its end."""
        self._emit({"row": "finished", "background_load": background_load})


def row_json(row: CorpusRow) -> Json:
    """Return a row as plain data; :func:`row_from_json` reads it back."""
    return {**asdict(row), "status": row.status.value}


def row_from_json(data: Json) -> CorpusRow:
    """Return the row that :func:`row_json` wrote."""
    values = {entry.name: data[entry.name] for entry in fields(CorpusRow)}
    return CorpusRow(**{**values, "status": OutcomeStatus(values["status"])})
