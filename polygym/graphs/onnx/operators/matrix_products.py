"""Products of matrices, from ONNX.

``matmul`` here wants equal leading extents, or a second matrix without any; what NumPy would
broadcast is repeated before, and a vector is a matrix of one row or column.
"""

from collections.abc import Mapping
from math import prod
from string import ascii_letters

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.onnx.operators.elementwise import expand_to
from polygym.rewrite.term import Term


def broadcast_matmul(node: OnnxNode, x: Term, y: Term) -> Term:
    """Return the product of two tensors as NumPy has it."""
    builder = node.builder
    left, right = builder.shape(x), builder.shape(y)
    if not left or not right:
        node.reject(f"expected two matrices, found the shapes {list(left)} and {list(right)}")
    if len(left) == 1:
        x = builder.reshaped(x, (1, *left))
    if len(right) == 1:
        y = builder.reshaped(y, (*right, 1))
    *own, rows, inner = builder.shape(x)
    *others, again, columns = builder.shape(y)
    if inner != again:
        node.reject(f"expected equal inner extents, found {list(left)} and {list(right)}")
    if prod(others) == 1 and len(others) <= len(own):
        y = builder.reshaped(y, (again, columns))
    elif own != others:
        batch = node.broadcast(own, others)
        missing = (1,) * (len(batch) - len(own))
        x = expand_to(
            node, builder.reshaped(x, (*missing, *own, rows, inner)), (*batch, rows, inner)
        )
        missing = (1,) * (len(batch) - len(others))
        y = builder.reshaped(y, (*missing, *others, again, columns))
        y = expand_to(node, y, (*batch, again, columns))
    z = node.make("matmul", "none", x, y)
    shape = builder.shape(z)
    if len(right) == 1:
        shape = shape[:-1]
    if len(left) == 1:
        shape = (*shape[:-2], shape[-1]) if len(right) > 1 else shape[:-1]
    return builder.reshaped(z, shape)


def _matmul(node: OnnxNode) -> Term:
    return broadcast_matmul(node, node.term(0), node.term(1))


def _maybe_transposed(node: OnnxNode, place: int, is_turned: bool) -> Term:
    """Return a matrix, or its transpose; that of a weight is a weight."""
    known = node.known_array(place)
    if len(node.shape(place)) != 2:
        node.reject(f"expected a matrix, found the shape {list(node.shape(place))}")
    if not is_turned:
        return node.term(place)
    if known is not None:
        return node.weight(known.T, f"{node.names[place]}-transposed")
    return node.builder.transposed(node.term(place), (1, 0))


def _scaled(node: OnnxNode, x: Term, by: float) -> Term:
    if by == 1:
        return x
    known = node.builder.value(x)
    if known is not None:
        return node.weight((known * np.asarray(by, known.dtype)).astype(known.dtype))
    return node.pairwise("mul", x, node.scalar(by, x))


def _gemm(node: OnnxNode) -> Term:
    """Add alpha A B and beta C, where A and B may be transposed and C broadcasts."""
    a = _maybe_transposed(node, 0, bool(node.attribute("transA", 0)))
    b = _maybe_transposed(node, 1, bool(node.attribute("transB", 0)))
    alpha, beta = (
        shortest_float(node.attribute("alpha", 1.0)),
        shortest_float(node.attribute("beta", 1.0)),
    )
    term = broadcast_matmul(node, a, _scaled(node, b, alpha))
    if not node.has(2) or beta == 0:
        return term
    return node.pairwise("add", term, _scaled(node, node.term(2), beta))


def _einsum(node: OnnxNode) -> Term:
    """Contract tensors two by two; two whose letters are each in one class are a product.

    Letters of both that are needed later are the batch, of both alone what is summed over, of one
    rows or columns. ``bhqd,bhkd->bhqk``: the batch is bh, rows q, columns k, summed d. What only
    one has and no other needs is summed before.
    """
    parts, result = _subscripts(node)
    terms = node.terms()
    sizes: dict[str, int] = {}
    for term, letters in zip(terms, parts, strict=True):
        shape = node.builder.shape(term)
        for letter, extent in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                node.reject(f"expected one extent for {letter}, found {sizes[letter]} and {extent}")
    x, left = terms[0], parts[0]
    for place in range(1, len(terms)):
        later = {*result, *(letter for part in parts[place + 1 :] for letter in part)}
        x, left = _contract(node, (x, left), (terms[place], parts[place]), later, sizes)
    x, left = _sum_unneeded(node, x, left, set(result))
    return node.builder.transposed(x, tuple(left.index(letter) for letter in result))


def _subscripts(node: OnnxNode) -> tuple[list[str], str]:
    """Return the letters of every tensor and of the result, ``...`` as letters of its own."""
    equation = node.attribute("equation", b"").decode("ascii", "replace").replace(" ", "")
    taken, arrow, result = equation.partition("->")
    parts = taken.split(",")
    ranks = [len(node.shape(place)) for place in range(len(node.values))]
    if len(parts) != len(ranks):
        node.reject(f"expected an equation of {len(ranks)} tensors, found {equation!r}")
    free = [letter for letter in ascii_letters if letter not in equation]
    if not arrow:  # then what is there once, in order
        plain = taken.replace(",", "").replace("...", "")
        once = sorted(letter for letter in set(plain) if plain.count(letter) == 1)
        result = ("..." if "..." in taken else "") + "".join(once)
    hidden = {
        rank - len(part.replace("...", ""))
        for part, rank in zip(parts, ranks, strict=True)
        if "..." in part
    }
    if len(hidden) > 1 or min(hidden, default=0) < 0 or max(hidden, default=0) > len(free):
        node.reject(f"expected as many axes for every ..., found {equation!r} of {ranks}")
    wild = "".join(free[: max(hidden, default=0)])
    parts = [part.replace("...", wild, 1) for part in parts]
    result = result.replace("...", wild, 1)
    is_understood = (
        all(len(set(part)) == len(part) for part in (*parts, result))
        and "".join((*parts, result, "a")).isalpha()
        and set(result) <= set("".join(parts))
        and [len(part) for part in parts] == ranks
    )
    if not is_understood:
        node.reject(f"expected an equation of products and sums, found {equation!r} of {ranks}")
    return parts, result


def _sum_unneeded(node: OnnxNode, x: Term, letters: str, needed: set[str]) -> tuple[Term, str]:
    """Sum over the letters that nothing needs."""
    axes = tuple(place for place, letter in enumerate(letters) if letter not in needed)
    if not axes:
        return x, letters
    rest = "".join(letter for letter in letters if letter in needed)
    return node.make("reduce-sum", shape_literal(axes), 0, x), rest


def _contract(
    node: OnnxNode,
    one: tuple[Term, str],
    other: tuple[Term, str],
    later: set[str],
    sizes: Mapping[str, int],
) -> tuple[Term, str]:
    """Return the product of two tensors, summed over letters of both that nothing needs later."""
    x, left = _sum_unneeded(node, *one, later | set(other[1]))
    y, right = _sum_unneeded(node, *other, later | set(left))
    batch = [letter for letter in left if letter in right and letter in later]
    inner = [letter for letter in left if letter in right and letter not in later]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]

    def arranged(term: Term, letters: str, *groups: list[str]) -> Term:
        order = tuple(letters.index(letter) for group in groups for letter in group)
        result = node.builder.transposed(term, order)
        extents = [prod(sizes[letter] for letter in group) for group in groups[1:]]
        return node.builder.reshaped(result, (*(sizes[letter] for letter in batch), *extents))

    z = broadcast_matmul(
        node, arranged(x, left, batch, rows, inner), arranged(y, right, batch, inner, columns)
    )
    made = "".join((*batch, *rows, *columns))
    return node.builder.reshaped(z, tuple(sizes[letter] for letter in made)), made


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("MatMul", _matmul),
    OnnxImport("Gemm", _gemm, "alpha beta transA transB"),
    OnnxImport("Einsum", _einsum, "equation"),
)
