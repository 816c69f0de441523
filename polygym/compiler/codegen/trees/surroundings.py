"""What surrounds a part of the tree, kept on the way down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.pairs import still_unordered, untouched, weakly_ordered, within
from polygym.compiler.codegen.trees.tree import Member, point
from polygym.compiler.poly.distance import Pairs, all_pairs
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Row


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The surroundings (within one process: pairs hold isl's objects).

    ``pairs`` are those that no loop around orders, ``rows`` the point loops around each statement,
    ``parameters`` the names in every row, ``parallel`` whether one of the loops around is parallel.
    With a ``memory`` the same way down leads to the same object.
    """

    pairs: tuple[Pairs, ...]
    rows: Mapping[str, tuple[Row, ...]]
    parameters: tuple[str, ...]
    parallel: bool = False
    memory: Memory = NOTHING

    @staticmethod
    def of(legal: LegalSchedule, memory: Memory = NOTHING) -> Surroundings:
        """Return what surrounds the whole tree of a schedule."""
        names, parameters = legal.scop.statements, legal.schedule.parameters
        return memory.of(
            ("root", parameters),
            lambda: Surroundings(
                all_pairs(legal.scop), {one.name: () for one in names}, parameters, memory=memory
            ),
        )

    def within(self, statements: tuple[str, ...]) -> Surroundings:
        """Return what surrounds a branch."""
        return self.memory.of(
            ("within", self, statements),
            lambda: replace(self, pairs=within(self.pairs, statements)),
        )

    def with_threads(self, *, parallel: bool) -> Surroundings:
        """Return the same, where a loop around is parallel or none is."""
        return self.memory.of(
            ("with_threads", self, parallel), lambda: replace(self, parallel=parallel)
        )

    def inside(self, members: Sequence[Member], statements: tuple[str, ...]) -> Surroundings:
        """Return what surrounds the body of some loops over points."""
        found = self
        for member in members:
            found = found.in_loop(member.rows, statements)
        return found

    def in_loop(self, rows: tuple[Row, ...], statements: tuple[str, ...]) -> Surroundings:
        """Return what surrounds the body of a loop over points."""

        def make() -> Surroundings:
            pairs = still_unordered(self.pairs, statements, rows, self.parameters)
            own = {
                name: (*self.rows[name], row) for name, row in zip(statements, rows, strict=True)
            }
            return replace(self, pairs=pairs, rows={**self.rows, **own})

        return self.memory.of(("in_loop", self, rows, statements), make)

    def reviewed(
        self, members: Sequence[Member], statements: tuple[str, ...]
    ) -> tuple[Member, ...]:
        """Return points with their coincidence decided for the pairs that are alive here."""
        return tuple(self.member(member.rows, statements) for member in members)

    def allows(self, rows: tuple[Row, ...], statements: tuple[str, ...]) -> bool:
        """Whether a loop may run outside all others that are here."""
        return self.memory.of(
            ("allows", self, rows, statements),
            lambda: weakly_ordered(self.pairs, statements, rows, self.parameters),
        )

    def member(self, rows: tuple[Row, ...], statements: tuple[str, ...]) -> Member:
        """Return a loop over points, with its coincidence decided for the pairs that are alive."""
        return self.memory.of(
            ("reviewed", self, rows, statements),
            lambda: point(rows, untouched(self.pairs, statements, rows, self.parameters)),
        )
