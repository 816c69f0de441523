"""Evaluation of graphs in NumPy: the oracle that faster code is compared with.

Elements keep their type: linear operators, relu, pools of the largest and operators that move
elements are exact on integers, of any width or held in float64, and on objects such as fractions.
Each node is computed once.

    >>> from polygym.graphs.ir.build import graph_input, matmul, weight
    >>> import numpy as np
    >>> product = matmul(graph_input("x", 1, 2), weight("w", 2, 1), "relu")
    >>> evaluate([product], {"x": np.array([[2, 3]]), "w": np.array([[5], [-1]])})
    [array([[7]])]
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.operators.definition import Array, Value
from polygym.graphs.operators.movement import parts_of
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.shape_functions import named_tensor
from polygym.rewrite.term import Head, Term, postorder


def evaluate(roots: Sequence[Term], values: Mapping[str, Array]) -> list[Array]:
    """Return the arrays of terms, given those of inputs and weights by name.

    A root that is several, ``noop`` or ``split``, gives one after the other.

    Raises:
        InputError: an array is missing, or has another shape than the graph says.
    """
    values_of: dict[Term, Value] = {}
    for term in postorder(roots):
        if not term.children:
            values_of[term] = term.head
        elif term.head in ("input", "weight"):
            values_of[term] = _input_array(str(term.children[0].head), values)
        else:
            arguments = tuple(values_of[part] for part in term.children)
            values_of[term] = evaluate_node(term.head, arguments)
    results: list[Array] = []
    for root in roots:
        results.extend(parts_of(values_of[root]))
    return results


def evaluate_node(head: Head, arguments: tuple[Any, ...]) -> Value:
    """Return the value of a node, from literals and arrays in the order of its children."""
    return operator_named(head).reference(*arguments)


def _input_array(identifier: str, values: Mapping[str, Array]) -> Array:
    name, expected = identifier.rpartition("@")[0], named_tensor(identifier, False).shape
    if name not in values:
        raise InputError(f"expected an array for {name}, found none")
    array = np.asarray(values[name])
    if array.shape != expected:
        raise InputError(f"expected shape {expected} for {name}, found {array.shape}")
    return array
