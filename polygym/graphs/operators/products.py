"""Products of matrices, and operators along rows: softmax, normalization, reductions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import (
    Array,
    GraphOperator,
    OnnxMapping,
    OnnxWriter,
    literal_numbers,
)
from polygym.graphs.operators.elementwise import activate, torch_activation, write_activation
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Head, Term


def _matmul(activation: str, x: Array, y: Array, *bias: Array) -> Array:
    return activate(activation, sum(bias, np.matmul(x, y)))


def _matmul_in_torch(torch: Any, activation: str, *_: TensorType) -> Callable[..., Any]:
    activated = torch_activation(torch, activation)
    return lambda x, y, *bias: activated(sum(bias, torch.matmul(x, y)))


def _write_matmul(writer: OnnxWriter, activation: Term, x: Term, y: Term, *bias: Term) -> str:
    result = writer.operator("MatMul", writer.name(x), writer.name(y))
    for added in bias:
        result = writer.operator("Add", result, writer.name(added))
    return write_activation(writer, result, activation)


def _softmax(axis: int, x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def _layer_norm(epsilon: float, x: Array, scale: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + epsilon) * scale + bias)


def _reduction(name: str, doc: str, torch_name: str, is_rounded: bool = False) -> GraphOperator:
    """Define a reduction along axes, by its name in NumPy."""

    def reference(axes: Head, keep: int, x: Array) -> Array:
        # NumPy and PyTorch add and multiply narrow integers in int64.
        facts = {"dtype": x.dtype} if name in ("sum", "prod") else {}
        along = literal_numbers(axes)
        return np.asarray(getattr(x, name)(axis=along, keepdims=bool(keep), **facts))

    def in_torch(torch: Any, axes: Head, keep: int, _: TensorType) -> Callable[..., Any]:
        reduce, along = getattr(torch, torch_name), literal_numbers(axes)
        if torch_name != "prod":
            return lambda x: reduce(x, along, bool(keep)).to(x.dtype)

        def product(x: Any) -> Any:  # PyTorch takes one axis at a time
            for axis in sorted(along, reverse=True):
                x = reduce(x, axis, bool(keep)).to(x.dtype)
            return x

        return product

    def write(writer: OnnxWriter, axes: Term, keep: Term, x: Term) -> str:
        along = writer.constant(literal_numbers(axes.head), "int64")
        kind = f"Reduce{name.title()}"
        return writer.operator(kind, writer.name(x), along, keepdims=int(bool(keep.head)))

    return GraphOperator(
        f"reduce-{name}",
        "axes:S keep:N x:T",
        doc,
        infer=shapes.reduction,
        reference=reference,
        torch=in_torch,
        onnx=write,
        operations=lambda _, axes, keep, x: x.elements,
        needs_floating=is_rounded,
        is_inexact=is_rounded,
    )


OPERATORS = (
    GraphOperator(
        "matmul",
        "activation:S x:T y:T",
        "product of matrices, a bias added to its rows, activated",
        infer=shapes.matmul,
        reference=_matmul,
        torch=_matmul_in_torch,
        onnx=_write_matmul,
        operations=lambda result, _, x, *__: 2 * result.elements * x.shape[-1],
        optional="bias:T",
    ),
    GraphOperator(
        "softmax",
        "axis:N x:T",
        "exp(x) by its sum along an axis",
        infer=shapes.softmax,
        reference=_softmax,
        torch=lambda torch, axis, _: lambda x: torch.softmax(x, axis),
        onnx=OnnxMapping("Softmax", {"axis": -1}),
        operations=14,
        needs_floating=True,
        is_inexact=True,
    ),
    GraphOperator(
        "layer-norm",
        "epsilon:N x:T scale:T bias:T",
        "mean 0, variance 1 along the last axis; scaled, moved",
        infer=shapes.layer_norm,
        reference=_layer_norm,
        torch=lambda torch, epsilon, *_: (
            lambda x, scale, bias: torch.nn.functional.layer_norm(
                x, scale.shape, scale, bias, epsilon
            )
        ),
        onnx=OnnxMapping("LayerNormalization", {"epsilon": 1e-5}, {"axis": -1}),
        operations=8,
        needs_floating=True,
        is_inexact=True,
    ),
    _reduction("sum", "sum along axes", "sum"),
    _reduction("mean", "mean along axes", "mean", is_rounded=True),
    _reduction("max", "largest along axes", "amax"),
    _reduction("prod", "product along axes", "prod"),
)
