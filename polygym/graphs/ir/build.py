"""Functions that make nodes, for those who write a graph in Python.

    >>> x, w = graph_input("x", 2, 3), weight("w", 3, 4)
    >>> from polygym.rewrite.s_expressions import term_text
    >>> term_text(relu(matmul(x, w)))
    '(relu (matmul none (input x@2-3) (weight w@3-4)))'

Whether a node makes sense is seen when a :class:`~polygym.graphs.ir.graph.Graph` is made of it, or
by :func:`shape_of`.
"""

from collections.abc import Sequence

from polygym.graphs.ir.domain import infer_all
from polygym.graphs.operators.types import TensorType, shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, term


def make_node(head: Head, *children: Term | Head) -> Term:
    """Return a node; literals may be given as they are."""
    return term(head, *(child if isinstance(child, Term) else term(child) for child in children))


def literal(value: Head) -> Term:
    """Return a literal."""
    return term(value)


def shape_literal(numbers: Sequence[int]) -> Term:
    """Return a shape, a permutation or axes as a literal: a number where it is one alone.

    >>> shape_literal((64, 1024)).head, shape_literal((5,)).head
    ('64-1024', 5)
    """
    return term(numbers[0] if len(numbers) == 1 else shape_text(tuple(numbers)))


def graph_input(name: str, *shape: int, dtype: str = "float32") -> Term:
    """Return an input of the graph."""
    return make_node("input", _identifier(name, shape, dtype))


def weight(name: str, *shape: int, dtype: str = "float32") -> Term:
    """Return a weight."""
    return make_node("weight", _identifier(name, shape, dtype))


def matmul(x: Term, y: Term, activation: str = "none") -> Term:
    """Return a product of matrices."""
    return make_node("matmul", activation, x, y)


def conv(
    x: Term,
    w: Term,
    stride: tuple[int, int] = (1, 1),
    padding: str = "same",
    activation: str = "none",
) -> Term:
    """Return a convolution; shapes say in how many groups."""
    return make_node("conv", *stride, padding, activation, x, w)


def pool(
    kind: str,
    x: Term,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: str = "valid",
    activation: str = "none",
) -> Term:
    """Return ``max`` or ``avg`` of windows."""
    return make_node(f"pool{kind}", x, *kernel, *stride, padding, activation)


def unary(name: str, x: Term) -> Term:
    """Return a function of every element."""
    return make_node(name, x)


def binary(name: str, x: Term, y: Term) -> Term:
    """Return a function of pairs of elements."""
    return make_node(name, x, y)


def relu(x: Term) -> Term:
    """Return max(x, 0)."""
    return make_node("relu", x)


def tanh(x: Term) -> Term:
    """Return the hyperbolic tangent."""
    return make_node("tanh", x)


def sigmoid(x: Term) -> Term:
    """Return 1 / (1 + exp(-x))."""
    return make_node("sigmoid", x)


def transpose(x: Term, permutation: Sequence[int]) -> Term:
    """Return another order of axes."""
    return make_node("transpose", x, shape_literal(permutation))


def reshape(x: Term, shape: Sequence[int]) -> Term:
    """Return the same elements under another shape."""
    return make_node("reshape", x, shape_literal(shape))


def concat(axis: int, parts: Sequence[Term]) -> Term:
    """Return tensors one after the other; one alone is itself."""
    return parts[0] if len(parts) == 1 else make_node(f"concat{len(parts)}", axis, *parts)


def split(axis: int, at: int, x: Term) -> tuple[Term, Term]:
    """Return both parts of a split."""
    both = make_node("split", axis, at, x)
    return make_node("split0", both), make_node("split1", both)


def shape_of(node: Term) -> tuple[int, ...]:
    """Return the shape of a node.

    Raises:
        Inadmissible: it makes no sense, or is no tensor.
    """
    result = infer_all((node,))[node]
    if not isinstance(result, TensorType):
        raise Inadmissible(f"expected a tensor, found {result}")
    return result.shape


def _identifier(name: str, shape: tuple[int, ...], dtype: str) -> str:
    return f"{name}@{shape_text(shape)}" + ("" if dtype == "float32" else f":{dtype}")
