"""Loop-carried values in registers: one iteration writes, the next reads, in lanes and copies.

In ``v[j][i] = p[j][i] * v[j - 1][i] + q[j][i]``, lanes along i, each iteration of j reads what the
one before has stored. A processor hands a store on to a load in eight cycles or so, twice what the
operations take, and in tens where a vector lies across two lines of the cache. LLVM would have to
prove that nothing else writes the element in between, for which it lacks the dependences. So where
iterations of a loop around run in lanes, or in copies that are jammed, it is done here, and in all
loops of printed C::

    x = v[l - 1][i ..];
    for j = l .. u:  x = p[j][i ..] * x + q[j][i ..];  v[j][i ..] = x;

A read is of what was written d iterations before if the subscripts of the write, with j - d in the
place of j, are its own, in the same lanes. Values of d iterations are carried if each of the last d
is read, since then all of them exist before the first iteration. Side condition: nothing but that
one instance writes the elements. Other writes in the loop have to be of other arrays, or of other
rows, of which a subscript differs whatever j is. What is read or stored under a condition, or
computes a subscript, stays as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.codegen.llvm.access import protocols
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.source_builder import SourceBuilder
from polygym.codegen.loopir.index_arithmetic import add_constant, depends_on, substitute
from polygym.codegen.loopir.ir import Index, IndexVariable, Instance, Loop
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.validate.bounds import WRITE_ACCESS
from polygym.ir.expressions import Update
from polygym.mapping.tuning_parameters import TUNING

_MIN_BYTES = 4  # narrower numbers are rounded as they are stored


@dataclass(frozen=True, slots=True)
class _CarriedElement:
    """What an instance writes, and the elements that it has written 1, 2, … iterations before."""

    written: protocols.Cell
    earlier: tuple[protocols.Cell, ...]


def emit_loop_carried(
    emitter: protocols.Emitter, loop: Loop, lower: Any, upper: Any, environment: Environment
) -> bool:
    """Emit a loop that carries what it reads again, unless that is nothing; say whether it has."""
    instances = only_instances(loop.body)
    if instances is None or loop.step != 1:
        return False
    if not (_is_unrolled_or_vector(instances) or isinstance(emitter.builder, SourceBuilder)):
        return False
    chains = tuple(_carried_elements(emitter, loop.variable, instances))
    if not chains:
        return False
    builder = emitter.builder
    with builder.if_then(builder.icmp_signed("<=", lower, upper)):
        first = environment | {loop.variable: lower}
        begun = {
            cell: protocols.load_cell(emitter, cell, first)
            for carried_element in chains
            for cell in carried_element.earlier
        }
        start = builder.block
        with protocols.bottom_tested_loop(builder, loop, lower, upper) as counter:
            phis = {cell: builder.phi(value.type) for cell, value in begun.items()}
            for cell, phi in phis.items():
                phi.add_incoming(begun[cell], start)
            emitter.carried.update(phis)
            emitter.results.update({chain.written: None for chain in chains})
            emitter.emit_node(loop.body, environment | {loop.variable: counter})
            for element in chains:
                earlier = [phis[cell] for cell in element.earlier[:-1]]
                values = (emitter.results.pop(element.written), *earlier)
                for cell, value in zip(element.earlier, values, strict=True):
                    phis[cell].add_incoming(value, builder.block)
            for cell in phis:
                del emitter.carried[cell]
    return True


def _is_unrolled_or_vector(instances: Sequence[Instance]) -> bool:
    """Whether iterations of a loop around run in lanes, or in copies; else LLVM sees it all."""
    names = [instance.statement for instance in instances]
    return len({*names}) < len(names) or all(instance.lanes is not None for instance in instances)


def _carried_elements(
    emitter: protocols.Emitter, variable: str, instances: Sequence[Instance]
) -> Iterator[_CarriedElement]:
    """Yield what is carried."""
    written = [
        protocols.cell_of(emitter.statements[instance.statement], instance)
        for instance in instances
    ]
    pairs = tuple(zip(instances, written, strict=True))
    anywhere = {cell[0] for writer, cell in pairs if _is_conditional(emitter, writer)}
    for instance, cell in pairs:
        if (instance.statement, WRITE_ACCESS) in emitter.program.unproved_accesses or cell[
            0
        ] in anywhere:
            continue
        least = 1 if isinstance(emitter.builder, SourceBuilder) else _MIN_BYTES
        if emitter.program.scop.array(cell[0]).type.size < least:
            continue
        others = list(written)
        others.remove(cell)
        if not all(protocols.are_distinct(cell, other, variable) for other in others):
            continue
        read = dict(_carried_reads(emitter, cell, variable, instances))
        before: list[protocols.Cell] = []
        while len(before) + 1 in read:
            before.append(read[len(before) + 1])
        if before:
            yield _CarriedElement(cell, tuple(before))


def _is_conditional(emitter: protocols.Emitter, instance: Instance) -> bool:
    """Whether an instance writes under a condition, or at a subscript that is computed."""
    statement = emitter.statements[instance.statement]
    return isinstance(statement.body, Update) or bool(statement.write.gathered)


def _carried_reads(
    emitter: protocols.Emitter, cell: protocols.Cell, variable: str, instances: Sequence[Instance]
) -> Iterator[tuple[int, protocols.Cell]]:
    """Yield the reads of what was written before, and how many iterations before."""
    array, subscripts, lanes = cell
    if not any(depends_on(index, variable) for index in subscripts):
        if isinstance(emitter.builder, SourceBuilder) and _is_read_first(emitter, cell, instances):
            yield 1, cell
        return
    moved = {
        back: _shifted_back(subscripts, variable, back)
        for back in range(1, TUNING.max_carried_distance + 1)
    }
    for instance in instances:
        if instance.lanes != lanes:
            continue
        reads = emitter.statements[instance.statement].reads
        for number, (access, own) in enumerate(zip(reads, instance.reads, strict=True)):
            read = (instance.statement, number)
            if access.array != array or access.gathered:
                continue
            if read in emitter.program.unproved_accesses or read in emitter.program.guarded_reads:
                continue
            for back, there in moved.items():
                if all(constant_difference(*pair) == 0 for pair in zip(own, there, strict=True)):
                    yield back, (array, own, lanes)


def _shifted_back(subscripts: tuple[Index, ...], variable: str, distance: int) -> tuple[Index, ...]:
    """Return subscripts as they were some iterations before."""
    before = {variable: add_constant(IndexVariable(variable), -distance)}
    return tuple(substitute(subscript, before) for subscript in subscripts)


def _is_read_first(
    emitter: protocols.Emitter, cell: protocols.Cell, instances: Sequence[Instance]
) -> bool:
    """Whether each iteration reads one and the same element, and then writes it, where it does.

    LLVM keeps such an element in a register beside the memory, other compilers may not.
    """
    array, subscripts, lanes = cell
    is_read, is_written = False, False
    for instance in instances:
        statement = emitter.statements[instance.statement]
        accesses = zip(statement.reads, instance.reads, strict=True)
        for number, (access, own) in enumerate(accesses):
            if access.array != array or access.gathered or own != subscripts:
                continue
            read = (instance.statement, number)
            unsafe = emitter.program.unproved_accesses | emitter.program.guarded_reads
            if is_written or instance.lanes != lanes or read in unsafe:
                return False
            is_read = True
        is_written |= protocols.cell_of(statement, instance) == cell
    return is_read
