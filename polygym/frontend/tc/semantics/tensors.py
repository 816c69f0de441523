"""The tensors of a definition: where they come from, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import islpy as isl

from polygym.ir.types import ScalarType


class TensorRole(Enum):
    """What a tensor is to the caller."""

    INPUT = "an input"
    UPDATED = "an input that is returned"
    OUTPUT = "an output"
    TEMPORARY = "a temporary"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor, as far as it is known when a statement is read.

    ``name`` is its name in the Scop. ``valid`` holds the values that each subscript may have, a set
    of one dimension each. A tensor that is known has values.
    """

    name: str
    type: ScalarType
    valid: tuple[isl.Set, ...]
    role: TensorRole

    @property
    def rank(self) -> int:
        """The number of subscripts."""
        return len(self.valid)
