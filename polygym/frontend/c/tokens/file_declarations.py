"""Declarations at file scope as ranges of words, for texts that the parser does not take whole.

The words are those of C, without white space. A range is a declaration with its semicolon, or a
function with its body, also one in old style::

    static int f(int n) { return n; }   struct s { int a; } x;   double g(a) int a; { return a; }
    |-------------------------------|   |--------------------|   |-----------------------------|
"""

import re
from collections.abc import Sequence

from polygym.frontend.c.tokens.standard_headers import STATEMENT_KEYWORDS, TYPE_KEYWORDS

_ATTRIBUTES = frozenset(
    {"__attribute__", "__attribute", "__asm__", "__asm", "asm", "__extension__"}
)
_KEYWORDS = _ATTRIBUTES | TYPE_KEYWORDS | STATEMENT_KEYWORDS
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEPTH = {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}
_TAGGED = frozenset({"struct", "union", "enum"})


def is_name(word: str) -> bool:
    """Whether a word is an identifier and no keyword."""
    return _NAME.fullmatch(word) is not None and word not in _KEYWORDS


def declaration_ranges(words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return where each declaration begins, and where it ends, exclusive.

    >>> declaration_ranges("int f ( a ) int a ; { return a ; } int x ;".split())
    ((0, 13), (13, 16))
    """
    ranges: list[tuple[int, int]] = []
    depth = start = 0
    is_body = False
    for index, word in enumerate(words):
        if word == "{" and depth == 0:
            is_body = _opens_body(words, start, index)
        depth = max(depth + _DEPTH.get(word, 0), 0)
        ends = word == ";" or (word == "}" and is_body) or word.startswith("#")
        if depth == 0 and ends:
            first = start
            if words[start] == "{":  # the body of a function in old style
                while ranges and not _is_old_head(words[first : index + 1]):
                    first = ranges.pop()[0]
            ranges.append((first, index + 1))
            start, is_body = index + 1, False
    return (*ranges, (start, len(words))) if start < len(words) else tuple(ranges)


def _opens_body(words: Sequence[str], start: int, index: int) -> bool:
    """Whether a brace at file scope opens the body of a function."""
    if index == start:
        return True
    before = index - 1
    while words[before] == ")" and before > start:
        opening = _opening(words, before)
        if words[opening - 1] not in _ATTRIBUTES:
            return True
        before = opening - 2
    return False


def _opening(words: Sequence[str], closing: int) -> int:
    """Return where the parenthesis opens that closes at a word."""
    depth = 0
    for index in range(closing, -1, -1):
        depth += _DEPTH.get(words[index], 0)
        if depth == 0:
            return index
    return 0


def _is_old_head(words: Sequence[str]) -> bool:
    """Whether words begin with a function whose arguments are declared behind it."""
    if words[0] == "{" or "(" not in words:
        return False
    depth = 0
    for index, word in enumerate(words):
        depth += _DEPTH.get(word, 0)
        if word == ")" and depth == 0:
            return _NAME.fullmatch(words[index + 1]) is not None
    return False


def is_function(words: Sequence[str]) -> bool:
    """Whether a declaration is a function with a body."""
    return len(words) > 1 and words[-1] == "}" and words[0] not in ("}", "{")


def declared_names(words: Sequence[str]) -> frozenset[str]:
    """Return the names that a declaration may declare, its arguments and members apart.

    >>> sorted(declared_names("typedef int ( * f_t ) ( int n ) ;".split()))
    ['f_t']
    >>> sorted(declared_names("enum e { A , B = 2 } x , y [ 3 ] ;".split()))
    ['A', 'B', 'e', 'x', 'y']
    >>> sorted(declared_names("size_t f ( size_t n ) { return n ; }".split()))
    ['f']
    """
    words = _without_attributes(words)
    result: set[str] = set()
    depth, in_enum, before_name = 0, False, ""
    for index, word in enumerate(words):
        if word == "{" and depth == 0:
            in_enum = "enum" in words[max(index - 2, 0) : index]
        depth += _DEPTH.get(word, 0)
        following = words[index + 1] if index + 1 < len(words) else ""
        if not is_name(word):
            before_name = word
            continue
        is_tag = depth == 0 and before_name in _TAGGED and following == "{"
        is_constant = in_enum and depth == 1 and before_name in ("{", ",")
        is_declarator = depth == 0 and following in ("(", "[", ";", ",", "=", ":", "")
        is_pointer = depth == 1 and before_name == "*" and following in (")", "[", "(")
        is_pointer &= not result
        if is_tag or is_constant or is_declarator or is_pointer:
            result.add(word)
        before_name = word
    return frozenset(result)


def _without_attributes(words: Sequence[str]) -> list[str]:
    """Return the words of a declaration without GNU annotations and their parentheses."""
    result: list[str] = []
    index = 0
    while index < len(words):
        if words[index] in _ATTRIBUTES:
            depth, index = 0, index + 1
            while index < len(words) and (depth or words[index] == "("):
                depth += (words[index] == "(") - (words[index] == ")")
                index += 1
                if depth == 0:
                    break
        else:
            result.append(words[index])
            index += 1
    return result
