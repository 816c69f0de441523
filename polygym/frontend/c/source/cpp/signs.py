"""Signs that a refused text is C++: ``::``, and declarations at file scope that C lacks."""

from collections.abc import Sequence
from itertools import pairwise

from polygym.frontend.c.tokens.origins import SourceToken

CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C", ".hh", ".hpp", ".hxx"})
"""Endings of the names of C++ files."""

CPP_DECLARATIONS = frozenset({"template", "class", "namespace", "using"})
"""Words that begin a declaration of C++ at file scope."""

_ENDS = frozenset({";", "}", "{"})  # a declaration may follow; { opens an extern "C" or a namespace


def is_cpp(tokens: Sequence[SourceToken]) -> bool:
    """Return whether tokens of a text with a syntax error are C++.

    A name that C++ reserves is a sign only where a declaration begins at file scope: C programs
    may have a variable ``class``.
    """
    for place, (first, second) in enumerate(pairwise(tokens)):
        in_attribute = [part.text for part in tokens[max(place - 3, 0) : place - 1]] == ["[", "["]
        if _touch(first, second) and not in_attribute:  # C23 has [[gnu::packed]]
            return True
    depth, before = 0, ";"
    for place, token in enumerate(tokens):
        if depth == 0 and before in _ENDS:
            if token.text in CPP_DECLARATIONS:
                return True
            if [part.text for part in tokens[place : place + 2]] == ["extern", '"C"']:
                return True
        depth += (token.text == "{") - (token.text == "}")
        before = token.text
    return False


def _touch(first: SourceToken, second: SourceToken) -> bool:
    """Whether two tokens are one ``::``, which C has in attributes alone."""
    return (
        first.text == second.text == ":"
        and first.origin.line == second.origin.line
        and first.origin.column + 1 == second.origin.column
    )
