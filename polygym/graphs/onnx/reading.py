"""Read an ONNX file: nodes in an order in which they can be computed, each translated by a table.

What is known while the file is read (constants, shapes) stays an array until a node needs it as a
weight. Nodes that no result needs are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.model import Model
from polygym.graphs.onnx.building import Builder
from polygym.graphs.onnx.entering import entered
from polygym.graphs.onnx.files import Opened, opened
from polygym.graphs.onnx.folding import folded
from polygym.graphs.onnx.library import part_of_onnx
from polygym.graphs.onnx.names import Names
from polygym.graphs.onnx.nodes import Node, Value
from polygym.graphs.onnx.ordering import Step, ordered
from polygym.graphs.onnx.patterns import recognised
from polygym.graphs.onnx.tensors import array_of, dtype_of
from polygym.graphs.onnx.translations import translated, unsupported
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term

__all__ = ["read"]


def read(path: str | Path, shapes: Mapping[str, Sequence[int]] | None = None) -> Model:
    """Return the model in an ONNX file.

    ``shapes`` says the shapes of inputs that the file leaves open: ``{"x": (1, 3, 224, 224)}``.

    Raises:
        InputError: the file is broken, or has a node that is not supported; says which and why.
    """
    source = opened(Path(path))
    builder = Builder()
    values: dict[str, Value] = dict(entered(source, shapes or {}, builder))
    inputs = tuple(one for one in values.values() if isinstance(one, Term))
    results = _results(source, source.model.graph, values, builder)
    return _model(source, inputs, results, builder)


def _results(
    source: Opened, graph: Any, around: Mapping[str, Value], builder: Builder
) -> list[tuple[str, Value]]:
    """Return the results of a graph, by name, given the values around it."""
    weights = {one.name: one for one in graph.initializer}
    values = _Values(around, weights, source)
    wanted = [one.name for one in graph.output]
    steps = ordered(source, graph, values, wanted)
    uses = Counter([*wanted, *(name for step in steps for name in step.needs())])
    for step in steps:
        node = _node(source, step, values, uses, builder)
        made: Sequence[Value]
        if node.operator == "If":
            branch = _branch(node)
            made = [one for _, one in _results(source, branch, values.all(), builder)]
        else:
            made = folded(node, step.proto, source.path.parent) or translated(node)
        values.update(zip(node.outputs, made, strict=False))
    return [(name, values[name]) for name in wanted]


class _Values:
    """The values of names: those around a graph, its weights once they are needed, its results."""

    def __init__(self, around: Mapping[str, Value], weights: Mapping[str, Any], source: Opened):
        self._found = {name: one for name, one in around.items() if name not in weights}
        self._weights = weights
        self._source = source

    def __contains__(self, name: object) -> bool:
        return name in self._weights or name in self._found

    def __getitem__(self, name: str) -> Value:
        if name in self._weights and name not in self._found:
            title, folder = self._source.title, self._source.path.parent
            self._found[name] = array_of(self._weights[name], folder, title)
        return self._found[name]

    def update(self, pairs: Iterable[tuple[str, Value]]) -> None:
        self._found.update(pairs)

    def all(self) -> dict[str, Value]:
        return {name: self[name] for name in (*self._found, *self._weights)}


def _branch(node: Node) -> Any:
    """Return the branch of a condition that is known."""
    if isinstance(node.values[0] if node.values else None, Term):
        node.refuse(unsupported("If"))
    choice = node.array(0, "the condition")
    if choice.size != 1:
        node.refuse(f"expected one condition, found {choice.size}")
    name = "then_branch" if choice.any() else "else_branch"
    branch = node.attribute(name)
    if not hasattr(branch, "output") or len(branch.output) < len(node.outputs):
        node.refuse(f"expected a graph of {len(node.outputs)} results for {name}, found none")
    return branch


def _node(
    source: Opened,
    step: Step,
    values: _Values,
    uses: Mapping[str, int],
    builder: Builder,
) -> Node:
    attribute = part_of_onnx("helper").get_attribute_value
    names = tuple(step.proto.input)
    outputs = list(step.proto.output)
    while outputs and not uses.get(outputs[-1]):
        outputs.pop()
    return Node(
        operator=step.proto.op_type,
        title=f"{source.title}: {step.title}",
        opset=source.opset,
        names=names,
        values=tuple(values[name] if name else None for name in names),
        outputs=tuple(name if uses.get(name) else "" for name in outputs),
        attributes={one.name: attribute(one) for one in step.proto.attribute},
        is_alone=bool(names) and uses[names[0]] == 1,
        builder=builder,
    )


def _model(
    source: Opened,
    inputs: tuple[Term, ...],
    values: Sequence[tuple[str, Value]],
    builder: Builder,
) -> Model:
    names = Names()
    results: list[tuple[str, Term]] = []
    truths = {
        one.name
        for one in source.model.graph.output
        if dtype_of(one.type.tensor_type.elem_type) == "bool"
    }
    for name, found in values:
        if isinstance(found, Term) and name in truths:
            raise InputError(
                f"{source.title}: result {printable(name)}: expected numbers, found truth values: "
                "cast them to numbers before exporting"
            )
        try:
            one = found if isinstance(found, Term) else builder.weight(found, name)
        except Inadmissible as error:
            raise InputError(f"{source.title}: result {printable(name)}: {error}") from None
        results.append((names.take(name), one))
    made = recognised([one for _, one in results], builder)
    title = Names().take(source.model.graph.name or source.path.stem)
    graph = Graph(title, inputs, tuple((name, made[one]) for name, one in results))
    return Model(graph, {one.name: builder.values[one.name] for one in graph.weights})
