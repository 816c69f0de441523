"""The inputs of an ONNX graph: names, types, and shapes, which must all be known.

An extent that the file leaves open has a name (``batch``) or none; whoever reads the file says the
shape of the input, and a name then stands for the same extent in every input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.onnx.format.files import OnnxFile
from polygym.graphs.onnx.format.tensors import dtype_of
from polygym.graphs.onnx.nodes.graph_builder import OnnxGraphBuilder
from polygym.graphs.operators.types import DTYPES
from polygym.rewrite.term import Term

__all__ = ["graph_inputs"]


def graph_inputs(
    source: OnnxFile, shapes: Mapping[str, Sequence[int]], builder: OnnxGraphBuilder
) -> Iterator[tuple[str, Term]]:
    """Yield the names of inputs, as the file has them, and their terms.

    Raises:
        InputError: an extent is not known, or what is said fits no input.
    """
    weights = {one.name for one in source.model.graph.initializer}
    inputs = [one for one in source.model.graph.input if one.name not in weights]
    names = [input_.name for input_ in inputs]
    if len(set(names)) != len(names) or "" in names:
        raise InputError(
            f"{source.display_name}: expected different names for inputs, found {names}"
        )
    for name in shapes:
        if name not in names:
            known = ", ".join(map(printable, names)) or "none"
            raise InputError(
                f"{source.display_name}: shapes: expected names of inputs, of which there are "
                f"{known}, "
                f"found {name!r}"
            )
    extents: dict[str, int] = {}
    for input_ in inputs:
        if input_.name in shapes:
            _bind_shape(source, input_, shapes[input_.name], extents)
    for input_ in inputs:
        dtype = _type(source, input_)
        shape = _shape(source, input_, shapes, extents)
        yield input_.name, builder.graph_input(input_.name, shape, dtype)


def _type(source: OnnxFile, one: Any) -> str:
    place = f"{source.display_name}: input {printable(one.name)}"
    if one.type.WhichOneof("value") != "tensor_type":
        result = one.type.WhichOneof("value") or "none"
        raise InputError(f"{place}: expected a tensor, found the type {result}")
    result = dtype_of(one.type.tensor_type.elem_type)
    if result not in DTYPES:
        raise InputError(
            f"{place}: expected elements of {', '.join(DTYPES)}, float16 or bfloat16, "
            f"found {result}: convert the input before it enters the model"
        )
    return result


def _dimensions(one: Any) -> list[int | str] | None:
    """Return the extents that a file says: numbers, names, or "" for neither."""
    if not one.type.tensor_type.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else dim.dim_param
        for dim in one.type.tensor_type.shape.dim
    ]


def _bind_shape(source: OnnxFile, one: Any, given: Sequence[int], extents: dict[str, int]) -> None:
    """Take what is said of an input, which must fit what the file says."""
    place = f"{source.display_name}: shapes[{one.name!r}]"
    try:
        is_understood = min(map(index, given), default=1) > 0
    except TypeError:
        is_understood = False
    if not is_understood:
        raise InputError(f"{place}: expected extents from 1 on, found {given}")
    known = _dimensions(one)
    if known is None:
        return
    if len(known) != len(given):
        raise InputError(
            f"{place}: expected {len(known)} extents as in the file, found {len(given)}"
        )
    for number, (extent, dimension) in enumerate(zip(given, known, strict=True)):
        if isinstance(dimension, str):
            dimension = extents.setdefault(dimension, extent) if dimension else extent
        if dimension != extent:
            raise InputError(
                f"{place}: expected {dimension} for dimension {number}, found {extent}"
            )


def _shape(
    source: OnnxFile, one: Any, shapes: Mapping[str, Sequence[int]], extents: Mapping[str, int]
) -> tuple[int, ...]:
    if one.name in shapes:
        return tuple(map(int, shapes[one.name]))
    known = _dimensions(one)
    place = f"{source.display_name}: input {printable(one.name)}"
    if known is None:
        raise InputError(
            f"{place}: expected a shape, found none: give it as shapes={{{one.name!r}: (…)}}"
        )
    result: list[int] = []
    for number, dimension in enumerate(known):
        extent = extents.get(dimension) if isinstance(dimension, str) else dimension
        if extent is None:
            example = ", ".join(str(part) if isinstance(part, int) else "1" for part in known)
            title = f" ({printable(str(dimension))})" if dimension else ""
            raise InputError(
                f"{place}: expected a fixed extent for dimension {number}{title}, found none: say "
                f"the shape, such as shapes={{{one.name!r}: ({example}{',' * (len(known) == 1)})}}"
                f", or --shape {printable(one.name)}={example.replace(' ', '')} of a command"
            )
        result.append(extent)
    return tuple(result)
