"""Widths of the columns of a table in a terminal: texts are folded at spaces, numbers never."""

from collections.abc import Sequence

from rich.cells import cell_len


def least_width(heading: str, cells: Sequence[str], is_number: bool) -> int:
    """Return the width that a column needs: that of its longest word; of numbers, of the longest.

    >>> least_width("SHARE OF LIMIT", ["4.1 %", "511 ns"], True), least_width("", ["a bcd"], False)
    (6, 3)
    """
    words = [*heading.split(), *(cells if is_number else " ".join(cells).split())]
    return max(map(cell_len, words), default=0)


def full_width(heading: str, cells: Sequence[str]) -> int:
    """Return the width at which nothing of a column is folded."""
    return max(map(cell_len, (heading, *cells)))


def column_widths(least: Sequence[int], full: Sequence[int], room: int) -> list[int] | None:
    """Return widths of columns within some room, None where the least widths exceed it.

    Columns that lack little get their full width first, and the others what remains, evenly.

    >>> column_widths([3, 9], [3, 14], 20), column_widths([3, 9, 4], [3, 40, 6], 20)
    ([3, 14], [3, 11, 6])
    >>> column_widths([3, 9], [3, 14], 11) is None
    True
    """
    spare = room - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    lacking = sorted(range(len(least)), key=lambda column: full[column] - least[column])
    for place, column in enumerate(lacking):
        share = min(full[column] - least[column], spare // (len(lacking) - place))
        widths[column] += share
        spare -= share
    return widths
