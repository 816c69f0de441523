"""Types that a text names and nothing in it declares, as headers that are not read declare them.

``png_structp p;`` is no C unless the first name is a type. Types of the C library and of POSIX
mean what their headers say; every other one is a structure that nobody looks into: objects of such
types may stand around a region and never in it.
"""

from collections.abc import Iterator, Sequence

from polygym.frontend.c.source.cpp.signs import CPP_DECLARATIONS
from polygym.frontend.c.source.header_types import known_header_types
from polygym.frontend.c.tokens.file_declarations import (
    declaration_ranges,
    declared_names,
    is_name,
)
from polygym.frontend.c.tokens.standard_headers import OPAQUE

_STARTS = frozenset({";", "{", "}", ""})
_QUALIFIERS = frozenset("const volatile static extern register inline typedef restrict".split())
_NO_TYPES = frozenset({"struct", "union", "enum", "goto", ".", "->"})
_CONTROL = frozenset({"if", "while", "for", "switch"})
_DECLARATOR_ENDS = frozenset({";", "=", ",", "[", ")", "("})


def typedef_names(words: Sequence[str]) -> frozenset[str]:
    """Return the types that declarations at file scope give names.

    >>> words = "typedef int T ; T x ; typedef struct s { int a ; } S , * P ;"
    >>> sorted(typedef_names(words.split()))
    ['P', 'S', 'T', 's']
    """
    return frozenset(
        name
        for first, last in declaration_ranges(words)
        if "typedef" in words[first:last]
        for name in declared_names(words[first:last])
    )


def unknown_types(words: Sequence[str], known: frozenset[str]) -> tuple[str, ...]:
    """Return the names that can only be types and are not known.

    >>> words = "u32 f ( const ctx * c , u32 n ) { state * s = 0 ; return ( v8 ) n + a * n ; }"
    >>> unknown_types(words.split(), frozenset({"v8"}))
    ('u32', 'ctx', 'state')
    """
    depth, result = 0, dict[str, None]()
    for index, word in enumerate(words):
        depth += (word == "{") - (word == "}")
        if is_name(word) and word not in known and _is_type(words, index, depth):
            result[word] = None
    return tuple(result)


def type_declaration(name: str) -> str:
    """Return the declaration of a type of a header that is not read.

    >>> type_declaration("off_t"), type_declaration("png_structp")
    ('typedef long off_t;', 'typedef struct _polygym_png_structp png_structp;')
    """
    meaning = known_header_types().get(name, f"struct {OPAQUE}{name}")
    return f"typedef {meaning} {name};"


def _is_type(words: Sequence[str], index: int, depth: int) -> bool:
    """Whether the name at a place can only be a type; ``depth`` is that of the braces."""
    before = words[index - 1] if index else ""
    if before in _NO_TYPES or is_name(before) or words[index] in CPP_DECLARATIONS:
        return False
    end = index + 1
    while end < len(words) and words[end] in ("*", "const", "restrict", "volatile"):
        end += 1
    following, behind = [*words[end : end + 2], "", ""][:2]
    is_pointer = end > index + 1
    in_parentheses = before == "(" and following == ")"
    if not is_pointer:
        is_cast = in_parentheses and (is_name(behind) or behind[:1].isdigit())
        return (is_name(following) and _may_begin(before)) or (
            is_cast and not _is_called(words, index - 2)
        )
    if in_parentheses:  # (T *) is no expression
        return True
    if not is_name(following) or behind not in _DECLARATOR_ENDS:
        return False
    return before in _QUALIFIERS or before in _STARTS or (depth == 0 and _in_head(words, index))


def _may_begin(before: str) -> bool:
    """Whether a type may stand behind a word."""
    return before in _QUALIFIERS or before in _STARTS or before in ("(", ",", ")")


def _is_called(words: Sequence[str], index: int) -> bool:
    """Whether parentheses behind a word are those of a call or of a condition."""
    word = words[index] if index >= 0 else ""
    return is_name(word) or word in _CONTROL or word in (")", "]")


def _in_head(words: Sequence[str], index: int) -> bool:
    """Whether a place at file scope is in the parentheses behind the name of a function."""
    return any(is_name(word) for word in _before_open_parentheses(words, index))


def _before_open_parentheses(words: Sequence[str], index: int) -> Iterator[str]:
    """Yield the words before the parentheses that are open at a place of a declaration."""
    depth = 0
    for place in range(index - 1, 0, -1):
        if words[place] in (";", "{", "}", "="):
            return
        depth += (words[place] == ")") - (words[place] == "(")
        if depth < 0:
            depth = 0
            yield words[place - 1]
