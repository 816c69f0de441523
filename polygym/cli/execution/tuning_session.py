"""``polygym tune`` at work: opens the folder, watches the tuner, keeps the best, reports.

The course itself is :mod:`polygym.search.tuner`, what is written down
:mod:`polygym.search.tuning_folder`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polygym.cli.options.cluster import open_fleet
from polygym.cli.output.console import format_seconds, heading, report_background_load, write_text
from polygym.cli.output.defects import report_defects
from polygym.cli.output.progress import tuning_progress
from polygym.cli.output.tables import print_table
from polygym.cli.result import CommandResult
from polygym.cli.stop_signals import StopRequest, stoppable
from polygym.mapping.mapping import Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.programs.comprehensions import definition_of, is_comprehension
from polygym.programs.isl_text import without_parameters
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.search import TuningPlan, TuningProgress, TuningResult
from polygym.search.runner.local import RunnerFactory, open_local_runner
from polygym.search.runner.ray.fleet.address import ClusterAddress
from polygym.search.settings import SearchSetting
from polygym.search.tuning_folder import TuningFolder, tune_in_folder, tuning_document
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.cache import user_cache

if TYPE_CHECKING:
    from polygym.search.runner.ray.fleet.fleet import Fleet
    from polygym.search.runner.ray.fleet.members import NodeGreeting

# What a record names as the policy where none was at work; a replay does not need it.
_POLICY_PLACEHOLDER = "uniform"


def tune_and_report(
    source: ProgramSource,
    plan: TuningPlan,
    start: Mapping,
    out: Path | None,
    resumed: bool,
    as_json: bool,
    on: ClusterAddress | None = None,
) -> CommandResult:
    """Tune a program, or go on with that in a folder, and say what came of it."""
    measuring = EvaluationOptions(threads=start.threads, mapping=start)
    setting = SearchSetting(
        source=source, policy=_POLICY_PLACEHOLDER, evaluation=measuring, seed=plan.seed
    )
    program = setting.subject.program
    builder, sizes = _builder(source, start, dict(program.parameters))
    seeds = () if builder is None else builder.similar_choices(sizes)
    stop, machine = StopRequest(), LoadMonitor()
    with ExitStack() as stack:
        bench = _open_measurer(on, stop, stack)
        kind = None if bench.there is None else bench.there.kind
        if bench.there is not None:  # what is tried follows from the machine that measures
            plan = replace(plan, model_options=plan.model_options.on_machine(bench.there.where))
        node = "" if kind is None else str(kind)
        if out is None or not resumed:
            files = TuningFolder.begin(setting, plan, out, seeds, node)
        else:
            files = TuningFolder.resume(setting, plan, out, seeds, node)
        stack.callback(files.close)
        result = _tune(files, source, bench, stop, machine)
        # What is best on another kind of machine is not what the operators should find here.
        is_like_here = kind is None or kind.machine.key == machine_fingerprint().key
        kept = builder is not None and user_cache() is not None and is_like_here
        if builder is not None and kept:
            builder.compile_tuned(sizes, result)
        load = machine.last_load
        foreign = None if load is None else load.to_json()
        summary = {**tuning_document(result, files, kept), "foreign_load": foreign}
        if kind is not None:
            summary["node"] = kind.to_json()
        files.finish(result.best, summary)
    code = stop.code if stop.signal_number else int(bool(result.defects))
    if as_json:
        return CommandResult(code, summary)
    _print(result, files, kept)
    report_background_load(load)
    if stop.signal_number:
        write_text(f"interrupted; to go on: the same, with --out {files.folder} --resume", err=True)
    return CommandResult(code)


def _tune(
    files: TuningFolder,
    source: ProgramSource,
    bench: _Measurer,
    stop: StopRequest,
    machine: LoadMonitor,
) -> TuningResult:
    """Tune, show how far it is, and look what else runs on the machine."""
    program, plan = files.setting.subject.program, files.plan
    latest: list[TuningProgress] = []
    result = None
    try:
        with (
            stoppable(stop),
            tuning_progress(
                program.name, plan.generations * plan.population, latest, bench.states
            ) as show,
        ):

            def report(progress: TuningProgress) -> None:
                latest[:] = [progress]
                machine.update()
                show()

            result = tune_in_folder(files, report, bench.waiting, bench.opener(source, stop, show))
    except KeyboardInterrupt:
        if result is None:
            raise
    return result


@dataclass(frozen=True, slots=True)
class _Measurer:
    """Who measures: this machine, or the nodes of a fleet that are of the kind of ``there``."""

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
        from polygym.search.runner.ray.evaluations.ray_runner import RayRunnerFactory

        return RayRunnerFactory(
            self.fleet, self.there.kind, source, lambda: bool(stop.signal_number), show
        )


def _open_measurer(on: ClusterAddress | None, stop: StopRequest, stack: ExitStack) -> _Measurer:
    """Return who measures, the nodes having been heard of."""
    if on is None:
        return _Measurer(stop.allowed)
    from polygym.search.runner.ray.fleet.members import most_frequent_kind

    fleet = stack.enter_context(open_fleet(on))
    return _Measurer(nullcontext, fleet, most_frequent_kind(fleet.assemble()))


def _builder(
    source: ProgramSource, start: Mapping, own: dict[str, int]
) -> tuple[KernelBuilder | None, dict[str, int]]:
    """Return what makes the kernels of a comprehension, and its sizes by its own names.

    Schedules of a program in pieces, or of one that keeps its values elsewhere, are none of the
    comprehension's.
    """
    is_as_written = source.storage.is_source and not source.splitting.statements
    if not is_comprehension(source.target) or not is_as_written:
        return None, {}
    builder = KernelBuilder(
        definition_of(source.target, source.function), BuildOptions(mapping=start)
    )
    return builder, builder.sizes_of_program(own)


def _print(found: TuningResult, files: TuningFolder, kept: bool) -> None:
    program = files.setting.subject.program
    sizes = ", ".join(f"{name} = {value}" for name, value in program.parameters)
    heading(f"{program.name}: {program.scop.name}({sizes})")
    baseline = found.best.baseline_seconds
    print_table(
        ("", "STATUS", "TIME", "OVER -O3"),
        [
            ("original", "ok", format_seconds(baseline), "1.00x"),
            _row("start", found.initial),
            _row("best", found.best),
        ],
        "llrr",
    )
    write_text(f"{found.tried} candidates tried")
    report_defects(found.defects, found.best.mapping)
    if caveat := found.best.mapping.timing_caveat:
        write_text(f"{caveat[0].upper()}{caveat[1:]}.")
    if found.is_faster:
        write_text(f"Best: {found.gain:.2f}x the start:")
    else:
        write_text("Nothing faster than the start was found.")
    write_text(f"  strategy: {found.source}")
    write_text(f"  schedule: {without_parameters(str(found.best.schedule))}")
    simpler = found.best.mapping.simplification_note(found.best.applied_mapping)
    write_text(f"  mapping: {found.best.mapping}{simpler and f' ({simpler})'}")
    heading("\nFiles")
    for name in files.names().values():
        write_text(f"  {name}")
    if kept:
        write_text("and in the cache, for the operators of polygym.tc")


def _row(name: str, one: Evaluation) -> tuple[str, ...]:
    if not one.is_ok:
        return (name, one.status.value, "-", "-")
    return (name, one.status.value, format_seconds(one.seconds), f"{one.speedup:.2f}x")
