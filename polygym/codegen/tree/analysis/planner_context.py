"""Context of loop decisions beside the loops themselves, known before any is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from polygym.codegen.common.packing_candidates import PackingCandidates
from polygym.codegen.tree.analysis.access_strides import AccessStrides, stride_table
from polygym.codegen.tree.analysis.loop_order import (
    OriginalLoops,
    innermost_positions,
    loop_numbers,
    moved_innermost,
)
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.ir import Band, BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mapping.sizes import Sizes
from polygym.poly.schedule import ScheduleRow

Answer = TypeVar("Answer")

INNER_LOOP_OPTIONS = (
    "vector_bits", "vector_copies", "unroll_jam", "scalar_replacement", "pack", "reassociate",
    "order",
)  # fmt: skip
"""The mapping options that decide how the loops of one band run."""
THREADED_LOOP_OPTIONS = (*INNER_LOOP_OPTIONS, "threads", "parallel")
"""The same with threads, which share tiles."""


@lru_cache(maxsize=4096)
def _restricted_mapping(mapping: Mapping, options: tuple[str, ...]) -> Mapping:
    """Return a mapping with some options of another one, and defaults for the rest."""
    return replace(DEFAULT_MAPPING, **{name: getattr(mapping, name) for name in options})


@dataclass(frozen=True)
class PlannerContext:
    """A program, a mapping, and a machine.

    ``packing`` says which reads may go to turned copies, None where none may; ``sizes`` are the
    values of the parameters, None where code is for all of them. ``original_loops`` are those of
    the schedule, by whose numbers the mapping may ask for an order.
    """

    scop: Scop
    mapping: Mapping
    machine: Machine
    packing: PackingCandidates | None = None
    sizes: Sizes | None = None
    memo: PlanningMemo = NO_MEMO
    original_loops: OriginalLoops = field(default_factory=dict)

    def with_mapping(self, mapping: Mapping) -> PlannerContext:
        """Return the same with another mapping."""
        return replace(self, mapping=mapping)

    @property
    def has_vectors(self) -> bool:
        """Whether loops may run in vectors."""
        return self.mapping.has_vectors

    @property
    def vector_bits(self) -> int:
        """The width of a vector: the mapping's, else the machine's."""
        return self.mapping.vector_bits_on(self.machine.vector_bits)

    def lanes(self, statements: tuple[str, ...]) -> int:
        """Return how many of the widest elements of some statements a vector has."""
        return self.vector_bits // (8 * self.scop.widest_element(statements))

    def innermost(
        self, statements: tuple[str, ...], members: Sequence[BandMember]
    ) -> tuple[int, ...]:
        """Return the places of the members that the mapping wants innermost, in their order."""
        asked = self.mapping.order
        return innermost_positions(asked, self._loop_numbers(statements, members)) if asked else ()

    def has_requested_order(self, members: Sequence[BandMember], band: Band, name: str) -> bool:
        """Whether those loops around a statement that come from a band run as is asked for."""
        if not self.mapping.order:
            return True
        own = self._loop_numbers(band.statements, band.members)
        order = [number for number in self._loop_numbers((name,), members) if number in own]
        asked = [loop_number for loop_number in self.mapping.order if loop_number in order]
        return order[len(order) - len(asked) :] == asked

    def in_requested_order(
        self, statements: tuple[str, ...], members: Sequence[BandMember]
    ) -> tuple[BandMember, ...]:
        """Return the members of a permutable band in the order that the mapping asks for."""
        last = self.innermost(statements, members)
        return tuple(members[place] for place in moved_innermost(range(len(members)), last))

    def memoized(
        self,
        step: str,
        band: Band,
        loop_context: LoopContext,
        answer: Callable[[PlannerContext], Answer],
        options: tuple[str, ...] = INNER_LOOP_OPTIONS,
    ) -> Answer:
        """Return the result of a planning step on a band, computed once for the options it reads.

        The step sees a mapping with these options alone, so no other option can change the result.
        """
        own = tuple([self.original_loops.get(name) for name in band.statements])
        mapping = _restricted_mapping(self.mapping, options)
        return self.memo.get_or_compute(
            (step, band, loop_context, self.packing, own, mapping),
            lambda: answer(self.with_mapping(mapping)),
        )

    def trip_count(
        self, statements: tuple[str, ...], member: BandMember, loop_context: LoopContext
    ) -> int:
        """Return the iterations of a loop at the known sizes, of the statement with the most."""
        assert self.sizes is not None
        return member_trip_count(self.scop, statements, member, loop_context.parameters, self.sizes)

    def trip_counts(
        self, statements: tuple[str, ...], members: Iterable[BandMember], loop_context: LoopContext
    ) -> tuple[int, ...]:
        """Return those of several loops."""
        return tuple(self.trip_count(statements, member, loop_context) for member in members)

    def _loop_numbers(
        self, statements: tuple[str, ...], members: Sequence[BandMember]
    ) -> tuple[int, ...]:
        """Return the numbers by which a mapping may name members."""
        own = tuple([self.original_loops[name] for name in statements])
        return self.memo.get_or_compute(
            ("numbers", statements, tuple(members), own),
            lambda: loop_numbers(statements, members, self.original_loops),
        )

    def access_strides(
        self,
        statements: tuple[str, ...],
        outer: Dictionary[str, Sequence[ScheduleRow]],
        members: Sequence[BandMember],
    ) -> tuple[Dictionary[str, AccessStrides], ...]:
        """Return how accesses move with every member, inside of loops with the ``outer`` rows."""
        rows = tuple(band_member.rows for band_member in members)
        around = tuple(tuple(outer[name]) for name in statements)
        return self.memo.get_or_compute(
            ("moves", statements, around, rows, self.packing),
            lambda: stride_table(self.scop, statements, outer, rows, self.packing, self.memo),
        )
