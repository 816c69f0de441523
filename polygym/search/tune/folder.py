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

from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.strategy import parse_strategy
from polygym.errors import InputError
from polygym.files import make_new_folder, write_atomically
from polygym.measure.evaluation import Evaluation, c_text
from polygym.measure.worker.timing import this_machine
from polygym.search.explore.conditions import differences
from polygym.search.explore.folder import BEST, BEST_C, SUMMARY, expect_none
from polygym.search.explore.journal import Journal
from polygym.search.explore.setting import FORMAT, VERSION, Setting
from polygym.search.tune.bench import Opener, open_here
from polygym.search.tune.candidates import Candidate, Edited, Played
from polygym.search.tune.tuned import Tuned
from polygym.search.tune.tuner import Plan, Progress, tune
from polygym.version import __version__

TRIALS = "trials.jsonl"

# What may be another when a search is continued: how far it goes, and by which polygym; and what
# the source says already.
_MAY_DIFFER = ("generations", "seconds", "jobs", "polygym", "seeds", "program", "parameters")


@dataclass(slots=True)
class TuningFiles:
    """What is written; without a folder of the user's a new one is made when there is something.

    ``seeds`` are the candidates from elsewhere, ``recorded`` what an earlier search has measured.
    ``node`` says of which kind the nodes of a cluster are, "" where this machine measures.
    """

    setting: Setting
    plan: Plan
    given: Path | None
    seeds: Sequence[Candidate]
    recorded: tuple[Evaluation, ...] = ()
    folder: Path | None = None
    trials: Journal | None = None
    count: int = field(default=0)
    node: str = ""

    @staticmethod
    def begin(
        setting: Setting,
        plan: Plan,
        given: Path | None,
        seeds: Sequence[Candidate],
        node: str = "",
    ) -> TuningFiles:
        """Return the files of a new search; none may be there."""
        if given is not None:
            expect_none(given, (TRIALS, BEST, BEST_C, SUMMARY))
        seeds = [one for one in seeds if not isinstance(one.strategy, Played | Edited)]
        return TuningFiles(setting, plan, given, seeds, node=node)

    @staticmethod
    def resume(
        setting: Setting, plan: Plan, given: Path, seeds: Sequence[Candidate], node: str = ""
    ) -> TuningFiles:
        """Return the files of a search that goes on; where there is none yet, it begins."""
        if not (given / TRIALS).exists():
            return TuningFiles.begin(setting, plan, given, seeds, node)
        journal, contents = Journal.open(given / TRIALS)
        try:
            before = contents.setting
            files = TuningFiles(setting, plan, given, _seeds(before, journal.path), node=node)
            files.folder, files.trials = given, journal
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

    def add(self, progress: Progress) -> None:
        """Write a candidate down, and the best anew if it is that."""
        if self.trials is None:
            self.trials = Journal.create(self._made() / TRIALS, self._head())
        self.trials.append(
            {
                "index": self.count,
                "generation": progress.generation,
                "strategy": str(progress.candidate.strategy),
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
        write_atomically(self._made() / BEST_C, text.encode())
        write_atomically(self._made() / SUMMARY, (json.dumps(document, indent=2) + "\n").encode())

    def names(self) -> dict[str, str]:
        """Return the paths by what they hold."""
        names = {"trials": TRIALS, "best": BEST, "best_c": BEST_C, "summary": SUMMARY}
        return {what: str(self._made() / name) for what, name in names.items()}

    def close(self) -> None:
        """Close the journal."""
        if self.trials is not None:
            self.trials.close()

    def _made(self) -> Path:
        if self.folder is None:
            name = Path(self.setting.subject.program.name).stem
            if self.given is None:
                self.folder = make_new_folder(Path.cwd(), f"polygym-{name}")
            else:
                self.given.mkdir(parents=True, exist_ok=True)
                self.folder = self.given
        return self.folder

    def _head(self) -> dict[str, Any]:
        program = self.setting.subject.program
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": __version__,
            "program": program.name,
            "source": self.setting.to_json()["program"],
            "parameters": dict(program.parameters),
            "mapping": str(self.setting.measuring.mapping),
            **self.plan.to_json(),
            "seeds": [[str(one.strategy), str(one.mapping)] for one in self.seeds],
            **({"node": self.node} if self.node else {}),
        }

    def _check(self, before: dict[str, Any]) -> None:
        """Refuse to go on with another search."""
        assert self.trials is not None
        heads = (
            {name: value for name, value in head.items() if name not in _MAY_DIFFER}
            for head in (before, self._head())
        )
        if found := differences(*heads):
            raise InputError(
                f"{self.trials.path}: expected the search that is to be continued, found another "
                f"one: {'; '.join(found)}"
            )

    def _write_best(self, evaluation: Evaluation) -> None:
        """Write the best as a record that can be replayed."""
        measuring = replace(self.setting.measuring, mapping=evaluation.mapping)
        record = replace(self.setting, measuring=measuring).record_of_given(evaluation)
        write_atomically(self._made() / BEST, (json.dumps(record, indent=2) + "\n").encode())


def tune_in(
    files: TuningFiles,
    show: Callable[[Progress], None] = lambda _: None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    opener: Opener = open_here,
) -> Tuned:
    """Tune the program of a folder: every candidate is written down, then shown.

    Raises as :func:`polygym.search.tune.tuner.tune` does, whose arguments these are.
    """

    def keep(progress: Progress) -> None:
        files.add(progress)
        show(progress)

    return tune(
        files.setting.subject.program,
        files.setting.measuring.mapping,
        files.plan,
        seeds=files.seeds,
        recorded=files.recorded,
        show=keep,
        waiting=waiting,
        opener=opener,
    )


def document(found: Tuned, files: TuningFiles, is_cached: bool) -> dict[str, Any]:
    """Return everything that the summary of a tuning holds; a cache may have the best as well."""
    mapping = found.best.mapping
    return {
        **found.to_json(),
        **files.plan.to_json(),
        "tolerance": mapping.tolerance,
        "caveat": mapping.caveat,
        "cached": is_cached,
        "files": files.names(),
        "machine": asdict(this_machine()),
    }


def _seeds(head: dict[str, Any], path: Path) -> list[Candidate]:
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
