"""Networks over sequences: BERT and NasRNN."""

from polygym.graphs.ir.build import (
    binary,
    graph_input,
    matmul,
    relu,
    reshape,
    sigmoid,
    tanh,
    transpose,
    weight,
)
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term

_HEADS_FIRST = (1, 0, 2)


def bert(layers: int, heads: int, length: int) -> Graph:
    """BERT as the paper measures it: eight layers of attention whose products share one input.

    A layer multiplies its input by four weights. Three products are taken apart into heads and give
    the attention, which is a result of the graph; the fourth is the input of the next layer. So the
    four can be one product, wherever the rules see it, and nothing of the attention stands between.
    There are no softmax and no scaling, and the keys are laid out as the queries are: the graph
    fits only because a head is as wide as the text is long.

    Return the graph: the attention of every layer and, last, what the next one would take.

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


def nasrnn(steps: int, width: int) -> Graph:
    """NasRNN: a recurrent cell that was found by search, unrolled over a few steps.

    A step combines the state h and an input x eight times, t = x·w + h·v with weights of their own,
    and folds the eight by sums, products and three activations into the next state. The first state
    is a weight, so the first step's products with it are known ahead.

    Return the graph: an input for every step, the state after the last one.
    """
    inputs = tuple(graph_input(f"x{step}", 1, width) for step in range(steps))
    state = weight("state", 1, width)
    for step, x in enumerate(inputs):
        state = _nasrnn_step(x, state, f"step{step}", width)
    return Graph("nasrnn", inputs, (("state", state),))


def _nasrnn_step(x: Term, state: Term, name: str, width: int) -> Term:
    """Return the next state."""
    t = [
        binary(
            "ewadd",
            matmul(x, weight(f"{name}.x{place}", width, width)),
            matmul(state, weight(f"{name}.h{place}", width, width)),
        )
        for place in range(8)
    ]
    first = binary("ewadd", relu(t[0]), sigmoid(t[3]))
    second = binary("ewadd", sigmoid(t[1]), tanh(t[2]))
    third = binary("ewmul", sigmoid(t[4]), tanh(t[5]))
    fourth = binary("ewmul", sigmoid(t[6]), relu(t[7]))
    left = binary("ewadd", sigmoid(second), tanh(third))
    right = binary("ewmul", tanh(first), tanh(fourth))
    return tanh(binary("ewmul", tanh(left), tanh(right)))
