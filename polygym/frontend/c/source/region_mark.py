"""Marks of regions that have no pragmas: places in a file, and the text with pragmas put in.

A region is the statements from a place to another one, both in the file itself::

    @12:3-20:5      from line 12, column 3, to line 20, column 5, the end included
    @{12:3-20:5}    the same: the body of a loop or an if that has no braces of its own

The pragmas stand on lines of their own. What a line has behind a pragma begins in the column in
which it began before, so that a place is found again by its line alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.frontend.c.source.enclosing_functions import CompletedText
from polygym.frontend.c.tokens.origins import blank_comments
from polygym.pickling import pickle_by_name

_MARK = re.compile(r"@(\{?)(\d+):(\d+)-(\d+):(\d+)(\}?)")
_LINE = re.compile(r"@(\d+)")
_ANY_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b(?![ \t]+(?:end)?scop\b)")
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?:end)?scop[ \t]*")

Place = tuple[int, int]
"""A line and a column, both from 1."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RegionMark:
    """The first and the last place of a region; whether it needs braces around it."""

    first: Place
    last: Place
    needs_braces: bool = False

    def __str__(self) -> str:
        """Return the text that is read again.

        >>> str(RegionMark((12, 3), (20, 5))), str(RegionMark((1, 1), (1, 9), True))
        ('@12:3-20:5', '@{1:1-1:9}')
        """
        span = f"{self.first[0]}:{self.first[1]}-{self.last[0]}:{self.last[1]}"
        return f"@{{{span}}}" if self.needs_braces else f"@{span}"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LineMark:
    """A line that the region is at, which is not looked for yet."""

    line: int

    def __str__(self) -> str:
        """Return the text that is read again.

        >>> str(LineMark(12))
        '@12'
        """
        return f"@{self.line}"


def parse_mark(text: str) -> RegionMark | LineMark:
    """Return a mark from its text.

    Raises:
        InputError: It is none.
    """
    if match := _LINE.fullmatch(text):
        return LineMark(int(match[1]))
    match = _MARK.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[6]):
        raise InputError(f"expected the place of a region, such as @12:3-20:5, found {text!r}")
    first, last = (int(match[2]), int(match[3])), (int(match[4]), int(match[5]))
    if not (1, 1) <= first <= last:
        raise InputError(f"expected a region that ends behind its beginning, found {text!r}")
    return RegionMark(first, last, bool(match[1]))


def insert_pragmas(text: str, mark: RegionMark, outermost: tuple[int, int]) -> CompletedText:
    """Return a text with pragmas around a region; others between two lines are taken out.

    ``outermost`` are the first and the last line of the function around the region.

    >>> print(insert_pragmas("a = 0; for (;;) ; b = 1;", RegionMark((1, 8), (1, 17)), (1, 1)).text)
    a = 0;
    #pragma scop
           for (;;) ;
    #pragma endscop
                      b = 1;

    Raises:
        InputError: There are no such lines and columns.
    """
    lines = text.split("\n")
    plain = blank_comments(text).split("\n")
    _check_place(mark.first, lines)
    _check_place(mark.last, lines)
    for index in range(outermost[0] - 1, outermost[1]):
        if _PRAGMA.fullmatch(plain[index]):
            lines[index] = ""
    opening = ["{", "#pragma scop"] if mark.needs_braces else ["#pragma scop"]
    closing = ["#pragma endscop", "}"] if mark.needs_braces else ["#pragma endscop"]
    begin = _before_pragmas(mark.first, plain)
    cuts = [(begin[0], begin[1] - 1, opening), (*mark.last, closing)]
    result: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, start=1):
        for piece in _pieces(line, [(column, put) for at, column, put in cuts if at == number]):
            if isinstance(piece, str):
                result.append(piece)
                numbers.append(number)
                continue
            # A line that goes on behind its end must not go on into a pragma.
            added = ["", *piece] if result and result[-1].endswith("\\") else piece
            result += added
            numbers += [0] * len(added)
    return CompletedText("\n".join(result), tuple(numbers))


def _before_pragmas(place: Place, plain: list[str]) -> Place:
    """Return a place, or the beginning of the pragmas above it: they belong to what follows.

    >>> _before_pragmas((2, 3), ["#pragma omp parallel for", "  for (;;) ;"])
    (1, 1)
    """
    if plain[place[0] - 1][: place[1] - 1].strip():
        return place
    result, above = place, place[0] - 2
    while above >= 0:
        while above > 0 and plain[above - 1].endswith("\\"):
            above -= 1
        if _ANY_PRAGMA.match(plain[above]):
            result = (above + 1, 1)
        elif plain[above].strip():
            break
        above -= 1
    return result


def _pieces(line: str, cuts: list[tuple[int, list[str]]]) -> Iterator[str | list[str]]:
    """Yield what a line consists of, each part in its old column, and the lines between them.

    >>> list(_pieces("a; b;", [(3, ["#"])]))
    ['a;', ['#'], '   b;']
    """
    if not cuts:
        yield line
        return
    begin = 0
    for column, put in [*cuts, (len(line), [])]:
        if line[begin:column].strip():
            pad = " " * begin if line[:begin].strip() else line[:begin]
            yield (pad + line[begin:column]).rstrip()
        begin = column
        if put:
            yield put


def _check_place(place: Place, lines: list[str]) -> None:
    if place[0] > len(lines) or place[1] > len(lines[place[0] - 1]):
        raise InputError(
            f"expected a region in {len(lines)} lines, found one at line {place[0]}, column "
            f"{place[1]}: the file has changed"
        )
