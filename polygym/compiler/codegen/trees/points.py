"""The innermost loops: which of them run inside, and whether statements part ways first.

All members of a band may be permuted, but its iterations are independent only along the coincident
ones. A stencil in time, band (t, 2t + i, 2t + j), has none; yet once t stands still, nothing is
left to order between the points of one statement. So for a growing number p of outer members that
run one after the other, the rest is looked at again, with the pairs that those leave unordered. And
where several statements stand below, they may part ways there, since it is only pairs within one
iteration of the outer members that count::

    Band(t, 2t + i, 2t + j) → {S, T}
        →   Band(t) → Sequence{ S: Band(i, j: vector), T: Band(i, j: vector) }

Side condition: the statements have an order in which none of the pairs left leads backwards. The
first p, from 0 on, with which vectors are possible is taken, statements together before statements
apart.

Where a mapping asks for an order (:mod:`polygym.compiler.codegen.trees.point_order`), only those
arrangements are looked at that can have it: no member runs outside that is to be further inside
than one of the others, and none along diagonals.

What the members of each group of statements do is decided in
:mod:`polygym.compiler.codegen.trees.group`, and how many of their iterations run together in
:mod:`polygym.compiler.codegen.trees.copy_choice`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.trees.chain import is_chain
from polygym.compiler.codegen.trees.copy_choice import annotations_of
from polygym.compiler.codegen.trees.group import Group, group_of, holding
from polygym.compiler.codegen.trees.pairs import in_order
from polygym.compiler.codegen.trees.roles import Roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Sequence,
    Tree,
    annotated,
    point,
    restricted,
)
from polygym.compiler.poly.schedule import added


@dataclass(frozen=True)
class Arrangement:
    """The ``outer`` members run one after the other, then each group runs the ``inner`` ones.

    Both are positions in the band; with ``diagonal`` the inner members are not those of the band.
    """

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    groups: tuple[Group, ...]
    diagonal: bool = False

    @property
    def has_vectors(self) -> bool:
        """Whether some points run in vectors."""
        return any(group.has_vectors for group in self.groups)

    @property
    def is_across(self) -> bool:
        """Whether rows run in lanes, of which each is a recurrence, for all statements."""
        return all(group.across for group in self.groups)

    @property
    def is_along_rows(self) -> bool:
        """Whether statements are recurrences along rows, in lanes or not."""
        return all(group.along_rows for group in self.groups)

    @property
    def has_sums_alone(self) -> bool:
        """Whether all that waits are sums, along rows, whose terms may be taken in any order."""
        return all(group.sums for group in self.groups)

    @property
    def is_rewarding(self) -> bool:
        """Whether points run in vectors, in lanes or along diagonals."""
        return self.diagonal or self.has_vectors or self.is_across

    @property
    def swept(self) -> int | None:
        """The member along which some group runs through memory row by row, if one does."""
        places = (group.roles.vector for group in self.groups if group.in_rows)
        return next((self.inner[place] for place in places if place is not None), None)

    @property
    def roles(self) -> Roles:
        """The roles of the busiest group, as positions in the whole band."""
        busiest = max(
            self.groups,
            key=lambda group: (group.has_vectors, group.roles.held is not None and group.holds),
        )
        chosen = busiest.roles
        if self.diagonal:
            return Roles(None, None, None)

        def moved(place: int | None) -> int | None:
            return None if place is None else self.inner[place]

        return Roles(moved(chosen.vector), moved(chosen.held), moved(chosen.jammed))


def arrangement(band: Band, around: Surroundings, setting: Setting) -> Arrangement:
    """Return who does what among the points of a band below which there are no more loops."""
    mapping = setting.mapping
    last = setting.last(band.statements, band.members)
    asked = (
        setting.has_vectors and setting.vector_bits,
        mapping.registers,
        mapping.has_one_row,
        mapping.pack,
        mapping.reassociate,
        setting.packing,
        last,
    )
    return setting.memory.of(
        ("arrangement", band, around, asked), lambda: _arrangement(band, around, setting)
    )


def _arrangement(band: Band, around: Surroundings, setting: Setting) -> Arrangement:
    together = _together(band, around, (), setting)
    fallback = None
    for candidate in _candidates(band, around, together, setting):
        if not candidate.has_vectors:
            continue
        if together.is_along_rows and not all(group.has_vectors for group in candidate.groups):
            continue  # some would go down columns one by one
        candidate = _holding(candidate, setting)
        if all(group.holds for group in candidate.groups):
            return candidate
        fallback = fallback or candidate
    if fallback is not None:
        return fallback
    if together.is_along_rows:
        return _holding(together, setting)
    is_asked = bool(setting.last(band.statements, band.members))
    stays = is_asked or setting.mapping.has_one_row or together.has_sums_alone
    if stays or not is_chain(band, around):
        return _holding(together, setting)
    return _diagonal(band, around)


def parted(band: Band, around: Surroundings, setting: Setting) -> Arrangement | None:
    """Return the arrangement in which every statement has all members for itself, if it may."""
    if len(band.statements) == 1:
        return _holding(_together(band, around, (), setting), setting)
    found = _apart(band, around, (), setting)
    return None if found is None else _holding(found, setting)


def arranged(band: Band, chosen: Arrangement, setting: Setting) -> Band:
    """Return the points as arranged; annotations are given, but for parallel loops."""
    outer = tuple(band.members[place] for place in chosen.outer)
    below: Tree
    match chosen.groups:
        case (only,) if only.statements == band.statements:
            inner = _points(only, band.child, setting)
            if not outer:
                return inner
            below = inner
        case groups:
            below = Sequence(
                tuple(Branch(one.statements, _points(one, Leaf(), setting)) for one in groups)
            )
            if not outer:
                # A band without members: nothing is around the sequence.
                return Band(band.statements, (), below)
    return Band(band.statements, outer, below)


def _candidates(
    band: Band, around: Surroundings, together: Arrangement, setting: Setting
) -> Iterator[Arrangement]:
    yield together
    if not setting.has_vectors:
        return
    last = setting.last(band.statements, band.members)
    for outer in _outer_members(len(band.members), last):
        if outer:
            yield _together(band, around, outer, setting)
        apart = _apart(band, around, outer, setting)
        if apart is not None:
            yield apart


def _together(
    band: Band, around: Surroundings, outer: tuple[int, ...], setting: Setting
) -> Arrangement:
    inner, below = _inside(band, around, outer)
    members = tuple(band.members[place] for place in inner)
    return Arrangement(outer, inner, (group_of(band.statements, members, below, setting),))


def _apart(
    band: Band, around: Surroundings, outer: tuple[int, ...], setting: Setting
) -> Arrangement | None:
    """Return the arrangement in which the statements part ways, if they may."""
    inner, below = _inside(band, around, outer)
    order = in_order(_branches(band), below.pairs)
    if order is None or len(order) == 1:
        return None
    groups = []
    for statements in order:
        members = tuple(
            restricted(band.members[place], band.statements, statements) for place in inner
        )
        groups.append(group_of(statements, members, below.within(statements), setting))
    return Arrangement(outer, inner, tuple(groups))


def _inside(
    band: Band, around: Surroundings, outer: tuple[int, ...]
) -> tuple[tuple[int, ...], Surroundings]:
    """Return the positions of the other members, and what surrounds these."""
    inner = tuple(place for place in range(len(band.members)) if place not in outer)
    return inner, around.inside([band.members[place] for place in outer], band.statements)


def _diagonal(band: Band, around: Surroundings) -> Arrangement:
    """Return the arrangement in which the last two members run along diagonals."""
    count = len(band.members)
    *others, first, second = band.members
    rows = tuple(added(row, other) for row, other in zip(first.rows, second.rows, strict=True))
    inner = around.inside(others, band.statements)
    members = (point(rows, coincident=False), point(first.rows, coincident=True))
    chosen = Roles(vector=None, held=None, jammed=1)
    group = Group(band.statements, members, inner, (), chosen, diagonal=True)
    places = tuple(range(count))
    return Arrangement(places[:-2], places[-2:], (group,), diagonal=True)


def _holding(found: Arrangement, setting: Setting) -> Arrangement:
    """Find out what the groups hold in registers: not before an arrangement is of interest."""
    return replace(found, groups=tuple(holding(group, setting) for group in found.groups))


def _points(group: Group, child: Tree, setting: Setting) -> Band:
    """Return the innermost loops of a group, in their order, with their annotations."""
    annotations = annotations_of(group, setting)
    return Band(
        group.statements,
        tuple(
            annotated(group.members[place], annotations.get(place, ALONE)) for place in group.order
        ),
        child,
    )


def _outer_members(count: int, last: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield which members may run outside the others: none, each alone, the first ones.

    Of those that have to run ``last`` only the first ones do, and with all others.

    >>> list(_outer_members(3))
    [(), (0,), (1,), (2,), (0, 1)]
    >>> list(_outer_members(3, (0,))), list(_outer_members(3, (2, 0, 1)))
    ([(), (1,), (2,), (1, 2)], [(), (2,), (2, 0)])
    """
    if last:
        others = tuple(place for place in range(count) if place not in last)
        first = [tuple(others[place] for place in one) for one in _outer_members(len(others))]
        behind = [(*others, *last[:size]) for size in range(len(last))]
        yield from dict.fromkeys((*first, *behind))
        return
    yield ()
    if count > 1:
        yield from ((place,) for place in range(count))
    yield from (tuple(range(size)) for size in range(2, count))


def _branches(band: Band) -> list[tuple[str, ...]]:
    """Return what may part ways below a band: its branches, or else each of its statements."""
    match band.child:
        case Sequence(branches):
            return [branch.statements for branch in branches]
        case _:
            return [(name,) for name in band.statements]
