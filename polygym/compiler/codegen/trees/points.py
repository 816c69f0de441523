"""The innermost loops: which of them run in vectors, and whether statements part ways first.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polygym.compiler.codegen.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.loop_annotation import Hold, Jam, LoopAnnotation, Vector
from polygym.compiler.codegen.machine import Machine
from polygym.compiler.codegen.mapping import Mapping
from polygym.compiler.codegen.packable import Packing
from polygym.compiler.codegen.sizes import Sizes
from polygym.compiler.codegen.trees.arrange import Roles, Table, roles
from polygym.compiler.codegen.trees.chain import is_chain
from polygym.compiler.codegen.trees.hold import holdable
from polygym.compiler.codegen.trees.model import Copies, copies, small_block
from polygym.compiler.codegen.trees.moves import shares_vectors, table
from polygym.compiler.codegen.trees.pairs import in_order
from polygym.compiler.codegen.trees.surroundings import Around
from polygym.compiler.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Member,
    Sequence,
    Tree,
    point,
    restricted,
)
from polygym.compiler.codegen.trees.trips import trips
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import added


@dataclass(frozen=True)
class Group:
    """Statements that share their innermost loops: ``members``, what they do, how accesses move."""

    statements: tuple[str, ...]
    members: tuple[Member, ...]
    around: Around
    moves: Table
    roles: Roles
    held: frozenset[str] = frozenset()

    @property
    def has_vectors(self) -> bool:
        """Whether its innermost loops run in vectors."""
        return self.roles.vector is not None

    @property
    def holds(self) -> bool:
        """Whether what could be held in registers is."""
        return self.roles.held is None or bool(self.held)


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
    def is_rewarding(self) -> bool:
        """Whether points run in vectors or along diagonals."""
        return self.diagonal or any(group.has_vectors for group in self.groups)

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


@dataclass(frozen=True)
class Arranger:
    """Arranges the points of bands below which there are no more loops."""

    scop: Scop
    mapping: Mapping
    machine: Machine
    packing: Packing | None = None
    sizes: Sizes | None = None

    def arrangement(self, band: Band, around: Around) -> Arrangement:
        """Return who does what among the points of a band."""
        together = self._together(band, around, ())
        fallback = None
        for candidate in self._candidates(band, around, together):
            if not any(group.has_vectors for group in candidate.groups):
                continue
            candidate = self._holding(candidate)
            if all(group.holds for group in candidate.groups):
                return candidate
            fallback = fallback or candidate
        if fallback is not None:
            return fallback
        if self.mapping.unroll_jam == 1 or not is_chain(band, around):
            return self._holding(together)
        return self._diagonal(band, around)

    def _candidates(
        self, band: Band, around: Around, together: Arrangement
    ) -> Iterator[Arrangement]:
        yield together
        if self.mapping.vector_bits == 0:
            return
        for outer in _outer_members(len(band.members)):
            if outer:
                yield self._together(band, around, outer)
            apart = self._apart(band, around, outer)
            if apart is not None:
                yield apart

    def _together(self, band: Band, around: Around, outer: tuple[int, ...]) -> Arrangement:
        inner = tuple(place for place in range(len(band.members)) if place not in outer)
        below = around.inside([band.members[place] for place in outer], band.statements)
        members = tuple(band.members[place] for place in inner)
        return Arrangement(outer, inner, (self._group(band.statements, members, below),))

    def _apart(self, band: Band, around: Around, outer: tuple[int, ...]) -> Arrangement | None:
        """Return the arrangement in which the statements part ways, if they may."""
        inner = tuple(place for place in range(len(band.members)) if place not in outer)
        below = around.inside([band.members[place] for place in outer], band.statements)
        order = in_order(_groups(band), below.pairs)
        if order is None or len(order) == 1:
            return None
        groups = []
        for statements in order:
            members = tuple(
                restricted(band.members[place], band.statements, statements) for place in inner
            )
            groups.append(self._group(statements, members, below.within(statements)))
        return Arrangement(outer, inner, tuple(groups))

    def _diagonal(self, band: Band, around: Around) -> Arrangement:
        """Return the arrangement in which the last two members run along diagonals."""
        count = len(band.members)
        *others, first, second = band.members
        rows = tuple(added(row, other) for row, other in zip(first.rows, second.rows, strict=True))
        inner = around.inside(others, band.statements)
        members = (point(rows, coincident=False), point(first.rows, coincident=True))
        chosen = Roles(vector=None, held=None, jammed=1)
        group = Group(band.statements, members, inner, (), chosen)
        places = tuple(range(count))
        return Arrangement(places[:-2], places[-2:], (group,), diagonal=True)

    def _group(
        self, statements: tuple[str, ...], members: tuple[Member, ...], around: Around
    ) -> Group:
        members = around.reviewed(members, statements)
        rows = [member.rows for member in members]
        moves = table(self.scop, statements, around.rows, rows, self.packing)
        chosen = roles(
            members, moves, vectors=self.mapping.vector_bits != 0, hold=self.mapping.registers
        )
        return Group(statements, members, around, moves, chosen)

    def _holding(self, arrangement: Arrangement) -> Arrangement:
        """Find out what the groups hold in registers: not before an arrangement is of interest."""
        return replace(arrangement, groups=tuple(map(self._group_holding, arrangement.groups)))

    def _group_holding(self, group: Group) -> Group:
        held = group.roles.held
        if held is None or not self.mapping.registers:
            return group
        standing = {
            name: (
                *group.around.rows[name],
                *(
                    member.rows[place]
                    for position, member in enumerate(group.members)
                    if position != held
                ),
            )
            for place, name in enumerate(group.statements)
        }
        found = holdable(self.scop, group.statements, group.statements, standing)
        return replace(group, held=found)

    def tree(self, band: Band, arrangement: Arrangement) -> Band:
        """Return the points as arranged; annotations are given, but for parallel loops."""
        outer = tuple(band.members[place] for place in arrangement.outer)
        below: Tree
        match arrangement.groups:
            case (only,) if only.statements == band.statements:
                inner = self._points(only, band.child)
                if not outer:
                    return inner
                below = inner
            case groups:
                below = Sequence(
                    tuple(Branch(group.statements, self._points(group, Leaf())) for group in groups)
                )
                if not outer:
                    # A band without members: nothing is around the sequence.
                    return Band(band.statements, (), below)
        return Band(band.statements, outer, below)

    def _points(self, group: Group, child: Tree) -> Band:
        annotations = self._annotations(group)
        return Band(
            group.statements,
            tuple(
                replace(group.members[place], annotation=annotations.get(place, ALONE))
                for place in group.roles.order(len(group.members))
            ),
            child,
        )

    def _block(self, group: Group) -> Copies | None:
        """Return the block that suits a small sum of known sizes; None for others."""
        places = (group.roles.jammed, group.roles.vector)
        if self.sizes is None or not group.held or None in places or len(group.statements) > 1:
            return None
        statement = self.scop.statement(group.statements[0])
        rows, columns = (
            trips(statement, group.members[place].rows[0], group.around.parameters, self.sizes)
            for place in places
            if place is not None
        )
        element = self.scop.widest(group.statements)
        width = (self.mapping.vector_bits or self.machine.vector_bits) // (8 * element)
        down, along = (group.moves[place][statement.name] for place in places if place is not None)
        return small_block(rows, columns, width, self.machine, shared=shares_vectors(down, along))

    def _annotations(self, group: Group) -> dict[int, LoopAnnotation]:
        """Return the annotations of the points by their place in the group."""
        statements, chosen = group.statements, group.roles
        number = self._block(group) or copies(chosen, len(statements), self.machine)
        found: dict[int, LoopAnnotation] = {}
        if chosen.vector is not None:
            bits = self.mapping.vector_bits or self.machine.vector_bits
            found[chosen.vector] = Vector(bits, self.mapping.vector_copies or number.vectors)
        jam = self.mapping.unroll_jam or number.jam
        if chosen.jammed is not None and jam > 1:
            found[chosen.jammed] = Jam(jam)
        if chosen.held is not None and group.held:
            found[chosen.held] = Hold(group.held)
        return found


def _outer_members(count: int) -> Iterator[tuple[int, ...]]:
    """Yield which members may run outside the others: none, each alone, the first ones.

    >>> list(_outer_members(3))
    [(), (0,), (1,), (2,), (0, 1)]
    """
    yield ()
    if count > 1:
        yield from ((place,) for place in range(count))
    yield from (tuple(range(size)) for size in range(2, count))


def _groups(band: Band) -> list[tuple[str, ...]]:
    """Return what may part ways below a band: its branches, or else each of its statements."""
    match band.child:
        case Sequence(branches):
            return [branch.statements for branch in branches]
        case _:
            return [(name,) for name in band.statements]
