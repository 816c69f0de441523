"""What decisions about loops depend on, beside the loops themselves; known before any is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from typing import TypeVar

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.packable import Packing
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.moves import Moves, table
from polygym.compiler.codegen.trees.point_order import Loops, last_places, numbers, with_last
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band, Member
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Row

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Setting:
    """A program, a mapping, and a machine.

    ``packing`` says which reads may go to turned copies, None where none may; ``sizes`` are the
    values of the parameters, None where code is for all of them. ``loops`` are those of the
    schedule, by whose numbers the mapping may ask for an order.
    """

    scop: Scop
    mapping: Mapping
    machine: Machine
    packing: Packing | None = None
    sizes: Sizes | None = None
    memory: Memory = NOTHING
    loops: Loops = field(default_factory=dict)

    def under(self, mapping: Mapping) -> Setting:
        """Return the same with another mapping."""
        return Setting(
            self.scop, mapping, self.machine, self.packing, self.sizes, self.memory, self.loops
        )

    @property
    def has_vectors(self) -> bool:
        """Whether loops may run in vectors."""
        return self.mapping.has_vectors

    @property
    def vector_bits(self) -> int:
        """The width of a vector: the mapping's, else the machine's."""
        return self.mapping.bits_of(self.machine.vector_bits)

    def lanes(self, statements: tuple[str, ...]) -> int:
        """Return how many of the widest elements of some statements a vector has."""
        return self.vector_bits // (8 * self.scop.widest(statements))

    def last(self, statements: tuple[str, ...], members: Sequence[Member]) -> tuple[int, ...]:
        """Return the places of the members that the mapping wants innermost, in their order."""
        asked = self.mapping.order
        return last_places(asked, self._numbers(statements, members)) if asked else ()

    def is_ordered(self, found: Sequence[Member], band: Band, name: str) -> bool:
        """Whether those loops around a statement that come from a band run as is asked for."""
        if not self.mapping.order:
            return True
        own = self._numbers(band.statements, band.members)
        order = [one for one in self._numbers((name,), found) if one in own]
        asked = [one for one in self.mapping.order if one in order]
        return order[len(order) - len(asked) :] == asked

    def ordered(self, statements: tuple[str, ...], members: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members of a permutable band in the order that the mapping asks for."""
        last = self.last(statements, members)
        return tuple(members[place] for place in with_last(range(len(members)), last))

    def remembered(
        self, what: str, band: Band, around: Surroundings, answer: Callable[[Setting], Answer]
    ) -> Answer:
        """Return what there is to say of a band, worked out if what it depends on is new.

        That is: in the mapping what the answer asks of it, and all else that there is.
        """
        own = tuple([self.loops.get(name) for name in band.statements])
        return self.memory.of_mapping(
            (what, band, around, self.packing, own),
            self.mapping,
            lambda asked: answer(self.under(asked)),
        )

    def _numbers(self, statements: tuple[str, ...], members: Sequence[Member]) -> tuple[int, ...]:
        """Return the numbers by which a mapping may name members."""
        own = tuple([self.loops[name] for name in statements])
        return self.memory.of(
            ("numbers", statements, tuple(members), own),
            lambda: numbers(statements, members, self.loops),
        )

    def moves(
        self,
        statements: tuple[str, ...],
        outer: Dictionary[str, Sequence[Row]],
        members: Sequence[Member],
    ) -> tuple[Dictionary[str, Moves], ...]:
        """Return how accesses move with every member, inside of loops with the ``outer`` rows."""
        rows = tuple(one.rows for one in members)
        around = tuple(tuple(outer[name]) for name in statements)
        return self.memory.of(
            ("moves", statements, around, rows, self.packing),
            lambda: table(self.scop, statements, outer, rows, self.packing, self.memory),
        )
