"""Evaluation tasks of a node: choices of one program, measured one by one or in turn.

The program of the last job stays open, so that the original order is not measured anew each time.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf

from polygym.mapping.mapping import parse_mapping
from polygym.poly.schedule import parse_schedule
from polygym.programs import Program
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.runner.local import LocalRunner, open_local_runner
from polygym.search.runner.ray.evaluations.encoding import options_from_json, source_from_json
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.program_texts import ProgramTexts


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
    return [
        (parse_schedule(schedule, program.scop), parse_mapping(mapping))
        for schedule, mapping in job["choices"]
    ]
