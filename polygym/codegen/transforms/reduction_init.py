"""Initialization of a reduction, moved right before its loops.

::

    for i, j: S: C[i][j] = 0                          for i, j:
    for i, j: for k: T: C[i][j] += …         →          S: C[i][j] = 0
                                                        for k: T: C[i][j] += …

So the element is in a register from its first value to its last
(:mod:`polygym.codegen.llvm.loops.emit_scalar_replacement`). It is neither stored before nor loaded,
which costs most where rows are short. A vector of which some
lanes are masked is not forwarded from a store to the load after it: processors wait until it has
reached the cache.

It is done where a loop that holds (codegen/common/loop_annotation.py) has what T writes, and the
loops of S run over the same elements as those around it, once each: every subscript has one counter
of S, or none, and in the same place one of T's that differs from it by a number, with the same
bounds. S does in the end what the loops of T do, in vectors or copies.

Side conditions: nothing between S and T, and nothing else in the loops of T, touches the array or
writes what S reads; T touches only the element that it writes. Example: with S before ``for i: for
j < i`` and T below ``for j: for i > j`` the elements are the same, but the bounds are not: S stays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polygym.codegen.common.loop_annotation import ScalarReplacement, VectorLoop
from polygym.codegen.loopir import ir, nests
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    coefficient,
    depends_on,
    strides_along,
    substitute,
    substitute_in,
)
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.transforms.vectorization import (
    element_size,
    has_narrowing,
    is_vectorizable,
    statements_in,
)
from polygym.ir.scop import Scop, StorageClass


@dataclass(frozen=True, slots=True)
class _InitNest:
    """A nest of loops around one instance that sets elements, and has them to itself."""

    loops: tuple[ir.Loop, ...]
    instance: ir.Instance


def sink_reduction_init(node: ir.Node, scop: Scop, guarded: frozenset[str]) -> ir.Node:
    """Move statements that set elements to where these are added up.

    ``guarded`` are statements with a read that is only made under a condition.
    """
    if not isinstance(node, ir.Block):
        return ir.map_children(node, lambda part: sink_reduction_init(part, scop, guarded))
    parts = [sink_reduction_init(part, scop, guarded) for part in nests.sequence_parts(node)]
    return ir.Block(tuple(_sink_in_sequence(parts, scop, guarded)))


def _sink_in_sequence(
    parts: Sequence[ir.Node], scop: Scop, guarded: frozenset[str]
) -> Iterator[ir.Node]:
    """Yield what runs one after the other, each part without what could move to a later one."""
    left = list(parts)
    while left:
        part = left.pop(0)
        if not isinstance(part, ir.Loop):
            yield part
            continue
        loops = nests.perfect_nest(part)
        kept: list[ir.Instance] = []
        instances = nests.only_instances(loops[-1].body)
        holds = any(isinstance(loop.annotation, ScalarReplacement) for loop in loops)
        if instances is None or holds:
            yield part
            continue
        for place, instance in enumerate(instances):
            beside = (*kept, *instances[place + 1 :])
            if (
                instance.statement in guarded
                or _reads_a_tile(instance, scop)
                or _has_conflict(ir.Block(beside), instance, scop)
                or not _sink_into_later(_InitNest(loops, instance), left, scop)
            ):
                kept.append(instance)
        if len(kept) == len(instances):
            yield part
        elif kept:
            yield nests.wrap_in_loops(loops, ir.block_of(kept))


def _reads_a_tile(instance: ir.Instance, scop: Scop) -> bool:
    """Whether an instance reads what lives on a thread's stack, and may be filled there alone."""
    arrays = (scop.array(access.array) for access in scop.statement(instance.statement).reads)
    return any(array.storage_class is StorageClass.TILE for array in arrays)


def _sink_into_later(init_nest: _InitNest, later: list[ir.Node], scop: Scop) -> bool:
    """Move a statement into the first later part that has to do with it; say whether it went."""
    for place, part in enumerate(later):
        if _has_conflict(part, init_nest.instance, scop):
            moved = _insert_init(part, init_nest, scop)
            if moved is not None:
                later[place] = moved
            return moved is not None
    return False


def _has_conflict(node: ir.Node, instance: ir.Instance, scop: Scop) -> bool:
    """Whether a node touches what an instance writes, or writes what it reads."""
    statement = scop.statement(instance.statement)
    reads = {access.array for access in statement.reads}
    for name in statements_in(node):
        other = scop.statement(name)
        touched = {other.write.array, *(access.array for access in other.reads)}
        if statement.write.array in touched or other.write.array in reads:
            return True
    return False


def _insert_init(
    node: ir.Node, init_nest: _InitNest, scop: Scop, path: tuple[ir.Loop, ...] = ()
) -> ir.Node | None:
    """Return a node with the setting before its loops that hold; None where it does not fit."""
    match node:
        case ir.Block(children):
            own = [child for child in children if _has_conflict(child, init_nest.instance, scop)]
            if len(own) != 1 or (moved := _insert_init(own[0], init_nest, scop, path)) is None:
                return None
            return ir.Block(tuple(moved if child is own[0] else child for child in children))
        case ir.Loop(annotation=ScalarReplacement(statements)):
            there = _reduction_in(node, init_nest.instance, scop)
            if there is None or there.statement not in statements:
                return None
            started = _init_at_reduction(init_nest, there, nests.undo_strip_mining(path), scop)
            return None if started is None else ir.Block((started, node))
        case ir.Loop():
            body = _insert_init(node.body, init_nest, scop, (*path, node))
            return None if body is None else replace(node, body=body)
        case _:
            return None


def _reduction_in(loop: ir.Loop, instance: ir.Instance, scop: Scop) -> ir.Instance | None:
    """Return the only instance in loops that touches the array, if it touches one element of it."""
    array = scop.statement(instance.statement).write.array
    touching = [other for other in ir.instances_in(loop) if _has_conflict(other, instance, scop)]
    if len(touching) != 1:
        return None
    (result,) = touching
    is_sum = scop.statement(result.statement).write.array == array
    return result if is_sum and _reads_own_element(result, scop) else None


def _init_at_reduction(
    init_nest: _InitNest, there: ir.Instance, path: Sequence[ir.Loop], scop: Scop
) -> ir.Instance | None:
    """Return the instance in terms of the counters around a sum; None if they do not match."""
    values = _match_counters(init_nest, there, path)
    if values is None or not _has_same_bounds(init_nest.loops, path, values):
        return None
    if not _reads_own_element(init_nest.instance, scop):
        return None
    node = substitute_in(init_nest.instance, values)
    assert isinstance(node, ir.Instance)
    node = replace(node, write=there.write)
    return node if _fits_vectors(node, there, path, scop) else None


def _reads_own_element(instance: ir.Instance, scop: Scop) -> bool:
    """Whether an instance reads of the array that it writes at most the same element."""
    statement = scop.statement(instance.statement)
    return all(
        access.array != statement.write.array
        or (subscripts == instance.write and not access.gathered)
        for access, subscripts in zip(statement.reads, instance.reads, strict=True)
    )


def _match_counters(
    init_nest: _InitNest, there: ir.Instance, path: Sequence[ir.Loop]
) -> dict[str, ir.Index] | None:
    """Return the counters of the setting in terms of those around the sum.

    Every counter of the one goes with one of the other, from which it differs by a number: found in
    the one subscript that has them.
    """
    counters = [loop.variable for loop in init_nest.loops]
    around_it = [loop.variable for loop in path]
    values: dict[str, ir.Index] = {}
    used: list[str] = []
    for own, other in zip(init_nest.instance.write, there.write, strict=True):
        mine = [name for name in counters if depends_on(own, name)]
        theirs = [name for name in around_it if depends_on(other, name)]
        if not mine and not theirs:
            if constant_difference(own, other) != 0:
                return None
            continue
        if len(mine) != 1 or len(theirs) != 1 or mine[0] in values or theirs[0] in used:
            return None
        if coefficient(own, mine[0]) != 1 or coefficient(other, theirs[0]) != 1:
            return None
        apart = constant_difference(
            ir.IndexOperator.SUBTRACT(other, ir.IndexVariable(theirs[0])),
            ir.IndexOperator.SUBTRACT(own, ir.IndexVariable(mine[0])),
        )
        if apart is None:
            return None
        values[mine[0]] = add_constant(ir.IndexVariable(theirs[0]), apart)
        used.append(theirs[0])
    return values if len(values) == len(counters) == len(around_it) else None


def _has_same_bounds(
    loops: Sequence[ir.Loop], path: Sequence[ir.Loop], values: dict[str, ir.Index]
) -> bool:
    """Whether loops run over the same elements, each of them one by one."""
    by_counter = {loop.variable: loop for loop in path}
    for loop in loops:
        value = values[loop.variable]
        (other,) = (candidate for name, candidate in by_counter.items() if depends_on(value, name))
        apart = constant_difference(value, ir.IndexVariable(other.variable))
        if apart is None or loop.step != 1 or other.step != 1:
            return False
        for mine, theirs in ((loop.lower, other.lower), (loop.upper, other.upper)):
            if constant_difference(substitute(mine, values), add_constant(theirs, apart)) != 0:
                return False
    return True


def _fits_vectors(
    instance: ir.Instance, there: ir.Instance, path: Sequence[ir.Loop], scop: Scop
) -> bool:
    """Whether the loops of a sum can run an instance in vectors if that is what they do."""
    statement = scop.statement(instance.statement)
    for loop in path:
        if not isinstance(loop.annotation, VectorLoop):
            continue
        if not is_vectorizable(statement) or has_narrowing(statement):
            return False
        if element_size(scop, instance.statement) > element_size(scop, there.statement):
            return False
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            steps = strides_along(subscripts, loop.variable)
            if steps is None or access.gathered or any(steps[:-1]):
                return False
            if steps and steps[-1] not in (0, 1):
                return False
    return True


PASS = loop_pass(
    "sink_reduction_init",
    "initialization of a reduction moved right before its loops (scalar_replacement=on)",
    lambda program: program.with_body(
        sink_reduction_init(program.body, program.scop, program.guarded_statements)
    ),
    lambda mapping: mapping.scalar_replacement,
)
