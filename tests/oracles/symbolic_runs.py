"""Brute force: a program run with symbols, and what it certainly takes, read off every instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import islpy as isl

from polygym.cost.limit.operation_kinds import (
    ArithmeticKind,
    LatencyTerm,
    TypedOperation,
    kinds_of,
    lane_type,
    latency_path,
)
from polygym.cost.limit.value_flows import certain_nodes, certain_reads
from polygym.ir.expressions import Expression, IteratorValue, Load, children
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.instances import Element, Instance, pairs, trace


@dataclass
class Run:
    """A program's instances in the order of the text, what each reads, and from whom."""

    scop: Scop
    order: tuple[Instance, ...]
    reads: Mapping[tuple[str, Any], Mapping[tuple[int, ...], Element]]
    sources: dict[tuple[Instance, Any], Instance | None] = field(default_factory=dict)
    last: dict[Element, Instance] = field(default_factory=dict)
    live: set[Instance] = field(default_factory=set)

    def element(self, instance: Instance, access: Any) -> Element | None:
        return self.reads[instance[0], access].get(instance[1])

    def is_recurrent(self, name: str) -> bool:
        """Whether values of a statement lead back to it, statement by statement."""
        edges: dict[str, set[str]] = defaultdict(set)
        for (sink, access), source in self.sources.items():
            if source is not None and access in certain_reads(self.scop.statement(sink[0])):
                edges[source[0]].add(sink[0])
        seen, left = set(), [name]
        while left:
            for other in edges[left.pop()] - seen:
                seen.add(other)
                left.append(other)
        return name in seen


def run(scop: Scop, outputs: Sequence[str], sizes: Mapping[str, int]) -> Run:
    """Follow every value of a program."""
    order = trace(scop, original_schedule(scop), sizes).order
    touched: dict[tuple[str, Any], dict[tuple[int, ...], Element]] = {}
    for scop_statement in scop.statements:
        for access in {scop_statement.write, *scop_statement.reads}:
            relation = isl.Map(access.relation).intersect_domain(isl.Set(scop_statement.domain))
            touched[scop_statement.name, access] = {
                point: (access.array, element) for point, element in pairs(relation, sizes)
            }
    result = Run(scop, order, touched)
    for instance in order:
        statement = scop.statement(instance[0])
        for access in statement.reads:
            if (element := result.element(instance, access)) is not None:
                result.sources[instance, access] = result.last.get(element)
        result.last[touched[instance[0], statement.write][instance[1]]] = instance
    result.live |= {writer for (array, _), writer in result.last.items() if array in outputs}
    for instance in reversed(order):
        if instance in result.live:
            for access in certain_reads(scop.statement(instance[0])):
                source = result.sources[instance, access]
                if source is not None:
                    result.live.add(source)
    return result


def operations_by_force(program: Run) -> dict[TypedOperation, int]:
    """Count different operations of live instances, in every type that one may have."""
    result: dict[TypedOperation, int] = defaultdict(int)
    for (kind, _), scalars in _different(program).items():
        for scalar in scalars:
            result[TypedOperation(kind, scalar)] += 1
    return result


def different_by_force(program: Run, kind: ArithmeticKind) -> int:
    """Count different operations of a kind, each once."""
    return sum(arithmetic_kind is kind for arithmetic_kind, _ in _different(program))


def _different(program: Run) -> dict[tuple[ArithmeticKind, Any], set[ScalarType]]:
    """Return the operations by kind and symbol; values of recurrences are known by instance."""
    scop = program.scop
    recurrent = {
        statement.name: program.is_recurrent(statement.name) for statement in scop.statements
    }
    values: dict[Instance, Any] = {}
    seen: dict[tuple[ArithmeticKind, Any], set[ScalarType]] = defaultdict(set)
    for instance in program.order:
        statement = scop.statement(instance[0])
        term = _terms(program, statement, instance, values)
        is_copy = isinstance(statement.body, Load)
        values[instance] = (
            instance if recurrent[statement.name] and not is_copy else term(statement.body)
        )
        if instance in program.live:
            for node in certain_nodes(statement.body):
                for kind in kinds_of(node):
                    operand = children(node)[0] if node.type.is_integer else node
                    scalar = lane_type(scop, statement, floating=operand.type.is_floating)
                    seen[kind, term(node)].add(scalar)
    return seen


def _terms(
    program: Run, statement: Statement, instance: Instance, values: Mapping[Instance, Any]
) -> Callable[[Expression], Any]:
    counters = dict(zip(statement.iterators, instance[1], strict=True))

    def term(node: Expression) -> Any:
        if isinstance(node, Load):
            source = program.sources.get((instance, node.access))
            return program.element(instance, node.access) if source is None else values[source]
        if isinstance(node, IteratorValue):
            return counters[node.name]
        head = (
            type(node).__name__,
            getattr(node, "operator", None),
            getattr(node, "function", None),
            getattr(node, "value", None),
            getattr(node, "name", None),
        )
        return (*head, node.type, *map(term, children(node)))

    return term


def longest_chain(program: Run, cost: Callable[[LatencyTerm], float]) -> float:
    """Return the dearest path through values of live instances, by going over all of them."""
    dearest: dict[Instance | None, float] = {}
    for instance in program.order:
        statement = program.scop.statement(instance[0])
        ways = [0.0]
        for access in certain_reads(statement):
            source = program.sources[instance, access]
            waits = latency_path(program.scop, statement, access)
            if waits is not None:
                ways.append(dearest.get(source, 0.0) + sum(map(cost, waits)))
        dearest[instance] = max(ways)
    return max((dearest[live_instance] for live_instance in program.live), default=0.0)


def bytes_by_force(program: Run, outputs: Sequence[str]) -> tuple[int, int]:
    """Return the bytes that live instances read of what was there before, and those written."""
    read = {
        program.element(instance, access)
        for (instance, access), source in program.sources.items()
        if source is None
        and instance in program.live
        and access in certain_reads(program.scop.statement(instance[0]))
    }
    written = {element for element in program.last if element[0] in outputs}

    def size(elements: set[Any]) -> int:
        return sum(program.scop.array(array).type.size for array, _ in elements)

    return size(read), size(written)
