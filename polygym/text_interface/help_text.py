"""Texts of ``help``: the list of commands, and a command with its effect and side condition."""

from __future__ import annotations

import inspect
import re

from polygym.text_interface.commands import (
    SYNTAX,
    Best,
    Check,
    Explain,
    Help,
    Measure,
    Query,
    Show,
    Steps,
)
from polygym.transformations.steps import KEYWORDS, Step

_QUERIES: dict[str, type[Query]] = {
    "show": Show,
    "steps": Steps,
    "explain": Explain,
    "check": Check,
    "measure": Measure,
    "best": Best,
    "help": Help,
}
_WIDTH = 56
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def help_text(topic: str = "") -> str:
    """Return the help for a command, or the list of all commands.

    >>> print(help_text("measure"))
    measure
    Compile and run the program as it is now, which costs one evaluation.
    """
    if topic:
        kind: type[Query] | type[Step] = _QUERIES.get(topic) or KEYWORDS[topic]
        text = inspect.cleandoc(kind.__doc__ or "").replace("``", "`")
        example = getattr(kind, "example", "")
        return ascii_text(f"{SYNTAX[topic]}\n{text}" + (f"\nExample: {example}" if example else ""))
    lines = ["Questions:"]
    lines += [_row(SYNTAX[name], kind) for name, kind in _QUERIES.items()]
    lines += ["Steps (loops are named L1, L2, ...; statements S0, S1, ...):"]
    lines += [_row(ascii_text(SYNTAX[name]), kind) for name, kind in KEYWORDS.items()]
    return "\n".join(lines)


def _row(syntax: str, kind: type[Query] | type[Step]) -> str:
    summary = ascii_text(inspect.cleandoc(kind.__doc__ or "").partition("\n")[0])
    summary = summary.replace("``", "`")
    return f"  {syntax.ljust(_WIDTH)}{' ' if len(syntax) >= _WIDTH else ''}{summary}"


_SIGNS = {"→": "->", "…": "...", "·": "*", "≤": "<=", "≥": ">=", "–": "-", "×": "x"}  # noqa: RUF001


def ascii_text(text: str) -> str:
    r"""Return a text in ASCII: arrows and the like as signs, all else escaped but line ends.

    >>> ascii_text("a → ü")
    'a -> \\xfc'
    """
    for sign, other in _SIGNS.items():
        text = text.replace(sign, other)
    plain = text.encode("ascii", "backslashreplace").decode("ascii")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", plain)
