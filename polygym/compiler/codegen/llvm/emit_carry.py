"""What one iteration writes and one of the next reads stays in registers, in lanes and copies.

In ``v[j][i] = p[j][i] * v[j - 1][i] + q[j][i]``, lanes along i, each iteration of j reads what the
one before has stored. A processor hands a store on to a load in eight cycles or so, twice what the
operations take, and in tens where a vector lies across two lines of the cache. LLVM would have to
prove that nothing else writes the element in between, for which it lacks the dependences. So where
iterations of a loop around run in lanes, or in copies that are jammed, it is done here::

    x = v[l - 1][i ..];
    for j = l .. u:  x = p[j][i ..] * x + q[j][i ..];  v[j][i ..] = x;

A read is of what was written d iterations before if the subscripts of the write, with j - d in the
place of j, are its own, in the same lanes. Values of d iterations are carried if each of the last d
is read, since then all of them exist before the first iteration. Side condition: nothing but that
one instance writes the elements. Other writes in the loop have to be of other arrays, or of other
rows, of which a subscript differs whatever j is. What is read or stored under a condition, or
computes a subscript, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polygym.compiler.codegen.llvm.cells import are_apart, cell_of, load_cell
from polygym.compiler.codegen.llvm.emit_index import Environment
from polygym.compiler.codegen.llvm.emitting import Carrying, Cell
from polygym.compiler.codegen.llvm.kinds import I64
from polygym.compiler.codegen.loops.check_bounds import WRITE
from polygym.compiler.codegen.loops.index import mentions, plus, replaced
from polygym.compiler.codegen.loops.ir import Index, Instance, Loop, Variable
from polygym.compiler.codegen.loops.linear import difference
from polygym.compiler.codegen.loops.nests import instances_alone
from polygym.compiler.ir.expr import Update

_FARTHEST = 4
_LEAST_BYTES = 4  # narrower numbers are rounded as they are stored


@dataclass(frozen=True, slots=True)
class _Chain:
    """What an instance writes, and the elements that it has written 1, 2, … iterations before."""

    written: Cell
    before: tuple[Cell, ...]


def emit_carrying(
    emitter: Carrying, loop: Loop, lower: Any, upper: Any, environment: Environment
) -> bool:
    """Emit a loop that carries what it reads again, unless that is nothing; say whether it has."""
    instances = instances_alone(loop.body)
    if instances is None or loop.step != 1 or not _runs_together(instances):
        return False
    chains = tuple(_chains(emitter, loop.variable, instances))
    if not chains:
        return False
    builder = emitter.builder
    with builder.if_then(builder.icmp_signed("<=", lower, upper)):
        first = environment | {loop.variable: lower}
        begun = {cell: load_cell(emitter, cell, first) for one in chains for cell in one.before}
        start = builder.block
        body = builder.append_basic_block(f"{loop.variable}.body")
        after = builder.append_basic_block(f"{loop.variable}.after")
        builder.branch(body)
        builder.position_at_end(body)
        counter = builder.phi(I64, name=loop.variable)
        counter.add_incoming(lower, start)
        phis = {cell: builder.phi(value.type) for cell, value in begun.items()}
        for cell, phi in phis.items():
            phi.add_incoming(begun[cell], start)
        emitter.carried.update(phis)
        emitter.results.update({one.written: None for one in chains})
        emitter.node(loop.body, environment | {loop.variable: counter})
        for one in chains:
            values = (emitter.results.pop(one.written), *(phis[cell] for cell in one.before[:-1]))
            for cell, value in zip(one.before, values, strict=True):
                phis[cell].add_incoming(value, builder.block)
        for cell in phis:
            del emitter.carried[cell]
        # No wrap, as in any other loop (emit_function).
        following = builder.add(counter, ir.Constant(I64, 1), flags=["nsw"])
        counter.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<=", following, upper), body, after)
        builder.position_at_end(after)
    return True


def _runs_together(instances: Sequence[Instance]) -> bool:
    """Whether iterations of a loop around run in lanes, or in copies; else LLVM sees it all."""
    names = [one.statement for one in instances]
    return len({*names}) < len(names) or all(one.lanes is not None for one in instances)


def _chains(emitter: Carrying, variable: str, instances: Sequence[Instance]) -> Iterator[_Chain]:
    """Yield what is carried."""
    written = [cell_of(emitter.statements[one.statement], one) for one in instances]
    pairs = tuple(zip(instances, written, strict=True))
    anywhere = {cell[0] for one, cell in pairs if _is_computed(emitter, one)}
    for instance, cell in pairs:
        if (instance.statement, WRITE) in emitter.program.unproved or cell[0] in anywhere:
            continue
        if emitter.program.scop.array(cell[0]).type.size < _LEAST_BYTES:
            continue
        others = list(written)
        others.remove(cell)
        if not all(are_apart(cell, other, variable) for other in others):
            continue
        read = dict(_read_again(emitter, cell, variable, instances))
        before: list[Cell] = []
        while len(before) + 1 in read:
            before.append(read[len(before) + 1])
        if before:
            yield _Chain(cell, tuple(before))


def _is_computed(emitter: Carrying, instance: Instance) -> bool:
    """Whether an instance writes under a condition, or at a subscript that is computed."""
    statement = emitter.statements[instance.statement]
    return isinstance(statement.body, Update) or bool(statement.write.gathered)


def _read_again(
    emitter: Carrying, cell: Cell, variable: str, instances: Sequence[Instance]
) -> Iterator[tuple[int, Cell]]:
    """Yield the reads of what was written before, and how many iterations before."""
    array, subscripts, lanes = cell
    if not any(mentions(one, variable) for one in subscripts):
        return
    moved = {back: _moved(subscripts, variable, back) for back in range(1, _FARTHEST + 1)}
    for instance in instances:
        if instance.lanes != lanes:
            continue
        reads = emitter.statements[instance.statement].reads
        for number, (access, own) in enumerate(zip(reads, instance.reads, strict=True)):
            read = (instance.statement, number)
            if access.array != array or access.gathered:
                continue
            if read in emitter.program.unproved or read in emitter.program.guarded:
                continue
            for back, there in moved.items():
                if all(difference(*pair) == 0 for pair in zip(own, there, strict=True)):
                    yield back, (array, own, lanes)


def _moved(subscripts: tuple[Index, ...], variable: str, back: int) -> tuple[Index, ...]:
    """Return subscripts as they were some iterations before."""
    before = {variable: plus(Variable(variable), -back)}
    return tuple(replaced(subscript, before) for subscript in subscripts)
