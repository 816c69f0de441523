"""Token lists of C++: scopes, brackets, angle brackets, and tokens that take another's place."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from polygym.frontend.c.tokens.origins import RawToken, TokenOrigin

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())

ASSIGNMENTS = frozenset("= ++ -- += -= *= /= %= <<= >>= &= |= ^= and_eq or_eq xor_eq".split())
"""Operators that change what they are applied to."""


@dataclass(frozen=True, slots=True)
class CppProblem:
    """A construct that has no meaning in C: where it stands, and what is said of it."""

    origin: TokenOrigin
    message: str
    hint: str = ""


def joined_scopes(stream: Sequence[RawToken]) -> list[RawToken]:
    """Return tokens with ``::`` in one piece."""
    result: list[RawToken] = []
    for token in stream:
        if token[0] == ":" and result and result[-1][0] == ":" and _touch(result[-1], token):
            result[-1] = ("::", result[-1][1], result[-1][2])
        else:
            result.append(token)
    return result


def _touch(first: RawToken, second: RawToken) -> bool:
    """Whether two tokens stand side by side, in a macro's body they are taken to."""
    before, after = first[2], second[2]
    if before is None or after is None:
        return True
    return (before[0], before[1], before[2] + 1) == after


@dataclass(slots=True)
class Tokens:
    """Tokens with their texts, and where each bracket closes."""

    stream: list[RawToken]
    texts: list[str] = field(init=False)
    closing: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        """Match the brackets; one that nothing closes closes at the end."""
        self.texts = [token[0] for token in self.stream]
        self.closing = {}
        open_brackets: list[int] = []
        for index, text in enumerate(self.texts):
            if text in _OPENING:
                open_brackets.append(index)
            elif text in _CLOSING:
                while open_brackets and _OPENING[self.texts[open_brackets[-1]]] != text:
                    self.closing[open_brackets.pop()] = index
                if open_brackets:
                    self.closing[open_brackets.pop()] = index
        last = len(self.texts) - 1
        self.closing |= dict.fromkeys(open_brackets, last)

    def text(self, index: int) -> str:
        """Return the text of a token, "" beyond both ends."""
        return self.texts[index] if 0 <= index < len(self.texts) else ""

    def origin(self, index: int) -> TokenOrigin:
        """Return where a token stands."""
        return self.stream[min(index, len(self.stream) - 1)][1]

    def behind_angle(self, index: int, end: int | None = None) -> int | None:
        """Return the index behind the angle bracket that opens at a token; None if none closes.

        A token ``>>`` closes two.
        """
        depth, place = 0, index
        end = len(self.texts) if end is None else end
        while place < end:
            text = self.texts[place]
            if text in ("(", "["):
                place = self.closing[place]
            elif text == "<":
                depth += 1
            elif text in (">", ">>"):
                depth -= len(text)
                if depth <= 0:
                    return place + 1
            elif text in (";", "{", "}", ")", "]"):
                return None
            place += 1
        return None

    def parts(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges between the commas of a range, outside of all brackets."""
        if first >= last:
            return []
        result, start, index = [], first, first
        while index < last:
            if self.texts[index] in _OPENING:
                index = self.closing[index]
            elif self.texts[index] == "<" and is_word(self.text(index - 1)):
                behind = self.behind_angle(index, last)
                index = index if behind is None else behind - 1
            elif self.texts[index] == ",":
                result.append((start, index))
                start = index + 1
            index += 1
        return [*result, (start, last)]


def called_names(texts: Sequence[str]) -> set[str]:
    """Return the words that stand before a parenthesis.

    >>> sorted(called_names(["f", "(", "8", ".", "f", ")", "+", "g"]))
    ['f']
    """
    return {word for word, after in pairwise(texts) if after == "(" and is_word(word)}


def is_word(text: str) -> bool:
    """Whether a token is a name or a keyword."""
    return text.isidentifier()


def words_like(text: str, like: RawToken) -> list[RawToken]:
    """Return new tokens, which stand where another one does.

    >>> origin = TokenOrigin("a.cc", 1, 2)
    >>> [token[0] for token in words_like("( ( void * ) 0 )", ("nullptr", origin, None))]
    ['(', '(', 'void', '*', ')', '0', ')']
    """
    return [(word, like[1], None) for word in text.split()]
