"""``polygym optimize`` at work: opens the folder, watches the search, reports.

The loop itself is :mod:`polygym.search.loop`. After an early end (a signal, a full disk, a worker
that cannot be started) the report has what was found so far and the command to go on with.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygym.cli.failures import error_report
from polygym.cli.options.cluster import open_fleet
from polygym.cli.output.console import (
    CommandResult,
    heading,
    report_background_load,
    spinner,
    write_text,
)
from polygym.cli.output.limits import report_defects
from polygym.cli.output.progress import search_progress
from polygym.cli.output.ranking import print_ranking, print_storage_trial, resume_command
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.files import write_atomically
from polygym.mapping.mapping import Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.pictures.charts.convergence import convergence_png
from polygym.programs.comprehensions import definition_of, is_comprehension
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.runtime.worker.timing import describe_host
from polygym.search import folder
from polygym.search.loop import SearchHooks, SearchProgress, run_search
from polygym.search.result import SearchResult, SearchStage
from polygym.search.runner.local import RunnerFactory, open_local_runner
from polygym.search.runner.ray.fleet.transport import ClusterAddress
from polygym.search.settings import SearchSetting
from polygym.search.storage_trial import StorageTrial, try_storage
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.cache import user_cache

if TYPE_CHECKING:
    from polygym.search.runner.ray.fleet.fleet import Fleet
    from polygym.search.runner.ray.fleet.members import NodeGreeting

_PICTURE = "convergence.png"


@dataclass(frozen=True, slots=True)
class _SearchEnd:
    """The end of a search: code 0 and no message, or an early one."""

    code: int = 0
    message: str = ""

    @staticmethod
    def by(stop: StopRequest, error: BaseException | None) -> _SearchEnd:
        """Return the end that an exception is."""
        if error is None:
            return _SearchEnd()
        if isinstance(error, KeyboardInterrupt):
            return _SearchEnd(stop.code, "interrupted")
        failure = error_report(error)
        return _SearchEnd(failure.code, failure.message)

    def to_json(self) -> dict[str, Any]:
        """Return what the document says about the end."""
        failed = self.code and self.message != "interrupted"
        return {"error": self.message} if failed else {}


def search_and_report(
    setting: SearchSetting,
    out: Path | None,
    resumed: bool,
    plot: bool,
    on: ClusterAddress | None,
    as_json: bool,
    tries_storage: bool = False,
) -> CommandResult:
    """Search, compare the best with isl's schedule and the original order, and report.

    Without ``out`` a new folder is made, once it is known that the original order runs. With
    ``tries_storage`` storage and splitting were chosen by models: then they are measured first.
    """
    program, plan = setting.subject.program, setting.plan
    builder, sizes = _builder(setting.source, setting.evaluation.mapping, dict(program.parameters))
    similar = () if builder is None else builder.similar_choices(sizes)
    stop, machine = StopRequest(), LoadMonitor()
    with ExitStack() as stack:
        measurer = _open_measurer(on, stop, stack)
        node = ""
        if measurer.there is not None:  # proposals depend on the machine that measures
            models = plan.model_options.on_machine(measurer.there.where)
            setting, node = (
                replace(setting, plan=replace(plan, model_options=models)),
                str(measurer.there.kind),
            )
        trial = StorageTrial(setting)
        if tries_storage:
            trial = _trial(setting, measurer, stop)
            setting = trial.setting
        search = folder.open_search(setting, out, resumed, similar, node)
        stack.callback(search.close)
        result = _search(search, measurer, stop, machine)
        # What is best on another kind of machine is not what the operators should find here.
        is_local = measurer.there is None or (
            measurer.there.kind.machine.key == machine_fingerprint().key
        )
        kept = builder is not None and user_cache() is not None and is_local and result.best.is_ok
        if builder is not None and kept:
            builder.compile_tuned(sizes, result)
        end = _SearchEnd.by(stop, result.error)
        load = machine.last_load
        files = _files(search, result, plot)
        document = {
            **search.document(result),
            "storage_trial": trial.to_json(),
            "cached": kept,
            "files": files,
            "machine": asdict(describe_host()),
            "background_load": None if load is None else load.to_json(),
            **end.to_json(),
        }
        if measurer.there is not None:
            document["node"] = measurer.there.kind.to_json()
        try:
            if result.best.is_ok:
                search.confirm(result.best_finding)
            search.write_summary(document)
            if plot:
                write_atomically(search.folder / _PICTURE, _picture(search, result))
        except OSError as error:
            end = end if end.code else _SearchEnd.by(StopRequest(), error)
    code = end.code or int(bool(result.defects))
    if as_json:
        return CommandResult(code, {**document, **end.to_json()})
    print_ranking(search.tally, result, setting.subject.program, setting.plan.budget)
    print_storage_trial(trial)
    report_defects(result.defects, result.best.mapping)
    report_background_load(load)
    heading("\nFiles")
    for name in files.values():
        write_text(f"  {name}")
    if kept:
        write_text("and in the cache, for the operators of polygym.tc")
    if end.code:
        write_text(f"{end.message}; to go on:", err=True)
        write_text(f"  {resume_command(setting, plot, search.folder)}", err=True)
    return CommandResult(code)


def _trial(setting: SearchSetting, measurer: _Measurer, stop: StopRequest) -> StorageTrial:
    """Measure the storage that models chose beside that of the source."""

    def factory_of(candidate: SearchSetting) -> RunnerFactory:
        return measurer.opener(candidate.source, stop, lambda: None)

    with stoppable(stop), spinner("trying the storage that models chose and the source's"):
        return try_storage(setting, factory_of, measurer.waiting)


@dataclass(slots=True)
class _Display:
    """The progress display of the current stage; entering a stage ends that of the one before."""

    search: folder.SearchFolder
    nodes: Callable[[], str]
    stack: ExitStack = field(default_factory=ExitStack)
    show: Callable[[], None] = lambda: None

    def enter(self, stage: SearchStage | None) -> None:
        """Begin to show a stage."""
        self.stack.close()
        self.show = self.stack.enter_context(search_progress(self.search, stage, self.nodes))


def _search(
    search: folder.SearchFolder, measurer: _Measurer, stop: StopRequest, machine: LoadMonitor
) -> SearchResult:
    """Search, show how far it is, and look what else runs on the machine."""
    setting = search.setting
    display = _Display(search, measurer.states)

    def show(_: SearchProgress) -> None:
        machine.update()
        display.show()

    result = None
    try:
        with stoppable(stop), display.stack:
            result = run_search(
                setting.subject.program,
                setting.evaluation.mapping,
                setting.plan,
                similar=search.similar,
                recorder=search,
                hooks=SearchHooks(show, measurer.waiting, display.enter),
                options=setting.evaluation,
                make_task=lambda: setting.subject.task,
                runner_factory=measurer.opener(setting.source, stop, lambda: display.show()),
            )
    except KeyboardInterrupt:
        if result is None:
            raise
        if result.error is None:
            result = replace(result, error=KeyboardInterrupt())
    return result


@dataclass(frozen=True, slots=True)
class _Measurer:
    """The machine that measures: this one, or the nodes of a fleet of the kind of ``there``."""

    waiting: Callable[[], AbstractContextManager[None]]
    fleet: Fleet | None = None
    there: NodeGreeting | None = None

    def states(self) -> str:
        """Return how the nodes are, "" where there are none."""
        return "" if self.fleet is None else self.fleet.states()

    def opener(
        self, source: ProgramSource, stop: StopRequest, show: Callable[[], None]
    ) -> RunnerFactory:
        """Return what opens it for a program; ``show`` is called while nodes are waited for."""
        if self.fleet is None or self.there is None:
            return open_local_runner
        from polygym.search.runner.ray.ray_runner import RayRunnerFactory

        return RayRunnerFactory(
            self.fleet, self.there.kind, source, lambda: bool(stop.signal_number), show
        )


def _open_measurer(on: ClusterAddress | None, stop: StopRequest, stack: ExitStack) -> _Measurer:
    """Return the machine that measures; nodes of a cluster are assembled."""
    if on is None:
        return _Measurer(stop.allowed)
    from polygym.search.runner.ray.fleet.members import most_frequent_kind

    fleet = stack.enter_context(open_fleet(on))
    return _Measurer(nullcontext, fleet, most_frequent_kind(fleet.assemble()))


def _builder(
    source: ProgramSource, start: Mapping, own: dict[str, int]
) -> tuple[KernelBuilder | None, dict[str, int]]:
    """Return the builder of a comprehension's kernels, and its sizes by its own names.

    Schedules of a program that is split, or under another storage plan, are none of the
    comprehension's.
    """
    is_as_written = source.storage.is_source and not source.splitting.statements
    if not is_comprehension(source.target) or not is_as_written:
        return None, {}
    builder = KernelBuilder(
        definition_of(source.target, source.function), BuildOptions(mapping=start)
    )
    return builder, builder.sizes_of_program(own)


def _files(search: folder.SearchFolder, result: SearchResult, plot: bool) -> dict[str, str]:
    """Return the paths of the files that there are, or will be, by their content."""
    names = {"journal": folder.JOURNAL_FILE, "summary": folder.SUMMARY_FILE}
    if result.best.is_ok:
        names |= {"best": folder.BEST_FILE, "best_c": folder.BEST_C_FILE}
    if plot:
        names["plot"] = _PICTURE
    return {content: str(search.folder / name) for content, name in names.items()}


def _picture(search: folder.SearchFolder, result: SearchResult) -> bytes:
    program, tally = search.setting.subject.program, search.tally
    sizes = " ".join(f"{name}={value}" for name, value in program.parameters)
    references = {"-O3": 1.0}
    if (isl := result.isl) is not None and isl.is_ok:
        references["isl"] = isl.speedup
    # The best ones, timed again, may be slower than the curve shows.
    title = f"{program.name}: {sizes}; single measurements"
    curve = [(max(explored, 1), speedup) for explored, speedup in tally.curve]
    return convergence_png(title, curve, tally.explored, references)
