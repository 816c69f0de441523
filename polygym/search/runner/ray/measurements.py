"""Measurements of choices of one program: their jobs, for nodes of one kind, and the nodes' tasks.

Choices are measured one by one or in turn. The program of the last job stays open on a node, so
that the original order is not measured anew each time.

Evaluation tasks of a node: choices of one program, measured one by one or in turn.

The program of the last job stays open, so that the original order is not measured anew each time.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf

from polybench import Dataset
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import parse_schedule
from polygym.poly.transform.splitting.conditions import parse_splitting
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs import Program
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.conditions import evaluation_options_from_json, evaluation_options_json
from polygym.search.runner.local import LocalRunner, open_local_runner
from polygym.search.runner.ray.fleet.jobs import FAILED_ROW, ClusterJob, JobSupply, Json
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.fleet.programs import ProgramTexts, SentTexts


def source_json(source: ProgramSource) -> Json:
    """Return all of a source but its target, which may be another path on a node."""
    return {
        "function": source.function,
        "dataset": str(source.dataset),
        "parameters": [list(parameter) for parameter in source.parameters],
        "splitting": str(source.splitting),
        "storage": str(source.storage),
    }


def source_from_json(target: str, data: Json) -> ProgramSource:
    """Return the source that :func:`source_json` wrote, of a target."""
    return ProgramSource(
        target,
        data["function"],
        Dataset.parse(data["dataset"]),
        tuple((str(name), int(value)) for name, value in data["parameters"]),
        parse_splitting(data["splitting"]),
        parse_storage(data["storage"]),
    )


def options_json(options: EvaluationOptions) -> Json:
    """Return how schedules are judged."""
    return {**evaluation_options_json(options), "compile_memory": options.compile_memory}


def options_from_json(data: Json) -> EvaluationOptions:
    """Return what :func:`options_json` wrote."""
    return replace(evaluation_options_from_json(data), compile_memory=data["compile_memory"])


@dataclass(slots=True)
class OpenProgram:
    """The program that is open on this node."""

    key: str = ""
    program: Program | None = None
    bench: LocalRunner | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    def open(self, job: Json, texts: ProgramTexts) -> tuple[Program, LocalRunner]:
        """Return the program and the bench of a job."""
        key = repr((job["program"]["name"], job["program"].get("digest"), job["source"]))
        key += repr(job["options"])
        if self.program is None or self.bench is None or key != self.key:
            self.close()
            program = source_from_json(texts.resolve(job["program"]), job["source"]).load()
            options = options_from_json(job["options"])
            bench = self.stack.enter_context(open_local_runner(program, options, None))
            self.key, self.program, self.bench = key, program, bench
        return self.program, self.bench

    def close(self) -> None:
        """Close it."""
        self.key, self.program, self.bench = "", None, None
        self.stack.close()


_open = OpenProgram()


def measure_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Generate the code of choices, then measure one after the other."""
    program, bench = _open.open(job, texts)
    choices = _choices(job, program)
    best = inf if job["best_so_far"] is None else float(job["best_so_far"])
    bench.prepare(choices, best, is_stopped)
    emit({"row": "baseline", "seconds": bench.baseline_seconds})
    for place, choice in zip(job["places"], choices, strict=True):
        if is_stopped():
            return
        evaluation = bench.measure(choice, best, retries=job["patiently"])
        emit({"row": "evaluation", "place": place, "evaluation": evaluation.to_json()})


def together_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Measure choices in turn with the original order."""
    program, bench = _open.open(job, texts)
    evaluations = bench.measure_together(_choices(job, program), int(job["rounds"]))
    emit({"row": "together", "evaluations": [evaluation.to_json() for evaluation in evaluations]})


def _choices(job: Json, program: Program) -> list[MappedSchedule]:
    scop = program.scop
    return [(parse_schedule(text, scop), parse_mapping(how)) for text, how in job["choices"]]


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


class BatchSupply(JobSupply[list[int]]):
    """Some choices, in batches; ``answers`` has what came of each, by its place.

    ``best_so_far`` and ``patiently`` are as a runner has them. ``rounds`` says that all of them run
    in turn on one node, None that each is measured by itself. What nobody could measure is said in
    ``failures``.
    """

    def __init__(
        self,
        source: ProgramSource,
        options: EvaluationOptions,
        kind: NodeKind,
        sent: SentTexts,
        choices: Sequence[MappedSchedule],
        best_so_far: float = inf,
        *,
        patiently: bool = False,
        rounds: int | None = None,
        size: int = 1,
    ) -> None:
        """Cut the batches."""
        super().__init__(sent)
        self.kind, self._source, self._options, self._choices = kind, source, options, choices
        self.answers: dict[int, Json] = {}
        self.failures: list[str] = []
        self.baseline = 0.0
        best = None if best_so_far == inf else best_so_far
        self._task: Json = {"task": "measure", "best_so_far": best, "patiently": patiently}
        places = list(range(len(choices)))
        if rounds is not None:
            self._task, size = {"task": "together", "rounds": rounds}, len(places)
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
        choices = [self._choices[place] for place in places]
        about = measurement_document(self._sent, worker, self._source, self._options, choices)
        document = {**self._task, "places": places, **about}
        return self._new_job(self._source.target, document, places)

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

    def job_ended(self, job: ClusterJob) -> None:
        """Take note that a batch is over; what it left, after a failure say, is left."""
        del self._under_way[job]

    def job_lost(self, job: ClusterJob) -> None:
        """Take back what a batch has left."""
        places = [place for place in self._under_way.pop(job) if place not in self.answers]
        if places:
            self._waiting.insert(0, places)

    def job_abandoned(self, job: ClusterJob, reason: str) -> None:
        """Leave a batch at which nodes die."""
        del self._under_way[job]
        self.failures.append(reason)
