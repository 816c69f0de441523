"""Functions that make nodes, for those who write a graph in Python.

    >>> x, w = entering("x", 2, 3), weight("w", 3, 4)
    >>> from polygym.rewrite.expressions import text_of
    >>> text_of(relu(matmul(x, w)))
    '(relu (matmul none (input x@2-3) (weight w@3-4)))'

Whether a node makes sense is seen when a :class:`~polygym.graphs.ir.graph.Graph` is made of it, or
by :func:`shape`.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.graphs.ir.domain import data_of
from polygym.graphs.ir.types import Tensor, shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, term

__all__ = [
    "binary",
    "concat",
    "conv",
    "entering",
    "literal",
    "matmul",
    "node",
    "pool",
    "relu",
    "reshape",
    "shape",
    "sigmoid",
    "split",
    "tanh",
    "transpose",
    "unary",
    "weight",
    "words",
]


def node(head: Head, *children: Term | Head) -> Term:
    """Return a node; literals may be given as they are."""
    return term(head, *(one if isinstance(one, Term) else term(one) for one in children))


def literal(value: Head) -> Term:
    """Return a literal."""
    return term(value)


def words(numbers: Sequence[int]) -> Term:
    """Return a shape, a permutation or axes as a literal: a number where it is one alone.

    >>> words((64, 1024)).head, words((5,)).head
    ('64-1024', 5)
    """
    return term(numbers[0] if len(numbers) == 1 else shape_text(tuple(numbers)))


def entering(name: str, *shape: int, dtype: str = "float32") -> Term:
    """Return an input of the graph."""
    return node("input", _identifier(name, shape, dtype))


def weight(name: str, *shape: int, dtype: str = "float32") -> Term:
    """Return a weight."""
    return node("weight", _identifier(name, shape, dtype))


def matmul(x: Term, y: Term, activation: str = "none") -> Term:
    """Return a product of matrices."""
    return node("matmul", activation, x, y)


def conv(
    x: Term,
    w: Term,
    stride: tuple[int, int] = (1, 1),
    padding: str = "same",
    activation: str = "none",
) -> Term:
    """Return a convolution; shapes say in how many groups."""
    return node("conv", *stride, padding, activation, x, w)


def pool(
    kind: str,
    x: Term,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: str = "valid",
    activation: str = "none",
) -> Term:
    """Return ``max`` or ``avg`` of windows."""
    return node(f"pool{kind}", x, *kernel, *stride, padding, activation)


def unary(name: str, x: Term) -> Term:
    """Return a function of every element."""
    return node(name, x)


def binary(name: str, x: Term, y: Term) -> Term:
    """Return a function of pairs of elements."""
    return node(name, x, y)


def relu(x: Term) -> Term:
    """Return max(x, 0)."""
    return node("relu", x)


def tanh(x: Term) -> Term:
    """Return the hyperbolic tangent."""
    return node("tanh", x)


def sigmoid(x: Term) -> Term:
    """Return 1 / (1 + exp(-x))."""
    return node("sigmoid", x)


def transpose(x: Term, permutation: Sequence[int]) -> Term:
    """Return another order of axes."""
    return node("transpose", x, words(permutation))


def reshape(x: Term, shape: Sequence[int]) -> Term:
    """Return the same elements under another shape."""
    return node("reshape", x, words(shape))


def concat(axis: int, parts: Sequence[Term]) -> Term:
    """Return tensors one after the other; one alone is itself."""
    return parts[0] if len(parts) == 1 else node(f"concat{len(parts)}", axis, *parts)


def split(axis: int, at: int, x: Term) -> tuple[Term, Term]:
    """Return both parts of a split."""
    both = node("split", axis, at, x)
    return node("split0", both), node("split1", both)


def shape(one: Term) -> tuple[int, ...]:
    """Return the shape of a node.

    Raises:
        Inadmissible: it makes no sense, or is no tensor.
    """
    found = data_of((one,))[one]
    if not isinstance(found, Tensor):
        raise Inadmissible(f"expected a tensor, found {found}")
    return found.shape


def _identifier(name: str, shape: tuple[int, ...], dtype: str) -> str:
    return f"{name}@{shape_text(shape)}" + ("" if dtype == "float32" else f":{dtype}")
