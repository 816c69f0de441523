"""BERT as the paper measures it: eight layers of attention whose products share one input.

A layer multiplies its input by four weights. Three products are taken apart into heads and give the
attention, which is a result of the graph; the fourth is the input of the next layer. So the four
can be one product, wherever the rules see it, and nothing of the attention stands between. There
are no softmax and no scaling, and the keys are laid out as the queries are: the graph fits only
because a head is as wide as the text is long.
"""

from polygym.graphs.ir.build import graph_input, matmul, relu, reshape, transpose, weight
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term

_HEADS_FIRST = (1, 0, 2)


SIZES = {
    "small": {"layers": 2, "heads": 4, "length": 8},
    "paper": {"layers": 8, "heads": 16, "length": 64},
}


def graph(layers: int, heads: int, length: int) -> Graph:
    """Return the graph: the attention of every layer and, last, what the next one would take.

    A layer is ``heads * length`` wide.
    """
    start = graph_input("x", length, heads * length)
    hidden = relu(start)
    results: list[tuple[str, Term]] = []
    for layer in range(layers):
        attention, hidden = _attention_layer(hidden, f"layer{layer}", heads, length)
        results.append((f"attention{layer}", attention))
    return Graph("bert", (start,), (*results, ("hidden", hidden)))


def _attention_layer(x: Term, name: str, heads: int, length: int) -> tuple[Term, Term]:
    """Return the attention of a layer and its output product."""
    width = heads * length
    query, key, value, output = (
        matmul(x, weight(f"{name}.{part}", width, width))
        for part in ("query", "key", "value", "output")
    )
    by_heads = (length, heads, length)
    query, key, value = (
        transpose(reshape(part, by_heads), _HEADS_FIRST) for part in (query, key, value)
    )
    mixed = matmul(matmul(query, key), value)
    return reshape(transpose(mixed, _HEADS_FIRST), (length, width)), output
