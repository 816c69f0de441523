"""Operators that move elements, name arrays, or choose parts of them."""

from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

import numpy as np

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import (
    Array,
    GraphOperator,
    OnnxMapping,
    OnnxWriter,
    Value,
    literal_numbers,
)
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term


def parts_of(value: Value) -> tuple[Array, ...]:
    """Return the arrays of a value, one by one."""
    return value if isinstance(value, tuple) else (np.asarray(value),)


def _unknown(identifier: str) -> NoReturn:
    raise Inadmissible(f"expected an operator, found the name of an array, {identifier!r}")


def concat(count: int) -> GraphOperator:
    """Return the concatenation of a number of tensors."""

    def write(writer: OnnxWriter, axis: Term, *parts: Term) -> str:
        return writer.operator("Concat", *map(writer.name, parts), axis=axis.head)

    return GraphOperator(
        f"concat{count}",
        " ".join(("axis:N", *(f"x{place}:T" for place in range(count)))),
        "one after the other along an axis",
        infer=shapes.concat,
        reference=lambda axis, *parts: np.concatenate(parts, axis=axis),
        torch=lambda torch, axis, *_: lambda *parts: torch.cat(parts, axis),
        onnx=write,
    )


def _split(axis: int, at: int, x: Array) -> tuple[Array, ...]:
    first, second = np.split(x, [at], axis)
    return first, second


def _split_in_torch(torch: Any, axis: int, at: int, x: TensorType) -> Callable[..., Any]:
    sizes = [at, x.shape[axis] - at]
    return lambda x: torch.split(x, sizes, axis)


def _write_split(writer: OnnxWriter, axis: Term, at: Term, x: Term) -> tuple[str, ...]:
    extent, first = writer.tensor(x).shape[int(axis.head)], int(at.head)
    sizes = writer.constant([first, extent - first], "int64")
    return writer.operator_outputs("Split", writer.name(x), sizes, results=2, axis=axis.head)


def _split_part(place: int, doc: str, infer: Callable[..., TensorType]) -> GraphOperator:
    return GraphOperator(
        f"split{place}",
        "split:P",
        doc,
        infer=infer,
        reference=lambda pair: pair[place],
        torch=lambda *_: lambda pair: pair[place],
        onnx=lambda writer, split: writer.name(split, place),
        is_free=True,
    )


def _write_transpose(writer: OnnxWriter, x: Term, permutation: Term) -> str:
    order = literal_numbers(permutation.head)
    return writer.operator("Transpose", writer.name(x), perm=order)


def _transpose_in_torch(_: Any, __: TensorType, permutation: Head) -> Callable[..., Any]:
    order = literal_numbers(permutation)
    return lambda x: x.permute(order)


def _with_shape(kind: str) -> Callable[[OnnxWriter, Term, Term], str]:
    def write(writer: OnnxWriter, x: Term, shape: Term) -> str:
        extents = writer.constant(literal_numbers(shape.head), "int64")
        return writer.operator(kind, writer.name(x), extents)

    return write


def _reshape_in_torch(_: Any, __: TensorType, shape: Head) -> Callable[..., Any]:
    extents = literal_numbers(shape)
    return lambda x: x.reshape(extents)


def _expand_in_torch(_: Any, __: TensorType, shape: Head) -> Callable[..., Any]:
    extents = literal_numbers(shape)
    return lambda x: x.expand(extents)


def _gather_in_torch(
    torch: Any, axis: int, _: TensorType, indices: TensorType
) -> Callable[..., Any]:
    shape = indices.shape

    def gathered(table: Any, indices: Any) -> Any:
        rows = torch.index_select(table, axis, indices.reshape(-1))
        return rows.reshape(*table.shape[:axis], *shape, *table.shape[axis + 1 :])

    return gathered


def _range(axis: int, start: int, stop: int, step: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop, step))


def _slice_in_torch(_: Any, *children: Any) -> Callable[..., Any]:
    place = _range(*children[:4])
    return lambda x: x[place]


def _write_slice(
    writer: OnnxWriter, axis: Term, start: Term, stop: Term, step: Term, x: Term
) -> str:
    bounds = (writer.constant([part.head], "int64") for part in (start, stop, axis, step))
    return writer.operator("Slice", writer.name(x), *bounds)


def _pad(value: float, pads: Head, x: Array) -> Array:
    widths, rank = literal_numbers(pads), x.ndim
    return np.pad(x, list(zip(widths[:rank], widths[rank:], strict=True)), constant_values=value)


def _pad_in_torch(torch: Any, value: float, pads: Head, x: TensorType) -> Callable[..., Any]:
    widths, rank = literal_numbers(pads), len(x.shape)
    inside_out = [widths[place + side * rank] for place in reversed(range(rank)) for side in (0, 1)]
    return lambda x: torch.nn.functional.pad(x, inside_out, value=value)


def _write_pad(writer: OnnxWriter, value: Term, pads: Term, x: Term) -> str:
    filled = writer.constant(value.head, writer.tensor(x).dtype)
    widths = writer.constant(literal_numbers(pads.head), "int64")
    return writer.operator("Pad", writer.name(x), widths, filled)


OPERATORS = (
    GraphOperator(
        "input",
        "identifier:S",
        "argument of the model: name@shape",
        infer=shapes.graph_input,
        reference=_unknown,
        is_free=True,
    ),
    GraphOperator(
        "weight",
        "identifier:S",
        "constant of the model: name@shape",
        infer=shapes.weight,
        reference=_unknown,
        is_free=True,
    ),
    GraphOperator(
        "noop",
        "x:T y:T",
        "joins results of the graph",
        infer=shapes.noop,
        reference=lambda x, y: (*parts_of(x), *parts_of(y)),
        is_free=True,
    ),
    GraphOperator(
        "transpose",
        "x:T permutation:S",
        "other order of the axes",
        infer=shapes.transpose,
        reference=lambda x, permutation: x.transpose(literal_numbers(permutation)),
        torch=_transpose_in_torch,
        onnx=_write_transpose,
    ),
    GraphOperator(
        "split",
        "axis:N at:N x:T",
        "the first `at` along an axis, and the rest",
        infer=shapes.split,
        reference=_split,
        torch=_split_in_torch,
        onnx=_write_split,
        is_free=lambda axis, _, x: prod(x.shape[: axis.value]) == 1,
    ),
    _split_part(0, "the first part", shapes.first_part),
    _split_part(1, "the second part", shapes.second_part),
    GraphOperator(
        "reshape",
        "x:T shape:S",
        "the same elements under another shape",
        infer=shapes.reshape,
        reference=lambda x, shape: x.reshape(literal_numbers(shape)),
        torch=_reshape_in_torch,
        onnx=_with_shape("Reshape"),
        is_free=True,
    ),
    GraphOperator(
        "gather",
        "axis:N table:T indices:T",
        "slices of a table by indices",
        infer=shapes.gather,
        reference=lambda axis, table, indices: np.take(table, indices, axis),
        torch=_gather_in_torch,
        onnx=OnnxMapping("Gather", {"axis": 0}),
        moved=lambda written, _, indices: 2 * written + indices.bytes,
    ),
    GraphOperator(
        "slice",
        "axis:N start:N stop:N step:N x:T",
        "a range along an axis",
        infer=shapes.strided_slice,
        reference=lambda axis, start, stop, step, x: x[_range(axis, start, stop, step)],
        torch=_slice_in_torch,
        onnx=_write_slice,
        moved=lambda written, _: 2 * written,
    ),
    GraphOperator(
        "pad",
        "value:N pads:S x:T",
        "a value before and after every axis",
        infer=shapes.pad,
        reference=_pad,
        torch=_pad_in_torch,
        onnx=_write_pad,
    ),
    GraphOperator(
        "expand",
        "x:T shape:S",
        "the same along axes of extent 1",
        infer=shapes.expand,
        reference=lambda x, shape: np.broadcast_to(x, literal_numbers(shape)),
        torch=_expand_in_torch,
        onnx=_with_shape("Expand"),
    ),
)
