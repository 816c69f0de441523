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

from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band
from polygym.compiler.poly.distance import Pairs
from polygym.compiler.poly.schedule import Row

_NEAR = (1, 2)


def is_chain(band: Band, around: Surroundings) -> bool:
    """Whether a band without coincident members waits at its last one."""
    if len(band.members) < 2 or any(member.coincident for member in band.members):
        return False
    inside = around.inside(band.members[:-1], band.statements)
    rows = band.members[-1].rows
    for pair in inside.pairs:
        source = rows[band.statements.index(pair.dependence.source)]
        sink = rows[band.statements.index(pair.dependence.sink)]
        if any(_is_thick(pair, source, sink, around.parameters, near) for near in _NEAR):
            return True
    return False


def _is_thick(pair: Pairs, source: Row, sink: Row, parameters: tuple[str, ...], near: int) -> bool:
    """Whether the pairs at a distance have as many dimensions as the instances of the sink."""
    back = replace(sink, constant=sink.constant - near)
    points = pair.untouched_by(pair.distance(source, back, parameters)).points
    if points.is_empty():
        return False
    hull = points.remove_divs().affine_hull()
    fixed = sum(constraint.is_equality() for constraint in hull.get_constraints())
    depth = isl.Map(pair.dependence.relation).dim(isl.dim_type.out)
    return bool(hull.dim(isl.dim_type.set) - fixed >= depth)
