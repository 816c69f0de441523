"""Scalars in memory that are assigned once become values."""

from __future__ import annotations

from polygym.codegen.c.kernel.folding import folded
from polygym.codegen.c.kernel.values import LiftedFunction, Operation, Value


def promote_scalars(function: LiftedFunction) -> None:
    """Replace what is read of a scalar's memory by the one value that it gets, at the beginning.

    Memory that is never read is left out, with what is stored there.
    """
    uses: dict[Operation, list[tuple[Operation, int]]] = {}
    for operation in function.operations():
        for place, operand in enumerate(operation.operands):
            if isinstance(operand, Operation) and operand.name == "alloca":
                uses.setdefault(operand, []).append((operation, place))
    values: dict[Operation, Value] = {}
    removed: set[Operation] = set()
    first = function.blocks[0]
    for alloca, users in uses.items():
        if alloca.data[1] is not None:
            continue
        stores = [user for user, place in users if (user.name, place) == ("store", 1)]
        loads = [user for user, _ in users if user.name == "load"]
        if len(stores) + len(loads) < len(users):
            continue
        if not loads:
            removed.update(stores)
        elif len(stores) == 1 and stores[0].block is first:
            (store,) = stores
            begin = first.operations.index(store)
            before = first.operations[:begin]
            if not any(load in before for load in loads):
                removed.update(stores)
                values.update(dict.fromkeys(loads, store.operands[0]))
    _replace(function, values, removed)


def _replace(
    function: LiftedFunction, values: dict[Operation, Value], removed: set[Operation]
) -> None:
    def final(value: Value) -> Value:
        while isinstance(value, Operation) and value in values:
            value = values[value]
        return value

    for block in function.blocks:
        block.operations = [o for o in block.operations if o not in removed and o not in values]
        for operation in block.operations:
            operation.operands = [final(operand) for operand in operation.operands]
            simple = folded(operation.name, operation.kind, operation.operands, operation.data)
            if simple is not None:
                values[operation] = simple
    for block in function.blocks:
        for phi in block.phis:
            phi.incoming = {source: final(value) for source, value in phi.incoming.items()}
        if block.condition is not None:
            block.condition = final(block.condition)
