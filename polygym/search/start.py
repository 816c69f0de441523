"""The start of a search: the schedules that are known, and the initial candidates."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

from polygym.autoschedule import schedule_choice
from polygym.errors import PolygymError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Task
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import prepare_isl_scheduling
from polygym.poly.scheduling.strategy import ISL, ORIGINAL, AutomaticStrategy
from polygym.programs import Program
from polygym.runtime.evaluation.time_limits import schedule_within
from polygym.search.plan import SearchPlan
from polygym.search.strategies.candidates import (
    Candidate,
    EditedSchedule,
    EpisodeSchedule,
    ScheduleSource,
    Strategy,
    known_source,
    schedules_of,
)
from polygym.search.strategies.registry import STRATEGIES, StrategyContext, make_strategy

# Where little time is given, isl's schedules may be sought so long all the same.
_MIN_SCHEDULE_SECONDS = 5.0


@dataclass(slots=True)
class SearchStart:
    """A program, the mapping to start from, and the initial candidates of a search.

    The first candidate is the one that the result is compared with. ``references`` are measured
    again in the end. ``similar`` candidates did well for similar programs.
    """

    program: Program
    mapping: Mapping
    plan: SearchPlan
    similar: Sequence[Candidate] = ()
    make_task: Callable[[], Task] | None = None
    known: dict[ScheduleSource, Schedule] = field(default_factory=dict)
    initial: list[Candidate] = field(default_factory=list)
    choice: schedule_choice.AutomaticSchedule | None = None
    isl_reason: str = ""

    @property
    def references(self) -> list[Candidate]:
        """The candidate to start from, and isl's schedule under its mapping."""
        isl = Candidate(ISL, self.mapping)
        return list(dict.fromkeys([self.initial[0], *([isl] if ISL in self.known else [])]))

    def prepare(self) -> Strategy:
        """Find the schedules to begin with, and return the strategy."""
        with suppress(PolygymError):  # then no strategy has a schedule but the source's
            prepare_isl_scheduling(self.program.scop)
        self._find_schedules()
        plan = self.plan
        context = StrategyContext(
            self.program.scop, dict(self.program.parameters), self.mapping, self.known,
            self.initial, plan.seed, plan.population, plan.model_options, self.make_task,
        )  # fmt: skip
        return make_strategy(plan.strategy, context)

    def _find_schedules(self) -> None:
        """Find the schedule to start from, and those of isl where the strategy chooses among them.

        Indexed strategies construct their own: isl's schedule and the start are references.
        """
        plan, scop = self.plan, self.program.scop
        is_indexed = isinstance(plan.strategy, str) and STRATEGIES[plan.strategy].is_indexed
        if not (is_indexed or plan.is_fixed):
            limit = plan.time_limit
            seconds = inf if limit is None else max(limit, _MIN_SCHEDULE_SECONDS)
            self.known |= schedules_of(scop, seconds)
        elif not plan.is_fixed:
            try:
                self.known[ISL] = schedule_within(ISL, scop)
            except PolygymError as error:
                self.isl_reason = str(error)
        try:
            source = known_source(self.known, plan.schedule, self._schedule())
        except PolygymError:
            source = next(iter(self.known), None) or known_source(
                self.known, ORIGINAL, schedule_within(ORIGINAL, scop)
            )
        self.initial = [Candidate(source, self.mapping)]
        if plan.is_fixed:
            return
        wanted = [Candidate(source, self.mapping) for source in self.known]
        if self.mapping.is_parallel:
            # Threads may wait for each other for longer than one takes.
            wanted.insert(0, Candidate(source, replace(self.mapping, threads=1)))
        if not is_indexed:
            # The baseline of the measurements may be hard to beat: it is a candidate too.
            wanted += self._transferred([Candidate(ORIGINAL, SEQUENTIAL_MAPPING)])
            wanted += self._transferred(self.similar)
        self.initial = list(dict.fromkeys([*self.initial, *wanted]))

    def _schedule(self) -> Schedule:
        """Return the schedule to start from."""
        plan, scop = self.plan, self.program.scop
        sizes, machine = scop_sizes(scop, dict(self.program.parameters)), plan.model_options.machine
        if not isinstance(plan.schedule, AutomaticStrategy):
            return schedule_choice.resolved_schedule_within(
                plan.schedule, scop, sizes, self.mapping, machine=machine
            )
        self.choice = schedule_choice.choose_schedule_within(
            scop, sizes, self.mapping, machine=machine
        )
        return self.choice.schedule

    def _transferred(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates of another program as candidates of this one, where they exist."""
        scop = self.program.scop
        sizes = scop_sizes(scop, dict(self.program.parameters))
        result, machine = [], self.plan.model_options.machine
        for candidate in candidates:
            if isinstance(candidate.source, EpisodeSchedule | EditedSchedule):
                continue
            try:
                schedule = schedule_choice.resolved_schedule_within(
                    candidate.source, scop, sizes, self.mapping, machine=machine
                )
            except PolygymError:
                continue
            own = {name: getattr(self.mapping, name) for name in ("threads", "reassociate")}
            source = known_source(self.known, candidate.source, schedule)
            result.append(Candidate(source, replace(candidate.mapping, **own)))
        return result
