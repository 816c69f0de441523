"""Products of matrices, from ONNX.

``matmul`` here wants equal leading extents, or a second matrix without any; what NumPy would
broadcast is repeated before, and a vector is a matrix of one row or column.
"""

from __future__ import annotations

from math import prod

import numpy as np

from polygym.graphs.onnx.elementwise import expanded
from polygym.graphs.onnx.nodes import Node, real
from polygym.graphs.onnx.rows import Row
from polygym.rewrite.term import Term

__all__ = ["ROWS", "product"]


def product(node: Node, x: Term, y: Term) -> Term:
    """Return the product of two tensors as NumPy has it."""
    builder = node.builder
    left, right = builder.shape(x), builder.shape(y)
    if not left or not right:
        node.refuse(f"expected two matrices, found the shapes {list(left)} and {list(right)}")
    if len(left) == 1:
        x = builder.reshaped(x, (1, *left))
    if len(right) == 1:
        y = builder.reshaped(y, (*right, 1))
    *own, rows, inner = builder.shape(x)
    *others, again, columns = builder.shape(y)
    if inner != again:
        node.refuse(f"expected equal inner extents, found {list(left)} and {list(right)}")
    if prod(others) == 1 and len(others) <= len(own):
        y = builder.reshaped(y, (again, columns))
    elif own != others:
        batch = node.broadcast(own, others)
        missing = (1,) * (len(batch) - len(own))
        x = expanded(
            node, builder.reshaped(x, (*missing, *own, rows, inner)), (*batch, rows, inner)
        )
        missing = (1,) * (len(batch) - len(others))
        y = builder.reshaped(y, (*missing, *others, again, columns))
        y = expanded(node, y, (*batch, again, columns))
    z = node.make("matmul", "none", x, y)
    shape = builder.shape(z)
    if len(right) == 1:
        shape = shape[:-1]
    if len(left) == 1:
        shape = (*shape[:-2], shape[-1]) if len(right) > 1 else shape[:-1]
    return builder.reshaped(z, shape)


def _matmul(node: Node) -> Term:
    return product(node, node.term(0), node.term(1))


def _turned(node: Node, place: int, is_turned: bool) -> Term:
    """Return a matrix, or its transpose; that of a weight is a weight."""
    known = node.known(place)
    if len(node.shape(place)) != 2:
        node.refuse(f"expected a matrix, found the shape {list(node.shape(place))}")
    if not is_turned:
        return node.term(place)
    if known is not None:
        return node.weight(known.T, f"{node.names[place]}-transposed")
    return node.builder.transposed(node.term(place), (1, 0))


def _scaled(node: Node, x: Term, by: float) -> Term:
    if by == 1:
        return x
    known = node.builder.value(x)
    if known is not None:
        return node.weight((known * np.asarray(by, known.dtype)).astype(known.dtype))
    return node.pairwise("mul", x, node.scalar(by, x))


def _gemm(node: Node) -> Term:
    """Add alpha A B and beta C, where A and B may be transposed and C broadcasts."""
    a = _turned(node, 0, bool(node.attribute("transA", 0)))
    b = _turned(node, 1, bool(node.attribute("transB", 0)))
    alpha, beta = real(node.attribute("alpha", 1.0)), real(node.attribute("beta", 1.0))
    found = product(node, a, _scaled(node, b, alpha))
    if not node.has(2) or beta == 0:
        return found
    return node.pairwise("add", found, _scaled(node, node.term(2), beta))


def _einsum(node: Node) -> Term:
    """Two tensors whose letters are each in one class are a product of matrices in a batch.

    Letters of both and of the result are the batch, of both alone what is summed over, of one and
    the result rows or columns. ``bhqd,bhkd->bhqk``: the batch is bh, rows q, columns k, summed d.
    """
    equation = node.attribute("equation", b"").decode("ascii", "replace").replace(" ", "")
    taken, arrow, result = equation.partition("->")
    parts = taken.split(",")
    if not arrow or len(parts) != 2 or not (taken + result).replace(",", "").isalpha():
        node.refuse(f"expected two tensors and a result such as ij,jk->ik, found {equation!r}")
    left, right = parts
    batch = [one for one in result if one in left and one in right]
    rows = [one for one in result if one in left and one not in right]
    columns = [one for one in result if one in right and one not in left]
    inner = [one for one in left if one in right and one not in result]
    is_understood = (
        all(len(set(one)) == len(one) for one in (left, right, result))
        and set(left) == {*batch, *rows, *inner}
        and set(right) == {*batch, *columns, *inner}
        and set(result) == {*batch, *rows, *columns}
    )
    x, y = node.term(0), node.term(1)
    shapes = node.builder.shape(x), node.builder.shape(y)
    if not is_understood or [len(one) for one in shapes] != [len(left), len(right)]:
        node.refuse(f"expected an equation that is one product of matrices, found {equation!r}")
    sizes = dict(zip(left + right, (*shapes[0], *shapes[1]), strict=True))

    def arranged(one: Term, letters: str, *groups: list[str]) -> Term:
        order = tuple(letters.index(letter) for group in groups for letter in group)
        found = node.builder.transposed(one, order)
        extents = [prod(sizes[letter] for letter in group) for group in groups[1:]]
        return node.builder.reshaped(found, (*(sizes[letter] for letter in batch), *extents))

    z = product(
        node, arranged(x, left, batch, rows, inner), arranged(y, right, batch, inner, columns)
    )
    made = [*batch, *rows, *columns]
    z = node.builder.reshaped(z, tuple(sizes[letter] for letter in made))
    return node.builder.transposed(z, tuple(made.index(letter) for letter in result))


ROWS: tuple[Row, ...] = (
    Row("MatMul", _matmul),
    Row("Gemm", _gemm, "alpha beta transA transB"),
    Row("Einsum", _einsum, "equation"),
)
