"""Names and types as a text declares them: ``(x : (Vec n Float))``."""

from __future__ import annotations

import re

from polygym.errors import InputError
from polygym.terms.language.operators import OPERATORS
from polygym.terms.language.syntax import Syntax, TermSource
from polygym.terms.language.types import Type, type_from_text

_NAME = re.compile(r"[^\s()\";:%?=\d.+*/<>&-][^\s()\";:%?=]*")
_WORDS = {"lam", "def", "rule", "True", "False"}
SELECTION = re.compile(r"get\$(\d+)\$(\d+)")
"""``get$2$3``, the second of three parts."""


def is_name(word: str) -> bool:
    """Whether a word can be the name of a variable."""
    return (
        bool(_NAME.fullmatch(word))
        and word not in _WORDS
        and word not in OPERATORS
        and not SELECTION.fullmatch(word)
        and word not in ("nan", "inf")
    )


def parse_declaration(source: TermSource, one: Syntax) -> tuple[str, Type]:
    """Return the name and the type of ``(x : TYPE)``."""
    parts = one.parts or ()
    if len(parts) < 3 or parts[1].word != ":":
        raise source.error(one, f"expected (NAME : TYPE), found {one}")
    expect_name(source, parts[0])
    if len(parts) == 3:
        return parts[0].word, parse_type(source, parts[2])
    words = Syntax(parts[2].token, parts[2:])
    return parts[0].word, parse_type(source, words)


def expect_name(source: TermSource, one: Syntax) -> None:
    """Refuse what is not the name of a variable."""
    if not is_name(one.word):
        raise source.error(one, f"expected a name, found {one}")


def parse_type(source: TermSource, one: Syntax) -> Type:
    """Return the type that is written somewhere."""
    text = str(one)
    if text.endswith("…"):
        text = one.whole
    try:
        return type_from_text(text)
    except InputError as error:
        raise source.error(one, str(error)) from None
