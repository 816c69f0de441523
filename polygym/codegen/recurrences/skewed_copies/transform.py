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
:mod:`polygym.codegen.recurrences.skewed_copies.plan`: the largest ones for whose copies a level 2
cache has room. The loops that copy are isl's; what they touch is read off their text and compared
with what has to be copied. Diagonals without copies are jammed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygym.codegen.analysis.footprint import InstancePath
from polygym.codegen.common.loop_annotation import DiagonalLoop, UnrollAndJam, VectorLoop
from polygym.codegen.generation.isl_ast import scan_set
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.recurrences.skewed_copies.plan import (
    SkewedCopy,
    SkewRegion,
    has_exact_footprint,
    plan_copies,
)
from polygym.codegen.transforms import packed_tiles
from polygym.codegen.transforms.tile_packing import with_renamed_registers
from polygym.codegen.transforms.vectorization import statements_in
from polygym.errors import InternalError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.scop import Array, Statement
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import attempt_bounded, unbounded_operations


def apply_skewed_copies(program: ir.LoopProgram) -> ir.LoopProgram:
    """Apply every ``DiagonalLoop`` annotation: vectors through copies, else a jammed loop."""
    if not any(isinstance(loop.annotation, DiagonalLoop) for loop in ir.loops_in(program.body)):
        return program
    skewing = _SkewedCopies(program)
    body = skewing.visit_node(program.body, InstancePath())
    return program.extended(body, skewing.arrays, skewing.extents, skewing.statements)


@dataclass(frozen=True, slots=True)
class _DeclaredCopy:
    """A copy with its array, and the loops that copy there and back, with their statements."""

    copy: SkewedCopy
    array: Array
    copy_in: tuple[ir.Node, Statement] | None
    copy_back: tuple[ir.Node, Statement] | None


class _SkewedCopies:
    """Goes through a program, and collects the arrays and statements that it takes."""

    def __init__(self, program: ir.LoopProgram) -> None:
        self.program = program
        self.names = CodegenNames(program.scop)
        self.counters = {loop.variable for loop in ir.loops_in(program.body)}
        self.arrays: list[Array] = []
        self.extents: list[tuple[ir.Index, ...]] = []
        self.statements: list[Statement] = []
        self.room = TUNING.max_total_skewed_bytes

    def visit_node(self, node: ir.Node, way: InstancePath) -> ir.Node:
        """Return what becomes of a node, to which the loops and conditions of a way lead."""
        match node:
            case ir.Loop(annotation=DiagonalLoop(copies=copies)):
                return replace(node, annotation=UnrollAndJam(copies))
            case ir.Instance():
                return node
        skewed = self._transform_region(node, way)
        if skewed is not None:
            return skewed
        match node:
            case ir.Loop(body=body):
                inside = replace(way, loops=(*way.loops, node))
                return replace(node, body=self.visit_node(body, inside))
            case ir.Guard(condition, then, otherwise):
                within = [
                    replace(way, conditions=(*way.conditions, (condition, holds)))
                    for holds in (True, False)
                ]
                other = None if otherwise is None else self.visit_node(otherwise, within[1])
                return ir.Guard(condition, self.visit_node(then, within[0]), other)
            case _:
                return ir.map_children(node, lambda part: self.visit_node(part, way))

    def _transform_region(self, node: ir.Node, way: InstancePath) -> ir.Node | None:
        """Return a region with copies, None where it gets none."""
        if not any(isinstance(loop.annotation, DiagonalLoop) for loop in ir.loops_in(node)):
            return None
        region = SkewRegion(node, way, self.program)
        region = replace(region, program=region.isolated_program(node))
        copies = plan_copies(region)
        if copies is None or sum(copy.size for copy in copies) > self.room:
            return None
        try:
            with unbounded_operations(), attempt_bounded(TUNING.skew_loop_operations):
                made = [self._declare_copy(copy, region) for copy in copies]
        except (isl.Error, InternalError):
            return None
        if None in made:
            return None
        declared_copies = [declared for declared in made if declared is not None]
        for declared_copy in declared_copies:
            self.room -= declared_copy.copy.size
            self.arrays.append(declared_copy.array)
            self.extents.append(tuple(map(ir.IndexConstant, declared_copy.copy.padded_lengths)))
        there = [copy_.copy_in for copy_ in declared_copies if copy_.copy_in is not None]
        back = [copy_.copy_back for copy_ in declared_copies if copy_.copy_back is not None]
        self.statements += [statement for _, statement in (*there, *back)]
        moved = self._redirect_accesses(node, declared_copies)
        return ir.Block((*(loops for loops, _ in there), moved, *(loops for loops, _ in back)))

    def _declare_copy(self, copy: SkewedCopy, region: SkewRegion) -> _DeclaredCopy | None:
        """Return a copy with the loops that fill and empty it; None where isl's are not exact."""
        array = copy.skew.array
        declared, *statements = packed_tiles.declare_copy(
            array, "skewed", copy.padded_lengths, self.names
        )
        result: list[tuple[ir.Node, Statement] | None] = []
        for statement, wanted in zip(statements, (copy.read, copy.written), strict=True):
            if wanted is None:
                result.append(None)
                continue
            loops = self._copy_loops(copy, region, statement, wanted)
            extents = tuple(map(ir.IndexConstant, copy.padded_lengths))
            program = region.program
            extended = program.extended(program.body, [declared], [extents], [statement])
            alone = replace(region, program=extended)
            if not has_exact_footprint(alone, loops, array.name, wanted):
                return None
            result.append((loops, statement))
        return _DeclaredCopy(copy, declared, result[0], result[1])

    def _copy_loops(
        self, copy: SkewedCopy, region: SkewRegion, statement: Statement, wanted: isl.Map
    ) -> ir.Node:
        """Return the loops that copy elements there, or back."""
        is_back = statement.write.array == copy.skew.array.name
        counters = [
            self._fresh_counter(f"{statement.name}_{place}") for place in range(len(copy.origin))
        ]

        def instance(subscripts: tuple[ir.Index, ...]) -> ir.Instance:
            place = copy.copy_subscripts(subscripts)
            write, read = (subscripts, place) if is_back else (place, subscripts)
            return ir.Instance(statement.name, subscripts, write, (read,))

        return scan_set(wanted, region.counter_values(), region.counters, counters, instance)

    def _fresh_counter(self, name: str) -> str:
        """Return a name for a counter that nothing has yet."""
        result = self.names.fresh(name)
        while result in self.counters:
            result = self.names.fresh(f"{result}_")
        self.counters.add(result)
        return result

    def _redirect_accesses(self, node: ir.Node, made: Sequence[_DeclaredCopy]) -> ir.Node:
        """Return a region whose statements use the copies, and whose diagonals run in vectors."""
        copies = {copy.copy.skew.array.name: copy for copy in made}
        renamed: dict[str, str] = {}
        scop = self.program.scop
        for name in sorted(statements_in(node)):
            statement = scop.statement(name)
            accesses = (statement.write, *statement.reads)
            elsewhere = {
                access: replace(access, array=copies[access.array].array.name)
                for access in accesses
                if access.array in copies
            }
            if elsewhere:
                renamed[name] = self.names.fresh(f"{name}_skewed")
                write = elsewhere.get(statement.write, statement.write)
                body = replace_accesses(statement.body, elsewhere)
                self.statements.append(
                    replace(statement, name=renamed[name], write=write, body=body)
                )

        def walk(part: ir.Node) -> ir.Node:
            match part:
                case ir.Loop(annotation=DiagonalLoop(bits=bits)):
                    return replace(part, body=walk(part.body), annotation=VectorLoop(bits, 1))
                case ir.Loop():
                    return ir.map_children(with_renamed_registers(part, renamed), walk)
                case ir.Instance(statement=name) if name in renamed:
                    statement = scop.statement(name)

                    def place(array: str, subscripts: tuple[ir.Index, ...]) -> tuple[ir.Index, ...]:
                        own = copies.get(array)
                        return subscripts if own is None else own.copy.copy_subscripts(subscripts)

                    reads = zip(statement.reads, part.reads, strict=True)
                    return replace(
                        part,
                        statement=renamed[name],
                        write=place(statement.write.array, part.write),
                        reads=tuple(place(read.array, indices) for read, indices in reads),
                    )
                case _:
                    return ir.map_children(part, walk)

        return walk(node)


PASS = loop_pass(
    "skewed_copies",
    "diagonals vectorized through skewed copies of arrays (pack=on)",
    apply_skewed_copies,
    lambda mapping: mapping.pack,
)
