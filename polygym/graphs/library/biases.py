"""Biases for networks: every product and convolution by known weights adds a vector of its own.

The paper's graphs have none; graphs that people export have. Before → after, as the ONNX importer
has them::

    (conv 1 1 same relu ?x ?w)   →  (relu (add (conv 1 1 same none ?x ?w) ?b)), ?b of 1-C-1-1
    (matmul none ?x ?w)          →  (add (matmul none ?x ?w) ?b), ?b of N
"""

from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph, signature_of
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term, postorder, term


def with_biases(graph: Graph) -> Graph:
    """Return a network with biases; products of two computed tensors have none.

    >>> from polygym.rewrite.s_expressions import term_text
    >>> product = build.matmul(build.graph_input("x", 2, 3), build.weight("w", 3, 4), "relu")
    >>> [(_, node)] = with_biases(Graph("g", (product.children[1],), (("y", product),))).outputs
    >>> term_text(node)
    '(relu (add (matmul none (input x@2-3) (weight w@3-4)) (weight w.bias@4)))'
    """
    made: dict[Term, Term] = {}
    names: set[str] = set()
    for node in postorder([output for _, output in graph.outputs]):
        copy = term(node.head, *(made[child] for child in node.children))
        factor = node.children[-1] if node.head in ("conv", "matmul") else None
        if factor is not None and _is_constant(graph, factor):
            copy = _biased(graph, node, copy, _free_name(factor, names))
        made[node] = copy
    outputs = tuple((name, made[output]) for name, output in graph.outputs)
    return Graph(f"{graph.name}:bias", graph.inputs, outputs)


def _biased(graph: Graph, node: Term, copy: Term, name: str) -> Term:
    """Return a node with its bias; its activation comes behind."""
    shape = graph.tensor(node).shape
    is_image = node.head == "conv"
    bias = build.weight(name, 1, shape[1], 1, 1) if is_image else build.weight(name, shape[-1])
    position = 3 if is_image else 0
    activation = str(copy.children[position].head)
    children = [*copy.children]
    children[position] = term("none")
    result = build.binary("add", term(copy.head, *children), bias)
    return result if activation == "none" else build.unary(activation, result)


def _is_constant(graph: Graph, node: Term) -> bool:
    data = graph.data(node)
    return isinstance(data, TensorType) and data.constant


def _free_name(factor: Term, names: set[str]) -> str:
    """Return the name of a bias after that of the weight, one for each product."""
    weight = next(node for node in postorder([factor]) if node.head == "weight")
    name = first = f"{signature_of(weight).name}.bias"
    count = 1
    while name in names:
        count += 1
        name = f"{first}{count}"
    names.add(name)
    return name
