"""Structures of C++ in C: those of data alone, and those whose member functions can be left out.

::

    struct P { double x, y; double r() const { … } };    →    typedef struct P P;
                                                              struct P { double x, y; };

A class with base classes, virtual functions, constructors, operators, initial values or references
is a type that nobody looks into: copies or objects of it are not what they would be in C.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from polygym.frontend.c.source.cpp.context import CppContext
from polygym.frontend.c.source.cpp.file_scope import CppDeclaration
from polygym.frontend.c.source.cpp.tokens import words_like
from polygym.frontend.c.tokens.origins import RawToken

_ACCESS = frozenset({"public", "private", "protected"})
_OPAQUE_WORDS = {
    "virtual": "virtual functions",
    "operator": "operators",
    "static": "static members",
    "template": "templates",
    "friend": "friends",
    "using": "types of its own",
    "typedef": "types of its own",
    "&": "references",
    "&&": "references",
    "~": "a destructor",
    "=": "initial values",
    ":": "members with a number of bits",
    "class": "types of its own",
    "struct": "types of its own",
    "enum": "types of its own",
}


@dataclass(frozen=True, slots=True)
class MemberFunction:
    """A function in a class: its name, and its body between two tokens."""

    name: str
    name_index: int
    first: int
    last: int


def structure_tokens(
    context: CppContext, declaration: CppDeclaration
) -> tuple[list[RawToken], list[MemberFunction]]:
    """Return a structure in C, and its functions; of one that C has not, no tokens."""
    tokens = context.tokens
    name, first = declaration.name, declaration.name_index
    functions: list[MemberFunction] = []
    opening = next(k for k in range(first, declaration.last) if tokens.text(k) == "{")
    closing = tokens.closing[opening]
    like = tokens.stream[first]
    tag = tokens.text(declaration.first)
    if "enum" in tokens.texts[declaration.first : opening]:
        return _enumeration(context, declaration, opening), []
    if not name:
        return tokens.stream[declaration.first : declaration.last], []
    members: list[RawToken] = []
    reason = "base classes" if ":" in tokens.texts[first:opening] else ""
    for start, end in _members(context, opening + 1, closing):
        own = _member_function(context, name, start, end)
        texts = tokens.texts[start:end]
        if own is not None:
            functions.append(own)
            head = tokens.texts[start : own.name_index]
            special = [word for word in ("virtual", "operator", "template", "~") if word in head]
            reason = reason or (_OPAQUE_WORDS[special[0]] if special else "")
            reason = reason or ("constructors" if own.name == name else "")
            continue
        bad = next((word for word in texts if word in _OPAQUE_WORDS), "")
        bad = bad or ("=" if "{" in texts else "")
        reason = reason or _OPAQUE_WORDS.get(bad, "")
        members += context.types.translated(start, end)
    if tag not in ("struct", "class", "union"):
        reason = reason or "words before it that are not understood"
    if reason:
        context.explain(name, f"{name} has {reason}")
        return [], functions
    context.structures.add(name)
    result = [
        *words_like(f"typedef {_c_tag(tag)} {name} {name} ; {_c_tag(tag)} {name} {{", like),
        *members,
        *context.types.translated(closing, declaration.last),
    ]
    return result, functions


def _c_tag(tag: str) -> str:
    return "union" if tag == "union" else "struct"


def _enumeration(context: CppContext, declaration: CppDeclaration, opening: int) -> list[RawToken]:
    """Return an enumeration; that of a class has its name before each value."""
    tokens, name = context.tokens, declaration.name
    texts = tokens.texts[declaration.first : opening]
    like = tokens.stream[declaration.name_index]
    if ":" in texts:
        context.explain(name, f"{name} says how many bytes it has")
        return []
    is_class = "class" in texts or "struct" in texts
    result = words_like(f"enum {name}", like)
    for index in range(opening, declaration.last):
        token = tokens.stream[index]
        is_value = index < tokens.closing[opening] and tokens.text(index - 1) in ("{", ",")
        result += words_like(f"{name}__{token[0]}", token) if is_class and is_value else [token]
    if name:
        result += words_like(f"typedef enum {name} {name} ;", like)
    return result


def _members(context: CppContext, index: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the members of a class; words of access are left out."""
    tokens = context.tokens
    start = index
    while index < end:
        word = tokens.text(index)
        if word in _ACCESS and tokens.text(index + 1) == ":":
            index += 2
            start = index
            continue
        if word in ("(", "["):
            index = tokens.closing[index]
        elif word == "{":
            before = tokens.texts[start:index]
            is_body = ")" in before and "=" not in before
            index = tokens.closing[index]
            if is_body:
                yield start, index + 1
                start = index + 1
        elif word == ";":
            if index > start:
                yield start, index + 1
            start = index + 1
        index += 1


def _member_function(
    context: CppContext, structure: str, start: int, end: int
) -> MemberFunction | None:
    """Return the function that a member is, None for data."""
    tokens = context.tokens
    opening = next((k for k in range(start, end) if tokens.text(k) == "("), None)
    if opening is None or opening == start or tokens.text(opening + 1) == "*":
        return None
    if "=" in tokens.texts[start:opening] or "{" in tokens.texts[start:opening]:
        return None
    closing = tokens.closing[opening]
    body = next((k for k in range(closing, end) if tokens.text(k) == "{"), end - 1)
    return MemberFunction(tokens.text(opening - 1), opening - 1, body, end)
