"""Make the weights of the learned policy, and trees, from corpora of measurements: one command.

    polygym collect near.sqlite --near --work 8e6:4e8 --each 24 --threads 2 --seed 22
    python -m agents.teach --corpus near.sqlite --out runs/learned

Programs, not rows, are dealt into folds: networks that have not seen a program say what they
promise of its schedules and mappings, beside boosted trees that have not seen it either, and from
that follows how careful the policy has to be
(`caution`, `least`): among the settings under which it makes at most four cases in a hundred
slower than isl's schedule by more than 5 %, of those that take a millisecond at least, the one that
gains most. Then both networks learn from all programs. Held-out kernels, and what does the same,
are never among them.

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
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents import taught_trees
from agents.commands import exit_code, parser_of
from agents.folds import FOLDS, asked_of, fold_file, keep, samples_of
from agents.lessons import Array, Lessons, lessons_of
from polygym.cost.model import Card
from polygym.cost.network import Network
from polygym.cost.network_training import NetworkOptions, fit
from polygym.episodes.learned import SHORTLIST
from polygym.episodes.learned_weights import Weights
from polygym.episodes.promise import Scores, ahead
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.search.corpus.packed import NEAR, SHIPPED

PARTS = ("rows", "loops")
CAUTIONS = (0.0, 0.5, 1.0, 1.5, 2.0)
LEASTS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
MOST_SLOWER, SLOWER = 0.04, 0.95
SHORTEST = 1e-3
"""Seconds; what takes less is as often slower by chance as by what was chosen."""

TREES = "trees.model"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How careful the policy is, and what came of that in cases of programs left out.

    ``gain`` is the geometric mean of how many times as fast what it takes is as isl's schedule
    under the default mapping, ``best`` what the fastest of those would give that it looks at with
    their loops; ``slower`` the share of cases that it makes slower than :data:`SLOWER`, ``taken``
    of those in which it takes something else at all.
    """

    caution: float
    least: float
    gain: float
    best: float
    slower: float
    taken: float
    cases: int


@dataclass(frozen=True, slots=True, eq=False)
class Opinions:
    """What who has not seen a row's program thinks of it: a row for each, nan where nothing is.

    ``rows`` and ``loops`` are the scores of the networks' members, ``trees`` those of trees.
    """

    rows: Array
    loops: Array
    trees: Array

    def of_rows(self, row: int) -> Scores:
        """Return what is thought of a schedule's rows."""
        return Scores(self.rows[row])

    def of_loops(self, row: int) -> Scores:
        """Return what is thought of its planned loops."""
        return Scores(self.loops[row], float(self.trees[row]))


def choose(lessons: Lessons, said: Opinions) -> Chosen:
    """Return how careful to be."""
    found = [judged(lessons, said, caution, least) for caution, least in product(CAUTIONS, LEASTS)]
    careful = [one for one in found if one.slower <= MOST_SLOWER]
    return max(careful or found[-1:], key=lambda one: one.gain)


def judged(lessons: Lessons, said: Opinions, caution: float, least: float) -> Chosen:
    """Return what comes of being so careful."""
    gains, bests, taken = [], [], 0
    for case in np.unique(lessons.case):
        own = np.flatnonzero(lessons.case == case)
        usual = own[lessons.is_isl[own] & lessons.is_default[own]]
        if not len(usual):
            continue
        now = usual[0]
        if lessons.seconds[now] < SHORTEST:
            continue
        # As the policy does with its schedule, under the default mapping: the first by rows, then
        # the first of these by loops.
        others = own[lessons.is_default[own]]
        by_rows = [ahead(said.of_rows(one), said.of_rows(now), caution) for one in others]
        others = others[np.argsort(by_rows)[::-1][:SHORTLIST]]
        found = [ahead(said.of_loops(one), said.of_loops(now), caution) for one in others]
        place = int(np.argmax(found))
        chosen = others[place] if found[place] > least else now
        taken += int(chosen != now)
        gains.append(lessons.seconds[now] / lessons.seconds[chosen])
        bests.append(lessons.seconds[now] / lessons.seconds[others].min())
    speed = np.array(gains)
    return Chosen(
        caution, least, _mean(speed), _mean(np.array(bests)), float((speed < SLOWER).mean()),
        taken / max(1, len(gains)), len(gains),
    )  # fmt: skip


def _mean(values: Array) -> float:
    return float(np.exp(np.log(values).mean()))


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
        chosen = choose(lessons, Opinions(rows, loops, trees))
        tell(str(chosen))
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
            "left out": {name: getattr(chosen, name) for name in Chosen.__slots__},
            "command": "python -m agents.teach",
        },
    )  # fmt: skip
    return Weights(networks[0], networks[1], chosen.caution, chosen.least, card)


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
    files = [*([] if options.alone else [SHIPPED, NEAR]), *options.corpora]
    if not files:
        raise InputError("--alone: expected a --corpus, found none")
    network = NetworkOptions(members=options.members, epochs=options.epochs, seed=options.seed)
    _expect_same(options.out, files, network)
    weights = teach(files, options.out, network, lambda text: print(text, flush=True))
    weights.save(options.out / "learned.npz")
    print(f"weights: {options.out / 'learned.npz'}, trees: {options.out / TREES}")


def _expect_same(folder: Path, files: Sequence[Path], options: NetworkOptions) -> None:
    """Refuse to go on with what was begun from other corpora or with other options."""
    now: dict[str, Any] = {
        "corpora": [[file.name, file.stat().st_size if file.exists() else 0] for file in files],
        "options": repr(options),
    }
    about = folder / "teach.json"
    if about.exists() and json.loads(about.read_text()) != now:
        raise InputError(f"{folder}: expected what was begun there, found other corpora or options")
    folder.mkdir(parents=True, exist_ok=True)
    about.write_text(json.dumps(now))


if __name__ == "__main__":
    sys.exit(main())
