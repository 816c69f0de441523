"""Bodies of functions in C: casts, references, words of C++, and what has no meaning in C.

::

    auto *p = static_cast<float *>(q);         __auto_type p = ((float *)(q));
    double &x = a[i];  x += double(k);         double *const x = &(a[i]);  (*x) += ((double)(k));
    s = std::max(s, v[i] * v.size());          s = ((s) < (v[i] * v__size) ? … : (s));
    std::cout << s;                            std__cout << s;

A statement without a meaning in C becomes a problem, for which the function is not read.
"""

import re
from collections.abc import Sequence

from polygym.frontend.c.source.cpp import names
from polygym.frontend.c.source.cpp.local_declarations import (
    ANOTHER_TYPE,
    TAGS,
    LocalDeclarations,
)
from polygym.frontend.c.source.cpp.tokens import ASSIGNMENTS, called_names, is_word, words_like
from polygym.frontend.c.source.cpp.types import TypeName
from polygym.frontend.c.tokens.origins import RawToken
from polygym.frontend.c.tokens.standard_headers import STATEMENT_KEYWORDS

_STARTS = frozenset({"{", "}", ";", ":", "else", "do", ""})
_NO_OPERANDS = frozenset({"(", "[", "{", ",", ";", "=", "return", "?", ":", "&&", "||", "!", "~"})
_NO_OPERANDS |= ASSIGNMENTS | frozenset("+ - * / % < > <= >= == != << >> & | ^ }".split())


class BodyRewriter(LocalDeclarations):
    """Rewrites one function's body, or any other code."""

    def _step(self, index: int, last: int) -> int:
        """Rewrite what begins at a token, and return the index behind it."""
        word = self._text(index)
        before = self._text(index - 1)
        if before in (".", "->"):
            self._out.append(self._tokens.stream[index])
            return index + 1
        if word in ("{", "}"):
            self._names.scope(opens=word == "{")
        is_start = before in _STARTS or before.startswith("#") or index == self._begin
        is_start |= before == "(" and self._text(index - 2) == "for"
        if is_start and (behind := self._declaration(index, last)) is not None:
            return behind
        if not (is_word(word) or word in ("::", "[")):
            return self._punctuation(index)
        for rule in (self._refused, self._cast, self._word, self._new, self._scoped, self._lambda):
            if (behind := rule(index, last)) is not None:
                return behind
        return self._name(index, last)

    def _punctuation(self, index: int) -> int:
        """Copy a token that is no word; ``= {}`` has zeros, ``a[3]{1}`` an initial value."""
        self._out.append(self._tokens.stream[index])
        if (self._text(index), self._text(index + 1)) == ("]", "{"):
            self._emit("=", index)
            if self._text(index + 2) == "}":
                self._emit("{ 0 }", index)
                return index + 3
        if self._text(index) == "{" and self._text(index + 1) == "}":
            if self._text(index - 1) == "=":
                self._emit("0", index)
        return index + 1

    def _refused(self, index: int, last: int) -> int | None:
        message = names.REFUSED_WORDS.get(self._text(index))
        return None if message is None else self._problem(index, message)

    def _cast(self, index: int, last: int) -> int | None:
        """Rewrite ``static_cast<T>(x)``, and ``T(x)`` and ``T{x}`` in an expression."""
        word = self._text(index)
        if word in names.CASTS and self._text(index + 1) == "<":
            behind = self._tokens.behind_angle(index + 1)
            if behind is None or self._text(behind) != "(":
                return self._problem(index, "this cast is not understood")
            kind = self._context.types.translated(index + 2, behind - 1)
            if any(token[0] in ("&", "&&") for token in kind):
                return self._problem(index, "a cast to a reference is not supported")
            return self._cast_to(kind, behind, index)
        name = self._context.types.name_at(index, last)
        end = index + 1 if name is None else name.last
        if self._text(end) not in ("(", "{") or self._text(index - 1) not in _NO_OPERANDS:
            return None
        if self._text(index - 1) in ("{", "}", ";", ":") or not self._is_scalar_type(index, end):
            return None
        if self._text(end + 1) == "*" and self._text(end + 2) in (")", "const"):
            return None  # the declarator of a pointer
        return self._cast_to(self._context.types.translated(index, end), end, index)

    def _is_scalar_type(self, first: int, end: int) -> bool:
        kind = self._context.types.translated(first, end)
        return len(kind) == 1 and self._context.is_scalar(kind[0][0])

    def _cast_to(self, kind: Sequence[RawToken], opening: int, like: int) -> int:
        closing = self._tokens.closing[opening]
        self._emit("( (", like)
        self._out += kind
        self._emit(") (", like)
        inside = self.rewritten(opening + 1, closing)
        self._out += inside or words_like("0", self._tokens.stream[like])
        self._emit(") )", like)
        return closing + 1

    def _word(self, index: int, last: int) -> int | None:
        """Rewrite a word of the language."""
        word = self._text(index)
        plain = {"nullptr": "( ( void * ) 0 )", "true": "1", "false": "0", "bool": "_Bool",
                 "constexpr": "", "noexcept": ""}.get(word)  # fmt: skip
        plain = names.OPERATORS.get(word, plain)
        if plain is not None:
            self._emit(plain, index)
            return index + 1
        if word == "for" and self._text(index + 1) == "(" and self._is_range(index + 1):
            return self._problem(
                index, "a for loop over a range is not supported", names.RANGE_HINT
            )
        if word == "sizeof" and self._text(index + 1) == "(":
            inside = self._tokens.texts[index + 2 : self._tokens.closing[index + 1]]
            if any(text in ANOTHER_TYPE or text[:1] == "'" for text in inside):
                return self._problem(index, "sizeof a truth value or a character differs from C's")
        return None

    def _is_range(self, opening: int) -> bool:
        inside = self._tokens.texts[opening + 1 : self._tokens.closing[opening]]
        return ";" not in inside and ":" in inside

    def _new(self, index: int, last: int) -> int | None:
        """Rewrite ``new`` and ``delete`` as calls of ``malloc`` and ``free``."""
        word = self._text(index)
        if word == "delete":
            begin = index + 1
            if (self._text(begin), self._text(begin + 1)) == ("[", "]"):
                begin += 2
            end = begin
            while end < last and self._text(end) != ";":
                end = self._tokens.closing.get(end, end) + 1
            self._in_parentheses("free", begin, end, index)
            return end
        if word != "new":
            return None
        end = index + 1
        while is_word(self._text(end)) or self._text(end) in ("::", "*"):
            end += 1
        if self._text(end) == "<":
            end = self._tokens.behind_angle(end) or end
        kind = self._context.types.translated(index + 1, end)
        shown = " ".join(token[0] for token in kind)
        is_plain = all(token[0] == "*" or self._context.is_scalar(token[0]) for token in kind)
        count = (0, 0)
        if self._text(end) == "[":
            count = (end + 1, self._tokens.closing[end])
            end = self._tokens.closing[end] + 1
        is_zeroed = self._text(end) in ("(", "{")
        if is_zeroed:
            end = self._tokens.closing[end] + 1
        if not is_plain or not kind:
            self._emit("new_object ( )", index)
            return end
        if is_zeroed and count == (0, 0):
            self._emit(f"( ( {shown} * ) new_object ( ) )", index)
            return end
        function = (
            f"calloc ( sizeof ( {shown} ) ," if is_zeroed else f"malloc ( sizeof ( {shown} ) *"
        )
        self._emit(f"( ( {shown} * ) {function} (", index)
        self._out += self.rewritten(*count) or words_like("1", self._tokens.stream[index])
        self._emit(") ) )", index)
        return end

    def _lambda(self, index: int, last: int) -> int | None:
        if self._text(index) != "[":
            return None
        before = self._text(index - 1)
        is_subscript = before in (")", "]") or (is_word(before) and before != "return")
        if is_subscript or before[:1] == '"':
            self._out.append(self._tokens.stream[index])
            return index + 1
        return self._problem(index, "a function inside an expression is not supported")

    def _scoped(self, index: int, last: int) -> int | None:
        """Rewrite names of the library, and those with the scope that they are in."""
        word = self._text(index)
        is_library = self._context.uses_std and word in ("min", "max", "clamp", "swap", "abs")
        is_library &= self._text(index + 1) in ("(", "<") and word not in self._context.functions
        if self._text(index + 1) != "::" and word != "::" and not is_library:
            return None
        name = self._context.types.name_at(index, last)
        if name is None:
            return self._problem(index, "this name is not understood")
        parts = [text for text in self._tokens.texts[index : name.last] if text != "::"]
        if is_library or (parts[0] == "std" and len(parts) > 1):
            own = parts[0] if is_library else parts[1]
            if (behind := self._library(index, own, name)) is not None:
                return behind
        plain = name.text
        if parts[0] == "std" and len(parts) == 2 and parts[1] in _LIBRARY_NAMES:
            plain = parts[1]
        elif parts[0] == "std":
            self._context.explain(plain, f"{'::'.join(parts[:2])} is of the library of C++")
        elif is_library:
            plain = parts[0]
        elif plain in self._names.declared and self._text(name.last) != "(":
            return self._problem(index, f"{plain} has a scope, and is also declared without one")
        if plain == parts[-1] and len(parts) > 1 and parts[0] != "std":
            self._names.spellings.setdefault(plain, "::".join(parts))
        return self._call(plain, index, name.last) or self._plain(plain, index, name.last)

    def _plain(self, text: str, index: int, behind: int) -> int:
        self._emit(text, index)
        return behind

    def _library(self, index: int, word: str, name: TypeName) -> int | None:
        """Rewrite a function of the library that C has under another name, or not at all."""
        end = name.last
        if word == "numeric_limits":
            return self._limit(index)
        if self._text(end) != "(":
            return None
        closing = self._tokens.closing[end]
        parts = self._tokens.parts(end + 1, closing)
        if word in ("min", "max", "clamp"):
            return self._minimum(index, word, name, parts, closing)
        if word == "swap" and len(parts) == 2:
            self._emit("std__swap ( & (", index)
            self._out += self.rewritten(*parts[0])
            self._emit(") , & (", index)
            self._out += self.rewritten(*parts[1])
            self._emit(") )", index)
            self._context.explain("std__swap", "std::swap is of the library of C++")
            return closing + 1
        if word == "abs":
            self._out.append(("abs", *self._tokens.stream[index][1:2], None))
            return end
        return None

    def _limit(self, index: int) -> int | None:
        """Rewrite ``std::numeric_limits<double>::max()``."""
        angle = next(k for k in range(index, index + 5) if self._text(k) == "<")
        behind = self._tokens.behind_angle(angle)
        if behind is None or self._text(behind) != "::":
            return None
        kind = " ".join(self._tokens.texts[angle + 1 : behind - 1])
        value = names.numeric_limit(kind, self._text(behind + 1))
        if value is None or self._text(behind + 2) != "(":
            return None
        self._emit(" ".join(re.findall(r"\w+\.?\w*(?:e[-+]?\w+)?|\S", value)), index)
        return self._tokens.closing[behind + 2] + 1

    def _minimum(
        self, index: int, word: str, name: TypeName, parts: list[tuple[int, int]], closing: int
    ) -> int:
        """Rewrite ``std::min``, ``std::max`` and ``std::clamp`` as conditional expressions."""
        if len(parts) == 1 and self._text(parts[0][0]) == "{" and word != "clamp":
            parts = self._tokens.parts(parts[0][0] + 1, self._tokens.closing[parts[0][0]])
        elif len(parts) != (3 if word == "clamp" else 2):
            return self._problem(index, f"std::{word} with a comparison is not supported")
        inside = self._tokens.texts[parts[0][0] : closing]
        if not ASSIGNMENTS.isdisjoint(inside):
            return self._problem(index, f"an assignment in std::{word} is not supported")
        if not self._context.with_effects.isdisjoint(called_names(inside)):
            return self._problem(
                index,
                f"a call in std::{word} may change something",
                "call it in a statement before",
            )
        angle = self._tokens.texts.index("<", index, name.last) if name.last > index + 1 and (
            "<" in self._tokens.texts[index : name.last]) else -1  # fmt: skip
        like = self._tokens.stream[index]
        values = [self.rewritten(*part) for part in parts]
        if angle >= 0:
            kind = self._context.types.translated(angle + 1, name.last - 1)
            cast = [*words_like("(", like), *kind, *words_like(")", like)]
            values = [[*cast, *_bracketed(value, like)] for value in values]
        if word == "clamp":
            value, least, most = values
            inner = _choice(most, value, most, value, like)
            self._out += _choice(value, least, least, inner, like)
            return closing + 1
        result = values[0]
        for value in values[1:]:
            less = (value, result) if word == "min" else (result, value)
            result = _choice(*less, value, result, like)
        self._out += result
        return closing + 1

    def _call(self, name: str, index: int, behind: int) -> int | None:
        """Rewrite the call of a function that takes references, or is overloaded."""
        if self._text(behind) != "(":
            return None
        closing = self._tokens.closing[behind]
        if name in self._context.overloaded:
            self._context.explain(f"{name}__overloaded", f"{name} has several definitions")
            self._emit(f"{name}__overloaded", index)
            return behind
        by_reference = self._context.reference_arguments.get(name, ())
        parts = self._tokens.parts(behind + 1, closing)
        if not any(by_reference):
            return None
        self._emit(f"{name} (", index)
        for place, part in enumerate(parts):
            if place:
                self._emit(",", part[0])
            if place < len(by_reference) and by_reference[place]:
                self._in_parentheses("&", *part, part[0])
            else:
                self._out += self.rewritten(*part)
        self._emit(")", closing)
        return closing + 1

    def _name(self, index: int, last: int) -> int:
        """Rewrite a name: of a reference, of a vector, of a function."""
        word = self._text(index)
        following = self._text(index + 1)
        if word in self._names.references:
            self._emit(f"( * {word} )", index)
            return index + 1
        if word in self._names.containers:
            return self._container(index)
        if following == "(":
            self._context.unqualified.add(word)
            if (behind := self._call(word, index, index + 1)) is not None:
                return behind
        self._out.append(self._tokens.stream[index])
        is_declared = is_word(word) and word not in STATEMENT_KEYWORDS
        if is_declared and following == "{" and self._text(index - 1) not in TAGS:
            self._emit("=", index)
            if self._text(index + 2) == "}":
                self._emit("{ 0 }", index)
                return index + 3
        return index + 1

    def _container(self, index: int) -> int:
        """Rewrite the use of a vector or an array of the library."""
        word, following = self._text(index), self._text(index + 1)
        member = self._text(index + 2)
        is_call = following == "." and (self._text(index + 3), self._text(index + 4)) == ("(", ")")
        if is_call and member == "data":
            self._emit(word, index)
            return index + 5
        if is_call and member == "size" and (size := self._names.size_of(word)) is not None:
            self._emit(size, index)
            return index + 5
        if following in ("[", "."):
            self._out.append(self._tokens.stream[index])
            return index + 1
        is_argument = following in (",", ")") and self._text(index - 1) in ("(", ",")
        if is_argument and self._text(index - 2) != "sizeof":
            self._out.append(self._tokens.stream[index])
            return index + 1
        return self._problem(
            index, f"{word} is used as a whole", "name its elements, or give its data()"
        )


_LIBRARY_NAMES = names.MATH_FUNCTIONS | names.OTHER_FUNCTIONS | names.LIBRARY_TYPES


def _bracketed(value: list[RawToken], like: RawToken) -> list[RawToken]:
    return [*words_like("(", like), *value, *words_like(")", like)]


def _choice(
    left: list[RawToken],
    right: list[RawToken],
    yes: list[RawToken],
    no: list[RawToken],
    like: RawToken,
) -> list[RawToken]:
    """Return ``((left) < (right) ? (yes) : (no))``."""
    return [
        *words_like("(", like),
        *_bracketed(left, like),
        *words_like("<", like),
        *_bracketed(right, like),
        *words_like("?", like),
        *_bracketed(yes, like),
        *words_like(":", like),
        *_bracketed(no, like),
        *words_like(")", like),
    ]
