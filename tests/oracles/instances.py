"""Brute force: a program as the explicit list of its instances, and its dependences read off it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polygym.ir.scop import Scop
from polygym.poly.dependences import DependenceKind
from polygym.poly.schedule import Schedule

Instance = tuple[str, tuple[int, ...]]
Element = tuple[str, tuple[int, ...]]


def points(text_or_set: str | isl.Set, parameters: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Return all points of a set for fixed parameters."""
    result: list[tuple[int, ...]] = []
    fixed = _fix(isl.Set(text_or_set) if isinstance(text_or_set, str) else text_or_set, parameters)
    count = fixed.dim(isl.dim_type.set)

    def visit(point: isl.Point) -> None:
        result.append(
            tuple(
                int(point.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(count)
            )
        )

    fixed.foreach_point(visit)
    return result


def pairs(
    relation: isl.Map, parameters: Mapping[str, int]
) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all pairs of a map for fixed parameters."""
    depth = relation.dim(isl.dim_type.in_)
    flat = relation.wrap().flatten()
    return {(point[:depth], point[depth:]) for point in points(flat, parameters)}


def _fix(values: isl.Set, parameters: Mapping[str, int]) -> isl.Set:
    for name, value in parameters.items():
        position = values.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            values = values.fix_val(isl.dim_type.param, position, isl.Val(value))
    return values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))


@dataclass(frozen=True)
class Trace:
    """The instances in the original order, with the elements that each reads and writes."""

    order: tuple[Instance, ...]
    reads: Mapping[Instance, frozenset[Element]]
    writes: Mapping[Instance, frozenset[Element]]


def time_vector(
    schedule: Schedule, instance: Instance, parameters: Mapping[str, int]
) -> tuple[int, ...]:
    """Return when a schedule runs an instance."""
    name, values = instance
    numbers = [parameters[p] for p in schedule.parameters]
    return tuple(
        sum(a * b for a, b in zip(row.iterators, values, strict=True))
        + sum(a * b for a, b in zip(row.parameters, numbers, strict=True))
        + row.constant
        for row in schedule.rows(name)
    )


def instances(scop: Scop, parameters: Mapping[str, int]) -> list[Instance]:
    """Return all instances of a program."""
    return [(s.name, point) for s in scop.statements for point in points(s.domain, parameters)]


def trace(scop: Scop, schedule: Schedule, parameters: Mapping[str, int]) -> Trace:
    """Enumerate a program in the order of a schedule without ties."""
    reads: dict[Instance, frozenset[Element]] = {}
    writes: dict[Instance, frozenset[Element]] = {}
    for statement in scop.statements:
        read: dict[tuple[int, ...], set[Element]] = defaultdict(set)
        written: dict[tuple[int, ...], set[Element]] = defaultdict(set)
        for target, accesses in ((read, statement.reads), (written, (statement.write,))):
            for access in accesses:
                run = isl.Map(access.relation).intersect_domain(isl.Set(statement.domain))
                for point, element in pairs(run, parameters):
                    target[point].add((access.array, element))
        for point in points(statement.domain, parameters):
            reads[statement.name, point] = frozenset(read[point])
            writes[statement.name, point] = frozenset(written[point])
    order = sorted(reads, key=lambda instance: time_vector(schedule, instance, parameters))
    times = [time_vector(schedule, instance, parameters) for instance in order]
    assert len(set(times)) == len(times), "the original order has ties"
    return Trace(tuple(order), reads, writes)


def dependences_by_force(
    run: Trace,
) -> dict[tuple[DependenceKind, str], set[tuple[Instance, Instance]]]:
    """Return value-based flow and memory-based anti and output pairs, by kind and array."""
    result: dict[tuple[DependenceKind, str], set[tuple[Instance, Instance]]] = defaultdict(set)
    last_write: dict[Element, Instance] = {}
    readers: dict[Element, set[Instance]] = defaultdict(set)
    writers: dict[Element, set[Instance]] = defaultdict(set)
    for instance in run.order:
        for element in run.reads[instance]:
            if element in last_write:
                result[DependenceKind.FLOW, element[0]].add((last_write[element], instance))
        for element in run.writes[instance]:
            for reader in readers[element]:
                result[DependenceKind.ANTI, element[0]].add((reader, instance))
            for writer in writers[element]:
                result[DependenceKind.OUTPUT, element[0]].add((writer, instance))
        for element in run.reads[instance]:
            readers[element].add(instance)
        for element in run.writes[instance]:
            writers[element].add(instance)
            last_write[element] = instance
    return dict(result)
