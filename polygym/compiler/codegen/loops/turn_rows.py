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
cache (:mod:`polygym.compiler.codegen.llvm.emit_turn`), and what is computed on its way back. Blocks
of a tile are copied in the order of the recurrence, backwards where it runs backwards: a processor
foresees what goes on in memory, in either direction, and not what turns to and fro.

Side conditions: the iterations of the loop over rows are independent, which its annotation says;
each row keeps its order. What goes through tiles, and that nothing else touches it meanwhile, is
decided in :mod:`polygym.compiler.codegen.loops.row_plan`. Where the bounds of the inner loop depend
on the row, blocks are of the columns that all rows of a strip have, and the others run row by row
before and after, as in :mod:`polygym.compiler.codegen.loops.jam`.

What nobody reads then, nor sees afterwards, is not copied back
(:mod:`polygym.compiler.codegen.loops.dead_copies`).

A loop for which there is no such plan is jammed instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, Jam, Rows, Vector
from polygym.compiler.codegen.common.packable import LINE
from polygym.compiler.codegen.loops.copying import copying, copying_back
from polygym.compiler.codegen.loops.dead_copies import without_dead_copies
from polygym.compiler.codegen.loops.index import maximum, mentions, minimum, plus
from polygym.compiler.codegen.loops.ir import (
    Block,
    Index,
    IndexOperator,
    Instance,
    Loop,
    LoopProgram,
    Node,
    Number,
    Operation,
    Variable,
    loops_in,
    rebuilt,
)
from polygym.compiler.codegen.loops.jam import extreme_of
from polygym.compiler.codegen.loops.linear import difference, minus, total
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import parts_of
from polygym.compiler.codegen.loops.row_plan import (
    Filled,
    InTile,
    RowPlan,
    RowTile,
    least_column,
    planned_rows,
)
from polygym.compiler.codegen.loops.tile_pack import holding
from polygym.compiler.codegen.loops.tiles import declared_tile
from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.replacing import replace_accesses
from polygym.compiler.ir.scop import Array, Statement

_MOST_ALTOGETHER = 256 << 10
_LEAST_ROOM, _MOST_ROOM = 24 << 10, 128 << 10  # for one recurrence, of a level 2 cache of 512 KB


def turn_rows(program: LoopProgram) -> LoopProgram:
    """Carry out every :class:`~polygym.compiler.codegen.common.loop_annotation.Rows` annotation."""
    turning = _Turning(program)
    body = turning.node(program.body)
    if not turning.arrays:
        return replace(program, body=body)
    scop = replace(
        program.scop,
        arrays=(*program.scop.arrays, *turning.arrays),
        statements=(*program.scop.statements, *turning.statements),
    )
    extents = (*program.extents, *turning.extents)
    found = replace(program, scop=scop, body=body, extents=extents)
    return without_dead_copies(found, turning.backs)


@dataclass(frozen=True, slots=True)
class _Made:
    """A tile with its array and the statements that copy to it and back, if anything does."""

    tile: RowTile
    array: Array
    there: Statement
    back: Statement


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of new loops: over blocks, and of what is copied.

    ``column`` counts the columns of a tile, ``rows`` and ``columns`` go over square blocks of it.
    """

    block: str
    column: str
    rows: str
    columns: str

    @staticmethod
    def of(plan: RowPlan, names: Names) -> Counters:
        """Return names that nothing has yet."""
        rows, along = plan.rows.variable, plan.along.variable
        wanted = (f"{along}_block", f"{along}_column", f"{rows}_square")
        return Counters(*map(names.unused, (*wanted, f"{along}_square")))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block is: rows from ``strip`` to ``last``, iterations from ``first`` to ``end``."""

    strip: Index
    last: Index
    first: Index
    end: Index


class _Turning:
    """Goes through a program, and collects the arrays and statements that it takes."""

    def __init__(self, program: LoopProgram) -> None:
        self.program = program
        self.names = Names(program.scop)
        self.arrays: list[Array] = []
        self.extents: list[tuple[Index, ...]] = []
        self.statements: list[Statement] = []
        self.backs: list[str] = []
        self.room = _MOST_ALTOGETHER
        self.share = _share(program)

    def node(self, node: Node) -> Node:
        match node:
            case Loop(annotation=Rows(copies=copies)):
                return self._turned(node) or replace(node, annotation=Jam(copies))
            case _:
                return rebuilt(node, self.node)

    def _turned(self, rows: Loop) -> Node | None:
        """Return what becomes of a loop over rows, None where it must be jammed.

        What runs once in a row runs row by row, between the recurrences.
        """
        parts = tuple(parts_of(rows.body))
        plans = [
            planned_rows(replace(rows, body=part), self.program, self.share)
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
        strip = self.names.unused(f"{rows.variable}_strip")
        start = Variable(strip)
        last = minimum(plus(start, height - 1), rows.upper)
        size = sum(tile.size(plan.height, plan.columns) for plan in known for tile in plan.tiles)
        if size > self.room or any(_shared(plan, start, last) is None for plan in known):
            return None
        self.room -= size
        found: list[Node] = []
        for part, plan in zip(parts, plans, strict=True):
            if plan is None:
                found.append(Loop(rows.variable, start, last, 1, part))
                continue
            made = [self._tile(tile, plan) for tile in plan.tiles]
            counters = Counters.of(plan, self.names)
            found.append(_Strip(plan, made, self._body(plan, made), counters).node(start, last))
        inside = Block(tuple(found)) if len(found) > 1 else found[0]
        return Loop(strip, rows.lower, rows.upper, height, inside)

    def _tile(self, tile: RowTile, plan: RowPlan) -> _Made:
        lengths = tile.lengths(plan.height, plan.columns)
        name = self.names.unused(f"{tile.array.name}_rows")
        array = declared_tile(tile.array, name, lengths)
        self.arrays.append(array)
        self.extents.append(tuple(map(Number, lengths)))
        iterators = tuple(self.names.unused(f"{name}_{k}") for k in range(tile.array.rank))
        back = self.names.unused(f"{name}_back")
        found = _Made(
            tile,
            array,
            copying(tile.array, name, iterators, ["0", "0"]),
            copying_back(tile.array, name, back, iterators, ["0", "0"]),
        )
        self.statements += [found.there, found.back]
        self.backs.append(back)
        return found

    def _body(self, plan: RowPlan, made: Sequence[_Made]) -> tuple[Statement, ...]:
        """Return the statements that use the tiles."""
        found = []
        for number, instance in enumerate(plan.instances):
            statement = self.program.scop.statement(instance.statement)
            name = self.names.unused(f"{statement.name}_rows")
            reads = zip(statement.reads, plan.reads[number], strict=True)
            elsewhere = {a: _moved(a, made[at.tile]) for a, at in reads if at is not None}
            place = plan.writes[number]
            write = statement.write if place is None else _moved(statement.write, made[place.tile])
            body = replace_accesses(statement.body, elsewhere)
            found.append(replace(statement, name=name, write=write, body=body))
        self.statements += found
        return tuple(found)


def _share(program: LoopProgram) -> int:
    """Return how many bytes the tiles of each recurrence may take, so that there is room for all.

    Where there are many, small ones are made as long as there is.
    """
    recurrences = sum(
        isinstance(part, Loop)
        for loop in loops_in(program.body)
        if isinstance(loop.annotation, Rows)
        for part in parts_of(loop.body)
    )
    return max(_LEAST_ROOM, min(_MOST_ROOM, _MOST_ALTOGETHER // max(1, recurrences)))


def _moved(access: Access, made: _Made) -> Access:
    return replace(access, array=made.array.name)


def _shared(plan: RowPlan, start: Index, last: Index) -> tuple[Index, Index] | None:
    """Return the iterations of the inner loop that all rows of a strip have."""
    ends, name = (start, last), plan.rows.variable
    low = extreme_of(plan.along.lower, name, ends, IndexOperator.MAXIMUM)
    high = extreme_of(plan.along.upper, name, ends, IndexOperator.MINIMUM)
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True)
class _Strip:
    """Makes the loops over a strip of rows."""

    plan: RowPlan
    made: Sequence[_Made]
    body: Sequence[Statement]
    counters: Counters

    def node(self, start: Index, last: Index) -> Node:
        """Return what runs for the rows from start to last."""
        plan, along = self.plan, self.plan.along
        shared = _shared(plan, start, last)
        assert shared is not None
        low, high = shared
        column = self.counters.block
        end = minimum(plus(Variable(column), plan.columns - 1), high)
        block = Loop(
            column, low, high, plan.columns, self._block(_Place(start, last, Variable(column), end))
        )
        parts: list[Node] = [block]
        own = replace(plan.rows, lower=start, upper=last, annotation=SEQUENTIAL)
        depends = mentions(along.lower, own.variable), mentions(along.upper, own.variable)
        if depends[0]:
            before = replace(along, upper=minimum(plus(low, -1), along.upper))
            parts.insert(0, replace(own, body=before))
        if depends[1]:
            # Where nothing is shared, all of the iterations are left, but none before the first.
            after = maximum(plus(high, 1), low if depends[0] else along.lower)
            parts.append(replace(own, body=replace(along, lower=after)))
        return parts[0] if len(parts) == 1 else Block(tuple(parts))

    def _block(self, place: _Place) -> Node:
        """Return what runs for a block of columns."""
        before = [self._fill(one, place) for one in self.made]
        after = [self._back(one, place) for one in self.made if one.tile.written is not None]
        parts = [one for one in before if one is not None]
        return Block((*parts, self._computed(place), *after))

    def _computed(self, place: _Place) -> Node:
        plan = self.plan
        annotation = plan.rows.annotation
        assert isinstance(annotation, Rows)
        instances = tuple(
            self._instance(number, instance, place)
            for number, instance in enumerate(plan.instances)
        )
        renamed = {
            instance.statement: statement.name
            for instance, statement in zip(plan.instances, self.body, strict=True)
        }
        inside: Node = Block(instances) if len(instances) > 1 else instances[0]
        along = replace(
            holding(plan.along, renamed), lower=place.first, upper=place.end, body=inside
        )
        return Loop(
            plan.rows.variable,
            place.strip,
            place.last,
            1,
            along,
            Vector(annotation.bits, annotation.count),
        )

    def _instance(self, number: int, instance: Instance, place: _Place) -> Instance:
        plan = self.plan

        def moved(subscripts: tuple[Index, ...], at: InTile | None) -> tuple[Index, ...]:
            return subscripts if at is None else self._in_tile(at, subscripts, place)

        return Instance(
            self.body[number].name,
            instance.iterators,
            moved(instance.write, plan.writes[number]),
            tuple(map(moved, instance.reads, plan.reads[number])),
        )

    def _in_tile(
        self, at: InTile, subscripts: tuple[Index, ...], place: _Place
    ) -> tuple[Index, ...]:
        """Return where in its tile an element is."""
        tile = self.made[at.tile].tile
        least = least_column(tile, self.plan.along.variable, place.first, place.end)
        row = Variable(self.plan.rows.variable)
        return minus(subscripts[-1], least), plus(minus(row, place.strip), at.row)

    def _fill(self, made: _Made, place: _Place) -> Node | None:
        """Return the loops that fill a tile, if anything has to be in it."""
        tile, length = made.tile, minus(place.end, place.first)
        low: Index
        high: Index
        match tile.filled:
            case Filled.NONE:
                return None
            case Filled.ALL:
                low, high = Number(0), _plus(length, tile.span)
            case Filled.IN_FRONT if tile.direction > 0:
                low, high = Number(0), Number(tile.span - 1)
            case Filled.IN_FRONT:
                low, high = _plus(length, 1), _plus(length, tile.span)
        return self._copied(made, place, low, high, back=False)

    def _back(self, made: _Made, place: _Place) -> Node:
        """Return the loops that copy what was written to the array."""
        assert made.tile.written is not None
        first, length = Number(made.tile.written), minus(place.end, place.first)
        return self._copied(made, place, first, _plus(length, made.tile.written), back=True)

    def _copied(self, made: _Made, place: _Place, low: Index, high: Index, *, back: bool) -> Node:
        """Return the loops that copy columns of a tile, in square blocks."""
        tile, counters, rows = made.tile, self.counters, self.plan.rows.variable
        down = counters.column
        least = least_column(tile, self.plan.along.variable, place.first, place.end)
        there = (*tile.rows, total(least, Variable(down)))
        here = (Variable(down), minus(Variable(rows), place.strip))
        statement = made.back if back else made.there
        write, read = (there, here) if back else (here, there)
        node: Node = Instance(statement.name, there, write, (read,))
        line = LINE // tile.array.type.size
        blocks = []
        # The loop along rows of the tile is the inner one: what is turned looks for that.
        for variable, counter, first, last, falls in (
            (rows, counters.rows, place.strip, plus(place.last, tile.beyond), False),
            (down, counters.columns, low, high, tile.direction < 0),
        ):
            length = difference(last, first)
            if length is not None and length < line:
                node = Loop(variable, first, last, 1, node)
                continue
            begin: Index = minus(first, Variable(counter)) if falls else Variable(counter)
            end = minimum(plus(begin, line - 1), last)
            node = Loop(variable, begin, end, 1, node)
            blocks.append((counter, *(_falling(first, last, line) if falls else (first, last))))
        for counter, first, last in blocks:
            node = Loop(counter, first, last, line, node)
        return node


def _falling(first: Index, last: Index, step: int) -> tuple[Index, Index]:
    """Return the bounds of a counter that falls from the last whole step after first to first.

    What is counted is ``first`` minus the counter: with 0, 47 and 16 that goes from -32 to 0.
    """
    steps = Operation(IndexOperator.DIVIDE_FLOOR, (minus(last, first), Number(step)))
    return Operation(IndexOperator.MULTIPLY, (Number(-step), steps)), Number(0)


def _plus(index: Index, amount: int) -> Index:
    return total(index, Number(amount))
