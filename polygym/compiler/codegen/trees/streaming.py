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
band of a single statement (:mod:`polygym.compiler.codegen.loops.jam`).

A mapping that wants the loop along vectors innermost gets the same, whatever is read twice: as many
terms of the sum run together as fill the time that it takes to load and store an element.

Example, 1900 rows of 2100 numbers of eight bytes, 32 MB: on one core of an EPYC with AVX-512
3.6 ms in stripes and 1.5 ms in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polygym.compiler.codegen.common.machine import LAST_CACHE
from polygym.compiler.codegen.trees.model import MOST_VECTORS
from polygym.compiler.codegen.trees.moves import Move, shares_vectors
from polygym.compiler.codegen.trees.roles import Roles, Table
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.codegen.trees.trips import lengths
from polygym.compiler.poly.evaluate import evaluate


def in_rows(
    chosen: Roles,
    statements: tuple[str, ...],
    members: Sequence[Member],
    table: Table,
    around: Surroundings,
    setting: Setting,
) -> Roles:
    """Return the roles with which what comes from memory comes row by row, where that matters."""
    vector, held, jammed = chosen.vector, chosen.held, chosen.jammed
    if vector is None or held is None or len(statements) > 1 or setting.sizes is None:
        return chosen
    (name,) = statements
    if not _streams(name, table, vector, held):
        return chosen
    if jammed is not None and shares_vectors(table[jammed][name], table[vector][name]):
        return chosen
    found = lengths(setting.scop, statements, members, around.parameters, setting.sizes)
    touched = prod(found) * setting.scop.widest(statements)
    is_short = found[vector] <= MOST_VECTORS * setting.lanes(statements)
    if touched <= setting.machine.level_2 or is_short:
        return chosen
    return Roles(vector, None, held)


def runs_through_memory(
    statements: tuple[str, ...],
    members: Sequence[Member],
    waiting: int | None,
    around: Surroundings,
    setting: Setting,
) -> bool:
    """Whether independent points write more than the last cache holds, no element twice.

    One member may be ``waiting``: points wait for each other along it. So every element comes from
    memory or goes there, and what the time depends on is how well a processor foresees which:
    it follows about as many rows at once as one vector has lanes. Of two vectors of rows that run
    in lanes (:mod:`polygym.compiler.codegen.trees.across`) the second one hides what the first one
    waits for, which is less. Of rows that share nothing one runs at a time.

    Example, 4096 by 2160 floats on one core of an EPYC (Zen 4): a filter along rows 9.2 ms with two
    vectors and 5.6 with one, a sum of two matrices 3.5 ms with four rows together and 2.6 with one.
    """
    if setting.sizes is None:
        return False
    others = (member for place, member in enumerate(members) if place != waiting)
    if not all(member.coincident for member in others):
        return False
    sizes = setting.sizes
    points = prod(lengths(setting.scop, statements, members, around.parameters, sizes))
    if points * setting.scop.widest(statements) < LAST_CACHE:
        return False
    table = setting.moves(statements, around.rows, members)

    def writes_much(name: str) -> bool:
        if any(any(row.iterators) for row in around.rows[name]):
            return False  # a loop around comes by the same elements again, from a cache maybe
        statement = setting.scop.statement(name)
        if any(moves[name].write is Move.SAME for moves in table):
            return False
        array = setting.scop.array(statement.write.array)
        elements = prod(evaluate(extent, sizes) for extent in array.extents)
        return min(elements, points) * array.type.size >= LAST_CACHE

    return any(map(writes_much, statements))


def as_asked(chosen: Roles, usual: Roles, innermost: int, statements: tuple[str, ...]) -> Roles:
    """Return the roles with terms of a sum together, where vectors are to run inside it.

    ``usual`` are the roles if no member has to run ``innermost``.
    """
    vector = chosen.vector
    if vector != innermost or usual.vector != vector or usual.held is None or len(statements) > 1:
        return chosen
    return Roles(vector, None, usual.held)


def _streams(name: str, table: Table, vector: int, held: int) -> bool:
    """Whether a read that no loop of the band repeats is contiguous along vectors alone."""
    reads = range(len(table[vector][name].reads))
    return any(
        table[vector][name].reads[read] is Move.NEXT
        and table[held][name].reads[read] is Move.FAR
        and all(moves[name].reads[read] is not Move.SAME for moves in table)
        and read not in table[vector][name].turned
        for read in reads
    )
