"""What transformations of the tree ask about dependences, for loops given by their rows.

A transformation is legal because of what holds for the pairs of instances that no loop further out
orders; see :mod:`polygym.poly.distance` for δ, the distance of a pair along a row.
Example: T → T of y = Ax under the row ``i`` is untouched (δ = 0), under ``j`` it is weakly ordered
(δ ≥ 1), and under ``j`` nothing is left unordered.
"""

from __future__ import annotations

from collections.abc import Iterable

from polygym.poly.distance import DependenceDistance, DependencePairs
from polygym.poly.schedule import ScheduleRow


def are_weakly_ordered(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≥ 0 for every pair: the loop may run outside all others."""
    return all(
        pair.reversed_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def are_never_carried(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≤ 0 for every pair; with δ ≥ 0, that its iterations are independent."""
    return all(
        pair.carried_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def unordered_pairs(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> tuple[DependencePairs, ...]:
    """Return the pairs with δ = 0, those dependences left out that have none."""
    left = (
        dependence_pairs.unordered_by(_distance(dependence_pairs, statements, rows, parameters))
        for dependence_pairs in pairs
    )
    return tuple(one for one in left if not one.is_empty)


def pairs_within(
    pairs: Iterable[DependencePairs], statements: tuple[str, ...]
) -> tuple[DependencePairs, ...]:
    """Keep the pairs between these statements; those across groups are ordered by a sequence."""
    names = frozenset(statements)
    return tuple(
        pair for pair in pairs if pair.dependence.source in names and pair.dependence.sink in names
    )


def order_groups(
    groups: Iterable[tuple[str, ...]], pairs: Iterable[DependencePairs]
) -> tuple[tuple[str, ...], ...] | None:
    """Return groups of statements so that no pair leads backwards.

    None says that there is no such order: two of them wait for each other.
    """
    left = dict(enumerate(groups))
    group_of = {name: place for place, group in left.items() for name in group}
    before: dict[int, set[int]] = {place: set() for place in left}
    for pair in pairs:
        source = group_of.get(pair.dependence.source)
        sink = group_of.get(pair.dependence.sink)
        if source is not None and sink is not None and source != sink:
            before[sink].add(source)
    result: list[tuple[str, ...]] = []
    while left:
        ready = next((place for place in left if before[place].isdisjoint(left)), None)
        if ready is None:
            return None
        result.append(left.pop(ready))
    return tuple(result)


def _distance(
    pair: DependencePairs,
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> DependenceDistance:
    source = rows[statements.index(pair.dependence.source)]
    sink = rows[statements.index(pair.dependence.sink)]
    return pair.distance(source, sink, parameters)
