"""Make the weights of the pretrained policy, and trees, from corpora of measurements: one command.

    polygym collect near.sqlite --near --operations 8e6:4e8 --candidates 24 --threads 2 --seed 22
    python -m agents.fit --corpus near.sqlite --out runs/learned

Programs, not rows, are dealt into folds: networks that have not seen a program say what they
promise of its schedules and mappings, beside boosted trees that have not seen it either, and from
that follows how careful the policy has to be (`caution`, `least_gain`): among the settings under
which it makes at most four cases in a hundred slower than isl's schedule by more than 5 %, of those
that take a millisecond at least, one that gains most but for chance, and makes fewest slower. The
last corpus alone says so if it has enough cases, since code changes. To questions about the mapping
the answers that gain most are given, and none if that is less than a hundredth
(:mod:`polygym.agents.pretraining.calibration`). Then trees and both networks learn from all
programs. trees.model is what searches, the automatic schedule and the policy ask,
pretrained.npz what the policy asks besides. Held-out kernels, and what does the same, are
never among them.

Every stage is kept in --out, and the same command goes on after Ctrl-C or a kill.
"""

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from agents.command_line import corpora_of, exit_code, expect_same, parser_of
from polygym.agents.pretraining import boosted_trees
from polygym.agents.pretraining.calibration import (
    HeldOutScores,
    calibrate,
    calibrate_mappings,
    variant_calibration_at,
)
from polygym.agents.pretraining.dataset import (
    FOLD_COUNT,
    Array,
    CalibrationDataset,
    fold_path,
    fold_samples,
    held_out_rows,
    kept_dataset,
    save_array,
)
from polygym.autoschedule.storage_choice import LEAST_VARIANT_GAIN
from polygym.autoschedule.weights import PolicyWeights
from polygym.cost.models.boosted_trees import BoostedTreeOptions
from polygym.cost.models.cost_model import ModelCard
from polygym.cost.models.score_network import ScoreNetwork
from polygym.cost.models.score_network_training import ScoreNetworkOptions, train_score_network
from polygym.errors import InputError
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.search.corpus.packing import POLICY_CORPORA, SHIPPED_CORPORA

NETWORK_PARTS = ("rows", "loops")
TREES = "trees.model"

Tell = Callable[[str], None]


def fit_policy(
    files: Sequence[Path], folder: Path, options: ScoreNetworkOptions, tell: Tell
) -> PolicyWeights:
    """Return the weights that follow from corpora, with what was kept in the folder.

    Raises:
        InputError: there is nothing to learn from.
    """
    began = time.monotonic()
    of_trees = BoostedTreeOptions(seed=options.seed)
    folder.mkdir(parents=True, exist_ok=True)
    dataset, kept = kept_dataset(files, folder, tell)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("forkserver")) as pool:
        rows, loops = (
            _held_out_scores(dataset, kept, part, options, pool, tell) for part in NETWORK_PARTS
        )
        trees = boosted_trees.held_out_tree_scores(dataset, kept, of_trees, tell)
        said = HeldOutScores(rows, loops, trees)
        chosen = calibrate(dataset, said)
        of_mappings = calibrate_mappings(dataset, said, chosen.caution)
        of_variants = variant_calibration_at(dataset, said, LEAST_VARIANT_GAIN)
        tell(f"schedules: {chosen}")
        tell(f"mappings: {of_mappings}")
        tell(f"storage variants: {of_variants}")
        members = [
            [pool.submit(_member, kept, part, options, number) for number in range(options.members)]
            for part in NETWORK_PARTS
        ]
        networks = [
            _joined_networks([future.result() for future in some], tell) for some in members
        ]
    made = boosted_trees.fit_trees(dataset, files, trees, of_trees, "python -m agents.fit")
    made.save(folder / TREES)
    card = ModelCard(
        "pretrained policy", "pairs and times", len(dataset.seconds),
        len(np.unique(dataset.case_index)), len(np.unique(dataset.program_index)), options.seed,
        machine_fingerprint().key, machine_fingerprint().processor, time.monotonic() - began,
        {
            "corpora": [file.name for file in files],
            "left out": asdict(chosen),
            "mappings left out": {"gain": of_mappings.gain, "cases": of_mappings.cases},
            "storage variants left out": asdict(of_variants),
            "command": "python -m agents.fit",
        },
    )  # fmt: skip
    return PolicyWeights(
        networks[0], networks[1], chosen.caution, chosen.least_gain, card, of_mappings.least_gain
    )


def _member(kept: Path, part: str, options: ScoreNetworkOptions, number: int) -> ScoreNetwork:
    """Return a member that has learned from all programs, as a network of its own."""
    torch.set_num_threads(1)
    dataset = CalibrationDataset.load(kept)
    samples, names = fold_samples(dataset, part, np.ones(len(dataset.seconds), np.bool_))
    return train_score_network(samples, names, options, [number])


def _joined_networks(members: Sequence[ScoreNetwork], tell: Tell) -> ScoreNetwork:
    tell(f"{len(members)} members have learned from all programs")
    return replace(members[0], members=tuple(network.members[0] for network in members))


def _held_out_scores(
    dataset: CalibrationDataset,
    kept: Path,
    part: str,
    options: ScoreNetworkOptions,
    pool: ProcessPoolExecutor,
    tell: Tell,
) -> Array:
    """Return members' scores of every row by networks that have not seen its program."""
    jobs = [
        None if fold_path(kept, part, number).exists()
        else pool.submit(_fold, kept, part, options, number)
        for number in range(FOLD_COUNT)
    ]  # fmt: skip
    scores = np.full((len(dataset.seconds), options.members), np.nan)
    for number, job in enumerate(jobs):
        if job is not None:
            job.result()
            tell(f"{part}: fold {number + 1} of {FOLD_COUNT}")
        scores[held_out_rows(dataset, part, options.seed, number)[0]] = np.load(
            fold_path(kept, part, number)
        ).T
    return scores


def _fold(kept: Path, part: str, options: ScoreNetworkOptions, number: int) -> None:
    """Have networks learn from all programs but those of a fold, and keep what they say of it."""
    torch.set_num_threads(1)
    dataset = CalibrationDataset.load(kept)
    asked, others = held_out_rows(dataset, part, options.seed, number)
    samples, names = fold_samples(dataset, part, others)
    features = dataset.rows if part == "rows" else dataset.features
    floats = train_score_network(samples, names, options).scores(features[asked])
    save_array(floats, fold_path(kept, part, number))


def main(arguments: list[str] | None = None) -> int:
    """Fit; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("fit", __doc__, POLICY_CORPORA)
    parser.add_argument("--epochs", type=int, default=ScoreNetworkOptions().epochs, metavar="N")
    parser.add_argument("--members", type=int, default=ScoreNetworkOptions().members, metavar="N")
    options = parser.parse_args(arguments)
    return exit_code(
        lambda: _fit(options), "ended; what is done is kept, and the same command goes on"
    )


def _fit(options: Namespace) -> None:
    if options.epochs < 1 or options.members < 1 or options.seed < 0:
        raise InputError("--epochs and --members: expected numbers from 1 on, --seed from 0")
    files = corpora_of(options, [SHIPPED_CORPORA[name].path for name in POLICY_CORPORA])
    network = ScoreNetworkOptions(members=options.members, epochs=options.epochs, seed=options.seed)
    expect_same(options.out, files, repr(network))
    weights = fit_policy(files, options.out, network, lambda text: print(text, flush=True))
    weights.save(options.out / "pretrained.npz")
    print(f"weights: {options.out / 'pretrained.npz'}, trees: {options.out / TREES}")


if __name__ == "__main__":
    sys.exit(main())
