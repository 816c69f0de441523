"""Elements at computed subscripts, none of them out of range.

X[I[i]] reads I[i], compares it with the size of X and reads X there, or X[0] where it is outside;
then it notes that (:mod:`polygym.codegen.llvm.core.runtime_checks`), by the number of the site
(:mod:`polygym.ir.gathers`)::

    s = I[i];  fine = 0 <= s < n;  note = max(note, fine ? 0 : sites - number);  X[fine ? s : 0]

A subscript that is in range for sure (:mod:`polygym.poly.subscript_ranges`) is not compared, unless
lanes have a mask: one that does not exist may have any value.

There is no branch in it: loops with gathers run in vectors as others do. Loops over rows of sparse
matrices, in which each term of a sum waits for the one before, branch: that takes fewer
instructions.

An update is written to in the same way, but for one difference: where a subscript is outside,
nothing is.

In lanes a subscript that is the same in all of them, that of LUT[I[i, k]][j] along j, is compared
once, and the row that it names is read like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.access.emit_memory import Element
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.emit_index import Environment, LaneSet, emit_index, is_vector
from polygym.codegen.llvm.core.types import I1, I64, LaneType, i32, splat
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import Index, IndexVariable, Instance
from polygym.ir.expressions import Gather, IteratorValue, Update, loaded_accesses, walk
from polygym.ir.scop import Statement


@dataclass(frozen=True)
class CheckedAccess:
    """Where a gather stands: read number ``number`` of an instance."""

    statement: Statement
    instance: Instance
    number: int
    environment: Environment
    lanes: LaneSet | None


def emit_gather(
    emitter: Emitter, site: CheckedAccess, node: Gather, values: list[Any], *, check: bool
) -> Any:
    """Return the element at computed subscripts; in lanes, one for every lane."""
    lanes, memory, builder = site.lanes, emitter.memory, emitter.builder
    alike = lanes is None or _is_uniform(site, node, lanes)
    if lanes is not None and alike:
        values = [builder.extract_element(value, i32(0)) for value in values]
    indices, environment, _ = _checked_subscripts(emitter, site, node, values)
    place = Element(node.access.array, indices, environment)
    if lanes is None:
        return memory.load(place, check=check)
    if alike:
        return memory.load_lanes(place, lanes, check=check)
    return memory.gather_lanes(place, lanes, check=check)


def emit_update(
    emitter: Emitter, site: CheckedAccess, node: Update, values: list[Any], value: Any, check: bool
) -> None:
    """Store a value at computed subscripts, unless one of them is out of range."""
    array, builder, memory = node.access.array, emitter.builder, emitter.memory
    if not values:
        subscripts = site.instance.reads[site.number]
        memory.store(value, Element(array, subscripts, site.environment), check=check)
        return
    indices, environment, outside = _checked_subscripts(emitter, site, node, values)
    place = Element(array, indices, environment)
    if not outside:
        memory.store(value, place, check=check)
        return
    with builder.if_then(builder.not_(reduce(builder.or_, outside))):
        memory.store(value, place, check=check)


def _checked_subscripts(
    emitter: Emitter, site: CheckedAccess, node: Gather | Update, values: Sequence[Any]
) -> tuple[tuple[Index, ...], Environment, list[Any]]:
    """Note which computed subscripts are out of range.

    Return all subscripts, with 0 in the place of those, the environment in which they have values,
    and for each of the computed ones that may be out of range whether it is.
    """
    builder, checks, access = emitter.builder, emitter.checks, node.access
    assert checks is not None
    lanes, environment = site.lanes, site.environment
    subscripts = list(site.instance.reads[site.number])
    outside = []
    for dimension, subscript, value in zip(access.gathered, node.subscripts, values, strict=True):
        if subscript.type.bits < I64.width:
            wide = I64 if not is_vector(value) else LaneType(I64, value.type.count)
            extend = builder.sext if subscript.type.is_signed else builder.zext
            value = extend(value, wide)
        name = f"#{dimension}"
        subscripts[dimension] = IndexVariable(name)
        key = (site.statement.name, site.number, dimension)
        if key in checks.sure and (lanes is None or lanes.mask is None):
            environment = environment | {name: value}
            continue
        size = emit_index(builder, checks.sizes[access.array][dimension], emitter.parameters)
        if is_vector(value):
            size = splat(builder, size, value.type.count)
        # One comparison for both ends: without its sign, a negative number is a large one.
        bad = builder.icmp_unsigned(">=", value, size)
        if is_vector(value) and lanes is not None and lanes.mask is not None:
            # Not `and`: a lane that does not exist may have no value.
            bad = builder.select(lanes.mask, bad, ir.Constant(bad.type, None))
        number = checks.numbers[key]
        if lanes is None and site.statement.name in emitter.known_conditions:
            inside = _branch_out(emitter, number, bad, value)
        else:
            checks.runtime_checks.record_gather(builder, number, bad)
            inside = builder.select(bad, ir.Constant(value.type, None), value)
        environment = environment | {name: inside}
        outside.append(bad)
    return tuple(subscripts), environment, outside


def _branch_out(emitter: Emitter, number: int, bad: Any, value: Any) -> Any:
    """Note a subscript that is out of range behind a branch; return it, or else 0."""
    builder, before = emitter.builder, emitter.builder.block
    assert emitter.checks is not None
    with builder.if_then(bad, likely=False):
        emitter.checks.runtime_checks.record_gather(builder, number, ir.Constant(I1, 1))
        outside = builder.block
    inside = builder.phi(value.type)
    inside.add_incoming(value, before)
    inside.add_incoming(ir.Constant(value.type, None), outside)
    return inside


def _is_uniform(site: CheckedAccess, node: Gather, lanes: LaneSet) -> bool:
    """Whether the computed subscripts are the same in all lanes, as all is that they need."""
    first = site.number + 1
    read = site.instance.reads[first : site.number + len(loaded_accesses(node))]
    values = dict(zip(site.statement.iterators, site.instance.iterators, strict=True))
    indices = [index for subscripts in read for index in subscripts]
    indices += [
        values[expression.name]
        for subscript in node.subscripts
        for expression in walk(subscript)
        if isinstance(expression, IteratorValue)
    ]
    return all(coefficient(index, lanes.variable) == 0 for index in indices)
