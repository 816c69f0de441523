"""Contents of a corpus as values: cases, rows, visits, machines.

Tables of a corpus.

=============  ===================================================================================
table          one row for
=============  ===================================================================================
``corpus``     the corpus: its format, its version, the polygym that created it
``machines``   a kind of machine: its key, its fingerprint, and the vectors, registers and caches
               for which loops are planned there
``programs``   a program: its name and, of a user's file, its source text; the name of a changed
               program has two more lines: its index-set splits and its storage plan
``cases``      a program at sizes
``visits``     one measurement session of a case on a machine; ``is_finished`` once all its rows
               are there; ``position`` is below 0 if the visit comes from another corpus
``texts``      a schedule or a mapping, which many rows share
``rows``       a measured candidate; the same one on the same kind of machine once
``clocks``     the time of one fixed program now and then; drift shows in it
=============  ===================================================================================

``checksum`` covers everything that a line means (:mod:`polygym.search.corpus.checksums`): that of a
visit covers its case and its program, that of a row its texts and the case of its visit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from polygym.pickling import pickle_by_name
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.runtime.worker.outcome import OutcomeStatus

_SIGNIFICANT_DIGITS = 6
_SOURCE_STORAGE = str(SOURCE_STORAGE)
_FUNCTION_MARK = "--function "

VisitKey: TypeAlias = tuple[str, int, int, int]
"""What a visit is known by: its machine, its threads, its seed, its number."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CorpusCase:
    """A program at sizes: what candidates are compared within; a file has its name alone.

    One that is changed before is another program: ``splitting`` and ``storage`` are how, as texts.
    So is another region of a file, or one with other sizes beside it: ``function`` chooses it.
    """

    program: str
    parameters: tuple[tuple[str, int], ...]
    splitting: str = ""
    storage: str = _SOURCE_STORAGE
    function: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether the program is another one than was written."""
        return bool(self.splitting) or self.storage != _SOURCE_STORAGE

    @property
    def name(self) -> str:
        """The program's name, and lines that say how it is changed; :meth:`from_name` reads it."""
        chosen = (f"{_FUNCTION_MARK}{self.function}",) if self.function else ()
        changes = (self.splitting, self.storage) if self.is_changed else ()
        return "\n".join((self.program, *chosen, *changes))

    @staticmethod
    def from_name(name: str, parameters: tuple[tuple[str, int], ...]) -> CorpusCase:
        """Return the case of a name."""
        program, marked, rest = name.partition(f"\n{_FUNCTION_MARK}")
        if marked:
            function, *changes = rest.split("\n", 2)
            cuts, plan = changes if len(changes) == 2 else ("", _SOURCE_STORAGE)
            return CorpusCase(program, parameters, cuts, plan, function)
        program, *changes = name.rsplit("\n", 2)
        is_changed = len(changes) == 2
        return CorpusCase(program if is_changed else name, parameters, *changes * is_changed)

    def __str__(self) -> str:
        """Return both for people."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.parameters)
        kept = self.storage if self.storage != _SOURCE_STORAGE else ""
        changes = filter(None, (self.function, self.splitting, kept))
        return " ".join((f"{self.program}({sizes})", *(f"[{change}]" for change in changes)))


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A candidate that was measured: a schedule and a mapping, and what became of it.

    ``achieved`` is the mapping of the generated code, which may be simpler than ``mapping``;
    ``seconds`` and ``baseline_seconds`` are best times, the second that of the original order
    beside it; both are 0 where there is none.
    """

    schedule: str
    mapping: str
    achieved: str
    status: OutcomeStatus
    seconds: float
    baseline_seconds: float
    detail: str = ""

    def rounded(self) -> CorpusRow:
        """Return it with as many digits of times as a clock has, which makes files small."""
        return replace(
            self,
            seconds=float(f"{self.seconds:.{_SIGNIFICANT_DIGITS}g}"),
            baseline_seconds=float(f"{self.baseline_seconds:.{_SIGNIFICANT_DIGITS}g}"),
        )

    @property
    def is_ok(self) -> bool:
        """Whether it ran to a correct end."""
        return self.status is OutcomeStatus.OK

    @property
    def speedup(self) -> float:
        """The original's time over its own; 0 where it has none."""
        return self.baseline_seconds / self.seconds if self.is_ok and self.seconds else 0.0


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CaseVisit:
    """A case that was sampled at a time, with what the machine did meanwhile.

    ``background_load`` is how many cores, on average, were busy with something else. ``text`` is
    the source of a program that is none of polygym's own.
    """

    case: CorpusCase
    number: int
    seed: int
    threads: int
    machine: str
    moment: float
    background_load: float = 0.0
    text: str = ""

    @property
    def key(self) -> VisitKey:
        """What it is known by."""
        return self.machine, self.threads, self.seed, self.number


FORMAT = "polygym corpus"
VERSION = 4

TABLES = """
CREATE TABLE corpus (only INTEGER PRIMARY KEY CHECK (only = 1), format TEXT NOT NULL,
    version INTEGER NOT NULL, polygym TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE machines (key TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE programs (number INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (name, text));
CREATE TABLE cases (number INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES programs,
    parameters TEXT NOT NULL, UNIQUE (program, parameters));
CREATE TABLE visits (number INTEGER PRIMARY KEY, case_number INTEGER NOT NULL REFERENCES cases,
    position INTEGER NOT NULL, seed INTEGER NOT NULL, threads INTEGER NOT NULL,
    machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL, background_load REAL NOT NULL,
    is_finished INTEGER NOT NULL DEFAULT 0, checksum INTEGER NOT NULL DEFAULT -1,
    UNIQUE (machine, threads, seed, position));
CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE rows (visit INTEGER NOT NULL REFERENCES visits, position INTEGER NOT NULL,
    case_number INTEGER NOT NULL REFERENCES cases, machine TEXT NOT NULL,
    threads INTEGER NOT NULL, schedule INTEGER NOT NULL REFERENCES texts,
    mapping INTEGER NOT NULL REFERENCES texts, achieved INTEGER NOT NULL REFERENCES texts,
    status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    detail TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (visit, position),
    UNIQUE (case_number, machine, threads, schedule, mapping)) WITHOUT ROWID;
CREATE TABLE clocks (machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL,
    seconds REAL NOT NULL, checksum INTEGER NOT NULL);
"""
