"""Factors that all vectors of a sum share are computed once, and kept in a tile.

::

    for i (jammed): for j (vectors): for k (held):  C[i][j] += alpha * A[i][k] * B[k][j]

        →   for b by 8:
              for k: for i in b .. b + 7:             T[k][i - b] = alpha * A[i][k]
              for i in b .. b + 7: for j: for k:      C[i][j] += T[k][i - b] * B[k][j]

The product alpha · A[i][k] is the same for every block of vectors, and is computed and spread to
all lanes again for each. An element of a tile is spread as it is loaded, and those of the rows
that run together are neighbours there. (Products of matrices of 1000 to 1200 rows: 1.1 to 1.3 times
as fast in one thread.)

A tile has as many rows as fill a line of the cache, and 256 terms of 8 rows of doubles stay in the
level 1 cache. What is read along the sum is copied first, which turns it in registers, and then
computed with where it is. If the rows that run together are no part of a line (three, say), or
another loop stands around theirs, there is one tile for all rows.

Which factors these are says :mod:`polygym.compiler.codegen.loops.shared_factors`. The result is the
same bit for bit.

A tile is made before the loops that it depends on and inside of all others, where its size is known
and small. It is computed for all iterations of its own loops, so that all elements that it reads
have to be inside their arrays whether the loops between run or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from polygym.compiler.codegen.common.loop_annotation import (
    SEQUENTIAL,
    Hold,
    Jam,
    LoopAnnotation,
    Parallel,
    Vector,
)
from polygym.compiler.codegen.common.packable import LINE, OFTEN, spare
from polygym.compiler.codegen.loops.index import coefficient, mentions
from polygym.compiler.codegen.loops.ir import (
    Block,
    Index,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
)
from polygym.compiler.codegen.loops.lanes import is_vectorisable
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import around, in_strips
from polygym.compiler.codegen.loops.shared_factors import Factor, factors_of, is_shared
from polygym.compiler.codegen.loops.steady import Place
from polygym.compiler.codegen.loops.tile_pack import (
    Copy,
    Packed,
    filled_before,
    holding,
    with_copies,
)
from polygym.compiler.codegen.loops.tile_plan import (
    MOST_ALTOGETHER,
    MOST_BYTES,
    Nest,
    iterations,
    nests_in,
)
from polygym.compiler.codegen.loops.tiles import Tile
from polygym.compiler.ir.expr import (
    Access,
    Binary,
    Expression,
    Load,
    Unary,
    walk,
)
from polygym.compiler.ir.scop import Statement, Storage
from polygym.errors import Place as SourcePlace


@dataclass(frozen=True, slots=True)
class _Planned:
    """A factor's tile: its loops, and their lengths, before loop number ``depth``.

    It is one of so many rows ``together``, each time, or of all of them where that is 0.
    """

    factor: Factor
    depth: int
    loops: tuple[Loop, ...]
    lengths: tuple[int, ...]
    together: int

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return prod(self.lengths) * self.factor.value.type.size


def compute_tiles(program: LoopProgram) -> LoopProgram:
    """Return the program with the shared factors of its sums in tiles."""
    nests = tuple(nests_in(program))
    scop = program.scop
    room = MOST_ALTOGETHER
    for array, extents in zip(scop.arrays, program.extents, strict=True):
        if array.storage is Storage.TILE:
            lengths = [one.value for one in extents if isinstance(one, Number)]
            room -= prod(lengths) * array.type.size
    plans: list[_Planned | None] = []
    for nest in nests:
        found = _planned(nest, program)
        if found is not None and found.size > room:
            found = None
        room -= 0 if found is None else found.size
        plans.append(found)
    if not any(plans):
        return program
    names = Names(scop)
    made = [_made(nest, one, program, names) for nest, one in zip(nests, plans, strict=True)]
    return with_copies(program, made)


def _planned(nest: Nest, program: LoopProgram) -> _Planned | None:
    """Return the tile of a nest's factor; None where it has none, or none that pays."""
    if len(nest.instances) != 1 or not isinstance(nest.loops[-1].annotation, Hold):
        return None
    kinds = {type(loop.annotation): loop for loop in nest.loops}
    vector, jammed = kinds.get(Vector), kinds.get(Jam)
    if vector is None or jammed is None:
        return None
    (instance,) = nest.instances
    if any(name == instance.statement for name, _ in program.guarded):
        return None
    statement = program.scop.statement(instance.statement)
    for factor in factors_of(statement):
        if is_shared(factor, statement, instance, nest, vector.variable):
            found = _tile(factor, instance, nest, program)
            if found is not None:
                return found
    return None


def _tile(factor: Factor, instance: Instance, nest: Nest, program: LoopProgram) -> _Planned | None:
    """Return the tile of a factor, made before the loops whose iterations run together.

    Rows that run together are its last dimension.
    """
    subscripts = [index for number in factor.reads for index in instance.reads[number]]
    depth = next(
        place
        for place, loop in enumerate(nest.loops)
        if isinstance(loop.annotation, Jam | Vector | Hold)
    ) + len(nest.outer)
    inner = nest.around[depth:]
    loops = tuple(
        sorted(
            (one for one in inner if any(mentions(index, one.variable) for index in subscripts)),
            key=lambda loop: isinstance(loop.annotation, Jam),
        )
    )
    bounds = [bound for loop in loops for bound in (loop.lower, loop.upper)]
    if depth < nest.certain or any(
        loop.step != 1
        or isinstance(loop.annotation, Parallel)
        or any(mentions(bound, loop.variable) for bound in bounds)
        for loop in inner
    ):
        return None
    counts = {loop.variable: iterations(loop) for loop in inner}
    if not all(counts.values()):
        return None
    again = prod(n or 0 for name, n in counts.items() if name not in {o.variable for o in loops})
    size = factor.value.type.size
    *others, row = (counts[loop.variable] or 0 for loop in loops)
    together = _together(loops[-1], row, size) if loops[-1] is inner[0] else 0
    row = together or row
    whole = -(-row * size // LINE) * LINE // size
    if together:
        others = [_in_blocks(length, LINE // size) for length in others]
    found = _Planned(factor, depth, loops, (*others, whole + spare(whole, size)), together)
    if again < OFTEN or found.size > MOST_BYTES:
        return None
    return found if _are_inside(found, instance, nest, program) else None


def _together(rows: Loop, count: int, size: int) -> int:
    """Return how many of so many rows fill a line of a tile; 0 where one tile has all of them.

    A line is 8 rows of doubles, or 16 of floats: two blocks of 8 that run together.
    """
    if not isinstance(rows.annotation, Jam):
        return 0
    copies, line = rows.annotation.copies, LINE // size
    own = copies if copies % line == 0 else line
    return own if own % copies == 0 and own < count else 0


def _in_blocks(length: int, block: int) -> int:
    """Return a length as whole blocks; less than one stays what it is."""
    return -(-length // block) * block if length > block else length


def _are_inside(found: _Planned, instance: Instance, nest: Nest, program: LoopProgram) -> bool:
    """Whether all that a tile is computed from is known to be inside of its arrays."""
    scop = program.scop
    statement = scop.statement(instance.statement)
    names = tuple(parameter.name for parameter in scop.parameters)
    sizes = None if program.sizes is None else dict(program.sizes)
    place = Place(nest.around[: found.depth], nest.conditions, names, sizes)
    arrays = {array.name: number for number, array in enumerate(scop.arrays)}
    return all(
        place.are_in(
            program.extents[arrays[statement.reads[number].array]],
            instance.reads[number],
            found.loops,
        )
        for number in found.factor.reads
    )


def _made(nest: Nest, found: _Planned | None, program: LoopProgram, names: Names) -> Packed:
    """Return what becomes of a nest."""
    if found is None:
        return Packed(around(nest.loops, _inside(nest.instances)), (), ())
    (instance,) = nest.instances
    statement = program.scop.statement(instance.statement)
    reads = found.factor.reads
    one = next(statement.reads[number] for number in reads if instance.reads[number])
    strips: Loop | None = None
    if found.together:
        rows = found.loops[-1]
        strips, rows = in_strips(rows, found.together, names.unused(f"{rows.variable}_strip"))
        found = replace(found, loops=(*found.loops[:-1], rows))
    tile = _tile_of(found, one, program, names)
    copy = _filling(found, tile, nest, program, names)
    name = names.unused(f"{statement.name}_packed")
    read = Load(Access(tile.name, one.relation, tile.name), tile.array.type)
    body = _with(statement.body, found.factor.value, read)
    before, after = instance.reads[: reads.start], instance.reads[reads.stop :]
    inside: Node = replace(instance, statement=name, reads=(*before, tile.place, *after))
    for place in reversed(range(len(nest.loops))):
        depth = place + len(nest.outer)
        loop = found.loops[-1] if strips and depth == found.depth else nest.loops[place]
        loop = holding(loop, {statement.name: name})
        inside = filled_before(replace(loop, body=inside), depth, [copy])
        if strips and depth == found.depth:
            inside = replace(strips, body=inside)
    return Packed(inside, (replace(statement, name=name, body=body),), (copy,))


def _tile_of(found: _Planned, one: Access, program: LoopProgram, names: Names) -> Tile:
    """Return a tile, named after one of the arrays that its factor is computed from."""
    array = replace(program.scop.array(one.array), type=found.factor.value.type)
    return Tile(array, names.unused(f"{one.array}_term"), found.loops, found.lengths, ())


def _filling(found: _Planned, tile: Tile, nest: Nest, program: LoopProgram, names: Names) -> Copy:
    """Return a tile with the loops that fill it: that copy to it, and that compute its elements."""
    (instance,) = nest.instances
    place = program.scop.statement(instance.statement).place
    reads = tuple(instance.reads[number] for number in found.factor.reads)
    value, number = found.factor.value, _turned(found, reads)
    if number is None:
        statement = _computing(tile, tile.name, value, place)
        return Copy(found.depth, tile, (statement,), _filled(tile, nest, statement, reads))
    read = _loads(value)[number]
    array = program.scop.array(read.access.array)
    own = replace(tile, array=array, subscripts=reads[number])
    copying = own.copying(names)
    here = Load(Access(tile.name, read.access.relation, tile.name), tile.array.type)
    name = names.unused(f"{tile.name}_value")
    statement = _computing(tile, name, _with(value, read, here), place)
    after = (*reads[:number], tile.place, *reads[number + 1 :])
    loops = (own.filled((), copying, names), _filled(tile, nest, statement, after))
    return Copy(found.depth, tile, (copying, statement), Block(loops))


def _turned(found: _Planned, reads: Sequence[tuple[Index, ...]]) -> int | None:
    """Return which one read goes along the sum where rows are far apart; None where none does."""
    if not found.together:
        return None
    value, along, rows = found.factor.value, found.loops[-2], found.loops[-1]
    far = [
        number
        for number, subscripts in enumerate(reads)
        if any(mentions(index, rows.variable) for index in subscripts[:-1])
    ]
    every = _loads(value)
    if len(far) != 1 or len({*map(id, every)}) < len(every):
        return None
    *others, last = reads[far[0]]
    is_row = coefficient(last, along.variable) == 1 and not mentions(last, rows.variable)
    if not is_row or any(mentions(index, along.variable) for index in others):
        return None
    return far[0] if every[far[0]].type is value.type else None


def _loads(value: Expression) -> list[Load]:
    """Return the reads of a factor in their order."""
    return [node for node in walk(value) if isinstance(node, Load)]


def _computing(tile: Tile, name: str, value: Expression, place: SourcePlace) -> Statement:
    """Return the statement that computes an element of a tile."""
    corner = ", ".join("0" for _ in tile.loops)  # instances say where an element goes
    return Statement(
        name,
        (),
        f"{{ {name}[] }}",
        Access(tile.name, f"{{ {name}[] -> {tile.name}[{corner}] }}", tile.name),
        value,
        f"{tile.name} = ...",
        place,
    )


def _filled(
    tile: Tile, nest: Nest, statement: Statement, reads: tuple[tuple[Index, ...], ...]
) -> Node:
    """Return the loops that compute a tile, the last of them in vectors where that can be."""
    node: Node = Instance(statement.name, (), tile.place, reads)
    for loop in reversed(tile.loops):
        annotation: LoopAnnotation = SEQUENTIAL
        if loop is tile.loops[-1] and _runs_in_vectors(loop, reads, statement):
            bits = (one.annotation.bits for one in nest.loops if isinstance(one.annotation, Vector))
            annotation = Vector(next(bits), 1)
        node = replace(loop, body=node, annotation=annotation)
    return node


def _inside(instances: Sequence[Instance]) -> Node:
    return Block(tuple(instances)) if len(instances) > 1 else instances[0]


def _runs_in_vectors(loop: Loop, reads: Sequence[tuple[Index, ...]], statement: Statement) -> bool:
    """Whether what a tile is computed from are neighbours along a loop, or the same."""
    steps = [[coefficient(index, loop.variable) for index in one] for one in reads]
    return is_vectorisable(statement) and all(
        not any(one[:-1]) and one[-1] in (0, 1) for one in steps if one
    )


def _with(body: Expression, old: Expression, new: Expression) -> Expression:
    """Return a body with one of its factors replaced, the one that is this object."""
    if body is old:
        return new
    match body:
        case Binary():
            return replace(body, left=_with(body.left, old, new), right=_with(body.right, old, new))
        case Unary():
            return replace(body, operand=_with(body.operand, old, new))
        case _:
            return body
