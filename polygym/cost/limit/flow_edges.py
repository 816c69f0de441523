"""Steps from an instance to one that needs its value, as plain numbers at given sizes.

A leaf T reads a value that S wrote: of all instances of T that read the value of S[x] the first one
(the lexicographic minimum) is an affine function of x on convex pieces of S. Each piece is an
*arc*: constraints ``a · (x, 1) >= 0`` that say where it holds, rows that say where it leads, and
what the value waits for there. Pieces that only divisions describe are left out; a chain is as long
as what is left makes it.

Example: T reads what ``T[i, j - 1]`` wrote. The arc holds where 0 <= j < m - 1, leads from [i, j]
to [i, j + 1], and waits for one addition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

import islpy as isl

from polygym.cost.limit.expression_forms import ExpressionForms
from polygym.cost.limit.latency_paths import LatencyTerm, latency_path
from polygym.cost.limit.value_flows import MAX_OPERATIONS, ValueFlows
from polygym.cost.limit.value_numbering import maps_of_union
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.dependences import basic_sets_of
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.isl_values import coefficients, constant_term

Point: TypeAlias = tuple[int, ...]
Row: TypeAlias = tuple[int, ...]
"""Coefficients, and a constant behind them."""

_MAX_EDGES = 400


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """Where a value goes: from instances of ``source`` to instances of ``sink``.

    It holds where every row of ``inequalities`` is at least 0 and every row of ``equalities`` is 0.
    """

    source: str
    sink: str
    inequalities: tuple[Row, ...]
    equalities: tuple[Row, ...]
    rows: tuple[Row, ...]
    latencies: tuple[LatencyTerm, ...]


@dataclass(frozen=True, slots=True)
class CompiledFlowEdge:
    """An arc as code: where it leads to from a point, and when that runs; None where it does not.

    Rows become Python expressions, once: there are tens of thousands of points.
    """

    edge: FlowEdge
    move: Callable[[Point], tuple[Point, Point] | None]

    @staticmethod
    def along(arc: FlowEdge, when: Sequence[Row]) -> CompiledFlowEdge:
        """Return the code of an arc to a statement that runs at times given by rows."""
        tests = [f"{_row_text(row, 'p')} >= 0" for row in arc.inequalities]
        tests += [f"{_row_text(row, 'p')} == 0" for row in arc.equalities]
        there = _tuple_text([_row_text(row, "p") for row in arc.rows])
        time = _tuple_text([_row_text(row, "q") for row in when])
        code = f"lambda p: ((q := {there}), {time}) if {' and '.join(tests) or 'True'} else None"
        return CompiledFlowEdge(arc, eval(code, {}))


def _row_text(row: Row, point: str) -> str:
    terms = [f"{factor}*{point}[{place}]" for place, factor in enumerate(row[:-1]) if factor]
    return " + ".join([*terms, str(row[-1])])


def _tuple_text(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


def row_value(row: Row, point: Point) -> int:
    """Return what a row is at a point.

    >>> row_value((2, -1, 5), (10, 3))
    22
    """
    total: int = sum(map(mul, row, point), row[-1])
    return total


def find_flow_edges(flows: ValueFlows, sizes: Sizes) -> tuple[FlowEdge, ...]:
    """Return the arcs between live instances at given sizes, as far as isl finds them."""
    flow_edges: list[FlowEdge] = []
    forms = ExpressionForms(flows)
    for leaf in flows.certain_reads.values():
        reader = flows.scop.statement(leaf.statement)
        waits = latency_path(flows.scop, reader, leaf.access)
        if waits is None or leaf.statement not in flows.live:
            continue
        for part in maps_of_union(leaf.sources):
            if forms.is_written_constant(
                flows.scop.statement(part.get_tuple_name(isl.dim_type.in_))
            ):
                continue  # nothing waits for a constant
            live = part.intersect_range(flows.live[leaf.statement])
            flow_edges += _edges_of_relation(live, sizes, waits)
            if len(flow_edges) > _MAX_EDGES:
                return tuple(flow_edges[:_MAX_EDGES])
    return tuple(flow_edges)


def _edges_of_relation(
    relation: isl.Map, sizes: Sizes, latencies: tuple[LatencyTerm, ...]
) -> list[FlowEdge]:
    source = relation.get_tuple_name(isl.dim_type.in_)
    sink = relation.get_tuple_name(isl.dim_type.out)
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    try:
        with attempt_bounded(MAX_OPERATIONS):
            first = at_sizes(relation, sizes).lexmin_pw_multi_aff().coalesce()
            first.foreach_piece(lambda where, there: pieces.append((where, there)))
            return [
                FlowEdge(source, sink, least, zero, rows, latencies)
                for where, there in pieces
                if (rows := _rows(there)) is not None
                for least, zero in _convex_pieces(where)
            ]
    except isl.Error:
        return []


def _rows(there: isl.MultiAff) -> tuple[Row, ...] | None:
    forms = [there.get_aff(place) for place in range(there.dim(isl.dim_type.out))]
    for form in forms:
        if form.dim(isl.dim_type.div) or not form.get_denominator_val().is_one():
            return None
    return tuple((*coefficients(form, isl.dim_type.in_), constant_term(form)) for form in forms)


def _convex_pieces(where: isl.Set) -> Iterator[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    """Yield the convex pieces of a set that need no divisions: inequalities, and equalities."""
    for piece in basic_sets_of(where.make_disjoint()):
        if piece.dim(isl.dim_type.div):
            continue
        least: list[Row] = []
        zero: list[Row] = []
        for constraint in piece.get_constraints():
            row = (*coefficients(constraint, isl.dim_type.set), constant_term(constraint))
            (zero if constraint.is_equality() else least).append(row)
        yield tuple(least), tuple(zero)
