"""Declarations of a C++ file: their ranges of tokens, their kinds, the namespaces around them.

Namespaces and ``extern "C"`` leave no trace in C but the names that they hide::

    namespace a { extern "C" { void f(); } }      one declaration, void f(); in a, linked as C
    template <class T> T g(T x) { return x; }     a template
    struct P { double x, y; };                    a structure
    void P::move(double d) { x += d; }            a member function
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polygym.frontend.c.source.cpp.tokens import Tokens, is_word
from polygym.frontend.c.tokens.standard_headers import STATEMENT_KEYWORDS

_CLASS_WORDS = frozenset({"struct", "class", "union", "enum"})
_BEHIND_HEAD = frozenset({"const", "noexcept", "override", "final", "volatile"})


class DeclarationKind(Enum):
    """The kinds of declarations that are read in different ways."""

    FUNCTION = "function"
    PROTOTYPE = "prototype"
    MEMBER = "member function"
    STRUCTURE = "structure"
    TEMPLATE = "template"
    USING = "using"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CppDeclaration:
    """A declaration: its kind, its tokens ``first`` to ``last``, exclusive, and its name.

    ``name_index`` is the token of the name, -1 where there is none. Of functions, the arguments are
    between the tokens ``opening`` and ``closing``, and ``body`` is where the body opens, or -1.
    """

    kind: DeclarationKind
    first: int
    last: int
    namespaces: tuple[str, ...]
    name: str = ""
    name_index: int = -1
    opening: int = -1
    closing: int = -1
    body: int = -1
    is_c: bool = False


def cpp_declarations(tokens: Tokens) -> list[CppDeclaration]:
    """Return the declarations of a file, in their order."""
    return list(_Scope(tokens).declarations(0, len(tokens.texts), (), is_c=False))


class _Scope:
    """The reader of one scope after the other."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def declarations(
        self, index: int, end: int, namespaces: tuple[str, ...], *, is_c: bool
    ) -> Iterator[CppDeclaration]:
        """Yield the declarations between two tokens."""
        text, closing = self._tokens.text, self._tokens.closing
        while index < end:
            opening = self._namespace(index)
            if opening is not None:
                name = tuple(t for t in self._tokens.texts[index:opening] if t not in _NO_NAMES)
                yield from self.declarations(
                    opening + 1, closing[opening], (*namespaces, *(name or ("",))), is_c=is_c
                )
                index = closing[opening] + 1
            elif text(index) == "extern" and text(index + 1) == '"C"' and text(index + 2) == "{":
                yield from self.declarations(index + 3, closing[index + 2], namespaces, is_c=True)
                index = closing[index + 2] + 1
            elif text(index) == ";":
                index += 1
            else:
                last = min(self._end(index, end), end)
                linked = is_c or (text(index), text(index + 1)) == ("extern", '"C"')
                yield self._declaration(index, last, namespaces, linked)
                index = last

    def _namespace(self, index: int) -> int | None:
        """Return where a namespace opens that begins at a token."""
        text = self._tokens.text
        index += text(index) == "inline"
        if text(index) != "namespace":
            return None
        while text(index) not in ("{", ";", "="):
            index += 1
            if index >= len(self._tokens.texts):
                return None
        return index if text(index) == "{" else None

    def _end(self, index: int, end: int) -> int:
        """Return the index behind the declaration that begins at a token."""
        text, closing = self._tokens.text, self._tokens.closing
        if text(index).startswith("#"):
            return index + 1
        start = index
        while index < end:
            word = text(index)
            if word == ";":
                return index + 1
            if word in ("(", "["):
                index = closing[index]
            elif word == "<" and is_word(text(index - 1)):
                behind = self._tokens.behind_angle(index, end)
                index = index if behind is None else behind - 1
            elif word == "{":
                if self._opens_body(start, index):
                    return closing[index] + 1
                index = closing[index]
            index += 1
        return end

    def _opens_body(self, start: int, index: int) -> bool:
        """Whether a brace opens the body of a function."""
        texts = self._tokens.texts[start:index]
        if not texts:
            return True
        if texts[-1] == ")" or (texts[-1] in _BEHIND_HEAD and ")" in texts):
            return "=" not in self._outside_parentheses(start, index)
        return "->" in texts and ")" in texts

    def _outside_parentheses(self, start: int, index: int) -> list[str]:
        """Return the words of a range that are in no parentheses."""
        result = []
        while start < index:
            result.append(self._tokens.text(start))
            if result[-1] in ("(", "["):
                start = self._tokens.closing[start]
            start += 1
        return result

    def _declaration(
        self, first: int, last: int, namespaces: tuple[str, ...], is_c: bool
    ) -> CppDeclaration:
        text = self._tokens.text
        kind = DeclarationKind.OTHER
        if text(first) == "template":
            kind = DeclarationKind.TEMPLATE
        elif text(first) in ("using", "namespace"):
            return CppDeclaration(DeclarationKind.USING, first, last, namespaces)
        opening = self._head_opening(first, last)
        structure = self._structure_name(first, last, opening)
        if structure is not None:
            name = text(structure) if is_word(text(structure)) else ""
            kind = kind if kind is DeclarationKind.TEMPLATE else DeclarationKind.STRUCTURE
            return CppDeclaration(kind, first, last, namespaces, name, structure, is_c=is_c)
        if opening is None or text(first) in STATEMENT_KEYWORDS or text(first) == "typedef":
            return CppDeclaration(kind, first, last, namespaces, is_c=is_c)
        closing = self._tokens.closing[opening]
        body = next((k for k in range(closing, last) if text(k) == "{"), -1)
        if text(last - 1) != "}":
            body = -1
        name_index = opening - 1
        if kind is not DeclarationKind.TEMPLATE:
            kind = DeclarationKind.PROTOTYPE if body < 0 else DeclarationKind.FUNCTION
            if (
                text(name_index - 1) in ("::", "~")
                or "operator" in self._tokens.texts[first:opening]
            ):
                kind = DeclarationKind.MEMBER
        return CppDeclaration(
            kind,
            first,
            last,
            namespaces,
            text(name_index),
            name_index,
            opening,
            closing,
            body,
            is_c,
        )

    def _structure_name(self, first: int, last: int, opening: int | None) -> int | None:
        """Return the token of the name of a class that a declaration defines, if it does."""
        text = self._tokens.text
        limit = last if opening is None else opening
        for index in range(first, limit):
            if text(index) == "<" and is_word(text(index - 1)) and index < limit:
                continue
            if text(index) in ("=", "(") or text(index) == "typedef":
                return None
            if text(index) in _CLASS_WORDS and text(index - 1) not in ("<", ","):
                name = index + 1
                name += text(name) in ("class", "struct")
                braces = [k for k in range(name, limit) if text(k) == "{"]
                return name if braces else None
        return None

    def _head_opening(self, first: int, last: int) -> int | None:
        """Return where the arguments open, None for what is no function."""
        index = first
        while index < last:
            word = self._tokens.text(index)
            if word == "<" and is_word(self._tokens.text(index - 1)):
                behind = self._tokens.behind_angle(index, last)
                index = index if behind is None else behind - 1
            elif word in ("=", "{", ";", "["):
                return None
            elif word == "(":
                name = self._tokens.text(index - 1)
                is_function = index > first and (
                    is_word(name) or "operator" in self._tokens.texts[first:index]
                )
                return index if is_function else None
            index += 1
        return None


_NO_NAMES = frozenset({"namespace", "inline", "::"})
