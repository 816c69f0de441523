"""Places of loops in C text, without a parser: also where the front end refuses the file.

A nest is marked by a comment, ``/* nest: name */``, before its outermost loop::

    /* nest: rows */          the mark, line 1
    outer: for (i = 0; …)     the loop begins in line 2, column 8
      a[i] = 0;               and ends in line 3
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = re.compile(r"/\*\s*nest:\s*(\w+)\s*\*/")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\w+\s*:(?!:)")
_CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class LoopText:
    """The extent of a loop in a file, from 1; ``column`` is that of its keyword."""

    name: str
    line: int
    column: int
    last_line: int


def marked_loops(text: str) -> tuple[LoopText, ...]:
    r"""Return the loops behind the marks of a text.

    >>> marked_loops("/* nest: rows */\nouter: for (;;)\n  x++;")
    (LoopText(name='rows', line=2, column=8, last_line=3),)
    """
    return tuple(
        loop
        for mark in MARK.finditer(text)
        if (loop := _loop_from(text, mark.end(), mark[1])) is not None
    )


def loop_at(text: str, line: int, column: int, name: str) -> LoopText:
    """Return the loop whose first word stands at a place; one line where there is no loop."""
    start = _offset(text, line) + column - 1
    return _loop_from(text, start, name) or LoopText(name, line, column, line)


def _loop_from(text: str, start: int, name: str) -> LoopText | None:
    """Return the first loop behind an offset."""
    plain = _blanked(text)
    match = _LOOP.search(plain, start)
    if match is None:
        return None
    end = _statement_end(plain, match.start())
    line = text.count("\n", 0, match.start()) + 1
    column = match.start() - (text.rfind("\n", 0, match.start()) + 1) + 1
    return LoopText(name, line, column, text.count("\n", 0, end) + 1)


def _blanked(text: str) -> str:
    """Return a text with spaces for comments, literals and lines of the preprocessor."""
    return _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _offset(text: str, line: int) -> int:
    """Return where a line begins."""
    lines = text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1])


def _statement_end(text: str, start: int) -> int:
    """Return the offset of the last character of the statement that begins at an offset."""
    place = _skip_space(text, start)
    if place >= len(text):
        return len(text) - 1
    if text[place] == "{":
        return _closing(text, place)
    word = _WORD.match(text, place)
    match word[0] if word else "":
        case "for" | "while" | "switch" | "if" as keyword:
            end = _statement_end(text, _closing(text, text.find("(", place)) + 1)
            behind = _skip_space(text, end + 1)
            if keyword == "if" and re.match(r"else\b", text[behind : behind + 5]):
                return _statement_end(text, behind + len("else"))
            return end
        case "do":
            return _semicolon(text, _statement_end(text, place + len("do")) + 1)
        case _ if label := _LABEL.match(text, place):
            return _statement_end(text, label.end())
        case _:
            return _semicolon(text, place)


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _closing(text: str, place: int) -> int:
    """Return where the bracket at an offset is closed, the end of the text if it never is."""
    depth = 0
    opening, closing = text[place], _CLOSING.get(text[place], "")
    for index in _brackets(text, place):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    return len(text) - 1


def _semicolon(text: str, place: int) -> int:
    """Return the offset of the next semicolon outside of brackets."""
    depth = 0
    for index in _brackets(text, place):
        depth += (text[index] in "([{") - (text[index] in ")]}")
        if depth == 0 and text[index] == ";":
            return index
    return len(text) - 1


def _brackets(text: str, place: int) -> Iterator[int]:
    """Yield the offsets of brackets and semicolons."""
    return (match.start() for match in re.compile(r"[()\[\]{};]").finditer(text, max(place, 0)))
