"""What each operator of a graph is in ONNX, as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.type_checks import pads_of
from polygym.graphs.ir.types import NumberData, TensorType, TextData, parse_numbers
from polygym.graphs.onnx.exporter.emitter import OnnxEmitter
from polygym.graphs.onnx.format.onnx_package import onnx_module
from polygym.rewrite.term import Term

__all__ = ["EXPORTS", "OPSET", "emit_node"]

OPSET = 20
"""The first with gelu."""

Emission: TypeAlias = Callable[[OnnxEmitter, Term], str | tuple[str, ...]]


def _numbers(one: Term) -> tuple[int, ...]:
    """Return the numbers of a literal: a shape, a permutation, axes."""
    return (one.head,) if isinstance(one.head, int) else parse_numbers(str(one.head))


def _direct(kind: str, **attributes: Any) -> Emission:
    """An operator whose children are all tensors."""

    def emission(emitter: OnnxEmitter, one: Term) -> str:
        return emitter.operator(kind, *map(emitter.name, one.children), **attributes)

    return emission


def _activated(emitter: OnnxEmitter, name: str, activation: Term) -> str:
    kinds = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "gelu": "Gelu"}
    kind = kinds.get(str(activation.head))
    return emitter.operator(kind, name) if kind else name


def _matmul(emitter: OnnxEmitter, one: Term) -> str:
    activation, x, y = one.children
    result = emitter.operator("MatMul", emitter.name(x), emitter.name(y))
    return _activated(emitter, result, activation)


def _pads(
    emitter: OnnxEmitter, x: Term, padding: Term, kernel: tuple[int, ...], stride: list[int]
) -> list[int]:
    height, width = emitter.tensor(x).shape[2:]
    word = (
        TextData(str(padding.head)) if isinstance(padding.head, str) else NumberData(padding.head)
    )
    return list(pads_of(word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1])))


def _conv(emitter: OnnxEmitter, one: Term) -> str:
    *strides, padding, activation, x, w = one.children
    stride = [int(step.head) for step in strides]
    kernel = emitter.tensor(w).shape
    result = emitter.operator(
        "Conv",
        emitter.name(x),
        emitter.name(w),
        kernel_shape=kernel[2:],
        strides=stride,
        pads=_pads(emitter, x, padding, kernel[2:], stride),
        group=emitter.tensor(x).shape[1] // kernel[1],
    )
    return _activated(emitter, result, activation)


def _pool(kind: str) -> Emission:
    def emission(emitter: OnnxEmitter, one: Term) -> str:
        x, *numbers, padding, activation = one.children
        kernel_h, kernel_w, *stride = (int(number.head) for number in numbers)
        result = emitter.operator(
            kind,
            emitter.name(x),
            kernel_shape=[kernel_h, kernel_w],
            strides=stride,
            pads=_pads(emitter, x, padding, (kernel_h, kernel_w), stride),
        )
        return _activated(emitter, result, activation)

    return emission


def _transpose(emitter: OnnxEmitter, one: Term) -> str:
    x, permutation = one.children
    return emitter.operator("Transpose", emitter.name(x), perm=_numbers(permutation))


def _comparison(kind: str) -> Emission:
    """A truth, which is a number here."""

    def emission(emitter: OnnxEmitter, one: Term) -> str:
        result = emitter.operator(kind, *map(emitter.name, one.children))
        dtype = np.dtype(emitter.tensor(one).dtype)
        to = onnx_module("helper").np_dtype_to_tensor_dtype(dtype)
        return emitter.operator("Cast", result, to=to)

    return emission


def _where(emitter: OnnxEmitter, one: Term) -> str:
    choice, x, y = map(emitter.name, one.children)
    truth = emitter.operator("Cast", choice, to=onnx_module().TensorProto.BOOL)
    return emitter.operator("Where", truth, x, y)


def _with_shape(kind: str) -> Emission:
    def emission(emitter: OnnxEmitter, one: Term) -> str:
        x, shape = one.children
        return emitter.operator(kind, emitter.name(x), emitter.constant(_numbers(shape), "int64"))

    return emission


def _enlarge(emitter: OnnxEmitter, one: Term) -> str:
    w, reference = one.children
    small, wide = (emitter.tensor(part).shape[2:] for part in (w, reference))
    sides = [(large - own) // 2 for own, large in zip(small, wide, strict=True)]
    pads = emitter.constant([0, 0, *sides, 0, 0, *sides], "int64")
    return emitter.operator("Pad", emitter.name(w), pads)


def _merge(emitter: OnnxEmitter, one: Term) -> str:
    """Repeat the kernel's channels, and keep those of each filter's own group.

    Of ``count`` groups made one, the filters of the g-th have their channels at the g-th place.
    """
    w, times, parts = one.children
    count, groups = int(times.head), int(parts.head)
    filters, inner = emitter.tensor(w).shape[:2]
    place = np.arange(filters) // (filters // groups) % count
    mask = np.repeat(place[:, None] == np.arange(count), inner, axis=1)
    repeated = emitter.operator("Concat", *[emitter.name(w)] * count, axis=1)
    kept = emitter.constant(mask[:, :, None, None], "bool")
    zero = emitter.constant(0, emitter.tensor(w).dtype)
    return emitter.operator("Where", kept, repeated, zero)


def _split(emitter: OnnxEmitter, one: Term) -> tuple[str, ...]:
    axis, at, x = one.children
    extent, first = emitter.tensor(x).shape[int(axis.head)], int(at.head)
    sizes = emitter.constant([first, extent - first], "int64")
    return emitter.operator_outputs("Split", emitter.name(x), sizes, results=2, axis=axis.head)


def _split_part(part: int) -> Emission:
    return lambda emitter, term: emitter.name(term.children[0], part)


def _concat(emitter: OnnxEmitter, one: Term) -> str:
    axis, *parts = one.children
    return emitter.operator("Concat", *map(emitter.name, parts), axis=axis.head)


def _clip(emitter: OnnxEmitter, one: Term) -> str:
    *bounds, x = one.children
    dtype = emitter.tensor(x).dtype
    limits = [emitter.constant(bound.head, dtype) for bound in bounds]
    return emitter.operator("Clip", emitter.name(x), *limits)


def _with_number(kind: str, name: str, convert: type = float) -> Emission:
    """An operator with one number, which is an attribute in ONNX."""

    def emission(emitter: OnnxEmitter, one: Term) -> str:
        number, *tensors = one.children
        names = map(emitter.name, tensors)
        attributes = {name: convert(number.head)}
        if kind == "LayerNormalization":
            attributes["axis"] = -1
        return emitter.operator(kind, *names, **attributes)

    return emission


def _reduction(kind: str) -> Emission:
    def emission(emitter: OnnxEmitter, one: Term) -> str:
        axes, keep, x = one.children
        along = emitter.constant(_numbers(axes), "int64")
        return emitter.operator(kind, emitter.name(x), along, keepdims=int(bool(keep.head)))

    return emission


def _slice(emitter: OnnxEmitter, one: Term) -> str:
    axis, start, stop, step, x = one.children
    bounds = (emitter.constant([part.head], "int64") for part in (start, stop, axis, step))
    return emitter.operator("Slice", emitter.name(x), *bounds)


def _pad(emitter: OnnxEmitter, one: Term) -> str:
    value, pads, x = one.children
    filled = emitter.constant(value.head, emitter.tensor(x).dtype)
    said = emitter.constant(_numbers(pads), "int64")
    return emitter.operator("Pad", emitter.name(x), said, filled)


def _cast(emitter: OnnxEmitter, one: Term) -> str:
    dtype, x = one.children
    to = onnx_module("helper").np_dtype_to_tensor_dtype(np.dtype(str(dtype.head)))
    return emitter.operator("Cast", emitter.name(x), to=to)


EXPORTS: dict[str, Emission] = {
    "ewadd": _direct("Add"),
    "ewmul": _direct("Mul"),
    "matmul": _matmul,
    "conv": _conv,
    "relu": _direct("Relu"),
    "tanh": _direct("Tanh"),
    "sigmoid": _direct("Sigmoid"),
    "poolmax": _pool("MaxPool"),
    "poolavg": _pool("AveragePool"),
    "transpose": _transpose,
    "enlarge": _enlarge,
    "split": _split,
    "split0": _split_part(0),
    "split1": _split_part(1),
    "merge": _merge,
    "reshape": _with_shape("Reshape"),
    "add": _direct("Add"),
    "sub": _direct("Sub"),
    "mul": _direct("Mul"),
    "div": _direct("Div"),
    "minimum": _direct("Min"),
    "maximum": _direct("Max"),
    "pow": _direct("Pow"),
    "gelu": _direct("Gelu"),
    "gelu-tanh": _direct("Gelu", approximate="tanh"),
    "exp": _direct("Exp"),
    "log": _direct("Log"),
    "sqrt": _direct("Sqrt"),
    "erf": _direct("Erf"),
    "neg": _direct("Neg"),
    "abs": _direct("Abs"),
    "reciprocal": _direct("Reciprocal"),
    "sin": _direct("Sin"),
    "cos": _direct("Cos"),
    "clip": _clip,
    "leaky-relu": _with_number("LeakyRelu", "alpha"),
    "elu": _with_number("Elu", "alpha"),
    "softmax": _with_number("Softmax", "axis", int),
    "layer-norm": _with_number("LayerNormalization", "epsilon"),
    "reduce-sum": _reduction("ReduceSum"),
    "reduce-mean": _reduction("ReduceMean"),
    "reduce-max": _reduction("ReduceMax"),
    "gather": _with_number("Gather", "axis", int),
    "slice": _slice,
    "pad": _pad,
    "expand": _with_shape("Expand"),
    "cast": _cast,
    "less": _comparison("Less"),
    "equal": _comparison("Equal"),
    "where": _where,
}
"""All operators by name but inputs, weights, ``noop`` and the ``concat`` of every count."""


_FLOATING_ONLY = frozenset(
    """
    conv poolmax poolavg tanh sigmoid gelu gelu-tanh exp log sqrt erf reciprocal sin cos
    leaky-relu elu softmax layer-norm reduce-mean clip
    """.split()
)
"""Operators that ONNX has for floating-point numbers alone; and bounds may be fractions."""


def emit_node(emitter: OnnxEmitter, one: Term) -> tuple[str, ...]:
    """Write a node, whose children are written, and return the names of its results.

    Raises:
        InputError: ONNX has no such operator for the type of its elements.
    """
    head = str(one.head)
    found = emitter.graph.data(one)
    if head in _FLOATING_ONLY and isinstance(found, TensorType) and found.dtype.startswith("int"):
        raise InputError(
            f"graph {emitter.graph.name}: expected floating-point numbers for {head}, which ONNX "
            f"has not for others, found {found}"
        )
    made = (_concat if head.startswith("concat") else EXPORTS[head])(emitter, one)
    return made if isinstance(made, tuple) else (made,)
