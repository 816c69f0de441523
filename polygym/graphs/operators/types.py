"""Types of nodes: a tensor of a shape, a pair of tensors, a bundle, a number, a text.

These are the data that inference computes from the leaves on, and that an e-graph keeps for every
class. ``constant`` says that a tensor is known from weights alone: it is computed once, ahead.
"""

from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any, NoReturn, TypeAlias

import numpy as np

from polygym.rewrite.domain import Inadmissible

DTYPES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
"""The element types that operators compute with, and how many bytes each takes."""

HALF_TYPES = ("float16", "bfloat16")
"""Types of half precision, to which numbers are rounded."""

ELEMENT_BYTES = DTYPES | {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "bfloat16": 2,
}  # fmt: skip
"""All element types: the others are those of inputs and results, which ``cast`` converts."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """An array: its shape, what its elements are, whether it is known from weights alone."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers."""
        return self.dtype.startswith("int")

    @property
    def elements(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return self.elements * ELEMENT_BYTES[self.dtype]

    def __str__(self) -> str:
        """Return the shape, and the type where it is not the usual one."""
        return shape_text(self.shape) + ("" if self.dtype == "float32" else f":{self.dtype}")


@dataclass(frozen=True, slots=True)
class TensorPair:
    """What a split makes: two tensors, of which ``split0`` and ``split1`` take one each."""

    first: TensorType
    second: TensorType

    def __str__(self) -> str:
        """Return both shapes."""
        return f"{self.first} and {self.second}"


@dataclass(frozen=True, slots=True)
class TensorBundle:
    """The results of a graph, one by one; nothing but ``noop`` makes it."""

    parts: tuple[TensorType, ...]

    def __str__(self) -> str:
        """Return all shapes."""
        return ", ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class NumberData:
    """A literal number: a stride, an axis, an epsilon."""

    value: int | float

    def __eq__(self, other: object) -> bool:
        """Compare, and tell 1 from 1.0, which are two literals: an axis is an integer."""
        if not isinstance(other, NumberData):
            return NotImplemented
        return self.value == other.value and self.value.__class__ is other.value.__class__

    def __hash__(self) -> int:
        """Hash the number."""
        return hash(self.value)

    def __str__(self) -> str:
        """Return the number."""
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class TextData:
    """A literal word: an activation, a padding, a permutation, a name with a shape."""

    value: str

    def __str__(self) -> str:
        """Return the word, in quotes."""
        return repr(self.value)


Data: TypeAlias = TensorType | TensorPair | TensorBundle | NumberData | TextData


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape, a permutation or a list of pads as one word.

    >>> shape_text((64, 1024)), shape_text(())
    ('64-1024', 'scalar')
    """
    return "-".join(map(str, shape)) or "scalar"


def parse_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of such a word.

    >>> parse_numbers("64-1024"), parse_numbers("scalar")
    ((64, 1024), ())

    Raises:
        ValueError: it is none.
    """
    if text == "scalar":
        return ()
    parts = text.split("-")
    # int() would read "1_0" and " 10" too.
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(text)
    return tuple(map(int, parts))


ACTIVATIONS = ("none", "relu", "tanh", "sigmoid", "gelu")


def reject_node(message: str) -> NoReturn:
    """Say that there is no such node."""
    raise Inadmissible(message)


def expect_any_tensor(data: Data) -> TensorType:
    """Return a tensor, of any element type."""
    return data if isinstance(data, TensorType) else reject_node(f"expected a tensor, found {data}")


def expect_tensor(data: Data, rank: int | None = None) -> TensorType:
    """Return a tensor of a type that is computed with, of a certain rank if one is said."""
    data = expect_any_tensor(data)
    if data.dtype not in DTYPES:
        reject_node(f"expected elements of {', '.join(DTYPES)}, found {data}: cast it before")
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


def expect_floating(tensor: TensorType) -> TensorType:
    """Return a tensor of real numbers: what is computed of it is no integer."""
    if tensor.dtype.startswith("int"):
        reject_node(f"expected a tensor of real numbers, found {tensor}")
    return tensor


def check_activation(activation: Data, tensor: TensorType) -> None:
    """Check an activation; of integers there are those alone whose values are integers."""
    if expect_text(activation, ACTIVATIONS) not in ("none", "relu"):
        expect_floating(tensor)


def expect_dtype(name: str) -> str:
    """Return the name of an element type."""
    return (
        name
        if name in ELEMENT_BYTES
        else reject_node(f"expected one of {', '.join(ELEMENT_BYTES)}, found {name}")
    )


def numpy_type(name: str) -> np.dtype[Any]:
    """Return the type in NumPy; that of ``bfloat16`` is of the package ``ml_dtypes``."""
    if name == "bfloat16":
        import_module("ml_dtypes")  # makes its name known to NumPy
    return np.dtype(name)
