"""The words of a text as a parser takes them, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from polygym.compiler.frontend.tc.tokens import Kind, Token
from polygym.errors import SourceError

# No word may be called so; "in" may, since it is one only behind the name of a range.
_KEYWORDS = frozenset({"def", "where", "exists"})

# What other languages write with two words that cannot stand side by side here.
_PAIRS = {
    "**": "a power is pow(x, y)",
    "//": "a comment begins with #, a quotient is x / y",
    "/*": "a comment begins with #",
    "-=": "to subtract is to add what is negated: C(i) += -(...)",
    "/=": "a quotient is assigned: C(i) = C(i) / (...)",
    "++": "to count is to add: C(i) += 1",
}


@dataclass
class Words:
    """The words, and how far they have been read."""

    words: tuple[Token, ...]
    position: int = 0

    @property
    def next(self) -> Token:
        """The next word."""
        return self.words[self.position]

    def after(self, count: int) -> Token:
        """Return a later word, the end if there are not so many."""
        return self.words[min(self.position + count, len(self.words) - 1)]

    def take(self) -> Token:
        """Return the next word and go on."""
        word = self.next
        if word.kind is not Kind.END:
            self.position += 1
        return word

    def wrong(self, expected: str, hint: str = "") -> SourceError:
        """Return the refusal of the next word."""
        word = self.next
        found = Kind.END.value if word.kind is Kind.END else repr(word.text)
        here = "".join(one.text for one in (word, self.after(1)))
        before = "".join(one.text for one in self.words[max(self.position - 1, 0) :][:2])
        hint = hint or _PAIRS.get(before, "") or _PAIRS.get(here, "")
        return SourceError(word.place, f"expected {expected}, found {found}", hint)

    def is_next(self, text: str) -> bool:
        """Whether the next word is a certain one."""
        return self.next.text == text and self.next.kind is not Kind.END

    def skip(self, text: str) -> bool:
        """Go on if the next word is a certain one; say whether it was."""
        if self.is_next(text):
            self.take()
            return True
        return False

    def expect(self, text: str, context: str) -> Token:
        """Take a certain word."""
        if not self.is_next(text):
            raise self.wrong(f"{text!r} {context}")
        return self.take()

    def name(self, what: str) -> Token:
        """Take a name that is no keyword."""
        if self.next.kind is not Kind.NAME or self.next.text in _KEYWORDS:
            raise self.wrong(what)
        return self.take()
