r"""Text from outside, made fit for a terminal: nothing hidden in it, and nothing endless.

What a user hands in (file names, options, lines of a source) comes back in messages and listings. A
terminal obeys control characters, and a stream may refuse half a surrogate pair; both are written
as escapes here, ``\x1b`` for ESC.
"""

import re
from collections.abc import Iterable

from polygym.errors import SourceError, SourceLocation

_LONG_WORD = re.compile(r"\S{161,}")
_LONGEST_MESSAGE = 4000
_TOO_LARGE = re.compile(r"the memory of a run: expected at most (\d+) bytes, found (\d+)")


def printable(text: str) -> str:
    r"""Return the text with everything escaped that does not show, line ends and tabs excepted.

    >>> printable("a\x1b[31m b\n")
    'a\\x1b[31m b\n'
    """
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def counted(count: int, noun: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def sizes_text(sizes: Iterable[tuple[str, object]]) -> str:
    """Return sizes as text.

    >>> sizes_text([("n", 4), ("m", 5)])
    'n = 4, m = 5'
    """
    return ", ".join(f"{name} = {value}" for name, value in sizes)


def ratio_text(value: float | None) -> str:
    """Return a speedup as text, a dash for none.

    >>> ratio_text(1.234), ratio_text(None)
    ('1.23x', '-')
    """
    return "-" if value is None else f"{value:.2f}x"


def shorten(text: str, limit: int = 120) -> str:
    """Return the text, its end cut off past the limit.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def message_of(error: Exception) -> str:
    """Return an error's message with its long values shortened and hidden characters shown."""
    if isinstance(error, SourceError):
        shown = _shown_place(error.location)
        error = SourceError(shown, brief(error.message), brief(error.hint))
        return str(error)
    return brief(str(error))


def in_gigabytes(text: str) -> str:
    """Return a message in which a lack of memory is a plain sentence.

    >>> in_gigabytes("the memory of a run: expected at most 8000000000 bytes, found 240000000048")
    'to run it takes 240.0 GB of memory, at most 8.0 GB are there: choose smaller sizes'
    """
    return _TOO_LARGE.sub(
        lambda match: (
            f"to run it takes {int(match[2]) / 1e9:,.1f} GB of memory, at most "
            f"{int(match[1]) / 1e9:,.1f} GB are there: choose smaller sizes"
        ),
        text,
    )


def brief(text: str) -> str:
    """Cut the middle out of long words, and the end off a long message."""
    cut = _LONG_WORD.sub(lambda match: f"{match[0][:100]}…{match[0][-20:]}", text)
    return printable(shorten(cut, _LONGEST_MESSAGE))


def _shown_place(place: SourceLocation) -> SourceLocation:
    """Return the place with a printable line, and the column moved to where the caret belongs."""
    before = printable(place.text[: place.column - 1])
    return SourceLocation(
        printable(place.file),
        place.line,
        len(before) + 1 if place.text else place.column,
        printable(place.text),
    )


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a list with commas.

    >>> listed("gcc, polly,")
    ('gcc', 'polly')
    """
    return tuple(filter(None, (part.strip() for part in text.split(","))))
