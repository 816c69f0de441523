"""``polygym tune`` at work: opens the folder, watches the tuner, keeps the best, reports.

The course itself is :mod:`polygym.search.tune.tuner`, what is written down
:mod:`polygym.search.tune.folder`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polygym.cli.alarm import alarm
from polygym.cli.answer import Answer
from polygym.cli.clusters import fleet_on
from polygym.cli.exploring import trying
from polygym.cli.output import heading, say, say_foreign_load, seconds
from polygym.cli.stopping import Stop, stoppable
from polygym.cli.tables import print_table
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.episodes.kernels import Source
from polygym.measure.evaluation import Evaluation, EvaluationOptions
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.measure.worker.foreign_load import LoadWatch
from polygym.programs.comprehensions import definition_of, is_comprehension
from polygym.programs.wording import without_parameters
from polygym.search.cluster.address import Address
from polygym.search.explore.setting import Setting
from polygym.search.tune import Plan, Progress, Tuned
from polygym.search.tune.bench import Opener, open_here
from polygym.search.tune.folder import TuningFiles, document, tune_in
from polygym.tc.builder import Builder, Options
from polygym.tc.cache import user_cache

if TYPE_CHECKING:
    from polygym.search.cluster.fleet import Fleet
    from polygym.search.cluster.members import Greeting

# What a record names as the policy where none was at work; a replay does not need it.
_NO_POLICY = "uniform"


def tune_and_report(
    source: Source,
    plan: Plan,
    start: Mapping,
    out: Path | None,
    resumed: bool,
    as_json: bool,
    on: Address | None = None,
) -> Answer:
    """Tune a program, or go on with that in a folder, and say what came of it."""
    measuring = EvaluationOptions(threads=start.threads, mapping=start)
    setting = Setting(source=source, policy=_NO_POLICY, measuring=measuring, seed=plan.seed)
    program = setting.subject.program
    builder, sizes = _builder(source, start, dict(program.parameters))
    seeds = () if builder is None else builder.seeds(sizes)
    stop, machine = Stop(), LoadWatch()
    with ExitStack() as stack:
        bench = _bench(on, stop, stack)
        kind = None if bench.there is None else bench.there.kind
        if bench.there is not None:  # what is tried follows from the machine that measures
            plan = replace(plan, guide=plan.guide.elsewhere(bench.there.where))
        node = "" if kind is None else str(kind)
        if out is None or not resumed:
            files = TuningFiles.begin(setting, plan, out, seeds, node)
        else:
            files = TuningFiles.resume(setting, plan, out, seeds, node)
        stack.callback(files.close)
        found = _tuned(files, source, bench, stop, machine)
        # What is best on another kind of machine is not what the operators should find here.
        is_like_here = kind is None or kind.machine.key == fingerprint().key
        kept = builder is not None and user_cache() is not None and is_like_here
        if builder is not None and kept:
            builder.tuned(sizes, found)
        load = machine.seen
        foreign = None if load is None else load.to_json()
        summary = {**document(found, files, kept), "foreign_load": foreign}
        if kind is not None:
            summary["node"] = kind.to_json()
        files.finish(found.best, summary)
    code = stop.code if stop.number else int(bool(found.defects))
    if as_json:
        return Answer(code, summary)
    _print(found, files, kept)
    say_foreign_load(load)
    if stop.number:
        say(f"interrupted; to go on: the same, with --out {files.folder} --resume", err=True)
    return Answer(code)


def _tuned(
    files: TuningFiles, source: Source, bench: _Bench, stop: Stop, machine: LoadWatch
) -> Tuned:
    """Tune, show how far it is, and look what else runs on the machine."""
    program, plan = files.setting.subject.program, files.plan
    latest: list[Progress] = []
    found = None
    try:
        with (
            stoppable(stop),
            trying(program.name, plan.generations * plan.population, latest, bench.states) as show,
        ):

            def report(progress: Progress) -> None:
                latest[:] = [progress]
                machine.look()
                show()

            found = tune_in(files, report, bench.waiting, bench.opener(source, stop, show))
    except KeyboardInterrupt:
        if found is None:
            raise
    return found


@dataclass(frozen=True, slots=True)
class _Bench:
    """Who measures: this machine, or the nodes of a fleet that are of the kind of ``there``."""

    waiting: Callable[[], AbstractContextManager[None]]
    fleet: Fleet | None = None
    there: Greeting | None = None

    def states(self) -> str:
        """Return how the nodes are, "" where there are none."""
        return "" if self.fleet is None else self.fleet.states()

    def opener(self, source: Source, stop: Stop, show: Callable[[], None]) -> Opener:
        """Return what opens it for a program; ``show`` is called while nodes are waited for."""
        if self.fleet is None or self.there is None:
            return open_here
        from polygym.search.cluster.benches import FleetBenches

        return FleetBenches(self.fleet, self.there.kind, source, lambda: bool(stop.number), show)


def _bench(on: Address | None, stop: Stop, stack: ExitStack) -> _Bench:
    """Return who measures, the nodes having been heard of."""
    if on is None:
        return _Bench(stop.allowed)
    from polygym.search.cluster.members import most_frequent

    fleet = stack.enter_context(fleet_on(on))
    return _Bench(nullcontext, fleet, most_frequent(fleet.assemble()))


def _builder(
    source: Source, start: Mapping, own: dict[str, int]
) -> tuple[Builder | None, dict[str, int]]:
    """Return what makes the kernels of a comprehension, and its sizes by its own names.

    Schedules of a program in pieces, or of one that keeps its values elsewhere, are none of the
    comprehension's.
    """
    is_as_written = source.storage.keeps and not source.splitting.statements
    if not is_comprehension(source.target) or not is_as_written:
        return None, {}
    builder = Builder(definition_of(source.target, source.function), Options(mapping=start))
    return builder, builder.sizes_of_program(own)


def _print(found: Tuned, files: TuningFiles, kept: bool) -> None:
    program = files.setting.subject.program
    sizes = ", ".join(f"{name} = {value}" for name, value in program.parameters)
    heading(f"{program.name}: {program.scop.name}({sizes})")
    baseline = found.best.baseline_seconds
    print_table(
        ("", "STATUS", "TIME", "OVER -O3"),
        [
            ("original", "ok", seconds(baseline), "1.00x"),
            _row("start", found.start),
            _row("best", found.best),
        ],
        "llrr",
    )
    say(f"{found.tried} candidates tried")
    alarm(found.defects, found.best.mapping)
    if caveat := found.best.mapping.caveat:
        say(f"{caveat[0].upper()}{caveat[1:]}.")
    if found.is_faster:
        say(f"Best: {found.gain:.2f}x the start:")
    else:
        say("Nothing faster than the start was found.")
    say(f"  strategy: {found.strategy}")
    say(f"  schedule: {without_parameters(str(found.best.schedule))}")
    simpler = found.best.mapping.simplified(found.best.done)
    say(f"  mapping: {found.best.mapping}{simpler and f' ({simpler})'}")
    heading("\nFiles")
    for name in files.names().values():
        say(f"  {name}")
    if kept:
        say("and in the cache, for the operators of polygym.tc")


def _row(name: str, one: Evaluation) -> tuple[str, ...]:
    if not one.is_ok:
        return (name, one.status.value, "-", "-")
    return (name, one.status.value, seconds(one.seconds), f"{one.speedup:.2f}x")
