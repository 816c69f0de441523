"""Bounds of loops from the sizes of the arrays that every iteration reads or writes.

Whatever the data say, no iteration of the first loop has another k than those of the second: an
element that does not exist has no meaning in C. So the bounds from data become conditions::

    void f(…, int row[n + 1], double value[nnz]) {
      for (k = row[i]; k < row[i + 1]; k++)         for (k = 0; k < nnz; k++)
        y[i] += value[k] * x[column[k]];       →      if (k >= row[i] && k < row[i + 1]) …

Only elements count that are touched however the conditions in the body come out, at the counter
plus a constant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax


@dataclass(frozen=True, slots=True, eq=False)
class CounterRange:
    """What a counter can be: ``minimum``, up to below ``size`` minus ``offset``."""

    minimum: int
    size: Any
    offset: int

    def end_node(self, like: Any) -> Any:
        """Return the first value that is too large."""
        return _sum(syntax.copy_tree(self.size), -self.offset, like)

    def last_node(self, like: Any) -> Any:
        """Return the largest value."""
        return _sum(syntax.copy_tree(self.size), -self.offset - 1, like)

    def first_node(self, like: Any) -> Any:
        """Return the least value."""
        return syntax.integer_node(self.minimum, like)


def counter_range(
    counter: str, body: Any, sizes: Callable[[str], Sequence[Any]], is_fixed: Callable[[str], bool]
) -> CounterRange | None:
    """Return what a loop's counter can be, None if the body does not say.

    ``sizes`` has the sizes of arrays by their names, None for one that is not declared; those that
    are taken consist of names that ``is_fixed``.
    """
    for node in _accessed_elements(syntax.statements_of(body)):
        base, subscripts = syntax.base_and_subscripts(node)
        if not isinstance(base, c_ast.ID):
            continue
        for subscript, size in zip(subscripts, sizes(base.name), strict=False):
            offset = _offset(subscript, counter)
            if offset is not None and size is not None and _is_affine_size(size, is_fixed):
                return CounterRange(-offset, size, offset)
    return None


def _accessed_elements(items: Sequence[Any]) -> Iterator[Any]:
    """Yield the elements that statements surely read or write."""
    for item in items:
        match item:
            case c_ast.Compound():
                yield from _accessed_elements(item.block_items or ())
            case c_ast.DeclList():
                yield from _accessed_elements(item.decls)
            case c_ast.Label():
                yield from _accessed_elements([item.stmt])
            case c_ast.Decl():
                yield from _evaluated_elements(item.init)
            case c_ast.If():
                yield from _evaluated_elements(item.cond)
            case c_ast.For():
                yield from _evaluated_elements(getattr(item.init, "rvalue", None))
            case c_ast.Assignment() | c_ast.UnaryOp():
                yield from _evaluated_elements(item)
            case _:
                continue


def _evaluated_elements(node: Any) -> Iterator[Any]:
    """Yield the elements in an expression that are read or written whatever the rest is."""
    match node:
        case None:
            return
        case c_ast.BinaryOp(op="&&" | "||"):
            yield from _evaluated_elements(node.left)
        case c_ast.TernaryOp():
            yield from _evaluated_elements(node.cond)
        case c_ast.FuncCall():
            return  # its argument may never be asked for
        case c_ast.UnaryOp(op="sizeof" | "&"):
            return
        case _:
            if isinstance(node, c_ast.ArrayRef):
                yield node
            for _, child in node.children():
                yield from _evaluated_elements(child)


def _offset(node: Any, counter: str) -> int | None:
    """Return c for the counter plus c, None for other subscripts."""
    match node:
        case c_ast.ID(name=name) if name == counter:
            return 0
        case (
            c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=name), right=c_ast.Constant(value=text))
            | c_ast.BinaryOp(op="+", left=c_ast.Constant(value=text), right=c_ast.ID(name=name))
        ) if name == counter and text.isdigit():
            return int(text) if node.op == "+" else -int(text)
        case _:
            return None


def _is_affine_size(size: Any, is_fixed: Callable[[str], bool]) -> bool:
    """Whether a size is an affine expression of names that mean the same at the loop."""
    for node in syntax.walk(size):
        if isinstance(node, c_ast.BinaryOp):
            is_product = node.op == "*" and all(map(syntax.names_in, (node.left, node.right)))
            if is_product or node.op not in ("+", "-", "*"):
                return False
        elif not isinstance(node, c_ast.ID | c_ast.Constant):
            return False
    return all(map(is_fixed, syntax.names_in(size)))


def _sum(node: Any, number: int, like: Any) -> Any:
    """Return a sum with a number."""
    if number == 0:
        return node
    operator = "+" if number > 0 else "-"
    return c_ast.BinaryOp(operator, node, syntax.integer_node(abs(number), like), like.coord)
