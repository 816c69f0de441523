"""The course of ``polygym tune``: tune, write down, keep in the cache, report."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polygym
from polygym.cli.answer import Answer
from polygym.cli.exploring import trying
from polygym.cli.output import heading, say, seconds
from polygym.cli.stopping import Stop, stoppable
from polygym.cli.tables import print_table
from polygym.codegen.mapping import Mapping
from polygym.envs.kernels import Source
from polygym.errors import InputError
from polygym.evaluation import Evaluation, EvaluationOptions, c_text
from polygym.mdp.episode import TaskOptions
from polygym.measure.timing import this_machine
from polygym.programs.comprehensions import definition_of, is_comprehension
from polygym.programs.wording import without_parameters
from polygym.search.files import make_new_folder, write_atomically
from polygym.search.journal import Journal
from polygym.search.setting import FORMAT, VERSION, Setting
from polygym.tc.builder import Builder, Options
from polygym.tc.cache import user_cache
from polygym.tune import Plan, Progress, Tuned, tune

TRIALS, BEST, BEST_C, SUMMARY = "trials.jsonl", "best.json", "best.c", "summary.json"
_NOISE = 0.03

# What a record names as the policy where none was at work; a replay does not need it.
_NO_POLICY = "uniform"


def tune_and_report(
    source: Source, plan: Plan, start: Mapping, out: Path | None, as_json: bool
) -> Answer:
    """Tune a program, and say what came of it."""
    measuring = EvaluationOptions(threads=start.threads, mapping=start)
    setting = Setting(source, TaskOptions(), measuring, _NO_POLICY, plan.seed)
    program = setting.subject.program
    builder, sizes = _builder(source, start, dict(program.parameters))
    if out is not None:
        _check_folder(out)
    stop, found = Stop(), None
    with ExitStack() as stack:
        files = _Files(setting, plan, out)
        stack.callback(files.close)
        latest: list[Progress] = []
        try:
            with (
                stoppable(stop),
                trying(program.name, plan.generations * plan.population, latest) as show,
            ):

                def report(progress: Progress) -> None:
                    files.add(progress)
                    latest[:] = [progress]
                    show()

                seeds = () if builder is None else builder.seeds(sizes)
                found = tune(program, start, plan, seeds=seeds, show=report, waiting=stop.allowed)
        except KeyboardInterrupt:
            if found is None:
                raise
        kept = builder is not None and user_cache() is not None
        if builder is not None and kept:
            builder.tuned(sizes, found)
        document = _document(found, plan, files, kept)
        files.finish(found.best, document)
    code = stop.code if stop.number else 0
    if as_json:
        return Answer(code, document)
    _print(found, files, kept)
    if stop.number:
        say("interrupted", err=True)
    return Answer(code)


def _builder(
    source: Source, start: Mapping, own: dict[str, int]
) -> tuple[Builder | None, dict[str, int]]:
    """Return what makes the kernels of a comprehension, and its sizes by its own names."""
    if not is_comprehension(source.target):
        return None, {}
    builder = Builder(definition_of(source.target, source.function), Options(mapping=start))
    return builder, builder.sizes_of_program(own)


def _check_folder(folder: Path) -> None:
    there = [name for name in (TRIALS, BEST, BEST_C, SUMMARY) if (folder / name).exists()]
    if there:
        raise InputError(
            f"{folder}: expected a folder without the files of a search, found {there[0]}"
        )


@dataclass(slots=True)
class _Files:
    """What is written; without a folder of the user's a new one is made when there is something."""

    setting: Setting
    plan: Plan
    given: Path | None
    folder: Path | None = None
    trials: Journal | None = None
    best: Evaluation | None = None
    count: int = field(default=0)

    def add(self, progress: Progress) -> None:
        """Write a candidate down, and the best anew if it is that."""
        if self.trials is None:
            self.trials = Journal.create(self._made() / TRIALS, self._head())
        self.trials.append(
            {
                "index": self.count,
                "generation": progress.generation,
                "strategy": str(progress.candidate.strategy),
                "outcome": progress.evaluation.to_json(),
            }
        )
        self.count += 1
        if progress.is_best:
            self._write_best(progress.evaluation)

    def finish(self, best: Evaluation, document: dict[str, Any]) -> None:
        """Write the files that stand at the end."""
        self._write_best(best)
        program = self.setting.subject.program
        text = c_text(program, best.schedule, best.mapping)
        write_atomically(self._made() / BEST_C, text.encode())
        write_atomically(self._made() / SUMMARY, (json.dumps(document, indent=2) + "\n").encode())

    def names(self) -> dict[str, str]:
        """Return the paths by what they hold."""
        names = {"trials": TRIALS, "best": BEST, "best_c": BEST_C, "summary": SUMMARY}
        return {what: str(self._made() / name) for what, name in names.items()}

    def close(self) -> None:
        """Close the journal."""
        if self.trials is not None:
            self.trials.close()

    def _made(self) -> Path:
        if self.folder is None:
            name = Path(self.setting.subject.program.name).stem
            if self.given is None:
                self.folder = make_new_folder(Path.cwd(), f"polygym-{name}")
            else:
                self.given.mkdir(parents=True, exist_ok=True)
                self.folder = self.given
        return self.folder

    def _head(self) -> dict[str, Any]:
        program = self.setting.subject.program
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": polygym.__version__,
            "program": program.name,
            "parameters": dict(program.parameters),
            "mapping": str(self.setting.measuring.mapping),
            **asdict(self.plan),
        }

    def _write_best(self, evaluation: Evaluation) -> None:
        """Write the best as a record that can be replayed."""
        measuring = replace(self.setting.measuring, mapping=evaluation.mapping)
        record = replace(self.setting, measuring=measuring).record_of_given(evaluation)
        write_atomically(self._made() / BEST, (json.dumps(record, indent=2) + "\n").encode())


def _document(found: Tuned, plan: Plan, files: _Files, kept: bool) -> dict[str, Any]:
    mapping = found.best.mapping
    return {
        **found.to_json(),
        **asdict(plan),
        "tolerance": mapping.tolerance,
        "caveat": mapping.caveat,
        "cached": kept,
        "files": files.names(),
        "machine": asdict(this_machine()),
    }


def _print(found: Tuned, files: _Files, kept: bool) -> None:
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
    say(f"{found.tried} candidates tried", newline=False)
    say(f", {found.wrong} of them wrong: {found.best.mapping.blame}" if found.wrong else "")
    if caveat := found.best.mapping.caveat:
        say(f"{caveat[0].upper()}{caveat[1:]}.")
    if found.gain <= 1 + _NOISE:
        say("Nothing faster than the start was found.")
    else:
        say(f"Best: {found.gain:.2f}x the start:")
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
