"""Outcomes without a clock: the speedup of a schedule is a function of its text."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.folder import SearchFolder, open_search
from polygym.search.loop import NO_HOOKS, SearchHooks, SearchLoop
from polygym.search.plan import SearchPlan
from polygym.search.result import SearchResult
from polygym.search.settings import SearchSetting
from polygym.search.start import SearchStart
from polygym.search.strategies.candidates import Strategy


def fake_evaluation(schedule: Schedule, mapping: Mapping = DEFAULT_MAPPING) -> Evaluation:
    """Return an outcome for a schedule: every fifth one times out, the others have a speedup."""
    number = int.from_bytes(hashlib.sha256(str(schedule).encode()).digest()[:4], "big")
    if number % 5 == 0:
        return Evaluation(
            schedule=schedule,
            status=OutcomeStatus.TIMEOUT,
            speedup=0.0,
            seconds=0.0,
            baseline_seconds=1.0,
            samples=(),
            baseline_samples=(1.0,),
            error_type="Timeout",
            error_details="pretended",
            mapping=mapping,
        )
    speedup = (number % 1000 + 1) / 250
    return Evaluation(
        schedule=schedule,
        status=OutcomeStatus.OK,
        speedup=speedup,
        seconds=1 / speedup,
        baseline_seconds=1.0,
        samples=(1 / speedup,),
        baseline_samples=(1.0,),
        error_type="",
        error_details="",
        mapping=mapping,
    )


def setting(target: str = "mvt", policy: str = "bias_coeff_0", seed: int = 0) -> SearchSetting:
    """Return a search of a small kernel."""
    source = ProgramSource(target, None, Dataset.MINI, ())
    return SearchSetting(source=source, plan=SearchPlan(100, 5, policy, seed))


@dataclass
class FakeRunner:
    """Measures by the text of a schedule; together, everything is slower, isl's schedule least.

    The first measurement is number 0; number ``fails_at`` raises ``failure``.
    """

    isl_speedup: float | None = None
    fails_at: int = -1
    failure: BaseException | None = None
    evaluate: Callable[[Schedule, Mapping], Evaluation] = fake_evaluation
    baseline_seconds: float = 1.0
    asked: list[MappedSchedule] = field(default_factory=list)
    prepared: list[int] = field(default_factory=list)
    together: list[tuple[MappedSchedule, ...]] = field(default_factory=list)

    def prepare(self, choices: Sequence[MappedSchedule], *_: Any) -> None:
        self.prepared.append(len(choices))

    def is_ready(self, _: MappedSchedule) -> bool:
        return True

    def measure(
        self, choice: MappedSchedule, best_so_far: float | None, *, retries: bool = False
    ) -> Evaluation:
        self.asked.append(choice)
        if len(self.asked) - 1 == self.fails_at:
            assert self.failure is not None
            raise self.failure
        evaluation = self.evaluate(*choice)
        scop = setting().subject.program.scop
        if self.isl_speedup is not None and choice == (isl_schedule(scop), DEFAULT_MAPPING):
            speedup = self.isl_speedup
            return replace(
                evaluation, status=OutcomeStatus.OK, speedup=speedup, seconds=1 / speedup
            )
        return evaluation

    def measure_together(
        self, choices: Sequence[MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        self.together.append(tuple(choices))
        measured = [self.measure(choice, None) for choice in choices]
        return tuple(
            replace(evaluation, speedup=evaluation.speedup / 2, seconds=2 * evaluation.seconds)
            for evaluation in measured
        )


def begin_fake(folder: Path, of: SearchSetting | None = None) -> SearchFolder:
    """Return a search that has just begun."""
    return open_search(of or setting(), folder, False, emit_c=as_c)


def resume_fake(folder: Path, of: SearchSetting | None = None) -> SearchFolder:
    """Return a search that goes on."""
    return open_search(of or setting(), folder, True, emit_c=as_c)


def fake_loop(
    search: SearchFolder,
    budget: int,
    mappings: int = 0,
    runner: FakeRunner | None = None,
    hooks: SearchHooks = NO_HOOKS,
    strategy: Strategy | None = None,
) -> SearchLoop:
    """Return the loop of a search without clocks."""
    of = search.setting
    plan = replace(of.plan, budget=budget, mapping_budget=mappings)
    start = SearchStart(
        of.subject.program, of.evaluation.mapping, plan, make_task=lambda: of.subject.task
    )
    made = start.prepare()
    return SearchLoop(plan, start, strategy or made, runner or FakeRunner(), search, hooks)


def run_fake(search: SearchFolder, budget: int, mappings: int = 0, **rest: Any) -> SearchResult:
    """Run a search to its end, keep the best, and close it."""
    try:
        result = fake_loop(search, budget, mappings, **rest).run()
        if result.best.is_ok:
            search.confirm(result.best_finding)
        search.write_summary(search.document(result))
        return result
    finally:
        search.close()


def as_c(_: Program, schedule: Schedule, mapping: Mapping) -> str:
    """Return a text that stands for the C code."""
    return str(schedule) if mapping == DEFAULT_MAPPING else f"{schedule} {mapping}"
