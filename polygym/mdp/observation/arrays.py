"""The arrays of an observation: their columns, types and bounds, and how numbers stand in them.

Nothing depends on which program it is: tables have a fixed number of rows, of which the first are
used (``exists`` = 1) and the others are 0, and a program that has more shows its first ones.
Columns mean the same for every program, so that what was learned on some programs can be used on
others. Tables are flattened in row-major order:
``observation["rows"].reshape(tables(…)["rows"].shape)`` is a table again.

What is counted or named (``dependences``, ``statements``) is int8. The coefficients of rows
(``rows``, ``generator``, ``point``) may be large, those of points hundreds and thousands, and stand
there as signed logarithms,

    e(x) = sign(x) · log2(1 + |x|),    a float32 in [-32, 32]

in which 0, 1 and -1, nearly all that there is, are themselves, 3 is 2 and 7 is 3. Networks learn
better from numbers of one size, and nothing is lost: :func:`decode_numbers` gives x back exactly up
to 2**19 (a float32 near log2(2**19) = 19 has steps of 2**-19, which are less than one half of x
there) and to two millionths beyond. Numbers past :data:`LARGEST_NUMBER` are cut off, which is more
than a schedule may hold.

This is :data:`OBSERVATION_VERSION` 2 of the observation. In version 1 the three tables were int8
and cut off at ±127, which every second state of lu exceeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from polygym.pickling import pickle_by_name

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Observation: TypeAlias = dict[str, Array]

OBSERVATION_VERSION = 2
"""The version of the observation: columns, types and the numbers in them."""

MOST_STATEMENTS = 48
MOST_DEPENDENCES = 256
MOST_LOOPS = 6
MOST_PARAMETERS = 6

_LEVELS = tuple(range(1, MOST_LOOPS + 1))

DEPENDENCE_COLUMNS = (
    "exists",
    "flow",
    "anti",
    "output",
    "source",
    "sink",
    "source_depth",
    "sink_depth",
    "shared_loops",
    *(f"loop_{level}_forward" for level in _LEVELS),
    *(f"loop_{level}_backward" for level in _LEVELS),
    "can_be_carried",
    "carried_by",
    "carried_here",
    "looked_at",
)
STATEMENT_COLUMNS = (
    "exists",
    "depth",
    "reads",
    *(f"loop_{level}_write" for level in _LEVELS),
    *(f"loop_{level}_reads_same" for level in _LEVELS),
    *(f"loop_{level}_reads_near" for level in _LEVELS),
    *(f"loop_{level}_reads_far" for level in _LEVELS),
    "rank",
    "moved",
)
ROW_COLUMNS = (
    *(f"iterator_{level}" for level in _LEVELS),
    *(f"parameter_{number}" for number in range(1, MOST_PARAMETERS + 1)),
    "constant",
)
PROGRESS_COLUMNS = (
    "constructing",
    "exploring",
    "dimension",
    "dependences_carried",
    "dependences_looked_at",
    "dimensions_explored",
    "coefficients_decided",
    "is_vertex",
    "illegal_actions",
)
REMAINING_COLUMNS = ("dependences", "dimensions", "coefficients_here", "steps_at_most")
MOST_REMAINING = 1_000_000

LARGEST_NUMBER = 2**32 - 1
"""The largest coefficient that is told from larger ones: e(LARGEST) is 32."""


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


def observation_arrays(max_dimensions: int, actions: int) -> Mapping[str, ArraySpec]:
    """Return the arrays of an observation by name."""
    row = (MOST_STATEMENTS, len(ROW_COLUMNS))

    def small(*shape: int) -> ArraySpec:
        return ArraySpec(shape, np.int8, -127, 127)

    def coefficients(*shape: int) -> ArraySpec:
        return ArraySpec(shape, np.float32, -32.0, 32.0)

    return MappingProxyType(
        {
            "progress": ArraySpec((len(PROGRESS_COLUMNS),), np.float32, 0.0, 1.0),
            "remaining": ArraySpec((len(REMAINING_COLUMNS),), np.int32, 0, MOST_REMAINING),
            "dependences": small(MOST_DEPENDENCES, len(DEPENDENCE_COLUMNS)),
            "statements": small(MOST_STATEMENTS, len(STATEMENT_COLUMNS)),
            "rows": coefficients(max_dimensions, *row),
            "generator": coefficients(*row),
            "point": coefficients(*row),
            "action_mask": ArraySpec((actions,), np.int8, 0, 1),
        }
    )


def encode_numbers(values: Array) -> Array:
    """Return integers as signed logarithms; those past the largest are cut off.

    >>> encoded(np.array([0, 1, -3, 7])).tolist()
    [0.0, 1.0, -2.0, 3.0]
    """
    shown = np.log2(np.minimum(np.abs(values), LARGEST_NUMBER) + 1.0)
    return np.copysign(shown, values).astype(np.float32)


def decode_numbers(shown: Array) -> Array:
    """Return the integers that signed logarithms stand for.

    >>> decoded(np.array([0.0, 1.0, -2.0, 3.0], np.float32)).tolist()
    [0, 1, -3, 7]
    """
    sizes = np.rint(np.exp2(np.abs(shown).astype(np.float64)) - 1.0)
    return np.copysign(sizes, shown).astype(np.int64)
