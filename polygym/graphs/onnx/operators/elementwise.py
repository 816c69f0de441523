"""Operators on single elements, from ONNX.

Comparisons and choices, from ONNX: truth is 1 or 0 in the type of what is compared.

So ``And`` is a product and ``Or`` the larger of two, and a truth that becomes a number is itself.
What is known while the file is read (masks, most of the time) is a weight of ones and zeros.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import ImportFunction, OnnxImport, OnnxNode, shortest_float
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
    is_below = node.make("less", x, node.scalar(0.0, x))
    return node.make("where", is_below, node.pairwise("mul", x, slope), x)


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
