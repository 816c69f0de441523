"""Statements and their references as arrays for all of them, whatever the schedule.

Rows are statements (S) or references (R), which are in the order of their statements; what a
statement does not have of the D loops, and a reference of the E subscripts, is filled up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygym.cost.features.loops.nests import Floats, array_references
from polygym.cost.features.statements.statement_work import StatementWork

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Rows = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class StackedReferences:
    """The references of all statements, each statement's together.

    ``starts`` are the statements' first ones, ``owners`` the references' statements.
    ``access_strides`` are subscripts, R·E·D, aligned to the last one.
    """

    starts: Integers
    owners: Integers
    access_strides: Floats
    strides: Floats
    spread: Floats
    granularity: Floats
    extents: Floats
    is_unbounded: Flags
    bytes: Floats
    reads: Floats
    writes: Flags
    is_array: Flags
    max_elements: Floats

    @staticmethod
    def of(works: Sequence[StatementWork]) -> StackedReferences:
        """Put the references of statements on top of each other, as their iterators move them."""
        depth = max(1, *(work.depth for work in works))
        statements = [array_references(work, np.eye(work.depth)) for work in works]
        every = [array_reference for references in statements for array_reference in references]
        lengths = [len(own) for own in statements]
        most, count = max(1, *(len(touch.extents) for touch in every)), len(every)
        moves = np.zeros((count, most, depth))
        strides, spread = np.zeros((count, most)), np.zeros((count, most))
        extents, anywhere = np.ones((count, most)), np.zeros((count, most), dtype=np.bool_)
        grain = np.ones((count, most))
        for place, reference in enumerate(every):
            first = most - len(reference.extents)
            moves[place, first:, : reference.access_strides.shape[1]] = reference.access_strides
            strides[place, first:] = np.cumprod([1, *reference.extents[:0:-1]])[::-1][
                : len(reference.extents)
            ]
            spread[place, first:], extents[place, first:] = reference.spread, reference.extents
            anywhere[place, first:], grain[place, first:] = (
                reference.unbounded,
                reference.granularity,
            )
        return StackedReferences(
            starts=np.cumsum([0, *lengths[:-1]], dtype=np.int64),
            owners=np.repeat(np.arange(len(works)), lengths),
            access_strides=moves,
            strides=strides,
            spread=spread,
            granularity=grain,
            extents=extents,
            is_unbounded=anywhere,
            bytes=np.array([touch.bytes for touch in every], dtype=np.float64),
            reads=np.array([touch.reads for touch in every], dtype=np.float64),
            writes=np.array([touch.writes for touch in every], dtype=np.bool_),
            is_array=np.array([len(touch.extents) > 0 for touch in every], dtype=np.bool_),
            max_elements=np.array([touch.max_elements for touch in every], dtype=np.float64),
        )

    def of_statements(self, chosen: Integers) -> StackedReferences:
        """Return the references of some statements, any as often as it is named."""
        counts = np.bincount(self.owners)[chosen]
        ends = counts.cumsum()
        starts = ends - counts
        places = np.arange(ends[-1]) + np.repeat(self.starts[chosen] - starts, counts)
        return StackedReferences(
            starts=starts,
            owners=np.repeat(np.arange(len(chosen)), counts),
            access_strides=self.access_strides[places],
            strides=self.strides[places],
            spread=self.spread[places],
            granularity=self.granularity[places],
            extents=self.extents[places],
            is_unbounded=self.is_unbounded[places],
            bytes=self.bytes[places],
            reads=self.reads[places],
            writes=self.writes[places],
            is_array=self.is_array[places],
            max_elements=self.max_elements[places],
        )


@dataclass(frozen=True, slots=True, eq=False)
class DomainEquations:
    """The equations of each domain, and what they leave.

    ``unbounded`` are the projectors on what they leave free (S·D·D) with the determinants
    ``grams``, and ``fillers`` the rows that make a square of loops, equations and dimensions that a
    statement does not have.
    """

    equations: tuple[tuple[tuple[int, ...], ...], ...]
    free: Floats
    grams: Floats
    fillers: Floats

    @staticmethod
    def of(
        works: Sequence[StatementWork], equations: Sequence[Rows], depth: int
    ) -> DomainEquations:
        """Put the domains of statements on top of each other."""
        free = np.zeros((len(works), depth, depth))
        fillers = np.zeros((len(works), depth, depth))
        grams = np.ones(len(works))
        for place, (work, plane) in enumerate(zip(works, equations, strict=True)):
            free[place, : work.depth, : work.depth] = np.eye(work.depth)
            fillers[place] = np.eye(depth)
            if plane:
                matrix = np.array(plane, dtype=np.float64)
                free[place, : work.depth, : work.depth] -= np.linalg.pinv(matrix) @ matrix
                grams[place] = np.linalg.det(matrix @ matrix.T)
                fillers[place, work.depth - len(plane) : work.depth, : work.depth] = matrix
        return DomainEquations(tuple(map(tuple, equations)), free, grams, fillers)


@dataclass(frozen=True, slots=True, eq=False)
class StackedStatements:
    """What statements are like whatever the schedule, one on top of the other.

    ``counts`` says how many loops each has, ``corners`` are those of the domains, S·C·D, and
    ``original`` the rows of the original order.
    """

    works: tuple[StatementWork, ...]
    counts: Integers
    corners: Floats
    original: Floats
    equations: DomainEquations
    references: StackedReferences

    @staticmethod
    def of(
        works: Sequence[StatementWork], planes: Sequence[Rows], original: Sequence[Rows]
    ) -> StackedStatements:
        """Put statements on top of each other, with the equations and the rows of each."""
        depth = max(1, *(work.depth for work in works))
        most = max(1, *(len(work.corners) for work in works))
        corners = np.zeros((len(works), most, depth))
        rows = np.zeros((len(works), max(map(len, original)), depth))
        for place, work in enumerate(works):
            own = np.array(work.corners or ((0,) * work.depth,), dtype=np.float64)
            corners[place, :, : work.depth] = own[np.minimum(np.arange(most), len(own) - 1)]
            for number, row in enumerate(original[place]):
                rows[place, number, : work.depth] = row
        return StackedStatements(
            works=tuple(works),
            counts=np.array(
                [work.depth - len(plane) for work, plane in zip(works, planes, strict=True)],
                dtype=np.int64,
            ),
            corners=corners,
            original=rows,
            equations=DomainEquations.of(works, planes, depth),
            references=StackedReferences.of(works),
        )
