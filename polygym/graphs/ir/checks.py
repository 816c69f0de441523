"""Small checks that inference is written with: each returns what it looked for, or refuses."""

from __future__ import annotations

from typing import NoReturn

from polygym.graphs.ir.types import DTYPES, Data, Number, Pair, Tensor, Text, numbers_in
from polygym.rewrite.domain import Inadmissible

__all__ = [
    "ACTIVATIONS",
    "activated",
    "axis_of",
    "constant",
    "number",
    "numbers",
    "pads_of",
    "pair",
    "real",
    "refuse",
    "tensor",
    "whole",
    "word",
]

ACTIVATIONS = ("none", "relu", "tanh", "sigmoid", "gelu")


def refuse(message: str) -> NoReturn:
    """Say that there is no such node."""
    raise Inadmissible(message)


def tensor(data: Data, rank: int | None = None) -> Tensor:
    """Return a tensor, of a certain rank if one is said."""
    if not isinstance(data, Tensor):
        refuse(f"expected a tensor, found {data}")
    if rank is not None and len(data.shape) != rank:
        refuse(f"expected a tensor of rank {rank}, found the shape {data}")
    return data


def pair(data: Data) -> Pair:
    """Return what a split makes."""
    return data if isinstance(data, Pair) else refuse(f"expected a split, found {data}")


def number(data: Data) -> int | float:
    """Return a number."""
    return data.value if isinstance(data, Number) else refuse(f"expected a number, found {data}")


def whole(data: Data, least: int = 0) -> int:
    """Return an integer that is large enough."""
    found = number(data)
    if not isinstance(found, int) or found < least:
        refuse(f"expected an integer from {least} on, found {found}")
    return found


def word(data: Data, among: tuple[str, ...] = ()) -> str:
    """Return a word, one of several if these are said."""
    found = data.value if isinstance(data, Text) else refuse(f"expected a word, found {data}")
    if among and found not in among:
        refuse(f"expected one of {', '.join(among)}, found {found}")
    return found


def numbers(data: Data, count: int | None = None) -> tuple[int, ...]:
    """Return the numbers of a word such as ``64-1024``."""
    # A single number reads as a number: the shape (5,) is written 5.
    if isinstance(data, Number) and isinstance(data.value, int) and data.value >= 0:
        found: tuple[int, ...] = (data.value,)
    else:
        text = word(data)
        try:
            found = numbers_in(text)
        except ValueError:
            refuse(f"expected numbers with '-' between them, found {text!r}")
    if count is not None and len(found) != count:
        refuse(f"expected {count} numbers, found {len(found)}")
    return found


def axis_of(data: Data, rank: int) -> int:
    """Return an axis, counted from 0."""
    found = whole(data)
    return found if found < rank else refuse(f"expected an axis below {rank}, found {found}")


def pads_of(
    padding: Data, size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return how many zeros are put above, to the left, below and to the right of an image.

    ``same`` gives ⌈size / stride⌉ results and puts the odd zero below and to the right; ``valid``
    puts none; ``1-1-1-1`` says them.

    >>> pads_of(Text("same"), (56, 56), (3, 3), (2, 2))
    (0, 0, 1, 1)
    """
    text = padding.value if isinstance(padding, Text) else ""
    if text == "valid":
        return 0, 0, 0, 0
    if text == "same":
        alls = [
            max((-(-extent // step) - 1) * step + window - extent, 0)
            for extent, window, step in zip(size, kernel, stride, strict=True)
        ]
        top, left = (every // 2 for every in alls)
        return top, left, alls[0] - top, alls[1] - left
    top, left, bottom, right = numbers(padding, 4)
    return top, left, bottom, right


def constant(*parts: Tensor) -> bool:
    """Whether all are known from weights alone."""
    return all(part.constant for part in parts)


def real(one: Tensor) -> Tensor:
    """Return a tensor of real numbers: what is computed of it is no integer."""
    if one.dtype.startswith("int"):
        refuse(f"expected a tensor of real numbers, found {one}")
    return one


def activated(activation: Data, one: Tensor) -> None:
    """Check an activation; of integers there are those alone whose values are integers."""
    if word(activation, ACTIVATIONS) not in ("none", "relu"):
        real(one)


def expect_dtype(name: str) -> str:
    """Return the name of an element type."""
    return name if name in DTYPES else refuse(f"expected one of {', '.join(DTYPES)}, found {name}")
