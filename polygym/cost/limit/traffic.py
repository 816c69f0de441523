"""Which bytes a program has to move: what it reads of what is there before, what it leaves.

Each element that a live instance reads before anything has written it moves from where it is to a
register once at least, whatever the schedule; each element of an output that is written moves back.
What is read at computed subscripts, or in an arm of a ``?:``, may be nothing, and counts so.

Example: gemm reads A, B, C and the two scalars and writes C: 8 · (n·k + k·m + 2·n·m + 2) bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.expr import Update
from polygym.compiler.poly.dependences import sets
from polygym.compiler.poly.isl_budget import attempt
from polygym.cost.limit.flows import MOST_OPERATIONS, Flows
from polygym.cost.limit.points import all_points
from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Traffic:
    """The bytes that have to be read, and those that have to be written."""

    read: int
    written: int

    @property
    def bytes(self) -> int:
        """All together."""
        return self.read + self.written


def traffic(flows: Flows, sizes: Sizes) -> Traffic:
    """Return what a program has to move at given sizes."""
    read: dict[str, isl.UnionSet] = {}
    for leaf in flows.leaves.values():
        live = flows.live.get(leaf.statement)
        if live is None or leaf.fresh is None:
            continue
        name = leaf.access.array
        elements = leaf.fresh.intersect_domain(isl.UnionSet.from_set(live)).range()
        read[name] = read[name].union(elements) if name in read else elements
    written: dict[str, isl.UnionSet] = {}
    for part in sets(_certain(flows).range()):
        written[part.get_tuple_name()] = isl.UnionSet.from_set(part)
    return Traffic(_bytes(flows, read, sizes), _bytes(flows, written, sizes))


def _certain(flows: Flows) -> isl.UnionMap:
    """Return the last writes without the stores that may not happen, or to another element."""
    found = flows.final
    for one in flows.scop.statements:
        if isinstance(one.body, Update):
            found = found.subtract_domain(isl.UnionSet(one.domain))
    return found


def _bytes(flows: Flows, elements: dict[str, isl.UnionSet], sizes: Sizes) -> int:
    return sum(
        flows.scop.array(name).type.size * _elements(found, sizes)
        for name, found in elements.items()
    )


def _elements(found: isl.UnionSet, sizes: Sizes) -> int:
    try:
        with attempt(MOST_OPERATIONS):
            return all_points(found.coalesce(), sizes)
    except isl.Error:
        return 0
