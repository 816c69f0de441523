"""Brute force: what keeps its order where statements reduce the same elements in any order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import islpy as isl
import numpy as np

from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from tests.oracles.instances import Element, Instance, Trace, pairs

Touches = Mapping[Instance, frozenset[Element]]


def conflicts_by_force(
    scop: Scop, run: Trace, sums: frozenset[frozenset[str]], sizes: Mapping[str, int]
) -> set[tuple[Instance, Instance]]:
    """Return all pairs of instances that conflict, in their order.

    Updates of one element by statements of one group do not, unless one of them is read otherwise.
    """
    others = {
        statement.name: _touched(
            statement,
            [
                access
                for k, access in enumerate(statement.reads)
                if k not in statement.accumulator_reads
            ],
            sizes,
        )
        for statement in scop.statements
    }
    result = set()
    for place, first in enumerate(run.order):
        for second in run.order[place + 1 :]:
            if _conflict(run, others, sums, first, second):
                result.add((first, second))
    return result


def _conflict(
    run: Trace,
    others: Mapping[str, Mapping[tuple[int, ...], set[Element]]],
    sums: Iterable[frozenset[str]],
    first: Instance,
    second: Instance,
) -> bool:
    if not any({first[0], second[0]} <= group for group in sums):
        ways = ((run.writes, run.writes), (run.reads, run.writes), (run.writes, run.reads))
        return any(elements[first] & other[second] for elements, other in ways)
    (name, point), (other, there) = first, second
    return bool(
        run.writes[first] & others[other][there] or others[name][point] & run.writes[second]
    )


def _touched(
    statement: Statement, accesses: Iterable[Access], sizes: Mapping[str, int]
) -> Mapping[tuple[int, ...], set[Element]]:
    elements: dict[tuple[int, ...], set[Element]] = defaultdict(set)
    for access in accesses:
        relation = isl.Map(access.relation).intersect_domain(isl.Set(statement.domain))
        for point, element in pairs(relation, sizes):
            elements[point].add((access.array, element))
    return elements


def any_order(
    run: Trace, ordered: Iterable[tuple[Instance, Instance]], rng: np.random.Generator
) -> list[Instance]:
    """Return the instances in one of the orders that keep some pairs."""
    waits: dict[Instance, int] = dict.fromkeys(run.order, 0)
    after: dict[Instance, list[Instance]] = defaultdict(list)
    for first, second in set(ordered):
        waits[second] += 1
        after[first].append(second)
    ready = [candidate for candidate, count in waits.items() if not count]
    result = []
    while ready:
        instance = ready.pop(int(rng.integers(len(ready))))
        result.append(instance)
        for other in after[instance]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    assert len(result) == len(run.order)
    return result
