"""Declarations in functions of C++, in C: references, ``auto``, initial values in braces.

::

    auto *p = q;  double &x = a[i];    →    __auto_type p = q;  double *x = &(a[i]);
    double s{0}, t(1.5);               →    double s = (0), t = (1.5);
    std::vector<int> v(n);             →    int *v = std__vector(); unsigned long v__size = …;
    std::array<int, 3> a{};            →    int a[3] = {0};
"""

import re
from collections.abc import Sequence

from polygym.frontend.c.source.cpp import names
from polygym.frontend.c.source.cpp.code_rewriter import CodeRewriter
from polygym.frontend.c.source.cpp.tokens import is_word, words_like
from polygym.frontend.c.source.cpp.types import TypeName
from polygym.frontend.c.tokens.annotations import AUTO_TYPE
from polygym.frontend.c.tokens.standard_headers import STATEMENT_KEYWORDS

ANOTHER_TYPE = frozenset("? ! && || < > <= >= == != true false".split())
"""Words of expressions that have other types in C++ than in C."""

TAGS = frozenset({"struct", "class", "union", "enum"})
_INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
_FLOATING = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?([fF]?)")
_LITERAL_TYPES = {"": "int", "u": "unsigned", "l": "long", "ul": "unsigned long",
                  "ll": "long long", "ull": "unsigned long long"}  # fmt: skip


class LocalDeclarations(CodeRewriter):
    """Rewrites declarations."""

    def _declaration(self, index: int, last: int) -> int | None:
        """Rewrite the beginning of a declaration, None where none begins or it is one of C."""
        start = index
        qualifiers = []
        while self._text(index) in names.QUALIFIERS:
            qualifiers.append("const" if self._text(index) == "constexpr" else self._text(index))
            index += 1
        if self._text(index) == "using":
            return self._using(start, last)
        if self._text(index) == "auto":
            return self._auto(start, index, qualifiers)
        name = self._type_name(index, last)
        if name is None:
            return None
        place, stars = name.last, ""
        while self._text(place) in ("*", "&", "&&", "const", "__restrict", "restrict"):
            stars += self._text(place)[0]
            place += 1
        declared, following = self._text(place), self._text(place + 1)
        is_declaration = is_word(declared) and declared not in STATEMENT_KEYWORDS
        if not is_declaration or following not in ("=", ";", "(", "{", "[", ",", ":"):
            return None
        self._names.declare(place, self._context)
        self._declare_others(place)
        prefix = " ".join(qualifiers)
        if "&" in stars:
            return self._reference(index, name, place, prefix)
        if stars or (name.text in STATEMENT_KEYWORDS):
            return self._declarator(start, prefix, index, name, place)
        if name.is_vector or name.is_array:
            return self._local_container(name, place, prefix, start)
        return self._initialised(start, prefix, index, name, place)

    def _type_name(self, index: int, last: int) -> TypeName | None:
        """Return the type at a token: words of the language, or a name."""
        end = index
        while self._text(end) in names.SCALAR_WORDS or (
            end > index and self._text(end) in names.QUALIFIERS
        ):
            end += 1
        if end > index:
            return TypeName(index, end, "")
        if self._text(index) in STATEMENT_KEYWORDS or self._text(index) in TAGS:
            return None
        return self._context.types.name_at(index, last)

    def _using(self, index: int, last: int) -> int:
        end = self._tokens.texts.index(";", index)
        self._out += self._context.using(index, end + 1)
        return end + 1

    def _auto(self, start: int, index: int, qualifiers: list[str]) -> int:
        """Rewrite ``auto x = e`` by the type that a literal has, or by GNU's ``__auto_type``."""
        place = index + 1
        while self._text(place) in ("*", "&", "const", "&&"):
            place += 1
        marks = self._tokens.texts[index + 1 : place]
        if not is_word(self._text(place)) or self._text(place + 1) != "=" or "&&" in marks:
            return self._problem(index, "auto is not supported here", names.AUTO_HINT)
        end = self._end_of_value(place + 2)
        value = self._tokens.texts[place + 2 : end]
        self._names.declare(place, self._context)
        name, prefix = self._text(place), " ".join(q for q in qualifiers if q != "static")
        if "&" in marks:
            self._emit(f"{AUTO_TYPE} {name} = & (", start)
            self._out += self.rewritten(place + 2, end)
            self._emit(")", start)
            self._names.references.add(name)
            return end
        kind = _literal_type(value)
        if kind is None and any(v in ANOTHER_TYPE or v[:1] == "'" for v in value):
            kind = "auto__type"
            self._context.explain(kind, f"the type of {name} is not written")
        self._emit(f"{prefix} {kind or AUTO_TYPE} {name} =", start)
        return place + 2

    def _end_of_value(self, index: int) -> int:
        """Return where the value of a variable ends: at a comma or a semicolon."""
        while self._text(index) not in (";", ",", ""):
            index = self._tokens.closing.get(index, index) + 1
        return index

    def _reference(self, index: int, name: TypeName, place: int, prefix: str) -> int:
        """Rewrite ``T &x = e`` as a pointer."""
        declared = self._text(place)
        end = self._end_of_value(place + 2)
        if self._text(place + 1) != "=" or self._text(end) != ";" or name.element:
            return self._problem(index, f"the reference {declared} is not supported")
        self._emit(prefix, index)
        self._out += self._context.types.translated(name.first, name.last)
        self._emit(f"* {declared} = & (", index)
        self._out += self.rewritten(place + 2, end)
        self._emit(")", place)
        self._names.references.add(declared)
        return end

    def _declarator(self, start: int, prefix: str, index: int, name: TypeName, place: int) -> int:
        """Rewrite a pointer's declaration up to its name."""
        if prefix:
            self._emit(prefix, start)
        self._out += self._context.types.translated(index, place)
        self._out.append(self._tokens.stream[place])
        if self._text(place + 1) == "{":
            closing = self._tokens.closing[place + 1]
            self._emit("= (", place)
            inside = self.rewritten(place + 2, closing)
            self._out += inside or words_like("0", self._tokens.stream[place])
            self._emit(")", place)
            return closing + 1
        return place + 1

    def _local_container(self, name: TypeName, place: int, prefix: str, start: int) -> int:
        """Rewrite the declaration of a vector or an array of the library."""
        declared, after = self._text(place), place + 1
        if self._text(self._end_of_value(place)) != ";":
            return self._problem(place, f"{declared} is declared beside another container")
        self._emit(prefix, start)
        self._out += name.element
        if name.is_vector:
            size = f"; unsigned long {declared}__size = std__size ( )"
            self._emit(f"* {declared} = std__vector ( ) {size}", place)
            self._names.add_vector(declared)
            return self._end_of_value(after)
        self._names.containers.add(declared)
        self._out.append(self._tokens.stream[place])
        self._emit("[", place)
        self._out += name.count
        self._emit("]", place)
        opening = after + (self._text(after) == "=")
        if self._text(opening) == "{":
            while self._text(opening + 1) == "{":
                opening += 1
            self._emit("= {", place)
            inside = self.rewritten(opening + 1, self._tokens.closing[opening])
            self._out += inside or words_like("0", self._tokens.stream[place])
            self._emit("}", place)
        elif self._text(after) != ";":
            return self._problem(place, f"the initial value of {declared} is not supported")
        return self._end_of_value(after)

    def _initialised(
        self, start: int, prefix: str, index: int, name: TypeName, place: int
    ) -> int | None:
        """Rewrite ``T x{e}`` and ``T x(e)``; objects of classes lose what they begin with."""
        if prefix:
            self._emit(prefix, start)
        self._out += self._context.types.translated(index, name.last)
        self._out.append(self._tokens.stream[place])
        opening = place + 1 + (self._text(place + 1) == "=" and self._text(place + 2) == "{")
        if self._text(opening) not in ("(", "{"):
            return place + 1
        closing = self._tokens.closing[opening]
        is_scalar = not name.text or self._context.is_scalar(name.text)
        inside = self._tokens.texts[opening + 1 : closing]
        if not is_scalar and (
            self._text(opening) == "(" or name.text not in self._context.structures
        ):
            return closing + 1
        if self._text(opening) == "(" and (not inside or inside[0] in names.SCALAR_WORDS):
            return place + 1  # a function
        self._emit("= (" if is_scalar else "= {", place)
        values = self.rewritten(opening + 1, closing)
        self._out += values or words_like("0", self._tokens.stream[place])
        self._emit(")" if is_scalar else "}", place)
        return closing + 1

    def _declare_others(self, place: int) -> None:
        """Note the names that a declaration declares behind its first one."""
        end = self._end_of_value(place)
        while self._text(end) == ",":
            name = end + 1
            while self._text(name) in ("*", "const"):
                name += 1
            if not is_word(self._text(name)):
                return
            self._names.declare(name, self._context)
            end = self._end_of_value(name)


def _literal_type(texts: Sequence[str]) -> str | None:
    """Return the type of a number, None for anything else.

    >>> _literal_type(["0"]), _literal_type(["1", ".", "5", "f"]), _literal_type(["x"])
    ('int', 'float', None)
    """
    text = "".join(texts).lstrip("-+")
    if match := _INTEGER.fullmatch(text):
        value = int(match[0].rstrip("uUlL"), 0 if text[:2].lower() == "0x" else 10)
        suffix = "".join(sorted(match[1].lower(), reverse=True))
        suffix = suffix or ("l" if value > 0x7FFFFFFF else "")
        return _LITERAL_TYPES.get(suffix)
    if match := _FLOATING.fullmatch(text):
        return "float" if match[1] else "double"
    return None
