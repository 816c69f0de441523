"""Packing of tiles: what one tile reads again and again goes through a small turned copy.

::

    for jt, kt: for i: for j in jt (vectors): for k in kt: C[i][j] += A[i][k] * B[j][k]

        →   for jt, kt:
              for j in jt: for k in kt:    T[k - kt][j - jt] = B[j][k]
              for i: for j in jt (vectors): for k in kt:  C[i][j] += A[i][k] * T[k - kt][j - jt]

A copy of the whole array (:mod:`polygym.compiler.codegen.loops.pack`) is written to memory and read
back; one of a tile stays in the cache, and is the thread's own: it lives on its stack. But it may
be made anew for every tile of i, which costs as much as 16 products each time, while a whole copy
is made once: so tiles are packed that are needed in no more than two places.

It is made where the loops from there on inwards are a box: their bounds do not depend on each
other, and each subscript of the read is one of their counters plus something that they share. The
innermost place is taken at which the copy has a size that is known and small enough, at which no
loop inside runs in threads, and at which each element is read 16 times or more. Side condition, as
for whole arrays: nothing in this part of the program writes the array. Elements are copied only
where the loops inside run at all, and no condition stands between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from typing import assert_never

from polygym.compiler.codegen.loop_annotation import Hold, Jam, Parallel, Vector
from polygym.compiler.codegen.loops.index import coefficient, mentions
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
)
from polygym.compiler.codegen.loops.lanes import statements_in
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import around, chain, instances_alone, parts_of, spans
from polygym.compiler.codegen.loops.tiles import Tile, lengths_of
from polygym.compiler.codegen.packable import OFTEN, turned_dimension
from polygym.compiler.ir.expr import Access, replace_accesses
from polygym.compiler.ir.scop import Array, Statement

_MOST_TIMES = 2
_MOST_BYTES = 256 << 10
_MOST_ALTOGETHER = 512 << 10


class _Making:
    """What the walk adds to the program.

    ``waiting`` are loops that fill tiles, each with the loop around the walk before which they go.
    """

    def __init__(self, program: LoopProgram) -> None:
        scop = program.scop
        self.scop = scop
        self.guarded = frozenset(name for name, _ in program.guarded)
        self.names = Names(scop)
        self.arrays: list[Array] = []
        self.lengths: list[tuple[Index, ...]] = []
        self.statements: list[Statement] = []
        self.waiting: list[tuple[Loop, Node]] = []
        self._room = _MOST_ALTOGETHER

    def has_room(self, size: int) -> bool:
        """Whether so many bytes are left on the stack; they are taken if so."""
        if size > self._room:
            return False
        self._room -= size
        return True


def pack_tiles(program: LoopProgram) -> LoopProgram:
    """Return the program with the tiles of reads packed where that makes vectors contiguous."""
    making = _Making(program)
    body: list[Node] = []
    for part in parts_of(program.body):
        names = statements_in(part)
        written = frozenset(program.scop.statement(name).write.array for name in names)
        body.append(_walk(part, making, written))
    if not making.arrays:
        return program
    scop = replace(
        program.scop,
        arrays=(*program.scop.arrays, *making.arrays),
        statements=(*program.scop.statements, *making.statements),
    )
    extents = (*program.extents, *making.lengths)
    return replace(program, scop=scop, body=Block(tuple(body)), extents=extents)


def _walk(
    node: Node,
    making: _Making,
    written: frozenset[str],
    outer: tuple[Loop, ...] = (),
    certain: int = 0,
) -> Node:
    """Pack what can be packed in a node.

    ``outer`` are the loops around it; inside those from ``certain`` on there is no condition.
    """
    match node:
        case Block(children):
            return Block(tuple(_walk(child, making, written, outer, certain) for child in children))
        case Guard(condition, then, otherwise):
            here = len(outer)
            rest = None if otherwise is None else _walk(otherwise, making, written, outer, here)
            return Guard(condition, _walk(then, making, written, outer, here), rest)
        case Instance():
            return node
        case Loop():
            loops = chain(node)
            inside = loops[-1].body
            instances = instances_alone(inside)
            if instances is not None:
                return _packed(outer, loops, instances, making, written, certain)
            walked = _walk(inside, making, written, (*outer, *loops), certain)
            for loop in reversed(loops):
                walked = _filled_before(loop, replace(loop, body=walked), making)
            return walked
        case _:
            assert_never(node)


def _filled_before(loop: Loop, node: Node, making: _Making) -> Node:
    """Return a node, which is what became of a loop, after the tiles that are filled before it."""
    fills = tuple(fill for place, fill in making.waiting if place is loop)
    making.waiting = [(place, fill) for place, fill in making.waiting if place is not loop]
    return Block((*fills, node)) if fills else node


def _packed(
    outer: Sequence[Loop],
    nest: Sequence[Loop],
    instances: Sequence[Instance],
    making: _Making,
    written: frozenset[str],
    certain: int,
) -> Node:
    """Return the loops of a nest with tiles of what its instances read packed."""
    whole = around(nest, Block(tuple(instances)) if len(instances) > 1 else instances[0])
    vector = next((loop.variable for loop in nest if isinstance(loop.annotation, Vector)), None)
    if vector is None or len({one.statement for one in instances}) < len(instances):
        return whole
    tiles: dict[tuple[str, tuple[Index, ...]], tuple[int, Tile]] = {}
    found: list[Instance] = []
    for instance in instances:
        statement = making.scop.statement(instance.statement)
        redirected: dict[Access, Tile] = {}
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            if statement.name in making.guarded or access.array in written:
                continue
            if any(read.gathered for read in statement.reads):
                continue
            key = (access.array, subscripts)
            if key not in tiles:
                array = making.scop.array(access.array)
                fitting = _fitting(outer, nest, vector, array, subscripts, certain)
                if fitting is None:
                    continue
                place, loops, lengths = fitting
                if not making.has_room(prod(lengths) * array.type.size):
                    continue
                name = making.names.unused(f"{array.name}_tile")
                tiles[key] = (place, Tile(array, name, loops, lengths, subscripts))
            redirected[access] = tiles[key][1]
        found.append(_reading(instance, statement, redirected, making))
    if not tiles:
        return whole
    renamed = dict(
        zip((one.statement for one in instances), (one.statement for one in found), strict=True)
    )
    for place, tile in tiles.values():
        if place < 0:
            inner = (*outer[place:], *nest)
            making.waiting.append((outer[place], _filled(tile, inner, making)))
    return _assembled(nest, found, list(tiles.values()), renamed, making)


def _fitting(
    outer: Sequence[Loop],
    nest: Sequence[Loop],
    vector: str,
    array: Array,
    subscripts: tuple[Index, ...],
    certain: int,
) -> tuple[int, tuple[Loop, ...], tuple[int, ...]] | None:
    """Return where to copy a tile of a read, the loops over its dimensions, and its lengths.

    The place is that of a loop, counted from the first of the nest; those around it are negative.
    """
    steps = [coefficient(subscript, vector) for subscript in subscripts]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or turned_dimension(known) is None:
        return None
    loops_around = (*outer, *nest)
    for at in reversed(range(certain, len(loops_around))):
        inner = loops_around[at:]
        loops = _dimensions(inner, vector, subscripts)
        if loops is None or not _is_box(inner):
            continue
        if any(isinstance(loop.annotation, Jam | Vector) for loop in loops_around[:at]):
            continue  # its iterations run together, and there is one tile
        lengths = {loop.variable: _length(loop) for loop in inner}
        if not all(lengths.values()):
            continue  # unknown, or a loop that never runs
        sizes = tuple(lengths[loop.variable] or 0 for loop in loops)
        used = {loop.variable for loop in loops}
        if _times(loops_around[:at], loops, subscripts) > _MOST_TIMES:
            continue
        again = prod(length or 0 for name, length in lengths.items() if name not in used)
        if again < OFTEN or prod(sizes) * array.type.size > _MOST_BYTES:
            continue
        return at - len(outer), loops, lengths_of(loops, sizes, subscripts, array.type.size)
    return None


def _times(outer: Sequence[Loop], loops: Sequence[Loop], subscripts: Sequence[Index]) -> float:
    """Return how often loops around a tile have the same elements copied, at most."""
    needed = [*subscripts, *(bound for loop in loops for bound in (loop.lower, loop.upper))]
    times = 1.0
    for loop in reversed(outer):
        if any(mentions(index, loop.variable) for index in needed):
            needed += (loop.lower, loop.upper)
        else:
            times *= _length(loop) or inf
    return times


def _dimensions(
    inner: Sequence[Loop], vector: str, subscripts: tuple[Index, ...]
) -> tuple[Loop, ...] | None:
    """Return the loops whose counters the subscripts are, plus something that they share.

    The one that runs in vectors comes last.
    """
    found: list[Loop] = []
    for subscript in subscripts:
        own = [loop for loop in inner if mentions(subscript, loop.variable)]
        if not own:
            continue
        if len(own) > 1 or own[0] in found or coefficient(subscript, own[0].variable) != 1:
            return None
        found.append(own[0])
    if all(loop.variable != vector for loop in found) or len(found) < 2:
        return None
    return tuple(sorted(found, key=lambda loop: loop.variable == vector))


def _is_box(inner: Sequence[Loop]) -> bool:
    """Whether loops have bounds that do not depend on each other, and run in one thread."""
    return all(
        loop.step == 1
        and not isinstance(loop.annotation, Parallel)
        and not any(
            mentions(bound, other.variable) for bound in (loop.lower, loop.upper) for other in inner
        )
        for loop in inner
    )


def _length(loop: Loop) -> int | None:
    """Return how many iterations a loop has at most; None where that is not known."""
    found = [length + 1 for _, _, length in spans(loop)]
    return max(0, min(found)) if found else None


def _reading(
    instance: Instance, statement: Statement, tiles: Mapping[Access, Tile], making: _Making
) -> Instance:
    """Return an instance of a statement that reads from the copies."""
    if not tiles:
        return instance
    elsewhere = {
        access: Access(tile.name, access.relation, tile.name) for access, tile in tiles.items()
    }
    name = making.names.unused(f"{statement.name}_packed")
    body = replace_accesses(statement.body, elsewhere)
    making.statements.append(replace(statement, name=name, body=body))
    reads = tuple(
        tiles[access].place if access in tiles else subscripts
        for access, subscripts in zip(statement.reads, instance.reads, strict=True)
    )
    return replace(instance, statement=name, reads=reads)


def _assembled(
    nest: Sequence[Loop],
    instances: Sequence[Instance],
    tiles: Sequence[tuple[int, Tile]],
    renamed: Mapping[str, str],
    making: _Making,
) -> Node:
    """Return the nest with the copies made in their places."""
    node: Node = Block(tuple(instances)) if len(instances) > 1 else instances[0]
    for place in reversed(range(len(nest))):
        loop = nest[place]
        if isinstance(loop.annotation, Hold):
            held = frozenset(renamed.get(name, name) for name in loop.annotation.statements)
            loop = replace(loop, annotation=Hold(held))
        node = replace(loop, body=node)
        made = [_filled(tile, nest[place:], making) for at, tile in tiles if at == place]
        if made:
            node = Block((*made, node))
    return node


def _filled(tile: Tile, inner: Sequence[Loop], making: _Making) -> Node:
    """Return the loops that fill a copy; declare it, and the statement that copies an element."""
    making.arrays.append(tile.declared)
    making.lengths.append(tuple(Number(length) for length in tile.lengths))
    statement = tile.copying(making.names)
    making.statements.append(statement)
    return tile.filled(inner, statement, making.names)
