"""Operators on single elements, from ONNX."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes.onnx_node import ImportFunction, OnnxImport, OnnxNode, shortest_float
from polygym.graphs.operators.definition import OnnxMapping
from polygym.graphs.operators.registry import OPERATORS
from polygym.rewrite.term import Term


def expand_to(node: OnnxNode, x: Term, shape: tuple[int, ...]) -> Term:
    """Return x, repeated along axes until it has a shape."""
    if node.builder.shape(x) == shape:
        return x
    return node.make("expand", x, shape_literal(shape))


def _binary(head: str) -> ImportFunction:
    return lambda node: node.pairwise(head, node.term(0), node.term(1))


def _variadic(head: str) -> Callable[[OnnxNode], Term]:
    return lambda node: reduce(lambda x, y: node.pairwise(head, x, y), node.terms())


def direct_imports() -> Iterator[OnnxImport]:
    """Yield the rows of ONNX operators that are operators of graphs, from their definitions."""
    for operator in OPERATORS.values():
        mapping = operator.onnx
        if isinstance(mapping, OnnxMapping) and mapping.reads:
            attributes = mapping.attributes
            translate: ImportFunction
            if mapping.variadic:
                translate = _variadic(operator.name)
            elif operator.takes == "x:T y:T":
                translate = _binary(operator.name)
            else:
                translate = _with_literals(operator.name, attributes)
            yield OnnxImport(mapping.kind, translate, " ".join(attributes))


def _with_literals(head: str, attributes: Mapping[str, float]) -> ImportFunction:
    def translate(node: OnnxNode) -> Term:
        values = (node.attribute(name, default) for name, default in attributes.items())
        return node.make(head, *map(shortest_float, values), node.term(0))

    return translate


def _identity(node: OnnxNode) -> Term:
    return node.term(0)


def _dropout(node: OnnxNode) -> Term:
    if node.has(2) and bool(np.any(node.array(2, "training_mode"))):
        node.reject("expected a model for inference: export it after model.eval()")
    return node.term(0)


def _divide(node: OnnxNode) -> Term:
    x, y = node.term(0), node.term(1)
    if node.builder.tensor(x).dtype.startswith("int"):
        node.reject("expected a division of floating-point numbers, found one of integers")
    return node.pairwise("div", x, y)


def _mean(node: OnnxNode) -> Term:
    total = _variadic("add")(node)
    return node.pairwise("mul", total, node.scalar(1 / len(node.values), total))


def _power(node: OnnxNode) -> Term:
    """Write small powers as products: x ** 2 is x * x."""
    x, exponent = node.term(0), node.known_array(1)
    if exponent is None or exponent.size != 1:
        y = node.term(1)
        if node.builder.tensor(y).dtype != node.builder.tensor(x).dtype:
            y = node.make("cast", node.builder.tensor(x).dtype, y)
        return node.make("pow", x, y)
    by, shape = float(exponent.reshape(())), node.broadcast(node.shape(0), exponent.shape)
    match by:
        case 1.0:
            term = x
        case 2.0:
            term = node.pairwise("mul", x, x)
        case 3.0:
            term = node.pairwise("mul", node.pairwise("mul", x, x), x)
        case 0.5:
            term = node.make("sqrt", x)
        case -1.0:
            term = node.make("reciprocal", x)
        case _:
            term = node.make("pow", x, node.scalar(by, x))
    return term if node.builder.shape(term) == shape else node.builder.reshaped(term, shape)


def _selu(node: OnnxNode) -> Term:
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    inner = node.make("elu", shortest_float(alpha), node.term(0))
    gamma = node.attribute("gamma", 1.05070102214813232421875)
    return node.pairwise("mul", inner, node.scalar(shortest_float(gamma), inner))


def _celu(node: OnnxNode) -> Term:
    """Give x for x > 0, else a (exp(x / a) - 1): a elu(x / a), as a > 0."""
    alpha = shortest_float(node.attribute("alpha", 1.0))
    x = node.term(0)
    inner = node.pairwise("mul", x, node.scalar(1 / alpha, x))
    return node.pairwise("mul", node.make("elu", 1.0, inner), node.scalar(alpha, x))


def _gate(node: OnnxNode, x: Term, slope: float, offset: float) -> Term:
    moved = node.pairwise("mul", x, node.scalar(slope, x))
    moved = node.pairwise("add", moved, node.scalar(offset, x))
    return node.make("clip", 0.0, 1.0, moved)


def _hard_sigmoid(node: OnnxNode) -> Term:
    slope, offset = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    return _gate(node, node.term(0), shortest_float(slope), shortest_float(offset))


def _hard_swish(node: OnnxNode) -> Term:
    x = node.term(0)
    return node.pairwise("mul", x, _gate(node, x, 1 / 6, 0.5))


def _gelu(node: OnnxNode) -> Term:
    kinds = {b"none": "gelu", b"tanh": "gelu-tanh"}
    kind = node.attribute("approximate", b"none")
    if kind not in kinds:
        node.reject(f"expected none or tanh for approximate, found {kind!r}")
    return node.make(kinds[kind], node.term(0))


def _softplus_term(node: OnnxNode, x: Term) -> Term:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which never overflows."""
    small = node.make("exp", node.make("neg", node.make("abs", x)))
    rest = node.make("log", node.pairwise("add", small, node.scalar(1.0, x)))
    return node.pairwise("add", node.make("relu", x), rest)


def _softplus(node: OnnxNode) -> Term:
    return _softplus_term(node, node.term(0))


def _tan(node: OnnxNode) -> Term:
    x = node.term(0)
    return node.pairwise("div", node.make("sin", x), node.make("cos", x))


def _softsign(node: OnnxNode) -> Term:
    x = node.term(0)
    return node.pairwise("div", x, node.pairwise("add", node.make("abs", x), node.scalar(1.0, x)))


def _mish(node: OnnxNode) -> Term:
    x = node.term(0)
    return node.pairwise("mul", x, node.make("tanh", _softplus_term(node, x)))


def _swish(node: OnnxNode) -> Term:
    x, alpha = node.term(0), shortest_float(node.attribute("alpha", 1.0))
    inner = x if alpha == 1 else node.pairwise("mul", x, node.scalar(alpha, x))
    return node.pairwise("mul", x, node.make("sigmoid", inner))


def _prelu(node: OnnxNode) -> Term:
    """max(x, 0) - slope max(-x, 0)."""
    x, slope = node.term(0), node.term(1)
    below = node.make("relu", node.make("neg", x))
    return node.pairwise("sub", node.make("relu", x), node.pairwise("mul", below, slope))


def _clip(node: OnnxNode) -> Term:
    x = node.term(0)
    dtype = node.builder.tensor(x).dtype
    bounds: list[float | None] = []
    for place, name in enumerate(("min", "max"), 1):
        if node.has(place):
            bound = node.array(place, name)
            if bound.size != 1:
                node.reject(f"expected one number for {name}, found {bound.size}")
            bounds.append(float(bound.reshape(())))
        else:
            limit = node.attribute(name)
            bounds.append(None if limit is None else float(limit))
    low, high = (None if bound is None or not np.isfinite(bound) else bound for bound in bounds)
    if low is None and high is None:
        return x
    if dtype.startswith("int"):
        low, high = (None if bound is None else int(bound) for bound in (low, high))
    else:
        low, high = (None if bound is None else shortest_float(bound) for bound in (low, high))
    if high is None:
        assert low is not None
        return node.make("relu", x) if low == 0 else node.make("maximum", x, node.scalar(low, x))
    if low is None:
        return node.make("minimum", x, node.scalar(high, x))
    if low > high:  # then everything is the upper bound, as ONNX has it
        low = high
    return node.make("clip", low, high, x)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("Sum", _variadic("add")),
    OnnxImport("Identity", _identity),
    OnnxImport("Dropout", _dropout, "ratio seed"),
    OnnxImport("Div", _divide),
    OnnxImport("Mean", _mean),
    OnnxImport("Pow", _power),
    OnnxImport("Selu", _selu, "alpha gamma"),
    OnnxImport("Celu", _celu, "alpha"),
    OnnxImport("HardSigmoid", _hard_sigmoid, "alpha beta"),
    OnnxImport("HardSwish", _hard_swish),
    OnnxImport("Gelu", _gelu, "approximate"),
    OnnxImport("Softplus", _softplus),
    OnnxImport("Softsign", _softsign),
    OnnxImport("Tan", _tan),
    OnnxImport("Mish", _mish),
    OnnxImport("Swish", _swish, "alpha"),
    OnnxImport("PRelu", _prelu),
    OnnxImport("Clip", _clip, "min max"),
)
