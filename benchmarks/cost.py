"""Comparison of searches by the trials they need: random, genetic, and learned models.

The study has eight parts, which keep what they find in the folder ``--out``; those that measure go
on where they were ended::

    python benchmarks/cost.py search --out study              # C1 to C12 and eight kernels
    python benchmarks/cost.py search transfer --programs layers --out study
    python benchmarks/cost.py finals --out study              # what they held, all in turn
    python benchmarks/cost.py report --out study              # tables, and pictures into study/
    python benchmarks/cost.py invariance --out study          # nothing is measured
    python benchmarks/cost.py unseen --out study              # kernels, asked of random programs
    python benchmarks/cost.py ranks --out study               # the first of 1,000 schedules
    python benchmarks/cost.py gains --out study               # what a search gains, 30 kernels
    python benchmarks/cost.py layers --out study --trials 256 # C1 to C12 beside PyTorch

*search*: every contender searches every program with every seed, from the same start: ``--start
naive`` is the order of the text without any mapping but threads, and random candidates over
mappings and isl's schedules; ``--start default`` is what `polygym tune` begins with. A trial is a
candidate that is compiled, run and timed beside the original order. Contenders are named one by
one, or by the figure that they are in. ``of-layers`` needs the searches of C1 to C6 in the same
setting.

*finals*: the best of many measurements also is the luckiest, the more so the more there are. What
the searches of a program held after their trials runs in turn here, and these times count in the
report where there are any.

*report*: bests are divided by those of random search with the same program and seed, after as many
trials and after twice as many; in brackets the interval of 90 %, by drawing programs. *To 95
%* are the trials until a search has 95 % of the best that anyone has found, in the median. Searches
of several machines stand in one table, each compared with those of its own kind of machine:
``--pack FILE`` writes what there is to a small file, which ``--with FILE`` adds elsewhere.

``python benchmarks/cost.py PART --help`` says what else each takes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from search_study import (
    contenders,
    curves,
    figures,
    gains,
    invariance,
    layers,
    programs,
    ranking,
    remeasurement,
    unseen_kernels,
)
from search_study.journal import (
    SearchRecord,
    SearchTask,
    StudyJournal,
    StudySetting,
    exclusive_lock,
)
from search_study.options import Part, parser_of, seeds_of
from search_study.prior_models import prior_model, random_program_model, similar_machine
from search_study.search_run import run_search
from search_study.tables import searches_table

from polygym.cli.interrupts import interrupts_raise
from polygym.cost.models.cost_model import CostModel
from polygym.errors import PolygymError
from polygym.files import write_atomically
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.search.corpus.packing import LARGE_FILE as PACKED
from polygym.search.corpus.packing import open_packed, unpack
from polygym.search.corpus.samples import case_rows, machine_of, training_samples, without_tests
from polygym.search.corpus.store import open_corpus

REMEASURED = "finals.jsonl"


def main() -> int:
    """Read the options, and do one part."""
    options = parser_of(PARTS, __doc__).parse_args()
    try:
        with nullcontext() if options.part is write_report else exclusive_lock(options.out):
            return int(options.part(options))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run_searches(options: argparse.Namespace) -> int:
    """Search what is missing; what a program refuses is said, and left out."""
    try:
        chosen = contenders.expand_names(options.contenders)
    except ValueError as error:
        raise PolygymError(str(error)) from None
    wanted = programs.check_programs(options.programs, options.dataset)
    journal = StudyJournal(options.out)
    setting = StudySetting(
        options.start, options.dataset, options.threads, options.trials, machine_fingerprint().key
    )
    # Seed by seed, so that what there is after any time is of all programs and contenders; those
    # that learn from the searches of others come when these have been made.
    early = [name for name in chosen if contenders.CONTENDERS[name].prior != contenders.OF_LAYERS]
    late = [name for name in chosen if name not in early]
    tasks = [
        SearchTask(setting, program, contender, seed)
        for part in (early, late)
        for seed in seeds_of(options)
        for program in wanted
        for contender in part
        if part is early or program not in programs.SOURCES
    ]
    missing = [task for task in tasks if not journal.has(task)]
    began = time.monotonic()
    failed = 0
    models: dict[str, tuple[CostModel, bool] | None] = {}
    for number, task in enumerate(missing, start=1):
        if options.time_limit and time.monotonic() - began > options.time_limit:
            print(f"{len(missing) - number + 1} searches are left; the same command goes on")
            break
        label = f"{number}/{len(missing)} {task.program} {task.contender} seed {task.seed}"
        try:
            what = contenders.CONTENDERS[task.contender].prior
            if what not in models:
                models[what] = prior_model(what, journal.of(setting), options.out)
            record = run_search(task, models[what], _progress_counter(label, task.setting.trials))
        except PolygymError as error:
            failed += 1
            print(f"\r{label}: {error}", file=sys.stderr)
            continue
        journal.add(record)
        best = max(record.speedups, default=0.0)
        print(f"\r{label}: best {best:.2f}x in {record.seconds:.0f} s", flush=True)
    _tables(_with_remeasurement(journal, options.out))
    return 1 if failed else 0


class _ProgressPrinter:
    """Says on a terminal what a part is doing."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __call__(self, what: str) -> None:
        if sys.stdout.isatty():
            print(f"\r{self._label}: {what}", end="", flush=True)


def _progress_counter(label: str, count: int) -> Callable[[int], None]:
    """Return what says on a terminal how many of so many are done."""
    say = _ProgressPrinter(label)
    return lambda done: say(f"{done} of {count}")


def write_report(options: argparse.Namespace) -> int:
    """Print tables, and draw every figure of which there is something that no other shows."""
    if not options.packed and not StudyJournal.is_in(options.out):
        raise PolygymError(f"{options.out}: expected a folder with searches, found none")
    journal = _with_remeasurement(StudyJournal(options.out, options.packed), options.out)
    _tables(journal)
    if not journal.searches:
        print(f"{options.out}: no search has ended yet")
    if options.pack:
        try:
            journal.pack(options.pack)
        except OSError as error:
            raise PolygymError(f"{options.pack}: cannot be written: {error}") from None
    for study in journal.studies():
        runs = curves.best_so_far((remeasurement.remeasured_part(study) or study).searches)
        for name, chosen in contenders.drawable_figures(runs).items():
            own = _common_runs({contender: runs[contender] for contender in chosen})
            if not own[chosen[0]]:
                continue
            path = options.out / f"{name}-{study.start}-{study.dataset}-{study.threads}.svg"
            write_atomically(path, figures.study_picture(name, study.start, own, runs).svg)
            print(path)
    return 0


def run_remeasurement(options: argparse.Namespace) -> int:
    """Measure again what is missing; what a program refuses is said, and left out."""
    journal = StudyJournal(options.out)
    here = _local_groups(journal, options.programs)
    path = options.out / REMEASURED
    known = remeasurement.read_remeasurements(path)
    missing = [
        heat
        for heat, own in here.items()
        if heat not in known or not remeasurement.is_complete(known[heat], own)
    ]
    began, failed = time.monotonic(), 0
    for number, heat in enumerate(missing, start=1):
        if options.time_limit and time.monotonic() - began > options.time_limit:
            print(f"{len(missing) - number + 1} programs are left; the same command goes on")
            break
        label = f"{number}/{len(missing)} {heat.program}"
        try:
            measured = remeasurement.remeasure(heat, here[heat], _ProgressPrinter(label))
        except PolygymError as error:
            failed += 1
            print(f"\r{label}: {error}", file=sys.stderr)
            continue
        remeasurement.append_remeasurement(path, measured)
        best = max(measured.speedups, default=0.0)
        print(f"\r{label}: {len(measured.speedups)} candidates, best {best:.2f}x", flush=True)
    _tables(_with_remeasurement(journal, options.out))
    return 1 if failed else 0


def _local_groups(
    journal: StudyJournal, programs: Sequence[str]
) -> dict[remeasurement.RemeasurementGroup, list[SearchRecord]]:
    """Return the searches of this machine by heat, of some programs or of all."""
    heats = remeasurement.remeasurement_groups(journal.searches.values())
    here = {heat: own for heat, own in heats.items() if heat.machine == machine_fingerprint().key}
    names = sorted({heat.program for heat in here})
    for name in programs:
        if name not in names:
            known = ", ".join(names) or "no search of this machine"
            raise PolygymError(f"{name}: expected a program that was searched here, found {known}")
    return {heat: own for heat, own in here.items() if not programs or heat.program in programs}


def _with_remeasurement(journal: StudyJournal, folder: Path) -> StudyJournal:
    """Have the searches of a journal know what was measured again."""
    known = remeasurement.read_remeasurements(folder / REMEASURED)
    for record in remeasurement.with_remeasurement(journal.searches.values(), known):
        journal.searches[record.task] = record
    return journal


def _common_runs(runs: dict[str, dict[curves.RunKey, list[float]]]) -> dict[str, curves.Runs]:
    """Return the runs of those programs and seeds that all have."""
    keys = set.intersection(*(set(own) for own in runs.values()))
    return {name: {key: own[key] for key in keys} for name, own in runs.items()}


def _tables(journal: StudyJournal) -> None:
    for study in journal.studies():
        again = remeasurement.remeasured_part(study)
        if again is not None:
            print(f"\n{study}, {len(again.searches)} searches measured again")
            print(searches_table(again))
        print(f"\n{study}" + (", as each search measured" if again else ""))
        print(searches_table(remeasurement.as_first_measured(study)))


def run_invariance(options: argparse.Namespace) -> int:
    """Ask models that are shown candidates in different ways."""
    with TemporaryDirectory() as scratch:
        path = options.corpus or Path(scratch, "corpus.sqlite")
        machine = options.machine
        if options.corpus is None:
            unpack(PACKED, path)
            with open_corpus(path) as corpus:
                machine = machine or similar_machine(corpus)
        candidates = invariance.encode_corpus(path, machine, options.cases, print)
    rows = []
    for way in invariance.ENCODINGS:
        rows.append(invariance.evaluate_encoding(candidates, way, seeds_of(options)))
        print(f"{way}: {rows[-1].other_spearman:.2f} of other programs", flush=True)
    count = len(candidates.samples["features"])
    about = f"{count} rows of {len(set(candidates.programs))} programs, {options.seeds} seeds"
    invariance.write_rows(options.out / "invariance.json", rows, about)
    print(f"\n{about}\n{invariance.invariance_table(rows)}")
    return 0


def run_unseen(options: argparse.Namespace) -> int:
    """Ask about kernels what has learned from other programs."""
    with open_packed(options.corpus or PACKED) as corpus:
        keys = options.machine or list(corpus.machines())
        every = [row for key in keys for row in case_rows(corpus, machine_of(corpus, key))]
    chosen, _ = without_tests(every)
    unseen_kernels.check_programs(case_row.visit.case.program for case_row in chosen)
    tell, number = _progress_counter("features", len(chosen)), count(1)
    samples = training_samples(chosen, lambda *_: tell(next(number)))
    names = [group.visit.case.program for group in chosen]
    alike = unseen_kernels.kernel_like_programs(names)
    rows = unseen_kernels.ranking_qualities(samples.samples, names, seeds_of(options), alike)
    text = (
        f"{len(samples.samples)} rows, {options.seeds} seeds\n\n{unseen_kernels.unseen_table(rows)}"
    )
    write_atomically(options.out / "unseen.md", f"{text}\n".encode())
    print(f"\n{text}")
    return 0


def run_ranking(options: argparse.Namespace) -> int:
    """Rank random schedules, and measure them."""
    path = options.out / f"ranks-{machine_fingerprint().key}.jsonl"
    rows = ranking.read_rankings(path)
    model = random_program_model(options.out)
    wanted = []
    for seed in seeds_of(options):
        for name in programs.expand_groups(options.programs):
            asked = (
                name, options.dataset, options.threads, options.count, seed, options.measured,
            )  # fmt: skip
            if asked not in rows:
                rows[asked] = ranking.rank_schedules(*asked, model, _ProgressPrinter(name))
                ranking.append_ranking(path, rows[asked])
            result = rows[asked]
            wanted.append(result)
            share = result.first / result.best if result.best else 0.0
            print(f"\r{name} seed {seed}: {share:.2f} of the best", flush=True)
    print(f"\n{ranking.ranking_table(wanted)}")
    return 0


def run_gains(options: argparse.Namespace) -> int:
    """Search programs, and say what that has gained; what a program refuses is said."""
    path = options.out / f"gains-{machine_fingerprint().key}.jsonl"
    rows = gains.read_gains(path)
    wanted, failed = [], 0
    for seed in seeds_of(options):
        for name in programs.expand_groups(options.programs):
            asked = (
                name, options.dataset, options.threads, options.trials, options.search, seed,
            )  # fmt: skip
            label = f"{name} seed {seed}"
            try:
                if asked not in rows:
                    rows[asked] = gains.measure_gain(
                        *asked, _progress_counter(label, options.trials)
                    )
                    gains.append_gain(path, rows[asked])
            except PolygymError as error:
                failed += 1
                print(f"\r{label}: {error}", file=sys.stderr)
                continue
            wanted.append(rows[asked])
            print(f"\r{label}: {rows[asked].gain:.2f} times what it began with", flush=True)
    print(f"\n{gains.gains_table(wanted)}")
    return 1 if failed else 0


def run_layers(options: argparse.Namespace) -> int:
    """Measure layers beside PyTorch."""
    # What is found in this run counts, not what an earlier one has left.
    os.environ["POLYGYM_CACHE"] = "off"
    path = options.out / f"layers-{options.threads}-{machine_fingerprint().key}.jsonl"
    rows = layers.read_times(path)
    which = options.search if options.trials else ""
    notes = options.out / "tvm" if options.tvm else None
    if options.tvm and not options.trials:
        raise PolygymError("layers: --tvm needs --trials, which is what its tuner gets")
    for name in options.layers:
        if name not in programs.LAYERS:
            raise PolygymError(f"layers: expected some of C1 to C12, found {name}")
        key = (name, options.trials, which, options.rounds, options.tvm)
        if key not in rows:
            rows[key] = layers.measure_layer(
                name, options.threads, options.trials, which, options.rounds, notes
            )
            layers.append_times(path, rows[key])
        print(f"{name}: torch / ours {rows[key].torch / rows[key].best:.2f}", flush=True)
    wanted = [
        rows[name, options.trials, which, options.rounds, options.tvm] for name in options.layers
    ]
    print(f"\n{layers.layers_table(wanted)}")
    return 0


PARTS: dict[str, Part] = {
    "search": run_searches,
    "finals": run_remeasurement,
    "report": write_report,
    "invariance": run_invariance,
    "unseen": run_unseen,
    "ranks": run_ranking,
    "gains": run_gains,
    "layers": run_layers,
}


if __name__ == "__main__":
    with interrupts_raise():  # a shell has what runs in the background ignore SIGINT
        sys.exit(main())
