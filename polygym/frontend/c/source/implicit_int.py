"""Declarations of old without a type: what C had ``int`` for gets its ``int``.

The parser knows no declaration without a type, so the word is put between the tokens, at the place
of the name that it is for::

    static n = 4;                       static int n = 4;
    f(a, n) double *a; register n;      int f(a, n) double *a; register int n;
    { register i; … }                   { register int i; … }

That is where a declaration begins with words such as ``static`` or ``register`` and a name that is
no type follows, and where ``name(…)`` at file scope has a body, or declarations of its arguments
and a body. What is neither is left to the parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import compile as pattern
from typing import TypeAlias

from polygym.frontend.c.source.locations import TokenOrigin
from polygym.frontend.c.source.standard_headers import (
    KNOWN_TYPES,
    STATEMENT_KEYWORDS,
    TYPE_KEYWORDS,
)

RawToken: TypeAlias = tuple[str, TokenOrigin, tuple[str, int, int] | None]
"""The text of a token, where it stands, and the position of what is there literally."""

_SPECIFIERS = frozenset({"static", "extern", "register", "auto", "const", "volatile"})
_NAME = pattern(r"[A-Za-z_]\w*")
_AFTER_NAME = frozenset({";", ",", "=", "[", "("})


def with_implicit_int(tokens: Sequence[RawToken]) -> Iterator[RawToken]:
    """Yield the tokens of a file with ``int`` before what is declared without a type."""
    texts = [piece[0] for piece in tokens]
    types = KNOWN_TYPES | _defined_types(texts)
    places = {*_after_specifiers(texts, types), *_functions(texts, types)}
    for index, piece in enumerate(tokens):
        if index in places:
            yield "int", piece[1], None
        yield piece


def _defined_types(texts: Sequence[str]) -> set[str]:
    """Return the names in type definitions, a few too many: what is no type there."""
    result: set[str] = set()
    for start in (index for index, text in enumerate(texts) if text == "typedef"):
        depth = 0
        for text in texts[start + 1 :]:
            depth += (text == "{") - (text == "}")
            if text == ";" and depth <= 0:
                break
            if _NAME.fullmatch(text):
                result.add(text)
    return result - TYPE_KEYWORDS


def _is_name(text: str, types: set[str] | frozenset[str]) -> bool:
    """Whether a token is a name that is no type."""
    known = text in TYPE_KEYWORDS or text in STATEMENT_KEYWORDS or text in types
    return bool(_NAME.fullmatch(text)) and not known


def _after_specifiers(texts: Sequence[str], types: set[str] | frozenset[str]) -> Iterator[int]:
    """Yield where names stand that are declared by words such as ``register`` alone."""
    for start, text in enumerate(texts):
        if text not in _SPECIFIERS or not _may_begin_declaration(texts, start):
            continue
        index = start
        while index < len(texts) and texts[index] in _SPECIFIERS:
            index += 1
        if index + 1 < len(texts) and _is_name(texts[index], types):
            if texts[index + 1] in _AFTER_NAME:
                yield index


def _may_begin_declaration(texts: Sequence[str], index: int) -> bool:
    """Whether a declaration may begin at a token, as far as the one before it says."""
    if index == 0:
        return True
    before = texts[index - 1]
    in_a_header = before == "(" and index > 1 and texts[index - 2] == "for"
    return in_a_header or before in (";", "{", "}", ")") or before[0] == "#"


def _functions(texts: Sequence[str], types: set[str] | frozenset[str]) -> Iterator[int]:
    """Yield where functions begin that are defined without a type, at file scope."""
    first, depth = 0, 0
    for index, text in enumerate(texts):
        if text[0] == "#" and depth == 0:
            first = index + 1
            continue
        if (
            index == first
            and depth == 0
            and _is_name(text, types)
            and is_function_definition(texts, index, types)
        ):
            yield index
        depth += (text in ("(", "{", "[")) - (text in (")", "}", "]"))
        if depth <= 0 and (text == ";" or (text == "}" and _is_end(texts, first, index))):
            first, depth = index + 1, 0


def _is_end(texts: Sequence[str], first: int, last: int) -> bool:
    """Whether a brace ends what begins at a token: not so in ``struct s {…} x;``."""
    head = texts[first : texts.index("{", first, last)] if "{" in texts[first:last] else ()
    return not head or ("(" in head and "=" not in head)


def is_function_definition(
    texts: Sequence[str], start: int, types: set[str] | frozenset[str] = KNOWN_TYPES
) -> bool:
    """Whether ``name(…)`` is followed by a body, or by declarations of arguments and a body."""
    if start + 1 >= len(texts) or texts[start + 1] != "(":
        return False
    depth = 0
    for index in range(start + 1, len(texts) - 1):
        depth += (texts[index] == "(") - (texts[index] == ")")
        if depth == 0:
            after = texts[index + 1]
            return after == "{" or after in TYPE_KEYWORDS - {";"} or after in types
    return False
