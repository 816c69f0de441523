"""Decision for one statement with independent loops around the loops of its sum.

Four decisions, each of which needs those before it:

1. *holding*: whether the element stays in a register through all loops of the sum; what is summed
   up otherwise is not taken;
2. *vectors*: which independent loop runs in vectors, the way with the fewest cycles
   (:mod:`polygym.codegen.tree.analysis.vector_choice`); without one nothing is gained;
3. *copies*: how many of its vectors, and of the iterations of another loop, run together, where
   what the sum reads for one block has to stay in the level 2 cache;
4. *tiles*: of how many elements along the vectors everything is done before the next ones, where
   the vectors are needed again and all of them together do not stay in that cache.

Example, O[o, x] += I[i, x + p] * W[o, i, p], held through i and p: x runs in vectors, o is jammed;
with 64 channels i, 3 taps p and two vectors of 64 bytes, a block reads 64·3·128 bytes, 24 KB: fits.
If o runs in vectors, each x needs the same of W: with 512 of o, 256 channels and 9 taps 4.7 MB,
which come from far away for every x, or once, if 8 of o (74 KB) do all x before the next 8 begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from polygym.codegen.common.loop_annotation import LoopAnnotation
from polygym.codegen.tree.analysis.access_strides import AccessStrides, StrideKind
from polygym.codegen.tree.analysis.default_sizes import RegisterBlock
from polygym.codegen.tree.analysis.loop_roles import StrideTable, assign_roles
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.scalar_replacement import replaceable
from polygym.codegen.tree.analysis.vector_choice import (
    ReadFootprint,
    ReductionShape,
    VectorChoice,
    choose_vector_loop,
)
from polygym.codegen.tree.inner_loops.register_blocking import apply_requested, make_annotations
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.ir.scop import Statement
from polygym.mapping.sizes import element_count
from polygym.poly.schedule import ScheduleRow


@dataclass(frozen=True)
class ReductionNest:
    """The loops of one statement: independent ones, those around all others, those of its sum.

    ``reduction_members`` is empty for a statement that sums up nothing, one that sets elements to
    zero, say.
    """

    statement: str
    free_members: tuple[BandMember, ...]
    outer_members: tuple[BandMember, ...]
    reduction_members: tuple[BandMember, ...]


@dataclass(frozen=True)
class ReductionChoice:
    """What was decided for a statement: whether it is held, which loops have annotations.

    ``annotations`` are by the position of independent loops, of which ``reloading_loops`` are those
    that need the same vectors in every iteration; ``tile_sizes`` are sizes for some.
    """

    loops: ReductionNest
    is_replaced: bool
    annotations: dict[int, LoopAnnotation]
    reloading_members: frozenset[int]
    tile_sizes: dict[int, int]


def choose_reduction(
    loops: ReductionNest, loop_context: LoopContext, context: PlannerContext
) -> ReductionChoice | None:
    """Return what a statement does; None where its element is not held, or nothing is gained."""
    assert context.sizes is not None
    name = (loops.statement,)
    members = (*loops.free_members, *loops.reduction_members)
    around = (member.rows[0] for member in loops.outer_members)
    outer = (*loop_context.rows[loops.statement], *around)
    moves = context.access_strides(name, {loops.statement: outer}, members)
    is_held = _is_replaceable(loops, outer, moves, context)
    if loops.reduction_members and not is_held:
        return None
    reach = context.trip_counts(name, members, loop_context)
    count, terms = len(loops.free_members), prod(reach[len(loops.free_members) :])
    own = tuple(row[loops.statement] for row in moves[:count])
    statement = context.scop.statement(loops.statement)
    summed = [row[loops.statement] for row in moves[count:]]
    touched = _footprints(statement, summed, reach[count:], context)
    bytes_ = context.vector_bits // 8
    shape = ReductionShape(statement, own, reach[:count], terms, is_held, bytes_, touched)
    choice = _vector_choice(shape, loops, moves, context)
    if choice is None:
        return None
    number = apply_requested(choice.copies, context)
    if number.vector_copies > shape.vectors_in_cache(context.machine):
        return None
    given = make_annotations(choice.vector, choice.jammed, number, context.vector_bits)
    again = shape.reloading_loops(choice.vector)
    tiles = _vector_tiles(shape, choice, number, again, context)
    return ReductionChoice(loops, is_held, given, again, tiles)


def _footprints(
    statement: Statement,
    summed: Sequence[AccessStrides],
    lengths: Sequence[int],
    context: PlannerContext,
) -> tuple[ReadFootprint, ...]:
    """Return what each read of a statement touches in the loops of its sum, and its array."""
    assert context.sizes is not None
    result = []
    for read, access in enumerate(statement.reads):
        array = context.scop.array(access.array)
        moving = zip(summed, lengths, strict=True)
        column = prod(n for moves, n in moving if moves.reads[read] is not StrideKind.ZERO)
        every = element_count(array, context.sizes)
        result.append(ReadFootprint(column * array.type.size, every * array.type.size))
    return tuple(result)


def _is_replaceable(
    loops: ReductionNest, outer: Sequence[ScheduleRow], moves: StrideTable, context: PlannerContext
) -> bool:
    """Whether the element is the same in all loops of the sum, and nothing else touches it."""
    name = loops.statement
    standing = {name: (*outer, *(member.rows[0] for member in loops.free_members))}
    return (
        bool(loops.reduction_members)
        and all(row[name].write is StrideKind.ZERO for row in moves[len(loops.free_members) :])
        and bool(replaceable(context.scop, (name,), (name,), standing))
    )


def _vector_choice(
    shape: ReductionShape, loops: ReductionNest, moves: StrideTable, context: PlannerContext
) -> VectorChoice | None:
    """Return which independent loop runs in vectors and which in copies; None for no vectors."""
    usual = assign_roles(
        (*loops.free_members, *loops.reduction_members), moves, has_vectors=True, registers=True
    ).vector
    return choose_vector_loop(
        shape,
        usual if usual is not None and usual < len(loops.free_members) else None,
        [member.coincident for member in loops.free_members],
        context.lanes((loops.statement,)),
        context.machine,
    )


def _vector_tiles(
    shape: ReductionShape,
    choice: VectorChoice,
    copies: RegisterBlock,
    again: frozenset[int],
    context: PlannerContext,
) -> dict[int, int]:
    """Return a tile size for the loop in vectors, where these are turned and needed again.

    It is one block, doubled as long as a quarter of the cache holds what is read for it and every
    thread has a tile; where there are more threads than blocks, there are no tiles.
    """
    block = copies.vector_copies * context.lanes((shape.statement.name,))
    read = shape.column * copies.vector_copies  # for a block
    along, cache = shape.lengths[choice.vector], context.machine.level_2
    is_again = any(shape.lengths[place] > 1 for place in again)
    is_turned = bool(shape.access_strides[choice.vector].transposed_reads)
    if not (is_turned and is_again) or read * along // block <= cache // 2:
        return {}
    most = along // context.mapping.threads
    if context.mapping.is_parallel and block > most:
        return {}
    size = block
    while 2 * size <= most and 2 * size // block * read <= cache // 4:
        size *= 2
    return {choice.vector: size}
