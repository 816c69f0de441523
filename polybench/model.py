"""Catalogue entries of kernels: immutable values, no table and no search."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_KERNEL_FOLDER = Path(__file__).parent / "kernels"


class Dataset(Enum):
    """The five data-set sizes, smallest first; the value is the position in a row of sizes."""

    MINI = 0
    SMALL = 1
    MEDIUM = 2
    LARGE = 3
    EXTRALARGE = 4

    @classmethod
    def parse(cls, text: str) -> Dataset:
        """Return the data set of that name; case, spaces, ``-``, ``_`` and ``_DATASET`` are free.

        >>> Dataset.parse("Extra-Large"), Dataset.parse("MEDIUM_DATASET")
        (<Dataset.EXTRALARGE: 4>, <Dataset.MEDIUM: 2>)

        Raises:
            ValueError: if there is no such data set; the message lists the names.
        """
        squeezed = "".join(character for character in text.upper() if character.isalnum())
        wanted = squeezed.removesuffix("DATASET")
        for dataset in cls:
            if dataset.name == wanted:
                return dataset
        names = ", ".join(str(dataset) for dataset in cls)
        raise ValueError(f"unknown data set {text!r}: expected one of {names}")

    def __str__(self) -> str:
        """Return the name in lower case, as command lines and files write it."""
        return self.name.lower()


class DataType(Enum):
    """The type of a kernel's arrays; the value is its name in C."""

    DOUBLE = "double"
    FLOAT = "float"
    INT = "int"


class ArrayPart(Enum):
    """Which elements [i, j] of a live-out array count; the value says it in words."""

    FULL = "all elements"
    LOWER = "j <= i"
    UPPER = "j >= i"


@dataclass(frozen=True, slots=True)
class LiveOut:
    """An array whose values after the kernel are its result, or the part of it that is."""

    array: str
    part: ArrayPart = ArrayPart.FULL


@dataclass(frozen=True, slots=True)
class PolybenchKernel:
    """One kernel of the suite.

    ``sizes`` has one row a data set, smallest first, and a row one number for each of
    ``parameter_names``; ``description`` is the mathematics in a few words.
    """

    name: str
    category: str
    description: str
    dtype: DataType
    parameter_names: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    live_out: tuple[LiveOut, ...]

    @property
    def identifier(self) -> str:
        """The name as C can spell it: ``floyd_warshall``."""
        return self.name.replace("-", "_")

    @property
    def function(self) -> str:
        """The C function that is the kernel."""
        return f"kernel_{self.identifier}"

    @property
    def init_function(self) -> str:
        """The C function that fills the arrays and scalars which the kernel reads."""
        return f"init_{self.identifier}"

    @property
    def path(self) -> Path:
        """The C file that holds both functions."""
        return _KERNEL_FOLDER / f"{self.name}.c"

    def parameters(self, dataset: Dataset) -> dict[str, int]:
        """Return the sizes of a data set by the names of the functions' arguments."""
        return dict(zip(self.parameter_names, self.sizes[dataset.value], strict=True))
