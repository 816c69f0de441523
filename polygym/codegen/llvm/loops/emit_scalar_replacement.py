"""Elements that live in registers while loops run.

A loop that *holds* what a statement writes loads it before, carries it in its phis and stores it
after: LLVM would have to prove that nothing else touches the element, for which it lacks the
dependences. Loops that hold may stand in each other, as in a sum over three indices::

    x = C[i][j];
    for k: for l: x = phi(…) + A[i][k][l] * B[k][l][j];
    C[i][j] = x;

The outermost loop whose counter the element does not depend on loads and stores it; those inside
carry it. It applies where there is nothing but instances in these loops, and each of them costs a
test that it runs at all, after which the value is that from before or the one from inside. What no
instance has written is not stored: two threads may come by an element that one of them writes.

Instances right before such a loop that write what it holds leave it in the register: after
``C[i][j] = 0`` x is 0, and nothing is loaded (codegen/transforms/reduction_init.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from llvmlite import ir

from polygym.codegen.common.loop_annotation import ScalarReplacement
from polygym.codegen.llvm.access.emit_columns import emit_column, group_columns
from polygym.codegen.llvm.access.protocols import (
    Cell,
    CellGroup,
    Emitter,
    are_distinct,
    bottom_tested_loop,
    cell_of,
    load_cell,
    store_cell,
)
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.types import I1
from polygym.codegen.llvm.loops.emit_split_accumulators import (
    are_all_ordinary,
    emit_split_accumulators,
    first_key,
    min_max_updates_in,
    number_of,
)
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import Block, Instance, Loop, Node
from polygym.codegen.loopir.nests import sequence_parts
from polygym.codegen.validate.bounds import WRITE_ACCESS

LoopCounters: TypeAlias = tuple[str, ...]
"""The loops around an instance, by their counters."""


def emit_block(emitter: Emitter, block: Block, environment: Environment) -> None:
    """Emit what runs one after the other; values stay in registers from instances to loops."""
    run: list[Instance] = []
    for part in sequence_parts(block):
        if isinstance(part, Instance):
            run.append(part)
            continue
        begun = _initialized_cells(emitter, run, part)
        for cell, is_read in begun.items():
            # A caller that does not read it sets it before anybody does.
            emitter.held[cell] = load_cell(emitter, cell, environment) if is_read else None
        for instance in run:
            emitter.emit_node(instance, environment)
        run = []
        emitter.emit_node(part, environment)
        _store_all(emitter, {cell: emitter.held.pop(cell) for cell in begun}, environment)
    for instance in run:
        emitter.emit_node(instance, environment)


def _initialized_cells(emitter: Emitter, run: list[Instance], part: Node) -> dict[Cell, bool]:
    """Return what instances write that the loop after them holds, and whether they read it first.

    Nothing in the run may touch the same element under another name.
    """
    if not (run and isinstance(part, Loop) and isinstance(part.annotation, ScalarReplacement)):
        return {}
    held = set(_replaceable_cells(emitter, part, part.annotation))
    result: dict[Cell, bool] = {}
    for instance in run:
        statement = emitter.statements[instance.statement]
        cell = cell_of(statement, instance)
        if cell in held and cell not in emitter.held and cell not in result:
            result[cell] = bool(statement.accumulator_reads)

    def is_alone(cell: Cell) -> bool:
        return all(_does_not_alias(emitter, instance, cell) for instance in run)

    return {cell: is_read for cell, is_read in result.items() if is_alone(cell)}


def _does_not_alias(emitter: Emitter, instance: Instance, cell: Cell) -> bool:
    """Whether an instance touches a cell as its own or not at all."""
    statement = emitter.statements[instance.statement]
    own = cell_of(statement, instance)
    if own[0] == cell[0] and own != cell and not are_distinct(cell, own):
        return False
    return all(
        access.array != cell[0] or number in statement.accumulator_reads
        for number, access in enumerate(statement.reads)
    )


def emit_scalar_replacement(
    emitter: Emitter, loop: Loop, lower: Any, upper: Any, environment: Environment
) -> bool:
    """Emit a loop that holds what it can, unless that is nothing; say whether it has."""
    assert isinstance(loop.annotation, ScalarReplacement)
    cells = tuple(_replaceable_cells(emitter, loop, loop.annotation))
    carried = tuple(cell for cell in cells if cell in emitter.held)
    own = tuple(cell for cell in cells if cell not in emitter.held)
    if not cells:
        return False
    builder = emitter.builder
    before, outside, until_then = builder.block, dict(emitter.held), dict(emitter.written)
    groups = _written_groups(emitter, loop, own)
    with builder.if_then(builder.icmp_signed("<=", lower, upper)):
        emitter.held.update({cell: load_cell(emitter, cell, environment) for cell in own})
        emitter.written.update(dict.fromkeys(groups, ir.Constant(I1, 0)))
        held = _ReplacedLoop(emitter, loop, lower, upper, cells, environment)
        if not _emit_min_max(held):
            _emit_reduction(held)
        for group in groups:
            _store_written(emitter, group, environment)
        after = builder.block
    _merge_values(builder, emitter.held, {cell: outside[cell] for cell in carried}, before, after)
    _merge_values(builder, emitter.written, until_then, before, after)
    return True


class _ReplacedLoop(NamedTuple):
    """A loop whose ``cells`` are in registers, with the values of its bounds."""

    emitter: Emitter
    loop: Loop
    lower: Any
    upper: Any
    cells: tuple[Cell, ...]
    environment: Environment


def _cell(emitter: Emitter, instance: Instance) -> Cell:
    return cell_of(emitter.statements[instance.statement], instance)


def _merge_values(
    builder: ir.IRBuilder,
    values: dict[Any, Any],
    others: Mapping[Any, Any],
    before: Any,
    after: Any,
) -> None:
    """Let values be those from before a loop where it has not run."""
    for key, other in others.items():
        merged = builder.phi(other.type)
        merged.add_incoming(other, before)
        merged.add_incoming(values[key], after)
        values[key] = merged


def _written_groups(emitter: Emitter, loop: Loop, cells: Sequence[Cell]) -> list[CellGroup]:
    """Return cells in groups; if one of a group has been written in a loop, all of it have been.

    That is so where their instances stand in the same loops.
    """
    places: dict[Cell, set[LoopCounters]] = {cell: set() for cell in cells}
    for counters, instance in _instances_with_counters(loop):
        cell = _cell(emitter, instance)
        if cell in places:
            places[cell].add(counters)
    groups: dict[frozenset[LoopCounters], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(frozenset(places[cell]), []).append(cell)
    return [tuple(group) for group in groups.values()]


def _instances_with_counters(
    node: Node, counters: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Instance]]:
    """Yield the instances in loops that hold, each with the counters of the loops around it."""
    match node:
        case Instance():
            yield counters, node
        case Loop():
            yield from _instances_with_counters(node.body, (*counters, node.variable))
        case Block():
            for part in sequence_parts(node):
                yield from _instances_with_counters(part, counters)
        case _:
            raise AssertionError("there are only instances in loops that hold")


def _store_written(emitter: Emitter, group: CellGroup, environment: Environment) -> None:
    """Store the cells of a loop that has ended, unless no instance has written them.

    The loops inside may all have been empty. Then the elements may be another thread's, which has
    written them meanwhile, and what was loaded before must not take their place.
    """
    values = {cell: emitter.held.pop(cell) for cell in group}
    written = emitter.written.pop(group)
    if isinstance(written, ir.Constant):
        _store_all(emitter, values, environment)
        return
    with emitter.builder.if_then(written):
        _store_all(emitter, values, environment)


def _emit_min_max(held: _ReplacedLoop) -> bool:
    """Emit a loop of extremes that runs at least once, unless it is none; say whether it has.

    See :mod:`polygym.codegen.llvm.loops.emit_split_accumulators`: as keys, and then as it is
    written where they do not say which number is kept.
    """
    emitter, loop, cells = held.emitter, held.loop, held.cells
    updates = min_max_updates_in(loop, emitter.statements, emitter.program.unproved_accesses)
    instances = [instance for _, instance in _instances_with_counters(loop)]
    kinds = {_cell(emitter, instance): instance for instance in instances}
    if updates is None or set(kinds) != set(cells) or len(kinds) < len(instances):
        return False
    builder = emitter.builder
    before = {cell: emitter.held[cell] for cell in cells}
    upwards = {cell: updates[kind.statement].is_maximum for cell, kind in kinds.items()}
    for cell in cells:
        emitter.held[cell] = first_key(builder, before[cell], upwards[cell])
    emitter.min_max_keys.update({cell: updates[kind.statement] for cell, kind in kinds.items()})
    _emit_reduction(held)
    for cell in cells:
        del emitter.min_max_keys[cell]
    keys = {cell: emitter.held[cell] for cell in cells}
    kept = [(keys[cell], before[cell].type, upwards[cell]) for cell in cells]
    settled = are_all_ordinary(builder, kept)
    numbers = {cell: number_of(builder, keys[cell], before[cell].type) for cell in cells}
    written, start = dict(emitter.written), builder.block
    with builder.if_then(builder.not_(settled), likely=False):
        emitter.held.update(before)
        _emit_loop(held)
        after = builder.block
    _merge_values(builder, emitter.held, numbers, start, after)
    emitter.written.update(written)
    return True


def _emit_reduction(held: _ReplacedLoop) -> None:
    """Emit a loop that runs at least once: in chains, where it has some and all is held."""
    emitter, loop = held.emitter, held.loop
    assert isinstance(loop.annotation, ScalarReplacement)
    accumulators = loop.annotation.accumulators
    instances = [instance for _, instance in _instances_with_counters(loop)]
    written = {_cell(emitter, instance): instance for instance in instances}
    if accumulators is None or set(written) != set(held.cells) or len(written) < len(instances):
        _emit_loop(held)
        return
    parts, bounds = tuple(written.items()), (held.lower, held.upper)
    emit_split_accumulators(emitter, loop, accumulators, parts, bounds, held.environment)


def _emit_loop(held: _ReplacedLoop) -> None:
    """Emit a loop that runs at least once, tested at the bottom, with cells in its phis."""
    emitter, builder = held.emitter, held.emitter.builder
    before = builder.block
    with bottom_tested_loop(builder, held.loop, held.lower, held.upper) as counter:
        carried = _phis(builder, emitter.held, held.cells, before)
        written = _phis(builder, emitter.written, tuple(emitter.written), before)
        emitter.emit_node(held.loop.body, held.environment | {held.loop.variable: counter})
        for phis, values in ((carried, emitter.held), (written, emitter.written)):
            for key, phi in phis.items():
                phi.add_incoming(values[key], builder.block)


def _phis(
    builder: ir.IRBuilder, values: dict[Any, Any], keys: Sequence[Any], before: Any
) -> dict[Any, Any]:
    """Return new phis for values at the beginning of a loop, which take their places."""
    phis = {}
    for key in keys:
        phis[key] = builder.phi(values[key].type)
        phis[key].add_incoming(values[key], before)
    values.update(phis)
    return phis


def _replaceable_cells(
    emitter: Emitter, loop: Loop, annotation: ScalarReplacement
) -> Iterator[Cell]:
    """Yield the cells that the loop can hold, each once: none, unless all in it are instances.

    A cell is left alone if something else that is written there might be the same element, written
    down in another way.
    """
    replaceable = _replaceable_instances(loop)
    if replaceable is None:
        return
    counters, instances = replaceable
    written = dict.fromkeys(_cell(emitter, instance) for instance in instances)
    unproved = emitter.program.unproved_accesses
    checked = [own for own in instances if (own.statement, WRITE_ACCESS) in unproved]
    unsafe = {_cell(emitter, instance) for instance in checked}
    held = [own for own in instances if own.statement in annotation.statements]
    for cell in dict.fromkeys(_cell(emitter, instance) for instance in held):
        if any(depends_on(index, counter) for index in cell[1] for counter in counters):
            continue
        if cell in unsafe:  # loaded before the loops, nothing would check it
            continue
        if _has_distinct_lanes(cell) and all(
            other == cell or other[0] != cell[0] or are_distinct(cell, other) for other in written
        ):
            yield cell


def _replaceable_instances(loop: Loop) -> tuple[tuple[str, ...], tuple[Instance, ...]] | None:
    """Return the counters of loops that hold, and the instances in them; None with others there."""
    counters: list[str] = [loop.variable]
    instances: list[Instance] = []
    left: list[Node] = [loop.body]
    while left:
        match left.pop():
            case Block(children):
                left += reversed(children)
            case Instance() as instance:
                instances.append(instance)
            case Loop(variable, _, _, _, body, ScalarReplacement()):
                counters.append(variable)
                left.append(body)
            case _:
                return None
    return tuple(counters), tuple(instances)


def _has_distinct_lanes(cell: Cell) -> bool:
    """Whether the lanes of a cell are known to be different elements."""
    _, subscripts, lanes = cell
    return lanes is None or any(coefficient(s, lanes.variable) for s in subscripts)


def _store_all(emitter: Emitter, values: dict[Cell, Any], environment: Environment) -> None:
    """Store cells; those of a block, but for narrow types, are turned first."""
    scop = emitter.program.scop
    for column in group_columns([cell for cell in values if scop.array(cell[0]).type.size >= 4]):
        emit_column(emitter, column, values, environment)
        values = {cell: value for cell, value in values.items() if cell not in column}
    for cell, value in values.items():
        store_cell(emitter, cell, value, environment)
