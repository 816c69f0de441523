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
loop runs in chains (:mod:`polygym.compiler.codegen.llvm.emit_chains`), each lane of each of them
keeps a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from polygym.compiler.codegen.common.reductions import Extreme, extreme_of
from polygym.compiler.codegen.llvm.kinds import LaneType, element_of, everywhere
from polygym.compiler.codegen.loops.ir import Block, Instance, Loop
from polygym.compiler.codegen.loops.nests import parts_of
from polygym.compiler.ir.expr import Gather, walk
from polygym.compiler.ir.scop import Statement


def float_extreme_of(statement: Statement) -> Extreme | None:
    """Return what a statement keeps the extreme of, a float; None if it is no such statement."""
    body = statement.body
    if not body.type.is_floating or any(isinstance(node, Gather) for node in walk(body)):
        return None
    return extreme_of(statement)


def extremes_in(
    loop: Loop, statements: Mapping[str, Statement], unproved: frozenset[tuple[str, int]]
) -> dict[str, Extreme] | None:
    """Return what the statements of a loop keep, None if anything else happens in it."""
    found: dict[str, Extreme] = {}
    for part in parts_of(loop.body) if isinstance(loop.body, Block) else (loop.body,):
        if not isinstance(part, Instance) or part.lanes is not None:
            return None
        extreme = float_extreme_of(statements[part.statement])
        if extreme is None or any(name == part.statement for name, _ in unproved):
            return None
        found[part.statement] = extreme
    return found or None


def key_of(builder: ir.IRBuilder, number: Any) -> Any:
    """Return the key of a number."""
    kind = _integer_of(number.type)
    return _turned(builder, builder.bitcast(number, kind))


def number_of(builder: ir.IRBuilder, key: Any, kind: Any) -> Any:
    """Return the number of a key."""
    return builder.bitcast(_turned(builder, key), kind)


def kept(builder: ir.IRBuilder, key: Any, number: Any, is_maximum: bool) -> Any:
    """Return the key that is kept of one and of a number's; that of NaN, once there was one."""
    is_none = builder.fcmp_unordered("uno", number, number)
    other = builder.select(is_none, _of_none(key.type, is_maximum), key_of(builder, number))
    is_kept = builder.icmp_signed(">" if is_maximum else "<", key, other)
    return builder.select(is_kept, key, other)


def first_key(builder: ir.IRBuilder, number: Any, is_maximum: bool) -> Any:
    """Return the key that a loop begins with."""
    is_none = builder.fcmp_unordered("uno", number, number)
    return builder.select(
        is_none, _of_none(_integer_of(number.type), is_maximum), key_of(builder, number)
    )


def all_settled(builder: ir.IRBuilder, keys: Sequence[tuple[Any, Any, bool]]) -> Any:
    """Whether keys, with their kinds of numbers and directions, are of numbers other than zero."""
    settled = ir.Constant(ir.IntType(1), 1)
    for key, kind, is_maximum in keys:
        some = builder.icmp_signed("!=", key, _of_none(key.type, is_maximum))
        number = number_of(builder, key, kind)
        other = builder.fcmp_unordered("!=", number, ir.Constant(kind, 0.0))
        settled = builder.and_(settled, builder.and_(some, other))
    return settled


def _integer_of(kind: Any) -> Any:
    """Return the type of a number's key, of one number or of one in each lane."""
    integer = ir.IntType(32 if isinstance(element_of(kind), ir.FloatType) else 64)
    return LaneType(integer, kind.count) if isinstance(kind, ir.VectorType) else integer


def _turned(builder: ir.IRBuilder, bits: Any) -> Any:
    """Return bits with all but the first one turned around where that is set."""
    width = element_of(bits.type).width
    negative = builder.ashr(bits, everywhere(bits.type, width - 1))
    return builder.xor(bits, builder.lshr(negative, everywhere(bits.type, 1)))


def _of_none(kind: Any, is_maximum: bool) -> Any:
    """Return the key that stands for NaN: the greatest one or the least."""
    most = (1 << (element_of(kind).width - 1)) - 1
    return everywhere(kind, most if is_maximum else -most - 1)
