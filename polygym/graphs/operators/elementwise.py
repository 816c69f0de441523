"""Operators of single elements: arithmetic, functions, comparisons, conversion.

Each element of the result depends on one element of each operand.
"""

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import (
    Array,
    GraphOperator,
    NumberText,
    OnnxMapping,
    OnnxWriter,
    tc_type,
)
from polygym.graphs.operators.types import TensorType, numpy_type
from polygym.rewrite.term import Term

FUNCTION_COST = 10
"""Operations of a function such as the exponential."""


def activate(activation: str, x: Array) -> Array:
    """Apply the activation of a product."""
    return x if activation == "none" else np.asarray(_NAMED[activation].reference(x))


def torch_activation(torch: Any, activation: str) -> Callable[[Any], Any]:
    """Return the activation of a product in PyTorch."""
    if activation == "none":
        return lambda x: x
    function: Callable[[Any], Any] = attrgetter(str(_NAMED[activation].torch))(torch)
    return function


def write_activation(writer: OnnxWriter, name: str, activation: Term) -> str:
    """Write the activation of a product into an ONNX graph."""
    if activation.head == "none":
        return name
    mapping = _NAMED[str(activation.head)].onnx
    assert isinstance(mapping, OnnxMapping)
    return writer.operator(mapping.kind, name)


def pair(
    name: str,
    doc: str,
    kind: str,
    reference: Callable[..., Array],
    text: str | Callable[[NumberText], str],
    **facts: Any,
) -> GraphOperator:
    """Define a function of pairs of elements, broadcast."""
    defaults: dict[str, Any] = {
        "infer": shapes.broadcast,
        "onnx": OnnxMapping(kind, reads=True),
        "operations": 1,
    }
    return GraphOperator(
        name, "x:T y:T", doc, reference=reference, element=text, **(defaults | facts)
    )


def unary(
    name: str,
    doc: str,
    kind: str,
    reference: Callable[[Array], Array],
    text: str | Callable[[NumberText], str],
    **facts: Any,
) -> GraphOperator:
    """Define a function of an element that rounds, for floating-point numbers."""
    defaults: dict[str, Any] = {
        "torch": name,
        "onnx": OnnxMapping(kind, reads=True),
        "operations": FUNCTION_COST,
        "needs_floating": True,
        "is_inexact": True,
    }
    return GraphOperator(
        name,
        "x:T",
        doc,
        infer=shapes.unary,
        reference=reference,
        element=text,
        **(defaults | facts),
    )


def _exact(
    name: str,
    doc: str,
    kind: str,
    reference: Callable[[Array], Array],
    text: str | Callable[[NumberText], str],
) -> GraphOperator:
    """Define a function of an element that is exact, for all numbers."""
    return unary(
        name, doc, kind, reference, text, operations=1, needs_floating=False, is_inexact=False
    )


def _sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):  # exp overflows to infinity; its reciprocal 0 is right
        return np.asarray(1 / (1 + np.exp(-x)))


def _erf(x: Array) -> Array:
    values = [math.erf(element) for element in x.ravel().tolist()]
    return np.array(values, np.result_type(x, np.float32)).reshape(x.shape)


def _gelu_tanh(x: Array) -> Array:
    inner = (2 / math.pi) ** 0.5 * (x + 0.044715 * x**3)
    return np.asarray(x * (1 + np.tanh(inner)) / 2)


def _gelu_tanh_text(n: NumberText) -> str:
    # (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y))
    twice = 2 * (2 / np.pi) ** 0.5
    inner = f"{n(twice)} * ({{0}} + {n(0.044715)} * {{0}} * {{0}} * {{0}})"
    return f"({{0}} / ({n(1)} + exp(-({inner}))))"


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0) if x.dtype != object else 0)


def _write_clip(writer: OnnxWriter, low: Term, high: Term, x: Term) -> str:
    dtype = writer.tensor(x).dtype
    bounds = [writer.constant(bound.head, dtype) for bound in (low, high)]
    return writer.operator("Clip", writer.name(x), *bounds)


def _rounded(dtype: str, x: Array) -> Array:
    """Return the nearest numbers of half precision; bfloat16 has the upper bits of float32."""
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        if dtype == "float16":
            return np.asarray(x.astype(np.float16).astype(x.dtype))
        single = x.astype(np.float32)
    # Rounded once: what float32 has lost already shows in its last bit.
    bits = single.view(np.uint32) - (np.abs(single) > np.abs(x)).astype(np.uint32)
    bits |= (single != x).astype(np.uint32)
    upper = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, upper.view(np.float32)).astype(x.dtype)


def _write_rounding(writer: OnnxWriter, dtype: Term, x: Term) -> str:
    onnx_types = {"float16": 10, "bfloat16": 16}
    narrow = writer.operator("Cast", writer.name(x), to=onnx_types[str(dtype.head)])
    return writer.cast(narrow, writer.tensor(x).dtype)


def _comparison(
    name: str, sign: str, kind: str, compare: Callable[..., Array], path: str
) -> GraphOperator:
    """Define a comparison: 1 or 0 in the type of its operands."""

    def write(writer: OnnxWriter, x: Term, y: Term) -> str:
        result = writer.operator(kind, writer.name(x), writer.name(y))
        return writer.cast(result, writer.tensor(x).dtype)

    def in_torch(torch: Any, *_: TensorType) -> Callable[..., Any]:
        function = getattr(torch, path)
        return lambda x, y: function(x, y).to(x.dtype)

    return GraphOperator(
        name,
        "x:T y:T",
        f"1 where x {sign[0]} y, 0 otherwise, broadcast",
        infer=shapes.broadcast,
        reference=lambda x, y: compare(x, y).astype(x.dtype),
        torch=in_torch,
        onnx=write,
        element=lambda n: f"{tc_type(n.dtype)}({{0}} {sign} {{1}} ? {n(1)} : {n(0)})",
        operations=1,
    )


def _write_where(writer: OnnxWriter, c: Term, x: Term, y: Term) -> str:
    return writer.operator(
        "Where", writer.cast(writer.name(c), "bool"), writer.name(x), writer.name(y)
    )


_ROUNDED: dict[str, Any] = {"needs_floating": True, "is_inexact": True}

OPERATORS = (
    pair(
        "ewadd",
        "sum of two tensors of one shape",
        "Add",
        np.add,
        "({0} + {1})",
        torch="add",
        infer=shapes.equal_shapes,
        onnx=OnnxMapping("Add"),
    ),
    pair(
        "ewmul",
        "product, element by element, of one shape",
        "Mul",
        np.multiply,
        "({0} * {1})",
        torch="mul",
        infer=shapes.equal_shapes,
        onnx=OnnxMapping("Mul"),
    ),
    _exact("relu", "max(x, 0)", "Relu", _relu, lambda n: f"({{0}} < {n(0)} ? {n(0)} : {{0}})"),
    unary("tanh", "hyperbolic tangent", "Tanh", np.tanh, lambda n: n.tanh("{0}")),
    unary(
        "sigmoid",
        "1 / (1 + exp(-x))",
        "Sigmoid",
        _sigmoid,
        lambda n: f"({n(1)} / ({n(1)} + exp(-{{0}})))",
    ),
    pair("add", "x + y, broadcast", "Add", np.add, "({0} + {1})", torch="add"),
    pair("sub", "x - y, broadcast", "Sub", np.subtract, "({0} - {1})", torch="sub"),
    pair("mul", "x * y, broadcast", "Mul", np.multiply, "({0} * {1})", torch="mul"),
    pair(
        "div",
        "x / y, broadcast",
        "Div",
        np.divide,
        "({0} / {1})",
        torch="div",
        onnx=OnnxMapping("Div"),
        needs_positive=True,
        **_ROUNDED,
    ),
    pair(
        "minimum",
        "the smaller, broadcast",
        "Min",
        np.minimum,
        "(min({0}, {1}))",
        torch="minimum",
        onnx=OnnxMapping("Min", reads=True, variadic=True),
    ),
    pair(
        "maximum",
        "the larger, broadcast",
        "Max",
        np.maximum,
        "(max({0}, {1}))",
        torch="maximum",
        onnx=OnnxMapping("Max", reads=True, variadic=True),
    ),
    pair(
        "pow",
        "x to the power of y, broadcast",
        "Pow",
        np.power,
        "pow({0}, {1})",
        torch="pow",
        onnx=OnnxMapping("Pow"),
        operations=FUNCTION_COST,
        needs_positive=True,
        **_ROUNDED,
    ),
    unary(
        "gelu",
        "x Φ(x), by the error function",
        "Gelu",
        lambda x: np.asarray(x * ((1 + _erf(x / 2**0.5)) / 2)),
        lambda n: f"({n(0.5)} * {{0}} * ({n(1)} + {n.erf(f'({{0}} * {n(0.5**0.5)})')}))",
        torch="nn.functional.gelu",
        onnx=OnnxMapping("Gelu"),
    ),
    unary(
        "gelu-tanh",
        "the same, approximated by tanh",
        "Gelu",
        _gelu_tanh,
        _gelu_tanh_text,
        torch=lambda torch, _: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        onnx=OnnxMapping("Gelu", fixed={"approximate": "tanh"}),
    ),
    unary("exp", "exponential", "Exp", np.exp, "exp({0})"),
    unary("log", "natural logarithm", "Log", np.log, "log({0})", needs_positive=True),
    unary("sqrt", "square root", "Sqrt", np.sqrt, "sqrt({0})", operations=1, needs_positive=True),
    unary("erf", "error function", "Erf", _erf, lambda n: n.erf("{0}")),
    _exact("neg", "-x", "Neg", np.negative, "(-{0})"),
    _exact("abs", "absolute value", "Abs", np.abs, "abs({0})"),
    unary(
        "reciprocal",
        "1 / x",
        "Reciprocal",
        lambda x: np.asarray(1 / x),
        lambda n: f"({n(1)} / {{0}})",
        operations=1,
        needs_positive=True,
    ),
    GraphOperator(
        "clip",
        "low:N high:N x:T",
        "x between two bounds",
        infer=shapes.clip,
        reference=lambda low, high, x: np.clip(x, low, high),
        torch=lambda torch, low, high, _: lambda x: torch.clamp(x, low, high),
        onnx=_write_clip,
        element=lambda n, low, high: f"min(max({{0}}, {n(low)}), {n(high)})",
        operations=1,
        onnx_needs_floating=True,
    ),
    GraphOperator(
        "leaky-relu",
        "slope:N x:T",
        "x, below 0 times a slope",
        infer=shapes.unary_with_number,
        reference=lambda slope, x: np.where(x < 0, x * slope, x),
        torch=lambda torch, slope, _: lambda x: torch.nn.functional.leaky_relu(x, slope),
        onnx=OnnxMapping("LeakyRelu", {"alpha": 0.01}, reads=True),
        element=lambda n, slope: f"({{0}} < {n(0)} ? {n(slope)} * {{0}} : {{0}})",
        operations=1,
        needs_floating=True,
    ),
    GraphOperator(
        "elu",
        "alpha:N x:T",
        "x, below 0 alpha (exp(x) - 1)",
        infer=shapes.unary_with_number,
        reference=lambda alpha, x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
        torch=lambda torch, alpha, _: lambda x: torch.nn.functional.elu(x, alpha),
        onnx=OnnxMapping("Elu", {"alpha": 1.0}, reads=True),
        element=lambda n, alpha: f"({{0}} < {n(0)} ? {n(alpha)} * (exp({{0}}) - {n(1)}) : {{0}})",
        operations=FUNCTION_COST,
        **_ROUNDED,
    ),
    GraphOperator(
        "cast",
        "dtype:S x:T",
        "another element type",
        infer=shapes.cast,
        reference=lambda dtype, x: x.astype(numpy_type(dtype)),
        torch=lambda torch, dtype, _: lambda x: x.to(getattr(torch, dtype)),
        onnx=lambda writer, dtype, x: writer.cast(writer.name(x), str(dtype.head)),
        element=lambda _, dtype: f"{tc_type(dtype)}({{0}})",
        is_inexact=True,
    ),
    GraphOperator(
        "round-to",
        "dtype:S x:T",
        "the nearest number of half precision, float16 or bfloat16, in the type of x",
        infer=shapes.rounding,
        reference=_rounded,
        torch=lambda torch, dtype, _: lambda x: x.to(getattr(torch, dtype)).to(x.dtype),
        onnx=_write_rounding,
        element=lambda n, dtype: f"{tc_type(n.dtype)}({dtype}({{0}}))",
        **_ROUNDED,
    ),
    # Truth is 1 or 0 in the type of the operands.
    _comparison("less", "<", "Less", np.less, "lt"),
    _comparison("equal", "==", "Equal", np.equal, "eq"),
    GraphOperator(
        "where",
        "c:T x:T y:T",
        "y where c is 0, x otherwise, broadcast",
        infer=shapes.select,
        reference=lambda c, x, y: np.where(c != 0, x, y),
        torch=lambda torch, *_: lambda c, x, y: torch.where(c != 0, x, y),
        onnx=_write_where,
        element=lambda n: f"({{0}} == {n(0)} ? {{2}} : {{1}})",
        operations=1,
    ),
    *(
        unary(name, doc, name.title(), getattr(np, numpy_name), f"{name}({{0}})")
        for name, numpy_name, doc in (
            ("sin", "sin", "sine"),
            ("cos", "cos", "cosine"),
            ("asin", "arcsin", "inverse sine"),
            ("acos", "arccos", "inverse cosine"),
            ("atan", "arctan", "inverse tangent"),
            ("asinh", "arcsinh", "inverse hyperbolic sine"),
            ("acosh", "arccosh", "inverse hyperbolic cosine"),
            ("atanh", "arctanh", "inverse hyperbolic tangent"),
        )
    ),
)

_NAMED = {operator.name: operator for operator in OPERATORS}
