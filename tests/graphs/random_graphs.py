"""Random graphs of all operators, from a seed: nodes are tried until they make sense."""

from __future__ import annotations

from random import Random

from polygym.graphs.ir.build import graph_input, make_node, weight
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.registry import OPERATORS, operator_named
from polygym.graphs.operators.types import Data, TensorPair, TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term

_SHAPES = ((4, 4), (4, 4), (2, 4, 4), (1, 4, 6, 6), (1, 4, 6, 6), (4, 4, 3, 3), (4, 2, 1, 1), (4,))
# Division by zero of integers is an error in onnxruntime, and 0 here.
_LEFT_OUT = ("input", "weight", "noop", "quotient", "remainder")
_NAMES = [name for name in OPERATORS if name not in _LEFT_OUT]
_LITERALS: dict[str, tuple[Head, ...]] = {
    "stride_h": (1, 2),
    "stride_w": (1, 2),
    "kernel_h": (1, 2, 3),
    "kernel_w": (1, 2, 3),
    "padding": ("same", "valid", "1-1-1-1", "0-1-1-0"),
    "activation": ("none", "relu", "tanh", "sigmoid"),
    "permutation": ("1-0", "1-0-2", "0-2-3-1"),
    "axis": (0, 1, 2, 3),
    "at": (1, 2),
    "count": (1, 2),
    "groups": (1, 2),
    "shape": ("4-4", "2-8", "8-2", 16, "2-4-4", "1-4-6-6", "3-4"),
    "low": (-1, -0.5),
    "high": (0.5, 6),
    "slope": (0.1,),
    "alpha": (1.0,),
    "epsilon": (1e-5,),
    "axes": (0, 1, "0-1", "2-3"),
    "keep": (0, 1),
    "start": (0, 1),
    "stop": (2, 3),
    "step": (1, 2),
    "value": (0, 0.5),
    "pads": ("1-0-0-1", "0-0-1-1-0-0-1-1"),
    "dtype": ("float32", "float64"),
}

_TRIES = 30


def random_graph(seed: int, nodes: int, names: tuple[str, ...] = ()) -> Graph:
    """Return a graph of inputs, weights and about so many nodes; with names for its inputs."""
    random = Random(seed)
    given = list(names) or ["x", "y"]
    terms: list[Term] = [
        graph_input(name, *random.choice(_SHAPES), dtype=random.choice(["float32"] * 4 + ["int64"]))
        for name in given
    ]
    terms += [weight(f"weight {place}", *shape) for place, shape in enumerate(_SHAPES)]
    inputs = tuple(terms[: len(given)])
    data: dict[Term, Data] = {}
    for term in terms:
        data[term] = TENSOR_DOMAIN.infer(
            term.head, (TENSOR_DOMAIN.infer(term.children[0].head, ()),)
        )
    taken: set[Term] = set()
    for _ in range(nodes):
        name = random.choice([*_NAMES, "concat2", "concat3"])
        for _ in range(_TRIES):
            made = _tried(random, name, data)
            try:
                data[made] = TENSOR_DOMAIN.infer(
                    made.head, tuple(_data(data, c) for c in made.children)
                )
            except Inadmissible:
                continue
            taken.update(made.children)
            break
    results = [
        node for node, value in data.items() if isinstance(value, TensorType) and node not in taken
    ]
    outputs = tuple((f"y{place}", result) for place, result in enumerate(results[-8:]))
    return Graph(f"random {seed}", inputs, outputs)


def _tried(random: Random, name: str, data: dict[Term, Data]) -> Term:
    """Return a node that may make sense."""
    tensors = [term for term, value in data.items() if isinstance(value, TensorType)]
    pairs = [node for node, value in data.items() if isinstance(value, TensorPair)]
    children: list[Term | Head] = []
    operator = operator_named(name)
    count = len(operator.parameters) + random.choice((0, 1))
    for part, kind in operator.parameters_of(count):
        if kind in "NS":
            children.append(random.choice(_LITERALS[part]))
        else:
            children.append(random.choice((pairs if kind == "P" else tensors) or tensors))
    return make_node(name, *children)


def _data(data: dict[Term, Data], node: Term) -> Data:
    return data[node] if node in data else TENSOR_DOMAIN.infer(node.head, ())
