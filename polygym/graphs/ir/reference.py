"""What every operator computes, in NumPy: the oracle that whatever is faster is compared with.

Elements keep the type that they come with: linear operators, relu, pools of the largest and
whatever moves elements about are exact on integers, of any width or held in float64, and on objects
such as fractions. Each node is computed once.

    >>> from polygym.graphs.ir.build import entering, matmul, weight
    >>> import numpy as np
    >>> product = matmul(entering("x", 1, 2), weight("w", 2, 1), "relu")
    >>> evaluate([product], {"x": np.array([[2, 3]]), "w": np.array([[5], [-1]])})
    [array([[7]])]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.inference import named_tensor
from polygym.graphs.ir.type_checks import pads_of
from polygym.graphs.ir.types import NumberData, TextData, parse_numbers
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, postorder

__all__ = ["Array", "Value", "evaluate", "evaluate_node"]

Array: TypeAlias = np.ndarray[Any, Any]

Value: TypeAlias = "Array | tuple[Array, ...] | Head"
"""What a node is worth: an array, those of a pair or of a bundle, a literal."""


def evaluate(roots: Sequence[Term], values: Mapping[str, Array]) -> list[Array]:
    """Return the arrays of terms, given those of inputs and weights by name.

    A root that is several, ``noop`` or ``split``, gives one after the other.

    Raises:
        InputError: an array is missing, or has another shape than the graph says.
    """
    found: dict[Term, Value] = {}
    for term in postorder(roots):
        if not term.children:
            found[term] = term.head
        elif term.head in ("input", "weight"):
            found[term] = _input_array(str(term.children[0].head), values)
        else:
            found[term] = evaluate_node(term.head, tuple(found[part] for part in term.children))
    results: list[Array] = []
    for root in roots:
        results.extend(_parts(found[root]))
    return results


def evaluate_node(head: Head, arguments: tuple[Any, ...]) -> Value:
    """Return what an operator makes of literals and arrays, in the order of its table."""
    name = str(head)
    if name.startswith("concat"):
        return np.concatenate(arguments[1:], axis=arguments[0])
    if name not in _FUNCTIONS:
        raise Inadmissible(f"expected an operator, found {head!r}")
    return _FUNCTIONS[name](*arguments)


def _input_array(identifier: str, values: Mapping[str, Array]) -> Array:
    name, expected = identifier.rpartition("@")[0], named_tensor(identifier, False).shape
    if name not in values:
        raise InputError(f"expected an array for {name}, found none")
    array = np.asarray(values[name])
    if array.shape != expected:
        raise InputError(f"expected shape {expected} for {name}, found {array.shape}")
    return array


def _parts(value: Value) -> tuple[Array, ...]:
    return value if isinstance(value, tuple) else (np.asarray(value),)


def _sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):  # exp overflows to infinity, whose reciprocal is the 0 wanted
        return np.asarray(1 / (1 + np.exp(-x)))


def _erf(x: Array) -> Array:
    values = [math.erf(one) for one in x.ravel().tolist()]
    return np.array(values, np.result_type(x, np.float32)).reshape(x.shape)


def _gelu(x: Array) -> Array:
    return np.asarray(x * (1 + _erf(x / 2**0.5)) / 2)


def _gelu_tanh(x: Array) -> Array:
    inner = (2 / math.pi) ** 0.5 * (x + 0.044715 * x**3)
    return np.asarray(x * (1 + np.tanh(inner)) / 2)


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0) if x.dtype != object else 0)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "relu": _relu,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "gelu-tanh": _gelu_tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "erf": _erf,
    "neg": np.negative,
    "abs": np.abs,
    "reciprocal": lambda x: np.asarray(1 / x),
    "sin": np.sin,
    "cos": np.cos,
}


def _apply_activation(activation: str, x: Array) -> Array:
    return x if activation == "none" else _UNARY[activation](x)


def _matmul(activation: str, x: Array, y: Array) -> Array:
    return _apply_activation(activation, np.matmul(x, y))


def _windows(
    x: Array, kernel: tuple[int, int], stride: tuple[int, int], padding: Head, fill: Any
) -> Array:
    """Return the windows of an image, (n, c, h, w, kernel_h, kernel_w), and a value around it."""
    word = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    top, left, bottom, right = pads_of(word, (x.shape[2], x.shape[3]), kernel, stride)
    if top or left or bottom or right:
        pads = ((0, 0), (0, 0), (top, bottom), (left, right))
        x = np.pad(x, pads, constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return views[:, :, :: stride[0], :: stride[1]]


def _conv(
    stride_h: int, stride_w: int, padding: Head, activation: str, x: Array, w: Array
) -> Array:
    filters, inner, *kernel = w.shape
    groups = x.shape[1] // inner
    windows = _windows(x, (kernel[0], kernel[1]), (stride_h, stride_w), padding, 0)
    count, _, rows, columns, *_ = windows.shape
    # One product of matrices a group: the windows' elements by the filters'.
    left = windows.reshape(count, groups, inner, rows, columns, -1)
    left = left.transpose(1, 0, 3, 4, 2, 5).reshape(groups, count * rows * columns, -1)
    right = w.reshape(groups, filters // groups, -1).transpose(0, 2, 1)
    made = np.matmul(left, right).reshape(groups, count, rows, columns, filters // groups)
    made = made.transpose(1, 0, 4, 2, 3).reshape(count, filters, rows, columns)
    return _apply_activation(activation, made)


def _poolmax(
    x: Array, kernel_h: int, kernel_w: int, stride_h: int, stride_w: int, padding: Head, act: str
) -> Array:
    # Every window has an element of the image, so that the least of all around it changes nothing.
    views = _windows(x, (kernel_h, kernel_w), (stride_h, stride_w), padding, x.min())
    return _apply_activation(act, np.asarray(views.max(axis=(4, 5))))


def _poolavg(
    x: Array, kernel_h: int, kernel_w: int, stride_h: int, stride_w: int, padding: Head, act: str
) -> Array:
    kernel, stride = (kernel_h, kernel_w), (stride_h, stride_w)
    total = _windows(x, kernel, stride, padding, 0).sum(axis=(4, 5))
    ones = np.ones((1, 1, *x.shape[2:]), dtype=np.int64)
    counts = _windows(ones, kernel, stride, padding, 0).sum(axis=(4, 5))
    counts = counts.astype(x.dtype if x.dtype == object else np.result_type(x, np.float32))
    return _apply_activation(act, np.asarray(total / counts))


def _enlarge(w: Array, reference: Array) -> Array:
    around = [(wide - small) // 2 for small, wide in zip(w.shape, reference.shape, strict=True)]
    return np.pad(w, ((0, 0), (0, 0), (around[2],) * 2, (around[3],) * 2))


def _split(axis: int, at: int, x: Array) -> tuple[Array, ...]:
    first, second = np.split(x, [at], axis)
    return first, second


def _merge(w: Array, count: int, groups: int) -> Array:
    filters, inner, *extents = w.shape
    made = np.zeros((filters, inner * count, *extents), w.dtype)
    each = filters // groups
    for group in range(groups):
        rows, first = slice(group * each, (group + 1) * each), group % count * inner
        made[rows, first : first + inner] = w[rows]
    return made


def _axes(literal: Head) -> tuple[int, ...]:
    return parse_numbers(literal) if isinstance(literal, str) else (int(literal),)


def _softmax(axis: int, x: Array) -> Array:
    shares = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(shares / shares.sum(axis=axis, keepdims=True))


def _layer_norm(epsilon: float, x: Array, scale: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + epsilon) * scale + bias)


def _strided_slice(axis: int, start: int, stop: int, step: int, x: Array) -> Array:
    return x[(*(slice(None),) * axis, slice(start, stop, step))]


def _pad(value: float, pads: Head, x: Array) -> Array:
    widths, rank = _axes(pads), x.ndim
    return np.pad(x, list(zip(widths[:rank], widths[rank:], strict=True)), constant_values=value)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **_UNARY,
    "noop": lambda x, y: (*_parts(x), *_parts(y)),
    "ewadd": np.add,
    "ewmul": np.multiply,
    "matmul": _matmul,
    "conv": _conv,
    "poolmax": _poolmax,
    "poolavg": _poolavg,
    "transpose": lambda x, permutation: x.transpose(_axes(permutation)),
    "enlarge": _enlarge,
    "split": _split,
    "split0": lambda both: both[0],
    "split1": lambda both: both[1],
    "merge": _merge,
    "reshape": lambda x, shape: x.reshape(_axes(shape)),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "pow": np.power,
    "clip": lambda low, high, x: np.clip(x, low, high),
    "leaky-relu": lambda slope, x: np.where(x < 0, x * slope, x),
    "elu": lambda alpha, x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    "softmax": _softmax,
    "layer-norm": _layer_norm,
    "reduce-sum": lambda axes, keep, x: x.sum(axis=_axes(axes), keepdims=bool(keep)),
    "reduce-mean": lambda axes, keep, x: x.mean(axis=_axes(axes), keepdims=bool(keep)),
    "reduce-max": lambda axes, keep, x: x.max(axis=_axes(axes), keepdims=bool(keep)),
    "gather": lambda axis, table, indices: np.take(table, indices, axis),
    "slice": _strided_slice,
    "pad": _pad,
    "expand": lambda x, shape: np.broadcast_to(x, _axes(shape)),
    "cast": lambda dtype, x: x.astype(dtype),
    "less": lambda x, y: np.less(x, y).astype(x.dtype),
    "equal": lambda x, y: np.equal(x, y).astype(x.dtype),
    "where": lambda c, x, y: np.where(c != 0, x, y),
}
