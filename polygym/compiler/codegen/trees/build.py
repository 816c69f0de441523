"""Schedule → schedule tree: bands are found from the dependences and never assumed."""

from __future__ import annotations

from polygym.compiler.codegen.trees.pairs import still_unordered, untouched, weakly_ordered, within
from polygym.compiler.codegen.trees.tree import Band, Branch, Leaf, Member, Sequence, Tree, point
from polygym.compiler.poly.distance import Pairs, all_pairs
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule


def build_tree(legal: LegalSchedule) -> Tree:
    """Return the tree of a legal schedule."""
    schedule = legal.schedule
    with bounded("building the schedule tree"):
        pairs = all_pairs(legal.scop)
        names = tuple(part.statement for part in schedule.statements)
        return _build(schedule, names, 0, pairs)


def _build(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, pairs: tuple[Pairs, ...]
) -> Tree:
    """Build the tree for some statements from a dimension on.

    Invariant: ``pairs`` are those that no outer dimension orders, between these statements.
    """
    while dimension < schedule.dimensions and _constant(schedule, statements, dimension):
        groups = _groups(schedule, statements, dimension)
        dimension += 1
        if len(groups) > 1:
            return Sequence(
                tuple(
                    Branch(group, _build(schedule, group, dimension, within(pairs, group)))
                    for group in groups
                )
            )
    if dimension == schedule.dimensions:
        return Leaf()
    return _build_band(schedule, statements, dimension, pairs)


def _build_band(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, pairs: tuple[Pairs, ...]
) -> Band:
    """Collect members while every pair alive at the top of the band keeps δ ≥ 0."""
    members: list[Member] = []
    left = pairs
    while dimension < schedule.dimensions:
        rows = tuple(schedule.rows(name)[dimension] for name in statements)
        if all(row.is_constant for row in rows):
            if len(set(rows)) > 1:
                break
            dimension += 1
            continue
        if not weakly_ordered(pairs, statements, rows, schedule.parameters):
            break
        coincident = untouched(pairs, statements, rows, schedule.parameters)
        members.append(point(rows, coincident))
        left = still_unordered(left, statements, rows, schedule.parameters)
        dimension += 1
    return Band(statements, tuple(members), _build(schedule, statements, dimension, left))


def _constant(schedule: Schedule, statements: tuple[str, ...], dimension: int) -> bool:
    """Whether the dimension is a plain number for each of the statements."""
    return all(schedule.rows(name)[dimension].is_constant for name in statements)


def _groups(
    schedule: Schedule, statements: tuple[str, ...], dimension: int
) -> list[tuple[str, ...]]:
    """Group the statements by the constant of the dimension, ascending."""
    groups: dict[int, list[str]] = {}
    for name in statements:
        groups.setdefault(schedule.rows(name)[dimension].constant, []).append(name)
    return [tuple(groups[constant]) for constant in sorted(groups)]
