"""Observations: a graph and its substitutions in flat arrays; columns, types and bounds.

Tables have a fixed number of rows, of which the first are used (``exists`` = 1) and the others are
0; they are flattened in row-major order. Sizes and costs are logarithms, log2(1 + x), or shares of
the start's cost, so that all of one column are of one magnitude whatever the graph.

Example, one product of a 1x16 and a 16x16 matrix: nodes input, weight, matmul; edges 0 → 2 in
position 0 and 1 → 2 in position 1.
"""

from collections.abc import Mapping, Sequence
from math import log2
from types import MappingProxyType

import numpy as np

from polygym.graphs.envs.rule_groups import RuleGroup
from polygym.graphs.envs.task import operator_name
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import ACTIVATIONS, TensorPair, TensorType
from polygym.mdp.observation.arrays import Array, ArraySpec
from polygym.rewrite.term import Head, Term

OPERATOR_NAMES = (*OPERATORS, "concat")
"""The operators, which are numbered from 1 in this order; ``concat`` of any count is one."""

_NUMBERS = {name: number for number, name in enumerate(OPERATOR_NAMES, start=1)}
_ACTIVATIONS = {name: number for number, name in enumerate(ACTIVATIONS)}

_AXES, _LITERALS = 4, 3

NODE_COLUMNS = (
    "exists",
    "constant",
    "result",
    "cost",
    "users",
    "elements",
    "rank",
    *(f"extent_{axis}" for axis in range(1, _AXES + 1)),
    *(f"literal_{place}" for place in range(1, _LITERALS + 1)),
)
OPERATOR_COLUMNS = ("operator", "activation")
EDGE_COLUMNS = ("exists", "source", "target", "position")
CANDIDATE_COLUMNS = ("exists", "gain", "more_nodes", *(group.name.lower() for group in RuleGroup))
SUBSTITUTION_COLUMNS = ("rule", "place_1", "place_2")

MAX_VALUE = 64.0
_MAX_ROWS = 1 << 15


def operator_index(head: Head) -> int:
    """Return the number of an operator.

    >>> operator_index("input"), operator_index("concat3") == len(OPERATOR_NAMES)
    (1, True)
    """
    return _NUMBERS[operator_name(head)]


def signed_log(x: float) -> float:
    """Return the signed logarithm of a number: 0 and ±1 are themselves, 3 is 2.

    >>> signed_log(3), signed_log(-1), signed_log(0)
    (2.0, -1.0, 0.0)
    """
    return log2(1.0 + x) if x >= 0 else -log2(1.0 - x)


def graph_table_specs(nodes: int, edges: int, candidates: int) -> Mapping[str, ArraySpec]:
    """Return the arrays of a graph and its substitutions, of so many rows each."""

    def numbers(*shape: int) -> ArraySpec:
        return ArraySpec(shape, np.float32, -MAX_VALUE, MAX_VALUE)

    def places(*shape: int) -> ArraySpec:
        return ArraySpec(shape, np.int16, -1, _MAX_ROWS - 1)

    return MappingProxyType(
        {
            "nodes": numbers(nodes, len(NODE_COLUMNS)),
            "kinds": ArraySpec((nodes, len(OPERATOR_COLUMNS)), np.int8, 0, 127),
            "edges": places(edges, len(EDGE_COLUMNS)),
            "candidates": numbers(candidates, len(CANDIDATE_COLUMNS)),
            "substitutions": places(candidates, len(SUBSTITUTION_COLUMNS)),
        }
    )


def node_table(graph: Graph, nodes: Sequence[Term], shares: Sequence[float], rows: int) -> Array:
    """Return the table of nodes; ``shares`` are their costs by the start's."""
    users = _users(nodes)
    results = {output for _, output in graph.outputs}
    array = np.zeros((rows, len(NODE_COLUMNS)), np.float32)
    for row, (term, share) in enumerate(zip(nodes[:rows], shares, strict=False)):
        data = graph.data(term)
        tensor = data.first if isinstance(data, TensorPair) else data
        shape = tensor.shape if isinstance(tensor, TensorType) else ()
        elements = tensor.elements if isinstance(tensor, TensorType) else 0
        array[row] = (
            1.0,
            bool(isinstance(tensor, TensorType) and tensor.constant),
            term in results,
            share,
            signed_log(users[term]),
            signed_log(elements),
            len(shape),
            *_padded([signed_log(extent) for extent in shape], _AXES),
            *_padded(_literals(term), _LITERALS),
        )
    return np.clip(array, -MAX_VALUE, MAX_VALUE).reshape(-1)


def operator_table(nodes: Sequence[Term], rows: int) -> Array:
    """Return the table of operators and activations, which are numbers that name something."""
    array = np.zeros((rows, len(OPERATOR_COLUMNS)), np.int8)
    for row, term in enumerate(nodes[:rows]):
        activation = next(
            (_ACTIVATIONS[str(child.head)] for child in term.children if _is_activation(child)), 0
        )
        array[row] = operator_index(term.head), activation
    return array.reshape(-1)


def edge_table(nodes: Sequence[Term], rows: int, most_nodes: int) -> Array:
    """Return the table of edges from what is computed to what it is computed for."""
    numbers = {node: row for row, node in enumerate(nodes[:most_nodes])}
    array = np.zeros((rows, len(EDGE_COLUMNS)), np.int16)
    row = 0
    for term in nodes[:most_nodes]:
        parts = [child for child in term.children if child.children]
        for position, child in enumerate(parts):
            if row < rows:
                array[row] = 1, numbers[child], numbers[term], position
                row += 1
    return array.reshape(-1)


def _users(nodes: Sequence[Term]) -> dict[Term, int]:
    users = dict.fromkeys(nodes, 0)
    for term in nodes:
        for child in set(term.children):
            if child.children:
                users[child] += 1
    return users


def _is_activation(node: Term) -> bool:
    return not node.children and node.head in _ACTIVATIONS


def _literals(node: Term) -> list[float]:
    """Return the numbers among a node's literals: strides, axes, places of splits."""
    return [
        signed_log(child.head)
        for child in node.children
        if not child.children and isinstance(child.head, int | float)
    ]


def _padded(values: list[float], count: int) -> list[float]:
    return [*values[:count], *[0.0] * (count - len(values))]
