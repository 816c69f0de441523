"""Verdicts about programs, and their lines in the results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Verdict(Enum):
    """What a stage comes to."""

    OK = "ok"  # of an export: the fast loops ran, and the output is that of gcc's code
    SOURCE = "source"  # the output is right, and the loops of the source ran each time
    STOPPED = "stopped"  # by a sentence: a gather leaves the size that other subscripts tell
    EMPTY = "empty"
    REFUSED = "refused"
    INVALID = "invalid"  # no C with a meaning, or another output from each compiler
    SLOW = "slow"
    WRONG = "wrong"
    CRASH = "crash"
    INTERNAL = "internal"
    HANG = "hang"


DEFECTS = frozenset({Verdict.WRONG, Verdict.CRASH, Verdict.INTERNAL, Verdict.HANG})
_WORST_FIRST = (
    Verdict.WRONG,
    Verdict.CRASH,
    Verdict.INTERNAL,
    Verdict.HANG,
    Verdict.STOPPED,
    Verdict.INVALID,
    Verdict.OK,
    Verdict.SOURCE,
    Verdict.EMPTY,
    Verdict.SLOW,
    Verdict.REFUSED,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a program, and what there is to say about it."""

    name: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A program, what became of it, and where that is a defect, its text."""

    kind: str
    number: int
    name: str
    verdict: str
    stage: str
    detail: str
    seconds: float
    text: str = ""

    @property
    def is_defect(self) -> bool:
        """Whether polygym is at fault."""
        return Verdict(self.verdict) in DEFECTS

    def to_json(self) -> dict[str, Any]:
        """Return the line of the results."""
        return asdict(self)


def decisive_stage(stages: list[Stage]) -> Stage:
    """Return the stage that tells what became of a program: the worst of its exports.

    >>> from whole_program_study.results import Stage, Verdict
    >>> ok = Stage("export", Verdict.OK)
    >>> decisive_stage([Stage("reference", Verdict.OK), ok, Stage("export", Verdict.WRONG)]).verdict
    <Verdict.WRONG: 'wrong'>
    """
    exports = [stage for stage in stages if stage.name == "export"]
    if not exports:
        return stages[-1]
    return min(exports, key=lambda stage: _WORST_FIRST.index(stage.verdict))
