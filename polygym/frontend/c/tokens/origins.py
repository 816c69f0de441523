"""Tokens, and where in the user's files they stand; texts without their comments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

_COMMENT_OR_LITERAL = re.compile(
    r"""
    "(?:\\.|\\\n|[^"\\\n])*"        # a string
    | '(?:\\.|\\\n|[^'\\\n])*'      # a character
    | //(?:\\\n|[^\n])*             # a comment to the end of the line, perhaps continued
    | /\*(?:[^*]|\*(?!/))*(?:\*/|\Z)  # a block comment, perhaps never closed
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class TokenOrigin:
    """A position in a source file; ``in_macro`` marks text that stands in a macro's definition.

    The position of such a token is that of the outermost macro's call, which is what a reader of
    the program wants to be shown.
    """

    file: str
    line: int
    column: int
    in_macro: bool = False


@dataclass(frozen=True, slots=True)
class SourceToken:
    """One token of the preprocessed text: its spelling, its row and column there, its origin."""

    text: str
    row: int
    column: int
    origin: TokenOrigin


RawToken: TypeAlias = tuple[str, TokenOrigin, tuple[str, int, int] | None]
"""The text of a token, where it stands, and the position of what is there literally."""


def blank_comments(text: str) -> str:
    """Replace every comment by spaces; lines and columns stay.

    >>> blank_comments('a /* b */ = "//";')
    'a         = "//";'
    """

    def blank(match: re.Match[str]) -> str:
        """Keep literals, and the line ends of comments."""
        piece = match.group()
        return piece if piece[0] in "\"'" else re.sub(r"[^\n]", " ", piece)

    return _COMMENT_OR_LITERAL.sub(blank, text)
