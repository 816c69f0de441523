"""Unrolling of loops that count through arrays of a thread: then their elements are registers.

    for i = 0 .. 1: sum[i] += a[i]      →      sum[0] += a[0]; sum[1] += a[1]

A register has no address, so a subscript of a ``local`` array has to be a number. Side conditions:
the bounds are numbers, and the result has at most :data:`MOST_INSTANCES` instances. Other loops
stay, and LLVM decides about them.
"""

from collections.abc import Mapping
from dataclasses import replace

from polygym.codegen.loopir.index_arithmetic import depends_on, evaluate_index, substitute_in
from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    Instance,
    Loop,
    LoopProgram,
    Node,
    block_of,
    count_instances,
    instances_in,
    map_children,
)

MOST_INSTANCES = 4096
"""The most instances that the code of one loop may become."""


def unroll_local_loops(node: Node, program: LoopProgram, local: frozenset[str]) -> Node:
    """Return code in which no loop with known bounds counts through an array of ``local``."""
    if not local:
        return node
    return _unrolled(node, program, local, dict(program.sizes or ()))


def _unrolled(
    node: Node, program: LoopProgram, local: frozenset[str], sizes: Mapping[str, int]
) -> Node:
    if not isinstance(node, Loop):
        return map_children(node, lambda child: _unrolled(child, program, local, sizes))
    body = _unrolled(node.body, program, local, sizes)
    try:
        lower, upper = (evaluate_index(bound, sizes) for bound in (node.lower, node.upper))
    except KeyError:  # it depends on a counter
        return replace(node, body=body)
    values = range(lower, upper + 1, node.step)
    if not _counts_through(node.variable, body, program, local) or (
        len(values) * count_instances(body) > MOST_INSTANCES
    ):
        return replace(node, body=body)
    copies = [substitute_in(body, {node.variable: IndexConstant(value)}) for value in values]
    # Bounds of loops inside may be numbers now.
    return block_of([_unrolled(copy, program, local, sizes) for copy in copies])


def _counts_through(variable: str, body: Node, program: LoopProgram, local: frozenset[str]) -> bool:
    """Whether a subscript of an array of ``local`` depends on a counter."""
    return any(
        depends_on(subscript, variable)
        for instance in instances_in(body)
        for array, subscripts in _accesses(instance, program)
        if array in local
        for subscript in subscripts
    )


def _accesses(instance: Instance, program: LoopProgram) -> list[tuple[str, tuple[Index, ...]]]:
    statement = program.scop.statement(instance.statement)
    reads = zip(statement.reads, instance.reads, strict=True)
    return [
        (statement.write.array, instance.write),
        *((access.array, subscripts) for access, subscripts in reads),
    ]
