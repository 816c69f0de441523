"""Recurrences along rows run in lanes, one row in each, through tiles that are turned.

::

    for i (rows):                       for s by 16:                            16 rows
      for j = l .. u:             →       for c = l .. u by 256:                256 columns
        y[i][j] = x[i][j]                   for j, i:  X[j - c][i - s] = x[i][j]
                + b * y[i][j - 1]           for i:     Y[0][i - s] = y[i][c - 1]
                                            for i = s .. s + 15 (vectors):  for j = c .. c + 255:
                                              Y[j - c + 1][i - s] = X[j - c][i - s]
                                                                  + b * Y[j - c][i - s]
                                            for i, j:  y[i][j] = Y[j - c + 1][i - s]

An operation of a recurrence waits four cycles or more for the one before. In lanes so many rows
wait together; but neighbours in a column are far apart in memory, and gathers cost as much as the
loads that they stand for. So a block of columns is turned in registers on its way to a tile in a
cache (:mod:`polygym.codegen.llvm.access.emit_transpose`), and what is computed on its way back.
Blocks of a tile are copied in the order of the recurrence, backwards where it runs backwards: a
processor foresees what goes on in memory, in either direction, and not what turns to and fro.

Side conditions: the iterations of the loop over rows are independent, which its annotation says;
each row keeps its order. What goes through tiles, and that nothing else touches it meanwhile, is
decided in :mod:`polygym.codegen.recurrences.recurrence_lanes.plan`. Where the bounds of the inner
loop depend on the row, blocks are of the columns that all rows of a strip have, and the others run
row by row before and after, as in :mod:`polygym.codegen.transforms.unroll_and_jam`.

What nobody reads then, nor sees afterwards, is not copied back
(:mod:`polygym.codegen.recurrences.recurrence_lanes.transform`).

A loop for which there is no such plan is jammed instead.

Tiles that are copied back to arrays that nobody looks at: these loops are left out.

::

    for s by 16:                                          for s by 16:
      …  U[j][i - s] = x[i][j]; Y[…] = U[j][i - s] + …  →    …  the same
      for i, j:  u_1[i][j] = U[j][i - s]                     for i, j:  y[i][j] = Y[…]
      for i, j:  y[i][j] = Y[…]

Side conditions: no instance in the whole text reads the array, whatever condition it is under, and
it ends with the code: it is a plan's, or the function's own, and nobody sees it afterwards. So it
is with a scalar of a recurrence that a plan has expanded, or made private to threads, when all that
reads it has a tile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from polygym.codegen.common.loop_annotation import (
    SEQUENTIAL_LOOP,
    LaneRows,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.loopir.index_arithmetic import add_constant, depends_on, maximum, minimum
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
    block_of,
    loops_in,
    map_children,
)
from polygym.codegen.loopir.linear_sums import add_indices, constant_difference, subtract_indices
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.nests import sequence_parts
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.recurrences.recurrence_lanes.plan import (
    RowPlan,
    RowTile,
    TilePrefill,
    TileReference,
    least_column,
    plan_rows,
)
from polygym.codegen.transforms import packed_tiles
from polygym.codegen.transforms.tile_packing import with_renamed_registers
from polygym.codegen.transforms.unroll_and_jam import bound_over_copies
from polygym.codegen.transforms.vectorization import statements_in
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Array, Statement
from polygym.mapping.tuning_parameters import TUNING


def remove_dead_copies(program: LoopProgram, backs: Collection[str]) -> LoopProgram:
    """Return the program that runs none of the statements ``backs`` that copy for nobody."""
    scop = program.scop
    statements = {statement.name: statement for statement in scop.statements}
    running = [statements[name] for name in statements_in(program.body)]
    used = {access.array for statement in running for access in statement.reads}
    used |= {array.name for array in scop.arrays if array.is_observable}
    dead = {name for name in backs if statements[name].write.array not in used}
    if not dead:
        return program
    return replace(program, body=_remove_statements(program.body, dead) or Block(()))


def _remove_statements(node: Node, dead: Collection[str]) -> Node | None:
    """Return a node without the instances of some statements; None where nothing else is in it."""
    match node:
        case Instance(statement):
            return None if statement in dead else node
        case Block(children):
            kept = [_remove_statements(child, dead) for child in children]
            nodes = tuple(part for part in kept if part is not None)
            if len(nodes) == len(children):
                return Block(nodes)
            return Block(nodes) if len(nodes) > 1 else next(iter(nodes), None)
        case Loop(body=body):
            inside = _remove_statements(body, dead)
            return None if inside is None else replace(node, body=inside)
        case Guard(condition, then, otherwise):
            first = _remove_statements(then, dead)
            second = None if otherwise is None else _remove_statements(otherwise, dead)
            if first is None and second is None:
                return None
            return Guard(condition, first or Block(()), second)


def apply_recurrence_lanes(program: LoopProgram) -> LoopProgram:
    """Carry out every :class:`~polygym.codegen.common.loop_annotation.LaneRows` annotation."""
    turning = _RecurrenceLanes(program)
    body = turning.visit_node(program.body)
    if not turning.arrays:
        return replace(program, body=body)
    made = (turning.arrays, turning.extents, turning.statements)
    return remove_dead_copies(program.extended(body, *made), turning.backs)


@dataclass(frozen=True, slots=True)
class _DeclaredRowTile:
    """A tile with its array and the statements that copy to it and back, if anything does."""

    tile: RowTile
    array: Array
    copy_in: Statement
    copy_back: Statement


@dataclass(frozen=True, slots=True)
class BlockCounters:
    """The counters of new loops: over blocks, and of what is copied.

    ``column`` counts the columns of a tile, ``rows`` and ``columns`` go over square blocks of it.
    """

    block: str
    column: str
    rows: str
    columns: str

    @staticmethod
    def for_plan(plan: RowPlan, names: CodegenNames) -> BlockCounters:
        """Return names that nothing has yet."""
        rows, along = plan.rows.variable, plan.inner.variable
        wanted = (f"{along}_block", f"{along}_column", f"{rows}_square")
        return BlockCounters(*map(names.fresh, (*wanted, f"{along}_square")))


@dataclass(frozen=True, slots=True)
class _BlockRange:
    """Where a block is: rows from ``strip`` to ``last``, iterations from ``first`` to ``end``."""

    strip: Index
    last: Index
    first: Index
    end: Index


class _RecurrenceLanes:
    """Goes through a program, and collects the arrays and statements that it takes."""

    def __init__(self, program: LoopProgram) -> None:
        self.program = program
        self.names = CodegenNames(program.scop)
        self.arrays: list[Array] = []
        self.extents: list[tuple[Index, ...]] = []
        self.statements: list[Statement] = []
        self.backs: list[str] = []
        self.room = TUNING.max_row_tile_bytes
        self.share = _bytes_per_recurrence(program)

    def visit_node(self, node: Node) -> Node:
        match node:
            case Loop(annotation=LaneRows(copies=copies)):
                return self._transform_loop(node) or replace(node, annotation=UnrollAndJam(copies))
            case _:
                return map_children(node, self.visit_node)

    def _transform_loop(self, rows: Loop) -> Node | None:
        """Return what becomes of a loop over rows, None where it must be jammed.

        What runs once in a row runs row by row, between the recurrences.
        """
        parts = tuple(sequence_parts(rows.body))
        plans = [
            plan_rows(replace(rows, body=part), self.program, self.share)
            if isinstance(part, Loop)
            else None
            for part in parts
        ]
        known = [plan for plan in plans if plan is not None]
        once = [part for part, plan in zip(parts, plans, strict=True) if plan is None]
        heights = {plan.height for plan in known}
        if len(heights) != 1 or not all(isinstance(part, Instance) for part in once):
            return None
        (height,) = heights
        strip = self.names.fresh(f"{rows.variable}_strip")
        start = IndexVariable(strip)
        last = minimum(add_constant(start, height - 1), rows.upper)
        size = sum(tile.size(plan.height, plan.columns) for plan in known for tile in plan.tiles)
        if size > self.room or any(_common_iterations(plan, start, last) is None for plan in known):
            return None
        self.room -= size
        nodes: list[Node] = []
        for part, plan in zip(parts, plans, strict=True):
            if plan is None:
                nodes.append(Loop(rows.variable, start, last, 1, part))
                continue
            made = [self._tile(tile, plan) for tile in plan.tiles]
            counters = BlockCounters.for_plan(plan, self.names)
            strips = _StripLoops(plan, made, self._body(plan, made), counters)
            nodes.append(strips.node(start, last))
        inside = block_of(nodes)
        return Loop(strip, rows.lower, rows.upper, height, inside)

    def _tile(self, tile: RowTile, plan: RowPlan) -> _DeclaredRowTile:
        lengths = tile.lengths(plan.height, plan.columns)
        made = packed_tiles.declare_copy(tile.array, "rows", lengths, self.names)
        row_tile = _DeclaredRowTile(tile, *made)
        self.arrays.append(row_tile.array)
        self.extents.append(tuple(map(IndexConstant, lengths)))
        self.statements += [row_tile.copy_in, row_tile.copy_back]
        self.backs.append(row_tile.copy_back.name)
        return row_tile

    def _body(self, plan: RowPlan, made: Sequence[_DeclaredRowTile]) -> tuple[Statement, ...]:
        """Return the statements that use the tiles."""
        result = []
        for number, instance in enumerate(plan.instances):
            statement = self.program.scop.statement(instance.statement)
            name = self.names.fresh(f"{statement.name}_rows")
            reads = zip(statement.reads, plan.reads[number], strict=True)
            elsewhere = {a: _redirect_access(a, made[at.tile]) for a, at in reads if at is not None}
            at, write = plan.writes[number], statement.write
            write = write if at is None else _redirect_access(write, made[at.tile])
            body = replace_accesses(statement.body, elsewhere)
            result.append(replace(statement, name=name, write=write, body=body))
        self.statements += result
        return tuple(result)


def _bytes_per_recurrence(program: LoopProgram) -> int:
    """Return how many bytes the tiles of each recurrence may take, so that there is room for all.

    Where there are many, small ones are made as long as there is.
    """
    recurrences = sum(
        isinstance(part, Loop)
        for loop in loops_in(program.body)
        if isinstance(loop.annotation, LaneRows)
        for part in sequence_parts(loop.body)
    )
    return max(
        TUNING.min_recurrence_bytes,
        min(TUNING.max_recurrence_bytes, TUNING.max_row_tile_bytes // max(1, recurrences)),
    )


def _redirect_access(access: Access, made: _DeclaredRowTile) -> Access:
    return replace(access, array=made.array.name)


def _common_iterations(plan: RowPlan, start: Index, last: Index) -> tuple[Index, Index] | None:
    """Return the iterations of the inner loop that all rows of a strip have."""
    ends, name = (start, last), plan.rows.variable
    low = bound_over_copies(plan.inner.lower, name, ends, IndexOperator.MAXIMUM)
    high = bound_over_copies(plan.inner.upper, name, ends, IndexOperator.MINIMUM)
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True)
class _StripLoops:
    """Makes the loops over a strip of rows."""

    plan: RowPlan
    tiles: Sequence[_DeclaredRowTile]
    body: Sequence[Statement]
    counters: BlockCounters

    def node(self, start: Index, last: Index) -> Node:
        """Return what runs for the rows from start to last."""
        plan, along = self.plan, self.plan.inner
        shared = _common_iterations(plan, start, last)
        assert shared is not None
        low, high = shared
        column = self.counters.block
        end = minimum(add_constant(IndexVariable(column), plan.columns - 1), high)
        block = self._block(_BlockRange(start, last, IndexVariable(column), end))
        parts: list[Node] = [Loop(column, low, high, plan.columns, block)]
        own = replace(plan.rows, lower=start, upper=last, annotation=SEQUENTIAL_LOOP)
        depends = depends_on(along.lower, own.variable), depends_on(along.upper, own.variable)
        if depends[0]:
            before = replace(along, upper=minimum(add_constant(low, -1), along.upper))
            parts.insert(0, replace(own, body=before))
        if depends[1]:
            # Where nothing is shared, all of the iterations are left, but none before the first.
            after = maximum(add_constant(high, 1), low if depends[0] else along.lower)
            parts.append(replace(own, body=replace(along, lower=after)))
        return block_of(parts)

    def _block(self, place: _BlockRange) -> Node:
        """Return what runs for a block of columns."""
        before = [self._fill_loops(tile, place) for tile in self.tiles]
        written = [made for made in self.tiles if made.tile.written is not None]
        after = [self._copy_back_loops(made, place) for made in written]
        parts = [node for node in before if node is not None]
        return Block((*parts, self._compute_loops(place), *after))

    def _compute_loops(self, place: _BlockRange) -> Node:
        plan = self.plan
        annotation = plan.rows.annotation
        assert isinstance(annotation, LaneRows)
        instances = [self._instance(k, own, place) for k, own in enumerate(plan.instances)]
        pairs = zip(plan.instances, self.body, strict=True)
        renamed = {instance.statement: statement.name for instance, statement in pairs}
        inside = block_of(instances)
        inner = with_renamed_registers(plan.inner, renamed)
        along = replace(inner, lower=place.first, upper=place.end, body=inside)
        vectors = VectorLoop(annotation.bits, annotation.count)
        return Loop(plan.rows.variable, place.strip, place.last, 1, along, vectors)

    def _instance(self, number: int, instance: Instance, place: _BlockRange) -> Instance:
        plan = self.plan

        def moved(subscripts: tuple[Index, ...], at: TileReference | None) -> tuple[Index, ...]:
            return subscripts if at is None else self._tile_subscripts(at, subscripts, place)

        return Instance(
            self.body[number].name,
            instance.iterators,
            moved(instance.write, plan.writes[number]),
            tuple(map(moved, instance.reads, plan.reads[number])),
        )

    def _tile_subscripts(
        self, at: TileReference, subscripts: tuple[Index, ...], place: _BlockRange
    ) -> tuple[Index, ...]:
        """Return where in its tile an element is."""
        tile = self.tiles[at.tile].tile
        least = least_column(tile, self.plan.inner.variable, place.first, place.end)
        row = subtract_indices(IndexVariable(self.plan.rows.variable), place.strip)
        return subtract_indices(subscripts[-1], least), add_constant(row, at.row)

    def _fill_loops(self, made: _DeclaredRowTile, place: _BlockRange) -> Node | None:
        """Return the loops that fill a tile, if anything has to be in it."""
        tile, length = made.tile, subtract_indices(place.end, place.first)
        low: Index
        high: Index
        match tile.prefill:
            case TilePrefill.NONE:
                return None
            case TilePrefill.ALL:
                low, high = IndexConstant(0), _offset_index(length, tile.span)
            case TilePrefill.IN_FRONT if tile.direction > 0:
                low, high = IndexConstant(0), IndexConstant(tile.span - 1)
            case TilePrefill.IN_FRONT:
                low, high = _offset_index(length, 1), _offset_index(length, tile.span)
        return self._copy_loops(made, place, low, high, back=False)

    def _copy_back_loops(self, made: _DeclaredRowTile, place: _BlockRange) -> Node:
        """Return the loops that copy what was written to the array."""
        assert made.tile.written is not None
        first, length = IndexConstant(made.tile.written), subtract_indices(place.end, place.first)
        last = _offset_index(length, made.tile.written)
        return self._copy_loops(made, place, first, last, back=True)

    def _copy_loops(
        self, made: _DeclaredRowTile, place: _BlockRange, low: Index, high: Index, *, back: bool
    ) -> Node:
        """Return the loops that copy columns of a tile, in square blocks."""
        tile, counters, rows = made.tile, self.counters, self.plan.rows.variable
        down = counters.column
        least = least_column(tile, self.plan.inner.variable, place.first, place.end)
        there = (*tile.rows, add_indices(least, IndexVariable(down)))
        here = (IndexVariable(down), subtract_indices(IndexVariable(rows), place.strip))
        statement = made.copy_back if back else made.copy_in
        write, read = (there, here) if back else (here, there)
        node: Node = Instance(statement.name, there, write, (read,))
        line = CACHE_LINE // tile.array.type.size
        blocks = []
        # The loop along rows of the tile is the inner one: what is turned looks for that.
        for variable, counter, first, last, falls in (
            (rows, counters.rows, place.strip, add_constant(place.last, tile.extra_rows), False),
            (down, counters.columns, low, high, tile.direction < 0),
        ):
            length = constant_difference(last, first)
            if length is not None and length < line:
                node = Loop(variable, first, last, 1, node)
                continue
            begin: Index = IndexVariable(counter)
            begin = subtract_indices(first, begin) if falls else begin
            end = minimum(add_constant(begin, line - 1), last)
            node = Loop(variable, begin, end, 1, node)
            bounds = _descending_bounds(first, last, line) if falls else (first, last)
            blocks.append((counter, *bounds))
        for counter, first, last in blocks:
            node = Loop(counter, first, last, line, node)
        return node


def _descending_bounds(first: Index, last: Index, step: int) -> tuple[Index, Index]:
    """Return the bounds of a counter that falls from the last whole step after first to first.

    What is counted is ``first`` minus the counter: with 0, 47 and 16 that goes from -32 to 0.
    """
    steps = IndexOperator.DIVIDE_FLOOR(subtract_indices(last, first), IndexConstant(step))
    return IndexOperator.MULTIPLY(IndexConstant(-step), steps), IndexConstant(0)


def _offset_index(index: Index, amount: int) -> Index:
    return add_indices(index, IndexConstant(amount))


PASS = loop_pass(
    "recurrence_lanes",
    "recurrences along rows vectorized across rows, through transposed tiles (pack=on)",
    apply_recurrence_lanes,
    lambda mapping: mapping.pack,
)
