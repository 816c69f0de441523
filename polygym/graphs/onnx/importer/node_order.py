"""The nodes of an ONNX graph in an order in which they can be computed, known and well formed.

Only nodes that a result needs are looked at. What the branches of a condition take from outside
counts as taken by the condition.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError, printable
from polygym.graphs.onnx.format.files import OnnxFile
from polygym.graphs.onnx.format.onnx_package import onnx_module
from polygym.graphs.onnx.importer.constant_folding import is_foldable
from polygym.graphs.onnx.importer.import_table import import_rows, unsupported_message


@dataclass(frozen=True, slots=True)
class OrderedNode:
    """A node of the file and its number in it."""

    number: int
    proto: Any

    @property
    def display_name(self) -> str:
        """How errors name the node."""
        name = printable(self.proto.name) or "without a name"
        return f"node {self.number} ({printable(self.proto.op_type)}, {name})"

    def needs(self) -> list[str]:
        """Return the names that the node takes, in its branches too."""
        result = list(self.proto.input)
        for attribute in self.proto.attribute:
            if attribute.HasField("g"):
                result += _free_names(attribute.g)
        return result


def _free_names(graph: Any) -> list[str]:
    own = {one.name for one in (*graph.input, *graph.initializer)}
    own |= {name for one in graph.node for name in one.output}
    taken = [
        name for number, one in enumerate(graph.node) for name in OrderedNode(number, one).needs()
    ]
    return [name for name in (*taken, *(one.name for one in graph.output)) if name not in own]


def order_nodes(
    source: OnnxFile, graph: Any, known: Container[str], outputs: Sequence[str]
) -> list[OrderedNode]:
    """Return the nodes that results need, each after those that it needs.

    Raises:
        InputError: a name has no maker, or two, a node needs itself, or is not understood.
    """
    makers = _producers(source, graph, known)
    order: list[OrderedNode] = []
    states: dict[int, str] = {}
    stack: list[tuple[OrderedNode, Iterator[str]]] = []

    def visit(name: str, by: str) -> None:
        if not name or name in known:
            return
        if (step := makers.get(name)) is None:
            raise InputError(
                f"{source.display_name}: {by}: expected the name of an input, a weight or a "
                "result, "
                f"found {printable(name)}, which nothing makes"
            )
        if states.get(step.number) == "open":
            raise InputError(
                f"{source.display_name}: {by}: expected a graph without cycles, found that "
                f"{printable(name)} is needed for itself"
            )
        if step.number not in states:
            states[step.number] = "open"
            stack.append((step, iter(step.needs())))

    for name in outputs:
        visit(name, f"result {printable(name)}")
        while stack:
            step, needs = stack[-1]
            if (need := next(needs, None)) is not None:
                visit(need, step.display_name)
            else:
                stack.pop()
                states[step.number] = "done"
                order.append(step)
    _reject_unknown(source, order)
    _reject_malformed(source, order)
    return order


def _producers(source: OnnxFile, graph: Any, known: Container[str]) -> dict[str, OrderedNode]:
    """Return the node that makes each name."""
    makers: dict[str, OrderedNode] = {}
    for number, proto in enumerate(graph.node):
        step = OrderedNode(number, proto)
        for name in filter(None, proto.output):
            if name in makers or name in known:
                raise InputError(
                    f"{source.display_name}: {step.display_name}: expected a new name for its "
                    "result, "
                    f"found {printable(name)} for the second time"
                )
            makers[name] = step
    return makers


def _reject_unknown(source: OnnxFile, steps: Sequence[OrderedNode]) -> None:
    """Refuse nodes of other domains and operators; says the first of the file, and how many."""
    unknown: list[tuple[int, str]] = []
    for step in steps:
        domain, operator = step.proto.domain, step.proto.op_type
        if domain not in ("", "ai.onnx"):
            said = (
                "expected an operator of ONNX itself, found one of the domain "
                f"{printable(domain)}: export the model without custom operators"
            )
        elif operator == "If" or operator in import_rows() or is_foldable(operator):
            continue
        else:
            said = unsupported_message(operator)
        unknown.append((step.number, f"{step.display_name}: {said}"))
    if unknown:
        more = f" ({len(unknown) - 1} more nodes are unknown)" if unknown[1:] else ""
        raise InputError(f"{source.display_name}: {min(unknown)[1]}{more}")


def _reject_malformed(source: OnnxFile, steps: Sequence[OrderedNode]) -> None:
    """Refuse nodes that are not written as ONNX says that their operator is."""
    checker = onnx_module("checker")
    context = checker.C.CheckerContext()
    context.ir_version = onnx_module().IR_VERSION
    context.opset_imports = {"": source.opset}
    for step in steps:
        if step.proto.op_type == "If":
            continue  # the checker asks for the names around it; its branches are looked at later
        try:
            checker.check_node(step.proto, context)
        except checker.ValidationError as error:
            first = printable(str(error).strip().partition("\n")[0])
            raise InputError(f"{source.display_name}: {step.display_name}: {first}") from None
