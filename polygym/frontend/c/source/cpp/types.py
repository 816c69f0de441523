"""Types of C++ in C: words of the language, types of the library, classes that are not read.

``std::vector<double>`` is a pointer to its elements where the code looks at nothing else, and
``std::array<double, 3>`` an array. Every other class is a type that nobody looks into::

    const std::size_t n           →    const size_t n
    std::vector<float> &v         →    float *v
    std::array<int, 4> a          →    int a[4]
    std::map<int, Grid> m         →    std__map m
"""

from collections.abc import Callable
from dataclasses import dataclass

from polygym.frontend.c.source.cpp.names import LIBRARY_TYPES, SCALAR_WORDS
from polygym.frontend.c.source.cpp.tokens import Tokens, is_word, words_like
from polygym.frontend.c.tokens.origins import RawToken

_WORDS = {"bool": "_Bool", "constexpr": "const", "typename": "", "class": "struct", "final": ""}


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name of a type at a place: its range, and what it is in C.

    ``element`` are the tokens of the elements' type of a vector or an array, ``count`` those of an
    array's number of elements.
    """

    first: int
    last: int
    text: str
    element: tuple[RawToken, ...] = ()
    count: tuple[RawToken, ...] = ()

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector of numbers."""
        return bool(self.element) and not self.count

    @property
    def is_array(self) -> bool:
        """Whether it is an array of the library."""
        return bool(self.count)


@dataclass(frozen=True, slots=True)
class TypeReader:
    """Reads types; ``is_scalar`` says which names stand for types of numbers."""

    tokens: Tokens
    namespaces: frozenset[str]
    uses_std: bool
    is_scalar: Callable[[str], bool]

    def name_at(self, first: int, end: int) -> TypeName | None:
        """Return the name, with its scopes and what is in its angle brackets, at a token."""
        text, index = self.tokens.text, first
        parts: list[str] = []
        index += text(index) == "::"
        while True:
            if not is_word(text(index)) or index >= end:
                return None
            parts.append(text(index))
            index += 1
            angle = index
            if text(index) == "<":
                behind = self.tokens.behind_angle(index, end)
                if behind is None:
                    return None
                index = behind
            if text(index) != "::":
                break
            index += 1
        last_angle = (angle, index) if text(angle) == "<" and index > angle else None
        return self._named(first, index, parts, last_angle)

    def _named(
        self, first: int, last: int, parts: list[str], angle: tuple[int, int] | None
    ) -> TypeName:
        is_std = parts[0] == "std" and len(parts) == 2
        while len(parts) > 1 and parts[0] in self.namespaces:
            parts = parts[1:]
        is_std |= self.uses_std and len(parts) == 1
        name = parts[-1]
        if is_std and angle is not None and name in ("vector", "array"):
            ranges = self.tokens.parts(angle[0] + 1, angle[1] - 1)
            element = self.translated(*ranges[0]) if ranges else []
            texts = [token[0] for token in element]
            if texts and "_Bool" not in texts and all(map(self._is_plain, texts)):
                if name == "array" and len(ranges) == 2:
                    count = tuple(self.translated(*ranges[1]))
                    return TypeName(first, last, name, tuple(element), count)
                if name == "vector":
                    return TypeName(first, last, name, tuple(element))
        if parts[0] == "std" and len(parts) == 2 and name in LIBRARY_TYPES:
            return TypeName(first, last, name)
        return TypeName(first, last, "__".join(parts))

    def _is_plain(self, word: str) -> bool:
        return word == "const" or self.is_scalar(word)

    def translated(self, first: int, last: int) -> list[RawToken]:
        """Return the tokens of a type in C, without a name that it declares."""
        result: list[RawToken] = []
        index = first
        while index < last:
            token = self.tokens.stream[index]
            word = token[0]
            if word in _WORDS:
                result += words_like(_WORDS[word], token)
            elif word in SCALAR_WORDS or not (is_word(word) or word == "::"):
                result.append(token)
            elif (name := self.name_at(index, last)) is not None:
                if name.last == index + 1 and name.text == word:
                    result.append(token)
                else:
                    result += words_like(name.text, token)
                index = name.last - 1
            else:
                result.append(token)
            index += 1
        return result
