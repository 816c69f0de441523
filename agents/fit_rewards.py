"""Make the trees that reward episodes without a clock (`model`, `log_model`): one command.

    polygym collect mine.sqlite --from-original --operations 3e6:8e8 --candidates 24 --threads 2
    python -m agents.fit_rewards --corpus mine.sqlite --out runs/rewards

The trees learn how many times as fast as the original order a candidate is, not its rank among
others as those of `python -m agents.fit` do: a reward compares two candidates that may be far from
each other. Programs, not rows, are dealt into five folds, and trees that have not seen a program
say what they expect of its candidates. Then trees learn from all programs. Held-out kernels, and
what does the same, are never among them.

Every stage is kept in --out, and the same command goes on after Ctrl-C or a kill.
"""

import sys
from argparse import Namespace

import numpy as np

from agents.command_line import corpora_of, exit_code, expect_same, parser_of
from polygym.agents.pretraining.boosted_trees import fit_trees, held_out_tree_scores
from polygym.agents.pretraining.dataset import Array, CalibrationDataset, kept_dataset
from polygym.cost.models.boosted_trees import BoostedTreeOptions
from polygym.cost.models.cost_model import Objective
from polygym.search.corpus.packing import SHIPPED_CORPORA

MODEL = "rewards.model"


def speedup_errors(dataset: CalibrationDataset, said: Array) -> dict[str, float]:
    """Return how far predictions of speedups are from what was measured, as factors.

    Half of the candidates, and nine of ten, are within these factors; those of the last corpus,
    which is the newest, also by themselves.
    """
    known = ~np.isnan(said)
    wrong = np.abs(said - np.log2(dataset.originals / dataset.seconds))
    last = known & (dataset.corpus_index == dataset.corpus_index.max())
    return {
        f"{name}, {part}": round(float(2.0 ** np.quantile(wrong[rows], share)), 3)
        for part, rows in (("all corpora", known), ("the last corpus", last))
        for name, share in (("half within", 0.5), ("nine of ten within", 0.9))
    }


def _fit(options: Namespace) -> None:
    files = corpora_of(options, [corpus.path for corpus in SHIPPED_CORPORA.values()])
    trees = BoostedTreeOptions(
        Objective.SPEEDUP, rounds=options.trees, leaves=options.leaves, seed=options.seed
    )
    expect_same(options.out, files, repr(trees))

    def tell(text: str) -> None:
        print(text, flush=True)

    dataset, kept = kept_dataset(files, options.out, tell)
    said = held_out_tree_scores(dataset, kept, trees, tell)
    errors = speedup_errors(dataset, said)
    for name, factor in errors.items():
        tell(f"left out: {name}: a factor of {factor}")
    command, notes = "python -m agents.fit_rewards", {"left out": errors}
    made = fit_trees(dataset, files, said, trees, command, notes)
    tell(f"left out: {made.card.notes['validation']}")
    made.save(options.out / MODEL)
    print(f"trees: {options.out / MODEL}")


def main(arguments: list[str] | None = None) -> int:
    """Fit; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("fit_rewards", __doc__, SHIPPED_CORPORA)
    default = BoostedTreeOptions(rounds=600, leaves=63)
    parser.add_argument("--trees", type=int, default=default.rounds, metavar="N")
    parser.add_argument("--leaves", type=int, default=default.leaves, metavar="N")
    options = parser.parse_args(arguments)
    return exit_code(
        lambda: _fit(options), "ended; what is done is kept, and the same command goes on"
    )


if __name__ == "__main__":
    sys.exit(main())
