"""Blocks of a function of LLVM in the order in which they are lifted: reverse postorder."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def reverse_postorder(first: Any) -> list[Any]:
    """Return the blocks that can be reached, each after those that lead to it, but for loops."""
    seen, order = {first}, []
    stack: list[tuple[Any, Any]] = [(first, iter(_successors(first)))]
    while stack:
        block, left = stack[-1]
        for target in left:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(_successors(target))))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def _successors(block: Any) -> list[Any]:
    """Return the blocks to which a block leads, the last one first."""
    terminator = block.terminator
    if isinstance(terminator, ir.Ret):
        return []
    return [target for target in terminator.operands if isinstance(target, ir.Block)][::-1]
