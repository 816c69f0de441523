"""One search in one folder: written down, and continued.

The folder holds

* ``journal.jsonl``: the journal, every proposal in order (:mod:`polygym.search.journal`);
* ``best.json``: the fastest candidate so far as a record that ``polygym replay`` reads, with the
  mapping under which it is the fastest; the source, as long as nothing is faster;
* ``best.c``: its C code;
* ``summary.json``: counts, the best, the convergence. ``best_while_searching`` and ``convergence``
  are of the measurements that each candidate got on its own, when it was found; ``best`` is the
  same until the fastest ones are measured again, side by side.

The journal is the source: the other files are written anew from it whenever the best improves, and
when a search is resumed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from polygym.errors import InputError
from polygym.files import create_folder, create_numbered_folder, write_atomically
from polygym.frontend.c.generated_text import MARK
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mdp.records import episode_record as record
from polygym.mdp.records.record_checks import GIVEN_PHASE, RELATIVE_FILE_KEY
from polygym.mdp.records.record_files import relative_file
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.strategy import parse_strategy
from polygym.programs import Program, is_path
from polygym.runtime.evaluation import c_text
from polygym.search.conditions import differences
from polygym.search.journal import Json, SearchJournal, read_journal
from polygym.search.loop import SearchProgress, SearchRecorder
from polygym.search.plan import EXTENT_KEYS
from polygym.search.result import (
    Finding,
    SearchResult,
    SearchStage,
    finding_json,
    is_faster_than_source,
    source_finding,
)
from polygym.search.settings import SearchSetting
from polygym.search.strategies.candidates import Candidate, EditedSchedule, EpisodeSchedule

JOURNAL_FILE = "journal.jsonl"
BEST_FILE, BEST_C_FILE, SUMMARY_FILE = "best.json", "best.c", "summary.json"
_JOURNAL_KEYS = ("index", "stage", "source", "repeats", "reason", "mapping")
_HEAD_ONLY_KEYS = ("polygym", "similar", *EXTENT_KEYS)


@dataclass(slots=True)
class SearchFolder(SearchRecorder):
    """A search that is open; ``emit_c`` returns the C code of a program's schedule and mapping.

    Without a folder of the user's a new one is made when the first outcome is known. ``similar``
    are the candidates of other programs, ``node`` the kind of the nodes of a cluster that measure,
    "" for this machine.
    """

    setting: SearchSetting
    requested: Path | None
    emit_c: Callable[[Program, Schedule, Mapping], str]
    similar: Sequence[Candidate] = ()
    node: str = ""
    journal: SearchJournal | None = None
    lines: tuple[Json, ...] = ()
    _folder: Path | None = None
    _last: Json = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder, which is made if it is not there."""
        if self._folder is None:
            if self.requested is None:
                name = Path(self.setting.subject.program.name).stem
                self._folder = create_numbered_folder(Path.cwd(), f"polygym-{name}")
            else:
                create_folder(self.requested)
                self._folder = self.requested
        return self._folder

    def recorded(self, stage: SearchStage) -> list[Json]:
        """Return the lines of a stage that the journal had when it was opened."""
        return [line for line in self.lines if line["stage"] == stage.value]

    def add(self, progress: SearchProgress) -> None:
        """Write a proposal down.

        Raises:
            OSError: it cannot be written.
        """
        if self.journal is None:
            self.journal = SearchJournal.create(self.folder / JOURNAL_FILE, self._header())
        self._last = self._line(progress)
        self.journal.append(self._last)

    def write_best(self) -> None:
        """Write the proposal that was added last as the best, or the source if that is faster."""
        best = self.tally.best
        assert best is not None
        if is_faster_than_source(best.evaluation):
            self._write_best(self._last)
        else:
            self._write_source(source_finding(self.setting.subject.program, best.evaluation))

    def _line(self, progress: SearchProgress) -> Json:
        """Return the journal's line about a proposal, which can be replayed."""
        setting, evaluation = self.setting, progress.evaluation
        known = evaluation if progress.repeats is None else None
        if progress.episode is not None:
            # An episode with too large numbers has no schedule that could be written either.
            episode = progress.episode
            if evaluation is None:
                episode = replace(episode, phase=Phase.INVALID)
            written = setting.record(episode, known)
        else:
            assert evaluation is not None
            written = setting.record_of_schedule(evaluation)
            if known is None:
                written["outcome"] = None
        return {
            "index": progress.index,
            "stage": progress.stage.value,
            "source": str(progress.proposal.source),
            "repeats": progress.repeats,
            "reason": getattr(progress.proposal, "reason", ""),
            "mapping": None if evaluation is None else str(evaluation.mapping),
            **written,
        }

    def confirm(self, finding: Finding) -> None:
        """Make a finding the best one, with the outcome of measuring it again."""
        if finding.is_source:
            self._write_source(finding)
            return
        setting, evaluation = self.setting, finding.evaluation
        line = self._played(finding) or setting.record_of_schedule(evaluation)
        outcome = record.outcome_entries(evaluation, setting.subject)
        arguments = line["arguments"]
        if not setting.decides_mapping or line["phase"] == GIVEN_PHASE:
            mapping = evaluation.mapping
            arguments = {**arguments, "mapping": str(mapping), "threads": mapping.threads}
        self._write_best({**line, "arguments": arguments, "outcome": outcome})

    def _played(self, finding: Finding) -> Json | None:
        """Return the line of the episode that led to a finding; None where none did."""
        assert self.journal is not None
        line = read_journal(self.journal.path).episodes[finding.index]
        is_its_own = line["mapping"] == str(finding.evaluation.mapping)
        return line if line["phase"] != GIVEN_PHASE and is_its_own else None

    def close(self) -> None:
        """Close the journal; harmless the second time."""
        if self.journal is not None:
            self.journal.close()

    def summary(self) -> Json:
        """Return what the search has found so far, as JSON."""
        tally = self.tally
        best, alone = tally.best, tally.best_explored
        return {
            **self._header(),
            "explored": tally.explored,
            "distinct": tally.distinct,
            "counts": dict(tally.counts),
            "mappings_tried": len(tally.trials),
            "best": None if best is None else finding_json(best),
            "best_while_searching": None if alone is None else finding_json(alone),
            "convergence": [{"explored": number, "speedup": best} for number, best in tally.curve],
        }

    def document(self, result: SearchResult) -> Json:
        """Return the summary of a search that is over."""
        in_head = ("format", "version", "name", "parameters")
        entries = result.to_json().items()
        return self.summary() | {name: value for name, value in entries if name not in in_head}

    def write_summary(self, document: Json) -> None:
        """Write the summary."""
        self._write(SUMMARY_FILE, json.dumps(document, indent=2) + "\n")

    def _write_source(self, finding: Finding) -> None:
        """Write the files about the source, the order, storage and statements as written."""
        setting = self.setting.as_written
        self._write_best(setting.record_of_schedule(finding.evaluation), setting)

    def _write_best(self, line: Json, setting: SearchSetting | None = None) -> None:
        """Write the files about the candidate of a line, the one that readers open first last."""
        best = {name: value for name, value in line.items() if name not in _JOURNAL_KEYS}
        best["program"] = self._program_entries(line["program"])
        program = (setting or self.setting).subject.program
        schedule = parse_schedule(line["schedule"], program.scop)
        mapping = parse_mapping(line["outcome"]["mapping"])
        mark = f"/* {MARK}: {program.scop.name} */\n"
        self._write(BEST_C_FILE, mark + self.emit_c(program, schedule, mapping))
        self.write_summary(self.summary())
        self._write(BEST_FILE, json.dumps(best, indent=2) + "\n")

    def _program_entries(self, entries: Json) -> Json:
        """Return the entries about the program with the way to its C file, if it has one."""
        if not is_path(entries["target"]):
            return entries
        return {**entries, RELATIVE_FILE_KEY: relative_file(entries["file"], self.folder)}

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, text.encode())

    def _header(self) -> Json:
        similar = [[str(candidate.source), str(candidate.mapping)] for candidate in self.similar]
        node = {"node": self.node} if self.node else {}
        return {**self.setting.to_json(), "similar": similar, **node}

    def expect_same(self, before: Json) -> None:
        """Refuse to continue another search."""
        assert self.journal is not None
        heads = (
            {name: value for name, value in head.items() if name not in _HEAD_ONLY_KEYS}
            for head in (before, self._header())
        )
        if different := differences(*heads):
            raise InputError(
                f"{self.journal.path}: expected the search that is to be continued, found another "
                f"one: {'; '.join(different)}"
            )


def open_search(
    setting: SearchSetting,
    folder: Path | None,
    resumed: bool,
    similar: Sequence[Candidate] = (),
    node: str = "",
    emit_c: Callable[[Program, Schedule, Mapping], str] = c_text,
) -> SearchFolder:
    """Begin or resume the search in a folder; where there is none yet, it begins."""
    own = EpisodeSchedule | EditedSchedule
    transferable = [candidate for candidate in similar if not isinstance(candidate.source, own)]
    search = SearchFolder(setting, folder, emit_c, transferable, node)
    if folder is None:
        return search
    if not (resumed and (folder / JOURNAL_FILE).exists()):
        expect_no_search(folder)
        return search
    search.journal, contents = SearchJournal.open(folder / JOURNAL_FILE)
    try:
        search.similar = _similar_in(contents.setting, folder / JOURNAL_FILE)
        search.expect_same(contents.setting)
        search.lines = contents.episodes
    except BaseException:
        search.close()
        raise
    return search


def expect_no_search(folder: Path) -> None:
    """Refuse a folder in which there is a file of an earlier search."""
    for name in (JOURNAL_FILE, BEST_FILE, BEST_C_FILE, SUMMARY_FILE):
        if (folder / name).exists():
            raise InputError(
                f"{folder}: expected a folder without the files of a search, found {name}; "
                "--resume continues the search that is there, another folder begins a new one"
            )


def _similar_in(head: Json, path: Path) -> list[Candidate]:
    """Return the candidates of other programs with which a search began, from its journal."""
    try:
        return [
            Candidate(parse_strategy(source), parse_mapping(mapping))
            for source, mapping in head["similar"]
        ]
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise InputError(
            f"{path}: expected the journal of a search, found something else: {error}"
        ) from None
