"""What a node does for a bench: measure choices of one program, one by one or in turn.

The program of the last job stays open, so that the original order is not measured anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf

from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.schedule import parse
from polygym.measure.evaluation.evaluator import Choice
from polygym.programs import Program
from polygym.search.cluster.bench_data import options_from_json, source_from_json
from polygym.search.cluster.jobs import Json
from polygym.search.cluster.texts import Texts
from polygym.search.tune.bench import LocalBench, open_here


@dataclass(slots=True)
class Open:
    """The program that is open on this node."""

    key: str = ""
    program: Program | None = None
    bench: LocalBench | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    def open(self, job: Json, texts: Texts) -> tuple[Program, LocalBench]:
        """Return the program and the bench of a job."""
        key = repr((job["program"]["name"], job["program"].get("digest"), job["source"]))
        key += repr(job["options"])
        if self.program is None or self.bench is None or key != self.key:
            self.close()
            program = source_from_json(texts.place(job["program"]), job["source"]).load()
            options = options_from_json(job["options"])
            bench = self.stack.enter_context(open_here(program, options, None))
            self.key, self.program, self.bench = key, program, bench
        return self.program, self.bench

    def close(self) -> None:
        """Close it."""
        self.key, self.program, self.bench = "", None, None
        self.stack.close()


_open = Open()


def measure_task(
    job: Json, texts: Texts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
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
        found = bench.first(choice) if job["patiently"] else bench.measure(choice, best)
        emit({"row": "evaluation", "place": place, "evaluation": found.to_json()})


def together_task(
    job: Json, texts: Texts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Measure choices in turn with the original order."""
    program, bench = _open.open(job, texts)
    found = bench.together(_choices(job, program), int(job["rounds"]))
    emit({"row": "together", "evaluations": [one.to_json() for one in found]})


def _choices(job: Json, program: Program) -> list[Choice]:
    return [
        (parse(schedule, program.scop), parse_mapping(mapping))
        for schedule, mapping in job["choices"]
    ]
