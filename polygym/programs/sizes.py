"""Sizes as text: ``n=100,m=200``, on command lines and as the environments' ``parameters``."""

from polybench import Dataset
from polygym.errors import InputError

# More digits no size has; Python refuses to read very many.
_LONGEST_NUMBER = 50
_LONGEST_SHOWN = 60

# What a data set gives every parameter of a user's file.
FILE_SIZES = {
    Dataset.MINI: 16,
    Dataset.SMALL: 64,
    Dataset.MEDIUM: 256,
    Dataset.LARGE: 1024,
    Dataset.EXTRALARGE: 2048,
}


def parse_sizes(text: str) -> dict[str, int]:
    """Return sizes given as a list with commas; numbers are as Python has them.

    >>> parse_sizes("n=100, m=0x10")
    {'n': 100, 'm': 16}

    Raises:
        InputError: one is no name with a number, or stands there twice.
    """
    result: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        value = parse_size(number)
        if not (name and equals) or value is None:
            shown = part if len(part) <= _LONGEST_SHOWN else f"{part[:_LONGEST_SHOWN]}…"
            raise InputError(
                "expected NAME=INTEGER, or several with commas such as n=100,m=200, found "
                f"{shown!r}"
            )
        if name in result:
            raise InputError(f"expected every name once, found {name!r} twice")
        result[name] = value
    return result


def parse_size(text: str) -> int | None:
    """Return the number that a text is, None if it is none.

    >>> parse_size(" 1_000 "), parse_size("1.5")
    (1000, None)
    """
    try:
        return int(text, 0) if len(text) <= _LONGEST_NUMBER else None
    except ValueError:
        return None
