"""``polygym cost``: models of cost, made from a corpus, and what they are."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from polygym.cli.answer import Answer
from polygym.cli.options import json_option, seed_option
from polygym.cli.output import heading, say, seconds
from polygym.cli.tables import print_table
from polygym.cost.model import Card, Objective, Samples
from polygym.cost.shipped import PATH, shipped
from polygym.cost.trees import TreeModel, TreeOptions, expect_lightgbm, importances, train
from polygym.cost.validation import Score, Validation, validated
from polygym.errors import InputError
from polygym.search.corpus.plan import TEST_KERNELS
from polygym.search.corpus.samples import Group, groups, learnable
from polygym.search.corpus.store import open_corpus

_HELP = f"""Make models of cost from a corpus, and look at them.

A model ranks candidates (a schedule under a mapping) of a program that it has never seen, without
running anything. `polygym tune --search model` uses the one that comes with polygym, and corrects
it by what it measures.

Kernels on which models are tested are never learned from: {", ".join(TEST_KERNELS)}.

\b
Examples:
  polygym cost train corpus.sqlite mine.model
  polygym cost show mine.model
  polygym cost show                     the one that comes with polygym
"""

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("cost", help=_HELP)
def command() -> None:
    """Hold the commands."""


@command.command("train")
@click.argument("corpus", type=_FILE)
@click.argument("model", type=_FILE)
@click.option(
    "--objective",
    type=click.Choice([one.value for one in Objective]),
    default=Objective.RANK.value,
    show_default=True,
    help="What is learned: the order of a program's candidates, or their times.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 100_000),
    default=TreeOptions().rounds,
    show_default=True,
    metavar="N",
    help="How many trees.",
)
@click.option(
    "--members",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Models of the ensemble, which tell how sure it is.",
)
@click.option(
    "--folds",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    metavar="N",
    help="Parts into which programs are dealt to test on each what was learned from the others; "
    "0 or 1 tests nothing.",
)
@click.option("--machine", metavar="KEY", help="Learn from rows of this kind of machine.")
@seed_option("The dice of the trees and of the folds.")
@json_option
def train_command(
    corpus: Path,
    model: Path,
    objective: str,
    rounds: int,
    members: int,
    folds: int,
    machine: str | None,
    seed: int,
    as_json: bool,
) -> Answer:
    """Learn from CORPUS, say how good it is on programs that are left out, and write MODEL.

    A corpus of several kinds of machines needs --machine: their times do not compare.
    """
    expect_lightgbm()
    options = TreeOptions(Objective(objective), rounds=rounds, members=members, seed=seed)
    found, about = _samples(corpus, machine, options, quiet=as_json)
    samples, programs = found

    def fit(part: Samples) -> Score:
        grown = train(part, options)
        return lambda rows: grown.scores(rows).mean(axis=0)

    validation = None
    if folds > 1:
        validation = validated(samples, programs, folds, fit, seed)
        about = replace(about, notes={**about.notes, "validation": asdict(validation)})
    made = train(samples, options, about)
    made.save(model)
    if as_json:
        return Answer(document={"file": str(model), "bytes": _size(model), **asdict(made.card)})
    _print(made, model)
    return Answer()


@command.command("show")
@click.argument("model", type=_FILE, required=False)
@json_option
def show_command(model: Path | None, as_json: bool) -> Answer:
    """Say what MODEL has learned from, how good it is, and which columns decide.

    Without MODEL it is the one that comes with polygym.
    """
    expect_lightgbm()
    found = shipped() if model is None else TreeModel.load(model)
    if found is None:
        raise InputError("expected a model that comes with polygym, found none in this package")
    if as_json:
        return Answer(document={**asdict(found.card), "columns": dict(importances(found))})
    _print(found, model or PATH)
    return Answer()


def _samples(
    path: Path, machine: str | None, options: TreeOptions, *, quiet: bool
) -> tuple[tuple[Samples, list[str]], Card]:
    """Return what there is to learn from, and the beginning of the model's card."""
    with open_corpus(path) as corpus:
        machines = corpus.machines()
        key = machine or (next(iter(machines)) if len(machines) == 1 else None)
        if key not in machines:
            raise InputError(
                f"--machine: expected one of {', '.join(machines) or '(none)'}, found "
                f"{'nothing' if key is None else key}"
            )
        chosen = groups(corpus, key)
    test = [one for one in chosen if one.visit.case.program in TEST_KERNELS]
    chosen = [one for one in chosen if one not in test]
    done = 0

    def show(_: Group, rows: int) -> None:
        nonlocal done
        done += 1
        if not quiet and (done % 25 == 0 or done == len(chosen)):
            say(f"features: {done} of {len(chosen)} cases, {rows} rows")

    found = learnable(chosen, show)
    programs = [one.visit.case.program for one in chosen]
    own = machines[key]
    about = Card(
        "trees",
        options.objective.value,
        len(found.samples),
        len(chosen),
        len(set(programs)),
        options.seed,
        key,
        f"{own.processor}, {own.cores} cores, LLVM {own.llvm}",
        notes={"threads": sorted({one.visit.threads for one in chosen}), "left_out": len(test)},
    )
    return (found.samples, programs), about


def _size(path: Path) -> int:
    return path.stat().st_size


def _print(model: TreeModel, path: Path) -> None:
    card = model.card
    heading(f"{path}: {card.kind}, {card.objective}, {_size(path):,} bytes")
    say(f"  learned from {card.rows} rows, {card.cases} cases of {card.programs} programs")
    say(f"  machine {card.machine}: {card.processor}")
    say(f"  seed {card.seed}, trained in {seconds(card.seconds)}")
    if (found := card.notes.get("validation")) is not None:
        one = Validation(**found)
        say(
            f"  on programs left out: rank correlation {one.spearman:.2f} (a quarter below "
            f"{one.spearman_quarter:.2f}), ranked first {one.share:.2f} of the best (a quarter "
            f"below {one.share_quarter:.2f}), {one.cases} cases"
        )
    heading("\nColumns that decide")
    rows = [(name, f"{100 * share:.1f} %") for name, share in importances(model, 12)]
    print_table(("COLUMN", "OF ALL GAINS"), rows, "lr")
