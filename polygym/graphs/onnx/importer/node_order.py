"""The nodes of an ONNX graph in an order in which they can be computed, known and well formed.

Only nodes that a result needs are looked at. What the branches of a condition take from outside
counts as taken by the condition.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np

from polygym.errors import InputError, printable
from polygym.graphs.onnx.format import OnnxFile, onnx_module
from polygym.graphs.onnx.importer.constant_folding import is_foldable
from polygym.graphs.onnx.nodes import UNFITTING, OnnxImport, OnnxNode, UnknownValueError, one_line
from polygym.graphs.onnx.operators import (
    attention,
    data_movement,
    elementwise,
    gather_scatter,
    integer_valued,
    losses,
    matrix_products,
    normalization,
    quantization,
    recurrent,
    resize,
    sampling,
    scatter,
    spectra,
    transposed_convolution,
    volumes,
)
from polygym.graphs.operators.registry import clear_with_registry
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term

_MODULES = (
    attention, data_movement, elementwise, gather_scatter, integer_valued, losses,
    matrix_products, normalization, quantization, recurrent, resize, sampling, scatter, spectra,
    transposed_convolution, volumes,
)  # fmt: skip


@cache
def import_rows() -> dict[str, OnnxImport]:
    """Return the operators that are read, by their names in ONNX."""
    rows = [row for module in _MODULES for row in module.ROWS]
    return {row.name: row for row in (*rows, *elementwise.direct_imports())}


clear_with_registry(import_rows.cache_clear)

_ALTERNATIVES = {
    "control flow: export the model by tracing, for one shape": "If Loop Scan",
    "places that are computed: leave it outside of the model": (
        "RoiAlign MaxRoiPool DeformConv MaxUnpool"
    ),
    "tensors of no fixed number: write out each": (
        "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength "
        "SequenceMap SplitToSequence ConcatFromSequence Optional OptionalGetElement "
        "OptionalHasElement"
    ),
    "text: leave it outside of the model": (
        "StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer ImageDecoder"
    ),
    "random numbers: export the model after model.eval()": (
        "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial"
    ),
    "a result whose shape depends on values: leave it outside of the model": (
        "NonZero NonMaxSuppression Unique Compress"
    ),
    "write it by others before exporting": (
        "BitCast CausalConvWithState Det LinearAttention RotaryEmbedding TensorScatter"
    ),
}
_ALTERNATIVE_OF = {name: hint for hint, names in _ALTERNATIVES.items() for name in names.split()}


def refused_operators() -> dict[str, tuple[str, ...]]:
    """Return the operators that are never read, by what to do about them."""
    refused = {hint: tuple(sorted(names.split())) for hint, names in _ALTERNATIVES.items()}
    return {
        hint: tuple(name for name in names if not is_foldable(name) and name != "If")
        for hint, names in refused.items()
    }


def unsupported_message(operator: str) -> str:
    """Return the message about an operator that is not read, and what to do about it."""
    known = "known where all that it takes is a constant, and here it is not"
    other = known if is_foldable(operator) else "write it by others before exporting"
    hint = _ALTERNATIVE_OF.get(operator, other)
    return f"the operator {printable(operator)} is not supported ({hint})"


def reject_unknown(node: OnnxNode) -> NoReturn:
    """Refuse a node that is not read, or only where all that it takes is known."""
    terms = [value for value in node.values if isinstance(value, Term)]
    message = f"{node.title}: {unsupported_message(node.operator)}"
    if not is_foldable(node.operator) and node.operator != "If":
        raise InputError(message)
    inputs = (name for term in terms for name in node.builder.inputs_of(term))
    raise UnknownValueError(message, tuple(dict.fromkeys(inputs)))


def import_node(node: OnnxNode) -> tuple[Term, ...]:
    """Return the terms of a node's results.

    Raises:
        InputError: it is not supported, or invalid.
    """
    row = import_rows().get(node.operator)
    if row is None:
        reject_unknown(node)
    unknown = set(node.attributes) - set(row.attributes.split())
    if unknown:
        node.reject(
            f"expected no attributes but {row.attributes or 'none'}, "
            f"found {', '.join(sorted(unknown))}"
        )
    try:
        with np.errstate(all="ignore"):  # weights may hold what no arithmetic likes
            made = row.translate(node)
    except Inadmissible as error:
        node.reject(str(error))
    except (MemoryError, OverflowError) as error:
        node.reject(f"expected numbers that fit into memory, found larger ones: {error}")
    except UNFITTING as error:
        node.reject(f"expected attributes and inputs that fit together: {one_line(error)}")
    return made if isinstance(made, tuple) else (made,)


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
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    taken = [
        name for number, node in enumerate(graph.node) for name in OrderedNode(number, node).needs()
    ]
    return [name for name in (*taken, *(value.name for value in graph.output)) if name not in own]


def order_nodes(
    source: OnnxFile, graph: Any, known: Container[str], outputs: Sequence[str]
) -> list[OrderedNode]:
    """Return the nodes that results need, each after those that it needs.

    Raises:
        InputError: a name has no maker, or two, a node needs itself, or is not supported.
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
