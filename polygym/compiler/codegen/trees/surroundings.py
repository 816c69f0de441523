"""What surrounds a part of the tree, kept on the way down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.compiler.codegen.trees.pairs import still_unordered, untouched, within
from polygym.compiler.codegen.trees.tree import Member, point
from polygym.compiler.poly.distance import Pairs
from polygym.compiler.poly.schedule import Row


@dataclass(frozen=True)
class Around:
    """The surroundings (within one process: pairs hold isl's objects).

    ``pairs`` are those that no loop around orders, ``rows`` the point loops around each statement,
    ``parameters`` the names in every row, ``parallel`` whether one of the loops around is parallel.
    """

    pairs: tuple[Pairs, ...]
    rows: Mapping[str, tuple[Row, ...]]
    parameters: tuple[str, ...]
    parallel: bool = False

    def within(self, statements: tuple[str, ...]) -> Around:
        """Return what surrounds a branch."""
        return replace(self, pairs=within(self.pairs, statements))

    def inside(self, members: Sequence[Member], statements: tuple[str, ...]) -> Around:
        """Return what surrounds the body of some loops over points."""
        pairs = self.pairs
        for member in members:
            pairs = still_unordered(pairs, statements, member.rows, self.parameters)
        rows = {
            name: (*self.rows[name], *(member.rows[place] for member in members))
            for place, name in enumerate(statements)
        }
        return replace(self, pairs=pairs, rows={**self.rows, **rows})

    def reviewed(
        self, members: Sequence[Member], statements: tuple[str, ...]
    ) -> tuple[Member, ...]:
        """Return points with their coincidence decided for the pairs that are alive here."""
        return tuple(
            point(member.rows, untouched(self.pairs, statements, member.rows, self.parameters))
            for member in members
        )
