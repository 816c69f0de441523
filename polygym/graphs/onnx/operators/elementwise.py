"""Operators on single elements, from ONNX.

Comparisons and choices, from ONNX: truth is 1 or 0.

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


def converted(node: OnnxNode, x: Term, dtype: str) -> Term:
    """Return x in another type, one that is computed with."""
    return x if node.builder.tensor(x).dtype == dtype else node.make("cast", dtype, x)


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


def _dropout(node: OnnxNode) -> tuple[Term, ...]:
    if node.has(2) and bool(np.any(node.array(2, "training_mode"))):
        ratio = node.array(1, "the ratio") if node.has(1) else np.asarray(0.5)
        if ratio.any():
            node.reject("expected a model for inference: export it after model.eval()")
    kept = np.ones((1,) * len(node.shape(0)), np.float32)
    return node.term(0), expand_to(node, node.weight(kept, "kept"), node.shape(0))


def _divide(node: OnnxNode) -> Term:
    """Divide; integers are truncated."""
    x, y = node.term(0), node.term(1)
    return node.make("quotient" if node.builder.tensor(x).is_integer else "div", x, y)


def _shrink(node: OnnxNode) -> Term:
    """Give x + bias below -lambd, x - bias above lambd, otherwise 0."""
    x = node.term(0)
    bias, most = (
        node.scalar(shortest_float(node.attribute(name, default)), x)
        for name, default in (("bias", 0.0), ("lambd", 0.5))
    )
    above = node.make("where", node.make("less", most, x), node.pairwise("sub", x, bias),
                      node.scalar(0.0, x))  # fmt: skip
    is_below = node.make("less", x, node.make("neg", most))
    return node.make("where", is_below, node.pairwise("add", x, bias), above)


def _mean(node: OnnxNode) -> Term:
    total = _variadic("add")(node)
    return node.pairwise("mul", total, node.scalar(1 / len(node.values), total))


def _integer_power(node: OnnxNode, x: Term) -> Term:
    """Multiply by x to the power of 1, 2, 4, … where the exponent has that bit; wraps."""
    y = node.term(1)
    if not node.builder.tensor(y).is_integer:
        wide = node.make("pow", converted(node, x, "float64"), converted(node, y, "float64"))
        return node.make("cast", "int64", wide)
    y = converted(node, y, node.builder.tensor(x).dtype)
    one, result, power = node.scalar(1, x), node.scalar(1, x), x
    for bit in range(6):
        has_bit = node.make("quotient", y, node.scalar(1 << bit, y))
        has_bit = node.make("remainder", has_bit, node.scalar(2, y))
        result = node.pairwise("mul", result, node.make("where", has_bit, power, one))
        power = node.pairwise("mul", power, power)
    below = node.make("less", y, node.scalar(0, y))  # 1 / x, truncated
    return node.make("where", below, node.make("quotient", one, result), result)


def _power(node: OnnxNode) -> Term:
    """Write small powers as products: x ** 2 is x * x."""
    x, exponent = node.term(0), node.known_array(1)
    if node.builder.tensor(x).is_integer:
        return _integer_power(node, x)
    if exponent is None or exponent.size != 1:
        return node.make("pow", x, converted(node, node.term(1), node.builder.tensor(x).dtype))
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


def _cosh(node: OnnxNode, x: Term) -> Term:
    total = node.pairwise("add", node.make("exp", x), node.make("exp", node.make("neg", x)))
    return node.pairwise("mul", total, node.scalar(0.5, x))


def _sinh(node: OnnxNode) -> Term:
    """Multiply tanh and cosh: near 0 their difference of exponentials would cancel."""
    x = node.term(0)
    return node.pairwise("mul", node.make("tanh", x), _cosh(node, x))


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
    if any(node.has(place) and node.known_array(place) is None for place in (1, 2)):
        x = node.pairwise("maximum", x, node.term(1)) if node.has(1) else x
        return node.pairwise("minimum", x, node.term(2)) if node.has(2) else x
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


def _compare(node: OnnxNode, heads: tuple[str, ...], *, is_turned: bool = False) -> Term:
    """Return whether one of some comparisons holds, of y with x if they are turned."""
    x, y = (_in_order(node, place) for place in ((1, 0) if is_turned else (0, 1)))
    return reduce(
        lambda term, other: node.pairwise("maximum", term, other),
        [node.make(head, x, y) for head in heads],
    )


def _in_order(node: OnnxNode, place: int) -> Term:
    """Return an operand so that unsigned integers of 64 bits compare as signed ones."""
    x = node.term(place)
    if node.types[place] != "uint64":
        return x
    return node.pairwise("add", x, node.weight(np.asarray(-(1 << 63), np.int64), "half"))


def _comparison(*heads: str, is_turned: bool = False) -> Callable[[OnnxNode], Term]:
    return lambda node: _compare(node, heads, is_turned=is_turned)


def _negate_truth(node: OnnxNode, x: Term) -> Term:
    return node.pairwise("sub", node.scalar(1.0, x), x)


def _not(node: OnnxNode) -> Term:
    return _negate_truth(node, node.term(0))


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
    c, x, y = node.terms()
    return node.make("where", converted(node, c, node.builder.tensor(x).dtype), x, y)


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
    OnnxImport("Shrink", _shrink, "bias lambd"),
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
    OnnxImport("Sinh", _sinh),
    OnnxImport("Cosh", lambda node: _cosh(node, node.term(0))),
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
    OnnxImport("And", _binary("mul")),
    OnnxImport("Or", _binary("maximum")),
    OnnxImport("Xor", _xor),
    OnnxImport("Where", _where),
    OnnxImport("ThresholdedRelu", _threshold, "alpha"),
    OnnxImport("Trilu", _triangular, "upper"),
)
