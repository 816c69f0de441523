"""Private arrays that stay private under a schedule, as far as the schedule's tree tells.

A plan may call an array private: each thread has it for one iteration at a time of the loops that
it runs, if no other iteration needs what is in it, and else it is memory that all share, with an
element for every iteration (:mod:`polygym.codegen.transforms.privatization`). That is decided when
the code is made; features of a candidate want to know it before, since the one costs as little as a
scalar, and the other a pass through memory.

In the tree all statements that touch the array have some loops in common, and then part ways. It is
private if there are so many of the common loops, the outermost that may be parallel among them,
that each element is touched in one of their iterations alone.

Example: ``for i: for j: { w[i][j] = …;  y[i][j] = w[i][j] + …; }`` in one nest: w[3][4] is touched
where i = 3 and j = 4, so it is private. Where a schedule has parted the loops, first all of w, then
all of y, there is no loop in common, and w is shared.

It is what the schedule allows: where nests inside of a common loop get tiles of their own, planning
parts that loop too, and what was an element for each of its iterations is shared after all.
"""

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree
from polygym.errors import LimitError
from polygym.ir.expressions import Access
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Array, Scop, Statement, StorageClass
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import ScheduleRow, parameter_names


def with_private_arrays(scop: Scop, tree: Tree) -> Scop:
    """Return the program whose arrays are private where they are so under a schedule's tree."""
    if all(array.storage_class not in PRIVATE_STORAGE_CLASSES for array in scop.arrays):
        return scop
    arrays = tuple(
        replace(array, storage_class=StorageClass.SCRATCH)
        if array.storage_class in PRIVATE_STORAGE_CLASSES and not _is_private(scop, tree, array)
        else array
        for array in scop.arrays
    )
    return replace(scop, arrays=arrays)


def has_private_arrays(legal: LegalSchedule) -> bool:
    """Whether threads have something for themselves under a schedule, as far as its tree tells."""
    return any(
        array.storage_class in PRIVATE_STORAGE_CLASSES
        for array in with_private_arrays_under(legal).arrays
    )


def with_private_arrays_under(legal: LegalSchedule) -> Scop:
    """Return the program with what is private under a schedule; its tree is built if it matters."""
    if all(array.storage_class not in PRIVATE_STORAGE_CLASSES for array in legal.scop.arrays):
        return legal.scop
    return with_private_arrays(legal.scop, build_tree(legal))


def _is_private(scop: Scop, tree: Tree, array: Array) -> bool:
    touching = {
        statement: own
        for statement in scop.statements
        if (
            own := [
                each for each in (statement.write, *statement.reads) if each.array == array.name
            ]
        )
    }
    names = frozenset(toucher.name for toucher in touching)
    common = list(_common_loops(tree, names))
    least = next((place for place, (member, _) in enumerate(common) if member.coincident), 0) + 1
    try:
        with bounded_operations("looking for what threads have for themselves"):
            return any(
                _are_disjoint(scop, touching, [rows for _, rows in common[:depth]])
                for depth in range(len(common), least - 1, -1)
            )
    except LimitError:
        return False


def _common_loops(
    tree: Tree, names: frozenset[str]
) -> Iterator[tuple[BandMember, dict[str, ScheduleRow]]]:
    """Yield the loops that some statements have in common, each with its row for all of them."""
    match tree:
        case Leaf():
            return
        case Band(statements, members, child):
            for member in members:
                yield member, dict(zip(statements, member.rows, strict=True))
            yield from _common_loops(child, names)
        case SequenceNode(branches):
            for branch in branches:
                if branch.predicate is None and names <= set(branch.statements):
                    yield from _common_loops(branch.child, names)


def _are_disjoint(
    scop: Scop, touching: dict[Statement, list[Access]], loops: list[dict[str, ScheduleRow]]
) -> bool:
    """Whether every element is touched in one iteration of some loops alone."""
    parameters = parameter_names(scop)
    result: isl.Map | None = None
    for statement, accesses in touching.items():
        rows = [
            schedule_rows[statement.name].text(statement.iterators, parameters)
            for schedule_rows in loops
        ]
        where = f"{statement.name}[{', '.join(statement.iterators)}]"
        times = isl.Map(f"[{', '.join(parameters)}] -> {{ {where} -> [{', '.join(rows)}] }}")
        times = times.intersect_domain(isl.Set(statement.domain))
        for access in accesses:
            own = isl.Map(access.relation).reverse().apply_range(times)
            result = own if result is None else result.union(own)
    return result is None or bool(result.is_single_valued())
