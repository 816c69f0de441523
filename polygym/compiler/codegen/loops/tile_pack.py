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

Which tiles are packed, and where, is planned before anything is changed
(:mod:`polygym.compiler.codegen.loops.tile_plan`). Here the plans are carried out, nest by nest, and
the copies put before the loops that they were planned for. Elements are copied only where the loops
inside run at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from polygym.compiler.codegen.common.loop_annotation import Hold
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
)
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import around, chain, instances_alone, parts_of
from polygym.compiler.codegen.loops.tile_plan import Nest, NestPlan, nests_in, planned_tiles
from polygym.compiler.codegen.loops.tiles import Tile
from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.replacing import replace_accesses
from polygym.compiler.ir.scop import Scop, Statement


@dataclass(frozen=True, slots=True)
class Copy:
    """A tile, and the loops that fill it before the loop number ``depth`` of those around.

    In them run these ``statements``.
    """

    depth: int
    tile: Tile
    statements: tuple[Statement, ...]
    loops: Node


@dataclass(frozen=True, slots=True)
class Packed:
    """What became of a nest: the ``node``, statements that read from ``copies``, and these.

    Copies that are made outside of the nest wait for the loop that they stand before.
    """

    node: Node
    reading: tuple[Statement, ...]
    copies: tuple[Copy, ...]


def pack_tiles(program: LoopProgram) -> LoopProgram:
    """Return the program with the tiles of reads packed where that makes vectors contiguous."""
    plans = planned_tiles(program)
    if not any(plan.tiles for plan in plans):
        return program
    names = Names(program.scop)
    made = [
        _packed(nest, plan, program.scop, names)
        for nest, plan in zip(nests_in(program), plans, strict=True)
    ]
    return with_copies(program, made)


def with_copies(program: LoopProgram, made: Sequence[Packed]) -> LoopProgram:
    """Return a program with what became of its nests, which are in their order in the text."""
    left = iter(made)
    body = Block(tuple(_inserted(part, left, 0)[0] for part in parts_of(program.body)))
    copies = [copy for packed in made for copy in packed.copies]
    arrays = tuple(copy.tile.declared for copy in copies)
    statements = tuple(
        statement
        for packed in made
        for statement in (
            *packed.reading,
            *(statement for copy in packed.copies for statement in copy.statements),
        )
    )
    scop = replace(
        program.scop,
        arrays=(*program.scop.arrays, *arrays),
        statements=(*program.scop.statements, *statements),
    )
    lengths = (tuple(Number(length) for length in copy.tile.lengths) for copy in copies)
    return replace(program, scop=scop, body=body, extents=(*program.extents, *lengths))


def _inserted(node: Node, made: Iterator[Packed], depth: int) -> tuple[Node, tuple[Copy, ...]]:
    """Return a node with its nests packed, and the copies that wait for loops further out.

    ``made`` has what became of the nests, in their order in the text; ``depth`` loops are around.
    """
    match node:
        case Block(children):
            found = [_inserted(child, made, depth) for child in children]
            waiting = tuple(copy for _, copies in found for copy in copies)
            return Block(tuple(child for child, _ in found)), waiting
        case Guard(condition, then, otherwise):
            then, waiting = _inserted(then, made, depth)
            if otherwise is None:
                return Guard(condition, then, None), waiting
            otherwise, more = _inserted(otherwise, made, depth)
            return Guard(condition, then, otherwise), (*waiting, *more)
        case Instance():
            return node, ()
        case Loop():
            loops = chain(node)
            inside = loops[-1].body
            if instances_alone(inside) is not None:
                packed = next(made)
                return packed.node, tuple(copy for copy in packed.copies if copy.depth < depth)
            walked, waiting = _inserted(inside, made, depth + len(loops))
            for place in reversed(range(len(loops))):
                walked = filled_before(replace(loops[place], body=walked), depth + place, waiting)
            return walked, tuple(copy for copy in waiting if copy.depth < depth)
        case _:
            assert_never(node)


def filled_before(node: Node, depth: int, copies: Sequence[Copy]) -> Node:
    """Return the loop number ``depth`` after the tiles that are filled before it."""
    fills = tuple(copy.loops for copy in copies if copy.depth == depth)
    return Block((*fills, node)) if fills else node


def _packed(nest: Nest, plan: NestPlan, scop: Scop, names: Names) -> Packed:
    """Carry out the plan of a nest."""
    if not plan.tiles:
        return Packed(around(nest.loops, _inside(nest.instances)), (), ())
    tiles = [
        Tile(
            one.array,
            names.unused(f"{one.array.name}_tile"),
            one.loops,
            one.lengths,
            one.subscripts,
        )
        for one in plan.tiles
    ]
    found = [
        _reading(instance, [None if k is None else tiles[k] for k in numbers], scop, names)
        for instance, numbers in zip(nest.instances, plan.reads, strict=True)
    ]
    instances = tuple(instance for instance, _ in found)
    reading = tuple(statement for _, statement in found if statement is not None)
    # Those outside of the nest first, the others from the inside out.
    border = len(nest.outer)
    order = sorted(range(len(tiles)), key=lambda k: -max(plan.tiles[k].depth, border - 1))
    order.sort(key=lambda k: plan.tiles[k].depth >= border)
    copies = tuple(_copy(plan.tiles[k].depth, tiles[k], nest, names) for k in order)
    renamed = {
        before.statement: after.statement
        for before, after in zip(nest.instances, instances, strict=True)
    }
    node = _inside(instances)
    for place in reversed(range(len(nest.loops))):
        loop = replace(holding(nest.loops[place], renamed), body=node)
        node = filled_before(loop, border + place, copies)
    return Packed(node, reading, copies)


def _inside(instances: Sequence[Instance]) -> Node:
    return Block(tuple(instances)) if len(instances) > 1 else instances[0]


def _copy(depth: int, tile: Tile, nest: Nest, names: Names) -> Copy:
    """Return a tile with the loops that fill it."""
    statement = tile.copying(names)
    return Copy(depth, tile, (statement,), tile.filled(nest.around[depth:], statement, names))


def holding(loop: Loop, renamed: dict[str, str]) -> Loop:
    """Return a loop that holds what the statements by their new names write."""
    if not isinstance(loop.annotation, Hold):
        return loop
    held = frozenset(renamed.get(name, name) for name in loop.annotation.statements)
    return replace(loop, annotation=Hold(held))


def _reading(
    instance: Instance, tiles: Sequence[Tile | None], scop: Scop, names: Names
) -> tuple[Instance, Statement | None]:
    """Return an instance that reads from copies, and its statement; None where it stays one."""
    if not any(tiles):
        return instance, None
    statement = scop.statement(instance.statement)
    elsewhere = {
        access: Access(tile.name, access.relation, tile.name)
        for access, tile in zip(statement.reads, tiles, strict=True)
        if tile is not None
    }
    name = names.unused(f"{statement.name}_packed")
    body = replace_accesses(statement.body, elsewhere)
    reads = tuple(
        subscripts if tile is None else tile.place
        for subscripts, tile in zip(instance.reads, tiles, strict=True)
    )
    return replace(instance, statement=name, reads=reads), replace(statement, name=name, body=body)
