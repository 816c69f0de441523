"""Contraction of a program's own arrays under a schedule that keeps every loop as it is.

An array that was expanded far has elements that no schedule needs at the same time. How many it
needs depends on what is left open: iterations of a parallel loop run at the same time, and those of
a band in any order of its tiles. So the order that counts is the one that is certain in the tree of
the schedule. Instance a runs before b for certain if, at the first place of the tree where they
differ,

* a sequence has a's statement in an earlier branch, or
* a band has δ ≥ 0 on all of its members, δ = 0 on those that are coincident, and not 0 on all.

Windows (:mod:`polygym.poly.transform.storage.contraction`) that respect this order bring
dependences which no member of any band minds: what was permutable and what was parallel still is.
That is looked at again in the end, as is the legality of the schedule; where a tree is another one
all the same, the arrays stay as they are.
"""

from collections.abc import Collection, Iterator

import islpy as isl

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree
from polygym.errors import IllegalScheduleError, InputError, LimitError
from polygym.ir.scop import Scop, StorageClass
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parameter_names
from polygym.poly.transform.storage.contraction import contract_arrays, liveness_windows
from polygym.poly.transform.storage.memory_cost import new_arrays
from polygym.poly.transform.storage.plan import StoragePlan


def legal_with_storage(plan: StoragePlan, scop: Scop, schedule: Schedule) -> LegalSchedule:
    """Return a schedule of a program under a plan, as code is made of it.

    Raises:
        IllegalScheduleError: it does not respect the program's dependences.
    """
    legal = LegalSchedule(scop, schedule)
    return contract_legal(legal) if plan.has_contraction else legal


def contract_legal(legal: LegalSchedule, arrays: Collection[str] | None = None) -> LegalSchedule:
    """Return the schedule of a program whose new arrays have the windows that they need.

    They are those of some names, or all but the private ones.
    """
    chosen = {
        array.name
        for array in new_arrays(legal.scop)
        if (array.storage_class is StorageClass.SCRATCH if arrays is None else array.name in arrays)
    }
    tree = build_tree(legal)
    try:
        with bounded_operations("finding how much of an array is alive"):
            certain = certain_order(legal.scop, tree)
            windows = {name: liveness_windows(legal.scop, certain, name) for name in sorted(chosen)}
            smaller = contract_arrays(legal.scop, legal.schedule, windows)
        schedule = LegalSchedule(smaller, legal.schedule)
    except (IllegalScheduleError, InputError, LimitError):
        return legal
    return schedule if build_tree(schedule) == tree else legal


def certain_order(scop: Scop, tree: Tree) -> isl.UnionMap:
    """Return the pairs of instances of which the first runs before the second for certain."""
    names = tuple(statement.name for statement in scop.statements)
    union_map = isl.UnionMap("{ }")
    domains = {statement.name: isl.Set(statement.domain) for statement in scop.statements}
    for source, sink, pairs in _certain_pairs(scop, tree, names):
        union_map = union_map.union(
            isl.UnionMap.from_map(
                pairs.intersect_domain(domains[source]).intersect_range(domains[sink])
            )
        )
    return union_map


def _certain_pairs(
    scop: Scop, tree: Tree, statements: tuple[str, ...]
) -> Iterator[tuple[str, str, isl.Map]]:
    """Yield the certain pairs of every two statements, part by part."""
    spaces = {
        statement.name: isl.Set(statement.domain).get_space() for statement in scop.statements
    }
    together = {
        (source, sink): isl.Map.from_domain_and_range(
            isl.Set.universe(spaces[source]), isl.Set.universe(spaces[sink])
        )
        for source in statements
        for sink in statements
    }
    yield from _certain_pairs_below(scop, tree, together)


def _certain_pairs_below(
    scop: Scop, tree: Tree, unordered: dict[tuple[str, str], isl.Map]
) -> Iterator[tuple[str, str, isl.Map]]:
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for place, branch in enumerate(branches):
                later = [name for other in branches[place + 1 :] for name in other.statements]
                for source in branch.statements:
                    for sink in later:
                        yield source, sink, unordered[source, sink]
                inside = {
                    key: pairs
                    for key, pairs in unordered.items()
                    if set(key) <= set(branch.statements)
                }
                yield from _certain_pairs_below(scop, branch.child, inside)
        case Band(statements, members, child):
            times = {name: _band_times(scop, tree, name) for name in statements}
            ordered = _tile_order_pairs(members)
            same: dict[tuple[str, str], isl.Map] = {}
            for (source, sink), pairs in unordered.items():
                back = times[sink].reverse()
                before = times[source].apply_range(ordered).apply_range(back)
                yield source, sink, pairs.intersect(before)
                same[source, sink] = pairs.intersect(times[source].apply_range(back))
            yield from _certain_pairs_below(scop, child, same)


def _band_times(scop: Scop, band: Band, name: str) -> isl.Map:
    """Return the values of a band's members for the instances of a statement."""
    statement = scop.statement(name)
    parameters = parameter_names(scop)
    place = band.statements.index(name)
    rows = [member.rows[place].text(statement.iterators, parameters) for member in band.members]
    where = f"{name}[{', '.join(statement.iterators)}]"
    return isl.Map(f"[{', '.join(parameters)}] -> {{ {where} -> [{', '.join(rows)}] }}")


def _tile_order_pairs(members: tuple[BandMember, ...]) -> isl.Map:
    """Return the pairs of values of a band of which the first comes first in any order of tiles."""
    first = [f"a{place}" for place in range(len(members))]
    second = [f"b{place}" for place in range(len(members))]
    conditions = [
        f"{a} = {b}" if member.coincident else f"{a} <= {b}"
        for a, b, member in zip(first, second, members, strict=True)
    ]
    conditions.append(f"{' + '.join(first)} < {' + '.join(second)}")
    return isl.Map(
        f"{{ [{', '.join(first)}] -> [{', '.join(second)}] : {' and '.join(conditions)} }}"
    )
