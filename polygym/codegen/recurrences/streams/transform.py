"""Streams: stores past the caches and prefetched loads for data used once.

::

    for j0 by 512 (parallel):                 for j0 by 512 (parallel):
      for i:                                    for i:
        for j = j0 .. j0 + 511 (vectors):         for j = j0 .. j0 + 511 (vectors):
          y[i][j] = a * x[i][j]         →           ask for x[i + 2][j]
                  + b * v[j];                       y[i][j] = a * x[i][j] + b * v[j]
          v[j] = y[i][j]                              past the caches;  v[j] = that value

**Past the caches.** A store to a line that is not in a cache reads the line first, and what it
pushes out has to be written: for an array that no cache holds that is two times the bytes in
place of one, and what the caches held is gone. Where a nest writes more bytes of an array than the
last cache has, each element about once, and never reads it, but for what an iteration has just
written and still has in a register, its vectors go to memory directly, line by line.

**Ahead.** A processor foresees loads that go on in memory. It does not where rows are read in
pieces, as above, or in the blocks of tiles that are turned
(:mod:`polygym.codegen.recurrences.recurrence_lanes.transform`): each piece begins with lines that
nobody has asked for. So while one piece is read the lines of the next ones are asked for, as many
pieces ahead as make 4 KB. That, too, is for reads of more than the last cache has, each element
about once.

Example, 4096 by 2160 floats on one core of an EPYC (Zen 4): the loop above takes 8.0 ms as it is,
5.9 with stores past the caches, 3.6 with both; the same in whole rows takes 4.8 and 3.7.

Side conditions: none. A store past the caches is a store, in order with those of its own thread,
and fences put it in order with others, where tasks begin and where they end
(:mod:`polygym.codegen.recurrences.streams.emit`); asking for a line changes no value. How often
something runs is an estimate, from the bounds of loops with the counters around them in the middle.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from polygym.codegen.analysis.footprint import InstancePath, instances_with_paths
from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, ParallelLoop, ScalarReplacement
from polygym.codegen.loopir import index_arithmetic, ir
from polygym.codegen.loopir.nests import sequence_parts
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.ir.expressions import Load, Update
from polygym.ir.scop import Array, Statement, StorageClass
from polygym.mapping.machine import LAST_LEVEL_CACHE, has_nontemporal_stores
from polygym.mapping.tuning_parameters import TUNING

_MIN_ELEMENT_BYTES = 4  # narrower numbers are rounded as they are stored
_STREAM_VECTOR_BYTES = (16, 32, 64)  # bytes that go past the caches at once

StreamedAccess = tuple[str, tuple[ir.Index, ...], ir.Lanes | None]
InstanceVisit = tuple[ir.Instance, InstancePath]


def apply_streams(program: ir.LoopProgram, min_bytes: int = LAST_LEVEL_CACHE) -> ir.LoopProgram:
    """Return a program that knows what goes past the caches, and what to ask for ahead.

    That matters for arrays of ``min_bytes`` bytes or more.
    """
    planner = _StreamPlanner(program, min_bytes)
    if not planner.large:
        return program
    past: set[str] = set()
    elsewhere: set[str] = set()
    ahead: dict[tuple[str, int], ir.Prefetch] = {}
    for nest in sequence_parts(program.body):
        visits = tuple(instances_with_paths(nest))
        own = set(planner.nontemporal_statements(nest, visits) if has_nontemporal_stores() else ())
        names = {instance.statement for instance, _ in visits}
        past |= own - elsewhere
        past -= names - own
        elsewhere |= names
        for prefetch in planner.prefetched_reads(visits, own):
            ahead.setdefault((prefetch.statement, prefetch.read), prefetch)
    return replace(
        program, nontemporal_stores=frozenset(past), prefetches=frozenset(ahead.values())
    )


@dataclass(frozen=True, slots=True)
class _LargeArray:
    """An array that no cache holds: its ``strides`` in elements, and how many ``elements``."""

    array: Array
    strides: tuple[int, ...]
    elements: int


class _StreamPlanner:
    """Looks at the nests of a program, one after the other."""

    def __init__(self, program: ir.LoopProgram, least: int) -> None:
        self.program, self.least = program, least
        self.sizes = dict(program.sizes or ())
        self.large = dict(self._large_arrays()) if program.sizes is not None else {}

    def _large_arrays(self) -> Iterator[tuple[str, _LargeArray]]:
        for array, extents in zip(self.program.scop.arrays, self.program.extents, strict=True):
            is_heap = array.storage_class in (StorageClass.ARGUMENT, StorageClass.SCRATCH)
            if not (is_heap and extents):
                continue
            sizes = [index_arithmetic.evaluate_index(extent, self.sizes) for extent in extents]
            if prod(sizes) * array.type.size >= self.least:
                strides = tuple(prod(sizes[place + 1 :]) for place in range(len(sizes)))
                yield array.name, _LargeArray(array, strides, prod(sizes))

    def nontemporal_statements(
        self, nest: ir.Node, visits: tuple[InstanceVisit, ...]
    ) -> Iterator[str]:
        """Yield the statements of a nest that write past the caches."""
        kept = _register_statements(nest)
        writers: defaultdict[str, list[InstanceVisit]] = defaultdict(list)
        for instance, way in visits:
            array = self._statement(instance).write.array
            if array in self.large:
                writers[array].append((instance, way))
        for array, own in writers.items():
            names = {instance.statement for instance, _ in own}
            if len(names) > 1 or names & kept or not self._is_touched_once(array, own):
                continue
            if not all(self._writes_vectors(instance) for instance, _ in own):
                continue
            if self._reads_only_own_values(nest, array):
                yield from names

    def _writes_vectors(self, instance: ir.Instance) -> bool:
        """Whether an instance writes neighbours in memory, in lanes or from a turned tile."""
        statement = self._statement(instance)
        if isinstance(statement.body, Update) or statement.write.gathered:
            return False
        if instance.lanes is None:
            return self._reads_tile(statement)
        size = self.large[statement.write.array].array.type.size
        *others, last = instance.write
        counter = instance.lanes.variable
        return (
            instance.lanes.width * size in _STREAM_VECTOR_BYTES
            and index_arithmetic.coefficient(last, counter) == 1
            and not any(index_arithmetic.depends_on(other, counter) for other in others)
        )

    def _reads_tile(self, statement: Statement) -> bool:
        """Whether a statement copies elements of a tile."""
        if not isinstance(statement.body, Load):
            return False
        array = self.program.scop.array(statement.body.access.array)
        return array.storage_class is StorageClass.TILE

    def _reads_only_own_values(self, node: ir.Node, array: str) -> bool:
        """Whether every read of an array is of what stands before it in the same iteration.

        No loop and no condition stand between.
        """
        written: set[StreamedAccess] = set()
        for part in sequence_parts(node):
            if not isinstance(part, ir.Instance):
                below = ir.children_of(part)
                if not all(self._reads_only_own_values(inner, array) for inner in below):
                    return False
                written.clear()
                continue
            statement = self._statement(part)
            for access, read in zip(statement.reads, part.reads, strict=True):
                is_had = (array, read, part.lanes) in written
                if access.array == array and not (
                    is_had and _is_stored_exactly(self.large[array].array)
                ):
                    return False
            if statement.write.array == array:
                written.add((array, part.write, part.lanes))
        return True

    def prefetched_reads(
        self, visits: tuple[InstanceVisit, ...], past: set[str]
    ) -> Iterator[ir.Prefetch]:
        """Yield the reads of a nest of which lines are asked for ahead, each element's once.

        What the nest writes ``nontemporal_statements`` the caches it reads from registers.
        """
        written = {self.program.scop.statement(name).write.array for name in past}
        asked_for = self.large.keys() - written
        reads: defaultdict[tuple[str, int], list[InstanceVisit]] = defaultdict(list)
        for instance, way in visits:
            statement = self._statement(instance)
            for number, access in enumerate(statement.reads):
                if access.array in asked_for and not access.gathered:
                    reads[statement.name, number].append((instance, way))
        asked: set[tuple[str, StreamedAccess]] = set()
        for (name, number), own in reads.items():
            array = self.program.scop.statement(name).reads[number].array
            if not self._is_touched_once(array, own):
                continue
            for instance, way in own:
                cell = (array, instance.reads[number], instance.lanes)
                inner = way.loops[-1].variable if way.loops else ""
                prefetch = self._prefetch_loop(instance, way, number, self.large[array])
                if prefetch is not None and (inner, cell) not in asked:
                    asked.add((inner, cell))
                    yield prefetch

    def _prefetch_loop(
        self, instance: ir.Instance, way: InstancePath, number: int, known: _LargeArray
    ) -> ir.Prefetch | None:
        """Return along which loop the next piece of a read is asked for; None where it is not."""
        statement = self._statement(instance)
        read, size = instance.reads[number], known.array.type.size
        values = self._midpoints(way)
        if instance.lanes is None:
            target = self.program.scop.array(statement.write.array).storage_class
            if target is not StorageClass.TILE or not isinstance(statement.body, Load):
                return None
            place = _innermost_branching_loop(way)
            bytes_ = size * prod(_trip_count(loop, values) for loop in way.loops[place + 1 :])
            if place < 0 or bytes_ > TUNING.small_tile_bytes:
                return None
            if not _varies_with(way.loops[place], read):
                return None
        else:
            place = len(way.loops) - 2
            counter = instance.lanes.variable
            steps = [index_arithmetic.coefficient(subscript, counter) for subscript in read]
            if place < 0 or any(steps[:-1]) or steps[-1] != 1 or instance.lanes.active is not None:
                return None
            inner, outer = way.loops[place + 1], way.loops[place]
            if not index_arithmetic.depends_on(instance.lanes.base, inner.variable):
                return None
            bytes_ = size * _trip_count(inner, values) * inner.step
            growth = index_arithmetic.strides_along(read, outer.variable)
            if growth is None:
                return None
            pairs = zip(growth, known.strides, strict=True)
            stride = size * outer.step * abs(sum(step * by for step, by in pairs))
            if 2 * (stride - bytes_) < bytes_:
                return None  # it goes on in memory, or nearly so
        loop = way.loops[place]
        if loop.annotation != SEQUENTIAL_LOOP or not bytes_:
            return None
        pieces = -(-TUNING.prefetch_bytes // bytes_)
        return ir.Prefetch(statement.name, number, loop.variable, pieces * loop.step)

    def _is_touched_once(self, array: str, visits: list[InstanceVisit]) -> bool:
        """Whether instances touch more of an array than a cache has, each element about once."""
        count = sum(self._instance_elements(instance, way) for instance, way in visits)
        known = self.large[array]
        most = TUNING.max_touches * known.elements
        return self.least <= count * known.array.type.size and count <= most

    def _instance_elements(self, instance: ir.Instance, way: InstancePath) -> int:
        """Return about how many elements an instance writes."""
        values, lanes = self._midpoints(way), 1
        if instance.lanes is not None:
            lanes = instance.lanes.width
            if instance.lanes.active is not None:
                lanes = min(lanes, index_arithmetic.evaluate_index(instance.lanes.active, values))
        return max(0, lanes) * prod(_trip_count(loop, values) for loop in way.loops)

    def _midpoints(self, way: InstancePath) -> dict[str, int]:
        """Return the sizes and the counters of loops, each in the middle of its values."""
        values = dict(self.sizes)
        for loop in way.loops:
            half = _trip_count(loop, values) // 2
            first = index_arithmetic.evaluate_index(loop.lower, values)
            values[loop.variable] = first + half * loop.step
        return values

    def _statement(self, instance: ir.Instance) -> Statement:
        return self.program.scop.statement(instance.statement)


def _trip_count(loop: ir.Loop, values: Mapping[str, int]) -> int:
    low, high = (index_arithmetic.evaluate_index(b, values) for b in (loop.lower, loop.upper))
    return max(0, (high - low) // loop.step + 1)


def _innermost_branching_loop(way: InstancePath) -> int:
    """Return the place of the innermost loop in which more stands than one other loop; -1: none."""
    place = len(way.loops) - 2
    while place >= 0 and way.loops[place].body is way.loops[place + 1]:
        place -= 1
    return place


def _varies_with(loop: ir.Loop, subscripts: tuple[ir.Index, ...]) -> bool:
    return any(index_arithmetic.depends_on(subscript, loop.variable) for subscript in subscripts)


def _is_stored_exactly(array: Array) -> bool:
    """Whether what is stored is the number that was computed, bit for bit."""
    return array.type.size >= _MIN_ELEMENT_BYTES


def _register_statements(nest: ir.Node) -> frozenset[str]:
    """Return the statements whose elements loops keep in registers or in copies of their own."""
    result: set[str] = set()
    for loop in ir.loops_in(nest):
        match loop.annotation:
            case ScalarReplacement(statements):
                result |= statements
            case ParallelLoop(_, sums, held):
                result |= frozenset() if held is None else held.statements
                if sums:
                    result |= {instance.statement for instance in ir.instances_in(loop)}
            case _:
                pass
    return frozenset(result)


PASS = loop_pass(
    "streams",
    "non-temporal stores and software prefetching of arrays larger than the last cache",
    lambda program: apply_streams(program),
    lambda mapping: not mapping.keeps_schedule_order,
)
