"""Comparisons and choices, from ONNX: truth is 1 or 0 in the type of what is compared.

So ``And`` is a product and ``Or`` the larger of two, and a truth that becomes a number is itself.
What is known while the file is read (masks, most of the time) is a weight of ones and zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from polygym.graphs.onnx.elementwise import expanded
from polygym.graphs.onnx.nodes import Node
from polygym.graphs.onnx.rows import Row
from polygym.rewrite.term import Term

__all__ = ["ROWS", "truth_of"]

_DTYPE = "float32"
"""The type of truths of which nothing else says one."""


def _operand(node: Node, place: int, dtype: str) -> Term:
    """Return an input as numbers of a type; truths that are known become such."""
    known = node.known(place)
    if known is not None:
        return node.weight(known.astype(dtype), node.names[place])
    x = node.term(place)
    return x if node.builder.tensor(x).dtype == dtype else node.make("cast", dtype, x)


def _type(node: Node, *places: int) -> str:
    """Return the type of the first input that is computed and not known."""
    for place in places:
        if node.known(place) is None:
            return node.builder.tensor(node.term(place)).dtype
    return _DTYPE


def _compared(node: Node, heads: tuple[str, ...], *, is_turned: bool = False) -> Term:
    """Return whether one of some comparisons holds, of y with x if they are turned."""
    dtype = _type(node, 0, 1)
    x, y = _operand(node, 0, dtype), _operand(node, 1, dtype)
    if is_turned:
        x, y = y, x
    return reduce(
        lambda one, other: node.pairwise("maximum", one, other),
        [node.make(head, x, y) for head in heads],
    )


def _comparison(*heads: str, is_turned: bool = False) -> Callable[[Node], Term]:
    return lambda node: _compared(node, heads, is_turned=is_turned)


def _opposite(node: Node, x: Term) -> Term:
    return node.pairwise("sub", node.scalar(1.0, x), x)


def _not(node: Node) -> Term:
    return _opposite(node, node.term(0))


def _joined(head: str) -> Callable[[Node], Term]:
    def translate(node: Node) -> Term:
        dtype = _type(node, 0, 1)
        return node.pairwise(head, _operand(node, 0, dtype), _operand(node, 1, dtype))

    return translate


def _different(node: Node) -> Term:
    return _opposite(node, _compared(node, ("equal",)))


def truth_of(node: Node, x: Term) -> Term:
    """Return whether elements are not 0, as a cast to booleans does."""
    return _opposite(node, node.make("equal", x, node.scalar(0.0, x)))


def _where(node: Node) -> Term:
    choice = node.known(0)
    if choice is not None and (choice.all() or not choice.any()):
        shape = node.broadcast(choice.shape, node.shape(1), node.shape(2))
        return expanded(node, node.term(1 if choice.all() else 2), shape)
    dtype = _type(node, 1, 2) if node.known(1) is None or node.known(2) is None else ""
    if not dtype:
        known = node.known(1)
        dtype = _DTYPE if known is None else known.dtype.name
    if dtype == "bool":
        dtype = _DTYPE
    return node.make("where", *(_operand(node, place, dtype) for place in range(3)))


def _threshold(node: Node) -> Term:
    """Give x where it is larger than alpha, elsewhere 0."""
    x = node.term(0)
    alpha = node.scalar(float(np.float32(node.attribute("alpha", 1.0))), x)
    return node.make("where", node.make("less", alpha, x), x, node.scalar(0.0, x))


def _lower_or_upper(node: Node) -> Term:
    """Give x on one side of the diagonal of its last two axes, elsewhere 0."""
    x = node.term(0)
    shape = node.builder.shape(x)
    if len(shape) < 2:
        node.refuse(f"expected a matrix, found the shape {list(shape)}")
    node.expect_small(*shape[-2:])
    shift = int(node.array(1, "the diagonal").reshape(())) if node.has(1) else 0
    keep = np.triu if node.attribute("upper", 1) else np.tril
    mask = keep(np.ones(shape[-2:], node.builder.tensor(x).dtype), shift)
    return node.make("where", node.weight(mask, "triangle"), x, node.scalar(0.0, x))


ROWS: tuple[Row, ...] = (
    Row("Less", _comparison("less")),
    Row("LessOrEqual", _comparison("less", "equal")),
    Row("Greater", _comparison("less", is_turned=True)),
    Row("GreaterOrEqual", _comparison("less", "equal", is_turned=True)),
    Row("Equal", _comparison("equal")),
    Row("Not", _not),
    Row("And", _joined("mul")),
    Row("Or", _joined("maximum")),
    Row("Xor", _different),
    Row("Where", _where),
    Row("ThresholdedRelu", _threshold, "alpha"),
    Row("Trilu", _lower_or_upper, "upper"),
)
