"""What one statement does with independent loops around the loops of its sum.

Four decisions, each of which needs those before it:

1. *holding*: whether the element stays in a register through all loops of the sum; what is summed
   up otherwise is not taken;
2. *vectors*: which independent loop runs in vectors, the way with the fewest cycles
   (:mod:`polygym.compiler.codegen.trees.vector_choice`); without one nothing is gained;
3. *copies*: how many of its vectors, and of the iterations of another loop, run together, where
   what the sum reads for one block has to stay in the level 2 cache;
4. *tiles*: of how many elements along the vectors everything is done before the next ones, where
   the vectors are needed again and all of them together do not stay in that cache.

Example, O[o, x] += I[i, x + p] * W[o, i, p], held through i and p: x runs in vectors, o is jammed;
with 64 channels i, 3 taps p and two vectors of 64 bytes, a block reads 64·3·128 bytes, 24 KB: fits.
If o runs in vectors, each x needs the same of W: with 512 of o, 256 channels and 9 taps 4.7 MB,
which come from far away for every x, or once, if 8 of o (74 KB) do all x before the next 8 begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from polygym.compiler.codegen.common.loop_annotation import LoopAnnotation
from polygym.compiler.codegen.common.sizes import elements_of
from polygym.compiler.codegen.trees.copy_choice import as_asked, given_to
from polygym.compiler.codegen.trees.hold import holdable
from polygym.compiler.codegen.trees.model import Copies
from polygym.compiler.codegen.trees.moves import Move, Moves
from polygym.compiler.codegen.trees.roles import Table, roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.codegen.trees.trips import lengths
from polygym.compiler.codegen.trees.vector_choice import Footprint, Sum, VectorChoice, best_choice
from polygym.compiler.ir.scop import Statement
from polygym.compiler.poly.schedule import Row


@dataclass(frozen=True)
class SumLoops:
    """The loops of one statement: independent ones, those around all others, those of its sum.

    ``summed`` is empty for a statement that sums up nothing, one that sets elements to zero, say.
    """

    statement: str
    free: tuple[Member, ...]
    outer: tuple[Member, ...]
    summed: tuple[Member, ...]


@dataclass(frozen=True)
class SumChoice:
    """What was decided for a statement: whether it is held, which loops have annotations.

    ``annotations`` are by the position of independent loops, of which ``again`` are those that need
    the same vectors in every iteration; ``tiles`` are sizes for some.
    """

    loops: SumLoops
    is_held: bool
    annotations: dict[int, LoopAnnotation]
    again: frozenset[int]
    tiles: dict[int, int]


def sum_choice(loops: SumLoops, around: Surroundings, setting: Setting) -> SumChoice | None:
    """Return what a statement does; None where its element is not held, or nothing is gained."""
    assert setting.sizes is not None
    name = (loops.statement,)
    members = (*loops.free, *loops.summed)
    outer = (*around.rows[loops.statement], *(member.rows[0] for member in loops.outer))
    moves = setting.moves(name, {loops.statement: outer}, members)
    is_held = _is_held(loops, outer, moves, setting)
    if loops.summed and not is_held:
        return None
    reach = lengths(setting.scop, name, members, around.parameters, setting.sizes)
    count, terms = len(loops.free), prod(reach[len(loops.free) :])
    own = tuple(row[loops.statement] for row in moves[:count])
    statement = setting.scop.statement(loops.statement)
    summed = [row[loops.statement] for row in moves[count:]]
    touched = _footprints(statement, summed, reach[count:], setting)
    bytes_ = setting.vector_bits // 8
    found = Sum(statement, own, reach[:count], terms, is_held, bytes_, touched)
    choice = _vector_choice(found, loops, moves, setting)
    if choice is None:
        return None
    number = as_asked(choice.copies, setting)
    if number.vector_copies > found.fitting(setting.machine):
        return None
    given = given_to(choice.vector, choice.jammed, number, setting.vector_bits)
    again = found.again(choice.vector)
    return SumChoice(loops, is_held, given, again, _tiles(found, choice, number, again, setting))


def _footprints(
    statement: Statement, summed: Sequence[Moves], lengths: Sequence[int], setting: Setting
) -> tuple[Footprint, ...]:
    """Return what each read of a statement touches in the loops of its sum, and its array."""
    assert setting.sizes is not None
    found = []
    for read, access in enumerate(statement.reads):
        array = setting.scop.array(access.array)
        moving = zip(summed, lengths, strict=True)
        column = prod(n for moves, n in moving if moves.reads[read] is not Move.SAME)
        every = elements_of(array, setting.sizes)
        found.append(Footprint(column * array.type.size, every * array.type.size))
    return tuple(found)


def _is_held(loops: SumLoops, outer: Sequence[Row], moves: Table, setting: Setting) -> bool:
    """Whether the element is the same in all loops of the sum, and nothing else touches it."""
    name = loops.statement
    standing = {name: (*outer, *(member.rows[0] for member in loops.free))}
    return (
        bool(loops.summed)
        and all(row[name].write is Move.SAME for row in moves[len(loops.free) :])
        and bool(holdable(setting.scop, (name,), (name,), standing))
    )


def _vector_choice(
    found: Sum, loops: SumLoops, moves: Table, setting: Setting
) -> VectorChoice | None:
    """Return which independent loop runs in vectors and which in copies; None for no vectors."""
    usual = roles((*loops.free, *loops.summed), moves, has_vectors=True, registers=True).vector
    return best_choice(
        found,
        usual if usual is not None and usual < len(loops.free) else None,
        [member.coincident for member in loops.free],
        setting.lanes((loops.statement,)),
        setting.machine,
    )


def _tiles(
    found: Sum, choice: VectorChoice, number: Copies, again: frozenset[int], setting: Setting
) -> dict[int, int]:
    """Return a tile size for the loop in vectors, where these are turned and needed again.

    It is one block, doubled as long as a quarter of the cache holds what is read for it and every
    thread has a tile; where there are more threads than blocks, there are no tiles.
    """
    block = number.vector_copies * setting.lanes((found.statement.name,))
    read = found.column * number.vector_copies  # for a block
    along, cache = found.lengths[choice.vector], setting.machine.level_2
    is_again = any(found.lengths[place] > 1 for place in again)
    if not found.moves[choice.vector].turned or not is_again or read * along // block <= cache // 2:
        return {}
    most = along // setting.mapping.threads
    if setting.mapping.shares and block > most:
        return {}
    size = block
    while 2 * size <= most and 2 * size // block * read <= cache // 4:
        size *= 2
    return {choice.vector: size}
