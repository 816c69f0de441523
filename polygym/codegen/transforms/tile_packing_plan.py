"""Plan of tile packing: tiles that get small transposed copies, and the place of each copy.

Nothing is changed here: a plan is a value, one for each innermost nest of a program
(:mod:`polygym.codegen.transforms.tile_packing` carries it out). ::

    for jt, kt: for i: for j in jt (vectors): for k in kt: C[i][j] += A[i][k] * B[j][k]

The vector runs along j and reads B down a column. From i on inwards the loops are a box, in which B
is read at (j, k): so a copy of the tile can be made before the loop i, inside jt and kt.

A copy is made where the loops from there on inwards are a box: their bounds do not depend on each
other, and each subscript of the read is one of their counters plus something that they share. The
innermost place is taken at which the copy has a size that is known and small enough, at which no
loop inside runs in threads, at which each element is read 16 times or more, and the same elements
are copied twice at most. Side condition, as for whole arrays: nothing in this part of the program
writes the array. No condition stands between the place and the read.

An array that is written in this part may be copied too, inside of the loops that other nests share:
if what this nest writes of it, in the loops from the place on inwards, are other elements
(:mod:`polygym.codegen.analysis.disjointness`). There is no copy of the whole array in its place, so
the same elements may be copied often, and the loops need not be a box: what is copied is the box
around them. Other threads may be writing what it has beyond what is read; nobody looks at that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import assert_never

from polygym.codegen.analysis.disjointness import PathCondition, ProgramPoint, box_hull
from polygym.codegen.common.loop_annotation import ParallelLoop, UnrollAndJam, VectorLoop
from polygym.codegen.common.packing_candidates import dimension_to_transpose
from polygym.codegen.loopir import ir, nests
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on, strides_along
from polygym.codegen.transforms.packed_tiles import tile_lengths
from polygym.codegen.transforms.vectorization import statements_in
from polygym.ir.scop import Array
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Loops directly inside each other, with nothing but instances inside of them.

    ``outer`` are the loops around the nest; inside those from ``unconditional_loops`` on there is
    no condition. ``written`` are the arrays that the part of the program writes, ``conditions``
    what holds around the nest.
    """

    outer: tuple[ir.Loop, ...]
    loops: tuple[ir.Loop, ...]
    instances: tuple[ir.Instance, ...]
    unconditional_loops: int
    written: frozenset[str]
    conditions: tuple[PathCondition, ...] = ()

    @property
    def all_loops(self) -> tuple[ir.Loop, ...]:
        """All loops around the instances, the outermost first."""
        return (*self.outer, *self.loops)


@dataclass(frozen=True, slots=True)
class PlannedTile:
    """A copy of a tile of an array, made before the loop number ``depth`` around the instances.

    The ``loops`` run over its dimensions, which have these ``lengths``; ``subscripts`` are those of
    the read.
    """

    array: Array
    subscripts: tuple[ir.Index, ...]
    depth: int
    loops: tuple[ir.Loop, ...]
    lengths: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return prod(self.lengths) * self.array.type.size


@dataclass(frozen=True, slots=True)
class NestPlan:
    """The tiles of a nest, and for every read of every instance the number of its tile, if any."""

    tiles: tuple[PlannedTile, ...]
    reads: tuple[tuple[int | None, ...], ...]


def plan_tiles(program: ir.LoopProgram) -> tuple[NestPlan, ...]:
    """Return the plans of all innermost nests, in their order in the text.

    The stack has room for so many bytes altogether, which the first ones take.
    """
    room = TUNING.max_total_tile_bytes
    plans = []
    for nest in innermost_nests(program):
        plan = _plan_nest(nest, program, room)
        room -= sum(tile.size for tile in plan.tiles)
        plans.append(plan)
    return tuple(plans)


def innermost_nests(program: ir.LoopProgram) -> Iterator[LoopNest]:
    """Yield the innermost nests of a program, in their order in the text."""
    for part in nests.sequence_parts(program.body):
        names = statements_in(part)
        written = frozenset(program.scop.statement(name).write.array for name in names)
        yield from _nests(part, _NestContext(written))


@dataclass(frozen=True, slots=True)
class _NestContext:
    """What is around a node, as a nest has it."""

    written: frozenset[str]
    outer: tuple[ir.Loop, ...] = ()
    unconditional_loops: int = 0
    conditions: tuple[PathCondition, ...] = ()

    def with_condition(self, condition: ir.Index, *, holds: bool) -> _NestContext:
        """Return the same with a condition."""
        depth = len(self.outer)
        result = (*self.conditions, PathCondition(depth, condition, holds))
        return replace(self, unconditional_loops=depth, conditions=result)


def _nests(node: ir.Node, around: _NestContext) -> Iterator[LoopNest]:
    match node:
        case ir.Block(children):
            for child in children:
                yield from _nests(child, around)
        case ir.Guard(condition, then, otherwise):
            yield from _nests(then, around.with_condition(condition, holds=True))
            if otherwise is not None:
                yield from _nests(otherwise, around.with_condition(condition, holds=False))
        case ir.Instance():
            return
        case ir.Loop():
            loops = nests.perfect_nest(node)
            inside = loops[-1].body
            instances = nests.only_instances(inside)
            if instances is None:
                yield from _nests(inside, replace(around, outer=(*around.outer, *loops)))
            else:
                outer, start, known = around.outer, around.unconditional_loops, around.conditions
                yield LoopNest(outer, loops, instances, start, around.written, known)
        case _:
            assert_never(node)


def _plan_nest(nest: LoopNest, program: ir.LoopProgram, max_bytes: int) -> NestPlan:
    """Return the tiles of a nest that fit into so many bytes."""
    scop = program.scop
    vectors = (loop.variable for loop in nest.loops if isinstance(loop.annotation, VectorLoop))
    vector, names = next(vectors, None), {instance.statement for instance in nest.instances}
    if vector is None or len(names) < len(nest.instances):
        return NestPlan((), ())
    tiles: dict[tuple[str, tuple[ir.Index, ...]], PlannedTile] = {}
    reads: list[tuple[int | None, ...]] = []
    for instance in nest.instances:
        statement = scop.statement(instance.statement)
        is_fit = statement.name not in program.guarded_statements and not any(
            read.gathered for read in statement.reads
        )
        numbers: list[int | None] = []
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            key = (access.array, subscripts)
            if is_fit and key not in tiles:
                tile = _plan_tile(nest, vector, scop.array(access.array), subscripts, program)
                if tile is not None and tile.size <= max_bytes:
                    tiles[key], max_bytes = tile, max_bytes - tile.size
            numbers.append(list(tiles).index(key) if is_fit and key in tiles else None)
        reads.append(tuple(numbers))
    return NestPlan(tuple(tiles.values()), tuple(reads))


def _plan_tile(
    nest: LoopNest,
    vector: str,
    array: Array,
    subscripts: tuple[ir.Index, ...],
    program: ir.LoopProgram,
) -> PlannedTile | None:
    """Return the tile of a read, copied as far inside as it can be; None where it cannot."""
    is_written = array.name in nest.written
    first = max(nest.unconditional_loops, len(nest.outer) if is_written else 0)
    steps = strides_along(subscripts, vector)
    if steps is None or dimension_to_transpose(steps) is None:
        return None
    for depth in reversed(range(first, len(nest.all_loops))):
        outer, inner = nest.all_loops[:depth], nest.all_loops[depth:]
        loops = _dimension_loops(inner, vector, subscripts)
        if loops is not None and is_written:
            loops = box_hull(inner, loops)
        if loops is None or not (is_written or _is_box(inner)):
            continue
        if any(isinstance(loop.annotation, UnrollAndJam | VectorLoop) for loop in outer):
            continue  # its iterations run together, and there is one tile
        counts = {loop.variable: max_trip_count(loop) for loop in inner}
        if not all(counts.values()):
            continue  # unknown, or a loop that never runs
        sizes = tuple(counts[loop.variable] or 0 for loop in loops)
        if not is_written and _copy_repeats(outer, loops, subscripts) > TUNING.max_tile_copies:
            continue
        used = {loop.variable for loop in loops}
        again = prod(count or 0 for name, count in counts.items() if name not in used)
        if again < TUNING.min_reuse or prod(sizes) * array.type.size > TUNING.max_tile_bytes:
            continue
        if is_written and not _is_unwritten(nest, depth, array, subscripts, loops, program):
            continue
        lengths = tile_lengths(loops, sizes, subscripts, array.type.size)
        return PlannedTile(array, subscripts, depth, loops, lengths)
    return None


def _is_unwritten(
    nest: LoopNest,
    depth: int,
    array: Array,
    subscripts: tuple[ir.Index, ...],
    box: tuple[ir.Loop, ...],
    program: ir.LoopProgram,
) -> bool:
    """Whether a nest writes nothing of what it reads of an array, and the box is inside of it."""
    scop, inner = program.scop, nest.all_loops[depth:]
    writes = [(scop.statement(own.statement).write, own.write) for own in nest.instances]
    if any(isinstance(loop.annotation, ParallelLoop) for loop in inner):
        return False
    if any(access.gathered for access, _ in writes):
        return False
    written = [place for access, place in writes if access.array == array.name]
    names = tuple(parameter.name for parameter in scop.parameters)
    sizes = None if program.sizes is None else dict(program.sizes)
    around = ProgramPoint(nest.all_loops[:depth], nest.conditions, names, sizes)
    extents = program.extents[scop.arrays.index(array)]
    return around.are_in_bounds(extents, subscripts, box) and around.are_disjoint(
        written, subscripts, inner
    )


def _copy_repeats(
    outer: Sequence[ir.Loop], loops: Sequence[ir.Loop], subscripts: Sequence[ir.Index]
) -> float:
    """Return how often loops around a tile have the same elements copied, at most."""
    needed = [*subscripts, *(bound for loop in loops for bound in (loop.lower, loop.upper))]
    times = 1.0
    for loop in reversed(outer):
        if any(depends_on(index, loop.variable) for index in needed):
            needed += (loop.lower, loop.upper)
        else:
            times *= max_trip_count(loop) or inf
    return times


def _dimension_loops(
    inner: Sequence[ir.Loop], vector: str, subscripts: tuple[ir.Index, ...]
) -> tuple[ir.Loop, ...] | None:
    """Return the loops whose counters the subscripts are, plus something that they share.

    The one that runs in vectors comes last.
    """
    loops: list[ir.Loop] = []
    for subscript in subscripts:
        own = [loop for loop in inner if depends_on(subscript, loop.variable)]
        if not own:
            continue
        if len(own) > 1 or own[0] in loops or coefficient(subscript, own[0].variable) != 1:
            return None
        loops.append(own[0])
    if all(loop.variable != vector for loop in loops) or len(loops) < 2:
        return None
    return tuple(sorted(loops, key=lambda loop: loop.variable == vector))


def _is_box(inner: Sequence[ir.Loop]) -> bool:
    """Whether loops have bounds that do not depend on each other, and run in one thread."""
    return all(
        loop.step == 1
        and not isinstance(loop.annotation, ParallelLoop)
        and not any(
            depends_on(bound, other.variable)
            for bound in (loop.lower, loop.upper)
            for other in inner
        )
        for loop in inner
    )


def max_trip_count(loop: ir.Loop) -> int | None:
    """Return how many iterations a loop has at most; None where that is not known."""
    result = [length + 1 for _, _, length in nests.constant_spans(loop)]
    return max(0, min(result)) if result else None
