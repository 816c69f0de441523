"""``polygym optimize`` at work: opens the folder, watches the course of the search, reports.

The course itself is :mod:`polygym.search.explore.course`. Whatever ends the search early (a signal,
a full disk, a worker that cannot be started) is answered by what was found so far and the words
with which to go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from polygym.cli.alarm import alarm
from polygym.cli.answer import Answer
from polygym.cli.exploring import exploring, tuning, waiting_for
from polygym.cli.failures import failure_of
from polygym.cli.invocation import resuming
from polygym.cli.output import heading, say, say_foreign_load, working
from polygym.cli.ranking import print_ranking
from polygym.cli.stopping import Stop, stoppable
from polygym.files import make_new_folder, write_atomically
from polygym.measure.evaluation import Evaluator
from polygym.measure.worker.foreign_load import ForeignLoad, LoadWatch
from polygym.pictures.convergence import convergence_png
from polygym.search.explore.course import (
    Attention,
    Extent,
    Phase,
    Watch,
    automatic,
    open_search,
    reference,
    run,
)
from polygym.search.explore.folder import BEST, BEST_C, JOURNAL, SUMMARY, TUNING, Search
from polygym.search.explore.ranking import Ranking, document
from polygym.search.explore.setting import Setting

_PICTURE = "convergence.png"


@dataclass(frozen=True, slots=True)
class _End:
    """How a search ended: with code 0 and no words as it should, else early."""

    code: int = 0
    message: str = ""
    interrupted: bool = False

    @staticmethod
    def by(stop: Stop, error: BaseException | None) -> _End:
        """Return the end that an exception is."""
        if error is None:
            return _End()
        if isinstance(error, KeyboardInterrupt):
            return _End(stop.code, "interrupted", True)
        failure = failure_of(error)
        return _End(failure.code, failure.message)

    def to_json(self) -> dict[str, Any]:
        """Return what the document says about the end."""
        failed = self.code and not self.interrupted
        return {"interrupted": self.interrupted} | ({"error": self.message} if failed else {})


def search_and_report(
    setting: Setting, extent: Extent, out: Path | None, resumed: bool, plot: bool, as_json: bool
) -> Answer:
    """Search, compare the best with isl's schedule and the original order, and say what came of it.

    Without ``out`` a new folder is made, once it is known that the original order runs.
    """
    program = setting.subject.program
    stop, machine = Stop(), LoadWatch()
    with ExitStack() as stack:
        search = None if out is None else _opened(stack, setting, out, resumed)
        evaluator = stack.enter_context(Evaluator(program, setting.measuring))
        with working(f"measuring the original order of {program.name}"):
            isl = reference(program.scop, evaluator)
            default = automatic(program, evaluator, isl)
        if search is None:
            folder = make_new_folder(Path.cwd(), f"polygym-{Path(program.name).stem}")
            search = _opened(stack, setting, folder, False)
        course = run(search, extent, isl, evaluator, _watching(program.name, stop), default)
        load = machine.load()
    end = _End.by(stop, course.ended_by)
    return _report(search, course.ranking, extent, plot, end, load, as_json)


def _opened(stack: ExitStack, setting: Setting, folder: Path, resumed: bool) -> Search:
    search = open_search(setting, folder, resumed)
    stack.callback(search.close)
    return search


def _watching(name: str, stop: Stop) -> Watch:
    """Return what shows how far a search is, and has signals stop it."""

    @contextmanager
    def watch(phase: Phase, search: Search, count: int) -> Iterator[Attention]:
        shown: AbstractContextManager[Any]
        match phase:
            case Phase.EXPLORE:
                shown = exploring(name, count, search.tally)
            case Phase.MAPPINGS:
                shown = tuning(name, count, search)
            case Phase.TOGETHER:
                shown = waiting_for("measuring the best ones together")
            case _:
                assert_never(phase)
        with stoppable(stop), shown as show:
            yield Attention(show, stop.allowed)

    return watch


def _report(
    search: Search,
    ranking: Ranking,
    extent: Extent,
    plot: bool,
    end: _End,
    load: ForeignLoad | None,
    as_json: bool,
) -> Answer:
    """Write the last files and say what was found, and how to go on after an early end."""
    files = _files(search, ranking, plot)
    found = {
        **document(search, ranking, extent.budget, files),
        "foreign_load": None if load is None else load.to_json(),
        **end.to_json(),
    }
    try:
        search.write_summary(found)
        if plot:
            write_atomically(search.folder / _PICTURE, _picture(search, ranking))
    except OSError as error:
        end = end if end.code else _End.by(Stop(), error)
    defects = ranking.defects(search)
    code = end.code or int(bool(defects))
    if as_json:
        return Answer(code, {**found, **end.to_json()})
    print_ranking(search, ranking, extent.budget)
    alarm(defects, search.setting.measuring.mapping)
    say_foreign_load(load)
    heading("\nFiles")
    for name in files.values():
        say(f"  {name}")
    if end.code:
        say(f"{end.message}; to go on:", err=True)
        say(f"  {resuming(search.setting, extent, plot, search.folder)}", err=True)
    return Answer(code)


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
