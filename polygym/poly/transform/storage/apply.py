"""Application of a storage plan: Scop → Scop.

The result is a program as any other: its new arrays stand beside the source's, live on the heap
while it runs and invisible from outside; its statements write and read other elements. So
dependences, legality, schedules and code are those of any program, and what the plan has freed
shows as dependences that are not there. ::

    for i:                          for i:
      w = 0;                          w_1[i] = 0;
      for k: w += A[i][k] * x[k];  →  for k: w_1[i] += A[i][k] * x[k];       w=expand:i
      y[i] = w;                       y[i] = w_1[i];

What memory held before the region and is read is copied in beforehand, what is left in the end and
can be seen is copied out behind everything (:mod:`polygym.poly.transform.storage.copy_statements`).

Side condition, which :mod:`polygym.poly.transform.storage.copy_statements` proves of every result:
each read sees the value that it saw before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import islpy as isl

from polygym.errors import InputError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import isl_text
from polygym.poly.transform.storage import copy_statements
from polygym.poly.transform.storage.overlapped_tiles import with_overlapped_tiles
from polygym.poly.transform.storage.plan import StorageEntry, StoragePlan
from polygym.poly.transform.storage.read_copies import with_read_copies
from polygym.poly.transform.storage.versions import (
    ArrayVersions,
    simplify_function,
    versions_for_web,
)
from polygym.poly.transform.storage.webs import Web, webs_of


@dataclass(frozen=True, eq=False)
class ExpandedWeb:
    """A web with the array that it gets."""

    web: Web
    versions: ArrayVersions
    array: Array


def apply_plan(scop: Scop, plan: StoragePlan) -> Scop:
    """Return the program with its arrays where the plan has them; the same one where it keeps all.

    Raises:
        InputError: the plan does not fit the program, or would change what it computes.
        LimitError: it would take too long to find out.
    """
    if plan.is_source:
        return scop
    if plan.overlapped_tile:
        scop = with_overlapped_tiles(scop, plan.overlapped_tile)
    if plan.copies:
        scop = with_read_copies(scop, plan.copies)
    return _apply_entries(scop, plan.entries, plan.dead) if plan.entries or plan.dead else scop


@lru_cache(maxsize=64)
def _apply_entries(scop: Scop, entries: tuple[StorageEntry, ...], dead: tuple[str, ...]) -> Scop:
    plan = StoragePlan(entries, dead=dead)
    expect_plan_fits(scop, plan)
    unseen = _without_live_out(scop, dead)
    with bounded_operations("changing where arrays are stored"):
        names = set(scop.names)
        expanded = tuple(_expanded_webs(unseen, plan, names))
        result = _rewrite_accesses(unseen, expanded, names)
        copy_statements.expect_same_values(
            unseen, result, {web.array.name: web.web.array for web in expanded}
        )
    declared = {array.name: array for array in scop.arrays}
    arrays = tuple(declared.get(array.name, array) for array in result.arrays)
    return verify(replace(result, arrays=arrays))


def _without_live_out(scop: Scop, dead: tuple[str, ...]) -> Scop:
    """Return the program as if arrays were its function's own: their last values are invisible."""
    return replace(
        scop,
        arrays=tuple(
            replace(array, storage_class=StorageClass.LOCAL, live_out=False)
            if array.name in dead
            else array
            for array in scop.arrays
        ),
    )


def expect_plan_fits(scop: Scop, plan: StoragePlan) -> None:
    """Refuse entries for what is not there.

    Raises:
        InputError: an array, a statement or a loop is none of the program's.
    """
    for entry in (*plan.entries, *(StorageEntry(array, ()) for array in plan.dead)):
        writers = [
            statement for statement in scop.statements if statement.write.array == entry.array
        ]
        if not writers:
            known = dict.fromkeys(statement.write.array for statement in scop.statements)
            raise InputError(
                f"storage: expected an array that {scop.name} writes, {', '.join(known)}, found "
                f"{entry.array}"
            )
        names = [writer.name for writer in writers]
        if entry.statement and entry.statement not in names:
            raise InputError(
                f"storage: expected a statement that writes {entry.array}, {', '.join(names)}, "
                f"found {entry.statement}"
            )
        loops = dict.fromkeys(name for writer in writers for name in writer.iterators)
        for along in entry.loops or ():
            if along.loop not in loops:
                raise InputError(
                    f"storage: {entry}: expected a loop around what writes {entry.array}, "
                    f"{', '.join(loops) or '(none)'}, found {along.loop}"
                )


def _expanded_webs(scop: Scop, plan: StoragePlan, names: set[str]) -> Iterator[ExpandedWeb]:
    """Yield every web that the plan changes, with its new array."""
    for array in scop.arrays:
        is_named = any(entry.array == array.name for entry in plan.entries)
        if not is_named and array.name not in plan.dead:
            continue
        for web in webs_of(scop, array.name):
            entry = plan.entry_for(array.name, web.names)
            if entry is None:
                continue
            versions = versions_for_web(scop, web, entry)
            new = _array(array, versions, names)
            if entry.is_privatized and versions.loops:
                new = replace(new, storage_class=StorageClass.PRIVATE)
            yield ExpandedWeb(web, versions, new)


def _array(array: Array, versions: ArrayVersions, names: set[str]) -> Array:
    """Return the new array of a web: its versions, then the array's own dimensions."""
    return Array(
        copy_statements.numbered_name(array.name, names),
        array.type,
        (*map(isl_text, versions.sizes), *array.extents),
        (*map(copy_statements.size_c_text, versions.sizes), *array.c_extents),
        StorageClass.SCRATCH,
        live_out=False,
    )


def _rewrite_accesses(scop: Scop, expanded: tuple[ExpandedWeb, ...], names: set[str]) -> Scop:
    """Return the program in which statements use the new arrays."""
    statements = {statement.name: statement for statement in scop.statements}
    copies = copy_statements.CopyStatements(scop, names)
    for web in expanded:
        for writer in web.web.writers:
            statements[writer.name] = _rewrite_write(statements[writer.name], web)
        for statement, replacements in _replacements(web, statements).items():
            before = statements[statement]
            body = replace_accesses(before.body, replacements)
            statements[statement] = replace(before, body=body)
        copies.add(web.web, web.versions, web.array)
    arrays = (*scop.arrays, *(expanded_web.array for expanded_web in expanded))
    changed = tuple(
        statement
        if statement == scop.statement(statement.name)
        else replace(statement, text=f"{statement.write.text} = {c_expression(statement.body)};")
        for statement in statements.values()
    )
    return _without_unused(copies.surround(replace(scop, arrays=arrays, statements=changed)))


def _rewrite_write(statement: Statement, expanded: ExpandedWeb) -> Statement:
    """Return a statement that writes to the new array."""
    where = _element(expanded.versions.writes[statement.name], isl.Map(statement.write.relation))
    return replace(statement, write=copy_statements.access_from_map(where, expanded.array.name))


def _replacements(
    expanded: ExpandedWeb, statements: dict[str, Statement]
) -> dict[str, dict[Access, Access]]:
    """Return what stands in the place of each read of a web, by statement."""
    accesses: dict[str, dict[Access, Access]] = {}
    for read in expanded.web.reads:
        statement = statements[read.statement]
        relation = isl.Map(read.access.relation)
        version = expanded.versions.read_versions(read)
        where = _element(version, relation)
        running = isl.Set(statement.domain)
        if not running.is_subset(relation.domain()):  # a condition of the source is kept
            where = where.intersect_domain(relation.domain())
        access = copy_statements.access_from_map(where, expanded.array.name)
        written = statement.write
        if written.array == access.array and isl.Map(written.relation).is_equal(
            isl.Map(access.relation)
        ):
            access = written
        accesses.setdefault(read.statement, {})[read.access] = access
    return accesses


def _element(version: isl.Map, relation: isl.Map) -> isl.Map:
    """Return the element of the new array: the version, then the subscripts of the old one."""
    own = relation.reset_tuple_id(isl.dim_type.out)
    return simplify_function(version.flat_range_product(own))


def _without_unused(scop: Scop) -> Scop:
    """Return the program without variables of the function's own that nothing uses any more."""
    used = {
        access.array
        for statement in scop.statements
        for access in (statement.write, *statement.reads)
    } | set(scop.signature)
    own = (StorageClass.LOCAL, StorageClass.BLOCK)
    return replace(
        scop,
        arrays=tuple(
            array for array in scop.arrays if array.name in used or array.storage_class not in own
        ),
    )
