"""Schedule → schedule tree: bands are found from the dependences and never assumed."""

from __future__ import annotations

from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band, Branch, Leaf, Member, Sequence, Tree
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule


def build_tree(legal: LegalSchedule, memory: Memory = NOTHING) -> Tree:
    """Return the tree of a legal schedule; with a ``memory`` its plans need not ask again."""
    schedule = legal.schedule
    with bounded("building the schedule tree"):
        names = tuple(part.statement for part in schedule.statements)
        return _build(schedule, names, 0, Surroundings.of(legal, memory))


def _build(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, around: Surroundings
) -> Tree:
    """Build the tree for some statements from a dimension on.

    Invariant: the pairs ``around`` are those that no outer dimension orders, between these
    statements.
    """
    while dimension < schedule.dimensions and _constant(schedule, statements, dimension):
        groups = _groups(schedule, statements, dimension)
        dimension += 1
        if len(groups) > 1:
            return Sequence(
                tuple(
                    Branch(group, _build(schedule, group, dimension, around.within(group)))
                    for group in groups
                )
            )
    if dimension == schedule.dimensions:
        return Leaf()
    return _build_band(schedule, statements, dimension, around)


def _build_band(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, around: Surroundings
) -> Band:
    """Collect members while every pair alive at the top of the band keeps δ ≥ 0."""
    members: list[Member] = []
    below = around
    while dimension < schedule.dimensions:
        rows = tuple(schedule.rows(name)[dimension] for name in statements)
        if all(row.is_constant for row in rows):
            if len(set(rows)) > 1:
                break
            dimension += 1
            continue
        if not around.allows(rows, statements):
            break
        members.append(around.member(rows, statements))
        below = below.in_loop(rows, statements)
        dimension += 1
    return Band(statements, tuple(members), _build(schedule, statements, dimension, below))


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
