"""Which search finds fast code in the fewest trials? Dice, genes, and models that learn.

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
naive`` is the order of the text without any mapping but threads, and dice over mappings and isl's
schedules; ``--start default`` is what `polygym tune` begins with. A trial is a candidate that is
compiled, run and timed beside the original order. Contenders are named one by one, or by the
figure that they are in. ``of-layers`` needs the searches of C1 to C6 in the same setting.

*finals*: the best of many measurements also is the luckiest, the more so the more there are. What
the searches of a program held after their trials runs in turn here, and these times count in the
report where there are any.

*report*: bests are divided by those of dice with the same program and seed, after as many trials
and after twice as many; in brackets the interval of nine in ten, by drawing programs. *To 95 %* are
the trials until a search has 95 % of the best that anyone has found, in the median. Searches of
several machines stand in one table, each compared with those of its own kind of machine: ``--pack
FILE`` writes what there is to a small file, which ``--with FILE`` adds elsewhere.

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

from study import (
    contenders,
    curves,
    figures,
    finals,
    gains,
    invariance,
    layers,
    programs,
    ranks,
    unseen,
)
from study.journal import Journal, Search, Setting, Task, alone
from study.knowledge import known, machine_like_this, of_random
from study.options import Part, parser_of, seeds_of
from study.searching import searched
from study.table import table

from polygym.cli.interrupts import as_exceptions
from polygym.cost.model import Model
from polygym.errors import PolygymError
from polygym.files import write_atomically
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.search.corpus.packed import SHIPPED as PACKED
from polygym.search.corpus.packed import opened, unpack
from polygym.search.corpus.samples import groups, learnable, machine_of, without_tests
from polygym.search.corpus.store import open_corpus

FINALS = "finals.jsonl"


def main() -> int:
    """Read the options, and do one part."""
    options = parser_of(PARTS, __doc__).parse_args()
    try:
        with nullcontext() if options.part is report else alone(options.out):
            return int(options.part(options))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def search(options: argparse.Namespace) -> int:
    """Search what is missing; what a program refuses is said, and left out."""
    try:
        chosen = contenders.expanded(options.contenders)
    except ValueError as error:
        raise PolygymError(str(error)) from None
    wanted = programs.expected(options.programs, options.dataset)
    journal = Journal(options.out)
    setting = Setting(
        options.start, options.dataset, options.threads, options.trials, fingerprint().key
    )
    # Seed by seed, so that what there is after any time is of all programs and contenders; those
    # that learn from the searches of others come when these have been made.
    early = [name for name in chosen if contenders.CONTENDERS[name].knows != contenders.OF_LAYERS]
    late = [name for name in chosen if name not in early]
    tasks = [
        Task(setting, program, contender, seed)
        for part in (early, late)
        for seed in seeds_of(options)
        for program in wanted
        for contender in part
        if part is early or program not in programs.SOURCES
    ]
    missing = [task for task in tasks if not journal.has(task)]
    began = time.monotonic()
    failed = 0
    models: dict[str, tuple[Model, bool] | None] = {}
    for number, task in enumerate(missing, start=1):
        if options.minutes and time.monotonic() - began > 60 * options.minutes:
            print(f"{len(missing) - number + 1} searches are left; the same command goes on")
            break
        label = f"{number}/{len(missing)} {task.program} {task.contender} seed {task.seed}"
        try:
            what = contenders.CONTENDERS[task.contender].knows
            if what not in models:
                models[what] = known(what, journal.of(setting), options.out)
            found = searched(task, models[what], _counting(label, task.setting.trials))
        except PolygymError as error:
            failed += 1
            print(f"\r{label}: {error}", file=sys.stderr)
            continue
        journal.add(found)
        best = max(found.speedups, default=0.0)
        print(f"\r{label}: best {best:.2f}x in {found.seconds:.0f} s", flush=True)
    _tables(_with_finals(journal, options.out))
    return 1 if failed else 0


class _Said:
    """Says on a terminal what a part is doing."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __call__(self, what: str) -> None:
        if sys.stdout.isatty():
            print(f"\r{self._label}: {what}", end="", flush=True)


def _counting(label: str, count: int) -> Callable[[int], None]:
    """Return what says on a terminal how many of so many are done."""
    say = _Said(label)
    return lambda done: say(f"{done} of {count}")


def report(options: argparse.Namespace) -> int:
    """Print tables, and draw every figure of which there is something that no other shows."""
    if not options.packed and not Journal.is_in(options.out):
        raise PolygymError(f"{options.out}: expected a folder with searches, found none")
    journal = _with_finals(Journal(options.out, options.packed), options.out)
    _tables(journal)
    if not journal.searches:
        print(f"{options.out}: no search has ended yet")
    if options.pack:
        try:
            journal.pack(options.pack)
        except OSError as error:
            raise PolygymError(f"{options.pack}: cannot be written: {error}") from None
    for study in journal.studies():
        runs = curves.bests((finals.measured_again(study) or study).searches)
        for name, chosen in contenders.telling(runs).items():
            own = _common({one: runs[one] for one in chosen})
            if not own[chosen[0]]:
                continue
            path = options.out / f"{name}-{study.start}-{study.dataset}-{study.threads}.svg"
            write_atomically(path, figures.picture(name, study.start, own, runs).svg)
            print(path)
    return 0


def measure_again(options: argparse.Namespace) -> int:
    """Measure again what is missing; what a program refuses is said, and left out."""
    journal = Journal(options.out)
    here = _heats_here(journal, options.programs)
    path = options.out / FINALS
    known = finals.remembered(path)
    missing = [
        heat
        for heat, own in here.items()
        if heat not in known or not finals.is_complete(known[heat], own)
    ]
    began, failed = time.monotonic(), 0
    for number, heat in enumerate(missing, start=1):
        if options.minutes and time.monotonic() - began > 60 * options.minutes:
            print(f"{len(missing) - number + 1} programs are left; the same command goes on")
            break
        label = f"{number}/{len(missing)} {heat.program}"
        try:
            found = finals.measured(heat, here[heat], _Said(label))
        except PolygymError as error:
            failed += 1
            print(f"\r{label}: {error}", file=sys.stderr)
            continue
        finals.keep(path, found)
        best = max(found.speedups, default=0.0)
        print(f"\r{label}: {len(found.speedups)} candidates, best {best:.2f}x", flush=True)
    _tables(_with_finals(journal, options.out))
    return 1 if failed else 0


def _heats_here(journal: Journal, programs: Sequence[str]) -> dict[finals.Heat, list[Search]]:
    """Return the searches of this machine by heat, of some programs or of all."""
    heats = finals.heats(journal.searches.values())
    here = {heat: own for heat, own in heats.items() if heat.machine == fingerprint().key}
    names = sorted({heat.program for heat in here})
    for name in programs:
        if name not in names:
            found = ", ".join(names) or "no search of this machine"
            raise PolygymError(f"{name}: expected a program that was searched here, found {found}")
    return {heat: own for heat, own in here.items() if not programs or heat.program in programs}


def _with_finals(journal: Journal, folder: Path) -> Journal:
    """Have the searches of a journal know what was measured again."""
    known = finals.remembered(folder / FINALS)
    for one in finals.joined(journal.searches.values(), known):
        journal.searches[one.task] = one
    return journal


def _common(runs: dict[str, dict[curves.Key, list[float]]]) -> dict[str, curves.Runs]:
    """Return the runs of those programs and seeds that all have."""
    keys = set.intersection(*(set(own) for own in runs.values()))
    return {name: {key: own[key] for key in keys} for name, own in runs.items()}


def _tables(journal: Journal) -> None:
    for study in journal.studies():
        again = finals.measured_again(study)
        if again is not None:
            print(f"\n{study}, {len(again.searches)} searches measured again")
            print(table(again))
        print(f"\n{study}" + (", as each search measured" if again else ""))
        print(table(finals.as_measured(study)))


def ask(options: argparse.Namespace) -> int:
    """Ask models that are shown candidates in different ways."""
    with TemporaryDirectory() as scratch:
        path = options.corpus or Path(scratch, "corpus.sqlite")
        machine = options.machine
        if options.corpus is None:
            unpack(PACKED, path)
            with open_corpus(path) as corpus:
                machine = machine or machine_like_this(corpus)
        found = invariance.shown(path, machine, options.cases, print)
    rows = []
    for way in invariance.SHOWN:
        rows.append(invariance.asked(found, way, seeds_of(options)))
        print(f"{way}: {rows[-1].other_spearman:.2f} of other programs", flush=True)
    count = len(found.samples["features"])
    about = f"{count} rows of {len(set(found.programs))} programs, {options.seeds} seeds"
    invariance.keep(options.out / "invariance.json", rows, about)
    print(f"\n{about}\n{invariance.table(rows)}")
    return 0


def answer(options: argparse.Namespace) -> int:
    """Ask about kernels what has learned from other programs."""
    with opened(options.corpus or PACKED) as corpus:
        keys = options.machine or list(corpus.machines())
        every = [one for key in keys for one in groups(corpus, machine_of(corpus, key))]
    chosen, _ = without_tests(every)
    unseen.expect_both(one.visit.case.program for one in chosen)
    tell, number = _counting("features", len(chosen)), count(1)
    found = learnable(chosen, lambda *_: tell(next(number)))
    names = [group.visit.case.program for group in chosen]
    alike = unseen.like_kernels(names)
    rows = unseen.answers(found.samples, names, seeds_of(options), alike)
    text = f"{len(found.samples)} rows, {options.seeds} seeds\n\n{unseen.table(rows)}"
    write_atomically(options.out / "unseen.md", f"{text}\n".encode())
    print(f"\n{text}")
    return 0


def rank(options: argparse.Namespace) -> int:
    """Rank random schedules, and measure them."""
    path = options.out / f"ranks-{fingerprint().key}.jsonl"
    rows = ranks.remembered(path)
    model = of_random(options.out)
    wanted = []
    for seed in seeds_of(options):
        for name in programs.expanded(options.programs):
            asked = (
                name, options.dataset, options.threads, options.count, seed, options.measured,
            )  # fmt: skip
            if asked not in rows:
                rows[asked] = ranks.ranked(*asked, model, _Said(name))
                ranks.keep(path, rows[asked])
            one = rows[asked]
            wanted.append(one)
            share = one.first / one.best if one.best else 0.0
            print(f"\r{name} seed {seed}: {share:.2f} of the best", flush=True)
    print(f"\n{ranks.table(wanted)}")
    return 0


def gain(options: argparse.Namespace) -> int:
    """Search programs, and say what that has gained; what a program refuses is said."""
    path = options.out / f"gains-{fingerprint().key}.jsonl"
    rows = gains.remembered(path)
    wanted, failed = [], 0
    for seed in seeds_of(options):
        for name in programs.expanded(options.programs):
            asked = (
                name, options.dataset, options.threads, options.trials, options.search, seed,
            )  # fmt: skip
            label = f"{name} seed {seed}"
            try:
                if asked not in rows:
                    rows[asked] = gains.gained(*asked, _counting(label, options.trials))
                    gains.keep(path, rows[asked])
            except PolygymError as error:
                failed += 1
                print(f"\r{label}: {error}", file=sys.stderr)
                continue
            wanted.append(rows[asked])
            print(f"\r{label}: {rows[asked].gain:.2f} times what it began with", flush=True)
    print(f"\n{gains.table(wanted)}")
    return 1 if failed else 0


def compare(options: argparse.Namespace) -> int:
    """Measure layers beside PyTorch."""
    # What is found in this run counts, not what an earlier one has left.
    os.environ["POLYGYM_CACHE"] = "off"
    path = options.out / f"layers-{options.threads}-{fingerprint().key}.jsonl"
    rows = layers.remembered(path)
    which = options.search if options.trials else ""
    notes = options.out / "tvm" if options.tvm else None
    if options.tvm and not options.trials:
        raise PolygymError("layers: --tvm needs --trials, which is what its tuner gets")
    for name in options.layers:
        if name not in programs.LAYERS:
            raise PolygymError(f"layers: expected some of C1 to C12, found {name}")
        key = (name, options.trials, which, options.rounds, options.tvm)
        if key not in rows:
            rows[key] = layers.measured(
                name, options.threads, options.trials, which, options.rounds, notes
            )
            layers.keep(path, rows[key])
        print(f"{name}: torch / ours {rows[key].torch / rows[key].best:.2f}", flush=True)
    wanted = [
        rows[name, options.trials, which, options.rounds, options.tvm] for name in options.layers
    ]
    print(f"\n{layers.table(wanted)}")
    return 0


PARTS: dict[str, Part] = {
    "search": search,
    "finals": measure_again,
    "report": report,
    "invariance": ask,
    "unseen": answer,
    "ranks": rank,
    "gains": gain,
    "layers": compare,
}


if __name__ == "__main__":
    with as_exceptions():  # a shell has what runs in the background ignore SIGINT
        sys.exit(main())
