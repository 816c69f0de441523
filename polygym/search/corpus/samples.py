"""From the rows of a corpus to what models learn from: features and times, case by case.

Rows that failed have no time; rows beside which the original order was unlike itself are left out.
A case with fewer than a handful of rows says nothing. Where a case was visited several times, on a
slow day and on a fast one perhaps, times are as in the visit in which they came first: multiplied
by how much faster the original order was there.

A program that is kept elsewhere, or cut, is a case of its own, whose rows have other features; but
what they leave in memory is the same, so that models compare all of them: where the program, its
sizes, the machine and its threads are the same, rows belong together (:func:`by_variant`), their
times in proportion to the original order's.

Example: pairs of 1,000 points as written, 10 ms where the original takes 10, and expanded, 8 ms in
a visit in which it takes 12: 6.7 ms, faster by a half.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from polygym.codegen.contraction import legal_with_storage
from polygym.cost.features.candidates.candidate_vector import CandidateFeatures, candidate_features
from polygym.cost.features.candidates.loop_tree import LoopForest, LoopTree
from polygym.cost.models.cost_model import TrainingSamples
from polygym.errors import InputError, PolygymError
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.transform.splitting.conditions import parse_splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.programs import Program, load_program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.search.corpus.program_choice import is_held_out
from polygym.search.corpus.rows import CaseVisit, CorpusRow
from polygym.search.corpus.statistics import outliers
from polygym.search.corpus.store import Corpus

_MIN_ROWS = 5


def machine_of(corpus: Corpus, key: str | None) -> str:
    """Return the key of a kind of machine; None is the only one that there is.

    Raises:
        InputError: there is none of that key, or none is named and there are several.
    """
    machines = corpus.machines()
    if not machines:
        raise InputError(f"{corpus.path}: expected some rows, found none: nothing was measured yet")
    result = key or (next(iter(machines)) if len(machines) == 1 else None)
    if result is None or result not in machines:
        raise InputError(
            f"--machine: expected one of {', '.join(machines)}, found {result or 'nothing'}"
        )
    return result


@dataclass(frozen=True, slots=True)
class CaseRows:
    """The rows of a case on one kind of machine with so many threads, and the case's name.

    ``machine`` is that for which loops are planned there, ``original`` how long the original order
    took in the visit in proportion to which times are.
    """

    visit: CaseVisit
    rows: tuple[CorpusRow, ...]
    machine: Machine
    original: float

    @property
    def name(self) -> str:
        """The program and its sizes."""
        return str(self.visit.case)


def case_rows(
    corpus: Corpus, machine: str | None = None, fewest: int = _MIN_ROWS
) -> list[CaseRows]:
    """Return the rows that ran, by case; cases with fewer than ``fewest`` are left out."""
    by_case: dict[tuple[object, ...], list[CorpusRow]] = defaultdict(list)
    first: dict[tuple[object, ...], CaseVisit] = {}
    usual: dict[tuple[object, ...], float] = {}
    for visit, rows in corpus.visits(machine):
        strange = outliers(rows)
        case = (visit.case, visit.text, visit.machine, visit.threads)
        kept = [row for row in rows if row.is_ok and row not in strange]
        if not kept:
            continue
        first.setdefault(case, visit)
        original = median(row.baseline_seconds for row in kept)
        factor = usual.setdefault(case, original) / original
        by_case[case] += [replace(row, seconds=row.seconds * factor) for row in kept]
    planned_for = corpus.planned_for()
    enough = (
        (first[case], tuple(rows), usual[case])
        for case, rows in by_case.items()
        if len(rows) >= fewest
    )
    return [CaseRows(visit, rows, planned_for[visit.machine], time) for visit, rows, time in enough]


def by_variant(groups: Iterable[CaseRows]) -> list[tuple[int, CaseRows]]:
    """Return groups with numbers, the same for those of one program in different storage variants.

    It is that of the first of them, to whose visit the times of all are put in proportion.
    """
    first: dict[tuple[object, ...], tuple[int, float]] = {}
    numbered = []
    for place, group in enumerate(groups):
        visit = group.visit
        case = replace(visit.case, splitting="", storage=str(SOURCE_STORAGE))
        key = (case, visit.text, visit.machine, visit.threads)
        number, original = first.setdefault(key, (place, group.original))
        factor = original / group.original
        rows = tuple(replace(row, seconds=row.seconds * factor) for row in group.rows)
        numbered.append((number, replace(group, rows=rows, original=original)))
    return numbered


def without_tests(groups: Iterable[CaseRows]) -> tuple[list[CaseRows], int]:
    """Return the groups from which models may learn, and how many others there are.

    Nothing is learned from test kernels, nor from programs that do what one of them does.
    """
    held: dict[tuple[str, str, str], bool] = {}
    kept: list[CaseRows] = []
    left = 0
    for group in groups:
        case = group.visit.case
        key = case.program, case.function, group.visit.text
        if key not in held:
            held[key] = _is_held_out(group.visit)
        if not held[key]:
            kept.append(group)
        left += held[key]
    return kept, left


def _is_held_out(visit: CaseVisit) -> bool:
    try:
        with TemporaryDirectory() as folder:
            return is_held_out(visit.case.program, _written(visit, folder))
    except PolygymError:
        return False  # what cannot be read any more teaches nothing


@dataclass(frozen=True, slots=True, eq=False)
class CorpusSamples:
    """Samples, with the group of each row by its number in ``names``.

    Of groups that belong together it is the first.
    """

    samples: TrainingSamples
    names: tuple[str, ...]
    rows: tuple[CorpusRow, ...]


def training_samples(
    groups: Iterable[CaseRows],
    on_progress: Callable[[CaseRows, int], None] = lambda *_: None,
    *,
    with_loops: bool = False,
) -> CorpusSamples:
    """Return the features and times of groups; ``on_progress`` gets the number of rows after each.

    The candidates' loops are among the samples if ``with_loops`` says so.

    A program that cannot be read any more, and a row whose features are out of isl's reach, is left
    out.
    """
    columns: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
    trees: list[LoopTree] = []
    seconds: list[float] = []
    originals: list[float] = []
    cases: list[int] = []
    names: list[str] = []
    kept: list[CorpusRow] = []
    for number, group in by_variant(groups):
        names.append(group.name)
        for row, seen in featurize(group):
            columns.append(seen.vector)
            if with_loops:
                trees.append(seen.loop_tree)
            seconds.append(row.seconds)
            originals.append(group.original)
            cases.append(number)
            kept.append(row)
        on_progress(group, len(kept))
    samples = TrainingSamples(
        np.array(columns, dtype=np.float32).astype(np.float64),
        np.array(seconds, dtype=np.float64),
        np.array(cases, dtype=np.int64),
        LoopForest.of(trees) if with_loops else None,
        np.array(originals, dtype=np.float64),
    )
    return CorpusSamples(samples, tuple(names), tuple(kept))


def featurize(group: CaseRows) -> Iterator[tuple[CorpusRow, CandidateFeatures]]:
    """Yield the rows of a group with their features.

    There are none of a program that cannot be read any more, nor where isl would take too long.
    """
    try:
        with TemporaryDirectory() as folder:
            program = program_of(group.visit, folder)
    except PolygymError:
        return
    legal = cache(partial(legal_of, program))
    for row in group.rows:
        try:
            seen = features_of(program, legal(row.schedule), row.mapping, group.machine)
        except PolygymError:
            continue
        yield row, seen


def target_of(visit: CaseVisit, folder: str) -> str:
    """Return what the program of a visit is named; a user's text is written into a folder."""
    target = visit.case.program
    if not visit.text:
        return target
    path = Path(folder, Path(target).name)
    path.write_text(visit.text, encoding="utf-8")
    return str(path)


def program_of(visit: CaseVisit, folder: str) -> Program:
    """Return the program of a visit; a user's text is written into a folder to be read."""
    case, program = visit.case, _written(visit, folder)
    program = apply_splitting_to(program, parse_splitting(case.splitting))
    # A caller that chose the plan has looked at its price.
    return with_storage_plan(program, parse_storage(case.storage), sys.maxsize)


def _written(visit: CaseVisit, folder: str) -> Program:
    """Return the program of a visit before it is changed."""
    case = visit.case
    target, function = target_of(visit, folder), case.function or None
    return load_program(target, function=function, parameters=dict(case.parameters))


def legal_of(program: Program, schedule: str) -> LegalSchedule:
    """Return a schedule of a program by its text, with its arrays as code for it has them."""
    return legal_with_storage(program.storage, program.scop, parse_schedule(schedule, program.scop))


def features_of(
    program: Program, legal: LegalSchedule, mapping: str, machine: Machine
) -> CandidateFeatures:
    """Return the features of a schedule under the mapping of a text, as a machine has them."""
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return candidate_features(legal, parse_mapping(mapping), sizes, machine)
