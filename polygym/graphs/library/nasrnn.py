"""NasRNN: a recurrent cell that was found by search, unrolled over a few steps.

A step combines the state h and an input x eight times, t = x·w + h·v with weights of their own, and
folds the eight by sums, products and three activations into the next state. The first state is a
weight, so the first step's products with it are known ahead.
"""

from polygym.graphs.ir.build import binary, graph_input, matmul, relu, sigmoid, tanh, weight
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term

SIZES = {
    "small": {"steps": 2, "width": 16},
    "paper": {"steps": 5, "width": 512},
}


def graph(steps: int, width: int) -> Graph:
    """Return the graph: an input for every step, the state after the last one."""
    inputs = tuple(graph_input(f"x{step}", 1, width) for step in range(steps))
    state = weight("state", 1, width)
    for step, x in enumerate(inputs):
        state = _step(x, state, f"step{step}", width)
    return Graph("nasrnn", inputs, (("state", state),))


def _step(x: Term, state: Term, name: str, width: int) -> Term:
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
