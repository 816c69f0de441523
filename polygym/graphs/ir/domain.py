"""Tensor graphs as a language that :mod:`polygym.rewrite` knows how to rewrite.

Inference is asked for the same node again and again, by every rule that would make it, so answers
are kept.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from polygym.graphs.operators.registry import clear_with_registry, infer_node
from polygym.graphs.operators.types import (
    Data,
    TensorPair,
    TensorType,
    expect_axis,
    expect_integer,
    expect_number,
    expect_numbers,
    expect_tensor,
    reject_node,
    shape_text,
)
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, postorder


def _extent(x: Any, axis: Any) -> Head:
    image = expect_tensor(x)
    return image.shape[expect_axis(axis, len(image.shape))]


def _numbers_literal(numbers_: tuple[int, ...]) -> Head:
    """Return numbers as a literal; one alone is a number."""
    return numbers_[0] if len(numbers_) == 1 else shape_text(numbers_)


def _shape(x: Any) -> Head:
    return _numbers_literal(expect_tensor(x).shape)


def _compose(first: Any, second: Any) -> Head:
    """Return the permutation that does what one does after another: r[i] = first[second[i]]."""
    permutation, other = expect_numbers(first), expect_numbers(second)
    if len(permutation) != len(other):
        reject_node(f"expected permutations of one length, found {permutation} and {other}")
    return _numbers_literal(tuple(permutation[axis] for axis in other))


def _groups(x: Any, w: Any) -> Head:
    image, kernel = expect_tensor(x, 4), expect_tensor(w, 4)
    if image.shape[1] % kernel.shape[1]:
        reject_node(f"expected channels in groups that fit, found {image} and {kernel}")
    return image.shape[1] // kernel.shape[1]


def _ascending(permutation: Any) -> bool:
    order = expect_numbers(permutation)
    return order == tuple(range(len(order)))


def _per_channel(c: Any) -> bool:
    """Whether a tensor, broadcast with an image, has one value for every channel."""
    shape = expect_tensor(c).shape
    return len(shape) in (3, 4) and shape[-2:] == (1, 1) and (len(shape) == 3 or shape[0] == 1)


def _per_column(c: Any) -> bool:
    """Whether a tensor, broadcast with a matrix, has one value for every column."""
    shape = expect_tensor(c).shape
    return len(shape) > 0 and set(shape[:-1]) <= {1}


def _axis_beside(axis: Any, x: Any, c: Any) -> Head:
    """Return the axis of c that broadcasting puts beside an axis of x."""
    wide, narrow = len(expect_tensor(x).shape), len(expect_tensor(c).shape)
    place = expect_axis(axis, wide) - (wide - narrow)
    return place if place >= 0 else reject_node(f"expected an axis of {expect_tensor(c)}")


def _broadcasts_into(c: Any, x: Any) -> bool:
    narrow, wide = expect_tensor(c).shape, expect_tensor(x).shape
    beside = wide[len(wide) - len(narrow) :]
    return len(narrow) <= len(wide) and all(
        extent in (1, other) for extent, other in zip(narrow, beside, strict=True)
    )


_FUNCTIONS: dict[str, tuple[Callable[..., Head], str]] = {
    "extent": (_extent, "x axis: the extent of x along an axis"),
    "rank": (lambda x: len(expect_tensor(x).shape), "x: how many axes x has"),
    "shape": (_shape, "x: the shape of x as a word"),
    "compose": (_compose, "p q: the permutation of transposing by p, then by q"),
    "groups": (_groups, "x w: in how many groups w is convolved with x"),
    "row-axis": (lambda x: len(expect_tensor(x).shape) - 2, "x: the last axis but one of x"),
    "column-axis": (lambda x: len(expect_tensor(x).shape) - 1, "x: the last axis of x"),
    "entry": (
        lambda p, i: expect_numbers(p)[expect_axis(i, len(expect_numbers(p)))],
        "p i: entry i of a permutation",
    ),
    "beside": (_axis_beside, "axis x c: the axis of c that is added to an axis of x"),
    "place": (
        lambda p, axis: expect_numbers(p).index(expect_axis(axis, len(expect_numbers(p)))),
        "p axis: where transposing by p puts an axis",
    ),
    "per-filter": (
        lambda w: f"{expect_tensor(w, 4).shape[0]}-1-1-1",
        "w: the shape of one value for every filter of a kernel",
    ),
    "per-input": (
        lambda w: f"1-{expect_tensor(w, 4).shape[1]}-1-1",
        "w: the shape of one value for every input channel of a kernel",
    ),
    "row": (lambda w: f"1-{expect_tensor(w).shape[-2]}", "w: the shape of a row that w multiplies"),
    "column": (lambda w: f"{expect_tensor(w).shape[-2]}-1", "w: the shape of a column beside w"),
    "plus": (lambda a, b: expect_number(a) + expect_number(b), "a b: a + b"),
    "minus": (lambda a, b: expect_number(a) - expect_number(b), "a b: a - b"),
    "times": (lambda a, b: expect_number(a) * expect_number(b), "a b: a * b"),
}

_CONDITIONS: dict[str, tuple[Callable[..., bool], str]] = {
    "same-shape": (
        lambda x, y: expect_tensor(x).shape == expect_tensor(y).shape,
        "x y: equal shapes",
    ),
    "equal": (lambda a, b: bool(a == b), "a b: equal literals"),
    "different": (lambda a, b: bool(a != b), "a b: different literals"),
    "rank": (lambda x, n: len(expect_tensor(x).shape) == expect_integer(n), "x n: x has n axes"),
    "constant": (lambda x: expect_tensor(x).constant, "x: known from weights alone"),
    "computed": (lambda x: not expect_tensor(x).constant, "x: not known from weights alone"),
    "ascending": (_ascending, "p: a permutation that changes nothing"),
    "per-channel": (_per_channel, "c: one value for every channel of an image"),
    "per-column": (_per_column, "c: one value for every column of a matrix"),
    "one-element": (lambda c: expect_tensor(c).elements == 1, "c: one element, whatever the rank"),
    "fits": (_broadcasts_into, "c x: broadcast with c, x keeps its shape"),
    "below": (lambda a, b: expect_number(a) < expect_number(b), "a b: a < b"),
    "multiple": (lambda a, b: expect_integer(a) % expect_integer(b, 1) == 0, "a b: b divides a"),
    "odd": (lambda a: expect_integer(a) % 2 == 1, "a: an odd number"),
}

FUNCTION_DOCS = {name: sentence for name, (_, sentence) in _FUNCTIONS.items()}
CONDITION_DOCS = {name: sentence for name, (_, sentence) in _CONDITIONS.items()}


def compute_literal(function: str, arguments: tuple[Any, ...]) -> Head:
    """Return the literal of a function.

    Raises:
        Inadmissible: there is none for such arguments.
    """
    if function not in _FUNCTIONS:
        raise Inadmissible(f"expected one of {', '.join(_FUNCTIONS)}, found {function}")
    try:
        return _FUNCTIONS[function][0](*arguments)
    # Too many arguments, or numbers that are no permutation.
    except (TypeError, ValueError, IndexError) as error:
        raise Inadmissible(f"{function}: {error}") from None


def condition_holds(condition: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a condition holds; of arguments that it says nothing of it does not."""
    if condition not in _CONDITIONS:
        raise Inadmissible(f"expected one of {', '.join(_CONDITIONS)}, found {condition}")
    try:
        return _CONDITIONS[condition][0](*arguments)
    except (Inadmissible, TypeError, ValueError, IndexError):
        return False


class TensorDomain:
    """The operators of :mod:`polygym.graphs.operators`; implements the protocol of rewriting."""

    def infer(self, head: Head, children: tuple[Any, ...]) -> Data:
        """Return what a node is.

        Raises:
            Inadmissible: there is no such node.
        """
        result = _infer_cached(head, children)
        if isinstance(result, str):
            raise Inadmissible(result)
        return result

    def join(self, one: Data, other: Data) -> Data:
        """Return what equal nodes are: known from weights alone if one of them is.

        Raises:
            Inadmissible: shapes differ, so the rule that made them equal is unsound.
        """
        if one == other:
            return one
        if isinstance(one, TensorType) and isinstance(other, TensorType):
            if one.shape == other.shape and one.dtype == other.dtype:
                return one if one.constant else other
        raise Inadmissible(f"expected equal nodes to have one shape, found {one} and {other}")

    def compute(self, function: str, arguments: tuple[Any, ...]) -> Head:
        """Return the literal of a ``(=function …)``."""
        return compute_literal(function, arguments)

    def holds(self, condition: str, arguments: tuple[Any, ...]) -> bool:
        """Whether a condition holds."""
        return condition_holds(condition, arguments)

    def is_free(self, data: Data) -> bool:
        """Whether a node is known from weights alone, so that it is computed ahead."""
        if isinstance(data, TensorPair):
            return data.first.constant and data.second.constant
        return isinstance(data, TensorType) and data.constant

    def functions(self) -> dict[str, str]:
        """Return the functions and what they are."""
        return FUNCTION_DOCS

    def conditions(self) -> dict[str, str]:
        """Return the conditions and what they say."""
        return CONDITION_DOCS


TENSOR_DOMAIN = TensorDomain()
"""The one domain of tensor graphs."""


def infer_all(roots: tuple[Term, ...]) -> dict[Term, Data]:
    """Return what every node is.

    Raises:
        Inadmissible: one makes no sense.
    """
    datas: dict[Term, Data] = {}
    for term in postorder(roots):
        datas[term] = TENSOR_DOMAIN.infer(term.head, tuple(datas[child] for child in term.children))
    return datas


@lru_cache(maxsize=1 << 18, typed=True)
def _infer_cached(head: Head, children: tuple[Any, ...]) -> Data | str:
    # 1 and 1.0 are equal, and two heads: so is the cache typed. A refusal is an answer too, kept as
    # its sentence: an exception that is raised again and again grows by a traceback each time.
    try:
        return infer_node(head, children)
    except Inadmissible as error:
        return str(error)


clear_with_registry(_infer_cached.cache_clear)
