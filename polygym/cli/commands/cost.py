"""``polygym cost``: models of cost, made from a corpus, and what they are."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, assert_never

import click

from polygym.cli.options.common import json_option, seed_option
from polygym.cli.options.values import choice_option, count_option, file_argument
from polygym.cli.output import console
from polygym.cost.models import boosted_trees, cross_validation
from polygym.cost.models.cost_model import ModelCard, ModelKind, Objective, TrainingSamples
from polygym.cost.models.pretrained import expect_model_path, load_model, training_machines
from polygym.cost.models.tree_gru import TreeGRU, TreeGRUOptions, expect_torch, train_tree_gru
from polygym.errors import InputError
from polygym.files import create_parent_folder
from polygym.search.corpus.program_choice import TEST_KERNELS
from polygym.search.corpus.samples import (
    CaseRows,
    by_variant,
    case_rows,
    machine_of,
    training_samples,
    without_tests,
)
from polygym.search.corpus.store import Corpus, open_corpus

_HELP = f"""Make models of cost from a corpus, and look at them.

A model ranks candidates (a schedule under a mapping) of a program that it has never seen, without
running anything. `polygym optimize --strategy annealing` uses the one that comes with polygym, or
the one of --model, and corrects it by what it measures.

Kernels on which models are tested are never learned from, nor programs whose innermost loops do the
same: {", ".join(TEST_KERNELS)}.

\b
Examples:
  polygym cost train corpus.sqlite mine.model
  polygym cost train corpus.sqlite mine.model --model tree-gru
  polygym cost train corpus.sqlite mine.model --machine all
  polygym cost show mine.model
  polygym cost show                     the one that comes with polygym
"""

_ALL = "all"
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("cost", help=_HELP)
def command() -> None:
    """Hold the commands."""


@command.command("train")
@file_argument("corpus", "CORPUS")
@file_argument("model", "MODEL")
@choice_option(
    "--model",
    "kind",
    choices=[model_kind.value for model_kind in ModelKind],
    default=ModelKind.TREES.value,
    help="Boosted trees, or a network that walks over the loops.",
)
@choice_option(
    "--objective",
    choices=[objective.value for objective in Objective],
    default=Objective.RANK.value,
    help="The target: the order of a program's candidates, their times, or their speedups over "
    "the original order.",
)
@count_option(
    "--trees",
    "rounds",
    most=100_000,
    help=f"Number of trees (default: {boosted_trees.BoostedTreeOptions().rounds}), or epochs of a "
    f"tree-gru ({TreeGRUOptions().epochs}).",
)
@count_option(
    "--members", most=100, default=1, help="Models of the ensemble, which tell how sure it is."
)
@count_option(
    "--folds",
    least=0,
    most=1000,
    help="Folds of the cross-validation over programs; 0 or 1 means none. (Default: 5, or the "
    "number of programs.)",
)
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="KEY",
    help="Learn from rows of this kind of machine, or of 'all'; may be repeated.",
)
@seed_option("Seed of the model and of the folds.")
@json_option
def train_command(
    corpus: Path,
    model: Path,
    kind: str,
    objective: str,
    rounds: int | None,
    members: int,
    folds: int | None,
    machines: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> console.CommandResult:
    """Learn from CORPUS, say how good it is on programs that are left out, and write MODEL.

    A corpus of several kinds of machines needs --machine, a KEY or all. Their times do not compare,
    and are not compared: a model of several learns within each what is faster than what.
    """
    if model.resolve() == corpus.resolve():
        raise InputError(f"{model}: expected another file than the corpus, found the same")
    recipe = _TrainingRecipe(ModelKind(kind), Objective(objective), rounds, members, seed)
    recipe.expect_library()
    with open_corpus(corpus):
        create_parent_folder(model)
    gathered, about = _samples(corpus, machines, recipe, folds, quiet=as_json)
    samples, programs = gathered
    learned = len({programs[int(case)] for case in set(samples.cases)})
    if folds is None and learned < 2 and not as_json:
        console.write_text("one program: there is no other to test on what is learned from it")
    folds = cross_validation.default_folds(learned) if folds is None else folds

    def fitted(part: TrainingSamples) -> cross_validation.ScoreFunction:
        made = recipe.made(part)
        return lambda features, loops: made.scores(features, loops).mean(axis=0)

    if folds > 1:
        validation = cross_validation.cross_validate(samples, programs, folds, fitted, seed)
        about = replace(about, notes={**about.notes, "validation": asdict(validation)})
    made = recipe.made(samples, about)
    made.save(model)
    document = {"file": str(model), "bytes": model.stat().st_size, **asdict(made.card)}
    return console.answer(as_json, document, lambda: _print(made, model))


@command.command("show")
@file_argument("model", "MODEL", required=False)
@json_option
def show_command(model: Path | None, as_json: bool) -> console.CommandResult:
    """Say what MODEL has learned from, how good it is, and which columns decide in trees.

    Without MODEL it is the one that comes with polygym.
    """
    file = model or expect_model_path()
    result = load_model(file)
    document = {**asdict(result.card), **_inside(result)}
    return console.answer(as_json, document, lambda: _print(result, file))


@dataclass(frozen=True, slots=True)
class _TrainingRecipe:
    """How a model is made; ``rounds`` are the kind's own if there are none."""

    kind: ModelKind
    objective: Objective
    rounds: int | None
    members: int
    seed: int

    def expect_library(self) -> None:
        """Refuse to go on without the library that the kind needs."""
        match self.kind:
            case ModelKind.TREES:
                boosted_trees.expect_lightgbm()
            case ModelKind.TREE_GRU:
                expect_torch()
            case _:
                assert_never(self.kind)

    def made(
        self, samples: TrainingSamples, card: ModelCard | None = None
    ) -> boosted_trees.BoostedTrees | TreeGRU:
        """Return a model of samples."""
        match self.kind:
            case ModelKind.TREES:
                trees = boosted_trees.BoostedTreeOptions(
                    self.objective, members=self.members, seed=self.seed
                )
                return boosted_trees.train_boosted_trees(
                    samples, replace(trees, rounds=self.rounds or trees.rounds), card
                )
            case ModelKind.TREE_GRU:
                network = TreeGRUOptions(self.objective, members=self.members, seed=self.seed)
                return train_tree_gru(
                    samples, replace(network, epochs=self.rounds or network.epochs), card
                )
            case _:
                assert_never(self.kind)


def _samples(
    path: Path, machines: Sequence[str], recipe: _TrainingRecipe, folds: int | None, *, quiet: bool
) -> tuple[tuple[TrainingSamples, list[str]], ModelCard]:
    """Return what there is to learn from, and the beginning of the model's card."""
    with open_corpus(path) as corpus:
        keys = _keys(corpus, machines)
        own = [corpus.machines()[key] for key in keys]
        planned_for = [corpus.planned_for()[key] for key in keys]
        chosen = [row for key in keys for row in case_rows(corpus, key)]
    every = {group.visit.case.program for group in chosen}
    chosen, left_out = without_tests(chosen)
    programs = [group.visit.case.program for group in chosen]
    _expect_programs(path, len(set(programs)), folds or 0, every)
    done = 0

    def show(_: CaseRows, rows: int) -> None:
        nonlocal done
        done += 1
        if not quiet and (done % 25 == 0 or done == len(chosen)):
            console.write_text(
                f"features: {done} of {console.counted(len(chosen), 'case')}, "
                f"{console.counted(rows, 'row')}"
            )

    samples = training_samples(chosen, show, with_loops=recipe.kind is ModelKind.TREE_GRU)
    about = ModelCard(
        recipe.kind.value,
        recipe.objective.value,
        len(samples.samples),
        len({number for number, _ in by_variant(chosen)}),
        len(set(programs)),
        recipe.seed,
        ", ".join(keys),
        "; ".join(
            f"{fingerprint.processor}, {fingerprint.cores} cores, LLVM {fingerprint.llvm}"
            for fingerprint in own
        ),
        notes={
            "threads": sorted({group.visit.threads for group in chosen}),
            "excluded_rows": left_out,
            **training_machines(zip(own, planned_for, strict=True)),
        },
    )
    return (samples.samples, programs), about


def _keys(corpus: Corpus, machines: Sequence[str]) -> list[str]:
    """Return the kinds of machines that are named, which may be all, or the only one."""
    if _ALL in machines and corpus.machines():
        return list(corpus.machines())
    try:
        return [machine_of(corpus, key) for key in dict.fromkeys(machines or (None,))]
    except InputError as error:
        hint = "; `--machine all` learns from each" if len(corpus.machines()) > 1 else ""
        raise InputError(f"{error}{hint}") from None


def _expect_programs(path: Path, programs: int, folds: int, every: Collection[str]) -> None:
    """Refuse what cannot be learned or tested, before features take their time."""
    if not programs and every:
        raise InputError(
            f"{path}: expected programs from which models may learn, found none but those on which "
            f"they are tested, or that do the same, which are left out: {', '.join(sorted(every))}"
        )
    if not programs:
        raise InputError(
            f"{path}: expected cases with some rows that ran, of programs from which models may "
            "learn, found none"
        )
    try:
        cross_validation.expect_programs(programs, folds)
    except InputError as error:
        raise InputError(f"--{error}; --folds 0 tests nothing") from None


def _inside(model: boosted_trees.BoostedTrees | TreeGRU) -> dict[str, Any]:
    """Return what else there is to say of a model, by its kind."""
    match model:
        case boosted_trees.BoostedTrees():
            return {"columns": dict(boosted_trees.feature_importances(model))}
        case TreeGRU():
            return {"shape": asdict(model.shape), "members": len(model.members)}
        case _:
            assert_never(model)


def _print(model: boosted_trees.BoostedTrees | TreeGRU, path: Path) -> None:
    card = model.card
    console.heading(f"{path}: {card.kind}, {card.objective}, {path.stat().st_size:,} bytes")
    console.write_text(
        f"  learned from {console.counted(card.rows, 'row')}, "
        f"{console.counted(card.cases, 'case')} of {console.counted(card.programs, 'program')}"
    )
    console.write_text(f"  machine {card.machine}: {card.processor}")
    console.write_text(f"  seed {card.seed}, trained in {console.format_seconds(card.seconds)}")
    if (recorded := card.notes.get("validation")) is not None:
        validation = cross_validation.CrossValidation(**recorded)
        console.write_text(
            f"  on programs left out: rank correlation {validation.spearman:.2f} (a quarter below "
            f"{validation.spearman_lower_quartile:.2f}), ranked first {validation.share:.2f} of "
            "the best (a "
            "quarter "
            f"below {validation.share_lower_quartile:.2f}), {validation.cases} cases"
        )
    match model:
        case boosted_trees.BoostedTrees():
            console.heading("\nColumns that decide")
            rows = [
                (name, f"{100 * share:.1f} %")
                for name, share in boosted_trees.feature_importances(model, 12)
            ]
            console.print_table(("COLUMN", "SHARE OF GAIN"), rows, "lr")
        case TreeGRU(members, shape):
            console.write_text(
                f"  {len(members)} network{'s' * (len(members) > 1)}: embedding {shape.embedding}, "
                f"hidden {shape.hidden}, {shape.slots} slots"
            )
        case _:
            assert_never(model)
