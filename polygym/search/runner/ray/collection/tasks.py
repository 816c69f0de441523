"""Collection tasks of a node: one visit, whose rows go to the driver as they come.

It is done by :meth:`polygym.search.corpus.collector.Collection.visit`, with a corpus that keeps
nothing: it knows what the driver knows of the visit, and sends what is added.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from os import sched_getaffinity
from pathlib import Path

from polygym.autoschedule.program_recipes import recipe_from_json
from polygym.errors import InputError
from polygym.mapping.machine import this_machine
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import COMPILE_SECONDS, Collection, CollectPlan
from polygym.search.corpus.program_choice import ProgramChoice
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow, VisitKey
from polygym.search.corpus.store import Corpus
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.runner.ray.fleet.node_kinds import this_node_kind
from polygym.search.runner.ray.fleet.program_texts import ProgramTexts

# A visit ends by itself, or is stopped.
_UNLIMITED = 10**9


def visit_task(
    job: Json, texts: ProgramTexts, emit: Callable[[Json], None], is_stopped: Callable[[], bool]
) -> None:
    """Make a visit, and say what was left out."""
    names = tuple(_local_program(texts, one) for one in job["names"])
    least, most = job["work"]
    plan = CollectPlan(
        ProgramChoice(names, (least, most), job["function"]),
        _UNLIMITED,
        job["each"],
        job["threads"],
        job["seed"],
        None,
        job["near"],
        recipe_from_json(job["recipe"]),
        job["homes"],
    )

    @contextmanager
    def waiting() -> Iterator[None]:
        if is_stopped():
            raise KeyboardInterrupt
        yield

    known = tuple(row_from_json(one) for one in job["known"])
    with ForwardingCorpus(emit, known) as corpus:
        collection = Collection(corpus, plan, waiting=waiting)
        with closing(CompilerPool(COMPILE_SECONDS, sorted(sched_getaffinity(0)))) as compilers:
            try:
                collection.visit(job["visit"], this_node_kind().machine.key, compilers)
            except KeyboardInterrupt:
                return
        for reason in collection.skipped:
            emit({"row": "skipped", "reason": reason})


def _local_program(texts: ProgramTexts, program: Json) -> str:
    """Return a program's name here; of one that could not be sent only the visits of it fail."""
    try:
        return texts.resolve(program)
    except InputError:
        return str(program["name"])


class ForwardingCorpus(Corpus):
    """A corpus that keeps nothing, and sends what a visit adds to it."""

    def __init__(self, emit: Callable[[Json], None], known: tuple[CorpusRow, ...]) -> None:
        """Know some rows of the visit's case."""
        super().__init__(Path(":memory:"), sqlite3.connect(":memory:"))
        self._emit = emit
        self._known = {
            (corpus_row.schedule, corpus_row.mapping): corpus_row for corpus_row in known
        }
        self._sent = 0

    def visit_contents(self, key: VisitKey) -> tuple[CorpusCase, str] | None:
        """Return nothing: the driver says what does not fit."""
        return None

    def begin(self, visit: CaseVisit) -> int:
        """Send what the visit is of, and for what machine loops are planned here."""
        self._emit(
            {
                "row": "visit",
                "program": visit.case.name,
                "parameters": [list(parameter) for parameter in visit.case.parameters],
                "text": visit.text,
                "moment": visit.moment,
                "planned_for": asdict(this_machine()),
            }
        )
        return 0

    def known_rows(self, visit: int) -> dict[tuple[str, str], CorpusRow]:
        """Return what the driver knows of the case."""
        return self._known

    def add(self, visit: int, row: CorpusRow) -> bool:
        """Send a row; here nobody else has one."""
        self._emit({"row": "candidate", **row_json(row)})
        self._sent += 1
        return True

    def count(self) -> int:
        """Return how many rows were sent."""
        return self._sent

    def finish(self, visit: int, background_load: float) -> None:
        """Send that the visit is at its end."""
        self._emit({"row": "finished", "background_load": background_load})


def row_json(row: CorpusRow) -> Json:
    """Return a row as plain data; :func:`row_from_json` reads it back."""
    return {**asdict(row), "status": row.status.value}


def row_from_json(data: Json) -> CorpusRow:
    """Return the row that :func:`row_json` wrote."""
    return CorpusRow(
        str(data["schedule"]),
        str(data["mapping"]),
        str(data["achieved"]),
        OutcomeStatus(data["status"]),
        float(data["seconds"]),
        float(data["baseline_seconds"]),
        str(data["detail"]),
    )
