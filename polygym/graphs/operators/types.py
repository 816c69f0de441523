"""Types of nodes: a tensor of a shape, a pair of tensors, a bundle, a number, a text.

These are the data that inference computes from the leaves on, and that an e-graph keeps for every
class. ``constant`` says that a tensor is known from weights alone: it is computed once, ahead.
"""

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

DTYPES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
"""The element types, and how many bytes each takes."""


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
        return self.elements * DTYPES[self.dtype]

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
