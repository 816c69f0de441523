"""``--carry``: which dimension of a space carries which dependence, as text.

The text is ``earliest`` or a list of ``SOURCE->SINK@DIMENSION``, dimensions counted from 1. Where
several convex pieces lie between two statements that means all of them, and ``SOURCE->SINK#2``
is the second one in the order of ``polygym show``. Example, y = Ax: with ``S->T@3,T->T@4`` the
dimensions 1 and 2 carry nothing.

Every dependence has to be given exactly once. A rule for those left out would have to guess
whether they are meant to be carried before or after the ones that were given.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from polygym.cli.output.console import listed, shorten
from polygym.errors import InputError
from polygym.poly.dependences import Dependence
from polygym.poly.schedule import MAX_DIMENSIONS
from polygym.poly.spaces.polyhedra import RowPolyhedra

EARLIEST = "earliest"
_ITEM = re.compile(r"(\w+)\s*->\s*(\w+)\s*(?:#\s*(\d{1,6}))?\s*@\s*(\d{1,6})", re.ASCII)
_MAX_LISTED = 12

# What each dimension carries, by the positions of the dependences.
Selections: TypeAlias = tuple[frozenset[int], ...]


def names(dependences: Sequence[Dependence]) -> tuple[str, ...]:
    """Return a short name of every dependence: ``S->T``, or ``S->T#2`` where there are several."""
    pairs = [(dependence.source, dependence.sink) for dependence in dependences]
    result = []
    for index, (source, sink) in enumerate(pairs):
        several = pairs.count((source, sink)) > 1
        piece = pairs[: index + 1].count((source, sink))
        result.append(f"{source}->{sink}#{piece}" if several else f"{source}->{sink}")
    return tuple(result)


def selections(text: str, polyhedra: RowPolyhedra) -> Selections:
    """Return what the dimensions carry; whether rows can do that is not asked."""
    chosen = {} if text.strip() == EARLIEST else _parse_carry(text, polyhedra)
    if text.strip() == EARLIEST or not polyhedra.dependences:
        return earliest(polyhedra)
    missing = polyhedra.all_carryable - chosen.keys()
    if missing:
        labels = names(polyhedra.dependences)
        raise InputError(
            "--carry: expected every dependence of the program, found no dimension for "
            f"{_listed([labels[index] for index in sorted(missing)])}; {_example(polyhedra)}"
        )
    return tuple(
        frozenset(index for index, dimension in chosen.items() if dimension == number)
        for number in range(1, max(chosen.values(), default=0) + 1)
    )


def earliest(polyhedra: RowPolyhedra) -> Selections:
    """Return the construction that carries every dependence in the first dimension that can.

    A program that has none gets as many free dimensions as loops inside each other.
    """
    left, result = frozenset(range(len(polyhedra.dependences))), []
    while carried := polyhedra.carryable(left):
        result.append(carried)
        left -= carried
    if polyhedra.dependences:
        return tuple(result)
    return (frozenset[int](),) * max(1, polyhedra.scop.depth)


def infeasible_reason(wanted: Selections, polyhedra: RowPolyhedra) -> str:
    """Return what the first dimension that has no row cannot carry and what it could, or nothing.

    Any dependences that can be carried in a dimension can be carried there together.
    """
    labels = names(polyhedra.dependences)
    left = frozenset(range(len(labels)))
    for number, carried in enumerate(wanted, start=1):
        possible = polyhedra.carryable(left)
        if not carried <= possible:
            refused = _listed([labels[index] for index in sorted(carried - possible)])
            others = _listed([labels[index] for index in sorted(possible)]) or "none"
            return (
                f"dimension {number} cannot carry {refused}: no row carries that strongly and "
                f"satisfies all that are left; it can carry: {others}"
            )
        left -= carried
    return ""


def _parse_carry(text: str, polyhedra: RowPolyhedra) -> Mapping[int, int]:
    """Return the dimension of every dependence that the text gives."""
    labels = names(polyhedra.dependences)
    result: dict[int, int] = {}
    for item in listed(text):
        for index, dimension in _matching(item, polyhedra):
            if index in result:
                raise InputError(
                    f"--carry: expected every dependence once, found {labels[index]} twice "
                    f"(in dimensions {result[index]} and {dimension})"
                )
            result[index] = dimension
    return result


def _matching(item: str, polyhedra: RowPolyhedra) -> Iterator[tuple[int, int]]:
    """Yield the dependences that one item names, with the dimension it gives."""
    match = _ITEM.fullmatch(item)
    if match is None:
        quotes = "; in a shell > needs quotes around the whole" if item.endswith("-") else ""
        raise InputError(
            f"--carry: expected {EARLIEST} or SOURCE->SINK@DIMENSION, found "
            f"{shorten(item)!r}{quotes}; {_example(polyhedra)}"
        )
    source, sink, piece, dimension = match[1], match[2], match[3], int(match[4])
    if not 1 <= dimension <= MAX_DIMENSIONS:
        raise InputError(
            f"--carry: expected a dimension from 1 to {MAX_DIMENSIONS}, found {dimension} in "
            f"{shorten(item)!r}"
        )
    pieces = [
        index
        for index, dependence in enumerate(polyhedra.dependences)
        if (dependence.source, dependence.sink) == (source, sink)
    ]
    if not pieces:
        pairs = dict.fromkeys(
            f"{dependence.source}->{dependence.sink}" for dependence in polyhedra.dependences
        )
        raise InputError(
            f"--carry: expected one of the dependences {_listed(list(pairs)) or '(none)'}, found "
            f"{shorten(source, 60)}->{shorten(sink, 60)}"
        )
    if piece is None:
        yield from ((index, dimension) for index in pieces)
        return
    if not 1 <= int(piece) <= len(pieces):
        raise InputError(
            f"--carry: expected a piece of {source}->{sink} from #1 to #{len(pieces)}, found "
            f"#{piece}; the pieces are\n"
            + "\n".join(
                f"  {source}->{sink}#{number}  {polyhedra.dependences[index].relation}"
                for number, index in enumerate(pieces, start=1)
            )
        )
    yield pieces[int(piece) - 1], dimension


def _example(polyhedra: RowPolyhedra) -> str:
    """Return what the option may look like for this program."""
    labels = names(polyhedra.dependences)
    if not labels:
        return "the program has no dependences: leave the option out"
    items = [
        f"{labels[index]}@{number}"
        for number, carried in enumerate(earliest(polyhedra), start=1)
        for index in sorted(carried)
    ]
    return f"for example --carry '{','.join(items)}'"


def _listed(labels: Sequence[str]) -> str:
    """Return the names with commas between, the end left out where there are many."""
    more = len(labels) - _MAX_LISTED
    return ", ".join(labels[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
