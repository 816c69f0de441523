"""Read an ONNX file: nodes in an order in which they can be computed, each translated by a table.

What is known while the file is read (constants, shapes) stays an array until a node needs it as a
weight. Nodes that no result needs are not looked at.

The inputs of an ONNX graph: names, types, and shapes, which must all be known.

An extent that the file leaves open has a name (``batch``) or none; the caller gives the
shape of the input, and a name then stands for the same extent in every input.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from polygym.errors import InputError, printable
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.onnx.format import (
    Array,
    OnnxFile,
    SafeNames,
    array_of,
    dtype_of,
    onnx_module,
    open_onnx,
)
from polygym.graphs.onnx.importer.constant_folding import fold_constants
from polygym.graphs.onnx.importer.fused_patterns import recognize_patterns
from polygym.graphs.onnx.importer.node_order import (
    OrderedNode,
    import_node,
    order_nodes,
    reject_unknown,
)
from polygym.graphs.onnx.importer.value_types import (
    computed,
    result_types,
    returned,
    settle,
    unsupported_type,
)
from polygym.graphs.onnx.nodes import OnnxGraphBuilder, OnnxNode, OnnxValue, computing_type
from polygym.graphs.operators.types import ELEMENT_BYTES
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term


def graph_inputs(
    source: OnnxFile,
    shapes: Mapping[str, Sequence[int]],
    builder: OnnxGraphBuilder,
    values: Mapping[str, Array] = MappingProxyType({}),
) -> Iterator[tuple[str, Term]]:
    """Yield the names of inputs, as the file has them, and their terms; none for fixed ``values``.

    Raises:
        InputError: an extent is not known, or what is said fits no input.
    """
    weights = {weight.name for weight in source.model.graph.initializer}
    inputs = [entry for entry in source.model.graph.input if entry.name not in weights]
    names = [input_.name for input_ in inputs]
    if len(set(names)) != len(names) or "" in names:
        raise InputError(
            f"{source.display_name}: expected different names for inputs, found {names}"
        )
    for name in (*shapes, *values):
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
        if input_.name in values:
            continue
        dtype = _type(source, input_)
        shape = _shape(source, input_, shapes, extents)
        yield input_.name, builder.graph_input(input_.name, shape, dtype)


def _type(source: OnnxFile, input_: Any) -> str:
    place = f"{source.display_name}: input {printable(input_.name)}"
    if input_.type.WhichOneof("value") != "tensor_type":
        result = input_.type.WhichOneof("value") or "none"
        raise InputError(f"{place}: expected a tensor, found the type {result}")
    result = dtype_of(input_.type.tensor_type.elem_type)
    if not computing_type(result):
        raise InputError(
            f"{place}: expected elements of {', '.join(ELEMENT_BYTES)}, found {result}: convert "
            "the input before it enters the model"
        )
    return result


def _dimensions(input_: Any) -> list[int | str] | None:
    """Return the extents that a file says: numbers, names, or "" for neither."""
    if not input_.type.tensor_type.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else dim.dim_param
        for dim in input_.type.tensor_type.shape.dim
    ]


def _bind_shape(
    source: OnnxFile, input_: Any, given: Sequence[int], extents: dict[str, int]
) -> None:
    """Take what is said of an input, which must fit what the file says."""
    place = f"{source.display_name}: shapes[{input_.name!r}]"
    try:
        is_understood = min(map(index, given), default=1) > 0
    except TypeError:
        is_understood = False
    if not is_understood:
        raise InputError(f"{place}: expected extents from 1 on, found {given}")
    known = _dimensions(input_)
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
    source: OnnxFile, input_: Any, shapes: Mapping[str, Sequence[int]], extents: Mapping[str, int]
) -> tuple[int, ...]:
    if input_.name in shapes:
        return tuple(map(int, shapes[input_.name]))
    known = _dimensions(input_)
    place = f"{source.display_name}: input {printable(input_.name)}"
    if known is None:
        raise InputError(
            f"{place}: expected a shape, found none: give it as shapes={{{input_.name!r}: (…)}}"
        )
    result: list[int] = []
    for number, dimension in enumerate(known):
        extent = extents.get(dimension) if isinstance(dimension, str) else dimension
        if extent is None:
            example = ", ".join(str(part) if isinstance(part, int) else "1" for part in known)
            title = f" ({printable(str(dimension))})" if dimension else ""
            raise InputError(
                f"{place}: expected a fixed extent for dimension {number}{title}, found none: say "
                f"the shape, such as shapes={{{input_.name!r}: "
                f"({example}{',' * (len(known) == 1)})}}, "
                f"or --shape {printable(input_.name)}={example.replace(' ', '')} of a command"
            )
        result.append(extent)
    return tuple(result)


def read(
    path: str | Path,
    shapes: Mapping[str, Sequence[int]] | None = None,
    values: Mapping[str, Array] | None = None,
) -> Model:
    """Return the model in an ONNX file.

    ``shapes`` says the shapes of inputs that the file leaves open: ``{"x": (1, 3, 224, 224)}``.
    ``values`` fixes inputs, such as shapes and axes: they become constants.

    Raises:
        InputError: the file is broken, or has a node that is not supported; says which and why.
    """
    source = open_onnx(Path(path))
    builder = OnnxGraphBuilder()
    fixed = {name: np.asarray(array) for name, array in (values or {}).items()}
    inputs = dict(graph_inputs(source, shapes or {}, builder, fixed))
    known: dict[str, _TypedValue] = {
        name: _TypedValue(computed(builder, term), builder.tensor(term).dtype)
        for name, term in inputs.items()
    }
    known |= {name: _typed_array(array) for name, array in fixed.items()}
    results = _results(source, source.model.graph, known, builder)
    return _model(source, tuple(inputs.values()), results, builder)


class _TypedValue(NamedTuple):
    """A value, and the type that ONNX gives it."""

    value: OnnxValue
    dtype: str


def _typed_array(array: Array) -> _TypedValue:
    return _TypedValue(array, array.dtype.name)


def _results(
    source: OnnxFile,
    graph: Any,
    outer_values: Mapping[str, _TypedValue],
    builder: OnnxGraphBuilder,
) -> list[tuple[str, _TypedValue]]:
    """Return the results of a graph, by name, given the values around it."""
    weights = {weight.name: weight for weight in graph.initializer}
    values = _ValueTable(outer_values, weights, source)
    wanted = [output.name for output in graph.output]
    if "" in wanted:
        raise InputError(f"{source.display_name}: expected names for all results, found none")
    steps = order_nodes(source, graph, values, wanted)
    uses = Counter([*wanted, *(name for step in steps for name in step.needs())])
    for step in steps:
        node = _node(source, step, values, uses, builder)
        made: Sequence[_TypedValue]
        if node.operator == "If":
            branch = _known_branch(node)
            made = [value for _, value in _results(source, branch, values.all(), builder)]
        else:
            made = _node_results(node, step, source)
        missing = [name for name in node.outputs[len(made) :] if name]
        if missing:
            node.reject(f"expected {len(made)} results, found that {missing[0]} is used")
        values.update(zip(node.outputs, made, strict=False))
    return [(name, values[name]) for name in wanted]


def _node_results(node: OnnxNode, step: OrderedNode, source: OnnxFile) -> list[_TypedValue]:
    """Return the results of a node with their types: folded, or translated."""
    folded = fold_constants(node, step.proto, source.path.parent)
    if folded is not None:
        return [_typed_array(array) for array in folded]
    if bad := unsupported_type(node.operator, (*node.types, *node.result_types)):
        node.reject(f"expected a type that {node.operator} is computed for, found {bad}")
    return [
        _TypedValue(settle(node.builder, node.operator, term, dtype), dtype)
        for term, dtype in zip(import_node(node), node.result_types, strict=False)
    ]


class _ValueTable:
    """The values of names: those around a graph, its weights once they are needed, its results."""

    def __init__(
        self, outer_values: Mapping[str, _TypedValue], weights: Mapping[str, Any], source: OnnxFile
    ):
        self._found = {name: value for name, value in outer_values.items() if name not in weights}
        self._weights = weights
        self._source = source

    def __contains__(self, name: object) -> bool:
        return name in self._weights or name in self._found

    def __getitem__(self, name: str) -> _TypedValue:
        if name in self._weights and name not in self._found:
            title, folder = self._source.display_name, self._source.path.parent
            self._found[name] = _typed_array(array_of(self._weights[name], folder, title))
        return self._found[name]

    def update(self, pairs: Iterable[tuple[str, _TypedValue]]) -> None:
        self._found.update(pairs)

    def all(self) -> dict[str, _TypedValue]:
        return {name: self[name] for name in (*self._found, *self._weights)}


def _known_branch(node: OnnxNode) -> Any:
    """Return the branch of a condition that is known."""
    if isinstance(node.values[0] if node.values else None, Term):
        reject_unknown(node)
    choice = node.array(0, "the condition")
    if choice.size != 1:
        node.reject(f"expected one condition, found {choice.size}")
    name = "then_branch" if choice.any() else "else_branch"
    branch = node.attribute(name)
    if not hasattr(branch, "output") or len(branch.output) < len(node.outputs):
        node.reject(f"expected a graph of {len(node.outputs)} results for {name}, found none")
    return branch


def _node(
    source: OnnxFile,
    step: OrderedNode,
    values: _ValueTable,
    uses: Mapping[str, int],
    builder: OnnxGraphBuilder,
) -> OnnxNode:
    attribute = onnx_module("helper").get_attribute_value
    names = tuple(step.proto.input)
    outputs = list(step.proto.output)
    while outputs and not uses.get(outputs[-1]):
        outputs.pop()
    operator, attributes = (
        step.proto.op_type,
        {entry.name: attribute(entry) for entry in step.proto.attribute},
    )
    given = [values[name] if name else None for name in names]
    types = tuple("" if value is None else value.dtype for value in given)
    return OnnxNode(
        operator=operator,
        title=f"{source.display_name}: {step.display_name}",
        opset=source.opset,
        names=names,
        values=tuple(None if value is None else value.value for value in given),
        outputs=tuple(name if uses.get(name) else "" for name in outputs),
        attributes=attributes,
        types=types,
        result_types=result_types(operator, source.opset, types, attributes, len(outputs)),
        is_only_user=bool(names) and uses[names[0]] == 1,
        builder=builder,
    )


def _model(
    source: OnnxFile,
    inputs: tuple[Term, ...],
    values: Sequence[tuple[str, _TypedValue]],
    builder: OnnxGraphBuilder,
) -> Model:
    names = SafeNames()
    results: list[tuple[str, Term, str]] = []
    for name, (onnx_value, dtype) in values:
        try:
            term = onnx_value if isinstance(onnx_value, Term) else builder.weight(onnx_value, name)
        except Inadmissible as error:
            raise InputError(f"{source.display_name}: result {printable(name)}: {error}") from None
        results.append((names.unique(name), term, dtype))
    made = recognize_patterns([root for _, root, _ in results], builder)
    title = SafeNames().unique(source.model.graph.name or source.path.stem)
    outputs = tuple((name, returned(builder, made[root], dtype)) for name, root, dtype in results)
    graph = Graph(title, inputs, outputs)
    return Model(
        graph, {signature.name: builder.values[signature.name] for signature in graph.weights}
    )
