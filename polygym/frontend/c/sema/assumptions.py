"""Assumptions on parameters that the program states: ``assert(n >= m);`` where the region starts.

Such a statement says for which parameter values the program is meaningful, which is exactly what a
Scop's context holds. Before the region, what is not affine is passed over (it may be about
anything); at the region's start it is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.accesses import c_text
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import ScopRegion

ASSUMPTION_FUNCTIONS = frozenset({"assert", "__builtin_assume", "__pencil_assume"})


@dataclass(frozen=True, slots=True, eq=False)
class Assumption:
    """A stated condition: its set and its C text, and those of what it is a conjunction of."""

    condition: Any
    text: str
    parts: tuple[tuple[Any, str], ...] = ()


def read_assumptions(
    region: ScopRegion, bindings: Bindings, affine: AffineReader, environment: ExpressionEnvironment
) -> tuple[tuple[Assumption, ...], tuple[Any, ...]]:
    """Return what is stated, and the region's items without the statements that said so.

    The names in a condition do not become parameters by it: what nothing else uses is no concern.
    """
    environment = environment.with_role("an assumption")
    before = dict(bindings.parameters)
    stated = []
    for node in _before(region.function.body, region.begin):
        condition = bindings.read_if_possible(affine.condition, _argument(node), environment)
        if condition is not None:
            stated.append(_assumption(_argument(node), affine, environment))
    items = list(region.items)
    while items and _is_assumption(items[0]):
        stated.append(_assumption(_argument(items.pop(0)), affine, environment))
    bindings.parameters = before
    return tuple(stated), tuple(items)


def assumption_statement(condition: Any) -> Any:
    """Return the statement that says a condition, at its place."""
    name = c_ast.ID("__builtin_assume", condition.coord)
    return c_ast.FuncCall(name, c_ast.ExprList([condition], condition.coord), condition.coord)


def value_assumptions(values: Sequence[tuple[str, int]], location_node: Any) -> list[Any]:
    """Return the statements that say what values some parameters have, at a node's place."""
    conditions = []
    for name, value in values:
        sides = c_ast.ID(name, location_node.coord), syntax.integer_node(value, location_node)
        conditions.append(c_ast.BinaryOp("==", *sides, location_node.coord))
    return list(map(assumption_statement, conditions))


def _is_assumption(node: Any) -> bool:
    """Whether a statement is ``assert(…)``, ``__builtin_assume(…)`` or ``__pencil_assume(…)``."""
    return (
        isinstance(node, c_ast.FuncCall)
        and getattr(node.name, "name", "") in ASSUMPTION_FUNCTIONS
        and len(syntax.operands_of(node)) == 1
    )


def _argument(node: Any) -> Any:
    """Return the condition of an assumption."""
    return node.args.exprs[0]


def _assumption(node: Any, affine: AffineReader, environment: ExpressionEnvironment) -> Assumption:
    parts = tuple(
        (affine.condition(part, environment), c_text(part)) for part in syntax.conjuncts(node)
    )
    whole = parts[0][0]
    for condition, _ in parts[1:]:
        whole = whole.intersect(condition).coalesce()
    return Assumption(whole, c_text(node), parts)


def _before(block: Any, begin: Any) -> Iterator[Any]:
    """Yield the assumptions in the blocks around a region, before it."""
    for item in getattr(block, "block_items", None) or ():
        if item is begin:
            return
        if syntax.contains_node(item, begin):
            yield from _inside(item, begin)
            return
        if _is_assumption(item):
            yield item


def _inside(node: Any, begin: Any) -> Iterator[Any]:
    """Yield the assumptions in the blocks of a statement that holds the region."""
    if isinstance(node, c_ast.Compound):
        yield from _before(node, begin)
        return
    for _, child in node.children():
        if syntax.contains_node(child, begin):
            yield from _inside(child, begin)
