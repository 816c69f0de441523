"""Does every iteration of a band's innermost loop wait for the one before?

Then the processor waits as well, for the latency of each operation. It does when pairs that all
other members leave unordered have the distance 1 along the last member, and are so many that about
every instance is the sink of one: as a polyhedron, they have as many dimensions as the statement.

Example: A[i][j] = A[i][j-1] + ... is a chain. In Floyd and Warshall's algorithm path[i][k] is
written at j = k and read by the iteration after it, but only at that one j: that is none.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polygym.codegen.tree.ir import Band
from polygym.codegen.tree.loop_context import LoopContext
from polygym.poly.distance import DependencePairs
from polygym.poly.schedule import ScheduleRow

_DISTANCES = (1, 2)


def is_recurrence(band: Band, loop_context: LoopContext) -> bool:
    """Whether a band without coincident members waits at its last one."""
    if len(band.members) < 2 or any(member.coincident for member in band.members):
        return False
    inside = loop_context.inside_members(band.members[:-1], band.statements)
    rows = band.members[-1].rows
    for pair in inside.pairs:
        source = rows[band.statements.index(pair.dependence.source)]
        sink = rows[band.statements.index(pair.dependence.sink)]
        if any(
            _has_full_dimension(pair, source, sink, loop_context.parameters, near)
            for near in _DISTANCES
        ):
            return True
    return False


def _has_full_dimension(
    pair: DependencePairs,
    source: ScheduleRow,
    sink: ScheduleRow,
    parameters: tuple[str, ...],
    near: int,
) -> bool:
    """Whether the pairs at a distance have as many dimensions as the instances of the sink."""
    back = replace(sink, constant=sink.constant - near)
    points = pair.unordered_by(pair.distance(source, back, parameters)).points
    if points.is_empty():
        return False
    hull = points.remove_divs().affine_hull()
    fixed = sum(constraint.is_equality() for constraint in hull.get_constraints())
    depth = isl.Map(pair.dependence.relation).dim(isl.dim_type.out)
    return bool(hull.dim(isl.dim_type.set) - fixed >= depth)
