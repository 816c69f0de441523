"""One tuning in one folder: what is written there, and how a search goes on from it.

``trials.jsonl`` is the journal: first what was searched with, the candidates from elsewhere with
which it began among it, then every candidate the moment its outcome is known. The choices of a
search follow from that and from the outcomes, so it is continued by making them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.files import create_numbered_folder, write_atomically
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.strategy import parse_strategy
from polygym.runtime.evaluation import Evaluation, c_text
from polygym.runtime.worker.timing import describe_host
from polygym.search.conditions import differences
from polygym.search.folder import BEST_C_FILE, BEST_FILE, SUMMARY_FILE, expect_no_search
from polygym.search.journal import SearchJournal
from polygym.search.runner.local import RunnerFactory, open_local_runner
from polygym.search.settings import FORMAT, VERSION, SearchSetting
from polygym.search.strategies.candidates import Candidate, EditedSchedule, EpisodeSchedule
from polygym.search.tuner import TuningPlan, TuningProgress, tune
from polygym.search.tuning_result import TuningResult
from polygym.version import __version__

TUNING_JOURNAL_FILE = "trials.jsonl"

# What may be another when a search is continued: how far it goes, and by which polygym; and what
# the source says already.
_IGNORED_KEYS = ("generations", "seconds", "jobs", "polygym", "seeds", "program", "parameters")


@dataclass(slots=True)
class TuningFolder:
    """What is written; without a folder of the user's a new one is made when there is something.

    ``initial_candidates`` are the candidates from elsewhere, ``recorded`` what an earlier search
    has measured. ``node`` says of which kind the nodes of a cluster are, "" where this machine
    measures.
    """

    setting: SearchSetting
    plan: TuningPlan
    requested_folder: Path | None
    initial_candidates: Sequence[Candidate]
    recorded: tuple[Evaluation, ...] = ()
    folder: Path | None = None
    journal: SearchJournal | None = None
    count: int = field(default=0)
    node: str = ""

    @staticmethod
    def begin(
        setting: SearchSetting,
        plan: TuningPlan,
        given: Path | None,
        seeds: Sequence[Candidate],
        node: str = "",
    ) -> TuningFolder:
        """Return the files of a new search; none may be there."""
        if given is not None:
            expect_no_search(given, (TUNING_JOURNAL_FILE, BEST_FILE, BEST_C_FILE, SUMMARY_FILE))
        seeds = [
            candidate
            for candidate in seeds
            if not isinstance(candidate.source, EpisodeSchedule | EditedSchedule)
        ]
        return TuningFolder(setting, plan, given, seeds, node=node)

    @staticmethod
    def resume(
        setting: SearchSetting,
        plan: TuningPlan,
        given: Path,
        seeds: Sequence[Candidate],
        node: str = "",
    ) -> TuningFolder:
        """Return the files of a search that goes on; where there is none yet, it begins."""
        if not (given / TUNING_JOURNAL_FILE).exists():
            return TuningFolder.begin(setting, plan, given, seeds, node)
        journal, contents = SearchJournal.open(given / TUNING_JOURNAL_FILE)
        try:
            before = contents.setting
            files = TuningFolder(
                setting, plan, given, _initial_candidates(before, journal.path), node=node
            )
            files.folder, files.journal = given, journal
            files._check(before)
            scop = setting.subject.program.scop
            files.recorded = tuple(
                Evaluation.from_json(line.get("outcome", {}), scop) for line in contents.episodes
            )
            files.count = len(files.recorded)
        except BaseException:
            journal.close()
            raise
        return files

    def add(self, progress: TuningProgress) -> None:
        """Write a candidate down, and the best anew if it is that."""
        if self.journal is None:
            self.journal = SearchJournal.create(
                self._ensure_folder() / TUNING_JOURNAL_FILE, self._header()
            )
        self.journal.append(
            {
                "index": self.count,
                "generation": progress.generation,
                "strategy": str(progress.candidate.source),
                "outcome": progress.evaluation.to_json(),
            }
        )
        self.count += 1
        if progress.is_best:
            self._write_best(progress.evaluation)

    def finish(self, best: Evaluation, document: dict[str, Any]) -> None:
        """Write the files that stand at the end."""
        self._write_best(best)
        program = self.setting.subject.program
        text = c_text(program, best.schedule, best.mapping)
        write_atomically(self._ensure_folder() / BEST_C_FILE, text.encode())
        write_atomically(
            self._ensure_folder() / SUMMARY_FILE, (json.dumps(document, indent=2) + "\n").encode()
        )

    def names(self) -> dict[str, str]:
        """Return the paths by what they hold."""
        names = {
            "trials": TUNING_JOURNAL_FILE,
            "best": BEST_FILE,
            "best_c": BEST_C_FILE,
            "summary": SUMMARY_FILE,
        }
        return {what: str(self._ensure_folder() / name) for what, name in names.items()}

    def close(self) -> None:
        """Close the journal."""
        if self.journal is not None:
            self.journal.close()

    def _ensure_folder(self) -> Path:
        if self.folder is None:
            name = Path(self.setting.subject.program.name).stem
            if self.requested_folder is None:
                self.folder = create_numbered_folder(Path.cwd(), f"polygym-{name}")
            else:
                self.requested_folder.mkdir(parents=True, exist_ok=True)
                self.folder = self.requested_folder
        return self.folder

    def _header(self) -> dict[str, Any]:
        program = self.setting.subject.program
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": __version__,
            "program": program.name,
            "source": self.setting.to_json()["program"],
            "parameters": dict(program.parameters),
            "mapping": str(self.setting.evaluation.mapping),
            **self.plan.to_json(),
            "seeds": [
                [str(candidate.source), str(candidate.mapping)]
                for candidate in self.initial_candidates
            ],
            **({"node": self.node} if self.node else {}),
        }

    def _check(self, before: dict[str, Any]) -> None:
        """Refuse to go on with another search."""
        assert self.journal is not None
        heads = (
            {name: value for name, value in head.items() if name not in _IGNORED_KEYS}
            for head in (before, self._header())
        )
        if found := differences(*heads):
            raise InputError(
                f"{self.journal.path}: expected the search that is to be continued, found another "
                f"one: {'; '.join(found)}"
            )

    def _write_best(self, evaluation: Evaluation) -> None:
        """Write the best as a record that can be replayed."""
        measuring = replace(self.setting.evaluation, mapping=evaluation.mapping)
        record = replace(self.setting, evaluation=measuring).record_of_schedule(evaluation)
        write_atomically(
            self._ensure_folder() / BEST_FILE, (json.dumps(record, indent=2) + "\n").encode()
        )


def tune_in_folder(
    folder: TuningFolder,
    on_progress: Callable[[TuningProgress], None] = lambda _: None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    runner_factory: RunnerFactory = open_local_runner,
) -> TuningResult:
    """Tune the program of a folder: every candidate is written down, then shown.

    Raises as :func:`polygym.search.tuner.tune` does, whose arguments these are.
    """

    def keep(progress: TuningProgress) -> None:
        folder.add(progress)
        on_progress(progress)

    return tune(
        folder.setting.subject.program,
        folder.setting.evaluation.mapping,
        folder.plan,
        initial_candidates=folder.initial_candidates,
        recorded=folder.recorded,
        on_progress=keep,
        waiting=waiting,
        runner_factory=runner_factory,
    )


def tuning_document(found: TuningResult, files: TuningFolder, is_cached: bool) -> dict[str, Any]:
    """Return everything that the summary of a tuning holds; a cache may have the best as well."""
    mapping = found.best.mapping
    return {
        **found.to_json(),
        **files.plan.to_json(),
        "tolerance": mapping.tolerance,
        "caveat": mapping.timing_caveat,
        "cached": is_cached,
        "files": files.names(),
        "machine": asdict(describe_host()),
    }


def _initial_candidates(head: dict[str, Any], path: Path) -> list[Candidate]:
    """Return the candidates with which a search began, as its journal has them."""
    try:
        return [
            Candidate(parse_strategy(strategy), parse_mapping(mapping))
            for strategy, mapping in head["seeds"]
        ]
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise InputError(
            f"{path}: expected the journal of `polygym tune`, found something else: {error}"
        ) from None
