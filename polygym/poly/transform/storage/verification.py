"""Proof that a program with other storage computes the same values.

Two programs that run the same instances of the same statements in the same order compute the same
if every read sees the same value in both: the value of the same writing instance, or what memory
held before. Both are asked of isl's dataflow analysis, of the program before and after, for all
sizes, and compared as sets. Copies are looked through: a read that sees an element that was copied
in has to see the one that the read of the source saw, and what is copied out is to be the value
that was left. ::

    before   S1[i, k] sees S0[i] where k = 0, otherwise S1[i, k - 1]
    after    the same, in w_1[i]; or something else, and then the plan is refused

Nothing here knows how versions were chosen. So a choice of versions may be wrong, and then it is
refused; it cannot be wrong and go unnoticed.
"""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import InputError, InternalError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access, Expression
from polygym.ir.scop import Scop, Statement
from polygym.poly.transform.storage.webs import WebRead, live_out_writers, reads_of

# Something that was copied in and is copied out again goes through two copies.
_MOST_COPIES = 2


def expect_same_values(before: Scop, after: Scop, source_arrays: Mapping[str, str]) -> None:
    """Refuse a program in which some read does not see what it saw before.

    ``source_arrays`` are the arrays that are new ``after``, with the array of the source that each
    one stands for. Statements that are new are copies, of which every one copies one element.

    Raises:
        InputError: there is such a read, or an element that is left with another value.
    """
    known = {statement.name for statement in before.statements}
    copied = _copied_values(after, known)
    for statement in before.statements:
        now = after.statement(statement.name)
        _expect_same_text(statement, now, source_arrays)
        for old, new in dict.fromkeys(zip(statement.reads, now.reads, strict=True)):
            if old.array not in source_arrays.values():
                continue
            wanted = _values_read(_read(before, statement.name, old.array, old.relation))
            union_map = _resolve_copies(
                _values_read(_read(after, now.name, new.array, new.relation)), copied
            )
            if not wanted.is_equal(union_map):
                raise InputError(
                    f"storage: under this plan {statement.name} would not see the value of "
                    f"{old.text} that it sees in the source"
                )
    for array in dict.fromkeys(source_arrays.values()):
        if not before.array(array).is_observable:
            continue
        wanted = live_out_writers(before, array).reverse()
        union_map = _resolve_copies(live_out_writers(after, array).reverse(), copied)
        if not wanted.is_equal(union_map):
            raise InputError(
                f"storage: under this plan {array} would not be left with the values that the "
                "source leaves in it"
            )


def _expect_same_text(
    before: Statement, after: Statement, source_arrays: Mapping[str, str]
) -> None:
    """Make sure that a statement is what it was but for the elements that it touches."""
    is_same = (
        _outline(before, {}) == _outline(after, source_arrays) and before.domain == after.domain
    )
    for old, new in ((before.write, after.write), *zip(before.reads, after.reads, strict=True)):
        is_same &= old == new or source_arrays.get(new.array) == old.array
    if not is_same:
        raise InternalError(f"storage: statement {before.name} has become another one")


def _outline(statement: Statement, source_arrays: Mapping[str, str]) -> Expression:
    """Return what a statement computes, of arrays of the source, whichever elements."""
    names = {access: source_arrays.get(access.array, access.array) for access in statement.reads}
    return replace_accesses(
        statement.body, {one: Access(name, "", "") for one, name in names.items()}
    )


def _read(scop: Scop, statement: str, array: str, relation: str) -> WebRead:
    return next(
        read
        for read in reads_of(scop, array)
        if (read.statement, read.access.relation) == (statement, relation)
    )


def _values_read(read: WebRead) -> isl.UnionMap:
    """Return what each instance sees: a writing instance, or an element as it was before."""
    return read.sources.reverse().union(read.initial).coalesce()


def _copied_values(after: Scop, known: set[str]) -> isl.UnionMap:
    """Return what the instances of copies see, of which they are no more than other names."""
    union_map = isl.UnionMap("{ }")
    for statement in after.statements:
        if statement.name in known:
            continue
        (access,) = statement.reads
        union_map = union_map.union(
            _values_read(_read(after, statement.name, access.array, access.relation))
        )
    return union_map


def _resolve_copies(seen: isl.UnionMap, copied: isl.UnionMap) -> isl.UnionMap:
    """Return what is seen with copies replaced by what they copy."""
    for _ in range(_MOST_COPIES):
        is_copy = seen.intersect_range(copied.domain())
        if is_copy.is_empty():
            break
        seen = seen.subtract(is_copy).union(is_copy.apply_range(copied))
    return seen
