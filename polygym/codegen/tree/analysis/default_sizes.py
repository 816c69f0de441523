"""The default mapping of one band: tile sizes and copies from caches, registers and roles.

A band in which something is held (a matrix product, say) is tiled so that what the inner loops read
again stays near: the held loop runs over K points and the vector loop over N, and K·N elements fill
half of the level 2 cache; the jammed loop's tiles are small, since they are shared out among
threads, but where it is known how long that loop is (:func:`enlarged_row_tiles`). The block of
copies c·v (c jammed iterations of v vectors) fills the vector registers but for v + 1, which hold
the operands: with 32 registers 8·3 accumulators, with 16 registers 4·3. Sums whose terms have
several such operands, as A·Bᵀ + B·Aᵀ, need more for these (:func:`operand_registers`).

A band in which no member is coincident is a stencil in time: it is tiled in all members, smaller in
the outer ones, and its tiles run along wavefronts. Those of the first loop of space are larger
where the loop is long enough for all threads. Other bands are tiled only when at least two
members have reads that stay where they are, without which a tile holds nothing that is used again.

Bands whose rows are steeper than those of any useful skewing, 17k + 10j + 6i say, are not tiled:
the tiles would be slivers, and their loops take isl minutes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from polygym.codegen.tree.analysis.access_strides import StrideKind
from polygym.codegen.tree.analysis.loop_roles import LoopRoles, StrideTable
from polygym.codegen.tree.ir import BandMember
from polygym.mapping.machine import Machine
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """How many iterations run together: of the jammed loop, and vectors of the vector loop."""

    unroll_jam: int
    vector_copies: int


def operand_registers(streams: int, vectors: int) -> int:
    """Return how many registers a block needs beside its sums.

    Each of s ``streams``, reads of which all rows use the same v vectors, has v of them and one for
    its products; those of several streams wait for each other, in one more.

    Example, 32 registers and 8 rows: C[i][j] += A[i][k] * B[k][j] has one stream, and with three
    vectors 24 sums and 4 operands. C[i][j] += A[i][k] * B[j][k] + B[i][k] * A[j][k] has two, and
    would need 24 + 9 with three; with two it needs 16 + 7.

    >>> [operand_registers(streams, vectors) for streams, vectors in ((1, 3), (2, 3), (2, 2))]
    [4, 9, 7]
    """
    return streams * (vectors + 1) + (1 if streams > 1 else 0)


def default_block(
    roles: LoopRoles,
    statements: int,
    machine: Machine,
    *,
    rows_share: bool = False,
    rows_add: bool = False,
    only_sums: bool = False,
    streams: int = 1,
) -> RegisterBlock:
    """Return how many copies keep the registers busy without spilling them.

    Jammed rows that ``rows_share`` much of what they read, as those of a stencil in which r rows
    load r + 2 vectors in place of 3·r, are eight where there are registers for them. Where
    ``rows_add`` to the same vectors, as in y[j] += A[i][j] * x[i] along j, r rows load and store a
    vector of y once in place of r times, and as many rows of A are on their way from a cache at a
    time; each needs one register, for x[i]. (Rows of 2,000 doubles from the level 3 cache, twelve
    beside four: 1.3 to 1.8 times as fast.) Several ``only_sums`` of lines of each row run in eight
    rows, which LLVM makes vectors of. ``streams`` are as for :func:`operand_registers`.
    """
    if roles.reduction is None and roles.vector is None:
        return RegisterBlock(8 if statements == 1 else 4, 1)  # a diagonal: chains to overlap
    if roles.reduction is None and rows_add and statements == 1:
        return RegisterBlock(12 if machine.registers >= 32 else 8, 1)
    if roles.reduction is None:
        rows = 8 if rows_share and machine.registers >= 32 else 4
        return RegisterBlock(rows if statements == 1 else 2, 1)
    if roles.vector is None:
        is_large = statements == 1 or (only_sums and machine.registers >= 32)
        return RegisterBlock(8 if is_large else 4, 1)
    rows = 8 if machine.registers >= 32 else 4
    if statements > 1:
        return RegisterBlock(max(2, rows // 2), 1)
    free = machine.registers
    fits = (v for v in (3, 2) if rows * v + operand_registers(streams, v) <= free)
    return RegisterBlock(rows, next(fits, 1))


@lru_cache(maxsize=4096)
def reduction_block(
    rows: int,
    columns: int,
    width: int,
    machine: Machine,
    *,
    shared: bool = True,
    most: int = TUNING.max_vectors,
    spare: int = 0,
    load: float = 0.0,
    streams: int = 1,
) -> RegisterBlock:
    """Return the block of sums in registers for so many rows to jam and columns along vectors.

    Every step of the sum loads a vector for each of v vectors and spreads one element for each of r
    rows, two of these in a cycle, and adds r·v products, two in a cycle as well, each four cycles
    after the one before it in the same sum. So a block takes max(r·v / 2, (r + v) / 2, 4) cycles,
    and the best one is that with which all blocks together take the fewest, the largest among
    equals. It needs r·v registers and those of its :func:`operand_registers`.

    Where the vectors are not ``shared`` among the rows, since each sums up lines of its own, r·v of
    them are loaded, and one block of all columns is better than several of more rows.

    There are at ``most`` so many vectors, ``spare`` registers are left alone, and the ``load`` of a
    vector that comes from farther away takes so many cycles.

    >>> reduction_block(4, 54, 16, Machine(registers=32))
    RegisterBlock(unroll_jam=4, vector_copies=4)
    >>> reduction_block(1, 54, 16, Machine(registers=32))
    RegisterBlock(unroll_jam=1, vector_copies=4)
    >>> reduction_block(64, 64, 16, Machine(registers=32))
    RegisterBlock(unroll_jam=8, vector_copies=2)
    >>> reduction_block(64, 64, 16, Machine(registers=32), shared=False)
    RegisterBlock(unroll_jam=4, vector_copies=4)
    >>> reduction_block(56, 64, 8, Machine()), reduction_block(56, 64, 8, Machine(), spare=3)
    (RegisterBlock(unroll_jam=4, vector_copies=3), RegisterBlock(unroll_jam=4, vector_copies=2))
    """
    choices = [
        RegisterBlock(r, v)
        for v in range(1, min(most, max(1, -(-columns // width))) + 1)
        for r in range(1, TUNING.max_rows + 1)
        if r <= max(rows, 1) and r * v + operand_registers(streams, v) + spare <= machine.registers
    ]

    def cost(block: RegisterBlock) -> tuple[float, int]:
        cycles = block_cycles(block, rows, columns, width, shared=shared, load=load)
        return cycles, -block.unroll_jam * block.vector_copies

    return min(choices, key=cost)


def block_cycles(
    copies: RegisterBlock,
    rows: int,
    columns: int,
    width: int,
    *,
    shared: bool = True,
    load: float = 0.0,
) -> float:
    """Return how many cycles a step of the sums takes in all blocks of a size together.

    >>> block_cycles(RegisterBlock(5, 2), 5, 32, 16), block_cycles(RegisterBlock(16, 1), 32, 5, 16)
    (5.0, 17.0)
    """

    def step(r: int, v: int) -> float:
        vectors = v if shared else r * v
        return max(r * v / 2, (r + vectors) / 2, 4, load * vectors)

    whole, rest = divmod(columns, width * copies.vector_copies)
    left = -(-rest // width)
    total = 0.0
    jammed = copies.unroll_jam
    for height, times in ((jammed, rows // jammed), (1, rows % jammed)):
        blocks = whole * step(height, copies.vector_copies) + (step(height, left) if left else 0)
        total += times * blocks
    return total


def store_cycles(rows: int, columns: int, width: int, *, scattered: bool) -> float:
    """Return how many cycles it takes to store all sums: a line each, or element by element."""
    return rows * -(-columns // width) * (width if scattered else 2)


def small_reduction_block(
    rows: int, columns: int, width: int, machine: Machine, *, shared: bool, streams: int = 1
) -> RegisterBlock | None:
    """Return the block for sums with fewer rows or columns than a tile; None where there are more.

    Of large sums every block but the last ones is whole, whatever its shape.
    """
    if rows >= TUNING.parallel_tile and columns >= 2 * TUNING.parallel_tile:
        return None
    rows, columns = min(rows, TUNING.parallel_tile), min(columns, 2 * TUNING.parallel_tile)
    return reduction_block(rows, columns, width, machine, shared=shared, streams=streams)


def default_tile_sizes(
    members: Sequence[BandMember],
    table: StrideTable,
    roles: LoopRoles,
    element: int,
    machine: Machine,
    *,
    rewarding: bool,
) -> tuple[int, ...]:
    """Return a tile size for every member; 1 for those that stay whole.

    ``rewarding`` says whether the points of a band without coincident members run in vectors or
    along diagonals: tiles only cost where they do not.
    """
    count = len(members)
    if any(_is_steeply_skewed(member) for member in members):
        return (1,) * count
    if count > 1 and not any(member.coincident for member in members):
        if not rewarding:
            return (1,) * count
        return TUNING.stencil_tiles.get(count, (*(8,) * (count - 2), 16, 256))
    reusing = sum(any(StrideKind.ZERO in moves.reads for moves in row.values()) for row in table)
    if count < 2 or reusing < 2:
        return (1,) * count
    if roles.reduction is None or roles.vector is None:
        return (1,) * count if count < 3 else (TUNING.default_tile,) * count
    wide = max(64, machine.level_2 // 2 // (TUNING.reduction_tile * element) // 64 * 64)
    sizes = [TUNING.default_tile] * count
    sizes[roles.vector], sizes[roles.reduction] = wide, TUNING.reduction_tile
    if roles.jammed is not None:
        sizes[roles.jammed] = TUNING.parallel_tile
    return tuple(sizes)


def larger_stencil_tiles(sizes: tuple[int, ...], width: int, threads: int) -> tuple[int, ...]:
    """Return the tile sizes of a stencil with larger tiles in its first loop of space.

    More steps of time run in these, and threads meet less often. Each thread has two of them beside
    each other at the least, of the ``width`` that the loop has at one time.

    >>> larger_stencil_tiles((16, 32, 256), 1298, 2), larger_stencil_tiles((16, 32, 256), 248, 4)
    ((16, 64, 256), (16, 32, 256))
    """
    most = TUNING.larger_stencil_tiles.get(len(sizes), 0)
    share = width // (2 * threads) // 8 * 8
    return (sizes[0], max(sizes[1], min(most, share)), *sizes[2:])


def skewed_stencil_tiles(sizes: tuple[int, ...], element: int, machine: Machine) -> tuple[int, ...]:
    """Return the tile sizes of a stencil along diagonals, shorter where its copies need room.

    ``element`` are the bytes that all arrays have for a point. With t steps of time, s and r points
    a copy has about r + s + 3 t rows of s + t points and a few, of half a level 2 cache at most, or
    256 KB (:mod:`polygym.codegen.recurrences.skewed_copies.plan`).

    >>> [skewed_stencil_tiles((16, 64, 256), element, Machine()) for element in (8, 16)]
    [(16, 64, 256), (16, 64, 64)]
    """
    if len(sizes) != 3 or min(sizes) == 1:
        return sizes
    steps, second, last = sizes
    room = min(256 << 10, machine.level_2 // 2)

    def needed() -> int:
        return (last + second + 3 * steps) * (second + steps + 8) * element

    while needed() > room and last > TUNING.min_skewed_tile:
        last //= 2
    while needed() > room and second > TUNING.min_skewed_tile // 2:
        second //= 2
    return steps, second, last


def enlarged_row_tiles(
    sizes: tuple[int, ...], roles: LoopRoles, length: int, threads: int, *, are_even: bool
) -> tuple[int, ...]:
    """Return larger tiles in the jammed member of a product, of which so many iterations exist.

    Every tile of rows has all that is read along the columns come from further away, while what a
    tile of columns reads stays near as long as there are rows to meet it: 256 of them use what 64
    use, four times as often. (Products of 800 to 1200 rows, doubles, one thread beside other work:
    1.1 to 1.25 times as fast.) Where ``threads`` share the rows each gets as many tiles as the
    others, two or more, if all rows ``are_even``, have the same work; else tiles stay small.

    >>> roles = LoopRoles(vector=1, reduction=2, jammed=0)
    >>> [
    ...     enlarged_row_tiles((64, 128, 256), roles, length, threads, are_even=True)[0]
    ...     for length, threads in ((1000, 1), (1000, 2), (800, 2), (1000, 8), (40, 1))
    ... ]
    [256, 256, 200, 64, 64]
    """
    rows = roles.jammed
    if rows is None or len(sizes) != 3 or min(sizes) == 1 or not (are_even or threads == 1):
        return sizes
    share = -(-length // threads)
    tiles = max(1 if threads == 1 else 2, -(-share // TUNING.max_parallel_tile))
    size = -(-share // tiles // 8) * 8
    return tuple(max(own, size) if place == rows else own for place, own in enumerate(sizes))


def whole_row_tiles(
    sizes: tuple[int, ...],
    roles: LoopRoles,
    lengths: Sequence[int],
    element: int,
    machine: Machine,
    threads: int,
) -> tuple[int, ...]:
    """Leave the jammed member of a tiled sum whole where it is short and there are many columns.

    Every tile of rows needs all that is read along the columns, and copies it where it has to be
    turned. With C[128, 16384] += A[128, k] * B[16384, k] that is nearly all there is to read: two
    tiles of 64 rows would read and turn B twice, and the columns are enough to share out among
    threads. What the rows read has to stay in the cache meanwhile.
    """
    rows, columns = roles.jammed, roles.vector
    if rows is None or columns is None or roles.reduction is None:
        return sizes
    length, many = lengths[rows], TUNING.min_tiles_per_thread * threads * sizes[columns]
    fits = length * TUNING.reduction_tile * element <= machine.level_2 // 2
    if min(sizes) == 1 or not fits or lengths[columns] < many:
        return sizes
    return tuple(max(size, length) if k == rows else size for k, size in enumerate(sizes))


def outer_tile_sizes(members: Sequence[BandMember]) -> tuple[int, ...]:
    """Return tile sizes for a band above further loops: for a wavefront, else none."""
    waits = not any(member.coincident for member in members)
    if len(members) < 2 or not waits or any(_is_steeply_skewed(member) for member in members):
        return (1,) * len(members)
    return (TUNING.default_tile,) * len(members)


def _is_steeply_skewed(member: BandMember) -> bool:
    return any(sum(map(abs, row.iterators)) > TUNING.max_skew for row in member.rows)
