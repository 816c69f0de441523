"""A program with a storage plan becomes another program: Scop → Scop.

The result is a program as any other: its new arrays stand beside the source's, live on the heap
while it runs and are nobody's to see; its statements write and read other elements. So dependences,
legality, schedules and code are what they are of every program, and what the plan has freed shows
as dependences that are not there. ::

    for i:                          for i:
      w = 0;                          w_1[i] = 0;
      for k: w += A[i][k] * x[k];  →  for k: w_1[i] += A[i][k] * x[k];       w=expand:i
      y[i] = w;                       y[i] = w_1[i];

What memory held before the region and is read is copied in beforehand, what is left in the end and
can be seen is copied out behind everything (:mod:`polygym.compiler.storage.copies`).

Side condition, which :mod:`polygym.compiler.storage.check` proves of every result: each read sees
the value that it saw before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import islpy as isl

from polygym.compiler.ir.expr import Access
from polygym.compiler.ir.printer import c_expression
from polygym.compiler.ir.replacing import replace_accesses
from polygym.compiler.ir.scop import Array, Scop, Statement, Storage
from polygym.compiler.ir.verify import verify
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.isl_numbers import isl_text
from polygym.compiler.storage.check import expect_same_values
from polygym.compiler.storage.copies import Copies
from polygym.compiler.storage.plan import Entry, StoragePlan
from polygym.compiler.storage.texts import access_of, size_c_text
from polygym.compiler.storage.versions import Versions, simplest, versions_of
from polygym.compiler.storage.webs import Web, webs_of
from polygym.errors import InputError


@dataclass(frozen=True, eq=False)
class Expanded:
    """A web with the array that it gets."""

    web: Web
    versions: Versions
    array: Array


def applied(scop: Scop, plan: StoragePlan) -> Scop:
    """Return the program with its arrays where the plan has them; the same one where it keeps all.

    Raises:
        InputError: the plan does not fit the program, or would change what it computes.
        LimitError: it would take too long to find out.
    """
    return scop if plan.keeps else _applied(scop, plan.entries, plan.dead)


@lru_cache(maxsize=64)
def _applied(scop: Scop, entries: tuple[Entry, ...], dead: tuple[str, ...]) -> Scop:
    plan = StoragePlan(entries, dead=dead)
    expect_fitting(scop, plan)
    unseen = _unseen(scop, dead)
    with bounded("changing where arrays are stored"):
        names = set(scop.names)
        expanded = tuple(_expanded(unseen, plan, names))
        found = _rewritten(unseen, expanded, names)
        expect_same_values(unseen, found, {one.array.name: one.web.array for one in expanded})
    declared = {array.name: array for array in scop.arrays}
    arrays = tuple(declared.get(array.name, array) for array in found.arrays)
    return verify(replace(found, arrays=arrays))


def _unseen(scop: Scop, dead: tuple[str, ...]) -> Scop:
    """Return the program as if arrays were its function's own: nobody sees what is left in them."""
    return replace(
        scop,
        arrays=tuple(
            replace(array, storage=Storage.LOCAL, live_out=False) if array.name in dead else array
            for array in scop.arrays
        ),
    )


def expect_fitting(scop: Scop, plan: StoragePlan) -> None:
    """Refuse entries for what is not there.

    Raises:
        InputError: an array, a statement or a loop is none of the program's.
    """
    for entry in (*plan.entries, *(Entry(array, ()) for array in plan.dead)):
        writers = [one for one in scop.statements if one.write.array == entry.array]
        if not writers:
            known = dict.fromkeys(one.write.array for one in scop.statements)
            raise InputError(
                f"storage: expected an array that {scop.name} writes, {', '.join(known)}, found "
                f"{entry.array}"
            )
        names = [one.name for one in writers]
        if entry.statement and entry.statement not in names:
            raise InputError(
                f"storage: expected a statement that writes {entry.array}, {', '.join(names)}, "
                f"found {entry.statement}"
            )
        loops = dict.fromkeys(name for one in writers for name in one.iterators)
        for along in entry.loops or ():
            if along.loop not in loops:
                raise InputError(
                    f"storage: {entry}: expected a loop around what writes {entry.array}, "
                    f"{', '.join(loops) or '(none)'}, found {along.loop}"
                )


def _expanded(scop: Scop, plan: StoragePlan, names: set[str]) -> Iterator[Expanded]:
    """Yield every web that the plan changes, with its new array."""
    for array in scop.arrays:
        is_named = any(entry.array == array.name for entry in plan.entries)
        if not is_named and array.name not in plan.dead:
            continue
        for web in webs_of(scop, array.name):
            entry = plan.of(array.name, web.names)
            if entry is None:
                continue
            versions = versions_of(scop, web, entry)
            new = _array(array, versions, names)
            if entry.is_private and versions.alongs:
                new = replace(new, storage=Storage.PRIVATE)
            yield Expanded(web, versions, new)


def _array(array: Array, versions: Versions, names: set[str]) -> Array:
    """Return the new array of a web: its versions, then the array's own dimensions."""
    name = next(
        name
        for number in range(1, len(names) + 2)
        if (name := f"{array.name}_{number}") not in names
    )
    names.add(name)
    return Array(
        name,
        array.type,
        (*map(isl_text, versions.sizes), *array.extents),
        (*map(size_c_text, versions.sizes), *array.extents_c),
        Storage.SCRATCH,
        live_out=False,
    )


def _rewritten(scop: Scop, expanded: tuple[Expanded, ...], names: set[str]) -> Scop:
    """Return the program in which statements use the new arrays."""
    statements = {one.name: one for one in scop.statements}
    copies = Copies(scop, names)
    for one in expanded:
        for writer in one.web.writers:
            statements[writer.name] = _writing(statements[writer.name], one)
        for statement, replacements in _replacements(one, statements).items():
            before = statements[statement]
            body = replace_accesses(before.body, replacements)
            statements[statement] = replace(before, body=body)
        copies.add(one.web, one.versions, one.array)
    arrays = (*scop.arrays, *(one.array for one in expanded))
    changed = tuple(
        one if one == scop.statement(one.name) else replace(one, text=_text(one))
        for one in statements.values()
    )
    return _without_unused(copies.around(replace(scop, arrays=arrays, statements=changed)))


def _writing(statement: Statement, one: Expanded) -> Statement:
    """Return a statement that writes to the new array."""
    where = _element(one.versions.writes[statement.name], isl.Map(statement.write.relation))
    return replace(statement, write=access_of(where, one.array.name))


def _replacements(
    one: Expanded, statements: dict[str, Statement]
) -> dict[str, dict[Access, Access]]:
    """Return what stands in the place of each read of a web, by statement."""
    found: dict[str, dict[Access, Access]] = {}
    for read in one.web.reads:
        statement = statements[read.statement]
        relation = isl.Map(read.access.relation)
        version = one.versions.of_read(read)
        where = _element(version, relation)
        running = isl.Set(statement.domain)
        if not running.is_subset(relation.domain()):  # a condition of the source is kept
            where = where.intersect_domain(relation.domain())
        access = access_of(where, one.array.name)
        written = statement.write
        if written.array == access.array and isl.Map(written.relation).is_equal(
            isl.Map(access.relation)
        ):
            access = written
        found.setdefault(read.statement, {})[read.access] = access
    return found


def _element(version: isl.Map, relation: isl.Map) -> isl.Map:
    """Return the element of the new array: the version, then the subscripts of the old one."""
    own = relation.reset_tuple_id(isl.dim_type.out)
    return simplest(version.flat_range_product(own))


def _text(statement: Statement) -> str:
    return f"{statement.write.text} = {c_expression(statement.body)};"


def _without_unused(scop: Scop) -> Scop:
    """Return the program without variables of the function's own that nothing uses any more."""
    used = {access.array for one in scop.statements for access in (one.write, *one.reads)} | set(
        scop.signature
    )
    own = (Storage.LOCAL, Storage.BLOCK)
    return replace(
        scop,
        arrays=tuple(
            array for array in scop.arrays if array.name in used or array.storage not in own
        ),
    )
