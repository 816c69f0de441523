"""Merits of programs in pieces: which loops isl's scheduler makes parallel, which go in tiles.

isl's schedule is a tree of *bands*, groups of loops that may be permuted, and so tiled; a loop is
*coincident* if no dependence that is left at its band keeps its iterations apart. Of a statement's
way down the tree three numbers are taken, of which a larger one is better, the first first:

* how many loops its widest band has: tiles of several loops use again what they have loaded;
* how many of its loops are coincident: vectors and threads;
* minus how many loops are around the outermost coincident one, or around all if there is none.

A statement has the least of each number that its pieces have, those with as many loops as any of
them: nearly all instances are theirs, and what helps half of a statement leaves the other half to
wait for. The *merit* of a program is the mean over the statements with the most loops. Floyd and
Warshall's algorithm has (2, 0, -3), one instance after the other; in pieces at i = k and j = k it
has (2, 2, -1), steps of two loops that run in parallel.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import TypeAlias

import islpy as isl

from polygym.errors import InputError
from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import Dependence, DependenceKind, dependences
from polygym.poly.scheduling.isl_scheduler import SchedulingTask
from polygym.poly.scheduling.strategy import ISL
from polygym.poly.transform.splitting.apply import pieces_by_statement
from polygym.poly.transform.splitting.conditions import (
    Splitting,
)

MOST_PIECES = 16
"""More than so many, beside those that do not have to be, take isl's scheduler too long."""

SplittingMerit: TypeAlias = tuple[Fraction, Fraction, Fraction]

# For each statement its bands, outermost first: of each loop whether it is coincident.
_Bands: TypeAlias = Mapping[str, list[list[bool]]]


def splitting_merit(scop: Scop, splitting: Splitting) -> SplittingMerit:
    """Return the merit of a program in pieces.

    Raises:
        InputError: isl finds no schedule, or there are too many pieces.
    """
    pieces = _numbered(pieces_by_statement(scop, splitting))
    if sum(map(len, pieces.values())) >= MOST_PIECES + len(scop.statements):
        raise InputError(f"expected at most {MOST_PIECES} pieces more than there are statements")
    task = _task(scop, pieces)
    bands = _bands(task.solve())
    deepest = max(statement.depth for statement in scop.statements)
    triples = [
        _numbers([bands[piece.name] for piece in _largest(pieces[statement.name])])
        for statement in scop.statements
        if statement.depth == deepest
    ]
    widest, parallel, around = (
        Fraction(sum(numbers), len(numbers)) for numbers in zip(*triples, strict=True)
    )
    return widest, parallel, around


def is_best_possible(merit: SplittingMerit, depth: int) -> bool:
    """Whether a program so deep has nothing to gain: a band of all its loops.

    Tiles of such a band run in parallel along diagonals, if there are two loops; one alone has to
    be coincident.
    """
    widest, parallel, _ = merit
    return widest == depth and (depth > 1 or parallel == 1)


def _numbers(bands: Sequence[list[list[bool]]]) -> tuple[int, int, int]:
    """Return the three numbers of a statement, the least that its pieces have."""
    loops = [[loop for band in piece for loop in band] for piece in bands]
    return (
        min(max(map(len, band), default=0) for band in bands),
        min(map(sum, loops)),
        min(-loop.index(True) if True in loop else -len(loop) for loop in loops),
    )


def _largest(pieces: Sequence[Statement]) -> list[Statement]:
    """Return the pieces with as many loops as any of them has."""
    dimensions = [loop_dimension(statement) for statement in pieces]
    return [
        piece
        for piece, dimension in zip(pieces, dimensions, strict=True)
        if dimension == max(dimensions)
    ]


def _numbered(pieces: Mapping[str, tuple[Statement, ...]]) -> Mapping[str, list[Statement]]:
    """Return the pieces of each statement with S0, S1, … for names, as isl's scheduler has them."""
    numbers = count()
    return {
        name: [replace(piece, name=f"S{next(numbers)}") for piece in several]
        for name, several in pieces.items()
    }


def _task(scop: Scop, pieces: Mapping[str, list[Statement]]) -> SchedulingTask:
    """Return isl's task for a program in numbered pieces.

    The dependences between pieces are those of the program, cut: of the same instances, which have
    the same order.
    """
    cutting = isl.UnionMap("{ }")
    for name, several in pieces.items():
        for piece in several:
            same = isl.Set(piece.domain).identity().set_tuple_name(isl.dim_type.in_, name)
            same = same.set_tuple_name(isl.dim_type.out, piece.name)
            cutting = cutting.union(isl.UnionMap.from_map(same))

    def cut(chosen: Iterable[Dependence]) -> isl.UnionMap:
        relation = isl.UnionMap("{ }")
        for dependence in chosen:
            relation = relation.union(isl.UnionMap(dependence.relation))
        return relation.apply_domain(cutting).apply_range(cutting)

    order = dependences(scop)
    near = [dependence for dependence in order if DependenceKind.FLOW in dependence.kind]
    nothing = isl.UnionMap("{ }")
    return SchedulingTask(scop, ISL, cutting.range(), cut(order), cut(near), nothing)


def _bands(tree: isl.Schedule) -> _Bands:
    """Return the bands of each statement in isl's schedule."""
    result: dict[str, list[list[bool]]] = defaultdict(list)
    for node in _nodes(tree.get_root()):
        if node.get_type() == isl.schedule_node_type.band:
            for name, loops in _loops(node).items():
                result[name].append(loops)
    return result


def _nodes(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """Yield a node and all below it, from the outside to the inside."""
    yield node
    for place in range(node.n_children()):
        yield from _nodes(node.child(place))


def _loops(band: isl.ScheduleNode) -> dict[str, list[bool]]:
    """Return the loops that statements have in a band; a row without iterators is none."""
    rows = band.band_get_partial_schedule()
    result: dict[str, list[bool]] = defaultdict(list)
    for place in range(band.band_n_member()):
        parts: list[isl.PwAff] = []
        rows.get_union_pw_aff(place).foreach_pw_aff(parts.append)
        for part in parts:
            if part.involves_dims(isl.dim_type.in_, 0, part.dim(isl.dim_type.in_)):
                name = part.domain().get_tuple_name()
                result[name].append(bool(band.band_member_get_coincident(place)))
    return result


def loop_dimension(piece: Statement) -> int:
    """Return how many loops there are around a piece that take more than one value."""
    hull = isl.Set(piece.domain).affine_hull()
    equations = [constraint for constraint in hull.get_constraints() if constraint.is_equality()]
    return piece.depth - sum(not equation.dim(isl.dim_type.div) for equation in equations)
