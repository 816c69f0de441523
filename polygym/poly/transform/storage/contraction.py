"""An array of which only a window is alive at a time becomes smaller: Scop → Scop.

::

    w_1[i][k + 1] = w_1[i][k] + A[i][k]   →   w_1[i] = w_1[i] + A[i][k]        window 1 along k
    f_1[i] = f_1[i - 1] + f_1[i - 2]      →   f_1[i % 2] = f_1[(i - 1) % 2] + f_1[i % 2]

Windows belong to a schedule: in another order more may be alive. So the result is a program whose
own order is that of the schedule (with the order of before where that leaves something open), and
what proves it right is proved in that order: every read sees the value that it saw, and the
schedule respects every dependence that the smaller arrays bring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.verifier import verify
from polygym.poly.isl_values import isl_text
from polygym.poly.schedule import Schedule
from polygym.poly.transform.storage.access_texts import access_from_map
from polygym.poly.transform.storage.verification import expect_same_values


def contract_arrays(scop: Scop, schedule: Schedule, windows: Mapping[str, tuple[int, ...]]) -> Scop:
    """Return the program with arrays of these windows, in the order of a legal schedule.

    A window of 1 leaves the dimension out, 0 leaves it as it is.

    Raises:
        InputError: under this schedule some value would be lost.
    """
    changes = {array: _contraction_map(array, own) for array, own in windows.items() if any(own)}
    if not changes:
        return scop
    arrays = tuple(
        _contracted_array(array, windows[array.name]) if array.name in changes else array
        for array in scop.arrays
    )
    order = isl.UnionMap(str(schedule)).flat_range_product(isl.UnionMap(scop.schedule))
    result = replace(
        scop,
        arrays=arrays,
        statements=tuple(_rewrite_statement(statement, changes) for statement in scop.statements),
        schedule=isl_text(order),
    )
    expect_same_values(scop, result, {array: array for array in changes})
    return verify(result)


def _contraction_map(array: str, windows: tuple[int, ...]) -> isl.Map:
    """Return which element of the smaller array stands for each element."""
    names = [f"x{place}" for place in range(len(windows))]
    left = [
        f"{name} mod {window}" if window else name
        for name, window in zip(names, windows, strict=True)
        if window != 1
    ]
    return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join(left)}] }}")


def _contracted_array(array: Array, windows: tuple[int, ...]) -> Array:
    extents, texts = [], []
    for extent, text, window in zip(array.extents, array.c_extents, windows, strict=True):
        if window == 1:
            continue
        extents.append(f"{{ [({window})] }}" if window else extent)
        texts.append(str(window) if window else text)
    return replace(
        array, extents=tuple(extents), c_extents=tuple(texts), storage_class=StorageClass.SCRATCH
    )


def _rewrite_statement(statement: Statement, changes: Mapping[str, isl.Map]) -> Statement:
    """Return a statement that uses the smaller arrays."""
    new = {
        access: _access(access, changes[access.array])
        for access in (statement.write, *statement.reads)
        if access.array in changes
    }
    if not new:
        return statement
    write = new.get(statement.write, statement.write)
    # What is the same element is to be the same text: sums are known by it.
    same = {before: write if now.relation == write.relation else now for before, now in new.items()}
    body = replace_accesses(statement.body, same)
    return replace(statement, write=write, body=body, text=f"{write.text} = {c_expression(body)};")


def _access(access: Access, change: isl.Map) -> Access:
    return access_from_map(isl.Map(access.relation).apply_range(change).coalesce(), access.array)
