"""Packing: reads that vectors find far apart go to a turned copy of the array, made beforehand.

::

    for i, j by 8, k:                         for j, k:  B[k][j] = A[j][k]
      C[i][j ..] += A[i][k] * A[j ..][k]  →   for i, j by 8, k:
                                                C[i][j ..] += A[i][k] * B[k][j ..]

Side conditions: nothing writes the array in the part of the program that reads it
(:mod:`polygym.compiler.codegen.common.packable`), and along the lanes one subscript grows by 1 that
is not the last, the others not at all. The result has one array and one statement more; the array
lives on the heap while the kernel runs. It is filled before the first part that reads from it, and
again before one that does so after the original has been written. The copy is made in blocks of
what is contiguous on either side, so that of both whole cache lines are used, and in parallel if
there are threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import islpy as isl

from polygym.compiler.codegen.common.loop_annotation import (
    SEQUENTIAL,
    Hold,
    LoopAnnotation,
    Parallel,
)
from polygym.compiler.codegen.common.packable import Packing, spare, turned, turned_dimension
from polygym.compiler.codegen.loops.copying import copying
from polygym.compiler.codegen.loops.index import coefficient, minimum, plus
from polygym.compiler.codegen.loops.ir import (
    Block,
    Index,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
    Number,
    Variable,
    directly_in,
    rebuilt,
)
from polygym.compiler.codegen.loops.lanes import statements_in
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import parts_of, spans
from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.replacing import replace_accesses
from polygym.compiler.ir.scop import Array, Scop, Statement, Storage
from polygym.compiler.poly.isl_numbers import isl_text

T = TypeVar("T")

_BLOCK = 16
_RUN = 256  # elements that follow each other in the array, of one block
LONG = 64


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of an array: its dimensions in another order.

    ``counters`` are the names of loops over its dimensions, ``blocks`` of loops over blocks;
    ``spare`` is how many elements its rows are longer than they need to be.
    """

    array: Array
    order: tuple[int, ...]
    name: str
    counters: tuple[str, ...]
    blocks: tuple[str, ...]
    spare: int

    @property
    def is_turned(self) -> bool:
        """Whether the order of the dimensions is another one."""
        return self.order != tuple(sorted(self.order))

    def longer(self, extents: tuple[Index, ...]) -> tuple[Index, ...]:
        """Return the sizes of the copy: rows have some elements to spare."""
        *others, last = self.permuted(extents)
        return (*others, plus(last, self.spare))

    def permuted(self, entries: tuple[T, ...]) -> tuple[T, ...]:
        """Return what belongs to the dimensions in the order of the copy."""
        return tuple(entries[place] for place in self.order)


def pack(program: LoopProgram) -> LoopProgram:
    """Carry out the packing of every read for which it makes vectors contiguous."""
    scop = program.scop
    parts = tuple(parts_of(program.body))
    packing = Packing(scop, program.sizes, tuple(map(statements_in, parts)))
    extents = dict(zip((array.name for array in scop.arrays), program.extents, strict=True))
    wanted = _wanted(packing, program.body, extents)
    if not wanted:
        return program
    copies: dict[tuple[str, int], _Copy] = {}
    redirected: dict[str, dict[Access, _Copy]] = {}
    names = Names(scop)
    for (statement, access), dimension in wanted.items():
        key = (access.array, dimension)
        if key not in copies:
            array = scop.array(access.array)
            name = names.unused(f"{array.name}_packed")
            places = range(array.rank)
            copies[key] = _Copy(
                array,
                turned(dimension, array.rank),
                name,
                tuple(names.unused(f"{name}_{place}") for place in places),
                tuple(names.unused(f"{name}_{place}_block") for place in places),
                _spare(extents[array.name][dimension], array),
            )
        redirected.setdefault(statement, {})[access] = copies[key]
    statements = tuple(
        _reading(statement, redirected.get(statement.name, {})) for statement in scop.statements
    )
    made = list(copies.values())
    # The dynamic or static of a parallel loop does not matter here: all blocks cost the same.
    annotation = Parallel(dynamic=False) if program.threads > 1 else SEQUENTIAL
    nests = {copy.name: _nest(copy, extents[copy.array.name], annotation) for copy in made}
    return replace(
        program,
        scop=replace(
            scop,
            arrays=(*scop.arrays, *(_array(copy) for copy in made)),
            statements=(*statements, *(_statement(copy) for copy in made)),
        ),
        body=Block(tuple(_filled(parts, nests, scop, redirected))),
        extents=(
            *program.extents,
            *(copy.longer(extents[copy.array.name]) for copy in made),
        ),
    )


def _filled(
    parts: Sequence[Node],
    nests: Mapping[str, Node],
    scop: Scop,
    redirected: Mapping[str, Mapping[Access, _Copy]],
) -> Iterator[Node]:
    """Yield the parts, each after the loops that fill those of its copies that are not up to date.

    ``nests`` are these loops by the copy's name.
    """
    filled: dict[str, _Copy] = {}
    for part in parts:
        names = sorted(statements_in(part))
        for copy in (copy for name in names for copy in redirected.get(name, {}).values()):
            if copy.name not in filled:
                filled[copy.name] = copy
                yield nests[copy.name]
        yield _redirected(part, scop, redirected)
        written = {scop.statement(name).write.array for name in names}
        filled = {name: copy for name, copy in filled.items() if copy.array.name not in written}


def _spare(row: Index, array: Array) -> int:
    """Return how many elements longer the rows of a copy are to be; 0 at unknown sizes."""
    return spare(row.value, array.type.size) if isinstance(row, Number) else 0


def _wanted(
    packing: Packing, body: Node, extents: Mapping[str, tuple[Index, ...]]
) -> dict[tuple[str, Access], int]:
    """Return the reads to be packed, by statement, with the dimension that moves along the lanes.

    A read that wants different dimensions in different places, or is contiguous in some, is left.
    """
    found: dict[tuple[str, Access], set[int | None]] = {}
    for instance, sums in _vectors(body):
        statement = packing.scop.statement(instance.statement)
        assert instance.lanes is not None
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            if not packing.allows(statement, access):
                continue
            steps = [coefficient(subscript, instance.lanes.variable) for subscript in subscripts]
            if not any(steps):  # an element that all lanes share is as good in either
                continue
            known = [step for step in steps if step is not None]
            dimension = turned_dimension(known) if len(known) == len(steps) else None
            array = packing.scop.array(access.array)
            is_crowded = _spare(extents[array.name][-1], array) > 0
            if is_crowded and _walks_down(known, subscripts, sums):
                dimension = array.rank - 1
            found.setdefault((statement.name, access), set()).add(dimension)
    return {
        key: dimension
        for key, dimensions in found.items()
        if len(dimensions) == 1 and (dimension := next(iter(dimensions))) is not None
    }


def _walks_down(steps: Sequence[int], subscripts: Sequence[Index], sums: Sequence[Loop]) -> bool:
    """Whether vectors along rows go from row to row in a long loop that holds its sum."""
    along_rows = len(steps) == len(subscripts) and steps[-1] == 1 and not any(steps[:-1])
    return along_rows and any(
        any(coefficient(subscript, loop.variable) for subscript in subscripts[:-1])
        for loop in sums
        if _is_long(loop)
    )


def _is_long(loop: Loop) -> bool:
    """Whether a loop has many iterations, but perhaps for the last tile."""
    return any(length >= LONG for _, _, length in spans(loop))


def _vectors(
    node: Node, sums: tuple[Loop, ...] = ()
) -> Iterator[tuple[Instance, tuple[Loop, ...]]]:
    """Yield the instances that have lanes, with the loops around them that hold sums."""
    match node:
        case Instance(lanes=Lanes()):
            yield node, sums
        case Loop(body=body, annotation=Hold()):
            yield from _vectors(body, (*sums, node))
        case _:
            for part in directly_in(node):
                yield from _vectors(part, sums)


def _reading(statement: Statement, copies: Mapping[Access, _Copy]) -> Statement:
    """Return the statement with some reads from copies."""
    if not copies:
        return statement
    elsewhere = {access: replace(access, array=copy.name) for access, copy in copies.items()}
    return replace(statement, body=replace_accesses(statement.body, elsewhere))


def _redirected(node: Node, scop: Scop, redirected: Mapping[str, Mapping[Access, _Copy]]) -> Node:
    """Return the loops with the subscripts of those reads in the order of the copies."""
    if not isinstance(node, Instance):
        return rebuilt(node, lambda part: _redirected(part, scop, redirected))
    if node.statement not in redirected:
        return node
    copies = redirected[node.statement]
    accesses = zip(scop.statement(node.statement).reads, node.reads, strict=True)
    reads = tuple(
        copies[access].permuted(subscripts) if access in copies else subscripts
        for access, subscripts in accesses
    )
    return replace(node, reads=reads)


def _array(copy: _Copy) -> Array:
    array = copy.array
    return replace(
        array,
        name=copy.name,
        extents=_with_spare(copy.permuted(array.extents), copy.spare),
        extents_c=(*copy.permuted(array.extents_c)[:-1], _spared(copy, array)),
        storage=Storage.SCRATCH,
        live_out=False,
        initial=None,
    )


def _with_spare(extents: tuple[str, ...], elements: int) -> tuple[str, ...]:
    if not elements:
        return extents
    longer = isl.PwAff(extents[-1]).add_constant_val(isl.Val(elements))
    return (*extents[:-1], isl_text(longer))


def _spared(copy: _Copy, array: Array) -> str:
    """Return the length of a copy's rows as C."""
    row = copy.permuted(array.extents_c)[-1]
    return f"{row} + {copy.spare}" if copy.spare else row


def _statement(copy: _Copy) -> Statement:
    """Return the statement that copies one element; its iterators are the array's dimensions."""
    return copying(copy.array, copy.name, copy.counters, copy.permuted(copy.counters))


def _nest(copy: _Copy, extents: tuple[Index, ...], annotation: LoopAnnotation) -> Node:
    """Return the loops that make a copy: blocks of what is contiguous on either side.

    Inside of a block the last dimension of the copy runs innermost. Without turning, rows are
    copied as they are.
    """
    names, rank = copy.counters, copy.array.rank
    blocks = _blocks(copy, extents) if copy.is_turned else {}
    counters = tuple(Variable(name) for name in names)
    node: Node = Instance(copy.name, counters, copy.permuted(counters), (counters,))
    last = {place: plus(extent, -1) for place, extent in enumerate(extents)}
    run = max(blocks, default=rank)
    inside = [copy.order[-1], *reversed(range(run + 1, rank)), run] if blocks else []
    for place in inside:
        first: Index = Number(0)
        end = last[place]
        if place in blocks:
            first = Variable(copy.blocks[place])
            end = minimum(plus(first, blocks[place] - 1), end)
        node = Loop(names[place], first, end, 1, node)
    for place, step in blocks.items():
        node = Loop(copy.blocks[place], Number(0), last[place], step, node)
    for place in reversed([one for one in range(rank) if one not in inside]):
        node = Loop(names[place], Number(0), last[place], 1, node)
    assert isinstance(node, Loop)
    return replace(node, annotation=annotation)


def _blocks(copy: _Copy, extents: tuple[Index, ...]) -> dict[int, int]:
    """Return the dimensions that are cut into blocks, and their sizes, the outermost block last.

    Along the lanes of the copy, and along the last dimension of the array, so that of both sides
    whole cache lines are used. Where that is short, several dimensions together are what is
    contiguous: K[512][512][3][3] turned along the first is read from 16 places at once, at each 252
    elements one after the other, 28 of the second dimension. All 512 of the first for each of these
    would come from as many pages, and from a few sets of the cache.
    """
    lanes, run, length = copy.order[-1], copy.array.rank - 1, 1
    while run - 1 > lanes and _known(extents[run]) * length < _BLOCK:
        length *= _known(extents[run])
        run -= 1
    if run == copy.array.rank - 1:
        return {lanes: _BLOCK, run: _BLOCK}
    found = {lanes: _BLOCK, run: max(1, _RUN // max(1, length))}
    return dict(sorted(found.items(), key=lambda one: _known(extents[one[0]]) / one[1]))


def _known(extent: Index) -> int:
    """Return an extent; one that is not known is taken to be as long as a run."""
    return extent.value if isinstance(extent, Number) else _RUN
