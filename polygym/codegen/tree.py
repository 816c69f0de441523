"""Schedule → schedule tree: where the statements part ways, and which loops could be permuted.

A schedule is a flat list of rows; what transformations need is structure. The tree has

* :class:`Sequence`: groups of statements that run one group after the other (a row whose value is a
  different constant for different groups);
* :class:`Band`: consecutive rows that may be freely permuted among each other, hence tiled: every
  dependence that is not carried further out has δ ≥ 0 on *each* of them. A member on which all
  these distances are 0 is *coincident*: its iterations may run in parallel;
* :class:`Leaf`: nothing left to order.

Example: the original order of y = Ax, rows ``S: (0, i, 0)`` and ``T: (1, i, j)``, becomes ::

    Sequence
    ├─ S: Band(i: coincident)
    └─ T: Band(i: coincident, j)

Bands are found from the dependences and never assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygym.poly.dependences import dependences
from polygym.poly.distance import Pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.quota import bounded
from polygym.poly.schedule import Row, Schedule


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch: instances here run in any order."""


@dataclass(frozen=True, slots=True)
class Member:
    """One loop of a band: a row for every statement below, in the order of ``Band.statements``."""

    rows: tuple[Row, ...]
    coincident: bool


@dataclass(frozen=True, slots=True)
class Band:
    """Loops, outermost first, that may be permuted with each other."""

    statements: tuple[str, ...]
    members: tuple[Member, ...]
    child: Tree


@dataclass(frozen=True, slots=True)
class Branch:
    """One group of statements in a sequence and what happens to it."""

    statements: tuple[str, ...]
    child: Tree


@dataclass(frozen=True, slots=True)
class Sequence:
    """Groups of statements that run one after the other."""

    branches: tuple[Branch, ...]


Tree: TypeAlias = Leaf | Band | Sequence


def build_tree(legal: LegalSchedule) -> Tree:
    """Return the tree of a legal schedule."""
    schedule = legal.schedule
    with bounded("building the schedule tree"):
        pairs = tuple(
            Pairs.of(dependence, schedule.parameters) for dependence in dependences(legal.scop)
        )
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
                    Branch(group, _build(schedule, group, dimension, _within(pairs, group)))
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
        distances = [_distance(pair, schedule, dimension) for pair in pairs]
        if any(
            not pair.reversed_by(delta).is_empty
            for pair, delta in zip(pairs, distances, strict=True)
        ):
            break
        coincident = all(
            pair.carried_by(delta).is_empty for pair, delta in zip(pairs, distances, strict=True)
        )
        members.append(Member(rows, coincident))
        left = tuple(pair.untouched_by(_distance(pair, schedule, dimension)) for pair in left)
        left = tuple(pair for pair in left if not pair.is_empty)
        dimension += 1
    return Band(statements, tuple(members), _build(schedule, statements, dimension, left))


def _distance(pair: Pairs, schedule: Schedule, dimension: int) -> isl.Aff:
    source = schedule.rows(pair.dependence.source)[dimension]
    sink = schedule.rows(pair.dependence.sink)[dimension]
    return pair.distance(source, sink, schedule.parameters)


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


def _within(pairs: tuple[Pairs, ...], statements: tuple[str, ...]) -> tuple[Pairs, ...]:
    """Keep the pairs between these statements; those across groups are ordered by the sequence."""
    return tuple(
        pair
        for pair in pairs
        if pair.dependence.source in statements and pair.dependence.sink in statements
    )


def to_isl(tree: Tree, legal: LegalSchedule) -> isl.Schedule:
    """Return the tree as isl's own schedule tree, ready for its AST generator."""
    scop = legal.scop
    domains = {statement.name: isl.UnionSet(statement.domain) for statement in scop.statements}
    domain = isl.UnionSet.empty(isl.Set(scop.context).get_space())
    for one in domains.values():
        domain = domain.union(one)
    root = isl.Schedule.from_domain(domain).get_root()
    return _insert(tree, root.child(0), legal, domains).get_schedule()


def _insert(
    tree: Tree,
    node: isl.ScheduleNode,
    legal: LegalSchedule,
    domains: dict[str, isl.UnionSet],
) -> isl.ScheduleNode:
    """Insert a tree at a leaf of isl's; return the node at the same place."""
    match tree:
        case Leaf():
            return node
        case Band():
            node = node.insert_partial_schedule(_partial_schedule(tree, legal))
            node = node.band_set_permutable(1)
            for position, member in enumerate(tree.members):
                node = node.band_member_set_coincident(position, int(member.coincident))
            return _insert(tree.child, node.child(0), legal, domains).parent()
        case Sequence():
            filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(tree.branches))
            for branch in tree.branches:
                group = domains[branch.statements[0]]
                for name in branch.statements[1:]:
                    group = group.union(domains[name])
                filters = filters.add(group.universe())
            node = node.insert_sequence(filters)
            for position, branch in enumerate(tree.branches):
                below = _insert(branch.child, node.child(position).child(0), legal, domains)
                node = below.parent().parent()
            return node


def _partial_schedule(band: Band, legal: LegalSchedule) -> isl.MultiUnionPwAff:
    """Return the rows of a band as isl wants them."""
    schedule = legal.schedule
    iterators = {part.statement: part.iterators for part in schedule.statements}
    columns = []
    for member in band.members:
        parts = [
            f"{name}[{', '.join(iterators[name])}] -> "
            f"[({row.text(iterators[name], schedule.parameters)})]"
            for name, row in zip(band.statements, member.rows, strict=True)
        ]
        columns.append(f"{{ {'; '.join(parts)} }}")
    # isl would read `[] -> [...]` as a tuple without members.
    prefix = f"[{', '.join(schedule.parameters)}] -> " if schedule.parameters else ""
    return isl.MultiUnionPwAff(f"{prefix}[{', '.join(columns)}]")
