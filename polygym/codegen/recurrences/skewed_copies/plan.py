"""Plan of skewed copies, in which a diagonal of an array is a row; changes nothing.

::

    for t:  for w:  for i (diagonal):  A[i][w - i] = f(A[i - 1][w - i], A[i][w - i - 1], ...)

From one i to the next every access to A moves by (1, -1), and no vector can be loaded. In a copy
B[i + j][i] it moves by (0, 1): vectors are rows. So what a *region* of the program touches, all
loops inside of some others, goes to such a copy before it and what it has written comes back after
it. Of a vector v with v_p = 1 or -1, the copy has v_p x_p as the last of its subscripts, and the
others are x_q - v_q v_p x_p, which stand still.

Side conditions.

1. What is copied is exact, and isl says what it is: for all values of the counters around the
   region, what the region reads and what it writes. Threads run other iterations of the loops
   around at the same time, which are independent of this one: they write nothing that it reads or
   writes, and may read and write everything else.
2. The region runs on one thread, and in turn: no loop inside is parallel, and nothing that loops
   around hold, or sum up apart, is copied.
3. Every access to the array inside goes to the copy.
4. Around the region the copy has constant size, and begins at a function of the counters.

Whether it pays is a question for :mod:`polygym.codegen.recurrences.skewed_copies.analysis`.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polygym.codegen.analysis import footprint
from polygym.codegen.common.loop_annotation import (
    DiagonalLoop,
    ParallelLoop,
    ScalarReplacement,
    SequentialLoop,
)
from polygym.codegen.common.packing_candidates import CACHE_LINE, row_padding
from polygym.codegen.loopir import ir, linear_sums
from polygym.codegen.loopir.index_arithmetic import strides_along
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.recurrences.skewed_copies.analysis import is_profitable, is_skewable
from polygym.codegen.transforms.vectorization import has_masked_form, statements_in
from polygym.ir.expressions import Update
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import attempt_bounded, unbounded_operations

_OWN_STORAGE = frozenset({StorageClass.TILE, StorageClass.PRIVATE, StorageClass.ONLY_PRIVATE})


@dataclass(frozen=True, slots=True)
class Skew:
    """How an array is copied: by which ``stride`` its accesses move, one entry of which is unit."""

    array: Array
    stride: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """The dimension that runs along rows of the copy."""
        return next(place for place, step in enumerate(self.stride) if abs(step) == 1)

    def skewed_subscripts(self, subscripts: Sequence[ir.Index]) -> tuple[ir.Index, ...]:
        """Return the subscripts of an element in a copy of the whole array."""
        unit = self.dimension
        along = _multiply(subscripts[unit], self.stride[unit])
        others = (
            linear_sums.subtract_indices(subscript, _multiply(along, step))
            for place, (subscript, step) in enumerate(zip(subscripts, self.stride, strict=True))
            if place != unit
        )
        return (*others, linear_sums.add_indices(along, ir.IndexConstant(0)))

    @property
    def text(self) -> str:
        """The same as a relation."""
        names = [f"x{place}" for place in range(len(self.stride))]
        there = self.skewed_subscripts([ir.IndexVariable(name) for name in names])
        subscripts = ", ".join(footprint.isl_index_text(index, {}) for index in there)
        return f"{{ [{', '.join(names)}] -> [{subscripts}] }}"


@dataclass(frozen=True, slots=True)
class SkewedCopy:
    """The copy for a region: where it begins, how large it is, and what comes and goes.

    ``read`` and ``written`` are the elements, by the values of the counters around; None if nothing
    is.
    """

    skew: Skew
    origin: tuple[ir.Index, ...]
    lengths: tuple[int, ...]
    read: isl.Map | None
    written: isl.Map | None

    @property
    def padded_lengths(self) -> tuple[int, ...]:
        """The lengths with whole lines of a cache as rows, but not a crowd of them."""
        *others, row = self.lengths
        size = self.skew.array.type.size
        line = max(1, CACHE_LINE // size)
        whole = -(-row // line) * line
        return (*others, whole + row_padding(whole, size))

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return prod(self.padded_lengths) * self.skew.array.type.size

    def copy_subscripts(self, subscripts: Sequence[ir.Index]) -> tuple[ir.Index, ...]:
        """Return where in the copy an element is."""
        return tuple(
            linear_sums.subtract_indices(index, first)
            for index, first in zip(
                self.skew.skewed_subscripts(subscripts), self.origin, strict=True
            )
        )


@dataclass(frozen=True, slots=True)
class SkewRegion:
    """A node, the way to it, and the program with nothing else."""

    node: ir.Node
    path: footprint.InstancePath
    program: ir.LoopProgram

    @property
    def depth(self) -> int:
        """How many loops are around."""
        return len(self.path.loops)

    @property
    def counters(self) -> tuple[str, ...]:
        """The counters of the loops around."""
        return tuple(loop.variable for loop in self.path.loops)

    def isolated_program(self, node: ir.Node) -> ir.LoopProgram:
        """Return the program with nothing but a node in the region's place."""
        return replace(self.program, body=_wrap_in_path(self.path, node))

    def counter_values(self) -> isl.Set:
        """Return the values of the counters around."""
        return footprint.access_relation(
            footprint.LoopAccess("", self.path, None, (ir.IndexConstant(0),)), self.program
        ).domain()


def plan_copies(region: SkewRegion) -> tuple[SkewedCopy, ...] | None:
    """Return the copies with which a region's diagonals run in vectors; None where they cannot."""
    skews = _plan_skews(region)
    if skews is None:
        return None
    result = []
    left = TUNING.max_skewed_bytes
    try:
        with unbounded_operations(), attempt_bounded(TUNING.skew_plan_operations):
            for skew in skews:
                copy = _plan_copy(region, skew)
                if copy is None or copy.size > left:
                    return None
                left -= copy.size
                result.append(copy)
    except isl.Error:
        return None
    copied = sum(
        prod(copy.lengths) * sum(relation is not None for relation in (copy.read, copy.written))
        for copy in result
    )
    return tuple(result) if is_profitable(region.node, region.program.scop, copied) else None


def _plan_skews(region: SkewRegion) -> tuple[Skew, ...] | None:
    """Return how arrays have to be copied; None where diagonals cannot run in vectors."""
    diagonals = [
        loop for loop in ir.loops_in(region.node) if isinstance(loop.annotation, DiagonalLoop)
    ]
    if not diagonals or not _is_sequential(region):
        return None
    scop, steps = region.program.scop, dict[str, tuple[int, ...]]()
    for loop in diagonals:
        instances = only_instances(loop.body)
        if instances is None or loop.step != 1:
            return None
        for instance in instances:
            if instance.statement in region.program.guarded_statements or not has_masked_form(
                scop.statement(instance.statement)
            ):
                return None
            for array, step, writes in _access_strides(instance, loop.variable, scop):
                if step is None or (writes and not any(step)):
                    return None
                if any(step) and steps.setdefault(array, step) != step:
                    return None
    if not is_skewable(steps.values()):
        return None
    skews = tuple(
        Skew(scop.array(name), step) for name, step in steps.items() if is_skewable([step])
    )
    names = {skew.array.name for skew in skews}
    if not all(
        _has_exact_accesses(region.program, name, names) for name in statements_in(region.node)
    ):
        return None
    if any(skew.array.storage_class in _OWN_STORAGE for skew in skews) or _is_reduced_outside(
        region, names
    ):
        return None
    return skews


def _is_sequential(region: SkewRegion) -> bool:
    """Whether a region runs on one thread, one iteration of the loops around after the other."""
    if any(isinstance(loop.annotation, ParallelLoop) for loop in ir.loops_in(region.node)):
        return False
    return all(
        isinstance(loop.annotation, SequentialLoop | ScalarReplacement | ParallelLoop)
        for loop in region.path.loops
    )


def _is_reduced_outside(region: SkewRegion, arrays: set[str]) -> bool:
    """Whether loops around hold what a region writes in registers, or have copies of arrays."""
    inside = statements_in(region.node)
    for loop in region.path.loops:
        held = loop.annotation
        if isinstance(held, ParallelLoop):
            if any(name in arrays for name, _ in held.reductions):
                return True
            held = held.scalar_replacement or SequentialLoop()
        if isinstance(held, ScalarReplacement) and not held.statements.isdisjoint(inside):
            return True
    return False


def _has_exact_accesses(program: ir.LoopProgram, name: str, arrays: set[str]) -> bool:
    """Whether a statement touches what its subscripts say of some arrays, nothing else."""
    statement = program.scop.statement(name)
    accesses = (statement.write, *statement.reads)
    if not any(access.array in arrays for access in accesses):
        return True
    is_guarded = name in program.guarded_statements
    is_gathered = any(access.gathered for access in accesses)
    return not (is_guarded or is_gathered or isinstance(statement.body, Update))


def _access_strides(
    instance: ir.Instance, variable: str, scop: Scop
) -> Iterator[tuple[str, tuple[int, ...] | None, bool]]:
    """Yield every access: its array, how it moves, and whether it writes; None if that varies."""
    statement = scop.statement(instance.statement)
    accesses = (statement.write, *statement.reads)
    subscripts = (instance.write, *instance.reads)
    for number, (access, places) in enumerate(zip(accesses, subscripts, strict=True)):
        yield access.array, strides_along(places, variable), number == 0


def _plan_copy(region: SkewRegion, skew: Skew) -> SkewedCopy | None:
    """Return the copy of an array; None where its size is not known."""
    program, depth, array = region.program, region.depth, skew.array
    (read, reading), (written, writing) = (
        _footprint(region, array, writes=writes) for writes in (False, True)
    )
    moved = [
        replace(touch, subscripts=skew.skewed_subscripts(touch.subscripts))
        for touch in (*reading, *writing)
    ]
    together = _union([relation for relation in (read, written) if relation is not None])
    together = together.apply_range(isl.Map(skew.text)).coalesce()
    first, lengths = [], []
    for dimension in range(array.rank):
        span = footprint.origin_and_length(program, moved, together, dimension, depth)
        if span is None:
            return None
        first.append(span[0])
        lengths.append(span[1])
    return SkewedCopy(skew, tuple(first), tuple(lengths), read, written)


def _footprint(
    region: SkewRegion, array: Array, *, writes: bool
) -> tuple[isl.Map | None, list[footprint.LoopAccess]]:
    """Return what a region reads, or writes, of an array, by the counters around; None if nothing.

    Accesses that differ by numbers, as those of a stencil do, are one relation, moved. One of each
    such group is returned as well.
    """
    program, depth = region.program, region.depth
    groups: dict[Hashable, tuple[footprint.LoopAccess, dict[tuple[int, ...], None]]] = {}
    for touch in footprint.accesses_of(program, array.name, writes=writes):
        sums = [linear_sums.to_linear_sum(subscript) for subscript in touch.subscripts]
        terms = tuple(frozenset(parts.items()) for parts, _ in sums)
        base = replace(
            touch, subscripts=tuple(linear_sums.from_linear_sum((parts, 0)) for parts, _ in sums)
        )
        key = (touch.path.loop_numbers, touch.path.conditions, terms)
        groups.setdefault(key, (base, {}))[1][tuple(number for _, number in sums)] = None
    if not groups:
        return None, []
    names = [f"x{place}" for place in range(array.rank)]
    result = []
    for touch, offsets in groups.values():
        moves = "; ".join(
            f"[{', '.join(names)}] -> [{', '.join(map('{} + {}'.format, names, offset))}]"
            for offset in offsets
        )
        move = isl.Map(f"{{ {moves} }}").coalesce()
        result.append(
            footprint.at_depth(footprint.access_relation(touch, program), depth).apply_range(move)
        )
    return _union(result), [touch for touch, _ in groups.values()]


def _union(relations: Sequence[isl.Map]) -> isl.Map:
    first, *others = relations
    for other in others:
        first = first.union(other)
    return first.coalesce()


def has_exact_footprint(region: SkewRegion, node: ir.Node, array: str, wanted: isl.Map) -> bool:
    """Whether loops in the place of a region touch of an array what is wanted, no more, no less."""
    program = region.isolated_program(node)
    maps = [
        footprint.at_depth(footprint.access_relation(touch, program), region.depth)
        for touch in footprint.accesses_of(program, array)
    ]
    return bool(_union(maps).is_equal(wanted))


def _multiply(index: ir.Index, factor: int) -> ir.Index:
    return ir.IndexOperator.MULTIPLY(ir.IndexConstant(factor), index)


def _wrap_in_path(path: footprint.InstancePath, node: ir.Node) -> ir.Node:
    """Return a node with the loops and the conditions around it that lead to another one."""
    for condition, holds in path.conditions:
        node = ir.Guard(condition, node, None) if holds else ir.Guard(condition, ir.Block(()), node)
    for loop in reversed(path.loops):
        node = replace(loop, body=node)
    return node
