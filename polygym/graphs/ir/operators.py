"""The operators of tensor graphs: a table of names, what each takes, and what that makes.

A node's children stand in the order of the table, literals and tensors as the columns say: N is a
number, S a word, T a tensor, P what a split makes. ``concat2``, ``concat3`` … take as many tensors
as they say. The first part of the table is Table 2 of the TENSAT paper, with two differences that
make a node mean the same wherever it stands: ``split`` says where it splits, ``merge`` in how many
groups its convolution is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from polygym.graphs.ir import inference as rules
from polygym.graphs.ir.types import Data, NumberData, TextData
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head

__all__ = ["ELEMENTWISE", "OPERATORS", "UNARY", "GraphOperator", "infer_node", "operator_named"]


@dataclass(frozen=True, slots=True)
class GraphOperator:
    """A name, the names and kinds of children, a sentence, and the function that infers."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    doc: str
    infer: Callable[..., Data]


def _row(name: str, takes: str, infer: Callable[..., Data], sentence: str) -> GraphOperator:
    pairs = tuple((one[:-2], one[-1]) for one in takes.split())
    return GraphOperator(name, pairs, sentence, infer)


_CONV = "stride_h:N stride_w:N padding:S activation:S x:T w:T"
_POOL = "x:T kernel_h:N kernel_w:N stride_h:N stride_w:N padding:S activation:S"

_TABLE = (
    _row("input", "identifier:S", rules.graph_input, "what a caller gives: name@shape"),
    _row("weight", "identifier:S", rules.weight, "what is known ahead: name@shape"),
    _row("noop", "x:T y:T", rules.noop, "joins results of the graph"),
    _row("ewadd", "x:T y:T", rules.equal_shapes, "sum of two tensors of one shape"),
    _row("ewmul", "x:T y:T", rules.equal_shapes, "product, element by element, of one shape"),
    _row("matmul", "activation:S x:T y:T", rules.matmul, "product of matrices, activated"),
    _row("conv", _CONV, rules.convolution, "convolution in groups, then the activation"),
    _row("relu", "x:T", rules.unary, "max(x, 0)"),
    _row("tanh", "x:T", rules.floating_only(rules.unary), "hyperbolic tangent"),
    _row("sigmoid", "x:T", rules.floating_only(rules.unary), "1 / (1 + exp(-x))"),
    _row("poolmax", _POOL, rules.pooling, "largest of every window"),
    _row(
        "poolavg",
        _POOL,
        rules.floating_only(rules.pooling),
        "mean of every window, without padding",
    ),
    _row("transpose", "x:T permutation:S", rules.transpose, "other order of the axes"),
    _row("enlarge", "w:T reference:T", rules.enlarge, "zeros around a kernel"),
    _row("split", "axis:N at:N x:T", rules.split, "the first `at` along an axis, and the rest"),
    _row("split0", "split:P", rules.first_part, "the first part"),
    _row("split1", "split:P", rules.second_part, "the second part"),
    _row("merge", "w:T count:N groups:N", rules.merge, "kernel with every `count` groups made one"),
    _row("reshape", "x:T shape:S", rules.reshape, "the same elements under another shape"),
    # What exported models need beyond the paper's table.
    _row("add", "x:T y:T", rules.broadcast, "x + y, broadcast"),
    _row("sub", "x:T y:T", rules.broadcast, "x - y, broadcast"),
    _row("mul", "x:T y:T", rules.broadcast, "x * y, broadcast"),
    _row("div", "x:T y:T", rules.floating_only(rules.broadcast), "x / y, broadcast"),
    _row("minimum", "x:T y:T", rules.broadcast, "the smaller, broadcast"),
    _row("maximum", "x:T y:T", rules.broadcast, "the larger, broadcast"),
    _row("pow", "x:T y:T", rules.floating_only(rules.broadcast), "x to the power of y, broadcast"),
    _row("gelu", "x:T", rules.floating_only(rules.unary), "x Φ(x), by the error function"),
    _row("gelu-tanh", "x:T", rules.floating_only(rules.unary), "the same, approximated by tanh"),
    _row("exp", "x:T", rules.floating_only(rules.unary), "exponential"),
    _row("log", "x:T", rules.floating_only(rules.unary), "natural logarithm"),
    _row("sqrt", "x:T", rules.floating_only(rules.unary), "square root"),
    _row("erf", "x:T", rules.floating_only(rules.unary), "error function"),
    _row("neg", "x:T", rules.unary, "-x"),
    _row("abs", "x:T", rules.unary, "absolute value"),
    _row("reciprocal", "x:T", rules.floating_only(rules.unary), "1 / x"),
    _row("clip", "low:N high:N x:T", rules.clip, "x between two bounds"),
    _row(
        "leaky-relu",
        "slope:N x:T",
        rules.floating_only(rules.unary_with_number),
        "x, below 0 times a slope",
    ),
    _row(
        "elu",
        "alpha:N x:T",
        rules.floating_only(rules.unary_with_number),
        "x, below 0 alpha (exp(x) - 1)",
    ),
    _row(
        "softmax",
        "axis:N x:T",
        rules.floating_only(rules.softmax),
        "exp(x) by its sum along an axis",
    ),
    _row(
        "layer-norm",
        "epsilon:N x:T scale:T bias:T",
        rules.floating_only(rules.layer_norm),
        "mean 0, variance 1 along the last axis; scaled, moved",
    ),
    _row("reduce-sum", "axes:S keep:N x:T", rules.reduction, "sum along axes"),
    _row(
        "reduce-mean", "axes:S keep:N x:T", rules.floating_only(rules.reduction), "mean along axes"
    ),
    _row("reduce-max", "axes:S keep:N x:T", rules.reduction, "largest along axes"),
    _row("gather", "axis:N table:T indices:T", rules.gather, "slices of a table by indices"),
    _row("slice", "axis:N start:N stop:N step:N x:T", rules.strided_slice, "a range along an axis"),
    _row("pad", "value:N pads:S x:T", rules.pad, "a value before and after every axis"),
    _row("expand", "x:T shape:S", rules.expand, "the same along axes of extent 1"),
    _row("cast", "dtype:S x:T", rules.cast, "another element type"),
    # Truth is 1 or 0 in the type of what is compared.
    _row("less", "x:T y:T", rules.broadcast, "1 where x < y, elsewhere 0, broadcast"),
    _row("equal", "x:T y:T", rules.broadcast, "1 where x = y, elsewhere 0, broadcast"),
    _row("where", "c:T x:T y:T", rules.select, "y where c is 0, elsewhere x, broadcast"),
    _row("sin", "x:T", rules.floating_only(rules.unary), "sine"),
    _row("cos", "x:T", rules.floating_only(rules.unary), "cosine"),
)

OPERATORS: dict[str, GraphOperator] = {operator.name: operator for operator in _TABLE}
"""All operators by name, the ``concat`` of every count apart."""

UNARY = frozenset(
    "relu tanh sigmoid gelu gelu-tanh exp log sqrt erf neg abs reciprocal sin cos".split()
)
"""Functions of one element."""

ELEMENTWISE = UNARY | frozenset(
    "ewadd ewmul add sub mul div minimum maximum pow clip leaky-relu elu less equal where".split()
)
"""Operators each of whose results depends on one element of each argument."""

# Not for any number: a text could say one that fills the memory with names.
_CONCAT = re.compile(r"concat([2-9]|[1-9][0-9]{1,3})")


@cache
def operator_named(name: Head) -> GraphOperator:
    """Return an operator.

    Raises:
        Inadmissible: there is none of that name.
    """
    if (operator := OPERATORS.get(str(name))) is not None:
        return operator
    if isinstance(name, str) and (match := _CONCAT.fullmatch(name)):
        parts = " ".join(f"x{place}:T" for place in range(int(match.group(1))))
        return _row(name, f"axis:N {parts}", rules.concat, "one after the other along an axis")
    raise Inadmissible(f"expected an operator, found {name!r}; there are {', '.join(OPERATORS)}")


def infer_node(head: Head, children: tuple[Any, ...]) -> Data:
    """Return what a node is.

    >>> infer("matmul", (Text("none"), infer("input", (Text("x@2-3"),)),
    ...                  infer("weight", (Text("w@3-4"),))))
    Tensor(shape=(2, 4), dtype='float32', constant=False)

    Raises:
        Inadmissible: there is no such node; says of which operator, what was expected and found.
    """
    if not children:
        return TextData(head) if isinstance(head, str) else NumberData(head)
    operator = operator_named(head)
    if len(children) != len(operator.parameters):
        names = " ".join(f"{name}:{kind}" for name, kind in operator.parameters)
        raise Inadmissible(f"{head}: expected {names}, found {len(children)} children")
    try:
        return operator.infer(*children)
    except Inadmissible as error:
        raise Inadmissible(f"{head}: {error}") from None
