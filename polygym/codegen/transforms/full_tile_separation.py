"""Full tiles apart from partial ones: within a full tile, bounds of loops are those of the tile.

::

    for t:                                         for t:
      for i = 64t .. min(64t + 63, n - 1):           if 64t + 63 <= n - 1:
        for j = 0 .. i:                      →         for i = 64t .. 64t + 63:
          S(i, j)                                        for j = 0 .. i: S(i, j)
                                                     else:
                                                       for i = 64t .. min(64t + 63, n - 1): …

How often the loops of a full tile run is known, so blocks of copies and vectors fill them without a
rest where sizes divide, and no minimum stands in the way.

A bound of a tile is a piece of a minimum that differs from a piece of the lower maximum by a
number: the tile is full where it is the smallest piece. Other pieces may depend on loops of the
same nest; what is compared is then the extreme over the whole tile, at one of its ends, since
pieces only grow or only fall. Example: with ``for i = 4t .. 4t + 3: for j = 8u .. min(8u + 7, i)``
a tile is full where 8u + 7 <= 4t.

The points of a nest are what stands below its last loop over tiles: the last one that enters the
bounds below times a number, as t does above.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    is_monotone,
    min_max_operands,
    substitute,
)
from polygym.codegen.loopir.nests import conjunction, constant_spans, perfect_nest, wrap_in_loops
from polygym.codegen.loopir.pass_types import CodegenRequest, Pass, Representation, max_instances
from polygym.codegen.transforms.unroll_and_jam import jam_loops
from polygym.codegen.transforms.vectorization import vectorize_program


def separate_full_tiles(node: ir.Node) -> ir.Node:
    """Return the loops with full tiles apart from partial ones, in the innermost nests."""
    return (
        _separate_nest(node)
        if isinstance(node, ir.Loop)
        else ir.map_children(node, separate_full_tiles)
    )


def _separate_nest(loop: ir.Loop) -> ir.Node:
    """Separate the points of a nest, if what stands inside of it has no loops of its own."""
    loops = perfect_nest(loop)
    inside = loops[-1].body
    if any(ir.loops_in(inside)):
        return wrap_in_loops(loops, separate_full_tiles(inside))
    start = _first_point_loop(loops)
    if start == len(loops):
        return loop
    points = loops[start:]
    conditions, full = _full_tile(points)
    if not conditions:
        return loop
    whole = wrap_in_loops(full, inside)
    return wrap_in_loops(loops[:start], ir.Guard(conjunction(conditions), whole, points[0]))


def _first_point_loop(loops: Sequence[ir.Loop]) -> int:
    """Return the position after the last loop over tiles."""
    first = 0
    for place, loop in enumerate(loops):
        below = [
            piece
            for inner in loops[place + 1 :]
            for bound, operator in _bounds(inner)
            for piece in min_max_operands(bound, operator)
        ]
        if any(abs(coefficient(piece, loop.variable) or 0) > 1 for piece in below):
            first = place + 1
    return first


def _bounds(loop: ir.Loop) -> tuple[tuple[ir.Index, ir.IndexOperator], ...]:
    return (loop.lower, ir.IndexOperator.MAXIMUM), (loop.upper, ir.IndexOperator.MINIMUM)


def _full_tile(points: Sequence[ir.Loop]) -> tuple[list[ir.Index], tuple[ir.Loop, ...]]:
    """Return when a tile is full, and the loops over its points then."""
    conditions: list[ir.Index] = []
    full: list[ir.Loop] = []
    ends: dict[str, tuple[ir.Index, ir.Index]] = {}
    for loop in points:
        indices = _full_tile_bounds(loop) if loop.step == 1 else None
        if indices is None:
            full.append(loop)
            continue
        lower, upper = indices
        if any(
            depends_on(bound, name) for bound in indices for name in (p.variable for p in points)
        ):
            full.append(loop)
            continue
        needed = _full_tile_conditions(lower, upper, loop, ends, points)
        if needed is None:
            full.append(loop)
            continue
        conditions += needed
        full.append(replace(loop, lower=lower, upper=upper))
        ends[loop.variable] = (lower, upper)
    return list(dict.fromkeys(conditions)), tuple(full)


def _full_tile_bounds(loop: ir.Loop) -> tuple[ir.Index, ir.Index] | None:
    """Return the bounds of a loop in a full tile: pieces that differ by a number."""
    if all(len(min_max_operands(bound, operator)) == 1 for bound, operator in _bounds(loop)):
        return None
    return next(
        ((first, last) for first, last, length in constant_spans(loop) if length >= 0), None
    )


def _full_tile_conditions(
    lower: ir.Index,
    upper: ir.Index,
    loop: ir.Loop,
    ends: Mapping[str, tuple[ir.Index, ir.Index]],
    points: Sequence[ir.Loop],
) -> list[ir.Index] | None:
    """Return the conditions under which no other piece matters; None if that cannot be said."""
    names = [point.variable for point in points]
    indices: list[ir.Index] = []
    for bound, operator in _bounds(loop):
        own = lower if operator is ir.IndexOperator.MAXIMUM else upper
        for piece in min_max_operands(bound, operator):
            if piece == own:
                continue
            corners = _values_at_corners(piece, names, ends)
            if corners is None:
                return None
            for corner in corners:
                pair = (corner, own) if operator is ir.IndexOperator.MAXIMUM else (own, corner)
                indices.append(ir.IndexOperator.LESS_EQUAL(*pair))
    return indices


def _values_at_corners(
    piece: ir.Index, names: Sequence[str], ends: Mapping[str, tuple[ir.Index, ir.Index]]
) -> list[ir.Index] | None:
    """Return a piece at the corners of a full tile, between which all its values lie."""
    indices = [piece]
    for name in names:
        if not depends_on(piece, name):
            continue
        if name not in ends or not is_monotone(piece, name):
            return None
        indices = [substitute(index, {name: end}) for index in indices for end in ends[name]]
    return indices


def _separate(program: ir.LoopProgram, request: CodegenRequest) -> ir.LoopProgram:
    """Separate full tiles, unless the passes that copy loops make too much code of them."""
    separated = program.with_body(separate_full_tiles(program.body))
    copied = vectorize_program(separated.with_body(jam_loops(separated.body)))
    limit = max_instances(request.legal.scop)
    return separated if ir.count_instances(copied.body) <= limit else program


PASS = Pass(
    "separate_full_tiles",
    Representation.LOOPS,
    "full tiles separated from partial ones (separate=on)",
    _separate,
    lambda mapping: mapping.separate,
)
