"""``polygym optimize`` at work: opens the folder, watches the course of the search, reports.

The course itself is :mod:`polygym.search.driver`. Whatever ends the search early (a signal,
a full disk, a worker that cannot be started) is answered by what was found so far and the words
with which to go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from polygym.cli.failures import error_report
from polygym.cli.output.console import heading, report_background_load, spinner, write_text
from polygym.cli.output.defects import report_defects
from polygym.cli.output.progress import mapping_progress, search_progress, waiting_phase
from polygym.cli.output.ranking import print_ranking
from polygym.cli.output.resume_command import resume_command
from polygym.cli.result import CommandResult
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.files import create_numbered_folder, write_atomically
from polygym.pictures.charts.convergence import convergence_png
from polygym.runtime.evaluation import Evaluator
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor
from polygym.search.driver import (
    PhaseHooks,
    PhaseWatcher,
    SearchExtent,
    SearchPhase,
    measure_automatic,
    measure_isl,
    open_search,
    run_search,
)
from polygym.search.folder import (
    BEST_C_FILE,
    BEST_FILE,
    JOURNAL_FILE,
    SUMMARY_FILE,
    TRIALS_FILE,
    SearchFolder,
)
from polygym.search.ranking import Ranking, search_document
from polygym.search.settings import SearchSetting

_PICTURE = "convergence.png"


@dataclass(frozen=True, slots=True)
class _SearchEnd:
    """How a search ended: with code 0 and no words as it should, else early."""

    code: int = 0
    message: str = ""
    interrupted: bool = False

    @staticmethod
    def by(stop: StopRequest, error: BaseException | None) -> _SearchEnd:
        """Return the end that an exception is."""
        if error is None:
            return _SearchEnd()
        if isinstance(error, KeyboardInterrupt):
            return _SearchEnd(stop.code, "interrupted", True)
        failure = error_report(error)
        return _SearchEnd(failure.code, failure.message)

    def to_json(self) -> dict[str, Any]:
        """Return what the document says about the end."""
        failed = self.code and not self.interrupted
        return {"interrupted": self.interrupted} | ({"error": self.message} if failed else {})


def search_and_report(
    setting: SearchSetting,
    extent: SearchExtent,
    out: Path | None,
    resumed: bool,
    plot: bool,
    as_json: bool,
) -> CommandResult:
    """Search, compare the best with isl's schedule and the original order, and say what came of it.

    Without ``out`` a new folder is made, once it is known that the original order runs.
    """
    program = setting.subject.program
    stop, machine = StopRequest(), LoadMonitor()
    with ExitStack() as stack:
        search = None if out is None else _open_search(stack, setting, out, resumed)
        evaluator = stack.enter_context(Evaluator(program, setting.evaluation))
        with spinner(f"measuring the original order of {program.name}"):
            isl = measure_isl(program.scop, evaluator)
            default = measure_automatic(program, evaluator, isl)
        if search is None:
            folder = create_numbered_folder(Path.cwd(), f"polygym-{Path(program.name).stem}")
            search = _open_search(stack, setting, folder, False)
        course = run_search(
            search, extent, isl, evaluator, _phase_watcher(program.name, stop), default
        )
        load = machine.load()
    end = _SearchEnd.by(stop, course.error)
    return _report(search, course.ranking, extent, plot, end, load, as_json)


def _open_search(
    stack: ExitStack, setting: SearchSetting, folder: Path, resumed: bool
) -> SearchFolder:
    search = open_search(setting, folder, resumed)
    stack.callback(search.close)
    return search


def _phase_watcher(name: str, stop: StopRequest) -> PhaseWatcher:
    """Return what shows how far a search is, and has signals stop it."""

    @contextmanager
    def watch(phase: SearchPhase, search: SearchFolder, count: int) -> Iterator[PhaseHooks]:
        shown: AbstractContextManager[Any]
        match phase:
            case SearchPhase.EXPLORE:
                shown = search_progress(name, count, search.tally)
            case SearchPhase.MAPPINGS:
                shown = mapping_progress(name, count, search)
            case SearchPhase.TOGETHER:
                shown = waiting_phase("measuring the best ones together")
            case _:
                assert_never(phase)
        with stoppable(stop), shown as show:
            yield PhaseHooks(show, stop.allowed)

    return watch


def _report(
    search: SearchFolder,
    ranking: Ranking,
    extent: SearchExtent,
    plot: bool,
    end: _SearchEnd,
    load: BackgroundLoad | None,
    as_json: bool,
) -> CommandResult:
    """Write the last files and say what was found, and how to go on after an early end."""
    files = _files(search, ranking, plot)
    result = {
        **search_document(search, ranking, extent.budget, files),
        "foreign_load": None if load is None else load.to_json(),
        **end.to_json(),
    }
    try:
        search.write_summary(result)
        if plot:
            write_atomically(search.folder / _PICTURE, _picture(search, ranking))
    except OSError as error:
        end = end if end.code else _SearchEnd.by(StopRequest(), error)
    defects = ranking.defects(search)
    code = end.code or int(bool(defects))
    if as_json:
        return CommandResult(code, {**result, **end.to_json()})
    print_ranking(search, ranking, extent.budget)
    report_defects(defects, search.setting.evaluation.mapping)
    report_background_load(load)
    heading("\nFiles")
    for name in files.values():
        write_text(f"  {name}")
    if end.code:
        write_text(f"{end.message}; to go on:", err=True)
        write_text(f"  {resume_command(search.setting, extent, plot, search.folder)}", err=True)
    return CommandResult(code)


def _files(search: SearchFolder, ranking: Ranking, plot: bool) -> dict[str, str]:
    """Return the paths of the files that there are, or will be, by what they hold."""
    names = {"episodes": JOURNAL_FILE, "summary": SUMMARY_FILE}
    if search.trials.count:
        names |= {"tuning": TRIALS_FILE}
    if ranking.best is not None:
        names |= {"best": BEST_FILE, "best_c": BEST_C_FILE}
    if plot:
        names["plot"] = _PICTURE
    return {what: str(search.folder / name) for what, name in names.items()}


def _picture(search: SearchFolder, ranking: Ranking) -> bytes:
    program, tally = search.setting.subject.program, search.tally
    sizes = " ".join(f"{name}={value}" for name, value in program.parameters)
    references = {"-O3": 1.0}
    if (isl := ranking.isl.evaluation) is not None and isl.is_ok:
        references["isl"] = isl.speedup
    # The best ones, timed again, may be slower than the curve says.
    title = f"{program.name}: {sizes}; single measurements"
    return convergence_png(title, tally.curve, tally.explored, references)
