"""One search in one folder: explored, written down, continued.

The folder holds

* ``episodes.jsonl``: the journal, every episode in order (:mod:`polygym.search.journal`);
* ``best.json``: the fastest episode so far as a record that ``polygym replay`` reads;
* ``best.c``: its C code;
* ``summary.json``: counts, the best, how it came about. ``best_while_searching`` and
  ``convergence`` are of the measurements that each schedule got on its own, when it was found;
  ``best`` is the same until :meth:`Search.confirm` and what follows it have timed the fastest ones
  again, side by side.

Episodes are counted from 0, in all of these.

The journal is what counts: the other files are written anew from it whenever the best improves, and
when a search is resumed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from polygym.envs import record
from polygym.errors import InputError
from polygym.evaluation import Evaluation
from polygym.mdp.episode import Phase
from polygym.poly.schedule import Schedule, parse
from polygym.search.explorer import Explored, Measured, Repeated, Unscheduled, episode_of, explore
from polygym.search.files import write_atomically
from polygym.search.journal import Contents, Journal, Json, read
from polygym.search.setting import Setting, differences
from polygym.search.tally import NO_SCHEDULE, REPEATED, Finding, Tally

JOURNAL = "episodes.jsonl"
BEST, BEST_C, SUMMARY = "best.json", "best.c", "summary.json"
_OF_THE_JOURNAL = ("index", "repeats", "reason")


@dataclass(slots=True)
class Search:
    """A search that is open; ``c_text`` returns the C code of a schedule."""

    setting: Setting
    folder: Path
    journal: Journal
    c_text: Callable[[Schedule], str]
    tally: Tally = field(default_factory=Tally)

    def run(self, budget: int, evaluate: Callable[[Schedule], Evaluation]) -> Iterator[Explored]:
        """Go on until ``budget`` episodes are explored in all; yield each once it is written."""
        indices = range(self.tally.explored, budget)
        setting = self.setting
        known = self.tally.known()
        for event in explore(
            setting.subject.task, setting.choose, setting.seed, indices, evaluate, known
        ):
            line = _line(setting, event)
            self.journal.append(line)
            if _add(self.tally, event):
                self._write_best(line)
            yield event

    def confirm(self, finding: Finding) -> None:
        """Make a finding the best one, with what measuring it again has shown."""
        line = read(self.journal.path).episodes[finding.index]
        outcome = record.outcome_of(finding.evaluation, self.setting.subject)
        self._write_best({**line, "outcome": outcome})

    def write_summary(self, document: Json) -> None:
        """Write the summary."""
        self._write(SUMMARY, json.dumps(document, indent=2) + "\n")

    def _write_best(self, line: Json) -> None:
        """Write the files about the episode of a line, the one by which a reader begins last."""
        best = {name: value for name, value in line.items() if name not in _OF_THE_JOURNAL}
        schedule = parse(line["schedule"], self.setting.subject.program.scop)
        self._write(BEST_C, self.c_text(schedule))
        self.write_summary(summary(self.setting, self.tally))
        self._write(BEST, json.dumps(best, indent=2) + "\n")

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, text.encode())


def begin(setting: Setting, folder: Path, c_text: Callable[[Schedule], str]) -> Search:
    """Begin a search in a folder, which must hold none."""
    there = [name for name in (JOURNAL, BEST, BEST_C, SUMMARY) if (folder / name).exists()]
    if there:
        raise InputError(
            f"{folder}: expected a folder without the files of a search, found {there[0]}; "
            "--resume continues the search that is there, another folder begins a new one"
        )
    return Search(setting, folder, Journal.create(folder / JOURNAL, setting.to_json()), c_text)


def resume(setting: Setting, folder: Path, c_text: Callable[[Schedule], str]) -> Search:
    """Continue the search in a folder, which must have the same setting."""
    journal, contents = Journal.open(folder / JOURNAL)
    try:
        _check(setting, journal.path, contents)
        search = Search(setting, folder, journal, c_text)
        for line in contents.episodes:
            _add_line(search.tally, line, setting)
        if search.tally.best is not None:
            search._write_best(contents.episodes[search.tally.best.index])
    except BaseException:
        journal.close()
        raise
    return search


def summary(setting: Setting, tally: Tally) -> Json:
    """Return what a search has found so far, as JSON."""
    best = None if tally.best is None else as_json(tally.best)
    return {
        **setting.to_json(),
        "explored": tally.explored,
        "distinct": len(tally.findings),
        "counts": dict(tally.counts),
        "best": best,
        "best_while_searching": best,
        "convergence": [
            {"explored": explored, "speedup": speedup} for explored, speedup in tally.curve
        ],
    }


def as_json(finding: Finding) -> Json:
    """Return a finding as JSON: the episode's number and what was measured."""
    return {"index": finding.index, **finding.evaluation.to_json()}


def _check(setting: Setting, path: Path, contents: Contents) -> None:
    """Refuse to continue a search that would have explored other schedules."""
    before, now = dict(contents.setting), setting.to_json()
    version = before.pop("polygym", None), now.pop("polygym", None)
    if found := differences(before, now):
        raise InputError(
            f"{path}: expected the search that is to be continued, found another one: "
            + "; ".join(found)
        )
    if not contents.episodes:
        return
    index = len(contents.episodes) - 1
    last = episode_of(setting.subject.task, setting.choose, setting.seed, index)
    if list(last.actions) != contents.episodes[index].get("actions"):
        raise InputError(
            f"{path}: expected episode {index} to be found again, found another one; it was "
            f"explored with polygym {version[0]}, this is {version[1]}"
        )


def _line(setting: Setting, event: Explored) -> Json:
    """Return the journal's line about an event."""
    match event:
        case Measured(index, episode, evaluation):
            return _entry(index, setting.record(episode, evaluation))
        case Repeated(index, episode, _, first):
            return _entry(index, setting.record(episode, None), repeats=first)
        case Unscheduled(index, episode, reason):
            # A complete one with too large numbers has no schedule that could be written either.
            ended = replace(episode, phase=Phase.INVALID)
            return _entry(index, setting.record(ended, None), reason=reason)
        case _:
            assert_never(event)


def _entry(index: int, record: Json, *, repeats: int | None = None, reason: str = "") -> Json:
    return {"index": index, "repeats": repeats, "reason": reason, **record}


def _add(tally: Tally, event: Explored) -> bool:
    match event:
        case Measured(index, _, evaluation):
            return tally.add_measured(index, evaluation)
        case Repeated():
            tally.add_unmeasured(REPEATED)
        case Unscheduled():
            tally.add_unmeasured(NO_SCHEDULE)
        case _:
            assert_never(event)
    return False


def _add_line(tally: Tally, line: Json, setting: Setting) -> None:
    if line["repeats"] is not None:
        tally.add_unmeasured(REPEATED)
    elif line["outcome"] is None:
        tally.add_unmeasured(NO_SCHEDULE)
    else:
        scop = setting.subject.program.scop
        tally.add_measured(line["index"], Evaluation.from_json(line["outcome"], scop))
