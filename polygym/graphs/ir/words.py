"""The words of conditions and computed literals in rules of tensor graphs, as tables.

>>> from polygym.graphs.ir.types import Number, Tensor
>>> compute("extent", (Tensor((64, 1024)), Number(1)))
1024
>>> holds("same-shape", (Tensor((2, 3)), Tensor((2, 3), constant=True)))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygym.graphs.ir.checks import axis_of, number, numbers, refuse, tensor, whole
from polygym.graphs.ir.types import shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head

__all__ = ["CONDITION_SENTENCES", "FUNCTION_SENTENCES", "compute", "holds"]


def _extent(x: Any, axis: Any) -> Head:
    image = tensor(x)
    return image.shape[axis_of(axis, len(image.shape))]


def _word(numbers_: tuple[int, ...]) -> Head:
    """Return numbers as a literal; one alone is a number."""
    return numbers_[0] if len(numbers_) == 1 else shape_text(numbers_)


def _shape(x: Any) -> Head:
    return _word(tensor(x).shape)


def _compose(first: Any, second: Any) -> Head:
    """Return the permutation that does what one does after another: r[i] = first[second[i]]."""
    one, other = numbers(first), numbers(second)
    if len(one) != len(other):
        refuse(f"expected permutations of one length, found {one} and {other}")
    return _word(tuple(one[axis] for axis in other))


def _groups(x: Any, w: Any) -> Head:
    image, kernel = tensor(x, 4), tensor(w, 4)
    if image.shape[1] % kernel.shape[1]:
        refuse(f"expected channels in groups that fit, found {image} and {kernel}")
    return image.shape[1] // kernel.shape[1]


def _ascending(permutation: Any) -> bool:
    order = numbers(permutation)
    return order == tuple(range(len(order)))


def _per_channel(c: Any) -> bool:
    """Whether a tensor, broadcast with an image, has one value for every channel."""
    shape = tensor(c).shape
    return len(shape) in (3, 4) and shape[-2:] == (1, 1) and (len(shape) == 3 or shape[0] == 1)


def _fits(c: Any, x: Any) -> bool:
    narrow, wide = tensor(c).shape, tensor(x).shape
    beside = wide[len(wide) - len(narrow) :]
    return len(narrow) <= len(wide) and all(
        one in (1, other) for one, other in zip(narrow, beside, strict=True)
    )


_FUNCTIONS: dict[str, tuple[Callable[..., Head], str]] = {
    "extent": (_extent, "x axis: the extent of x along an axis"),
    "rank": (lambda x: len(tensor(x).shape), "x: how many axes x has"),
    "shape": (_shape, "x: the shape of x as a word"),
    "compose": (_compose, "p q: the permutation of transposing by p, then by q"),
    "groups": (_groups, "x w: in how many groups w is convolved with x"),
    "row-axis": (lambda x: len(tensor(x).shape) - 2, "x: the last axis but one of x"),
    "column-axis": (lambda x: len(tensor(x).shape) - 1, "x: the last axis of x"),
    "entry": (
        lambda p, i: numbers(p)[axis_of(i, len(numbers(p)))],
        "p i: entry i of a permutation",
    ),
    "place": (
        lambda p, axis: numbers(p).index(axis_of(axis, len(numbers(p)))),
        "p axis: where transposing by p puts an axis",
    ),
    "per-filter": (
        lambda w: f"{tensor(w, 4).shape[0]}-1-1-1",
        "w: the shape of one value for every filter of a kernel",
    ),
    "plus": (lambda a, b: number(a) + number(b), "a b: a + b"),
    "minus": (lambda a, b: number(a) - number(b), "a b: a - b"),
    "times": (lambda a, b: number(a) * number(b), "a b: a * b"),
}

_CONDITIONS: dict[str, tuple[Callable[..., bool], str]] = {
    "same-shape": (lambda x, y: tensor(x).shape == tensor(y).shape, "x y: equal shapes"),
    "equal": (lambda a, b: bool(a == b), "a b: equal literals"),
    "different": (lambda a, b: bool(a != b), "a b: different literals"),
    "rank": (lambda x, n: len(tensor(x).shape) == whole(n), "x n: x has n axes"),
    "constant": (lambda x: tensor(x).constant, "x: known from weights alone"),
    "ascending": (_ascending, "p: a permutation that changes nothing"),
    "per-channel": (_per_channel, "c: one value for every channel of an image"),
    "one-element": (lambda c: tensor(c).elements == 1, "c: one element, whatever the rank"),
    "fits": (_fits, "c x: broadcast with c, x keeps its shape"),
    "below": (lambda a, b: number(a) < number(b), "a b: a < b"),
    "multiple": (lambda a, b: whole(a) % whole(b, 1) == 0, "a b: b divides a"),
    "odd": (lambda a: whole(a) % 2 == 1, "a: an odd number"),
}

FUNCTION_SENTENCES = {name: sentence for name, (_, sentence) in _FUNCTIONS.items()}
CONDITION_SENTENCES = {name: sentence for name, (_, sentence) in _CONDITIONS.items()}


def compute(function: str, arguments: tuple[Any, ...]) -> Head:
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


def holds(condition: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a condition holds; of arguments that it says nothing of it does not."""
    if condition not in _CONDITIONS:
        raise Inadmissible(f"expected one of {', '.join(_CONDITIONS)}, found {condition}")
    try:
        return _CONDITIONS[condition][0](*arguments)
    except (Inadmissible, TypeError, ValueError, IndexError):
        return False
