"""Which tiles a branch is for: conditions on the numbers of tiles.

A tile is known by its numbers ⌊row / size⌋, one for each loop over tiles. In the tiles of an LU
decomposition, (a, b, c) = (⌊i/32⌋, ⌊j/32⌋, ⌊k/32⌋), those with c < min(a, b) hold nothing but
products. A branch of a sequence may be for these alone, and another one for all others, so that
every instance is in one of them.

The conditions are alternatives, each of which is a conjunction of inequalities over the numbers:
``((1, 0, -1), -1)`` is a - c - 1 >= 0, that is c < a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygym.codegen.tree.floored_row import FlooredRow

Inequality: TypeAlias = tuple[tuple[int, ...], int]
"""The factors of the numbers, and a constant; together they are at least 0."""


@dataclass(frozen=True, slots=True)
class TilePredicate:
    """The tiles that a branch is for: those of the ``conditions``, or else all the others.

    The rows of ``tile_coordinates`` are in the order of the branch's statements. With ``statement``
    it is about that statement, and of all others every instance is in the branch for the other
    tiles; then ``reductions`` are the statements that reduce the same elements, in any order
    (:mod:`polygym.codegen.common.reduction_order`).
    """

    tile_coordinates: tuple[FlooredRow, ...]
    conditions: tuple[tuple[Inequality, ...], ...]
    is_complement: bool = False
    statement: str | None = None
    reductions: frozenset[str] = frozenset()

    def splits(self, statement: str) -> bool:
        """Whether some instances of a statement may be in the one branch, some in the other."""
        return self.statement in (None, statement)

    def text(self, number_text: Callable[[FlooredRow], str]) -> str:
        """Return the condition as text, given that of a number."""
        names = [number_text(part) for part in self.tile_coordinates]
        either = " or ".join(
            f"({' and '.join(_inequality_text(inequality, names) for inequality in every)})"
            for every in self.conditions
        )
        return f"not ({either})" if self.is_complement else f"({either})"


def _inequality_text(inequality: Inequality, names: Sequence[str]) -> str:
    """Return an inequality as text that isl and Python read.

    >>> _inequality(((1, 0, -1), -1), ["a", "b", "c"])
    '1*(a) + -1*(c) + -1 >= 0'
    """
    factors, constant = inequality
    terms = [f"{factor}*({name})" for factor, name in zip(factors, names, strict=True) if factor]
    return f"{' + '.join([*terms, str(constant)])} >= 0"
