"""The arrays of an observation: their columns, types and bounds, and the encoding of numbers.

A column is a row of a table of :class:`Column`: its name, its meaning, its bounds and the function
that computes it. The names, the values, the bounds and the documentation of the environments derive
from these tables (:mod:`polygym.mdp.observation.episode_arrays` and its neighbours), so a new
feature is one row: ``tests/mdp/observation/test_columns.py`` shows it.

Nothing depends on the program: tables have a fixed number of rows, of which the first are used
(``exists`` = 1) and the others are 0, and a program that has more shows its first ones. Columns
mean the same for every program, so that a model of some programs can be used on others. Tables are
flattened in row-major order: ``reshape(arrays["rows"].shape)`` makes one a table again.

Counts and names (``dependences``, ``statements``) are int8. The coefficients of rows (``rows``,
``generator``, ``point``) may be large, those of points hundreds and thousands, and are stored as
signed logarithms,

    e(x) = sign(x) · log2(1 + |x|),    a float32 in [-32, 32]

in which 0, 1 and -1, nearly all of them, are themselves, 3 is 2 and 7 is 3. Networks learn better
from numbers of one size, and nothing is lost: :func:`decode_numbers` gives x back exactly up to
2**19 (a float32 near log2(2**19) = 19 has steps of 2**-19, which are less than one half of x there)
and to two millionths beyond. Numbers past :data:`LARGEST_NUMBER` are cut off, which is more than a
schedule may hold.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygym.pickling import pickle_by_name

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Observation: TypeAlias = dict[str, Array]

OBSERVATION_VERSION = 3
"""The version of the observation: columns, types and the numbers in them."""

MOST_STATEMENTS = 48
MOST_DEPENDENCES = 256
MOST_LOOPS = 6
MOST_PARAMETERS = 6

LARGEST_NUMBER = 2**32 - 1
"""The largest coefficient that is told from larger ones: its logarithm is 32."""


SCALED_BOUNDS = (0.0, 64.0)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array of the observation: its type, its bounds, and its shape as a table.

    The array itself is the table in row-major order, in one dimension: what libraries for agents
    expect of anything that is not an image.
    """

    shape: tuple[int, ...]
    dtype: type[np.generic]
    low: float
    high: float

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A number of an array: its name, its meaning, the function that computes it, its bounds.

    ``number`` takes what the table is of; 0 stands for a column that an observer keeps up to date
    itself. Columns side by side with one ``doc`` share a line of the documentation.
    """

    name: str
    doc: str
    number: Callable[[Any], float]
    low: float = -127
    high: float = 127


def scaled(name: str, doc: str, number: Callable[[Any], float]) -> Column:
    """Return a column of a size, a length or a number of things, as :func:`logarithm` has it."""
    return Column(name, doc, number, *SCALED_BOUNDS)


def logarithm(value: float) -> float:
    """Return log2(1 + x), which tells numbers apart up to 2^62."""
    return float(np.log2(1.0 + float(min(value, 2**62))))


def by_level(
    name: str, doc: str, number: Callable[[Any, int], float], low: float = -127, high: float = 127
) -> tuple[Column, ...]:
    """Return a column for every loop: ``{level}`` in the name counts from 1, ``number`` from 0."""
    return tuple(
        Column(name.format(level=level + 1), doc, partial(_flipped, number, level), low, high)
        for level in range(MOST_LOOPS)
    )


def _flipped(number: Callable[[Any, int], float], level: int, subject: Any) -> float:
    return number(subject, level)


def names_of(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the names of columns."""
    return tuple(column.name for column in columns)


def numbers_of(columns: Iterable[Column], subject: Any) -> list[float]:
    """Return the numbers of columns."""
    return [column.number(subject) for column in columns]


def spec_of(
    columns: Sequence[Column], dtype: type[np.generic], rows: tuple[int, ...] = ()
) -> ArraySpec:
    """Return the array of some columns, or the table with so many rows."""
    low, high = min(column.low for column in columns), max(column.high for column in columns)
    return ArraySpec((*rows, len(columns)), dtype, low, high)


def column_lines(columns: Iterable[Column], indent: str = "    ") -> str:
    """Return the rows of a table in Markdown: names and meanings."""
    lines = []
    for doc, group in groupby(columns, key=lambda column: column.doc):
        first, *others = (f"`{column.name}`" for column in group)
        names = ", ".join((first, *others)) if len(others) < 3 else f"{first} … {others[-1]}"
        lines.append(f"{indent}| {names} | {doc} |")
    return "\n".join(lines)


def encode_numbers(values: Array) -> Array:
    """Return integers as signed logarithms; those past the largest are cut off.

    >>> encode_numbers(np.array([0, 1, -3, 7])).tolist()
    [0.0, 1.0, -2.0, 3.0]
    """
    shown = np.log2(np.minimum(np.abs(values), LARGEST_NUMBER) + 1.0)
    return np.copysign(shown, values).astype(np.float32)


def decode_numbers(shown: Array) -> Array:
    """Return the integers that signed logarithms stand for.

    >>> decode_numbers(np.array([0.0, 1.0, -2.0, 3.0], np.float32)).tolist()
    [0, 1, -3, 7]
    """
    sizes = np.rint(np.exp2(np.abs(shown).astype(np.float64)) - 1.0)
    return np.copysign(sizes, shown).astype(np.int64)
