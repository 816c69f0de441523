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

Where a mapping asks for an order (:mod:`polygym.codegen.tree.analysis.loop_order`), only those
arrangements are looked at that can have it: no member runs outside that is to be further inside
than one of the others, and none along diagonals.

What the members of each group of statements do is decided in
:mod:`polygym.codegen.tree.inner_loops.grouping`, and how many of their iterations run
together in
:mod:`polygym.codegen.tree.inner_loops.register_blocking`.

Does every iteration of a band's innermost loop wait for the one before?

Then the processor waits as well, for the latency of each operation. It does when pairs that all
other members leave unordered have the distance 1 along the last member, and are so many that about
every instance is the sink of one: as a polyhedron, they have as many dimensions as the statement.

Example: A[i][j] = A[i][j-1] + ... is a chain. In Floyd and Warshall's algorithm path[i][k] is
written at j = k and read by the iteration after it, but only at that one j: that is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import islpy as isl

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.tree.analysis.loop_roles import LoopRoles, StatementGroup
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.inner_loops.grouping import make_group, with_scalar_replacement
from polygym.codegen.tree.inner_loops.register_blocking import annotations_of
from polygym.codegen.tree.ir import (
    Band,
    Branch,
    Leaf,
    SequenceNode,
    Tree,
    point_member,
    restrict_member,
    with_annotation,
)
from polygym.codegen.tree.loop_context import LoopContext, order_groups
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.distance import DependencePairs
from polygym.poly.schedule import ScheduleRow, combine_rows


@dataclass(frozen=True)
class Arrangement:
    """The ``outer`` members run one after the other, then each group runs the ``inner`` ones.

    Both are positions in the band; with ``is_diagonal`` the inner members are not those of the
    band.
    """

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    groups: tuple[StatementGroup, ...]
    is_diagonal: bool = False

    @property
    def has_vectors(self) -> bool:
        """Whether some points run in vectors."""
        return any(group.has_vectors for group in self.groups)

    @property
    def has_recurrence_lanes(self) -> bool:
        """Whether rows run in lanes, of which each is a recurrence, for all statements."""
        return all(group.has_recurrence_lanes for group in self.groups)

    @property
    def is_along_rows(self) -> bool:
        """Whether statements are recurrences along rows, in lanes or not."""
        return all(group.is_along_rows for group in self.groups)

    @property
    def has_only_reductions(self) -> bool:
        """Whether all that waits are sums, along rows, whose terms may be taken in any order."""
        return all(group.is_reduction for group in self.groups)

    @property
    def is_profitable(self) -> bool:
        """Whether points run in vectors, in lanes or along diagonals."""
        return self.is_diagonal or self.has_vectors or self.has_recurrence_lanes

    @property
    def streamed_member(self) -> int | None:
        """The member along which some group runs through memory row by row, if one does."""
        places = (group.roles.vector for group in self.groups if group.runs_by_rows)
        return next((self.inner[place] for place in places if place is not None), None)

    @property
    def roles(self) -> LoopRoles:
        """The roles of the busiest group, as positions in the whole band."""
        busiest = max(
            self.groups,
            key=lambda group: (
                group.has_vectors,
                group.roles.reduction is not None and group.has_scalar_replacement,
            ),
        )
        chosen = busiest.roles
        if self.is_diagonal:
            return LoopRoles(None, None, None)

        def moved(place: int | None) -> int | None:
            return None if place is None else self.inner[place]

        return LoopRoles(moved(chosen.vector), moved(chosen.reduction), moved(chosen.jammed))


def choose_arrangement(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> Arrangement:
    """Return who does what among the points of a band below which there are no more loops."""
    mapping = context.mapping
    last = context.innermost(band.statements, band.members)
    asked = (
        context.has_vectors and context.vector_bits,
        mapping.scalar_replacement,
        mapping.forbids_jamming,
        mapping.pack,
        mapping.reassociate,
        context.packing,
        last,
    )
    return context.memo.get_or_compute(
        ("arrangement", band, loop_context, asked),
        lambda: _choose_arrangement(band, loop_context, context),
    )


def _choose_arrangement(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> Arrangement:
    together = _fused_arrangement(band, loop_context, (), context)
    fallback = None
    for candidate in _candidates(band, loop_context, together, context):
        if not candidate.has_vectors:
            continue
        if together.is_along_rows and not all(group.has_vectors for group in candidate.groups):
            continue  # some would go down columns one by one
        candidate = _with_scalar_replacement(candidate, context)
        if all(group.has_scalar_replacement for group in candidate.groups):
            return candidate
        fallback = fallback or candidate
    if fallback is not None:
        return fallback
    if together.is_along_rows:
        return _with_scalar_replacement(together, context)
    is_asked = bool(context.innermost(band.statements, band.members))
    stays = is_asked or context.mapping.forbids_jamming or together.has_only_reductions
    if stays or not is_recurrence(band, loop_context):
        return _with_scalar_replacement(together, context)
    return _diagonal_arrangement(band, loop_context)


def distributed_arrangement(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> Arrangement | None:
    """Return the arrangement in which every statement has all members for itself, if it may."""
    is_alone = len(band.statements) == 1
    arrange = _fused_arrangement if is_alone else _distributed_arrangement
    arrangement = arrange(band, loop_context, (), context)
    return None if arrangement is None else _with_scalar_replacement(arrangement, context)


def apply_arrangement(band: Band, arrangement: Arrangement, context: PlannerContext) -> Band:
    """Return the points as arranged; annotations are given, but for parallel loops."""
    outer = tuple(band.members[place] for place in arrangement.outer)
    below: Tree
    match arrangement.groups:
        case (only,) if only.statements == band.statements:
            inner = _group_band(only, band.child, context)
            if not outer:
                return inner
            below = inner
        case groups:
            bands = ((own.statements, _group_band(own, Leaf(), context)) for own in groups)
            below = SequenceNode(tuple(Branch(names, inner) for names, inner in bands))
            if not outer:
                # A band without members: nothing is around the sequence.
                return Band(band.statements, (), below)
    return Band(band.statements, outer, below)


def _candidates(
    band: Band, loop_context: LoopContext, together: Arrangement, context: PlannerContext
) -> Iterator[Arrangement]:
    yield together
    if not context.has_vectors:
        return
    last = context.innermost(band.statements, band.members)
    for outer in _outer_members(len(band.members), last):
        if outer:
            yield _fused_arrangement(band, loop_context, outer, context)
        apart = _distributed_arrangement(band, loop_context, outer, context)
        if apart is not None:
            yield apart


def _fused_arrangement(
    band: Band, loop_context: LoopContext, outer: tuple[int, ...], context: PlannerContext
) -> Arrangement:
    inner, below = _inner_context(band, loop_context, outer)
    members = tuple(band.members[place] for place in inner)
    return Arrangement(outer, inner, (make_group(band.statements, members, below, context),))


def _distributed_arrangement(
    band: Band, loop_context: LoopContext, outer: tuple[int, ...], context: PlannerContext
) -> Arrangement | None:
    """Return the arrangement in which the statements part ways, if they may."""
    inner, below = _inner_context(band, loop_context, outer)
    order = order_groups(_distributable_groups(band), below.pairs)
    if order is None or len(order) == 1:
        return None
    groups = []
    for statements in order:
        members = tuple(
            restrict_member(band.members[place], band.statements, statements) for place in inner
        )
        groups.append(make_group(statements, members, below.for_branch(statements), context))
    return Arrangement(outer, inner, tuple(groups))


def _inner_context(
    band: Band, loop_context: LoopContext, outer: tuple[int, ...]
) -> tuple[tuple[int, ...], LoopContext]:
    """Return the positions of the other members, and what surrounds these."""
    inner = tuple(place for place in range(len(band.members)) if place not in outer)
    return inner, loop_context.inside_members(
        [band.members[place] for place in outer], band.statements
    )


def _diagonal_arrangement(band: Band, loop_context: LoopContext) -> Arrangement:
    """Return the arrangement in which the last two members run along diagonals."""
    count = len(band.members)
    *others, first, second = band.members
    rows = tuple(map(combine_rows, first.rows, second.rows))
    inner = loop_context.inside_members(others, band.statements)
    members = (point_member(rows, coincident=False), point_member(first.rows, coincident=True))
    chosen = LoopRoles(vector=None, reduction=None, jammed=1)
    group = StatementGroup(band.statements, members, inner, (), chosen, is_diagonal=True)
    places = tuple(range(count))
    return Arrangement(places[:-2], places[-2:], (group,), is_diagonal=True)


def _with_scalar_replacement(arrangement: Arrangement, context: PlannerContext) -> Arrangement:
    """Find out what the groups hold in registers: not before an arrangement is of interest."""
    groups = tuple(with_scalar_replacement(group, context) for group in arrangement.groups)
    return replace(arrangement, groups=groups)


def _group_band(group: StatementGroup, child: Tree, context: PlannerContext) -> Band:
    """Return the innermost loops of a group, in their order, with their annotations."""
    annotations = annotations_of(group, context)
    members = ((group.members[k], annotations.get(k, ALONE)) for k in group.order)
    return Band(group.statements, tuple(with_annotation(*pair) for pair in members), child)


def _outer_members(count: int, last: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield which members may run outside the others: none, each alone, the first ones.

    Of those that have to run ``innermost`` only the first ones do, and with all others.

    >>> list(_outer_members(3))
    [(), (0,), (1,), (2,), (0, 1)]
    >>> list(_outer_members(3, (0,))), list(_outer_members(3, (2, 0, 1)))
    ([(), (1,), (2,), (1, 2)], [(), (2,), (2, 0)])
    """
    if last:
        others = tuple(place for place in range(count) if place not in last)
        first = [tuple(others[place] for place in member) for member in _outer_members(len(others))]
        behind = [(*others, *last[:size]) for size in range(len(last))]
        yield from dict.fromkeys((*first, *behind))
        return
    yield ()
    if count > 1:
        yield from ((place,) for place in range(count))
    yield from (tuple(range(size)) for size in range(2, count))


def _distributable_groups(band: Band) -> list[tuple[str, ...]]:
    """Return what may part ways below a band: its branches, or else each of its statements."""
    match band.child:
        case SequenceNode(branches):
            return [branch.statements for branch in branches]
        case _:
            return [(name,) for name in band.statements]


def is_recurrence(band: Band, loop_context: LoopContext) -> bool:
    """Whether a band without coincident members waits at its last one."""
    if len(band.members) < 2 or any(member.coincident for member in band.members):
        return False
    inside = loop_context.inside_members(band.members[:-1], band.statements)
    rows = band.members[-1].rows
    for pair in inside.pairs:
        source = rows[band.statements.index(pair.dependence.source)]
        sink = rows[band.statements.index(pair.dependence.sink)]
        names, distances = loop_context.parameters, TUNING.recurrence_distances
        if any(_has_full_dimension(pair, source, sink, names, near) for near in distances):
            return True
    return False


def _has_full_dimension(
    pair: DependencePairs,
    source: ScheduleRow,
    sink: ScheduleRow,
    parameters: tuple[str, ...],
    near: int,
) -> bool:
    """Whether the pairs at a distance have as many dimensions as the instances of the sink."""
    back = replace(sink, constant=sink.constant - near)
    points = pair.unordered_by(pair.distance(source, back, parameters)).points
    if points.is_empty():
        return False
    hull = points.remove_divs().affine_hull()
    fixed = sum(constraint.is_equality() for constraint in hull.get_constraints())
    depth = isl.Map(pair.dependence.relation).dim(isl.dim_type.out)
    return bool(hull.dim(isl.dim_type.set) - fixed >= depth)
