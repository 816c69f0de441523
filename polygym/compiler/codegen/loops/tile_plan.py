"""Which tiles of which reads go through small turned copies, and where these are made.

Nothing is changed here: a plan is a value, one for each innermost nest of a program
(:mod:`polygym.compiler.codegen.loops.tile_pack` carries it out). ::

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
(:mod:`polygym.compiler.codegen.loops.steady`). There is no copy of the whole array in its place, so
the same elements may be copied often, and the loops need not be a box: what is copied is the box
around them. Other threads may be writing what it has beyond what is read; nobody looks at that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import assert_never

from polygym.compiler.codegen.common.loop_annotation import Jam, Parallel, Vector
from polygym.compiler.codegen.common.packable import OFTEN, turned_dimension
from polygym.compiler.codegen.loops.index import coefficient, mentions
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    Instance,
    Loop,
    LoopProgram,
    Node,
)
from polygym.compiler.codegen.loops.lanes import statements_in
from polygym.compiler.codegen.loops.nests import chain, instances_alone, parts_of, spans
from polygym.compiler.codegen.loops.steady import Condition, Place, hull
from polygym.compiler.codegen.loops.tiles import lengths_of
from polygym.compiler.ir.scop import Array

MOST_TIMES = 2
MOST_BYTES = 256 << 10
MOST_ALTOGETHER = 512 << 10


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops directly inside each other, with nothing but instances inside of them.

    ``outer`` are the loops around the nest; inside those from ``certain`` on there is no condition.
    ``written`` are the arrays that the part of the program writes, ``conditions`` what holds around
    the nest.
    """

    outer: tuple[Loop, ...]
    loops: tuple[Loop, ...]
    instances: tuple[Instance, ...]
    certain: int
    written: frozenset[str]
    conditions: tuple[Condition, ...] = ()

    @property
    def around(self) -> tuple[Loop, ...]:
        """All loops around the instances, the outermost first."""
        return (*self.outer, *self.loops)


@dataclass(frozen=True, slots=True)
class PlannedTile:
    """A copy of a tile of an array, made before the loop number ``depth`` around the instances.

    The ``loops`` run over its dimensions, which have these ``lengths``; ``subscripts`` are those of
    the read.
    """

    array: Array
    subscripts: tuple[Index, ...]
    depth: int
    loops: tuple[Loop, ...]
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


def planned_tiles(program: LoopProgram) -> tuple[NestPlan, ...]:
    """Return the plans of all innermost nests, in their order in the text.

    The stack has room for so many bytes altogether, which the first ones take.
    """
    guarded = frozenset(name for name, _ in program.guarded)
    room = MOST_ALTOGETHER
    plans = []
    for nest in nests_in(program):
        plan = _plan(nest, program, guarded, room)
        room -= sum(tile.size for tile in plan.tiles)
        plans.append(plan)
    return tuple(plans)


def nests_in(program: LoopProgram) -> Iterator[Nest]:
    """Yield the innermost nests of a program, in their order in the text."""
    for part in parts_of(program.body):
        names = statements_in(part)
        written = frozenset(program.scop.statement(name).write.array for name in names)
        yield from _nests(part, _Around(written))


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a node, as a nest has it."""

    written: frozenset[str]
    outer: tuple[Loop, ...] = ()
    certain: int = 0
    conditions: tuple[Condition, ...] = ()

    def within(self, condition: Index, *, holds: bool) -> _Around:
        """Return the same with a condition."""
        depth = len(self.outer)
        found = (*self.conditions, Condition(depth, condition, holds))
        return replace(self, certain=depth, conditions=found)


def _nests(node: Node, around: _Around) -> Iterator[Nest]:
    match node:
        case Block(children):
            for child in children:
                yield from _nests(child, around)
        case Guard(condition, then, otherwise):
            yield from _nests(then, around.within(condition, holds=True))
            if otherwise is not None:
                yield from _nests(otherwise, around.within(condition, holds=False))
        case Instance():
            return
        case Loop():
            loops = chain(node)
            inside = loops[-1].body
            instances = instances_alone(inside)
            if instances is None:
                yield from _nests(inside, replace(around, outer=(*around.outer, *loops)))
            else:
                yield Nest(
                    around.outer,
                    loops,
                    instances,
                    around.certain,
                    around.written,
                    around.conditions,
                )
        case _:
            assert_never(node)


def _plan(nest: Nest, program: LoopProgram, guarded: frozenset[str], room: int) -> NestPlan:
    """Return the tiles of a nest that fit into so many bytes."""
    scop = program.scop
    vector = next((one.variable for one in nest.loops if isinstance(one.annotation, Vector)), None)
    if vector is None or len({one.statement for one in nest.instances}) < len(nest.instances):
        return NestPlan((), ())
    found: dict[tuple[str, tuple[Index, ...]], PlannedTile] = {}
    reads: list[tuple[int | None, ...]] = []
    for instance in nest.instances:
        statement = scop.statement(instance.statement)
        is_fit = statement.name not in guarded and not any(r.gathered for r in statement.reads)
        numbers: list[int | None] = []
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            key = (access.array, subscripts)
            if is_fit and key not in found:
                tile = _tile(nest, vector, scop.array(access.array), subscripts, program)
                if tile is not None and tile.size <= room:
                    found[key], room = tile, room - tile.size
            numbers.append(list(found).index(key) if is_fit and key in found else None)
        reads.append(tuple(numbers))
    return NestPlan(tuple(found.values()), tuple(reads))


def _tile(
    nest: Nest, vector: str, array: Array, subscripts: tuple[Index, ...], program: LoopProgram
) -> PlannedTile | None:
    """Return the tile of a read, copied as far inside as it can be; None where it cannot."""
    is_written = array.name in nest.written
    first = max(nest.certain, len(nest.outer)) if is_written else nest.certain
    steps = [coefficient(subscript, vector) for subscript in subscripts]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or turned_dimension(known) is None:
        return None
    for depth in reversed(range(first, len(nest.around))):
        outer, inner = nest.around[:depth], nest.around[depth:]
        loops = _dimensions(inner, vector, subscripts)
        if loops is not None and is_written:
            loops = hull(inner, loops)
        elif not _is_box(inner):
            continue
        if loops is None:
            continue
        if any(isinstance(loop.annotation, Jam | Vector) for loop in outer):
            continue  # its iterations run together, and there is one tile
        counts = {loop.variable: iterations(loop) for loop in inner}
        if not all(counts.values()):
            continue  # unknown, or a loop that never runs
        sizes = tuple(counts[loop.variable] or 0 for loop in loops)
        if not is_written and _times(outer, loops, subscripts) > MOST_TIMES:
            continue
        used = {loop.variable for loop in loops}
        again = prod(count or 0 for name, count in counts.items() if name not in used)
        if again < OFTEN or prod(sizes) * array.type.size > MOST_BYTES:
            continue
        if is_written and not _is_steady(nest, depth, array, subscripts, loops, program):
            continue
        lengths = lengths_of(loops, sizes, subscripts, array.type.size)
        return PlannedTile(array, subscripts, depth, loops, lengths)
    return None


def _is_steady(
    nest: Nest,
    depth: int,
    array: Array,
    subscripts: tuple[Index, ...],
    box: tuple[Loop, ...],
    program: LoopProgram,
) -> bool:
    """Whether a nest writes nothing of what it reads of an array, and the box is inside of it."""
    scop, inner = program.scop, nest.around[depth:]
    writes = [(scop.statement(one.statement).write, one.write) for one in nest.instances]
    if any(isinstance(loop.annotation, Parallel) for loop in inner):
        return False
    if any(access.gathered for access, _ in writes):
        return False
    written = [place for access, place in writes if access.array == array.name]
    names = tuple(parameter.name for parameter in scop.parameters)
    sizes = None if program.sizes is None else dict(program.sizes)
    around = Place(nest.around[:depth], nest.conditions, names, sizes)
    extents = program.extents[scop.arrays.index(array)]
    return around.are_in(extents, subscripts, box) and around.are_others(written, subscripts, inner)


def _times(outer: Sequence[Loop], loops: Sequence[Loop], subscripts: Sequence[Index]) -> float:
    """Return how often loops around a tile have the same elements copied, at most."""
    needed = [*subscripts, *(bound for loop in loops for bound in (loop.lower, loop.upper))]
    times = 1.0
    for loop in reversed(outer):
        if any(mentions(index, loop.variable) for index in needed):
            needed += (loop.lower, loop.upper)
        else:
            times *= iterations(loop) or inf
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


def iterations(loop: Loop) -> int | None:
    """Return how many iterations a loop has at most; None where that is not known."""
    found = [length + 1 for _, _, length in spans(loop)]
    return max(0, min(found)) if found else None
