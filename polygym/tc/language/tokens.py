"""The words of a tensor comprehension: names, numbers, operators, each with its place.

Comments run from ``#`` to the end of the line. A number is what C takes for one: ``1``, ``0.5``,
``1e-3``, ``2.f``; its suffix is part of it. A name may begin with digits, as ``2LUT`` does, if it
is no number. ``+=!`` is one word, ``min=`` and ``max=`` too (with no space before the ``=``), so
that ``min`` alone stays a function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from polygym.errors import Place, SourceError


class Kind(Enum):
    """What a word is."""

    NAME = "a name"
    NUMBER = "a number"
    SYMBOL = "a symbol"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """A word and where it stands."""

    kind: Kind
    text: str
    place: Place


_WORD = re.compile(
    r"""
    (?P<skip>    [ \t\r\f\v\n]+ | \#[^\n]* )
  | (?P<reduce>  (?: min | max ) =!? (?!=) )
  | (?P<number>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? [fFlL]?
                 (?! [A-Za-z0-9_] ) )
  | (?P<name>    [0-9]* [A-Za-z_] [A-Za-z0-9_]* )
  | (?P<symbol>  \+=!? | \*=!? | -> | == | != | <= | >= | && | \|\|
               | [-+*/%<>=!?:.,(){}] )
    """,
    re.VERBOSE,
)


def tokens(text: str, file: str) -> tuple[Token, ...]:
    """Return the words of a text, and the end as the last one.

    Raises:
        SourceError: a character begins no word.
    """
    lines = text.split("\n")
    found: list[Token] = []
    position, line, start = 0, 1, 0

    def place(at: int) -> Place:
        return Place(file, line, at - start + 1, lines[line - 1])

    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise SourceError(
                place(position),
                f"expected a name, a number or an operator, found {text[position]!r}",
            )
        word = match.group()
        if match.lastgroup == "skip":
            for offset, character in enumerate(word):
                if character == "\n":
                    line, start = line + 1, position + offset + 1
        else:
            found.append(Token(_KINDS[str(match.lastgroup)], word, place(position)))
        position = match.end()
    found.append(Token(Kind.END, "", place(position)))
    return tuple(found)


_KINDS = {
    "name": Kind.NAME,
    "number": Kind.NUMBER,
    "symbol": Kind.SYMBOL,
    "reduce": Kind.SYMBOL,
}
