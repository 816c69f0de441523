"""Brute force: does a tree keep every dependence, however its annotations are carried out?

All pairs of dependent instances of a small run go down the tree together, as long as they have the
same values. A sequential member may only separate a pair forwards. A member whose iterations run
in parallel, jammed or in lanes must not separate any, but for a jammed one around a single
statement, if the loops inside separate the same pairs forwards, too. At a leaf nothing may be left.
What a loop holds in registers nothing else may touch while it runs, but for reads by a jammed
iteration before the one that writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from polygym.codegen.common.loop_annotation import (
    DiagonalLoop,
    LaneRows,
    ParallelLoop,
    ScalarReplacement,
    SequentialLoop,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.tree.ir import Band, BandMember, Branch, Leaf, Tree
from polygym.codegen.tree.ir import SequenceNode as SequenceTree
from polygym.ir.scop import Scop
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.instances import (
    Element,
    Instance,
    Trace,
    dependences_by_force,
    pairs,
    points,
    trace,
)


@dataclass(frozen=True)
class Run:
    """One small run of a program: its instances, what they touch, which of them depend."""

    scop: Scop
    sizes: Mapping[str, int]
    trace: Trace
    dependent: frozenset[tuple[Instance, Instance]]

    @staticmethod
    def of(scop: Scop, sizes: Mapping[str, int]) -> Run:
        """Run a program in its original order."""
        result = trace(scop, original_schedule(scop), sizes)
        dependent = frozenset[tuple[Instance, Instance]]().union(
            *dependences_by_force(result).values()
        )
        return Run(scop, sizes, result, dependent)


def row_value(row: ScheduleRow, point: Sequence[int], sizes: Sequence[int]) -> int:
    """Return what a row gives for an instance."""
    terms = zip((*row.iterators, *row.parameters), (*point, *sizes), strict=True)
    return sum(a * b for a, b in terms) + row.constant


def member_value(
    member: BandMember, statements: tuple[str, ...], instance: Instance, sizes: Sequence[int]
) -> int:
    """Return in which iteration of a member an instance runs."""
    name, point = instance
    place = statements.index(name)
    return sum(row_value(part.rows[place], point, sizes) // part.size for part in member.terms)


def check_tree(tree: Tree, run: Run, parameters: tuple[str, ...]) -> None:
    """Assert that a mapped tree is right for one small run."""
    sizes = tuple(run.sizes[name] for name in parameters)
    _check(tree, run, sizes, frozenset(run.trace.order), run.dependent)


def _check(
    tree: Tree,
    run: Run,
    sizes: tuple[int, ...],
    instances: frozenset[Instance],
    dependent: frozenset[tuple[Instance, Instance]],
) -> None:
    """Check a part of the tree for instances, and pairs of them, that share all values so far."""
    match tree:
        case Leaf():
            assert not dependent, f"nothing orders {min(dependent)}"
        case SequenceTree(branches):
            group = {i: _branch(branches, i, sizes) for i in instances}
            for source, sink in dependent:
                assert group[source] <= group[sink], f"{sink} before {source}"
            for k, branch in enumerate(branches):
                inside = frozenset(i for i in instances if group[i] == k)
                _check(branch.child, run, sizes, inside, _among(dependent, inside))
        case Band(statements, members, child):
            assert {name for name, _ in instances} <= set(statements)
            for place, member in enumerate(members):
                value = {i: member_value(member, statements, i, sizes) for i in instances}
                for source, sink in dependent:
                    apart = value[sink] - value[source]
                    match member.annotation:
                        case SequentialLoop() | ScalarReplacement():
                            assert apart >= 0, f"{sink} before {source} at {place}"
                        case UnrollAndJam() if len(statements) == 1 and isinstance(child, Leaf):
                            for inner in members[place:]:
                                before, after = (
                                    member_value(inner, statements, i, sizes)
                                    for i in (source, sink)
                                )
                                assert apart == 0 or after >= before, f"{sink} before {source}"
                        case (
                            ParallelLoop()
                            | UnrollAndJam()
                            | VectorLoop()
                            | LaneRows()
                            | DiagonalLoop()
                        ):
                            assert apart == 0, f"{source} and {sink} run together at {place}"
                        case _:
                            assert_never(member.annotation)
                if isinstance(member.annotation, ScalarReplacement):
                    assert place == len(members) - 1, "held inside another loop"
                    # The loops around stand still, but for copies that run together.
                    jammed = [
                        band_member
                        for band_member in members
                        if isinstance(
                            band_member.annotation, DiagonalLoop | UnrollAndJam | LaneRows
                        )
                    ]
                    copy = {
                        i: tuple(member_value(node, statements, i, sizes) for node in jammed)
                        for i in instances
                    }
                    for group_ in _standing(members, statements, instances, sizes):
                        _check_held(run, member.annotation.statements, group_, copy)
                dependent = frozenset(p for p in dependent if value[p[0]] == value[p[1]])
            for same in _groups(members, statements, instances, sizes):
                _check(child, run, sizes, same, _among(dependent, same))


def _branch(branches: Sequence[Branch], instance: Instance, sizes: tuple[int, ...]) -> int:
    """Return the number of the one branch that an instance is in."""
    name, point = instance
    entered = []
    for number, branch in enumerate(branches):
        if name not in branch.statements:
            continue
        where = branch.predicate
        if where is not None:
            place = branch.statements.index(name)
            numbers = [
                row_value(part.rows[place], point, sizes) // part.size
                for part in where.tile_coordinates
            ]
            is_there = any(
                all(
                    sum(a * b for a, b in zip(factors, numbers, strict=True)) + constant >= 0
                    for factors, constant in every
                )
                for every in where.conditions
            )
            is_there = is_there and where.splits(name)
            if is_there == where.is_complement:
                continue
        entered.append(number)
    (only,) = entered
    return only


def _among(
    dependent: frozenset[tuple[Instance, Instance]], instances: frozenset[Instance]
) -> frozenset[tuple[Instance, Instance]]:
    return frozenset(p for p in dependent if p[0] in instances and p[1] in instances)


def _groups(
    members: Iterable[BandMember],
    statements: tuple[str, ...],
    instances: frozenset[Instance],
    sizes: tuple[int, ...],
) -> list[frozenset[Instance]]:
    """Return the instances that share the values of all members."""
    members = tuple(members)
    result: dict[tuple[int, ...], set[Instance]] = defaultdict(set)
    for i in instances:
        result[tuple(member_value(member, statements, i, sizes) for member in members)].add(i)
    return [frozenset(group) for group in result.values()]


def _standing(
    members: Sequence[BandMember],
    statements: tuple[str, ...],
    instances: frozenset[Instance],
    sizes: tuple[int, ...],
) -> list[frozenset[Instance]]:
    standing = [
        m
        for m in members
        if not isinstance(
            m.annotation, DiagonalLoop | ScalarReplacement | UnrollAndJam | LaneRows | VectorLoop
        )
    ]
    return _groups(standing, statements, instances, sizes)


def _check_held(
    run: Run,
    held: frozenset[str],
    instances: frozenset[Instance],
    copy: Mapping[Instance, tuple[int, ...]],
) -> None:
    """Assert that what ``held`` statements write is touched by nobody else, in a ``copy`` each."""
    written: dict[Element, set[tuple[str, tuple[int, ...]]]] = defaultdict(set)
    for instance in instances:
        if instance[0] in held:
            for element in run.trace.writes[instance]:
                written[element].add((instance[0], copy[instance]))
    for name, point in instances:
        statement = run.scop.statement(name)
        mine = {(name, copy[name, point])}
        for element in run.trace.writes[name, point]:
            assert written.get(element, mine) == mine, f"{name} writes the held {element}"
        own = {name} if name in held else set()
        for position, _ in enumerate(statement.reads):
            if own and position in statement.accumulator_reads:
                continue
            for element in _read(run, name, position, point):
                later = all(number > copy[name, point] for _, number in written.get(element, ()))
                assert later, f"{name}{point} reads the held {element}"


def _read(run: Run, name: str, position: int, point: tuple[int, ...]) -> set[Element]:
    return access_functions(run)[name, position].get(point, set())


_FUNCTIONS: dict[int, tuple[Run, dict]] = {}


def access_functions(run: Run) -> dict:
    """Return for every read, and for the write as number -1, what its instances touch."""
    import islpy as isl

    if id(run) not in _FUNCTIONS:
        functions: dict = {}
        for statement in run.scop.statements:
            domain = isl.Set(statement.domain)
            for number, access in [*enumerate(statement.reads), (-1, statement.write)]:
                table: dict = defaultdict(set)
                for point, element in pairs(
                    isl.Map(access.relation).intersect_domain(domain), run.sizes
                ):
                    table[point].add((access.array, element))
                functions[statement.name, number] = dict(table)
        _FUNCTIONS[id(run)] = (run, functions)
    return _FUNCTIONS[id(run)][1]


__all__ = ["Run", "access_functions", "check_tree", "member_value", "points", "row_value"]
