"""isl text for people: without the names that repeat on every line, and bare conditions."""

import re

_PARAMETERS = re.compile(r"^\s*\[[^\]]*\]\s*->\s*(?=\{)")
_CONDITIONS = re.compile(r"^\{\s*:?\s*(.*?)\s*\}\s*$", re.DOTALL)


def without_parameters(text: str) -> str:
    """Return a set or a map without the list of its parameters.

    >>> without_parameters("[n] -> { S[i] : 0 <= i < n }")
    '{ S[i] : 0 <= i < n }'
    """
    return _PARAMETERS.sub("", text)


def condition_text(context: str) -> str:
    """Return what a set of parameter values asks of them; nothing where it holds all.

    >>> condition_text("[n, m] -> { : n > 0 and m > 1 }")
    'n > 0 and m > 1'
    """
    bare = without_parameters(context)
    match = _CONDITIONS.match(bare)
    return match[1] if match else bare
