"""The comprehensions that come with polygym, by name."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from polygym.errors import InputError
from polygym.tc.language.parse import parse
from polygym.tc.language.syntax import Definition

_FOLDER = Path(__file__).parent


@cache
def definitions() -> dict[str, Definition]:
    """Return all of them, in the order of the files' names and of the texts."""
    found = {}
    for path in sorted(_FOLDER.glob("*.tc")):
        for one in parse(path.read_text(encoding="utf-8"), str(path)):
            assert one.name not in found, one.name
            found[one.name] = one
    return found


def definition(name: str) -> Definition:
    """Return one.

    Raises:
        InputError: there is none of that name.
    """
    known = definitions()
    if name not in known:
        close = get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"tc:{name}: expected one of {', '.join(known)}{hint}")
    return known[name]
