"""Tensor graphs in PyTorch, node by node: an oracle that shares nothing with the project's code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Head, Term, postorder

Values = Mapping[str, np.ndarray[Any, Any]]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": functional.gelu,
}


def outputs_in_torch(graph: Graph, values: Values) -> list[np.ndarray[Any, Any]]:
    """Return the results of a graph for inputs and weights by name."""
    result = values_in_torch([root for _, root in graph.outputs], values)
    return [result[term].numpy() for _, term in graph.outputs]


def values_in_torch(roots: Sequence[Term], values: Values) -> dict[Term, Any]:
    """Return what every node is."""
    result: dict[Term, Any] = {}
    with torch.no_grad():
        for term in postorder(roots):
            if not term.children:
                result[term] = term.head
            elif term.head in ("input", "weight"):
                name = str(term.children[0].head).rpartition("@")[0]
                result[term] = torch.from_numpy(np.asarray(values[name]))
            else:
                result[term] = node_in_torch(term.head, [result[child] for child in term.children])
    return result


def node_in_torch(head: Head, arguments: Sequence[Any]) -> Any:
    """Return what one operator makes."""
    name = str(head)
    if name.startswith("concat"):
        return torch.cat(list(arguments[1:]), arguments[0])
    return _OPERATORS[name](*arguments)


def _numbers(word: Any) -> list[int]:
    if isinstance(word, int):
        return [word]
    return [] if word == "scalar" else [int(part) for part in word.split("-")]


def _padded(x: Tensor, padding: Any, kernel: Any, stride: Any, value: float) -> Tensor:
    if padding == "valid":
        return x
    if padding == "same":
        pads: list[int] = []
        for axis in (1, 0):  # PyTorch wants the last axis first
            size = x.shape[2 + axis]
            total = max((-(-size // stride[axis]) - 1) * stride[axis] + kernel[axis] - size, 0)
            pads += [total // 2, total - total // 2]
    else:
        top, left, bottom, right = _numbers(padding)
        pads = [left, right, top, bottom]
    return functional.pad(x, pads, value=value)


def _conv(
    sh: int,
    sw: int,
    padding: Any,
    activation: str,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    image = _padded(x, padding, w.shape[2:], (sh, sw), 0.0)
    groups = x.shape[1] // w.shape[1]
    y = functional.conv2d(image, w, bias, stride=(sh, sw), groups=groups)
    return _ACTIVATIONS[activation](y)


def _matmul(activation: str, x: Tensor, y: Tensor, bias: Tensor | None = None) -> Tensor:
    product = torch.matmul(x, y)
    return _ACTIVATIONS[activation](product if bias is None else product + bias)


def _poolmax(
    x: Tensor, kh: int, kw: int, sh: int, sw: int, padding: Any, activation: str
) -> Tensor:
    image = _padded(x, padding, (kh, kw), (sh, sw), -float("inf"))
    return _ACTIVATIONS[activation](functional.max_pool2d(image, (kh, kw), (sh, sw)))


def _poolavg(
    x: Tensor, kh: int, kw: int, sh: int, sw: int, padding: Any, activation: str
) -> Tensor:
    sums, counts = (
        functional.avg_pool2d(_padded(tensor, padding, (kh, kw), (sh, sw), 0.0), (kh, kw), (sh, sw))
        for tensor in (x, torch.ones_like(x))
    )
    return _ACTIVATIONS[activation](sums / counts)


def _enlarge(w: Tensor, reference: Tensor) -> Tensor:
    rows, columns = (
        (large - small) // 2 for small, large in zip(w.shape[2:], reference.shape[2:], strict=True)
    )
    return functional.pad(w, [columns, columns, rows, rows])


def _merge(w: Tensor, count: int, groups: int) -> Tensor:
    filters, inner = w.shape[:2]
    made = torch.zeros(filters, inner * count, *w.shape[2:], dtype=w.dtype)
    for number in range(filters):
        place = (number // (filters // groups)) % count
        made[number, place * inner : (place + 1) * inner] = w[number]
    return made


def _pad(value: float, pads: Any, x: Tensor) -> Tensor:
    numbers = _numbers(pads)
    rank = x.ndim
    order = [n for axis in reversed(range(rank)) for n in (numbers[axis], numbers[rank + axis])]
    return functional.pad(x, order, value=value)


def _slice(axis: int, start: int, stop: int, step: int, x: Tensor) -> Tensor:
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def _gather(axis: int, table: Tensor, indices: Tensor) -> Tensor:
    flat = torch.index_select(table, axis, indices.reshape(-1).long())
    return flat.reshape(*table.shape[:axis], *indices.shape, *table.shape[axis + 1 :])


def _product(axes: Any, keep: int, x: Tensor) -> Tensor:
    for axis in sorted(_numbers(axes), reverse=True):
        x = torch.prod(x, axis, keepdim=bool(keep))
    return x


_OPERATORS: dict[str, Callable[..., Any]] = {
    "noop": lambda x, y: (x, y),
    "ewadd": torch.add,
    "ewmul": torch.mul,
    "matmul": _matmul,
    "conv": _conv,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "poolmax": _poolmax,
    "poolavg": _poolavg,
    "transpose": lambda x, order: x.permute(_numbers(order)),
    "enlarge": _enlarge,
    "split": lambda axis, at, x: torch.split(x, [at, x.shape[axis] - at], axis),
    "split0": lambda both: both[0],
    "split1": lambda both: both[1],
    "merge": _merge,
    "reshape": lambda x, shape: x.reshape(_numbers(shape)),
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "pow": torch.pow,
    "gelu": functional.gelu,
    "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "erf": torch.erf,
    "neg": torch.neg,
    "abs": torch.abs,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "quotient": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": torch.fmod,
    "reduce-prod": _product,
    "clip": lambda low, high, x: torch.clamp(x, low, high),
    "leaky-relu": lambda slope, x: functional.leaky_relu(x, slope),
    "elu": lambda alpha, x: functional.elu(x, alpha),
    "softmax": lambda axis, x: torch.softmax(x, axis),
    "layer-norm": lambda epsilon, x, scale, bias: functional.layer_norm(
        x, x.shape[-1:], scale, bias, epsilon
    ),
    "reduce-sum": lambda axes, keep, x: torch.sum(x, _numbers(axes), bool(keep), dtype=x.dtype),
    "reduce-mean": lambda axes, keep, x: torch.mean(x, _numbers(axes), keepdim=bool(keep)),
    "reduce-max": lambda axes, keep, x: torch.amax(x, _numbers(axes), keepdim=bool(keep)),
    "gather": _gather,
    "slice": _slice,
    "pad": _pad,
    "expand": lambda x, shape: x.expand(_numbers(shape)),
    "cast": lambda dtype, x: x.to(getattr(torch, dtype)),
    "round-to": lambda dtype, x: x.to(getattr(torch, dtype)).to(x.dtype),
    "less": lambda x, y: torch.lt(x, y).to(x.dtype),
    "equal": lambda x, y: torch.eq(x, y).to(x.dtype),
    "where": lambda c, x, y: torch.where(c != 0, x, y),
}
