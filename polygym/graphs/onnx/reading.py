"""Read an ONNX file: nodes in an order in which they can be computed, each translated by a table.

What is known while the file is read (constants, shapes) stays an array until a node needs it as a
weight. Nodes that no result needs are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.graph import Graph
from polygym.graphs.model import Model
from polygym.graphs.onnx.building import Builder
from polygym.graphs.onnx.entering import entered
from polygym.graphs.onnx.files import Opened, opened
from polygym.graphs.onnx.folding import folded, is_folded
from polygym.graphs.onnx.library import part_of_onnx
from polygym.graphs.onnx.names import Names
from polygym.graphs.onnx.nodes import Node, Value
from polygym.graphs.onnx.patterns import recognised
from polygym.graphs.onnx.tensors import array_of
from polygym.graphs.onnx.translations import ROWS, translated, unsupported
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
    weights = {one.name: one for one in source.model.graph.initializer}
    wanted = [one.name for one in source.model.graph.output]
    steps = _ordered(source, values, weights, wanted)
    _refuse_unknown(source, steps)
    _refuse_malformed(source, steps)
    uses = Counter([*wanted, *(name for step in steps for name in step.proto.input)])
    for name in wanted:
        if name in weights:
            values[name] = array_of(weights[name], source.path.parent, source.title)
    for step in steps:
        for name in step.proto.input:
            if name in weights and name not in values:
                values[name] = array_of(weights[name], source.path.parent, source.title)
        node = _node(source, step, values, uses, builder)
        results = folded(node, step.proto, source.path.parent) or translated(node)
        values.update(zip(node.outputs, results, strict=False))
    return _model(source, values, wanted, builder)


@dataclass(frozen=True, slots=True)
class _Step:
    """A node of the file and its number in it."""

    number: int
    proto: Any

    @property
    def title(self) -> str:
        name = printable(self.proto.name) or "without a name"
        return f"node {self.number} ({printable(self.proto.op_type)}, {name})"


def _ordered(
    source: Opened, values: Mapping[str, Value], weights: Mapping[str, Any], wanted: Sequence[str]
) -> list[_Step]:
    """Return the nodes that the results need, each after those that it needs."""
    makers: dict[str, _Step] = {}
    for number, proto in enumerate(source.model.graph.node):
        for name in filter(None, proto.output):
            step = _Step(number, proto)
            if name in makers or name in values or name in weights:
                raise InputError(
                    f"{source.title}: {step.title}: expected a new name for its result, "
                    f"found {printable(name)} for the second time"
                )
            makers[name] = step
    order: list[_Step] = []
    states: dict[int, str] = {}
    stack: list[tuple[_Step, Iterator[str]]] = []

    def visit(name: str, by: str) -> None:
        if not name or name in values or name in weights:
            return
        if (step := makers.get(name)) is None:
            raise InputError(
                f"{source.title}: {by}: expected the name of an input, a weight or a result, "
                f"found {printable(name)}, which nothing makes"
            )
        if states.get(step.number) == "open":
            raise InputError(
                f"{source.title}: {by}: expected a graph without cycles, found that "
                f"{printable(name)} is needed for itself"
            )
        if step.number not in states:
            states[step.number] = "open"
            stack.append((step, iter(step.proto.input)))

    for name in wanted:
        visit(name, f"result {printable(name)}")
        while stack:
            step, needs = stack[-1]
            if (need := next(needs, None)) is not None:
                visit(need, step.title)
            else:
                stack.pop()
                states[step.number] = "done"
                order.append(step)
    return order


def _refuse_unknown(source: Opened, steps: Sequence[_Step]) -> None:
    """Refuse nodes of other domains and operators; says the first of the file, and how many."""
    unknown: list[tuple[int, str]] = []
    for step in steps:
        domain, operator = step.proto.domain, step.proto.op_type
        if domain not in ("", "ai.onnx"):
            said = (
                "expected an operator of ONNX itself, found one of the domain "
                f"{printable(domain)}: export the model without custom operators"
            )
        elif operator in ROWS or is_folded(operator):
            continue
        else:
            said = unsupported(operator)
        unknown.append((step.number, f"{step.title}: {said}"))
    if unknown:
        more = f" ({len(unknown) - 1} more nodes are unknown)" if unknown[1:] else ""
        raise InputError(f"{source.title}: {min(unknown)[1]}{more}")


def _refuse_malformed(source: Opened, steps: Sequence[_Step]) -> None:
    """Refuse nodes that are not written as ONNX says that their operator is."""
    checker = part_of_onnx("checker")
    context = checker.C.CheckerContext()
    context.ir_version = part_of_onnx().IR_VERSION
    context.opset_imports = {"": source.opset}
    for step in steps:
        try:
            checker.check_node(step.proto, context)
        except checker.ValidationError as error:
            first = printable(str(error).strip().partition("\n")[0])
            raise InputError(f"{source.title}: {step.title}: {first}") from None


def _node(
    source: Opened,
    step: _Step,
    values: Mapping[str, Value],
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
    source: Opened, values: Mapping[str, Value], wanted: Sequence[str], builder: Builder
) -> Model:
    names = Names()
    results: list[tuple[str, Term]] = []
    for name in wanted:
        found = values[name]
        try:
            one = found if isinstance(found, Term) else builder.weight(found, name)
        except Inadmissible as error:
            raise InputError(f"{source.title}: result {printable(name)}: {error}") from None
        results.append((names.take(name), one))
    made = recognised([one for _, one in results], builder)
    inputs = tuple(one for one in values.values() if isinstance(one, Term) and one.head == "input")
    title = Names().take(source.model.graph.name or source.path.stem)
    outputs = tuple((name, made[one]) for name, one in results)
    graph = Graph(title, tuple(dict.fromkeys(inputs)), outputs)
    return Model(graph, {one.name: builder.values[one.name] for one in graph.weights})
