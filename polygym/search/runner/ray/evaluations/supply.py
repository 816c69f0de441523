"""The jobs of a bench: batches of choices of one program, for nodes of one kind."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import inf

from polygym.mdp.problems.loading import ProgramSource
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.runner.ray.evaluations.encoding import options_json, source_json
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, ClusterJob, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind, SingleKindSupply
from polygym.search.runner.ray.fleet.program_texts import SentTexts


def measurement_document(
    sent: SentTexts,
    worker: str,
    source: ProgramSource,
    options: EvaluationOptions,
    choices: Sequence[MappedSchedule],
) -> Json:
    """Return choices of a program, and how they are to be measured, as data for a worker."""
    return {
        "program": sent.program(worker, source.target),
        "source": source_json(source),
        "options": options_json(options),
        "choices": [[str(schedule), str(mapping)] for schedule, mapping in choices],
    }


@dataclass(slots=True)
class BatchSupply(SingleKindSupply):
    """Some choices, in batches; ``answers`` has what came of each, by its place.

    ``best_so_far`` and ``patiently`` are as a bench has them. ``rounds`` says that all of them run
    in turn on one node, None that each is measured by itself. What nobody could measure is said in
    ``failures``.
    """

    source: ProgramSource
    options: EvaluationOptions
    kind: NodeKind
    sent: SentTexts
    choices: Sequence[MappedSchedule]
    best_so_far: float = inf
    patiently: bool = False
    rounds: int | None = None
    size: int = 1
    answers: dict[int, Json] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    baseline: float = 0.0
    _waiting: list[list[int]] = field(init=False)
    _under_way: dict[ClusterJob, list[int]] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        """Cut the batches."""
        places = list(range(len(self.choices)))
        size = len(places) if self.rounds is not None else self.size
        self._waiting = [places[k : k + size] for k in range(0, len(places), max(1, size))]

    @property
    def is_done(self) -> bool:
        """Whether all batches are answered, or cannot be."""
        return not self._waiting and not self._under_way

    def next(self, worker: str, kind: NodeKind, workers: int) -> ClusterJob | None:
        """Return the next batch."""
        if not self._waiting:
            return None
        places = self._waiting.pop(0)
        self._count += 1
        job = ClusterJob(self._count, self.source.target, self._document(worker, places))
        self._under_way[job] = places
        return job

    def _document(self, worker: str, places: list[int]) -> Json:
        what: Json = (
            {
                "task": "measure",
                "places": places,
                "best_so_far": None if self.best_so_far == inf else self.best_so_far,
                "patiently": self.patiently,
            }
            if self.rounds is None
            else {"task": "together", "rounds": self.rounds}
        )
        choices = [self.choices[place] for place in places]
        return what | measurement_document(self.sent, worker, self.source, self.options, choices)

    def add_rows(self, job: ClusterJob, rows: Sequence[Json]) -> None:
        """Keep answers; of two for one place the first."""
        for row in rows:
            match row["row"]:
                case "evaluation":
                    self.answers.setdefault(int(row["place"]), row["evaluation"])
                case "together":
                    self.answers.update(enumerate(row["evaluations"]))
                case "baseline":
                    self.baseline = float(row["seconds"])
                case kind if kind == FAILED_ROW:
                    self.failures.append(str(row["reason"]))

    def transaction(self) -> AbstractContextManager[None]:
        """Nothing is written in one go."""
        return nullcontext()

    def job_ended(self, job: ClusterJob) -> None:
        """Take note that a batch is over; what it left, after a failure say, is left."""
        del self._under_way[job]

    def job_lost(self, job: ClusterJob) -> None:
        """Take back what a batch has left."""
        places = [one for one in self._under_way.pop(job) if one not in self.answers]
        if places:
            self._waiting.insert(0, places)

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Leave a batch at which nodes die."""
        del self._under_way[job]
        self.failures.append(reason)
