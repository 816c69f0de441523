"""The jobs of a collection: visits, of which every kind of node has a series of its own.

A corpus keeps every row by kind of machine, so nodes of several kinds may collect at once. Which
program a visit is of follows from the seed and its number; so two kinds that make the same visit
measure the same program, each under its own key. Two frequency policies of one machine have one
key in a corpus, so only one of them may work.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from polygym.mapping.machine import Machine
from polygym.search.corpus.collector import Collection, CollectionProgress
from polygym.search.corpus.rows import CaseVisit, CorpusCase
from polygym.search.runner.ray.collection.tasks import row_from_json, row_json
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, ClusterJob, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.fleet.program_texts import SentTexts


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


class VisitSupply:
    """The visits of a collection."""

    def __init__(self, collection: Collection) -> None:
        """Begin where the corpus stands."""
        self._collection = collection
        self._corpus, self._plan = collection.corpus, collection.plan
        self._sent = SentTexts()
        self._governors: dict[str, str] = {}
        self._begun: dict[str, set[int]] = {}
        self._under_way: dict[ClusterJob, ActiveVisit] = {}
        self._barren = 0
        self._count = 0

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
        number = next(one for one in range(10**9) if one not in self._begun[key])
        self._begun[key].add(number)
        place = self._corpus.place_of((key, plan.threads, plan.visit_seed, number))
        known = () if place is None else tuple(self._corpus.known_rows(place).values())
        self._count += 1
        document = {
            "task": "visit",
            "names": [self._sent.program(worker, name) for name in plan.choice.names],
            "work": list(plan.choice.operations),
            "function": plan.choice.function,
            "each": plan.candidates,
            "threads": plan.threads,
            "seed": plan.seed,
            "near": plan.near,
            "recipe": plan.recipe.to_json(),
            "homes": plan.storage_limit,
            "visit": number,
            "known": [row_json(corpus_row) for corpus_row in known],
        }
        job = ClusterJob(self._count, f"visit {number} of {key}", document)
        self._under_way[job] = ActiveVisit(
            kind, number, known={(row.schedule, row.mapping) for row in known}
        )
        return job

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Write rows down, until there are enough."""
        for row in rows:
            self._keep(self._under_way[job], row)

    def _keep(self, at: ActiveVisit, row: Json) -> None:
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
            case _:
                pass

    def transaction(self) -> AbstractContextManager[None]:
        """Nothing is written in one go."""
        return nullcontext()

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
        visit = CaseVisit(
            case,
            at.number,
            plan.visit_seed,
            plan.threads,
            key,
            float(row["moment"]),
            text=row["text"],
        )
        before = self._corpus.visit_contents(visit.key)
        if before not in (None, (visit.case, visit.text)):
            reason = f"visit {at.number}: it was begun with another program or text"
            self._collection.skipped.append(reason)
            return
        at.visit, at.place = visit, self._corpus.begin(visit)
        at.known |= set(self._corpus.known_rows(at.place))

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
