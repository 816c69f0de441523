"""Origins of the tokens of the preprocessed text: the map back to the user's own files.

The preprocessor writes its output in *rows*; a row holds tokens that stood side by side in a source
file, and nothing else, so that the parser's (row, column) of any node leads to exactly one token::

    user's file                      preprocessed text        origin of the row's first token
    12:  A[i] = MAX(x,y);            1: A[i]                  12:3   (four tokens side by side)
                                     2: =                     12:8
                                     3: ((                    12:10  (the macro's call)
                                     4: x                     12:14
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.c.tokens.origins import SourceToken, TokenOrigin, blank_comments

if TYPE_CHECKING:
    from polygym.frontend.c.source.cpp.reading import CppText


class SourceMap:
    """The preprocessed text with the origin of every token."""

    def __init__(
        self,
        tokens: tuple[SourceToken, ...],
        text: str,
        files: Mapping[str, list[str]],
        contraction_switches: tuple[tuple[int, bool], ...] = (),
    ) -> None:
        """Keep the tokens (in order of row and column) and the lines of the files they are from.

        ``contraction_switches`` says before which tokens a pragma allows or forbids contraction.
        ``pure`` are the functions that attributes say to be pure, ``library`` the path and the
        digest of the library that has those without a body, ``is_generic`` says that math.h's
        functions have the type of what they are given (tgmath.h): the caller sets them. So it does
        for ``hidden_words``, the words of assembly and of attributes, which are not in the tokens,
        and for ``has_unknown_headers``: what the file includes may define any macro. Of a C++ file
        ``cpp`` says what it was in C++, and ``problems`` what stands at tokens that are not read, a
        message and a hint.
        """
        self._switches = contraction_switches
        self.pure: frozenset[str] = frozenset()
        self.library: tuple[str, str] | None = None
        self.is_generic = False
        self.hidden_words: frozenset[str] = frozenset()
        self.has_unknown_headers = False
        self.cpp: CppText | None = None
        self.problems: Mapping[int, tuple[str, str]] = {}
        self.known: dict[Hashable, object] = {}  # what was computed from it
        self.tokens = tokens
        self.text = text
        self._files = files
        self._starts = [(token.row, token.column) for token in tokens]

    def relocated(
        self, tokens: tuple[SourceToken, ...], files: Mapping[str, list[str]]
    ) -> SourceMap:
        """Return the same text with other origins of its tokens, in files with other lines."""
        source_map = SourceMap(tokens, self.text, {**self._files, **files}, self._switches)
        source_map.pure, source_map.library = self.pure, self.library
        source_map.is_generic = self.is_generic
        source_map.hidden_words = self.hidden_words
        source_map.has_unknown_headers = self.has_unknown_headers
        source_map.cpp, source_map.problems = self.cpp, self.problems
        return source_map

    def reason(self, name: str) -> str:
        """Return why nothing is known of a name of C++, "" for others."""
        return "" if self.cpp is None else self.cpp.reasons.get(name, "")

    def with_library(self, library: tuple[str, str] | None) -> SourceMap:
        """Return the same with a library; what is known of it, is known of both."""
        result = copy(self)
        result.library = library
        return result

    def location_of_origin(self, origin: TokenOrigin) -> SourceLocation:
        """Return the place of an origin, with its line of text."""
        lines = self._files.get(origin.file, [])
        text = lines[origin.line - 1] if 0 < origin.line <= len(lines) else ""
        return SourceLocation(origin.file, origin.line, origin.column, text)

    def token_index(self, row: int, column: int) -> int:
        """Return the position in ``tokens`` of the token that covers a point of the text."""
        return max(bisect_right(self._starts, (row, column)) - 1, 0)

    def location(self, node: Any) -> SourceLocation:
        """Return the place of a syntax tree node; of the last token for one without a position."""
        return self.location_at(*_coordinates(node))

    def location_at(self, row: int, column: int) -> SourceLocation:
        """Return the place of a point of the preprocessed text."""
        if not self.tokens:
            return SourceLocation(next(iter(self._files), "<text>"), 1, 1)
        return self.location_of_origin(self.tokens[self.token_index(row, column)].origin)

    def error(self, node: Any, message: str, hint: str = "") -> SourceError:
        """Return the exception that refuses a node."""
        return SourceError(self.location(node), message, hint)

    def allows_contraction(self, node: Any) -> bool:
        """Whether ``a * b + c`` may be fused at a node, as ``#pragma STDC FP_CONTRACT`` says.

        In a block the pragma holds to the block's end, outside of functions to the file's end.
        """
        switches = dict(self._switches)
        if not switches:
            return True
        states = [True]
        for index in range(self.token_index(*_coordinates(node)) + 1):
            states[-1] = switches.get(index, states[-1])
            if self.tokens[index].text == "{":
                states.append(states[-1])
            elif self.tokens[index].text == "}" and len(states) > 1:
                states.pop()
        return states[-1]

    def statement_text(self, node: Any) -> str:
        """Return a statement as the user wrote it, on one line, or "" where macros hide its ends.

        The position of a node may lie inside the statement (``*x = 1`` and ``(a) = 1`` start before
        the name), so the text starts after the previous punctuation that cannot belong to it.
        """
        first = self.token_index(*_coordinates(node))
        while first > 0 and self.tokens[first - 1].text in ("(", "*", "++", "--"):
            first -= 1
        last = first
        while last < len(self.tokens) - 1 and self.tokens[last].text != ";":
            last += 1
        begin, end = self.tokens[first].origin, self.tokens[last].origin
        ordered = (begin.line, begin.column) <= (end.line, end.column)
        before = self.tokens[first - 1] if first > 0 else None
        # A pragma that was put in counts as a macro's, and hides nothing of what follows.
        is_inside = before is not None and before.origin.in_macro and before.text[0] != "#"
        hidden = end.in_macro or is_inside
        if begin.file != end.file or hidden or not ordered:
            return ""
        lines = self._files[begin.file][begin.line - 1 : end.line]
        lines[-1] = lines[-1][: end.column]
        lines[0] = lines[0][begin.column - 1 :]
        return " ".join(blank_comments("\n".join(lines)).replace("\\\n", " ").split())


def _coordinates(node: Any) -> tuple[int, int]:
    """Return the row and column of a node; past the end for a node that has none."""
    coordinates = getattr(node, "coord", None)
    if coordinates is None:
        return (1 << 60, 0)
    return (coordinates.line, coordinates.column or 1)
