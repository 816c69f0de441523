"""Commands of a text session: one line each, as values with a text.

Every step of :mod:`polygym.transformations.steps` is a command; the others ask something::

    show [program|dependences|schedule|outcome|budget]     steps [KIND]
    explain STEP      check STEP      measure      best      help [COMMAND]

:func:`parse_command` reads the text that ``str`` writes.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, get_args

from polygym.errors import InputError
from polygym.transformations.parsing import parse_step
from polygym.transformations.steps import KEYWORDS, STEP_TYPES, Step

LONGEST_LINE = 10_000
"""Characters that a line may have."""

_LONGEST_SHOWN = 80


class Part(Enum):
    """The parts of what ``show`` prints; the value is the word in a line."""

    ALL = "all"
    PROGRAM = "program"
    DEPENDENCES = "dependences"
    SCHEDULE = "schedule"
    OUTCOME = "outcome"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Show:
    """Print the program and its state, or one part of it."""

    part: Part = Part.ALL

    def __str__(self) -> str:
        """Return the text."""
        return "show" if self.part is Part.ALL else f"show {self.part.value}"


@dataclass(frozen=True, slots=True)
class Steps:
    """List the legal steps, or those of one kind in full."""

    kind: str = ""

    def __str__(self) -> str:
        """Return the text."""
        return f"steps {self.kind}" if self.kind else "steps"


@dataclass(frozen=True, slots=True)
class Explain:
    """Say why a step is legal or not, and what it would change."""

    step: Step

    def __str__(self) -> str:
        """Return the text."""
        return f"explain {self.step}"


@dataclass(frozen=True, slots=True)
class Check:
    """Say whether a step is legal, and change nothing."""

    step: Step

    def __str__(self) -> str:
        """Return the text."""
        return f"check {self.step}"


@dataclass(frozen=True, slots=True)
class Measure:
    """Compile and run the program as it is now, which costs one evaluation."""

    def __str__(self) -> str:
        """Return the text."""
        return "measure"


@dataclass(frozen=True, slots=True)
class Best:
    """Print the best program that was measured, and its steps."""

    def __str__(self) -> str:
        """Return the text."""
        return "best"


@dataclass(frozen=True, slots=True)
class Help:
    """Print the commands, or one of them in full."""

    topic: str = ""

    def __str__(self) -> str:
        """Return the text."""
        return f"help {self.topic}" if self.topic else "help"


Query: TypeAlias = Show | Steps | Explain | Check | Measure | Best | Help
Command: TypeAlias = Query | Step

SYNTAX: dict[str, str] = {
    "show": f"show [{'|'.join(part.value for part in Part)}]",
    "steps": "steps [KIND]",
    "explain": "explain STEP",
    "check": "check STEP",
    "measure": "measure",
    "best": "best",
    "help": "help [COMMAND]",
    **{keyword: kind.syntax for keyword, kind in KEYWORDS.items()},
}
"""The form of each command, by its first word."""


def parse_command(line: str) -> Command:
    """Read a line.

    >>> str(parse_command("  explain  tile L1 L2 32 8")), str(parse_command("show budget"))
    ('explain tile L1 L2 32 8', 'show budget')

    Raises:
        InputError: it is no command; the message names the expected form.
    """
    if len(line) > LONGEST_LINE:
        raise InputError(f"a line: expected at most {LONGEST_LINE} characters, found {len(line)}")
    words = line.split()
    if len(line.strip().splitlines()) > 1:
        raise InputError("expected one line, found several: send one command at a time")
    if not words:
        raise InputError("expected a command, found an empty line; `help` lists the commands")
    first, rest = words[0], words[1:]
    match first:
        case "show":
            return Show(_part(rest))
        case "steps":
            return Steps(_topic(first, rest, tuple(KEYWORDS)))
        case "help":
            return Help(_topic(first, rest, tuple(SYNTAX)))
        case "explain" | "check":
            if not rest:
                raise _form(first, "a step", "nothing")
            step = parse_step(" ".join(rest))
            return Explain(step) if first == "explain" else Check(step)
        case "measure" | "best":
            if rest:
                raise _form(first, "nothing more", repr(rest[0][:_LONGEST_SHOWN]))
            return Measure() if first == "measure" else Best()
        case _ if first in KEYWORDS:
            return parse_step(line)
        case _:
            raise _unknown(first)


def is_step(command: Command) -> bool:
    """Whether a command is a step, which changes the state."""
    return isinstance(command, STEP_TYPES) and not isinstance(command, get_args(Query))


def _part(rest: list[str]) -> Part:
    if len(rest) > 1:
        raise _form("show", "one part", f"{len(rest)} words")
    try:
        return Part(rest[0]) if rest else Part.ALL
    except ValueError:
        names = ", ".join(part.value for part in Part)
        raise _form("show", f"one of {names}", repr(rest[0][:_LONGEST_SHOWN])) from None


def _topic(command: str, rest: list[str], known: tuple[str, ...]) -> str:
    if len(rest) > 1:
        raise _form(command, "one word", f"{len(rest)} words")
    if rest and rest[0] not in known:
        raise _form(command, f"one of {', '.join(known)}", repr(rest[0][:_LONGEST_SHOWN]))
    return rest[0] if rest else ""


def _form(command: str, expected: str, found: str) -> InputError:
    return InputError(
        f"{command}: expected {expected}, found {found}; the form is: {SYNTAX[command]}"
    )


def _unknown(word: str) -> InputError:
    near = difflib.get_close_matches(word.lower(), SYNTAX, 1, 0.6)
    hint = f"; did you mean: {SYNTAX[near[0]]}" if near else "; `help` lists the commands"
    return InputError(f"expected one of {', '.join(SYNTAX)}, found {word[:_LONGEST_SHOWN]!r}{hint}")
