"""Maxima and minima of floats over a loop, as integers first: LLVM makes vectors of those.

``m = a[j] > m ? a[j] : m`` is a chain of comparisons that LLVM leaves as it is: which of +0 and -0
is kept, and what NaN does, depends on the order. Of numbers that are neither the order says
nothing, since equal ones have equal bits. So the loop runs twice, the second time seldom::

    k = key(m);
    for j: k = max(k, a[j] is NaN ? greatest : key(a[j]));          in integers, in vectors
    if (k is that of a number other than zero) m = number(k);
    else for j: m = a[j] > m ? a[j] : m;                            as it is written

A *key* is the integer of a number's bits, with the other bits of negative numbers turned around:
x < y says key(x) < key(y). Doing that again gives the number back. ``greatest`` is a key of NaN,
for minima the least one; from there on it stays. ``fmax`` and ``fmin`` are maxima and minima, too.

Side conditions: the element is held in a register by the loop, in which there are instances of such
statements alone, none of them with lanes; nothing that they read is computed or checked. Where the
loop runs in chains (:mod:`polygym.codegen.llvm.loops.emit_split_accumulators`), each lane of each
of them keeps a key.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from polygym.codegen.common.reductions import MinMaxUpdate, min_max_of
from polygym.codegen.llvm.core.types import LaneType, constant_of, element_type
from polygym.codegen.loopir.ir import Block, Instance, Loop
from polygym.codegen.loopir.nests import sequence_parts
from polygym.ir.expressions import Gather, walk
from polygym.ir.scop import Statement


def float_min_max_of(statement: Statement) -> MinMaxUpdate | None:
    """Return what a statement keeps the extreme of, a float; None if it is no such statement."""
    body = statement.body
    if not body.type.is_floating or any(isinstance(node, Gather) for node in walk(body)):
        return None
    return min_max_of(statement)


def min_max_updates_in(
    loop: Loop, statements: Mapping[str, Statement], unproved: frozenset[tuple[str, int]]
) -> dict[str, MinMaxUpdate] | None:
    """Return what the statements of a loop keep, None if anything else happens in it."""
    updates: dict[str, MinMaxUpdate] = {}
    for part in sequence_parts(loop.body) if isinstance(loop.body, Block) else (loop.body,):
        if not isinstance(part, Instance) or part.lanes is not None:
            return None
        extreme = float_min_max_of(statements[part.statement])
        if extreme is None or any(name == part.statement for name, _ in unproved):
            return None
        updates[part.statement] = extreme
    return updates or None


def key_of(builder: ir.IRBuilder, number: Any) -> Any:
    """Return the key of a number."""
    kind = _key_type(number.type)
    return _flipped(builder, builder.bitcast(number, kind))


def number_of(builder: ir.IRBuilder, key: Any, kind: Any) -> Any:
    """Return the number of a key."""
    return builder.bitcast(_flipped(builder, key), kind)


def combined_key(builder: ir.IRBuilder, current_key: Any, number: Any, is_maximum: bool) -> Any:
    """Return the key that is kept of one and of a number's; that of NaN, once there was one."""
    is_none = builder.fcmp_unordered("uno", number, number)
    other = builder.select(is_none, _nan_key(current_key.type, is_maximum), key_of(builder, number))
    is_kept = builder.icmp_signed(">" if is_maximum else "<", current_key, other)
    return builder.select(is_kept, current_key, other)


def first_key(builder: ir.IRBuilder, number: Any, is_maximum: bool) -> Any:
    """Return the key that a loop begins with."""
    is_none = builder.fcmp_unordered("uno", number, number)
    return builder.select(
        is_none, _nan_key(_key_type(number.type), is_maximum), key_of(builder, number)
    )


def are_all_ordinary(builder: ir.IRBuilder, keys: Sequence[tuple[Any, Any, bool]]) -> Any:
    """Whether keys, with their kinds of numbers and directions, are of numbers other than zero."""
    settled = ir.Constant(ir.IntType(1), 1)
    for key, kind, is_maximum in keys:
        some = builder.icmp_signed("!=", key, _nan_key(key.type, is_maximum))
        number = number_of(builder, key, kind)
        other = builder.fcmp_unordered("!=", number, ir.Constant(kind, 0.0))
        settled = builder.and_(settled, builder.and_(some, other))
    return settled


def _key_type(kind: Any) -> Any:
    """Return the type of a number's key, of one number or of one in each lane."""
    integer = ir.IntType(32 if isinstance(element_type(kind), ir.FloatType) else 64)
    return LaneType(integer, kind.count) if isinstance(kind, ir.VectorType) else integer


def _flipped(builder: ir.IRBuilder, bits: Any) -> Any:
    """Return bits with all but the first one turned around where that is set."""
    width = element_type(bits.type).width
    negative = builder.ashr(bits, constant_of(bits.type, width - 1))
    return builder.xor(bits, builder.lshr(negative, constant_of(bits.type, 1)))


def _nan_key(kind: Any, is_maximum: bool) -> Any:
    """Return the key that stands for NaN: the greatest one or the least."""
    most = (1 << (element_type(kind).width - 1)) - 1
    return constant_of(kind, most if is_maximum else -most - 1)
