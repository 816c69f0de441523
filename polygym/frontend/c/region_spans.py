"""Positions of a region in the text of its file: its pragmas, and words of its function."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polygym.errors import SourceError
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.tokens.origins import SourceToken, TokenOrigin

_PRAGMA_OPERATOR = re.compile(r'_Pragma\s*\(\s*"[^"]*"\s*\)')
_LINKAGE_WORDS = frozenset({"static", "inline", "__inline", "__inline__"})


@dataclass(frozen=True)
class RegionSpans:
    """The text of a file, and its tokens with their places in it."""

    text: str
    file: str
    source: SourceMap

    def of_pragma(self, node: Any) -> tuple[int, int]:
        """Return where a pragma begins and ends in the text, as a line of its own if it has one.

        Raises:
            SourceError: it stands in another file, or in a macro.
        """
        index = self.source.token_index(node.coord.line, node.coord.column or 1)
        origin = self.source.tokens[index].origin
        if not self._is_here(origin):
            raise self._error(node, "its pragmas stand in another file or in a macro")
        begin = self._offset(origin)
        if match := _PRAGMA_OPERATOR.match(self.text, begin):
            return begin, match.end()
        end = self.text.find("\n", begin)
        return self._line_starts[origin.line - 1], len(self.text) if end < 0 else end

    def of_linkage(self, function: Any) -> Iterator[tuple[int, int]]:
        """Yield where ``static`` and ``inline`` stand in declarations of a function.

        Raises:
            SourceError: a macro or another file says it.
        """
        depth = 0
        specifiers: list[SourceToken] = []
        for token in self.source.tokens:
            depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
            if depth:
                continue
            if token.text in (";", "}"):
                specifiers = []
            elif token.text in _LINKAGE_WORDS:
                specifiers.append(token)
            elif token.text == function.name:
                for specifier in specifiers:
                    if not self._is_here(specifier.origin):
                        message = f"{function.name} is declared {specifier.text} by a macro"
                        raise self._error(function, message)
                    begin = self._offset(specifier.origin)
                    yield begin, begin + len(specifier.text)
                specifiers = []

    def _error(self, node: Any, message: str) -> SourceError:
        return self.source.error(node, f"cannot be exported: {message}")

    def _is_here(self, origin: TokenOrigin) -> bool:
        """Whether a token is written in the text itself."""
        return origin.file == self.file and not origin.in_macro

    def _offset(self, origin: TokenOrigin) -> int:
        return self._line_starts[origin.line - 1] + origin.column - 1

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]
