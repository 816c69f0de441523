"""What the learned policy learns from: the rows of corpora with their features, case by case.

A row has the features of its planned loops (:mod:`polygym.cost.candidate`), and, where its mapping
is the default one, those of its schedule's rows (:mod:`polygym.cost.rows`). Held-out kernels, and
what does the same, are left out whatever a corpus holds.

What follows from a corpus is kept in a file, since it takes some minutes: two cores share the
cases. Lessons of several corpora are put together, and programs told apart by their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.poly.baselines import isl_schedule
from polygym.compiler.poly.schedule import parse
from polygym.cost.candidate import NAMES
from polygym.cost.ground import Ground
from polygym.cost.rows import ROW_NAMES, row_features
from polygym.cost.saved import digest_of
from polygym.errors import InputError, PolygymError
from polygym.search.corpus.packed import opened
from polygym.search.corpus.samples import (
    Group,
    groups,
    in_all_homes,
    looked_at,
    program_of,
    without_tests,
)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """The rows of all cases, as arrays with an entry for each.

    ``case``, ``program`` and ``corpus`` are numbers, and ``names`` has the programs' names.
    ``rows`` are nan where ``is_default`` says that the mapping is another one; ``is_isl`` says that
    the schedule is isl's usual one. What was measured of a program in several homes is one case,
    with several numbers in ``home``, of which the least is as it was written, if that was measured.
    """

    features: Array
    rows: Array
    seconds: Array
    case: Array
    program: Array
    is_isl: Array
    is_default: Array
    names: Array
    corpus: Array
    home: Array

    def save(self, path: Path) -> None:
        """Write everything to a file, whole or not at all."""
        partial = path.with_suffix(".partial.npz")
        every: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        np.savez_compressed(partial, **every)
        os.replace(partial, path)

    @staticmethod
    def load(path: Path) -> Lessons:
        """Read a file that :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            return Lessons(**{one.name: archive[one.name] for one in fields(Lessons)})


def lessons_of(files: Sequence[Path], folder: Path, tell: Callable[[str], None]) -> Lessons:
    """Return what is to be learned from corpora, packed ones or databases; keep it in a folder.

    Raises:
        InputError: a file is no corpus, or there is nothing in them to learn from.
    """
    found = []
    for file in files:
        with opened(file) as corpus:
            kept, left = without_tests(groups(corpus))
        tell(f"{file.name}: {len(kept)} cases; {left} are held out")
        if not kept:
            continue
        own = folder / f"lessons-{digest_of(file)}.npz"
        if not own.exists():
            _lessons(kept, tell).save(own)
        found.append(Lessons.load(own))
    if not found:
        raise InputError("corpora: expected cases to learn from, found none")
    return together(found)


def together(found: Sequence[Lessons]) -> Lessons:
    """Return the rows of several corpora; cases stay apart, programs of one name are one.

    Which of the corpora a row is of is said by a number, 0 for the first.
    """
    names = np.unique(np.concatenate([one.names for one in found]))
    every: dict[str, Array] = {
        one.name: np.concatenate([getattr(part, one.name) for part in found])
        for one in fields(Lessons)
    }
    for name in ("case", "home"):
        numbers = [getattr(one, name) for one in found]
        firsts = np.cumsum([0, *(int(one.max()) + 1 for one in numbers[:-1])])
        every[name] = np.concatenate([a + first for a, first in zip(numbers, firsts, strict=True)])
    every["program"] = np.concatenate(
        [np.searchsorted(names, one.names)[one.program] for one in found]
    )
    of_each = [len(one.seconds) for one in found]
    return Lessons(**{**every, "names": names, "corpus": np.repeat(np.arange(len(found)), of_each)})


def _lessons(groups: Sequence[Group], tell: Callable[[str], None]) -> Lessons:
    parts = []
    cores = len(os.sched_getaffinity(0))
    cases, own = zip(*in_all_homes(groups), strict=True)
    with ProcessPoolExecutor(cores, get_context("forkserver")) as pool:
        for number, part in enumerate(pool.map(_lesson, own), start=1):
            parts.append({**part, "case": cases[number - 1]})
            if number % 50 == 0 or number == len(groups):
                tell(f"features of {number} of {len(groups)} cases")
    return _joined(parts)


def _lesson(group: Group) -> dict[str, Any]:
    """Return the rows of a case; none where isl would take too long."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("features", "rows", "seconds", "is_isl", "is_default")
    }
    try:
        with TemporaryDirectory() as folder:
            program = program_of(group.visit, folder)
        usual = isl_schedule(program.scop)
        ground = Ground.of(program.scop, own_sizes(program.scop, dict(program.parameters)))
    except PolygymError:
        return {"program": group.visit.case.program, **found}
    default = parse_mapping(f"threads={group.visit.threads}")
    for row, seen in looked_at(group):
        schedule = parse(row.schedule, program.scop)
        is_default = parse_mapping(row.mapping) == default
        found["features"].append(seen.vector)
        found["rows"].append(
            row_features(ground, schedule).vector if is_default else np.full(len(ROW_NAMES), np.nan)
        )
        found["seconds"].append(row.seconds)
        found["is_isl"].append(schedule == usual)
        found["is_default"].append(is_default)
    return {"program": group.visit.case.program, **found}


def _joined(parts: Iterable[dict[str, Any]]) -> Lessons:
    found = [one for one in parts if one["seconds"]]
    if not found:
        raise InputError("corpora: expected cases to learn from, found none")
    names = sorted({one["program"] for one in found})
    counts = [len(one["seconds"]) for one in found]
    _, cases = np.unique([one["case"] for one in found], return_inverse=True)

    def joined(name: str, kind: Any, *shape: int) -> Array:
        every = [np.array(one[name], dtype=kind).reshape(-1, *shape) for one in found]
        return np.concatenate(every)

    return Lessons(
        joined("features", np.float32, len(NAMES)),
        joined("rows", np.float32, len(ROW_NAMES)),
        joined("seconds", np.float64),
        np.repeat(cases, counts),
        np.repeat([names.index(one["program"]) for one in found], counts),
        joined("is_isl", np.bool_),
        joined("is_default", np.bool_),
        np.array(names),
        np.zeros(sum(counts), np.int64),
        np.repeat(np.arange(len(found)), counts),
    )
