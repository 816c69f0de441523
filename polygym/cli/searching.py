"""The course of ``polygym optimize``: measure what there is to beat, search, confirm, report.

Whatever ends the search early (a signal, a full disk, a worker that cannot be started) is answered
by what was found so far and the words with which to go on.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polygym.cli.answer import Answer
from polygym.cli.exploring import exploring, tuning
from polygym.cli.failures import failure_of
from polygym.cli.invocation import Orders, resuming
from polygym.cli.output import heading, say, working
from polygym.cli.ranking import ISL, Ranking, Reference, document, print_ranking
from polygym.cli.stopping import Stop, stoppable
from polygym.compiler.codegen.mapping import Mapping
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.schedule import Schedule
from polygym.errors import PolygymError
from polygym.files import make_new_folder, write_atomically
from polygym.measure.evaluation import Evaluation, Evaluator, c_text
from polygym.measure.evaluation.evaluator import Choice
from polygym.pictures.convergence import convergence_png
from polygym.search.explore.folder import (
    BEST,
    BEST_C,
    JOURNAL,
    SUMMARY,
    TUNING,
    Search,
    begin,
    resume,
)
from polygym.search.explore.setting import Setting
from polygym.search.explore.tally import Finding
from polygym.search.explore.tuning import tune

_IN_TABLE = 5
_TUNED = 3
_ROUNDS = 5
_PICTURE = "convergence.png"

# What may end a search whose findings are worth showing all the same.
_EXPECTED = (KeyboardInterrupt, OSError, PolygymError, MemoryError, RecursionError)


@dataclass(frozen=True, slots=True)
class _End:
    """How a search ended: with code 0 and no words as it should, else early."""

    code: int = 0
    message: str = ""
    interrupted: bool = False

    @staticmethod
    def by(stop: Stop, error: BaseException) -> _End:
        """Return the end that an exception is."""
        if isinstance(error, KeyboardInterrupt):
            return _End(stop.code, "interrupted", True)
        failure = failure_of(error)
        return _End(failure.code, failure.message)

    def to_json(self) -> dict[str, Any]:
        """Return what the document says about the end."""
        failed = self.code and not self.interrupted
        return {"interrupted": self.interrupted} | ({"error": self.message} if failed else {})


def search_and_report(
    setting: Setting, orders: Orders, out: Path | None, resumed: bool, as_json: bool
) -> Answer:
    """Search, compare the best with isl's schedule and the original order, and say what came of it.

    Without ``out`` a new folder is made, once it is known that the original order runs.
    """
    program = setting.subject.program
    with ExitStack() as stack:
        search = None if out is None else _open(stack, setting, out, resumed)
        evaluator = stack.enter_context(Evaluator(program, setting.measuring))
        with working(f"measuring the original order of {program.name}"):
            isl = _reference(program.scop, evaluator)
        if search is None:
            folder = make_new_folder(Path.cwd(), f"polygym-{Path(program.name).stem}")
            search = _open(stack, setting, folder, False)
        end = _explore(search, orders.budget, evaluator)
        if not end.code:
            end = _tune(search, orders.mappings, isl, evaluator)
        ranking = Ranking(original(program.scop), isl, _fastest(search), False)
        if not end.code:
            ranking, end = _confirm(search, ranking, evaluator)
        elif ranking.best is not None and ranking.best.index == ISL:
            with suppress(OSError):  # a full disk, perhaps, which has been said
                search.confirm(ranking.best)
    return _report(search, ranking, orders, end, as_json)


def _open(stack: ExitStack, setting: Setting, folder: Path, resumed: bool) -> Search:
    """Begin or resume a search; to resume where there is none yet is to begin."""
    program = setting.subject.program

    def as_c(schedule: Schedule, mapping: Mapping) -> str:
        return c_text(program, schedule, mapping)

    folder.mkdir(parents=True, exist_ok=True)
    goes_on = resumed and (folder / JOURNAL).exists()
    search = (resume if goes_on else begin)(setting, folder, as_c)
    stack.callback(search.close)
    return search


def _reference(scop: Scop, evaluator: Evaluator) -> Reference:
    """Return isl's schedule, measured; where isl finds none, the original order runs anyway."""
    try:
        schedule = isl_schedule(scop)
    except PolygymError as error:
        evaluator.evaluate(original(scop))
        return Reference(None, None, str(error))
    return Reference(schedule, evaluator.evaluate(schedule))


def _explore(search: Search, budget: int, evaluator: Evaluator) -> _End:
    """Explore until the budget is used up or something puts an end to it."""
    name = search.setting.subject.program.name
    stop = Stop()
    try:
        with stoppable(stop), exploring(name, budget, search.tally) as show:

            def evaluate(schedule: Schedule) -> Evaluation:
                with stop.allowed():
                    return evaluator.evaluate(schedule)

            for _ in search.run(budget, evaluate):
                show()
    except _EXPECTED as error:
        return _End.by(stop, error)
    return _End()


def _tune(search: Search, count: int, isl: Reference, evaluator: Evaluator) -> _End:
    """Try mappings for the best schedules, isl's and the original order until there are ``count``.

    What the search or an earlier call has measured is known.
    """
    if not count:
        return _End()
    program, start = search.setting.subject.program, evaluator.options.mapping
    best = search.tally.fastest(_TUNED)
    names: dict[Schedule, int | str] = {one.evaluation.schedule: one.index for one in best}
    known = {(one.evaluation.schedule, start): one.evaluation for one in best}
    if isl.evaluation is not None:
        names.setdefault(isl.evaluation.schedule, ISL)
        known.setdefault((isl.evaluation.schedule, start), isl.evaluation)
    names.setdefault(original(program.scop), "original")
    known |= {
        choice: evaluation
        for choice, evaluation in search.trials.known().items()
        if choice[0] in names
    }
    stop = Stop()
    try:
        with stoppable(stop), tuning(program.name, count, search) as show:

            def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
                with stop.allowed():
                    return evaluator.evaluate(schedule, mapping)

            indices = range(search.trials.count, count)
            for tried in tune(list(names), start, search.setting.seed, indices, evaluate, known):
                search.add_trial(tried, names)
                show()
    except _EXPECTED as error:
        return _End.by(stop, error)
    return _End()


def _fastest(search: Search) -> tuple[Finding, ...]:
    """Return the best of the search and of the mappings that were tried, the fastest first."""
    found = {_choice(one): one for one in search.tally.fastest(_IN_TABLE)}
    for choice, one in search.trials.findings.items():
        if one.evaluation.is_ok:
            found.setdefault(choice, one)
    ranked = sorted(found.values(), key=lambda one: -one.evaluation.speedup)
    return tuple(ranked[:_IN_TABLE])


def _choice(finding: Finding) -> Choice:
    return (finding.evaluation.schedule, finding.evaluation.mapping)


def _confirm(search: Search, ranking: Ranking, evaluator: Evaluator) -> tuple[Ranking, _End]:
    """Measure isl's schedule and the best ones side by side, and rank them by that.

    During the search each was measured in its own time, and the best of many also is the luckiest.
    """
    findings = {_choice(one): one for one in ranking.findings}
    isl = ranking.isl.evaluation
    stop = Stop()
    first = [(isl.schedule, isl.mapping)] if isl is not None and isl.is_ok else []
    choices = tuple(dict.fromkeys([*first, *findings]))
    if not choices:
        return ranking, _End()
    try:
        with stoppable(stop), working("measuring the best ones together"):
            with stop.allowed():
                measured = evaluator.evaluate_together(choices, _ROUNDS)
            again = dict(zip(choices, measured, strict=True))
            confirmed = [Finding(findings[one].index, again[one]) for one in findings]
            confirmed.sort(key=lambda one: -one.evaluation.speedup)
            reference = replace(ranking.isl, evaluation=again[first[0]]) if first else ranking.isl
            ranking = Ranking(ranking.original, reference, tuple(confirmed), True)
            if ranking.best is not None:
                search.confirm(ranking.best)
    except _EXPECTED as error:
        return ranking, _End.by(stop, error)
    return ranking, _End()


def _report(search: Search, ranking: Ranking, orders: Orders, end: _End, as_json: bool) -> Answer:
    """Write the last files and say what was found, and how to go on after an early end."""
    budget, plot = orders.budget, orders.plot
    files = _files(search, ranking, plot)
    found = {**document(search, ranking, budget, files), **end.to_json()}
    try:
        search.write_summary(found)
        if plot:
            write_atomically(search.folder / _PICTURE, _picture(search, ranking))
    except OSError as error:
        end = end if end.code else _End.by(Stop(), error)
    if as_json:
        return Answer(end.code, {**found, **end.to_json()})
    print_ranking(search, ranking, budget)
    heading("\nFiles")
    for name in files.values():
        say(f"  {name}")
    if end.code:
        say(f"{end.message}; to go on:", err=True)
        say(f"  {resuming(search.setting, orders, search.folder)}", err=True)
    return Answer(end.code)


def _files(search: Search, ranking: Ranking, plot: bool) -> dict[str, str]:
    """Return the paths of the files that there are, or will be, by what they hold."""
    names = {"episodes": JOURNAL, "summary": SUMMARY}
    if search.trials.count:
        names |= {"tuning": TUNING}
    if ranking.best is not None:
        names |= {"best": BEST, "best_c": BEST_C}
    if plot:
        names["plot"] = _PICTURE
    return {what: str(search.folder / name) for what, name in names.items()}


def _picture(search: Search, ranking: Ranking) -> bytes:
    program, tally = search.setting.subject.program, search.tally
    sizes = " ".join(f"{name}={value}" for name, value in program.parameters)
    references = {"-O3": 1.0}
    if (isl := ranking.isl.evaluation) is not None and isl.is_ok:
        references["isl"] = isl.speedup
    # The best ones, timed again, may be slower than the curve says.
    title = f"{program.name}: {sizes}; single measurements"
    return convergence_png(title, tally.curve, tally.explored, references)
