"""Operations without an effect whose values nobody uses are left out."""

from __future__ import annotations

from polygym.codegen.c.kernel.values import EFFECTS, LiftedFunction, Operation, Value


def remove_dead(function: LiftedFunction) -> None:
    """Remove operations that have no effect and whose values nobody uses."""
    phis = {phi.operation: phi for block in function.blocks for phi in block.phis}
    left: list[Value] = []
    for block in function.blocks:
        left += [operation for operation in block.operations if operation.name in EFFECTS]
        left += [] if block.condition is None else [block.condition]
    live: set[Operation] = set()
    while left:
        value = left.pop()
        if not isinstance(value, Operation) or value in live:
            continue
        live.add(value)
        left += phis[value].incoming.values() if value in phis else value.operands
    used = {o for operation in live for o in operation.operands if isinstance(o, Operation)}
    for phi in phis.values():
        if phi.operation in live:
            used |= {v for v in phi.incoming.values() if isinstance(v, Operation)}
    for block in function.blocks:
        block.phis = [phi for phi in block.phis if phi.operation in live]
        block.operations = [
            o for o in block.operations if o in live and (o.name != "alloca" or o in used)
        ]
