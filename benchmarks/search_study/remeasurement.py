"""Second measurement of the bests of searches: all of one program interleaved.

A search takes for its best what was measured fastest, and the more it measures the luckier the
luckiest is: of a hundred candidates that are equally good, and are measured with an error of 2 %,
the best looks 5 % better than it is, of two hundred 5.5 %. So what a search *has* after n trials is
the speed of the candidate that it held then, measured again beside those that the others held.

Example: candidates of 1.0, 1.3 and 1.2 times the original's speed are held one after the other if
they were measured as 1.0, 1.1 and 1.2; what the search has after them is 1.0, 1.3 and 1.2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from polygym.mapping.mapping import parse_mapping
from polygym.search.corpus.samples import legal_of
from search_study.candidate_timing import candidate_clock
from search_study.journal import ComparableSearches, SearchRecord, append_line, read_lines
from search_study.programs import load_study_program

FIRST_TRIAL = 8
"""Nobody asks what a search holds before so many trials."""

TIME_TOLERANCE = 0.5
"""What was measured slower than this share of the best known stays as it was measured."""

ROUNDS = 15
_BATCH = 100
_COMPILE_SECONDS = 30.0  # all of them were compiled in five before

Candidate: TypeAlias = tuple[str, str]
"""A schedule and a mapping, as text."""


class RemeasurementGroup(NamedTuple):
    """A program, and what searches of it have in common if their finalists run in turn."""

    start: str
    dataset: str
    threads: int
    machine: str
    program: str


@dataclass(frozen=True)
class Remeasurement:
    """What the finalists of a heat turned out to be: speedups over the original order."""

    group: RemeasurementGroup
    schedules: tuple[str, ...]
    candidates: tuple[tuple[int, str], ...]
    speedups: tuple[float, ...]

    @property
    def found(self) -> dict[Candidate, float]:
        """The speedups by candidate."""
        return {
            (self.schedules[place], mapping): speedup
            for (place, mapping), speedup in zip(self.candidates, self.speedups, strict=True)
        }

    @staticmethod
    def from_json(data: dict[str, object]) -> Remeasurement:
        """Return a line's finals.

        Raises:
            KeyError, TypeError, ValueError: it has none.
        """
        parts: dict[str, list] = data  # type: ignore[assignment, type-arg]
        return Remeasurement(
            RemeasurementGroup(*parts["group"]),
            tuple(map(str, parts["schedules"])),
            tuple((int(place), str(mapping)) for place, mapping in parts["candidates"]),
            tuple(map(float, parts["speedups"])),
        )


def remeasurement_group(search: SearchRecord) -> RemeasurementGroup:
    """Return the heat of a search."""
    setting = search.task.setting
    return RemeasurementGroup(
        setting.start, setting.dataset, setting.threads, setting.machine, search.task.program
    )


def remeasurement_groups(
    searches: Iterable[SearchRecord],
) -> dict[RemeasurementGroup, list[SearchRecord]]:
    """Return the searches that say what they tried, by heat."""
    records: dict[RemeasurementGroup, list[SearchRecord]] = {}
    for record in searches:
        if record.candidates:
            records.setdefault(remeasurement_group(record), []).append(record)
    return records


def new_bests(speedups: Sequence[float]) -> list[int]:
    """Return the trials that were the best so far.

    >>> records([0.0, 2.0, 1.0, 2.0, 3.0])
    [1, 4]
    """
    result, best = [], 0.0
    for place, speedup in enumerate(speedups):
        if speedup > best:
            result.append(place)
            best = speedup
    return result


def remeasured_trials(searches: Sequence[SearchRecord]) -> list[dict[int, Candidate]]:
    """Return for each search of a heat the trials that are measured again, and of which candidate.

    They are those that it held after any of its trials from the eighth on, if they are close to the
    best that anyone has found.
    """
    best = max((speedup for record in searches for speedup in record.speedups), default=0.0)
    result = []
    for record in searches:
        late = new_bests(record.speedups)
        while len(late) > 1 and late[1] < FIRST_TRIAL:
            del late[0]
        result.append(
            {
                place: (record.schedules[record.candidates[place][0]], record.candidates[place][1])
                for place in late
                if record.speedups[place] >= TIME_TOLERANCE * best
            }
        )
    return result


def remeasure(
    group: RemeasurementGroup,
    searches: Sequence[SearchRecord],
    report_progress: Callable[[str], None],
) -> Remeasurement:
    """Measure the finalists of a heat in turn; ``report_progress`` hears how far that is.

    Raises:
        PolygymError: the program cannot be read, or one of them does not run as it should.
    """
    program = load_study_program(group.program, group.dataset)
    chosen = list(
        dict.fromkeys(
            candidate for own in remeasured_trials(searches) for candidate in own.values()
        )
    )
    schedules = list(dict.fromkeys(text for text, _ in chosen))
    legal = {text: legal_of(program, text).schedule for text in schedules}
    choices = [(legal[text], parse_mapping(mapping)) for text, mapping in chosen]
    speedups: list[float] = []
    with candidate_clock(group.program, program, group.threads, _COMPILE_SECONDS) as watch:
        for at in range(0, len(choices), _BATCH):
            part = choices[at : at + _BATCH]
            speedups += [
                round(evaluation.speedup, 4) for evaluation in watch.times_in_turn(part, ROUNDS)
            ]
            report_progress(f"{len(speedups)} of {len(choices)}")
    places = {text: number for number, text in enumerate(schedules)}
    pairs = tuple((places[text], mapping) for text, mapping in chosen)
    return Remeasurement(group, tuple(schedules), pairs, tuple(speedups))


def is_complete(finals: Remeasurement, searches: Sequence[SearchRecord]) -> bool:
    """Say whether all that a heat's searches held was measured again."""
    return all(
        candidate in finals.found
        for own in remeasured_trials(searches)
        for candidate in own.values()
    )


def read_remeasurements(path: Path) -> dict[RemeasurementGroup, Remeasurement]:
    """Return what an earlier run has found; of one heat the last counts."""
    return {
        remeasurement.group: remeasurement
        for _, remeasurement in read_lines(path, Remeasurement.from_json)
    }


def append_remeasurement(path: Path, finals: Remeasurement) -> None:
    """Add a heat to a file."""
    append_line(path, json.dumps(asdict(finals)))


def remeasured_part(study: ComparableSearches) -> ComparableSearches | None:
    """Return the part of a study that was measured again, None if there is none.

    A search none of whose trials was close to the best has nothing to be measured again; it is of
    that part where others of its heat are.
    """
    heats_again = {remeasurement_group(record) for record in study.searches if record.again}
    own = tuple(
        record
        for record in study.searches
        if record.again is not None and remeasurement_group(record) in heats_again
    )
    return replace(study, searches=own) if own else None


def as_first_measured(study: ComparableSearches) -> ComparableSearches:
    """Return a study as its searches measured themselves."""
    return replace(study, searches=tuple(replace(record, again=None) for record in study.searches))


def with_remeasurement(
    searches: Iterable[SearchRecord], known: Mapping[RemeasurementGroup, Remeasurement]
) -> list[SearchRecord]:
    """Return searches with what they held as it was measured again, where all of it was."""
    given = list(searches)
    again = {}
    for heat, own in remeasurement_groups(given).items():
        if heat not in known:
            continue
        speedups = known[heat].found
        for record, places in zip(own, remeasured_trials(own), strict=True):
            if all(candidate in speedups for candidate in places.values()):
                again[record.task] = tuple((place, speedups[own]) for place, own in places.items())
    return [
        replace(record, again=again[record.task]) if record.task in again else record
        for record in given
    ]
