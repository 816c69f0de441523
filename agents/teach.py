"""Make the weights of the learned policy, and trees, from corpora of measurements: one command.

    polygym collect near.sqlite --near --work 8e6:4e8 --each 24 --threads 2 --seed 22
    python -m agents.teach --corpus near.sqlite --out runs/learned

Programs, not rows, are dealt into folds: networks that have not seen a program say what they
promise of its schedules and mappings, beside boosted trees that have not seen it either, and from
that follows how careful the policy has to be (`caution`, `least`): among the settings under which
it makes at most four cases in a hundred slower than isl's schedule by more than 5 %, of those that
take a millisecond at least, one that gains most but for chance, and makes fewest slower. The last
corpus alone says so if it has enough cases, since code changes. To questions about the mapping the
answers that gain most are given, and none if that is less than a hundredth (:mod:`agents.judging`).
Then trees and both networks learn from all programs: trees.model is what searches, the automatic
schedule and the policy ask, learned.npz what the policy asks besides. Held-out kernels, and what
does the same, are never among them.

Every stage is kept in --out, and the same command goes on after Ctrl-C or a kill.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents import taught_trees
from agents.commands import exit_code, parser_of
from agents.folds import FOLDS, asked_of, fold_file, keep, samples_of
from agents.judging import Opinions, choose, choose_of_mappings, judged_homes
from agents.lessons import Array, Lessons, lessons_of
from polygym.cost.model import VERSION, Card
from polygym.cost.network import Network
from polygym.cost.network_training import NetworkOptions, fit
from polygym.episodes.homes import LEAST
from polygym.episodes.learned_weights import Weights
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.search.corpus.packed import ALL_SHIPPED

PARTS = ("rows", "loops")
TREES = "trees.model"

Tell = Callable[[str], None]


def teach(files: Sequence[Path], folder: Path, options: NetworkOptions, tell: Tell) -> Weights:
    """Return the weights that follow from corpora, with what was kept in the folder.

    Raises:
        InputError: there is nothing to learn from.
    """
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    if (kept := folder / "lessons.npz").exists():
        lessons = Lessons.load(kept)
    else:
        lessons = lessons_of(files, folder, tell)
        lessons.save(kept)
    tell(
        f"{len(lessons.seconds)} rows of {len(np.unique(lessons.case))} cases, "
        f"{len(np.unique(lessons.program))} programs"
    )
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("forkserver")) as pool:
        rows, loops = (_left_out(lessons, kept, part, options, pool, tell) for part in PARTS)
        trees = taught_trees.left_out(lessons, kept, options.seed, tell)
        said = Opinions(rows, loops, trees)
        chosen = choose(lessons, said)
        of_mappings = choose_of_mappings(lessons, said, chosen.caution)
        of_homes = judged_homes(lessons, said, LEAST)
        tell(f"schedules: {chosen}")
        tell(f"mappings: {of_mappings}")
        tell(f"homes: {of_homes}")
        members = [
            [pool.submit(_member, kept, part, options, number) for number in range(options.members)]
            for part in PARTS
        ]
        networks = [_together([one.result() for one in some], tell) for some in members]
    taught_trees.made(lessons, files, trees, options.seed).save(folder / TREES)
    card = Card(
        "learned policy", "pairs and times", len(lessons.seconds),
        len(np.unique(lessons.case)), len(np.unique(lessons.program)), options.seed,
        fingerprint().key, fingerprint().processor, time.monotonic() - began,
        {
            "corpora": [file.name for file in files],
            "left out": asdict(chosen),
            "mappings left out": {"gain": of_mappings.gain, "cases": of_mappings.cases},
            "homes left out": asdict(of_homes),
            "command": "python -m agents.teach",
        },
    )  # fmt: skip
    return Weights(networks[0], networks[1], chosen.caution, chosen.least, card, of_mappings.least)


def _member(kept: Path, part: str, options: NetworkOptions, number: int) -> Network:
    """Return a member that has learned from all programs, as a network of its own."""
    torch.set_num_threads(1)
    lessons = Lessons.load(kept)
    samples, names = samples_of(lessons, part, np.ones(len(lessons.seconds), np.bool_))
    return fit(samples, names, options, [number])


def _together(members: Sequence[Network], tell: Tell) -> Network:
    tell(f"{len(members)} members have learned from all programs")
    return replace(members[0], members=tuple(one.members[0] for one in members))


def _left_out(
    lessons: Lessons,
    kept: Path,
    part: str,
    options: NetworkOptions,
    pool: ProcessPoolExecutor,
    tell: Tell,
) -> Array:
    """Return members' scores of every row by networks that have not seen its program."""
    jobs = [
        None if fold_file(kept, part, number).exists()
        else pool.submit(_fold, kept, part, options, number)
        for number in range(FOLDS)
    ]  # fmt: skip
    scores = np.full((len(lessons.seconds), options.members), np.nan)
    for number, job in enumerate(jobs):
        if job is not None:
            job.result()
            tell(f"{part}: fold {number + 1} of {FOLDS}")
        scores[asked_of(lessons, part, options.seed, number)[0]] = np.load(
            fold_file(kept, part, number)
        ).T
    return scores


def _fold(kept: Path, part: str, options: NetworkOptions, number: int) -> None:
    """Have networks learn from all programs but those of a fold, and keep what they say of it."""
    torch.set_num_threads(1)
    lessons = Lessons.load(kept)
    asked, others = asked_of(lessons, part, options.seed, number)
    samples, names = samples_of(lessons, part, others)
    features = lessons.rows if part == "rows" else lessons.features
    found = fit(samples, names, options).scores(features[asked])
    keep(found, fold_file(kept, part, number))


def main(arguments: list[str] | None = None) -> int:
    """Teach; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("teach", __doc__)
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], metavar="FILE", dest="corpora",
        help="a corpus to learn from beside those that come with polygym",
    )  # fmt: skip
    parser.add_argument("--alone", action="store_true", help="learn from --corpus alone")
    parser.add_argument("--out", type=Path, required=True, help="a folder for all stages")
    parser.add_argument("--epochs", type=int, default=NetworkOptions().epochs)
    parser.add_argument("--members", type=int, default=NetworkOptions().members)
    parser.add_argument("--seed", type=int, default=0, help="the dice of folds and networks")
    options = parser.parse_args(arguments)
    return exit_code(
        lambda: _teach(options), "ended; what is done is kept, and the same command goes on"
    )


def _teach(options: Namespace) -> None:
    if options.epochs < 1 or options.members < 1 or options.seed < 0:
        raise InputError("--epochs and --members: expected numbers from 1 on, --seed from 0")
    files = [
        *([] if options.alone else [one.path for one in ALL_SHIPPED.values()]),
        *options.corpora,
    ]
    if not files:
        raise InputError("--alone: expected a --corpus, found none")
    network = NetworkOptions(members=options.members, epochs=options.epochs, seed=options.seed)
    _expect_same(options.out, files, network)
    weights = teach(files, options.out, network, lambda text: print(text, flush=True))
    weights.save(options.out / "learned.npz")
    print(f"weights: {options.out / 'learned.npz'}, trees: {options.out / TREES}")


def _expect_same(folder: Path, files: Sequence[Path], options: NetworkOptions) -> None:
    """Refuse to go on with what was begun from other corpora, options or features."""
    now: dict[str, Any] = {
        "corpora": [[file.name, file.stat().st_size if file.exists() else 0] for file in files],
        "options": repr(options),
        "features": VERSION,
    }
    about = folder / "teach.json"
    if about.exists() and json.loads(about.read_text()) != now:
        raise InputError(
            f"{folder}: expected what was begun there, found other corpora, options or "
            "features of another version"
        )
    folder.mkdir(parents=True, exist_ok=True)
    about.write_text(json.dumps(now))


if __name__ == "__main__":
    sys.exit(main())
