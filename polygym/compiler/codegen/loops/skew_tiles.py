"""Diagonals in vectors, through copies in which they are rows.

::

    for t, w:                                   for t', w' (tiles):
      for i (diagonal):                           for i, j of what the tile reads:
        A[i][w - i] = f(A[i - 1][w - i],    →       B[i + j - d][i - e] = A[i][j]
                        A[i][w - i - 1], …)       for t, w:
                                                    for i (vectors):
                                                      B[w - d][i - e] = f(B[w - 1 - d][i - 1 - e],
                                                                          B[w - 1 - d][i - e], …)
                                                  for i, j of what the tile writes:
                                                    A[i][j] = B[i + j - d][i - e]

Which regions get copies, and why that is right, is in
:mod:`polygym.compiler.codegen.loops.skew_plan`: the largest ones for whose copies a level 2 cache
has room. The loops that copy are isl's; what they touch is read off their text and compared with
what has to be copied. Diagonals without copies are jammed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygym.compiler.codegen.common.loop_annotation import Diagonal, Jam, Vector
from polygym.compiler.codegen.loops.copying import copying, copying_back
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
    loops_in,
    rebuilt,
)
from polygym.compiler.codegen.loops.lanes import statements_in
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.scan import scanning
from polygym.compiler.codegen.loops.skew_plan import (
    Region,
    SkewedCopy,
    is_exact,
    planned_copies,
)
from polygym.compiler.codegen.loops.tile_pack import holding
from polygym.compiler.codegen.loops.tiles import declared_tile
from polygym.compiler.codegen.loops.touched import Way
from polygym.compiler.ir.replacing import replace_accesses
from polygym.compiler.ir.scop import Array, Statement
from polygym.compiler.poly.isl_budget import attempt, unbounded
from polygym.errors import InternalError

_MOST_OPERATIONS = 2_000_000
_MOST_ALTOGETHER = 512 << 10


def skew_tiles(program: LoopProgram) -> LoopProgram:
    """Carry out every ``Diagonal`` annotation: in vectors through copies, else as a jammed loop."""
    if not any(isinstance(loop.annotation, Diagonal) for loop in loops_in(program.body)):
        return program
    skewing = _Skewing(program)
    body = skewing.node(program.body, Way())
    scop = replace(
        program.scop,
        arrays=(*program.scop.arrays, *skewing.arrays),
        statements=(*program.scop.statements, *skewing.statements),
    )
    return replace(program, scop=scop, body=body, extents=(*program.extents, *skewing.extents))


@dataclass(frozen=True, slots=True)
class _Made:
    """A copy with its array, and the loops that copy there and back, with their statements."""

    copy: SkewedCopy
    array: Array
    there: tuple[Node, Statement] | None
    back: tuple[Node, Statement] | None


class _Skewing:
    """Goes through a program, and collects the arrays and statements that it takes."""

    def __init__(self, program: LoopProgram) -> None:
        self.program = program
        self.names = Names(program.scop)
        self.counters = {loop.variable for loop in loops_in(program.body)}
        self.arrays: list[Array] = []
        self.extents: list[tuple[Index, ...]] = []
        self.statements: list[Statement] = []
        self.room = _MOST_ALTOGETHER

    def node(self, node: Node, way: Way) -> Node:
        """Return what becomes of a node, to which the loops and conditions of a way lead."""
        match node:
            case Loop(annotation=Diagonal(copies=copies)):
                return replace(node, annotation=Jam(copies))
            case Instance():
                return node
        skewed = self._skewed(node, way)
        if skewed is not None:
            return skewed
        match node:
            case Loop(body=body):
                return replace(node, body=self.node(body, replace(way, loops=(*way.loops, node))))
            case Guard(condition, then, otherwise):
                within = [
                    replace(way, conditions=(*way.conditions, (condition, holds)))
                    for holds in (True, False)
                ]
                other = None if otherwise is None else self.node(otherwise, within[1])
                return Guard(condition, self.node(then, within[0]), other)
            case _:
                return rebuilt(node, lambda part: self.node(part, way))

    def _skewed(self, node: Node, way: Way) -> Node | None:
        """Return a region with copies, None where it gets none."""
        if not any(isinstance(loop.annotation, Diagonal) for loop in loops_in(node)):
            return None
        region = Region(node, way, self.program)
        region = replace(region, program=region.alone(node))
        copies = planned_copies(region)
        if copies is None or sum(copy.size for copy in copies) > self.room:
            return None
        try:
            with unbounded(), attempt(_MOST_OPERATIONS):
                made = [self._made(copy, region) for copy in copies]
        except (isl.Error, InternalError):
            return None
        if None in made:
            return None
        found = [one for one in made if one is not None]
        for one in found:
            self.room -= one.copy.size
            self.arrays.append(one.array)
            self.extents.append(tuple(map(Number, one.copy.room)))
        there = [one.there for one in found if one.there is not None]
        back = [one.back for one in found if one.back is not None]
        self.statements += [statement for _, statement in (*there, *back)]
        moved = self._moved(node, found)
        return Block((*(loops for loops, _ in there), moved, *(loops for loops, _ in back)))

    def _made(self, copy: SkewedCopy, region: Region) -> _Made | None:
        """Return a copy with the loops that fill and empty it; None where isl's are not exact."""
        array = copy.skew.array
        name = self.names.unused(f"{array.name}_skewed")
        declared = declared_tile(array, name, copy.room)
        iterators = tuple(self.names.unused(f"{name}_{place}") for place in range(array.rank))
        here = ["0"] * array.rank
        back_name = self.names.unused(f"{name}_back")
        statements = (
            copying(array, name, iterators, here),
            copying_back(array, name, back_name, iterators, here),
        )
        found: list[tuple[Node, Statement] | None] = []
        for statement, wanted in zip(statements, (copy.read, copy.written), strict=True):
            if wanted is None:
                found.append(None)
                continue
            loops = self._copied(copy, region, statement, wanted)
            alone = replace(
                region,
                program=replace(
                    region.program,
                    scop=replace(
                        region.program.scop,
                        arrays=(*region.program.scop.arrays, declared),
                        statements=(*region.program.scop.statements, statement),
                    ),
                    extents=(*region.program.extents, tuple(map(Number, copy.room))),
                ),
            )
            if not is_exact(alone, loops, array.name, wanted):
                return None
            found.append((loops, statement))
        return _Made(copy, declared, found[0], found[1])

    def _copied(
        self, copy: SkewedCopy, region: Region, statement: Statement, wanted: isl.Map
    ) -> Node:
        """Return the loops that copy elements there, or back."""
        is_back = statement.write.array == copy.skew.array.name
        counters = [self._counter(f"{statement.name}_{place}") for place in range(len(copy.first))]

        def instance(subscripts: tuple[Index, ...]) -> Instance:
            place = copy.place(subscripts)
            write, read = (subscripts, place) if is_back else (place, subscripts)
            return Instance(statement.name, subscripts, write, (read,))

        return scanning(wanted, region.reached(), region.counters, counters, instance)

    def _counter(self, name: str) -> str:
        """Return a name for a counter that nothing has yet."""
        found = self.names.unused(name)
        while found in self.counters:
            found = self.names.unused(f"{found}_")
        self.counters.add(found)
        return found

    def _moved(self, node: Node, made: Sequence[_Made]) -> Node:
        """Return a region whose statements use the copies, and whose diagonals run in vectors."""
        copies = {one.copy.skew.array.name: one for one in made}
        renamed: dict[str, str] = {}
        scop = self.program.scop
        for name in sorted(statements_in(node)):
            statement = scop.statement(name)
            accesses = (statement.write, *statement.reads)
            elsewhere = {
                one: replace(one, array=copies[one.array].array.name)
                for one in accesses
                if one.array in copies
            }
            if elsewhere:
                renamed[name] = self.names.unused(f"{name}_skewed")
                write = elsewhere.get(statement.write, statement.write)
                body = replace_accesses(statement.body, elsewhere)
                self.statements.append(
                    replace(statement, name=renamed[name], write=write, body=body)
                )

        def walk(part: Node) -> Node:
            match part:
                case Loop(annotation=Diagonal(bits=bits)):
                    return replace(part, body=walk(part.body), annotation=Vector(bits, 1))
                case Loop():
                    return rebuilt(holding(part, renamed), walk)
                case Instance(statement=name) if name in renamed:
                    statement = scop.statement(name)

                    def place(array: str, subscripts: tuple[Index, ...]) -> tuple[Index, ...]:
                        own = copies.get(array)
                        return subscripts if own is None else own.copy.place(subscripts)

                    reads = zip(statement.reads, part.reads, strict=True)
                    return replace(
                        part,
                        statement=renamed[name],
                        write=place(statement.write.array, part.write),
                        reads=tuple(place(read.array, one) for read, one in reads),
                    )
                case _:
                    return rebuilt(part, walk)

        return walk(node)
