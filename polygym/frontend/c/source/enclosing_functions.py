"""Files without a function around the region: where the function has to begin and to end.

What other tools are tested with is often the region alone, with or without declarations before it::

    double A[100];                         double A[100];
    #pragma scop                           void sum(double s[1]) {
    for (i = 0; i < 100; i++)       →      int i;
      s[0] += A[i];                        #pragma scop
    #pragma endscop                        …
                                           }

Declarations and functions in front stay outside; statements in front of it and behind it go into
the function, too. The text is cut into lines, and lines are put between: :class:`BareRegion` says
where,
:class:`CompletedText` finds the way back to the user's own lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polygym.errors import SourceError
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.tokens.origins import SourceToken
from polygym.frontend.c.tokens.standard_headers import (
    KNOWN_TYPES,
    STATEMENT_KEYWORDS,
    TYPE_KEYWORDS,
)

_WORD = re.compile(r"[A-Za-z_]\w*")
_BEGIN, _END = "#pragma scop", "#pragma endscop"


@dataclass(frozen=True, slots=True)
class BareRegion:
    """A region without a function: the lines (from 1) before which it begins and after it ends."""

    name: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class CompletedText:
    """A completed text, and for each of its lines the user's; 0 for one that was put in."""

    text: str
    lines: tuple[int, ...]

    def original_line(self, line: int) -> int:
        """Return the user's line for a line of the text, or that before it."""
        before = self.lines[: max(line, 1)]
        return next((original for original in reversed(before) if original), 1)


@dataclass(frozen=True, slots=True)
class _FileScopeItem:
    """What stands at file scope, from token to token: a declaration, a statement or a pragma."""

    first: int
    last: int
    is_statement: bool


def bare_regions(source: SourceMap, file: str) -> tuple[BareRegion, ...]:
    """Return the regions of a file that stand in no function."""
    tokens = source.tokens
    items = tuple(_items(tokens))
    regions: list[BareRegion] = []
    place = 0
    while place < len(items):
        begin = end = place
        place += 1
        if tokens[items[begin].first].text != _BEGIN:
            continue
        while end < len(items) and tokens[items[end].first].text != _END:
            end += 1
        if end == len(items):
            break  # the parser says what is missing
        while begin > 0 and items[begin - 1].is_statement:
            begin -= 1
        while end + 1 < len(items) and items[end + 1].is_statement:
            end += 1
        first, last = tokens[items[begin].first], tokens[items[end].last]
        name = _name(file, source, len(regions))
        regions.append(BareRegion(name, _line(source, first, file), _line(source, last, file)))
        place = end + 1
    return tuple(regions)


def _items(tokens: Sequence[SourceToken]) -> Iterator[_FileScopeItem]:
    """Yield what stands at file scope, in order."""
    first, depth = 0, 0
    texts = [token.text for token in tokens]
    for index, text in enumerate(texts):
        if text[0] == "#":
            if depth == 0:
                yield _FileScopeItem(index, index, is_statement=False)
                first = index + 1
            continue
        depth += (text in "({[") - (text in ")}]")
        if depth < 0:
            return  # the parser says what is closed that was not open
        if depth or text not in (";", "}"):
            continue
        after = texts[index + 1] if index + 1 < len(texts) else ""
        declares = _declares(texts, first)
        if text == "}" and declares and not _is_function(tokens, first, index):
            continue  # the name of a struct's variable or the end of an initialiser follows
        if text == "}" and after == "else":
            continue
        yield _FileScopeItem(first, index, is_statement=not declares)
        first = index + 1


def _is_function(tokens: Sequence[SourceToken], first: int, last: int) -> bool:
    """Whether a declaration that ends in a brace is a function's definition."""
    words = [tokens[index].text for index in range(first, last)]
    head = words[: words.index("{")] if "{" in words else words
    return "(" in head and "=" not in head


def _declares(texts: Sequence[str], start: int) -> bool:
    """Whether what begins at a token at file scope is a declaration or a function."""
    word = texts[start]
    if word in TYPE_KEYWORDS or word in KNOWN_TYPES:
        return True
    if word in STATEMENT_KEYWORDS or not _WORD.fullmatch(word) or start + 1 >= len(texts):
        return False
    # `real x;` begins with the name of a type, `f(n) {` is a function of old; `x = 1` is neither.
    after = texts[start + 1]
    return bool(_WORD.fullmatch(after)) or after == "*" or is_function_definition(texts, start)


def is_function_definition(texts: Sequence[str], start: int) -> bool:
    """Whether ``name(…)`` is followed by a body, or by declarations of arguments and a body."""
    depth = 0
    for index in range(start + 1, len(texts) - 1):
        depth += (texts[index] == "(") - (texts[index] == ")")
        if depth == 0:
            after = texts[index + 1]
            is_type = after in TYPE_KEYWORDS - {";"} or after in KNOWN_TYPES
            return texts[start + 1] == "(" and (after == "{" or is_type)
    return False


def _line(source: SourceMap, token: SourceToken, file: str) -> int:
    """Return the line of the file in which a token stands."""
    if token.origin.file != file:
        raise SourceError(
            source.location_of_origin(token.origin),
            "a region without a function around it is only understood in the file itself",
        )
    return token.origin.line


def _name(file: str, source: SourceMap, number: int) -> str:
    """Return a name for the function of a region: that of the file, if it can be one."""
    base = re.sub(r"\W", "_", Path(file).stem)
    if not _WORD.fullmatch(base) or base in TYPE_KEYWORDS | STATEMENT_KEYWORDS | KNOWN_TYPES:
        base = f"region_{base}".rstrip("_")
    name = base if number == 0 else f"{base}_{number + 1}"
    spelled = {token.text for token in source.tokens} | {"main"}
    while name in spelled:
        name = f"region_{name}"
    return name


def complete_text(text: str, heads: Sequence[tuple[BareRegion, str]]) -> CompletedText:
    """Return a text with functions around its regions; each frame has the lines that open it."""
    lines = text.split("\n")
    result: list[str] = []
    numbers: list[int] = []
    position = 0
    for frame, opening in heads:
        for start, end, between in (
            (position, frame.first_line - 1, opening.split("\n")),
            (frame.first_line - 1, frame.last_line, ["}"]),
        ):
            result += [*lines[start:end], *between]
            numbers += [*range(start + 1, end + 1), *[0] * len(between)]
        position = frame.last_line
    result += lines[position:]
    numbers += range(position + 1, len(lines) + 1)
    return CompletedText("\n".join(result), tuple(numbers))


def with_original_locations(
    source: SourceMap, completed: CompletedText, text: str, file: str
) -> SourceMap:
    """Return a completed text's tokens with the user's own lines as their places."""
    tokens = []
    for token in source.tokens:
        origin = token.origin
        if origin.file == file:
            is_added = not completed.lines[min(origin.line, len(completed.lines)) - 1]
            origin = replace(
                origin,
                line=completed.original_line(origin.line),
                column=1 if is_added else origin.column,
                in_macro=origin.in_macro or is_added,
            )
        tokens.append(replace(token, origin=origin))
    return source.relocated(tuple(tokens), {file: text.split("\n")})
