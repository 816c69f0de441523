"""Packing: reads that vectors find far apart go to a turned copy of the array, made beforehand.

::

    for i, j by 8, k:                         for j, k:  B[k][j] = A[j][k]
      C[i][j ..] += A[i][k] * A[j ..][k]  →   for i, j by 8, k:
                                                C[i][j ..] += A[i][k] * B[k][j ..]

Side conditions: nothing writes the array in the part of the program that reads it
(:mod:`polygym.codegen.common.packing_candidates`), and along the lanes one subscript grows by 1
that is not the last, the others not at all. The result has one array and one statement more; the
array lives on the heap while the kernel runs. It is filled before the first part that reads from
it, and again before one that does so after the original has been written. The copy is made in
blocks of what is contiguous on either side, so that of both whole cache lines are used, and in
parallel if there are threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import islpy as isl

from polygym.codegen.common.loop_annotation import (
    SEQUENTIAL_LOOP,
    LoopAnnotation,
    ParallelLoop,
    ScalarReplacement,
)
from polygym.codegen.common.packing_candidates import (
    PackingCandidates,
    dimension_to_transpose,
    row_padding,
    transposed_order,
)
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, coefficient, minimum
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.nests import constant_spans, sequence_parts
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.transforms.packed_tiles import copy_statement
from polygym.codegen.transforms.vectorization import statements_in
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_values import isl_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _PackedArray:
    """A copy of an array: its dimensions in another order.

    ``counters`` are the names of loops over its dimensions, ``blocks`` of loops over blocks;
    ``row_padding`` is how many elements its rows are longer than they need to be.
    """

    array: Array
    order: tuple[int, ...]
    name: str
    counters: tuple[str, ...]
    blocks: tuple[str, ...]
    padding: int

    @property
    def is_transposed(self) -> bool:
        """Whether the order of the dimensions is another one."""
        return self.order != tuple(sorted(self.order))

    def padded_extents(self, extents: tuple[ir.Index, ...]) -> tuple[ir.Index, ...]:
        """Return the sizes of the copy: rows have some elements to spare."""
        *others, last = self.permuted(extents)
        return (*others, add_constant(last, self.padding))

    def permuted(self, entries: tuple[T, ...]) -> tuple[T, ...]:
        """Return what belongs to the dimensions in the order of the copy."""
        return tuple(entries[place] for place in self.order)


def pack_arrays(program: ir.LoopProgram) -> ir.LoopProgram:
    """Carry out the packing of every read for which it makes vectors contiguous."""
    scop = program.scop
    parts = tuple(sequence_parts(program.body))
    packing = PackingCandidates(scop, program.sizes, tuple(map(statements_in, parts)))
    extents = dict(zip((array.name for array in scop.arrays), program.extents, strict=True))
    wanted = _packable_reads(packing, program.body, extents)
    if not wanted:
        return program
    copies: dict[tuple[str, int], _PackedArray] = {}
    redirected: dict[str, dict[Access, _PackedArray]] = {}
    names = CodegenNames(scop)
    for (statement, access), dimension in wanted.items():
        key = (access.array, dimension)
        if key not in copies:
            array = scop.array(access.array)
            name = names.fresh(f"{array.name}_packed")
            places = range(array.rank)
            copies[key] = _PackedArray(
                array,
                transposed_order(dimension, array.rank),
                name,
                tuple(names.fresh(f"{name}_{place}") for place in places),
                tuple(names.fresh(f"{name}_{place}_block") for place in places),
                _row_padding(extents[array.name][dimension], array),
            )
        redirected.setdefault(statement, {})[access] = copies[key]
    statements = tuple(
        _read_from_copies(statement, redirected.get(statement.name, {}))
        for statement in scop.statements
    )
    made = list(copies.values())
    # The dynamic or static of a parallel loop does not matter here: all blocks cost the same.
    annotation = ParallelLoop(is_dynamic=False) if program.threads > 1 else SEQUENTIAL_LOOP
    nests = {copy.name: _copy_nest(copy, extents[copy.array.name], annotation) for copy in made}
    redirected_program = replace(program, scop=replace(scop, statements=statements))
    return redirected_program.extended(
        ir.Block(tuple(_with_fills(parts, nests, scop, redirected))),
        map(_declared_copy, made),
        [copy.padded_extents(extents[copy.array.name]) for copy in made],
        [
            copy_statement(copy.array, copy.name, copy.counters, copy.permuted(copy.counters))
            for copy in made
        ],
    )


def _with_fills(
    parts: Sequence[ir.Node],
    nests: Mapping[str, ir.Node],
    scop: Scop,
    redirected: Mapping[str, Mapping[Access, _PackedArray]],
) -> Iterator[ir.Node]:
    """Yield the parts, each after the loops that fill those of its copies that are not up to date.

    ``nests`` are these loops by the copy's name.
    """
    filled: dict[str, _PackedArray] = {}
    for part in parts:
        names = sorted(statements_in(part))
        for copy in (copy for name in names for copy in redirected.get(name, {}).values()):
            if copy.name not in filled:
                filled[copy.name] = copy
                yield nests[copy.name]
        yield _redirect_reads(part, scop, redirected)
        written = {scop.statement(name).write.array for name in names}
        filled = {name: copy for name, copy in filled.items() if copy.array.name not in written}


def _row_padding(row: ir.Index, array: Array) -> int:
    """Return how many elements longer the rows of a copy are to be; 0 at unknown sizes."""
    return row_padding(row.value, array.type.size) if isinstance(row, ir.IndexConstant) else 0


def _packable_reads(
    packing: PackingCandidates, body: ir.Node, extents: Mapping[str, tuple[ir.Index, ...]]
) -> dict[tuple[str, Access], int]:
    """Return the reads to be packed, by statement, with the dimension that moves along the lanes.

    A read that wants different dimensions in different places, or is contiguous in some, is left.
    """
    result: dict[tuple[str, Access], set[int | None]] = {}
    for instance, sums in _vector_instances(body):
        statement = packing.scop.statement(instance.statement)
        assert instance.lanes is not None
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            if not packing.allows(statement, access):
                continue
            steps = [coefficient(subscript, instance.lanes.variable) for subscript in subscripts]
            if not any(steps):  # an element that all lanes share is as good in either
                continue
            known = [step for step in steps if step is not None]
            dimension = dimension_to_transpose(known) if len(known) == len(steps) else None
            array = packing.scop.array(access.array)
            is_crowded = _row_padding(extents[array.name][-1], array) > 0
            if is_crowded and _goes_down_rows(known, subscripts, sums):
                dimension = array.rank - 1
            result.setdefault((statement.name, access), set()).add(dimension)
    return {
        key: dimension
        for key, dimensions in result.items()
        if len(dimensions) == 1 and (dimension := next(iter(dimensions))) is not None
    }


def _goes_down_rows(
    steps: Sequence[int], subscripts: Sequence[ir.Index], sums: Sequence[ir.Loop]
) -> bool:
    """Whether vectors along rows go from row to row in a long loop that holds its sum."""
    along_rows = len(steps) == len(subscripts) and steps[-1] == 1 and not any(steps[:-1])
    return along_rows and any(
        any(coefficient(subscript, loop.variable) for subscript in subscripts[:-1])
        for loop in sums
        if _is_long(loop)
    )


def _is_long(loop: ir.Loop) -> bool:
    """Whether a loop has many iterations, but perhaps for the last tile."""
    return any(length >= TUNING.long_loop for _, _, length in constant_spans(loop))


def _vector_instances(
    node: ir.Node, sums: tuple[ir.Loop, ...] = ()
) -> Iterator[tuple[ir.Instance, tuple[ir.Loop, ...]]]:
    """Yield the instances that have lanes, with the loops around them that hold sums."""
    match node:
        case ir.Instance(lanes=ir.Lanes()):
            yield node, sums
        case ir.Loop(body=body, annotation=ScalarReplacement()):
            yield from _vector_instances(body, (*sums, node))
        case _:
            for part in ir.children_of(node):
                yield from _vector_instances(part, sums)


def _read_from_copies(statement: Statement, copies: Mapping[Access, _PackedArray]) -> Statement:
    """Return the statement with some reads from copies."""
    if not copies:
        return statement
    elsewhere = {access: replace(access, array=copy.name) for access, copy in copies.items()}
    return replace(statement, body=replace_accesses(statement.body, elsewhere))


def _redirect_reads(
    node: ir.Node, scop: Scop, redirected: Mapping[str, Mapping[Access, _PackedArray]]
) -> ir.Node:
    """Return the loops with the subscripts of those reads in the order of the copies."""
    if not isinstance(node, ir.Instance):
        return ir.map_children(node, lambda part: _redirect_reads(part, scop, redirected))
    if node.statement not in redirected:
        return node
    copies = redirected[node.statement]
    accesses = zip(scop.statement(node.statement).reads, node.reads, strict=True)
    reads = tuple(
        copies[access].permuted(subscripts) if access in copies else subscripts
        for access, subscripts in accesses
    )
    return replace(node, reads=reads)


def _declared_copy(copy: _PackedArray) -> Array:
    array = copy.array
    return replace(
        array,
        name=copy.name,
        extents=_padded_extents(copy.permuted(array.extents), copy.padding),
        c_extents=(*copy.permuted(array.c_extents)[:-1], _padded_length(copy, array)),
        storage_class=StorageClass.SCRATCH,
        live_out=False,
        initial=None,
    )


def _padded_extents(extents: tuple[str, ...], elements: int) -> tuple[str, ...]:
    if not elements:
        return extents
    longer = isl.PwAff(extents[-1]).add_constant_val(isl.Val(elements))
    return (*extents[:-1], isl_text(longer))


def _padded_length(copy: _PackedArray, array: Array) -> str:
    """Return the length of a copy's rows as C."""
    row = copy.permuted(array.c_extents)[-1]
    return f"{row} + {copy.padding}" if copy.padding else row


def _copy_nest(
    copy: _PackedArray, extents: tuple[ir.Index, ...], annotation: LoopAnnotation
) -> ir.Node:
    """Return the loops that make a copy: blocks of what is contiguous on either side.

    Inside of a block the last dimension of the copy runs innermost. Without turning, rows are
    copied as they are.
    """
    names, rank = copy.counters, copy.array.rank
    blocks = _block_sizes(copy, extents) if copy.is_transposed else {}
    counters = tuple(ir.IndexVariable(name) for name in names)
    node: ir.Node = ir.Instance(copy.name, counters, copy.permuted(counters), (counters,))
    last = {place: add_constant(extent, -1) for place, extent in enumerate(extents)}
    run = max(blocks, default=rank)
    inside = [copy.order[-1], *reversed(range(run + 1, rank)), run] if blocks else []
    for place in inside:
        first: ir.Index = ir.IndexConstant(0)
        end = last[place]
        if place in blocks:
            first = ir.IndexVariable(copy.blocks[place])
            end = minimum(add_constant(first, blocks[place] - 1), end)
        node = ir.Loop(names[place], first, end, 1, node)
    for place, step in blocks.items():
        node = ir.Loop(copy.blocks[place], ir.IndexConstant(0), last[place], step, node)
    for place in reversed([dimension for dimension in range(rank) if dimension not in inside]):
        node = ir.Loop(names[place], ir.IndexConstant(0), last[place], 1, node)
    assert isinstance(node, ir.Loop)
    return replace(node, annotation=annotation)


def _block_sizes(copy: _PackedArray, extents: tuple[ir.Index, ...]) -> dict[int, int]:
    """Return the dimensions that are cut into blocks, and their sizes, the outermost block last.

    Along the lanes of the copy, and along the last dimension of the array, so that of both sides
    whole cache lines are used. Where that is short, several dimensions together are what is
    contiguous: K[512][512][3][3] turned along the first is read from 16 places at once, at each 252
    elements one after the other, 28 of the second dimension. All 512 of the first for each of these
    would come from as many pages, and from a few sets of the cache.
    """
    lanes, run, length = copy.order[-1], copy.array.rank - 1, 1
    while run - 1 > lanes and _extent_estimate(extents[run]) * length < TUNING.copy_block:
        length *= _extent_estimate(extents[run])
        run -= 1
    if run == copy.array.rank - 1:
        return {lanes: TUNING.copy_block, run: TUNING.copy_block}
    result = {lanes: TUNING.copy_block, run: max(1, TUNING.copy_run // max(1, length))}
    return dict(sorted(result.items(), key=lambda cut: _extent_estimate(extents[cut[0]]) / cut[1]))


def _extent_estimate(extent: ir.Index) -> int:
    """Return an extent; one that is not known is taken to be as long as a run."""
    return extent.value if isinstance(extent, ir.IndexConstant) else TUNING.copy_run


PASS = loop_pass(
    "pack_arrays",
    "transposed copies of whole arrays that are read down columns (pack=on)",
    pack_arrays,
    lambda mapping: mapping.pack,
)
