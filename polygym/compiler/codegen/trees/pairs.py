"""What transformations of the tree ask about dependences, for loops given by their rows.

A transformation is legal because of what holds for the pairs of instances that no loop further out
orders; see :mod:`polygym.compiler.poly.distance` for δ, the distance of a pair along a row.
Example: T → T of y = Ax under the row ``i`` is untouched (δ = 0), under ``j`` it is weakly ordered
(δ ≥ 1), and under ``j`` nothing is left unordered.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polygym.compiler.poly.distance import Pairs
from polygym.compiler.poly.schedule import Row


def weakly_ordered(
    pairs: Iterable[Pairs],
    statements: tuple[str, ...],
    rows: tuple[Row, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≥ 0 for every pair: the loop may run outside all others."""
    return all(
        pair.reversed_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def untouched(
    pairs: Iterable[Pairs],
    statements: tuple[str, ...],
    rows: tuple[Row, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≤ 0 for every pair; with δ ≥ 0, that its iterations are independent."""
    return all(
        pair.carried_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def still_unordered(
    pairs: Iterable[Pairs],
    statements: tuple[str, ...],
    rows: tuple[Row, ...],
    parameters: tuple[str, ...],
) -> tuple[Pairs, ...]:
    """Return the pairs with δ = 0, those dependences left out that have none."""
    left = (pair.untouched_by(_distance(pair, statements, rows, parameters)) for pair in pairs)
    return tuple(pair for pair in left if not pair.is_empty)


def within(pairs: Iterable[Pairs], statements: tuple[str, ...]) -> tuple[Pairs, ...]:
    """Keep the pairs between these statements; those across groups are ordered by a sequence."""
    return tuple(
        pair
        for pair in pairs
        if pair.dependence.source in statements and pair.dependence.sink in statements
    )


def in_order(
    groups: Iterable[tuple[str, ...]], pairs: Iterable[Pairs]
) -> tuple[tuple[str, ...], ...] | None:
    """Return groups of statements so that no pair leads backwards.

    None says that there is no such order: two of them wait for each other.
    """
    left = list(groups)
    waits = {(pair.dependence.source, pair.dependence.sink) for pair in pairs}
    found: list[tuple[str, ...]] = []
    while left:
        needed = {
            sink
            for source, sink in waits
            for group in left
            if source in group and sink not in group
        }
        ready = next((group for group in left if needed.isdisjoint(group)), None)
        if ready is None:
            return None
        left.remove(ready)
        found.append(ready)
    return tuple(found)


def _distance(
    pair: Pairs, statements: tuple[str, ...], rows: tuple[Row, ...], parameters: tuple[str, ...]
) -> isl.Aff:
    source = rows[statements.index(pair.dependence.source)]
    sink = rows[statements.index(pair.dependence.sink)]
    return pair.distance(source, sink, parameters)
