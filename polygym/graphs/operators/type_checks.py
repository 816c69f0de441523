"""Small checks that inference is written with: each returns what it looked for, or refuses."""

from typing import NoReturn

from polygym.graphs.operators.types import (
    DTYPES,
    Data,
    NumberData,
    TensorPair,
    TensorType,
    TextData,
    parse_numbers,
)
from polygym.rewrite.domain import Inadmissible

ACTIVATIONS = ("none", "relu", "tanh", "sigmoid", "gelu")


def reject_node(message: str) -> NoReturn:
    """Say that there is no such node."""
    raise Inadmissible(message)


def expect_tensor(data: Data, rank: int | None = None) -> TensorType:
    """Return a tensor, of a certain rank if one is said."""
    if not isinstance(data, TensorType):
        reject_node(f"expected a tensor, found {data}")
    if rank is not None and len(data.shape) != rank:
        reject_node(f"expected a tensor of rank {rank}, found the shape {data}")
    return data


def expect_pair(data: Data) -> TensorPair:
    """Return what a split makes."""
    return data if isinstance(data, TensorPair) else reject_node(f"expected a split, found {data}")


def expect_number(data: Data) -> int | float:
    """Return a number."""
    return (
        data.value
        if isinstance(data, NumberData)
        else reject_node(f"expected a number, found {data}")
    )


def expect_integer(data: Data, minimum: int = 0) -> int:
    """Return an integer that is large enough."""
    result = expect_number(data)
    if not isinstance(result, int) or result < minimum:
        reject_node(f"expected an integer from {minimum} on, found {result}")
    return result


def expect_text(data: Data, choices: tuple[str, ...] = ()) -> str:
    """Return a word, one of several if these are said."""
    result = (
        data.value if isinstance(data, TextData) else reject_node(f"expected a word, found {data}")
    )
    if choices and result not in choices:
        reject_node(f"expected one of {', '.join(choices)}, found {result}")
    return result


def expect_numbers(data: Data, count: int | None = None) -> tuple[int, ...]:
    """Return the numbers of a word such as ``64-1024``."""
    # A single number reads as a number: the shape (5,) is written 5.
    if isinstance(data, NumberData) and isinstance(data.value, int) and data.value >= 0:
        result: tuple[int, ...] = (data.value,)
    else:
        text = expect_text(data)
        try:
            result = parse_numbers(text)
        except ValueError:
            reject_node(f"expected numbers with '-' between them, found {text!r}")
    if count is not None and len(result) != count:
        reject_node(f"expected {count} numbers, found {len(result)}")
    return result


def expect_axis(data: Data, rank: int) -> int:
    """Return an axis, counted from 0."""
    result = expect_integer(data)
    return (
        result if result < rank else reject_node(f"expected an axis below {rank}, found {result}")
    )


def pads_of(
    padding: Data, size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return how many zeros are put above, to the left, below and to the right of an image.

    ``same`` gives ⌈size / stride⌉ results and puts the odd zero below and to the right; ``valid``
    puts none; ``1-1-1-1`` says them.

    >>> pads_of(TextData("same"), (56, 56), (3, 3), (2, 2))
    (0, 0, 1, 1)
    """
    text = padding.value if isinstance(padding, TextData) else ""
    if text == "valid":
        return 0, 0, 0, 0
    if text == "same":
        alls = [
            max((-(-extent // step) - 1) * step + window - extent, 0)
            for extent, window, step in zip(size, kernel, stride, strict=True)
        ]
        top, left = (every // 2 for every in alls)
        return top, left, alls[0] - top, alls[1] - left
    top, left, bottom, right = expect_numbers(padding, 4)
    return top, left, bottom, right


def all_constant(*parts: TensorType) -> bool:
    """Whether all are known from weights alone."""
    return all(part.constant for part in parts)


def expect_floating(one: TensorType) -> TensorType:
    """Return a tensor of real numbers: what is computed of it is no integer."""
    if one.dtype.startswith("int"):
        reject_node(f"expected a tensor of real numbers, found {one}")
    return one


def check_activation(activation: Data, one: TensorType) -> None:
    """Check an activation; of integers there are those alone whose values are integers."""
    if expect_text(activation, ACTIVATIONS) not in ("none", "relu"):
        expect_floating(one)


def expect_dtype(name: str) -> str:
    """Return the name of an element type."""
    return (
        name
        if name in DTYPES
        else reject_node(f"expected one of {', '.join(DTYPES)}, found {name}")
    )
