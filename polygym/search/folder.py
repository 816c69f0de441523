"""One search in one folder: explored, written down, continued.

The folder holds

* ``episodes.jsonl``: the journal, every episode in order (:mod:`polygym.search.journal`);
* ``tuning.jsonl``: the mappings that were tried, in order (:mod:`polygym.search.mapping_trials`);
* ``best.json``: the fastest schedule so far as a record that ``polygym replay`` reads, with the
  mapping under which it is the fastest;
* ``best.c``: its C code;
* ``summary.json``: counts, the best, how it came about. ``best_while_searching`` and
  ``convergence`` are of the measurements that each schedule got on its own, when it was found;
  ``best`` is the same until :meth:`Search.confirm` and what follows it have timed the fastest ones
  again, side by side.

Episodes are counted from 0, in all of these.

The journals are what counts: the other files are written anew from them whenever the best improves,
and when a search is resumed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mdp.records import episode_record as record
from polygym.mdp.records.record_checks import GIVEN_PHASE
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.runtime.evaluation import Evaluation
from polygym.search.conditions import differences
from polygym.search.episode_loop import (
    EpisodeEvent,
    MeasuredEpisode,
    RepeatedEpisode,
    UnscheduledEpisode,
    explore_episodes,
)
from polygym.search.journal import JournalContents, Json, SearchJournal, read_journal
from polygym.search.mapping_trials import MappingTrials
from polygym.search.settings import SearchSetting
from polygym.search.tally import NO_SCHEDULE, REPEATED, Finding, SearchTally

JOURNAL_FILE = "episodes.jsonl"
TRIALS_FILE = "tuning.jsonl"
BEST_FILE, BEST_C_FILE, SUMMARY_FILE = "best.json", "best.c", "summary.json"
_JOURNAL_KEYS = ("index", "repeats", "reason")


@dataclass(slots=True)
class SearchFolder:
    """A search that is open; ``emit_c`` returns the C code of a schedule under a mapping."""

    setting: SearchSetting
    folder: Path
    journal: SearchJournal
    emit_c: Callable[[Schedule, Mapping], str]
    tally: SearchTally = field(default_factory=SearchTally)
    trials: MappingTrials = field(default_factory=MappingTrials)

    def run(
        self, budget: int, evaluate: Callable[[Schedule, Mapping], Evaluation]
    ) -> Iterator[EpisodeEvent]:
        """Go on until ``budget`` episodes are explored in all; yield each once it is written."""
        indices = range(self.tally.explored, budget)
        setting = self.setting
        usual, known = setting.evaluation.mapping, self.tally.known()
        for event in explore_episodes(
            setting.sampler, setting.seed, indices, evaluate, usual, known
        ):
            line = _line(setting, event)
            self.journal.append(line)
            if _add(self.tally, event) and self.best is self.tally.best:
                self._write_best(line)
            yield event

    def add_trial(self, evaluation: Evaluation, names: Dictionary[Schedule, int | str]) -> None:
        """Write down what became of a schedule under another mapping; ``names`` says whose it is.

        Raises:
            OSError: it cannot be written; then it counts as not tried.
        """
        if self.trials.journal is None:
            self.trials.journal = SearchJournal.create(
                self.folder / TRIALS_FILE, self.setting.to_json()
            )
        best = self.best
        finding = Finding(names[evaluation.schedule], evaluation)
        self.trials.add(finding)
        if self.best is not best:
            self.confirm(finding)

    @property
    def best(self) -> Finding | None:
        """The fastest so far, each measured once."""
        findings = [
            finding for finding in (self.tally.best, self.trials.best) if finding is not None
        ]
        return max(findings, key=lambda one: one.evaluation.speedup, default=None)

    def confirm(self, finding: Finding) -> None:
        """Make a finding the best one, with what measuring it again has shown."""
        setting, evaluation = self.setting, finding.evaluation
        line = self._played(finding) or setting.record_of_schedule(evaluation)
        outcome = record.outcome_entries(evaluation, setting.subject)
        arguments = line["arguments"]
        if not setting.decides_mapping or line["phase"] == GIVEN_PHASE:
            arguments = {**arguments, "mapping": str(evaluation.mapping)}
        self._write_best({**line, "arguments": arguments, "outcome": outcome})

    def _played(self, finding: Finding) -> Json | None:
        """Return the line of the episode that found something; None where none led to it."""
        if not isinstance(finding.index, int):
            return None
        line = read_journal(self.journal.path).episodes[finding.index]
        if not self.setting.decides_mapping:
            return line
        is_its_own = line["outcome"]["mapping"] == str(finding.evaluation.mapping)
        return line if is_its_own else None

    def close(self) -> None:
        """Close the journals; harmless the second time."""
        self.journal.close()
        self.trials.close()

    def write_summary(self, document: Json) -> None:
        """Write the summary."""
        self._write(SUMMARY_FILE, json.dumps(document, indent=2) + "\n")

    def _write_best(self, line: Json) -> None:
        """Write the files about the episode of a line, the one by which a reader begins last."""
        best = {name: value for name, value in line.items() if name not in _JOURNAL_KEYS}
        schedule = parse_schedule(line["schedule"], self.setting.subject.program.scop)
        mapping = parse_mapping(line["outcome"]["mapping"])
        self._write(BEST_C_FILE, self.emit_c(schedule, mapping))
        self.write_summary(search_summary(self))
        self._write(BEST_FILE, json.dumps(best, indent=2) + "\n")

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, text.encode())


def create_search(
    setting: SearchSetting, folder: Path, c_text: Callable[[Schedule, Mapping], str]
) -> SearchFolder:
    """Begin a search in a folder, which must hold none."""
    expect_no_search(folder, (JOURNAL_FILE, TRIALS_FILE, BEST_FILE, BEST_C_FILE, SUMMARY_FILE))
    return SearchFolder(
        setting, folder, SearchJournal.create(folder / JOURNAL_FILE, setting.to_json()), c_text
    )


def expect_no_search(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder in which there is a file of an earlier search."""
    for name in names:
        if (folder / name).exists():
            raise InputError(
                f"{folder}: expected a folder without the files of a search, found {name}; "
                "--resume continues the search that is there, another folder begins a new one"
            )


def resume_search(
    setting: SearchSetting, folder: Path, c_text: Callable[[Schedule, Mapping], str]
) -> SearchFolder:
    """Continue the search in a folder, which must have the same setting."""
    journal, contents = SearchJournal.open(folder / JOURNAL_FILE)
    try:
        _check(setting, journal.path, contents)
        search = SearchFolder(setting, folder, journal, c_text)
        for line in contents.episodes:
            _add_line(search.tally, line, setting)
        if (folder / TRIALS_FILE).exists():
            search.trials = _resumed_trials(setting, folder / TRIALS_FILE)
        if search.best is not None:
            search.confirm(search.best)
    except BaseException:
        journal.close()
        raise
    return search


def _resumed_trials(setting: SearchSetting, path: Path) -> MappingTrials:
    journal, contents = SearchJournal.open(path)
    try:
        _check_setting(setting, path, contents)
        return MappingTrials.of(journal, contents, setting.subject.program.scop)
    except BaseException:
        journal.close()
        raise


def search_summary(search: SearchFolder) -> Json:
    """Return what a search has found so far, as JSON."""
    setting, tally = search.setting, search.tally
    return {
        **setting.to_json(),
        "explored": tally.explored,
        "distinct": len(tally.findings),
        "counts": dict(tally.counts),
        "mappings_tried": search.trials.count,
        "best": None if search.best is None else finding_json(search.best),
        "best_while_searching": None if tally.best is None else finding_json(tally.best),
        "convergence": [
            {"explored": explored, "speedup": speedup} for explored, speedup in tally.curve
        ],
    }


def finding_json(finding: Finding) -> Json:
    """Return a finding as JSON: the episode's number, or a name, and what was measured."""
    return {"index": finding.index, **finding.evaluation.to_json()}


def _check_setting(
    setting: SearchSetting, path: Path, contents: JournalContents
) -> tuple[str, str]:
    """Refuse to continue another search; return polygym's version then and now."""
    before, now = dict(contents.setting), setting.to_json()
    version = str(before.pop("polygym", None)), str(now.pop("polygym", None))
    if found := differences(before, now):
        raise InputError(
            f"{path}: expected the search that is to be continued, found another one: "
            + "; ".join(found)
        )
    return version


def _check(setting: SearchSetting, path: Path, contents: JournalContents) -> None:
    """Refuse to continue a search that would have explored other schedules."""
    version = _check_setting(setting, path, contents)
    if not contents.episodes:
        return
    index = len(contents.episodes) - 1
    last = setting.sampler(setting.seed, index)
    if list(last.actions) != contents.episodes[index].get("actions"):
        raise InputError(
            f"{path}: expected episode {index} to be found again, found another one; it was "
            f"explored with polygym {version[0]}, this is {version[1]}"
        )


def _line(setting: SearchSetting, event: EpisodeEvent) -> Json:
    """Return the journal's line about an event."""
    match event:
        case MeasuredEpisode(index, episode, evaluation):
            return _entry(index, setting.record(episode, evaluation))
        case RepeatedEpisode(index, episode, _, first):
            return _entry(index, setting.record(episode, None), repeats=first)
        case UnscheduledEpisode(index, episode, reason):
            # A complete one with too large numbers has no schedule that could be written either.
            ended = replace(episode, phase=Phase.INVALID)
            return _entry(index, setting.record(ended, None), reason=reason)
        case _:
            assert_never(event)


def _entry(index: int, record: Json, *, repeats: int | None = None, reason: str = "") -> Json:
    return {"index": index, "repeats": repeats, "reason": reason, **record}


def _add(tally: SearchTally, event: EpisodeEvent) -> bool:
    match event:
        case MeasuredEpisode(index, _, evaluation):
            return tally.add_measured(index, evaluation)
        case RepeatedEpisode():
            tally.add_unmeasured(REPEATED)
        case UnscheduledEpisode():
            tally.add_unmeasured(NO_SCHEDULE)
        case _:
            assert_never(event)
    return False


def _add_line(tally: SearchTally, line: Json, setting: SearchSetting) -> None:
    if line["repeats"] is not None:
        tally.add_unmeasured(REPEATED)
    elif line["outcome"] is None:
        tally.add_unmeasured(NO_SCHEDULE)
    else:
        scop = setting.subject.program.scop
        tally.add_measured(line["index"], Evaluation.from_json(line["outcome"], scop))
