"""Layer norm and gelu, found again in what exporters took them apart into.

A product is looked at as a number times factors, in whatever order it was written: gelu is
0.5 · x · (1 + erf(x / √2)), and its approximation 0.5 · x · (1 + tanh(√(2/π) (x + 0.044715 x³))).
Layer norm is d / √(mean of d² + ε) for d = x minus its mean along the last axis; a weight that is
multiplied to it or added afterwards becomes its scale or bias.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose, pi, sqrt

import numpy as np

from polygym.graphs.onnx.nodes import OnnxGraphBuilder, shortest_float
from polygym.rewrite.term import Term, postorder

_SUMS = ("add", "ewadd")
_PRODUCTS = ("mul", "ewmul")


def recognize_patterns(roots: Iterable[Term], builder: OnnxGraphBuilder) -> dict[Term, Term]:
    """Return what becomes of every node."""
    made: dict[Term, Term] = {}
    for term in postorder(roots):
        children = tuple(made[child] for child in term.children)
        new = term if children == term.children else builder.make(term.head, *children)
        made[term] = _recognize(new, builder)
    return made


def _recognize(node: Term, builder: OnnxGraphBuilder) -> Term:
    if node.head in _PRODUCTS:
        return (
            _gelu(node, builder)
            or _as_scale(node, builder)
            or _as_layer_norm(node, builder)
            or node
        )
    if node.head == "div":
        return _gelu(node, builder) or _as_layer_norm(node, builder) or node
    return (_as_bias(node, builder) or node) if node.head in _SUMS else node


@dataclass(frozen=True, slots=True)
class _Product:
    """A number times factors."""

    number: float
    factors: Counter[Term]


def _number(node: Term, builder: OnnxGraphBuilder) -> float | None:
    """Return the value of a weight that is one number."""
    known = builder.value(node)
    if known is None or known.size == 0 or known.dtype.kind != "f":
        return None
    first = known.reshape(-1)[0]
    return float(first) if known.size == 1 or (known == first).all() else None


def _product(node: Term, builder: OnnxGraphBuilder, depth: int = 6) -> _Product:
    """Return what a node is as a product."""
    if node.head in _PRODUCTS and depth:
        left, right = (_product(child, builder, depth - 1) for child in node.children)
        return _Product(left.number * right.number, left.factors + right.factors)
    if node.head == "div" and depth:
        divisor = _number(node.children[1], builder)
        if divisor:
            upper = _product(node.children[0], builder, depth - 1)
            return _Product(upper.number / divisor, upper.factors)
    known = _number(node, builder)
    return _Product(1.0, Counter([node])) if known is None else _Product(known, Counter())


def _split_offset(node: Term, builder: OnnxGraphBuilder) -> tuple[Term, float] | None:
    """Take x + number apart."""
    if node.head not in _SUMS:
        return None
    for x, y in (node.children, node.children[::-1]):
        if (number := _number(y, builder)) is not None:
            return x, number
    return None


def _is_close(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-4)


def _gelu(node: Term, builder: OnnxGraphBuilder) -> Term | None:
    whole = _product(node, builder)
    if not _is_close(whole.number, 0.5) or whole.factors.total() != 2:
        return None
    for gate in whole.factors:
        plus = _split_offset(gate, builder)
        if plus is None or not _is_close(plus[1], 1.0) or plus[0].head not in ("erf", "tanh"):
            continue
        ((x, _),) = (whole.factors - Counter([gate])).items()
        inner = _product(plus[0].children[0], builder)
        if plus[0].head == "erf":
            matches = _is_close(inner.number, sqrt(0.5)) and inner.factors == Counter([x])
        else:
            matches = _is_close(inner.number, sqrt(2 / pi)) and _is_cubic(inner, x, builder)
        if matches and builder.shape(x) == builder.shape(node):
            return builder.make("gelu" if plus[0].head == "erf" else "gelu-tanh", x)
    return None


def _is_cubic(inner: _Product, x: Term, builder: OnnxGraphBuilder) -> bool:
    """Whether factors are x + 0.044715 x³, or x times 1 + 0.044715 x²."""
    rest = inner.factors - Counter([x])
    if inner.factors.total() == 2 and rest.total() == 1:
        plus = _split_offset(next(iter(rest)), builder)
        return plus is not None and _is_close(plus[1], 1.0) and _is_power(plus[0], x, 2, builder)
    if inner.factors.total() != 1:
        return False
    (total,) = inner.factors
    if total.head not in _SUMS:
        return False
    left, right = total.children
    return (left is x and _is_power(right, x, 3, builder)) or (
        right is x and _is_power(left, x, 3, builder)
    )


def _is_power(node: Term, x: Term, exponent: int, builder: OnnxGraphBuilder) -> bool:
    product = _product(node, builder)
    return _is_close(product.number, 0.044715) and product.factors == Counter({x: exponent})


def _as_layer_norm(node: Term, builder: OnnxGraphBuilder) -> Term | None:
    """Find d / √(mean of d² + ε), or d times the reciprocal of the root."""
    if node.head == "div":
        pairs = [node.children]
    else:
        pairs = [
            (d, r.children[0])
            for d, r in (node.children, node.children[::-1])
            if r.head == "reciprocal"
        ]
    for d, root in pairs:
        if d.head != "sub" or root.head != "sqrt":
            continue
        x, mean = d.children
        plus = _split_offset(root.children[0], builder)
        if plus is None or not _is_mean(mean, x, builder):
            continue
        squares = plus[0].children[-1] if _is_mean(plus[0], None, builder) else None
        if squares is not None and squares.head == "ewmul" and squares.children == (d, d):
            tensor = builder.tensor(x)
            extent = tensor.shape[-1]
            ones = builder.weight(np.ones(extent, tensor.dtype), f"ones_{extent}")
            zeros = builder.weight(np.zeros(extent, tensor.dtype), f"zeros_{extent}")
            return builder.make("layer-norm", shortest_float(plus[1]), x, ones, zeros)
    return None


def _is_mean(node: Term, x: Term | None, builder: OnnxGraphBuilder) -> bool:
    """Whether a node is the mean of x, or of anything, along its last axis, which stays."""
    if node.head != "reduce-mean":
        return False
    axes, keep, inner = node.children
    last = len(builder.shape(inner)) - 1
    return axes.head == last and keep.head == 1 and (x is None or inner is x)


def _as_scale(node: Term, builder: OnnxGraphBuilder) -> Term | None:
    """Take a weight that a normalised tensor is multiplied by for its scale."""
    return _with_norm_operand(node, builder, 2)


def _as_bias(node: Term, builder: OnnxGraphBuilder) -> Term | None:
    """Take a weight that is added to a normalised tensor for its bias."""
    return _with_norm_operand(node, builder, 3)


def _with_norm_operand(node: Term, builder: OnnxGraphBuilder, place: int) -> Term | None:
    for norm, other in (node.children, node.children[::-1]):
        known = builder.value(other)
        if norm.head != "layer-norm" or known is None:
            continue
        parts = list(norm.children)
        scale, bias = (builder.value(parts[at]) for at in (2, 3))
        is_free = bias is not None and not bias.any()
        if place == 2:
            is_free = is_free and scale is not None and bool((scale == 1).all())
        extent = builder.shape(norm)[-1]
        if is_free and known.size == extent == (known.shape or (0,))[-1]:
            if builder.shape(node) == builder.shape(norm):
                parts[place] = builder.reshaped(other, (extent,))
                return builder.make("layer-norm", *parts)
    return None
