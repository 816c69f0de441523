"""The loop of a search: ask a strategy, measure, write down, tell the strategy.

The initial candidates come first, then proposals of the strategy until the budget or the time is
used up, then mappings for the best schedules. The best few, isl's schedule and the candidate to
start from are measured together in the end: during the search each was measured in its own time,
and the best of many also is the luckiest. Where none of them beats the source by more than noise,
the source is the result.

Every candidate runs beside the original order, in a process of its own, and its outputs are
compared: one that computes something else never counts. Two proposals may have one schedule and one
mapping, or become the same loops but for where counters begin; the second one repeats the first.

The loop knows neither terminals nor signals. A watcher shows how far it is, and may raise a
KeyboardInterrupt where the loop waits. An early end (an interrupt, a full disk, a worker that
cannot be started) is part of the result, beside all that was found until then. A failure of the
machine ends a search as well: it is no outcome of a candidate, which a resumed search measures
again.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from polygym.errors import InputError, PolygymError
from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Episode, Task
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, rounds_within
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.plan import DEFAULT_PLAN, SearchPlan
from polygym.search.result import (
    NO_SCHEDULE,
    REPEATED,
    Finding,
    SearchResult,
    SearchStage,
    SearchTally,
    source_finding,
)
from polygym.search.runner.local import CandidateRunner, RunnerFactory, open_local_runner
from polygym.search.start import SearchStart
from polygym.search.strategies.candidates import (
    Candidate,
    EpisodeSchedule,
    Proposal,
    Strategy,
    Unscheduled,
)
from polygym.search.strategies.hill_climbing import climb

Json = dict[str, Any]

# The number of candidates measured together in the end, and how long runs of the original take.
_CONFIRMED_COUNT = 5
_CONFIRM_SECONDS = 2.0
_MIN_ROUNDS, _MAX_ROUNDS = 2, 51

# Where time is limited, at most this part of it is kept for that.
_MAX_RESERVED_SHARE = 0.25

_CLIMBED_SCHEDULES = 3
_COMPILE_SECONDS = 10.0
_COMPILED_TOGETHER = 16

# Errors that end a search whose findings are worth showing.
_RECOVERABLE = (KeyboardInterrupt, OSError, PolygymError, MemoryError, RecursionError)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The last proposal of a search, with its outcome.

    ``best`` is a speedup over the original order, 0 before there is one. Without a schedule there
    is no evaluation, only a reason; a proposal that repeats an earlier one has the outcome of that.
    """

    index: int
    stage: SearchStage
    tried: int
    total: int
    best: float
    proposal: Proposal
    evaluation: Evaluation | None
    repeats: int | None = None
    episode: Episode | None = None
    is_best: bool = False


@dataclass(slots=True, kw_only=True)
class SearchRecorder:
    """Writes a search down, and knows what was written before; this one keeps the tally alone."""

    tally: SearchTally = field(default_factory=SearchTally)

    def recorded(self, stage: SearchStage) -> list[Json]:
        """Return the lines of a stage that an earlier call has written."""
        return []

    def add(self, progress: SearchProgress) -> None:
        """Write a proposal down; then it is counted in the tally."""

    def write_best(self) -> None:
        """Write the proposal that was added last as the best; it is in the tally."""


@dataclass(frozen=True, slots=True)
class SearchHooks:
    """What a caller does meanwhile.

    ``show`` is called after every proposal; ``waiting`` surrounds the parts in which a
    KeyboardInterrupt may be raised; ``enter`` is called where a stage begins, None for the last
    comparison.
    """

    show: Callable[[SearchProgress], None] = lambda _: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    enter: Callable[[SearchStage | None], None] = lambda _: None


NO_HOOKS = SearchHooks()


@dataclass(slots=True)
class SearchLoop:
    """A search at work."""

    plan: SearchPlan
    start: SearchStart
    strategy: Strategy
    runner: CandidateRunner
    recorder: SearchRecorder
    hooks: SearchHooks = NO_HOOKS
    started: float = field(default_factory=time.monotonic)
    error: BaseException | None = None
    _recorded: dict[SearchStage, list[Json]] = field(init=False)

    def __post_init__(self) -> None:
        """Read what is recorded."""
        self._recorded = {stage: self.recorder.recorded(stage)[::-1] for stage in SearchStage}
        # What is recorded is chosen again, however long that takes.
        self.strategy.is_over = lambda: not self._recorded[SearchStage.SEARCH] and self.is_over

    @property
    def tally(self) -> SearchTally:
        """The outcomes so far."""
        return self.recorder.tally

    @property
    def seconds_left(self) -> float:
        """The seconds that are left, below 0 if the time is up."""
        limit = inf if self.plan.time_limit is None else self.plan.time_limit
        return limit - (time.monotonic() - self.started)

    @property
    def is_over(self) -> bool:
        """Whether the time is up but for what measuring the best together takes."""
        limit, left = self.plan.time_limit, self.seconds_left
        if limit is None or left <= 0:
            return left <= 0
        return left <= min(_MAX_RESERVED_SHARE * limit, self._together_seconds())

    def _together_seconds(self) -> float:
        """Return about how long it takes to measure the best together, at the least."""
        best = self.tally.fastest_of_all(_CONFIRMED_COUNT)
        seconds = [finding.evaluation.seconds for finding in best]
        return _MIN_ROUNDS * (sum(seconds) + self.runner.baseline_seconds) if best else 0.0

    def run(self) -> SearchResult:
        """Search until all is done or something ends it; return what was found."""
        try:
            self._search()
            self._climb()
        except _RECOVERABLE as error:
            if not self.tally.findings:
                raise
            self.error = error
        return self._result()

    def _search(self) -> None:
        """Measure the initial candidates, and proposals of the strategy."""
        initial = len(self.start.initial)
        self.hooks.enter(SearchStage.SEARCH)
        tried = 0
        while tried < initial + self.plan.budget:
            if tried >= initial and self.strategy.is_indexed and (skipped := self._skip()):
                tried += skipped
                continue
            if self.tally.lines and not self._is_recorded and self.is_over:
                return
            with self.hooks.waiting():  # to choose takes a model some seconds
                proposals = self.strategy.ask(self.strategy.batch_size)
            if not proposals:
                break
            for first in range(0, len(proposals), _COMPILED_TOGETHER):
                part = proposals[first : first + _COMPILED_TOGETHER]
                part = part[: initial + self.plan.budget - tried]
                if not self._try(part, tried, initial):
                    return
                tried += len(part)
        if self._is_recorded:
            left = len(self._recorded[SearchStage.SEARCH])
            raise InputError(
                f"budget: expected more than {self.plan.budget}, found {left} proposals more in "
                "the search that is to be continued"
            )

    @property
    def _is_recorded(self) -> bool:
        return bool(self._recorded[SearchStage.INITIAL] or self._recorded[SearchStage.SEARCH])

    def _skip(self) -> int:
        """Take the recorded episodes as they are, but for the last one, which is checked."""
        lines, self._recorded[SearchStage.SEARCH] = self._recorded[SearchStage.SEARCH][::-1], []
        if not lines:
            return 0
        self.strategy.skip(len(lines) - 1)
        (last,) = self.strategy.ask(1)
        episode = self.strategy.episode_of(last)
        if episode is None or list(episode.actions) != lines[-1].get("actions"):
            raise _another(lines[-1], f"episode {len(lines) - 1}")
        for line in lines:
            evaluation = self._add_line(SearchStage.SEARCH, line)
            if evaluation is not None:
                policy, _, number = str(line["source"]).rpartition("#")
                self.start.known[EpisodeSchedule(policy, int(number))] = evaluation.schedule
        return len(lines)

    def _add_line(self, stage: SearchStage, line: Json) -> Evaluation | None:
        """Count a line; return its outcome, or that of the line that it repeats."""
        outcome = line.get("outcome")
        scop = self.start.program.scop
        if outcome is not None:
            evaluation = Evaluation.from_json(outcome, scop)
            self.tally.add(line["index"], stage, str(line["source"]), evaluation)
            return evaluation
        repeats = line.get("repeats")
        kind = NO_SCHEDULE if repeats is None else REPEATED
        self.tally.add(line["index"], stage, str(line["source"]), None, kind)
        findings = (*self.tally.findings.values(), *self.tally.trials.values())
        first = (finding for finding in findings if finding.index == repeats)
        return next((finding.evaluation for finding in first), None)

    def _try(self, part: Sequence[Proposal], tried: int, initial: int) -> bool:
        """Try some proposals, compiled together; return whether it makes sense to go on."""
        recorded = len(self._recorded[SearchStage.INITIAL]) + len(
            self._recorded[SearchStage.SEARCH]
        )
        candidates = (proposal for proposal in part[recorded:] if isinstance(proposal, Candidate))
        choices = map(self._choice, candidates)
        new = [choice for choice in choices if self.tally.first_of(choice) is None]
        if len(new) > 1 and not (self.tally.lines and self.is_over):
            self._compile(new)
        for place, proposal in enumerate(part, start=tried):
            stage = SearchStage.INITIAL if place < initial else SearchStage.SEARCH
            if self._recorded[stage]:
                self._retell(stage, proposal)
                continue
            if self.tally.lines and self.is_over:
                return False
            self._measure(stage, proposal)
        return True

    def _choice(self, candidate: Candidate) -> MappedSchedule:
        return (self.start.known[candidate.source], candidate.mapping)

    def _compile(self, choices: Sequence[MappedSchedule]) -> None:
        """Generate code as long as there is time, that of the first candidate in any case."""

        def is_over() -> bool:
            return self.is_over and (bool(self.tally.lines) or self.runner.is_ready(choices[0]))

        with self.hooks.waiting():
            self.runner.prepare(choices, self._best_so_far or inf, is_over)

    @property
    def _best_so_far(self) -> float | None:
        """The time of the best, infinite before there is one; None where nothing is cut off."""
        if not self.strategy.cuts_off:
            return None
        return inf if self.tally.best is None else self.tally.best.evaluation.seconds

    def _retell(self, stage: SearchStage, proposal: Proposal) -> None:
        """Take what is recorded of a proposal, which has to be the one that was recorded."""
        line = self._recorded[stage].pop()
        if isinstance(proposal, Candidate):
            schedule, mapping = self._choice(proposal)
            if (str(schedule), str(mapping)) != (line.get("schedule"), line.get("mapping")):
                raise _another(line, f"candidate {line['index']}")
        evaluation = self._add_line(stage, line)
        if isinstance(proposal, Candidate):
            self.strategy.tell(proposal, 0.0 if evaluation is None else evaluation.speedup)

    def _measure(self, stage: SearchStage, proposal: Proposal) -> None:
        """Measure a proposal unless it repeats another one, write it down, tell the strategy."""
        if isinstance(proposal, Unscheduled):
            self._record(stage, proposal, None, None)
            return
        choice = self._choice(proposal)
        first = self.tally.first_of(choice)
        evaluation = self._evaluation(choice, stage) if first is None else first.evaluation
        if first is None:
            first = self.tally.first_of(choice, evaluation.canonical_key)
        self._record(stage, proposal, evaluation, None if first is None else first.index)
        # A replay tells of the same code what its first measurement was; so does the search.
        self.strategy.tell(proposal, (evaluation if first is None else first.evaluation).speedup)

    def _evaluation(self, choice: MappedSchedule, stage: SearchStage) -> Evaluation:
        """Measure a candidate; the first one, or all that a policy is compared with, patiently."""
        retries = stage is SearchStage.INITIAL and not (self.strategy.cuts_off and self.tally.lines)
        with self.hooks.waiting():
            return self.runner.measure(choice, self._best_so_far, retries=retries)

    def _record(
        self,
        stage: SearchStage,
        proposal: Proposal,
        evaluation: Evaluation | None,
        repeats: int | None,
    ) -> None:
        """Count a proposal, write it down and show it."""
        tally, is_trial = self.tally, stage is SearchStage.MAPPINGS
        index = tally.lines + sum(map(len, self._recorded.values()))
        total = len(self.start.initial) + self.plan.budget
        progress = SearchProgress(
            index, stage, len(tally.trials) + 1 if is_trial else tally.lines + 1,
            self.plan.mapping_budget if is_trial else total, 0.0, proposal, evaluation, repeats,
            None if is_trial else self.strategy.episode_of(proposal),
        )  # fmt: skip
        self.recorder.add(progress)
        kind = NO_SCHEDULE if evaluation is None else REPEATED
        added = evaluation if repeats is None else None
        best = tally.add(index, stage, str(proposal.source), added, kind)
        if best is not None:
            self.recorder.write_best()
        speedup = 0.0 if tally.best is None else tally.best.speedup
        self.hooks.show(replace(progress, best=speedup, is_best=best is not None))

    def _climb(self) -> None:
        """Try mappings for the best schedules, isl's, the start's and the original order."""
        while self._recorded[SearchStage.MAPPINGS]:
            self._add_line(SearchStage.MAPPINGS, self._recorded[SearchStage.MAPPINGS].pop())
        if not self.plan.mapping_budget:
            return
        self.hooks.enter(SearchStage.MAPPINGS)
        start, scop = self.start.mapping, self.start.program.scop
        best = self.tally.fastest(_CLIMBED_SCHEDULES)
        sources = {schedule: source for source, schedule in reversed(self.start.known.items())}
        sources.setdefault(original_schedule(scop), ORIGINAL)
        known = {(finding.evaluation.schedule, start): finding.evaluation for finding in best}
        references = [self.start.known[candidate.source] for candidate in self.start.references]
        fastest = [finding.evaluation.schedule for finding in best]
        schedules = list(dict.fromkeys([*fastest, *references, original_schedule(scop)]))
        explored = {key: outcome for key, outcome in self.tally.findings.items() if key[1] == start}
        for choice, finding in (*explored.items(), *self.tally.trials.items()):
            if choice[0] in schedules:
                known[choice] = finding.evaluation

        def measure(schedule: Schedule, mapping: Mapping) -> Evaluation:
            if self.is_over:
                raise _TimeIsUp
            with self.hooks.waiting():
                return self.runner.measure((schedule, mapping), None)

        indices = range(len(self.tally.trials), self.plan.mapping_budget)
        try:
            for tried in climb(schedules, start, self.plan.seed, indices, measure, known):
                candidate = Candidate(sources[tried.schedule], tried.mapping)
                self._record(SearchStage.MAPPINGS, candidate, tried, None)
        except _TimeIsUp:
            return

    def _result(self) -> SearchResult:
        """Return the best, measured together if nothing has ended the search early."""
        tally, program = self.tally, self.start.program
        known = [tally.findings.get(self._choice(reference)) for reference in self.start.references]
        best = (*tally.fastest_of_all(_CONFIRMED_COUNT), *filter(None, known))
        findings = list({finding.choice: finding for finding in best}.values())
        is_confirmed = False
        if self.error is None and findings and self.seconds_left > 0:
            self.hooks.enter(None)
            choices = [finding.choice for finding in findings]
            try:
                with self.hooks.waiting():
                    measured = self.runner.measure_together(choices, self._rounds())
                pairs = zip(findings, measured, strict=True)
                findings = [replace(finding, evaluation=outcome) for finding, outcome in pairs]
                is_confirmed = True
            except _RECOVERABLE as error:  # then each has its own measurement
                self.error = error
        ranking = sorted(findings, key=lambda finding: -finding.speedup)
        start = self._choice(self.start.initial[0])
        own = next((finding for finding in ranking if finding.choice == start), None)
        outcomes = [*tally.findings.values(), *tally.trials.values(), *ranking]
        return SearchResult(
            program.name, program.parameters, tuple(ranking),
            own or tally.findings.get(start) or next(iter(tally.findings.values())),
            tally.lines, Defects.count(finding.evaluation for finding in outcomes), is_confirmed,
            self.error, self.start.choice, self.start.isl_reason,
            _source_beside(program, (*ranking, *tally.findings.values())),
        )  # fmt: skip

    def _rounds(self) -> int:
        """Return how often the best are measured together, less often if time is short."""
        seconds = self.runner.baseline_seconds
        rounds = rounds_within(_CONFIRM_SECONDS, seconds, _MIN_ROUNDS, _MAX_ROUNDS)
        round_seconds = self._together_seconds() / _MIN_ROUNDS
        possible = (
            rounds
            if self.seconds_left == inf or not round_seconds
            else int(self.seconds_left / round_seconds)
        )
        return max(_MIN_ROUNDS, min(rounds, possible))


def _source_beside(program: Program, findings: Sequence[Finding]) -> Finding | None:
    """Return the source as it was measured beside the first finding that has its time."""
    outcomes = (finding.evaluation for finding in findings)
    beside = next((outcome for outcome in outcomes if outcome.baseline_samples), None)
    return None if beside is None else source_finding(program, beside)


class _TimeIsUp(Exception):
    """The time is up while mappings are tried."""


def _another(line: Json, what: str) -> InputError:
    return InputError(
        f"expected {what} of the search that is to be continued to be found again, found another "
        f"one: it was begun with another version of polygym ({line.get('polygym')}), or a model "
        "led it on another machine, perhaps"
    )


def run_search(
    program: Program,
    mapping: Mapping,
    plan: SearchPlan,
    *,
    similar: Sequence[Candidate] = (),
    recorder: SearchRecorder | None = None,
    hooks: SearchHooks = NO_HOOKS,
    options: EvaluationOptions | None = None,
    make_task: Callable[[], Task] | None = None,
    runner_factory: RunnerFactory = open_local_runner,
) -> SearchResult:
    """Search for the fastest schedule and mapping of a program, until something ends it.

    ``mapping`` has the threads, and is the one to start from. ``similar`` candidates did well for
    similar programs. ``make_task`` makes the decision process of episodes, ``options`` say how
    candidates are measured, ``runner_factory`` where.

    Raises:
        InputError: nothing could be measured, or what is recorded is of another search.
        ProblemError: the program does not run.
    """
    started = time.monotonic()
    start = SearchStart(program, mapping, plan, similar, make_task)
    with hooks.waiting():
        strategy = start.prepare()
    if options is None:
        options = EvaluationOptions(
            threads=mapping.threads, compile_seconds=_COMPILE_SECONDS, mapping=mapping
        )
    with runner_factory(program, options, plan.jobs) as runner:
        recorded = SearchRecorder() if recorder is None else recorder
        return SearchLoop(plan, start, strategy, runner, recorded, hooks, started).run()


def tune(
    program: Program,
    mapping: Mapping,
    plan: SearchPlan = DEFAULT_PLAN,
    *,
    similar: Sequence[Candidate] = (),
    on_progress: Callable[[SearchProgress], None] = lambda _: None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> SearchResult:
    """Search as :func:`run_search` does; of early ends only a KeyboardInterrupt has a result.

    Raises:
        InputError: nothing runs to a correct end.
    """
    hooks = SearchHooks(on_progress, waiting)
    result = run_search(program, mapping, plan, similar=similar, hooks=hooks)
    if result.error is not None and not result.interrupted:
        raise result.error
    if not result.has_run:
        raise InputError(
            f"{program.name}: no candidate ran to a correct end; the first one: "
            f"{result.initial.error_details}"
        )
    return result
