"""Sums that run through memory once: row by row, though no register then holds an element.

In ``y[j] += A[i][j] * x[i]`` vectors run along j, and y[j] could stay in a register while i runs.
Then A is read in stripes, three vectors of a row and on to the next one: each from another page,
before the processor has foreseen where it goes on. What a cache holds bears that, and where a few
vectors are a whole row nothing is amiss. What comes from farther away does not bear it: nothing of
A is read twice, so its way through memory is all that the time depends on. Several rows together,
from one end to the other, are read as they lie::

    for j by 3 vectors:                   for i by 4:
      for i:                       →        for j by vectors:
        y[j] += A[i][j] * x[i]                y[j] += A[i][j] * x[i], …, A[i + 3][j] * x[i + 3]

An element of y is loaded and stored for every four terms, and they are added in the order that they
had: at equal j that of i. Side condition: that of jamming what is not independent, a permutable
band of a single statement (:mod:`polygym.codegen.transforms.unroll_and_jam`).

A mapping that wants the loop along vectors innermost gets the same, whatever is read twice: as many
terms of the sum run together as fill the time that it takes to load and store an element.

Example, 1900 rows of 2100 numbers of eight bytes, 32 MB: on one core of an EPYC with AVX-512
3.6 ms in stripes and 1.5 ms in rows.
"""

from collections.abc import Sequence
from math import prod

from polygym.codegen.tree.analysis.access_strides import StrideKind, shares_vectors
from polygym.codegen.tree.analysis.loop_roles import LoopRoles, StrideTable
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.mapping.machine import LAST_LEVEL_CACHE
from polygym.mapping.sizes import element_count
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.evaluation import evaluate_extent


def row_streaming_roles(
    roles: LoopRoles,
    statements: tuple[str, ...],
    members: Sequence[BandMember],
    table: StrideTable,
    loop_context: LoopContext,
    context: PlannerContext,
) -> LoopRoles:
    """Return the roles with which what comes from memory comes row by row, where that matters."""
    vector, held, jammed = roles.vector, roles.reduction, roles.jammed
    if vector is None or held is None or len(statements) > 1 or context.sizes is None:
        return roles
    (name,) = statements
    streamed = _reads_without_reuse(name, table, vector, held)
    if not streamed:
        return roles
    if jammed is not None and shares_vectors(table[jammed][name], table[vector][name]):
        return roles
    counts = context.trip_counts(statements, members, loop_context)
    accesses = context.scop.statement(name).reads
    arrays = [context.scop.array(accesses[read].array) for read in streamed]
    instances = prod(counts)
    if all(2 * element_count(array, context.sizes) < instances for array in arrays):
        return roles  # each element is read several times, as in x[i + 3 * k]
    touched = instances * context.scop.widest_element(statements)
    is_short = counts[vector] <= TUNING.max_vectors * context.lanes(statements)
    if touched <= context.machine.level_2 or is_short:
        return roles
    return LoopRoles(vector, None, held)


def exceeds_last_level_cache(
    statements: tuple[str, ...],
    members: Sequence[BandMember],
    carried: int | None,
    loop_context: LoopContext,
    context: PlannerContext,
) -> bool:
    """Whether independent points write more than the last cache holds, no element twice.

    One member may be ``carried``: points wait for each other along it. So every element comes from
    memory or goes there, and what the time depends on is how well a processor foresees which:
    it follows about as many rows at once as one vector has lanes. Of two vectors of rows that run
    in lanes (:mod:`polygym.codegen.recurrences.recurrence_lanes.analysis`) the second one hides
    what the first one waits for, which is less. Of rows that share nothing one runs at a time.

    Example, 4096 by 2160 floats on one core of an EPYC (Zen 4): a filter along rows 9.2 ms with two
    vectors and 5.6 with one, a sum of two matrices 3.5 ms with four rows together and 2.6 with one.
    """
    if context.sizes is None:
        return False
    others = (member for place, member in enumerate(members) if place != carried)
    if not all(member.coincident for member in others):
        return False
    sizes = context.sizes
    points = prod(context.trip_counts(statements, members, loop_context))
    if points * context.scop.widest_element(statements) < LAST_LEVEL_CACHE:
        return False
    table = context.access_strides(statements, loop_context.rows, members)

    def writes_much(name: str) -> bool:
        if any(any(row.iterators) for row in loop_context.rows[name]):
            return False  # a loop around comes by the same elements again, from a cache maybe
        statement = context.scop.statement(name)
        if any(moves[name].write is StrideKind.ZERO for moves in table):
            return False
        array = context.scop.array(statement.write.array)
        elements = prod(evaluate_extent(extent, sizes) for extent in array.extents)
        return min(elements, points) * array.type.size >= LAST_LEVEL_CACHE

    return any(map(writes_much, statements))


def requested_roles(
    roles: LoopRoles, default_roles: LoopRoles, innermost: int, statements: tuple[str, ...]
) -> LoopRoles:
    """Return the roles with terms of a sum together, where vectors are to run inside it.

    ``default_roles`` are the roles if no member has to run ``innermost``.
    """
    vector = roles.vector
    if (
        vector != innermost
        or default_roles.vector != vector
        or default_roles.reduction is None
        or len(statements) > 1
    ):
        return roles
    return LoopRoles(vector, None, default_roles.reduction)


def _reads_without_reuse(name: str, table: StrideTable, vector: int, held: int) -> list[int]:
    """Return the reads that no loop of the band repeats, contiguous along vectors alone."""
    return [
        read
        for read in range(len(table[vector][name].reads))
        if table[vector][name].reads[read] is StrideKind.UNIT
        and table[held][name].reads[read] is StrideKind.OTHER
        and all(moves[name].reads[read] is not StrideKind.ZERO for moves in table)
        and read not in table[vector][name].transposed_reads
    ]
