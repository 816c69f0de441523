"""Terms of a sum that need nothing of their tile: they run before it, as a product.

Where the terms of a sum may be taken in any order, they need not wait until their element has been
set out upon, nor for each other; what they read has to be complete, no more. In tiles of a band
that is so for most of them::

    for i downwards: for j upwards:                        (tiles a of i, b of j)
      S: t[i][j] = max(t[i][j], t[i][j - 1])
      T: for i < k < j:  t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j])

    Band(a, b) → Band(i, j) → Sequence{ S; T: Band(k) }
        →   Band(a, b) → Sequence{ where nothing of tile c of k is of tile (a, b):
                                       T: Band(c) → Band(i, j: vector, k: held)
                                   S, and T of the other c: Band(i, j) → Sequence{ S; T: Band(k) } }

With tiles of 32, all t[i][k] are complete before the tile begins if k is in another tile than j,
and all t[k + 1][j] if k + 1 is in another tile than i. So T for a tile c strictly between is a
product of two blocks, but for the operator: vectors, copies, its element in a register. What is
left are the two c at the ends, a few hundredths of all where there are many tiles.

*Which terms.* Let E map an instance to the values of all loops around, tiles included, and let C
be the pairs that have to keep their order (:mod:`polygym.codegen.common.reduction_order`). Late
is what waits for something in its own tile,

    L = { t : s → t in C, E(s) = E(t) },

and with N the numbers of tiles, that of k too, the terms with numbers in F = N(T) - N(L) run first.

Side condition: that the terms may be taken in any order: of integers always, of floats under
``reassociate=on``. For then, within one tile, nothing that has to run before one of F runs at all,
and what has to run after one of F does, since F comes first. Between tiles nothing changes. Among
themselves the terms of F keep the order that they have, which only those of one element need.

It is done at known sizes, for one statement of a band, the only one of its loop along the sum.
"""

from dataclasses import dataclass, replace

import islpy as isl

from polygym.codegen.common.reduction_order import ordering_conflicts, reorderable_reductions
from polygym.codegen.tree.analysis.access_strides import StrideKind
from polygym.codegen.tree.analysis.loop_roles import assign_roles
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.tile_coordinates import (
    TileCoordinates,
    floor_texts,
    separating_conditions,
)
from polygym.codegen.tree.inner_loops.arrangement import Arrangement, distributed_arrangement
from polygym.codegen.tree.ir import (
    Band,
    BandMember,
    FlooredRow,
    Leaf,
    TilePredicate,
    loop_path,
    restrict_member,
)
from polygym.codegen.tree.loop_context import LoopContext
from polygym.mapping.sizes import at_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.schedule import ScheduleRow


@dataclass(frozen=True)
class EarlyTermsCandidate:
    """Statement ``name`` of a band, the loop of its sum, and similar ``reductions``."""

    name: str
    reduction_member: BandMember
    reductions: frozenset[str]


@dataclass(frozen=True)
class EarlyTerms:
    """What is done with terms that need nothing of their tile.

    They run in ``tiles``, a loop over those along the sum, and in the points of the ``band`` inside
    as arranged under a ``context``. ``early_predicate`` tells them from the others;
    ``late_predicate`` is the same for all statements.
    """

    band: Band
    tiles: BandMember
    arrangement: Arrangement
    early_predicate: TilePredicate
    late_predicate: TilePredicate
    context: PlannerContext


def early_terms_candidate(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> EarlyTermsCandidate | None:
    """Return a sum below a band that would be a product if its terms had nothing to wait for."""
    if not context.mapping.is_tiled:
        return None
    return context.memoized(
        "terms", band, loop_context, lambda own: _early_terms_candidate(band, loop_context, own)
    )


def _early_terms_candidate(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> EarlyTermsCandidate | None:
    mapping, scop = context.mapping, context.scop
    if context.sizes is None or not (context.has_vectors and mapping.scalar_replacement):
        return None
    if mapping.order or len(band.members) < 2:
        return None
    for name in band.statements:
        below = loop_path(band.child, name)
        is_sum = scop.statement(name).accumulator_reads and len(below) == 1
        if not is_sum or not any(below[0].rows[0].iterators):
            continue
        sums = reorderable_reductions(scop, name, reassociate=mapping.reassociate)
        if sums and _is_product(_point_members(band, name, below[0]), name, loop_context, context):
            return EarlyTermsCandidate(name, below[0], sums)
    return None


def find_early_terms(
    band: Band,
    terms: EarlyTermsCandidate,
    level: tuple[BandMember, ...],
    size: int,
    loop_context: LoopContext,
    context: PlannerContext,
) -> EarlyTerms | None:
    """Return which terms run before their tile, and how; None where they are few.

    ``level`` are the loops over tiles around the band, ``size`` is that of tiles along the sum.
    """
    scop, name, sizes = context.scop, terms.name, context.sizes
    assert sizes is not None
    context = _with_narrow_vectors(size, name, context)
    (row,) = terms.reduction_member.rows
    along = BandMember((FlooredRow((row,), size),), coincident=False)
    if context.trip_count((name,), along, loop_context) < TUNING.min_early_tiles:
        return None
    place = band.statements.index(name)
    numbers = tuple(dict.fromkeys(part for member in level for part in member.terms))
    own = (*(FlooredRow((part.rows[place],), part.size) for part in numbers), *along.terms)
    alone = Band((name,), _point_members(band, name, terms.reduction_member), Leaf())
    tiles = TileCoordinates(scop, alone, own, loop_context.parameters, sizes)
    inside = tiles.tiles_of(name)
    late = tiles.tiles_of_points(name, _late_terms(band, terms, numbers, loop_context, context))
    conditions = separating_conditions(inside.subtract(late).coalesce(), {name: inside})
    if not conditions or tiles.is_empty_where(name, conditions):
        return None
    below = _tile_context(band, terms, loop_context)
    alone = replace(alone, members=below.with_coincidence(alone.members, (name,)))
    arrangement = distributed_arrangement(alone, below, context)
    if arrangement is None or not any(
        group.roles.has_all_roles and group.replaced_statements for group in arrangement.groups
    ):
        return None
    parameters = (0,) * len(loop_context.parameters)
    depths = {statement: scop.statement(statement).depth for statement in band.statements}
    rows = [
        row if statement == name else ScheduleRow((0,) * depth, parameters, 0)
        for statement, depth in depths.items()
    ]
    where = TilePredicate(own, conditions, statement=name, reductions=terms.reductions)
    every = (*numbers, FlooredRow(tuple(rows), size))
    rest = replace(where, tile_coordinates=every, is_complement=True)
    return EarlyTerms(alone, along, arrangement, where, rest, context)


def _with_narrow_vectors(size: int, name: str, context: PlannerContext) -> PlannerContext:
    """Return the setting with as many vectors at once as a tile has."""
    if context.mapping.vector_copies is not None:
        return context
    most = max(1, size // context.lanes((name,)))
    copies = min(TUNING.max_early_vectors, most)
    return context.with_mapping(replace(context.mapping, vector_copies=copies))


def _point_members(band: Band, name: str, along: BandMember) -> tuple[BandMember, ...]:
    """Return the loops over points around a term, as if they had nothing to wait for."""
    own = (restrict_member(band_member, band.statements, (name,)) for band_member in band.members)
    return (*(replace(member, coincident=True) for member in own), along)


def _is_product(
    members: tuple[BandMember, ...], name: str, loop_context: LoopContext, context: PlannerContext
) -> bool:
    moves = context.access_strides((name,), loop_context.rows, members)
    last = len(members) - 1
    if moves[last][name].write is not StrideKind.ZERO:
        return False
    chosen = assign_roles(members, moves, has_vectors=True, registers=True)
    return chosen.has_all_roles and chosen.reduction == last


def _tile_context(band: Band, terms: EarlyTermsCandidate, loop_context: LoopContext) -> LoopContext:
    """Return what surrounds free terms: there is nothing to order but those of one element."""
    own = loop_context.for_branch((terms.name,))
    members = [restrict_member(member, band.statements, (terms.name,)) for member in band.members]
    inside = own.inside_members(members, (terms.name,))
    return replace(own, pairs=inside.pairs, is_parallel=True)


def _late_terms(
    band: Band,
    terms: EarlyTermsCandidate,
    numbers: tuple[FlooredRow, ...],
    loop_context: LoopContext,
    context: PlannerContext,
) -> isl.Set:
    """Return the terms that wait for something in their own tile."""
    scop = context.scop

    def there(name: str) -> isl.Map:
        """Return the map from instances to the values of all loops around the tile's points."""
        statement, place = scop.statement(name), band.statements.index(name)
        parts = [(row, 1) for row in loop_context.rows[name]]
        parts += [(part.rows[place], part.size) for part in numbers]
        values = floor_texts(parts, statement.iterators, loop_context.parameters, context.sizes)
        return isl.Map(f"{{ {name}[{', '.join(statement.iterators)}] -> [{values}] }}")

    own = there(terms.name)
    late = isl.Set.empty(own.domain().get_space())
    for source, sink, pairs in ordering_conflicts(scop, frozenset({terms.reductions})):
        if sink != terms.name or source not in band.statements:
            continue
        together = there(source).apply_range(own.reverse())
        late = late.union(at_sizes(pairs, context.sizes).intersect(together).range())
    return late
