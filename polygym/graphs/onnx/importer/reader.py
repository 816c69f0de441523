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
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.onnx.format import (
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
    unsupported_message,
)
from polygym.graphs.onnx.nodes import OnnxGraphBuilder, OnnxNode, OnnxValue
from polygym.graphs.operators.types import DTYPES
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term


def graph_inputs(
    source: OnnxFile, shapes: Mapping[str, Sequence[int]], builder: OnnxGraphBuilder
) -> Iterator[tuple[str, Term]]:
    """Yield the names of inputs, as the file has them, and their terms.

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


def _type(source: OnnxFile, input_: Any) -> str:
    place = f"{source.display_name}: input {printable(input_.name)}"
    if input_.type.WhichOneof("value") != "tensor_type":
        result = input_.type.WhichOneof("value") or "none"
        raise InputError(f"{place}: expected a tensor, found the type {result}")
    result = dtype_of(input_.type.tensor_type.elem_type)
    if result not in DTYPES:
        raise InputError(
            f"{place}: expected elements of {', '.join(DTYPES)}, float16 or bfloat16, "
            f"found {result}: convert the input before it enters the model"
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


def read(path: str | Path, shapes: Mapping[str, Sequence[int]] | None = None) -> Model:
    """Return the model in an ONNX file.

    ``shapes`` says the shapes of inputs that the file leaves open: ``{"x": (1, 3, 224, 224)}``.

    Raises:
        InputError: the file is broken, or has a node that is not supported; says which and why.
    """
    source = open_onnx(Path(path))
    builder = OnnxGraphBuilder()
    values: dict[str, OnnxValue] = dict(graph_inputs(source, shapes or {}, builder))
    inputs = tuple(onnx_value for onnx_value in values.values() if isinstance(onnx_value, Term))
    results = _results(source, source.model.graph, values, builder)
    return _model(source, inputs, results, builder)


def _results(
    source: OnnxFile, graph: Any, outer_values: Mapping[str, OnnxValue], builder: OnnxGraphBuilder
) -> list[tuple[str, OnnxValue]]:
    """Return the results of a graph, by name, given the values around it."""
    weights = {weight.name: weight for weight in graph.initializer}
    values = _ValueTable(outer_values, weights, source)
    wanted = [output.name for output in graph.output]
    steps = order_nodes(source, graph, values, wanted)
    uses = Counter([*wanted, *(name for step in steps for name in step.needs())])
    for step in steps:
        node = _node(source, step, values, uses, builder)
        made: Sequence[OnnxValue]
        if node.operator == "If":
            branch = _known_branch(node)
            made = [onnx_value for _, onnx_value in _results(source, branch, values.all(), builder)]
        else:
            made = fold_constants(node, step.proto, source.path.parent) or import_node(node)
        values.update(zip(node.outputs, made, strict=False))
    return [(name, values[name]) for name in wanted]


class _ValueTable:
    """The values of names: those around a graph, its weights once they are needed, its results."""

    def __init__(
        self, outer_values: Mapping[str, OnnxValue], weights: Mapping[str, Any], source: OnnxFile
    ):
        self._found = {name: value for name, value in outer_values.items() if name not in weights}
        self._weights = weights
        self._source = source

    def __contains__(self, name: object) -> bool:
        return name in self._weights or name in self._found

    def __getitem__(self, name: str) -> OnnxValue:
        if name in self._weights and name not in self._found:
            title, folder = self._source.display_name, self._source.path.parent
            self._found[name] = array_of(self._weights[name], folder, title)
        return self._found[name]

    def update(self, pairs: Iterable[tuple[str, OnnxValue]]) -> None:
        self._found.update(pairs)

    def all(self) -> dict[str, OnnxValue]:
        return {name: self[name] for name in (*self._found, *self._weights)}


def _known_branch(node: OnnxNode) -> Any:
    """Return the branch of a condition that is known."""
    if isinstance(node.values[0] if node.values else None, Term):
        node.reject(unsupported_message("If"))
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
    return OnnxNode(
        operator=step.proto.op_type,
        title=f"{source.display_name}: {step.display_name}",
        opset=source.opset,
        names=names,
        values=tuple(values[name] if name else None for name in names),
        outputs=tuple(name if uses.get(name) else "" for name in outputs),
        attributes={entry.name: attribute(entry) for entry in step.proto.attribute},
        is_only_user=bool(names) and uses[names[0]] == 1,
        builder=builder,
    )


def _model(
    source: OnnxFile,
    inputs: tuple[Term, ...],
    values: Sequence[tuple[str, OnnxValue]],
    builder: OnnxGraphBuilder,
) -> Model:
    names = SafeNames()
    results: list[tuple[str, Term]] = []
    truths = {
        output.name
        for output in source.model.graph.output
        if dtype_of(output.type.tensor_type.elem_type) == "bool"
    }
    for name, onnx_value in values:
        if isinstance(onnx_value, Term) and name in truths:
            raise InputError(
                f"{source.display_name}: result {printable(name)}: expected numbers, found truth "
                "values: "
                "cast them to numbers before exporting"
            )
        try:
            term = onnx_value if isinstance(onnx_value, Term) else builder.weight(onnx_value, name)
        except Inadmissible as error:
            raise InputError(f"{source.display_name}: result {printable(name)}: {error}") from None
        results.append((names.unique(name), term))
    made = recognize_patterns([root for _, root in results], builder)
    title = SafeNames().unique(source.model.graph.name or source.path.stem)
    graph = Graph(title, inputs, tuple((name, made[root]) for name, root in results))
    return Model(
        graph, {signature.name: builder.values[signature.name] for signature in graph.weights}
    )
