"""Registry of operators: the definitions by name, and inference of nodes.

``concat2``, ``concat3`` … take as many tensors as they say; their definitions are made on demand.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from polygym.graphs.operators import elementwise, images, movement, products, whole_numbers
from polygym.graphs.operators.definition import GraphOperator
from polygym.graphs.operators.types import (
    Data,
    NumberData,
    TextData,
    expect_floating,
    expect_tensor,
)
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head

# Observations number the operators in this order; later operators follow in that of their families.
# The first are Table 2 of the TENSAT paper, with two differences that make a node mean the same
# everywhere: ``split`` names its place, ``merge`` the number of groups of its convolution.
_ORDER = """
    input weight noop ewadd ewmul matmul conv relu tanh sigmoid poolmax poolavg transpose enlarge
    split split0 split1 merge reshape add sub mul div minimum maximum pow gelu gelu-tanh exp log
    sqrt erf neg abs reciprocal clip leaky-relu elu softmax layer-norm reduce-sum reduce-mean
    reduce-max gather slice pad expand cast less equal where sin cos
""".split()

_DEFINED = {
    operator.name: operator
    for family in (movement, elementwise, whole_numbers, products, images)
    for operator in family.OPERATORS
}

OPERATORS: dict[str, GraphOperator] = {name: _DEFINED[name] for name in _ORDER} | _DEFINED
"""All operators by name, except the ``concat`` of every count."""

# Counts are bounded: a text could name an operator with more children than memory holds.
_CONCAT = re.compile(r"concat([2-9]|[1-9][0-9]{1,3})")


@cache
def operator_named(name: Head) -> GraphOperator:
    """Return an operator.

    Raises:
        Inadmissible: the name is unknown.
    """
    if (operator := OPERATORS.get(str(name))) is not None:
        return operator
    if isinstance(name, str) and (match := _CONCAT.fullmatch(name)):
        return movement.concat(int(match.group(1)))
    known = ", ".join(OPERATORS)
    raise Inadmissible(f"expected an operator, found {name!r}; known operators: {known}")


def infer_node(head: Head, children: tuple[Any, ...]) -> Data:
    """Return the type of a node.

    >>> infer_node("matmul", (TextData("none"), infer_node("input", (TextData("x@2-3"),)),
    ...                       infer_node("weight", (TextData("w@3-4"),))))
    TensorType(shape=(2, 4), dtype='float32', constant=False)

    Raises:
        Inadmissible: the node is invalid; names the operator, what was expected and found.
    """
    if not children:
        return TextData(head) if isinstance(head, str) else NumberData(head)
    operator = operator_named(head)
    if len(children) != len(operator.parameters_of(len(children))):
        names = " ".join(f"{name}:{kind}" for name, kind in operator.parameters)
        raise Inadmissible(f"{head}: expected {names}, found {len(children)} children")
    try:
        data = operator.infer(*children)
        return expect_floating(expect_tensor(data)) if operator.needs_floating else data
    except Inadmissible as error:
        raise Inadmissible(f"{head}: {error}") from None


_CACHES: list[Callable[[], None]] = [operator_named.cache_clear]


def clear_with_registry(clear: Callable[[], None]) -> None:
    """Have a cache of answers about operators cleared when an operator is registered."""
    _CACHES.append(clear)


@contextmanager
def registered(operator: GraphOperator) -> Iterator[None]:
    """Add an operator for a while: for tests, and for experiments."""
    if operator.name in OPERATORS:
        raise ValueError(f"expected a new name for an operator, found {operator.name}")
    OPERATORS[operator.name] = operator
    try:
        for clear in _CACHES:
            clear()
        yield
    finally:
        del OPERATORS[operator.name]
        for clear in _CACHES:
            clear()
