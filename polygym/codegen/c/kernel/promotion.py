"""Scalars in memory become values, and arguments that nobody uses are left out."""

from __future__ import annotations

from collections.abc import Iterator

from polygym.codegen.c.kernel.folding import folded
from polygym.codegen.c.kernel.values import Argument, LiftedFunction, Operation, Value


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


_CHUNK_ARGUMENTS = 4
"""The number of a chunk, the bounds of the loop, and how many chunks there are."""


def remove_unused_arguments(functions: dict[str, LiftedFunction], kernel: str) -> None:
    """Leave out what functions are given and do not use, or give to others that do not use it.

    So a scalar of the kernel stays in a register, unless another function really has its address.
    """
    used: dict[str, set[Argument]] = {name: set() for name in functions}
    used[kernel].update(functions[kernel].arguments)
    for name, function in functions.items():
        if name != kernel:
            used[name].update(function.arguments[: 2 if "_loop_" in name else _CHUNK_ARGUMENTS])
    changed = True
    while changed:
        changed = False
        for name, function in functions.items():
            now = set(_used_arguments(function, functions, used))
            if not now <= used[name]:
                used[name] |= now
                changed = True
    for function in functions.values():
        for operation in function.operations():
            if operation.name in ("call", "parallel_call"):
                callee = functions[operation.data[0]]
                pairs = zip(callee.arguments, operation.operands, strict=True)
                operation.operands = [
                    value for argument, value in pairs if argument in used[callee.name]
                ]
    for name, function in functions.items():
        function.arguments = [own for own in function.arguments if own in used[name]]


def _used_arguments(
    function: LiftedFunction,
    functions: dict[str, LiftedFunction],
    used: dict[str, set[Argument]],
) -> Iterator[Argument]:
    for block in function.blocks:
        for operation in block.operations:
            operands = operation.operands
            if operation.name in ("call", "parallel_call"):
                callee = functions[operation.data[0]]
                pairs = zip(callee.arguments, operands, strict=True)
                operands = [value for argument, value in pairs if argument in used[callee.name]]
            yield from (value for value in operands if isinstance(value, Argument))
        for phi in block.phis:
            yield from (v for v in phi.incoming.values() if isinstance(v, Argument))
        if isinstance(block.condition, Argument):
            yield block.condition
