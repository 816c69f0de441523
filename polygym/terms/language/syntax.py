"""A text taken apart into words and lists, each with its place; what they mean is looked at later.

The words and comments are those of :mod:`polygym.rewrite.s_expressions`; lists may begin with
lists, as in ``((x : Float) (n : Integer))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polygym.errors import SourceError, SourceLocation
from polygym.rewrite.s_expressions import TermToken, tokenize


@dataclass(frozen=True, slots=True, eq=False)
class Syntax:
    """A word, or a list (``parts`` is not None) and where it begins."""

    token: TermToken
    parts: tuple[Syntax, ...] | None = None

    @property
    def word(self) -> str:
        """The word, "" for a list."""
        return self.token.text if self.parts is None else ""

    @property
    def first(self) -> str:
        """The word that a list begins with, "" if it is a word or begins with a list."""
        return self.parts[0].word if self.parts else ""

    def __str__(self) -> str:
        """Return a text for messages, cut off where it gets long."""
        result: list[str] = []
        length = 0
        for word in self._words():
            glued = word == ")" or (result and result[-1] == "(")
            result.append(word if glued or not result else f" {word}")
            length += len(result[-1])
            if length > 60:
                return "".join(result) + " …"
        return "".join(result).replace("( ", "(")

    @property
    def whole(self) -> str:
        """The text without an end, all words apart."""
        return " ".join(self._words())

    def _words(self) -> Iterator[str]:
        stack: list[Syntax | str] = [self]
        while stack:
            syntax = stack.pop()
            if isinstance(syntax, str):
                yield syntax
            elif syntax.parts is None:
                yield syntax.token.text
            else:
                yield "("
                stack.append(")")
                stack.extend(reversed(syntax.parts))


class TermSource:
    """A text and its lists; makes errors that say where; ``read`` counts what was made of it."""

    def __init__(self, text: str, file: str = "<text>") -> None:
        """Take the text apart.

        Raises:
            SourceError: a parenthesis is missing, or closes nothing.
        """
        self._lines, self.file = text.split("\n"), file
        self.read = 0
        self.top: list[Syntax] = []
        opened: list[tuple[TermToken, list[Syntax]]] = []
        for token in tokenize(text, file):
            if token.text == "(":
                opened.append((token, []))
                continue
            if token.text == ")":
                if not opened:
                    raise self.error(token, "expected a word or '(', found ')'")
                start, parts = opened.pop()
                made = Syntax(start, tuple(parts))
            else:
                made = Syntax(token)
            (opened[-1][1] if opened else self.top).append(made)
        if opened:
            raise self.error(opened[-1][0], "expected ')' that closes this, found the end")

    def error(self, where: TermToken | Syntax | None, message: str, hint: str = "") -> SourceError:
        """Return an error at a word or a list, or at the end of the text."""
        if where is None:
            line, column = len(self._lines), len(self._lines[-1]) + 1
        else:
            token = where.token if isinstance(where, Syntax) else where
            line, column = token.line, token.column
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return SourceError(SourceLocation(self.file, line, column, text), message, hint)
