"""The words of a tensor comprehension: names, numbers, operators, each with its place.

Comments run from ``#`` to the end of the line. A number is what C takes for one: ``1``, ``0.5``,
``1e-3``, ``2.f``; its suffix is part of it. Whole numbers are decimal and signed: C's ``0x7f``,
``0777`` and ``3u`` are refused. A name may begin with digits, as ``2LUT`` does, if it is no number.
``+=!`` is one word, ``min=`` and ``max=`` too (with no space before the ``=``), so that ``min``
alone stays a function.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

from polygym.errors import SourceError, SourceLocation


class TokenKind(Enum):
    """What a word is."""

    NAME = "a name"
    NUMBER = "a number"
    SYMBOL = "a symbol"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class TcToken:
    """A word and where it stands."""

    kind: TokenKind
    text: str
    location: SourceLocation


_TOKEN_PATTERN = re.compile(
    r"""
    (?P<skip>    [ \t\r\f\v\n]+ | \#[^\n]* )
  | (?P<reduce>  (?: min | max ) =!? (?!=) )
  | (?P<number>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? [fFlL]?
                 (?! [A-Za-z0-9_] ) )
  | (?P<name>    [0-9]* [A-Za-z_] [A-Za-z0-9_]* )
  | (?P<symbol>  \+=!? | \*=!? | -> | <=> | == | != | <= | >= | && | \|\|
               | [-+*/%<>=!?:.,(){}] )
    """,
    re.VERBOSE,
)

# What C, or Python, takes for a whole number, and the language does not.
_C_NUMBER_PATTERN = re.compile(
    r"0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-9]+|[0-9]+(?=[uU]|[lL][lLuU])"
)
_HINTS = {
    "[": "subscripts and sizes stand in parentheses: A(i, j)",
    ";": "nothing stands between statements",
    "^": "a power is pow(x, y)",
    "&": "both hold is x && y",
    "|": "one of them holds is x || y",
}
_SUFFIX = re.compile(r"[uUlL]{0,3}")
_LONGEST_SHOWN = 30


def tokenize(text: str, file: str) -> tuple[TcToken, ...]:
    """Return the words of a text, and the end, behind the last one; a byte order mark is none.

    Raises:
        SourceError: a character begins no word, or a word is a number of another language.
    """
    text = text.removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    tc_tokens: list[TcToken] = []
    position, line, start = 0, 1, 0

    def place(at: int) -> SourceLocation:
        return SourceLocation(file, line, at - start + 1, lines[line - 1])

    while position < len(text):
        match = _TOKEN_PATTERN.match(text, position)
        if match is None:
            raise SourceError(
                place(position),
                f"expected a name, a number or an operator, found {text[position]!r}",
                _HINTS.get(text[position], ""),
            )
        word = match.group()
        if match.lastgroup == "skip":
            for offset, character in enumerate(word):
                if character == "\n":
                    line, start = line + 1, position + offset + 1
        else:
            _check_number(word, place(position))
            tc_tokens.append(TcToken(_KIND_OF_GROUP[str(match.lastgroup)], word, place(position)))
        position = match.end()
    last = tc_tokens[-1].location if tc_tokens else place(position)
    behind = replace(last, column=last.column + len(tc_tokens[-1].text)) if tc_tokens else last
    return (*tc_tokens, TcToken(TokenKind.END, "", behind))


def _check_number(word: str, place: SourceLocation) -> None:
    """Refuse ``0x7f``, ``0777``, ``3u`` and the like, which would be names, or mean another value.

    >>> _check_number("0x7fu", SourceLocation("a.tc", 1, 1))
    Traceback (most recent call last):
        ...
    polygym.errors.SourceError: a.tc:1:1: error: expected a decimal number, found 0x7fu
        hint: say 127, or uint32(127) for that type
    """
    match = _C_NUMBER_PATTERN.match(word)
    if match is None or not _SUFFIX.fullmatch(word, match.end()):
        return
    digits, suffix = match.group(), word[match.end() :].lower()
    raise SourceError(
        place, f"expected a decimal number, found {word}", _number_hint(digits, suffix)
    )


def _number_hint(digits: str, suffix: str) -> str:
    """Return the hint of how the language has a number of C."""
    if len(digits) > _LONGEST_SHOWN:
        return ""
    is_octal = digits.isdigit() and digits.startswith("0")
    decimal = digits.lstrip("0") or "0"
    if not is_octal:
        decimal = str(int(digits, 0))
    elif set(digits) <= set("01234567") and (octal := str(int(digits, 8))) != decimal:
        decimal += f", or {octal} if it was to be octal"
    if not suffix:
        return f"say {decimal}"
    type_name = ("u" if "u" in suffix else "") + ("int64" if "l" in suffix else "int32")
    return f"say {decimal}, or {type_name}({decimal}) for that type"


_KIND_OF_GROUP = {
    "name": TokenKind.NAME,
    "number": TokenKind.NUMBER,
    "symbol": TokenKind.SYMBOL,
    "reduce": TokenKind.SYMBOL,
}
