"""Contents of a corpus as values: cases, rows, visits, machines."""

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
        return (
            CorpusCase(program, parameters, *changes)
            if len(changes) == 2
            else CorpusCase(name, parameters)
        )

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
