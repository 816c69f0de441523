"""Packing of tiles: what one tile reads again and again goes through a small turned copy.

::

    for jt, kt: for i: for j in jt (vectors): for k in kt: C[i][j] += A[i][k] * B[j][k]

        →   for jt, kt:
              for j in jt: for k in kt:    T[k - kt][j - jt] = B[j][k]
              for i: for j in jt (vectors): for k in kt:  C[i][j] += A[i][k] * T[k - kt][j - jt]

A copy of the whole array (:mod:`polygym.codegen.transforms.array_packing`) is written to memory and
read back; one of a tile stays in the cache, and is the thread's own: it lives on its stack. But it
may be made anew for every tile of i, which costs as much as 16 products each time, while a whole
copy is made once: so tiles are packed that are needed in no more than two places.

Which tiles are packed, and where, is planned before anything is changed
(:mod:`polygym.codegen.transforms.tile_packing_plan`). Here the plans are carried out, nest by nest,
and the copies put before the loops that they were planned for. Elements are copied only where the
loops inside run at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from polygym.codegen.common.loop_annotation import ScalarReplacement
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.nests import only_instances, perfect_nest, sequence_parts, wrap_in_loops
from polygym.codegen.transforms.packed_tiles import PackedTile
from polygym.codegen.transforms.tile_packing_plan import (
    LoopNest,
    NestPlan,
    innermost_nests,
    plan_tiles,
)
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement


@dataclass(frozen=True, slots=True)
class TileFill:
    """A tile, and the loops that fill it before the loop number ``depth`` of those around.

    In them run these ``statements``.
    """

    depth: int
    tile: PackedTile
    statements: tuple[Statement, ...]
    loops: ir.Node


@dataclass(frozen=True, slots=True)
class PackedNest:
    """What became of a nest: the ``node``, statements that read from ``fills``, and these.

    Copies that are made outside of the nest wait for the loop that they stand before.
    """

    node: ir.Node
    redirected_statements: tuple[Statement, ...]
    fills: tuple[TileFill, ...]


def pack_tiles(program: ir.LoopProgram) -> ir.LoopProgram:
    """Return the program with the tiles of reads packed where that makes vectors contiguous."""
    plans = plan_tiles(program)
    if not any(plan.tiles for plan in plans):
        return program
    names = CodegenNames(program.scop)
    made = [
        _pack_nest(nest, plan, program.scop, names)
        for nest, plan in zip(innermost_nests(program), plans, strict=True)
    ]
    return with_packed_nests(program, made)


def with_packed_nests(program: ir.LoopProgram, made: Sequence[PackedNest]) -> ir.LoopProgram:
    """Return a program with what became of its nests, which are in their order in the text."""
    left = iter(made)
    body = ir.Block(tuple(_insert_fills(part, left, 0)[0] for part in sequence_parts(program.body)))
    copies = [copy for packed in made for copy in packed.fills]
    arrays = tuple(copy.tile.array_declaration for copy in copies)
    statements: list[Statement] = []
    for packed in made:
        statements += packed.redirected_statements
        statements += (statement for copy in packed.fills for statement in copy.statements)
    lengths = (tuple(map(ir.IndexConstant, copy.tile.lengths)) for copy in copies)
    return program.extended(body, arrays, lengths, statements)


def _insert_fills(
    node: ir.Node, made: Iterator[PackedNest], depth: int
) -> tuple[ir.Node, tuple[TileFill, ...]]:
    """Return a node with its nests packed, and the copies that wait for loops further out.

    ``made`` has what became of the nests, in their order in the text; ``depth`` loops are around.
    """
    match node:
        case ir.Block() | ir.Guard() | ir.Instance():
            waiting: list[TileFill] = []

            def inside_of(part: ir.Node) -> ir.Node:
                packed, copies = _insert_fills(part, made, depth)
                waiting.extend(copies)
                return packed

            return ir.map_children(node, inside_of), tuple(waiting)
        case ir.Loop():
            loops = perfect_nest(node)
            inside = loops[-1].body
            if only_instances(inside) is not None:
                packed = next(made)
                return packed.node, tuple(copy for copy in packed.fills if copy.depth < depth)
            walked, fills = _insert_fills(inside, made, depth + len(loops))
            for place in reversed(range(len(loops))):
                walked = fill_before(replace(loops[place], body=walked), depth + place, fills)
            return walked, tuple(copy for copy in fills if copy.depth < depth)
        case _:
            assert_never(node)


def fill_before(node: ir.Node, depth: int, copies: Sequence[TileFill]) -> ir.Node:
    """Return the loop number ``depth`` after the tiles that are filled before it."""
    fills = tuple(copy.loops for copy in copies if copy.depth == depth)
    return ir.Block((*fills, node)) if fills else node


def _pack_nest(nest: LoopNest, plan: NestPlan, scop: Scop, names: CodegenNames) -> PackedNest:
    """Carry out the plan of a nest."""
    if not plan.tiles:
        return PackedNest(wrap_in_loops(nest.loops, ir.block_of(nest.instances)), (), ())
    tiles = []
    for tile in plan.tiles:
        name = names.fresh(f"{tile.array.name}_tile")
        tiles.append(PackedTile(tile.array, name, tile.loops, tile.lengths, tile.subscripts))
    redirected = [
        _redirect_reads(instance, [None if k is None else tiles[k] for k in numbers], scop, names)
        for instance, numbers in zip(nest.instances, plan.reads, strict=True)
    ]
    instances = tuple(instance for instance, _ in redirected)
    reading = tuple(statement for _, statement in redirected if statement is not None)
    # Those outside of the nest first, the others from the inside out.
    border = len(nest.outer)
    order = sorted(range(len(tiles)), key=lambda k: -max(plan.tiles[k].depth, border - 1))
    order.sort(key=lambda k: plan.tiles[k].depth >= border)
    copies = tuple(_tile_fill(plan.tiles[k].depth, tiles[k], nest, names) for k in order)
    pairs = zip(nest.instances, instances, strict=True)
    renamed = {before.statement: after.statement for before, after in pairs}
    node = ir.block_of(instances)
    for place in reversed(range(len(nest.loops))):
        loop = replace(with_renamed_registers(nest.loops[place], renamed), body=node)
        node = fill_before(loop, border + place, copies)
    return PackedNest(node, reading, copies)


def _tile_fill(depth: int, tile: PackedTile, nest: LoopNest, names: CodegenNames) -> TileFill:
    """Return a tile with the loops that fill it."""
    statement = tile.copy_statement(names)
    loops = tile.fill_loops(nest.all_loops[depth:], statement, names)
    return TileFill(depth, tile, (statement,), loops)


def with_renamed_registers(loop: ir.Loop, renamed: dict[str, str]) -> ir.Loop:
    """Return a loop that holds what the statements by their new names write."""
    if not isinstance(loop.annotation, ScalarReplacement):
        return loop
    held = frozenset(renamed.get(name, name) for name in loop.annotation.statements)
    return replace(loop, annotation=ScalarReplacement(held))


def _redirect_reads(
    instance: ir.Instance, tiles: Sequence[PackedTile | None], scop: Scop, names: CodegenNames
) -> tuple[ir.Instance, Statement | None]:
    """Return an instance that reads from copies, and its statement; None where it stays one."""
    if not any(tiles):
        return instance, None
    statement = scop.statement(instance.statement)
    elsewhere = {
        access: Access(tile.name, access.relation, tile.name)
        for access, tile in zip(statement.reads, tiles, strict=True)
        if tile is not None
    }
    name = names.fresh(f"{statement.name}_packed")
    body = replace_accesses(statement.body, elsewhere)
    reads = tuple(
        subscripts if tile is None else tile.copy_subscripts
        for subscripts, tile in zip(instance.reads, tiles, strict=True)
    )
    return replace(instance, statement=name, reads=reads), replace(statement, name=name, body=body)
