"""Numbers of elements that a call of ``malloc`` or ``calloc`` asks memory for, or ``memset`` fills.

The size in bytes is a product. Its constant factors are divided by the size of an element::

    malloc(n * m * 8)       n * m doubles
    calloc(n + 1, 8)        n + 1 doubles, 2 * (n + 1) floats
    memset(x, 0, 4 * n)     n ints, at least
"""

from contextlib import suppress
from math import prod
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.source import literals, syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion

_BYTES = {
    "malloc": (0,),
    "calloc": (0, 1),
    "aligned_alloc": (1,),
    "memalign": (1,),
    "memset": (2,),
}


def allocated_elements(call: Any, element_size: int) -> Any:
    """Return an expression of how many elements a call asks for; None where it cannot be told."""
    operands = syntax.operands_of(call)
    places = _BYTES.get(getattr(call.name, "name", ""), ())
    if not places or len(operands) <= max(places):
        return None
    factors = [factor for place in places for factor in _factors(operands[place])]
    values = [literals.integer_value(factor) for factor in factors]
    count, rest = divmod(prod(value for value in values if value is not None), element_size)
    others = [factor for factor, value in zip(factors, values, strict=True) if value is None]
    if rest or any(syntax.acts(factor) for factor in others):
        return None
    if count != 1 or not others:
        others = [syntax.integer_node(count, call), *others]
    result = _without_casts(others[0])
    for factor in others[1:]:
        result = c_ast.BinaryOp("*", result, _without_casts(factor), call.coord)
    return result


def filled_elements(tree: Any, region: ScopRegion, source: SourceMap) -> dict[str, Any]:
    """Return how many elements of pointers ``memset`` fills before a region, in its block."""
    block = syntax.block_with(region.function.body, region.begin)
    before = block[: next(k for k, item in enumerate(block) if item is region.begin)]
    declared = syntax.declarations_before(region.function, region.begin)
    declarations = Declarations(syntax.typedefs_of(tree), source)
    result = {}
    for place, item in enumerate(before):
        if not isinstance(item, c_ast.FuncCall) or getattr(item.name, "name", "") != "memset":
            continue
        pointer = syntax.without_casts((syntax.operands_of(item) or [None])[0])
        if not isinstance(pointer, c_ast.ID) or pointer.name not in declared:
            continue
        kind = declared[pointer.name].type
        if not isinstance(kind, c_ast.PtrDecl):
            continue
        with suppress(SourceError):
            size = declarations.scalar(kind.type, item, pointer.name).size
            count = allocated_elements(item, size)
            changed = syntax.modified_names(before[place + 1 :])
            if count is not None and changed.isdisjoint({pointer.name, *syntax.names_in(count)}):
                result[pointer.name] = count
    return result


def _without_casts(node: Any) -> Any:
    """Return an integer without casts: the sizes of memory that there is are the same numbers."""
    return syntax.copy_tree(
        node, lambda part: _without_casts(part.expr) if isinstance(part, c_ast.Cast) else None
    )


def _factors(node: Any) -> list[Any]:
    """Return the factors of a product; what is cast to another integer is the same number."""
    node = syntax.without_casts(node)
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [node]
