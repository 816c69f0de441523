"""Comparisons and choices, from ONNX: truth is 1 or 0 in the type of what is compared.

So ``And`` is a product and ``Or`` the larger of two, and a truth that becomes a number is itself.
What is known while the file is read (masks, most of the time) is a weight of ones and zeros.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np

from polygym.graphs.onnx.nodes.onnx_node import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.elementwise import expand_to
from polygym.rewrite.term import Term

_DTYPE = "float32"
"""The type of truths of which nothing else says one."""


def _numeric_operand(node: OnnxNode, place: int, dtype: str) -> Term:
    """Return an input as numbers of a type; truths that are known become such."""
    known = node.known_array(place)
    if known is not None:
        return node.weight(known.astype(dtype), node.names[place])
    x = node.term(place)
    return x if node.builder.tensor(x).dtype == dtype else node.make("cast", dtype, x)


def _type(node: OnnxNode, *places: int) -> str:
    """Return the type of the first input that is computed and not known."""
    for place in places:
        if node.known_array(place) is None:
            return node.builder.tensor(node.term(place)).dtype
    return _DTYPE


def _compare(node: OnnxNode, heads: tuple[str, ...], *, is_turned: bool = False) -> Term:
    """Return whether one of some comparisons holds, of y with x if they are turned."""
    dtype = _type(node, 0, 1)
    x, y = _numeric_operand(node, 0, dtype), _numeric_operand(node, 1, dtype)
    if is_turned:
        x, y = y, x
    return reduce(
        lambda term, other: node.pairwise("maximum", term, other),
        [node.make(head, x, y) for head in heads],
    )


def _comparison(*heads: str, is_turned: bool = False) -> Callable[[OnnxNode], Term]:
    return lambda node: _compare(node, heads, is_turned=is_turned)


def _negate_truth(node: OnnxNode, x: Term) -> Term:
    return node.pairwise("sub", node.scalar(1.0, x), x)


def _not(node: OnnxNode) -> Term:
    return _negate_truth(node, node.term(0))


def _logical(head: str) -> Callable[[OnnxNode], Term]:
    def translate(node: OnnxNode) -> Term:
        dtype = _type(node, 0, 1)
        return node.pairwise(
            head, _numeric_operand(node, 0, dtype), _numeric_operand(node, 1, dtype)
        )

    return translate


def _xor(node: OnnxNode) -> Term:
    return _negate_truth(node, _compare(node, ("equal",)))


def nonzero(node: OnnxNode, x: Term) -> Term:
    """Return whether elements are not 0, as a cast to booleans does."""
    return _negate_truth(node, node.make("equal", x, node.scalar(0.0, x)))


def _where(node: OnnxNode) -> Term:
    choice = node.known_array(0)
    if choice is not None and (choice.all() or not choice.any()):
        shape = node.broadcast(choice.shape, node.shape(1), node.shape(2))
        return expand_to(node, node.term(1 if choice.all() else 2), shape)
    dtype = _type(node, 1, 2) if node.known_array(1) is None or node.known_array(2) is None else ""
    if not dtype:
        known = node.known_array(1)
        dtype = _DTYPE if known is None else known.dtype.name
    if dtype == "bool":
        dtype = _DTYPE
    return node.make("where", *(_numeric_operand(node, place, dtype) for place in range(3)))


def _threshold(node: OnnxNode) -> Term:
    """Give x where it is larger than alpha, otherwise 0."""
    x = node.term(0)
    alpha = node.scalar(float(np.float32(node.attribute("alpha", 1.0))), x)
    return node.make("where", node.make("less", alpha, x), x, node.scalar(0.0, x))


def _triangular(node: OnnxNode) -> Term:
    """Give x on one side of the diagonal of its last two axes, otherwise 0."""
    x = node.term(0)
    shape = node.builder.shape(x)
    if len(shape) < 2:
        node.reject(f"expected a matrix, found the shape {list(shape)}")
    node.expect_small(*shape[-2:])
    shift = int(node.array(1, "the diagonal").reshape(())) if node.has(1) else 0
    keep = np.triu if node.attribute("upper", 1) else np.tril
    mask = keep(np.ones(shape[-2:], node.builder.tensor(x).dtype), shift)
    return node.make("where", node.weight(mask, "triangle"), x, node.scalar(0.0, x))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("Less", _comparison("less")),
    OnnxImport("LessOrEqual", _comparison("less", "equal")),
    OnnxImport("Greater", _comparison("less", is_turned=True)),
    OnnxImport("GreaterOrEqual", _comparison("less", "equal", is_turned=True)),
    OnnxImport("Equal", _comparison("equal")),
    OnnxImport("Not", _not),
    OnnxImport("And", _logical("mul")),
    OnnxImport("Or", _logical("maximum")),
    OnnxImport("Xor", _xor),
    OnnxImport("Where", _where),
    OnnxImport("ThresholdedRelu", _threshold, "alpha"),
    OnnxImport("Trilu", _triangular, "upper"),
)
