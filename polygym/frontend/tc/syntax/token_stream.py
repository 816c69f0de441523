"""The words of a text as a parser takes them, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from polygym.errors import SourceError
from polygym.frontend.tc.syntax.tokens import TcToken, TokenKind

# No word may be called so; "in" may, since it is one only behind the name of a range.
_KEYWORDS = frozenset({"def", "where", "exists"})

# What other languages write with two words that cannot stand side by side here.
_PAIR_HINTS = {
    "**": "a power is pow(x, y)",
    "//": "a comment begins with #, a quotient is x / y",
    "/*": "a comment begins with #",
    "-=": "to subtract is to add what is negated: C(i) += -(...)",
    "/=": "a quotient is assigned: C(i) = C(i) / (...)",
    "++": "to count is to add: C(i) += 1",
}


@dataclass
class TokenStream:
    """The words, and how far they have been read."""

    tokens: tuple[TcToken, ...]
    position: int = 0

    @property
    def next_token(self) -> TcToken:
        """The next word."""
        return self.tokens[self.position]

    def peek(self, count: int) -> TcToken:
        """Return a later word, the end if there are not so many."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self) -> TcToken:
        """Return the next word and go on."""
        word = self.next_token
        if word.kind is not TokenKind.END:
            self.position += 1
        return word

    def error(self, expected: str, hint: str = "") -> SourceError:
        """Return the refusal of the next word."""
        word = self.next_token
        result = TokenKind.END.value if word.kind is TokenKind.END else repr(word.text)
        here = "".join(token.text for token in (word, self.peek(1)))
        before = "".join(token.text for token in self.tokens[max(self.position - 1, 0) :][:2])
        hint = hint or _PAIR_HINTS.get(before, "") or _PAIR_HINTS.get(here, "")
        return SourceError(word.location, f"expected {expected}, found {result}", hint)

    def is_next(self, text: str) -> bool:
        """Whether the next word is a certain one."""
        return self.next_token.text == text and self.next_token.kind is not TokenKind.END

    def skip(self, text: str) -> bool:
        """Go on if the next word is a certain one; say whether it was."""
        if self.is_next(text):
            self.take()
            return True
        return False

    def expect(self, text: str, context: str) -> TcToken:
        """Take a certain word."""
        if not self.is_next(text):
            raise self.error(f"{text!r} {context}")
        return self.take()

    def name(self, what: str) -> TcToken:
        """Take a name that is no keyword."""
        if self.next_token.kind is not TokenKind.NAME or self.next_token.text in _KEYWORDS:
            raise self.error(what)
        return self.take()
