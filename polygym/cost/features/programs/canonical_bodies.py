"""Canonical form of the innermost loops of a program, whatever the names and the loop order.

Two programs that differ in names, sizes and factors, or in the order of their loops, make the same
code but for these. Who tests on a program what was learned from others wants to know whether one of
them was the same one.

A *body* is what stands together in an innermost loop, at the greatest depth of its nest. Of its
statements it has

- the planes between loops that bound their instances, as j < i, without parameters and constants;
- of every array by which subscripts it is read and written in which of them. What is added to a
  subscript counts only beside accesses to the same array that move alike: A[i] and A[i + 1] are
  no A[i] and A[i + 2], but A[k] alone may be A[k + 1].

Statements of a loop that write the same elements count as one, and so do the branches of an if that
make the same accesses. Of all orders of the loops the one with the smallest text counts, and loops
whose counters stand in subscripts with a minus are turned round; so are arrays where it makes no
difference in which order elements come: C[i][j] for j >= i is that for j <= i numbered backwards.
Operators are left out, and scalars are followed to arrays
(:func:`polygym.cost.features.programs.shape.forward_scalars`): a sum that is held in one is the
element to which it is stored.

Another order of loops may need one statement where there were two: lu has A[i][j] -= A[i][k] *
A[k][j] for k < j < i and for k < i <= j, but only once, for k < i and k < j, if the loop k stands
outside. So bodies that differ in their planes alone, with the same arrays, are there once more
*together*, with the union of their instances.

Example: ``C[i][j] += A[i][k] * B[k][j]`` in any order of the loops, and ``X[a][b] = 0.9 * X[a][b]
+ Y[c][b] * Z[a][c]``, have one body; with ``k <= i`` it is another one, and with ``A[k][i]``, too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations, product
from typing import TypeAlias

import islpy as isl

from polygym.cost.features.programs import shape
from polygym.cost.features.statements.statement_work import StatementAccess, work_of_statements
from polygym.ir.scop import Statement
from polygym.mapping.sizes import scop_sizes
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coefficients
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program

CanonicalBody: TypeAlias = str
"""The text of a body; equal ones do the same."""

_MIN_DEPTH = 2  # copies and sums of vectors are in every program
_MAX_DEPTH = 6  # 720 orders

_Vector: TypeAlias = tuple[int, ...]
_Rows: TypeAlias = tuple[tuple[_Vector | None, int], ...]
"""The subscripts of an access: the counters' factors, and what is added."""

_ArrayUse: TypeAlias = tuple[int, bool, _Rows]
"""The number of a statement, whether it writes, and by which subscripts."""


@dataclass(frozen=True, slots=True, eq=False)
class _InnermostBody:
    """What stands together: the instances of every statement, and the uses of every array."""

    depth: int
    domains: tuple[isl.Set, ...]
    uses: Mapping[str, frozenset[_ArrayUse]]


def canonical_bodies(
    program: Program, *, forwards_scalars: bool = True
) -> frozenset[CanonicalBody]:
    """Return the bodies of a program's nests, those of at least two loops.

    Without ``forwards_scalars`` scalars are left out.

    Raises:
        LimitError: isl would take too long.
    """
    with bounded_operations("looking at a program's innermost loops"):
        apart = list(_innermost_bodies(program, forwards_scalars=forwards_scalars))
        return frozenset(map(_canonical_body, [*apart, *_merge_domains(apart)]))


def _innermost_bodies(program: Program, *, forwards_scalars: bool) -> Iterator[_InnermostBody]:
    """Yield what stands together in the deepest loops of every nest."""
    scop = program.scop
    works = work_of_statements(scop, scop_sizes(scop, dict(program.parameters)))
    order = original_schedule(scop)
    paths = {
        statement.name: shape.enclosing_loops(order.rows(statement.name))
        for statement in scop.statements
    }
    touches = (
        shape.forward_scalars(works, paths)
        if forwards_scalars
        else {work.name: shape.array_accesses(work) for work in works}
    )
    nests: defaultdict[object, dict[shape.EnclosingLoops, list[Statement]]] = defaultdict(dict)
    for statement in scop.statements:
        if path := paths[statement.name]:
            nests[path[0]].setdefault(path, []).append(statement)
    for nest in nests.values():
        depth = max(map(len, nest))
        if _MIN_DEPTH <= depth <= _MAX_DEPTH:
            for path, every in nest.items():
                inside = [member for member in every if touches[member.name]]
                if inside and len(path) == depth:
                    yield _innermost_body(inside, [touches[member.name] for member in inside])


def _innermost_body(
    statements: Sequence[Statement], touched: Sequence[tuple[StatementAccess, ...]]
) -> _InnermostBody:
    depth = statements[0].depth
    signs = _loop_directions(depth, [touch for touches in touched for touch in touches])
    turned = _counter_map(f"{sign} * i{place}" for place, sign in enumerate(signs))
    pieces: defaultdict[frozenset[tuple[str, bool, _Rows]], list[isl.Set]] = defaultdict(list)
    for statement, touches in zip(statements, touched, strict=True):
        domain = isl.Set(statement.domain).reset_tuple_id().apply(turned)
        pieces[_distinct_accesses(touches, signs)].append(domain)
    uses: defaultdict[str, set[_ArrayUse]] = defaultdict(set)
    for number, accesses in enumerate(pieces):
        for array, writes, rows in accesses:
            uses[array].add((number, writes, rows))
    domains = tuple(reduce(isl.Set.union, every) for every in pieces.values())
    return _InnermostBody(
        depth, domains, {name: _normalize_offsets(every) for name, every in uses.items()}
    )


def _distinct_accesses(
    touches: Iterable[StatementAccess], signs: _Vector
) -> frozenset[tuple[str, bool, _Rows]]:
    """Return what a statement reads and writes: branches may do the same."""
    return frozenset(
        (
            touch.array,
            touch.writes,
            tuple(
                (_apply_directions(row, signs), offset)
                for row, offset in zip(touch.subscripts, touch.offsets, strict=True)
            ),
        )
        for touch in touches
    )


def _loop_directions(depth: int, touches: Sequence[StatementAccess]) -> _Vector:
    """Return -1 for the loops that are turned round, whose counters mostly have a minus."""
    rows = [row for touch in touches for row in touch.subscripts if row is not None]
    return tuple(-1 if sum(row[place] for row in rows) < 0 else 1 for place in range(depth))


def _apply_directions(row: _Vector | None, signs: _Vector) -> _Vector | None:
    return None if row is None else tuple(a * b for a, b in zip(row, signs, strict=True))


def _normalize_offsets(uses: Iterable[_ArrayUse]) -> frozenset[_ArrayUse]:
    """Return an array's uses such that the least of what is added is 0 in those that move alike.

    Example: {A[i - 1], A[i + 1], A[j + 3]} → {A[i], A[i + 2], A[j]}.
    """
    alike: defaultdict[tuple[_Vector | None, ...], list[_ArrayUse]] = defaultdict(list)
    for use in uses:
        alike[tuple(row for row, _ in use[2])].append(use)
    moved = set()
    for rows, every in alike.items():
        offsets = [[offset for _, offset in access] for _, _, access in every]
        least = [min(column) for column in zip(*offsets, strict=True)]
        for (number, writes, _), own in zip(every, offsets, strict=True):
            rest = [a - b for a, b in zip(own, least, strict=True)]
            moved.add((number, writes, tuple(zip(rows, rest, strict=True))))
    return frozenset(moved)


def _merge_domains(apart: Sequence[_InnermostBody]) -> Iterator[_InnermostBody]:
    """Yield what differs in its instances alone, once, with the union of these."""
    groups: defaultdict[str, list[_InnermostBody]] = defaultdict(list)
    for inside in apart:
        text, order = min(
            (
                repr(
                    sorted(
                        (name, _sorted_uses(order, every)) for name, every in inside.uses.items()
                    )
                ),
                order,
            )
            for order in permutations(range(inside.depth))
        )
        turned = _counter_map(f"i{place}" for place in order)
        uses = {
            name: frozenset((a, b, _permute_loops(order, rows)) for a, b, rows in every)
            for name, every in inside.uses.items()
        }
        domains = tuple(domain.apply(turned) for domain in inside.domains)
        groups[repr((len(domains), text))].append(_InnermostBody(inside.depth, domains, uses))
    for group in groups.values():
        if len(group) > 1:
            pieces = zip(*(body.domains for body in group), strict=True)
            unions = tuple(reduce(isl.Set.union, every) for every in pieces)
            yield _InnermostBody(group[0].depth, unions, group[0].uses)


def _counter_map(counters: Iterable[str]) -> isl.Map:
    """Return the map from i0, i1, … to these."""
    result = list(counters)
    return isl.Map(
        f"{{ [{', '.join(f'i{n}' for n in range(len(result)))}] -> [{', '.join(result)}] }}"
    )


def _permute_loops(order: Sequence[int], rows: _Rows) -> _Rows:
    return tuple((row and tuple(row[place] for place in order), offset) for row, offset in rows)


def _sorted_uses(order: Sequence[int], uses: Iterable[_ArrayUse]) -> list[str]:
    return sorted(
        repr((number, writes, _permute_loops(order, rows))) for number, writes, rows in uses
    )


def _canonical_body(inside: _InnermostBody) -> CanonicalBody:
    """Return the text of what stands together, in that order of the loops in which it is least."""
    return min(
        _body_in_order(order, planes, list(inside.uses.values()))
        for planes in _equivalent_planes(
            inside, [_bounding_planes(domain) for domain in inside.domains]
        )
        for order in permutations(range(inside.depth))
    )


def _equivalent_planes(
    inside: _InnermostBody, planes: Sequence[frozenset[_Vector]]
) -> Iterator[Sequence[frozenset[_Vector]]]:
    """Yield the planes, and where no instance waits for another, those of arrays turned round.

    With C numbered backwards, in rows and columns, its half j >= i is the half j <= i, and what a
    program does to it is the same if the order of its elements is all the same: if no array that is
    written is read elsewhere (sums are in any order), no two accesses move alike, and no subscript
    has two counters.
    """
    bound = {place for vectors in planes for row in vectors for place, a in enumerate(row) if a}
    is_free = all(
        len({rows for _, _, rows in every}) == 1 or not any(writes for _, writes, _ in every)
        for every in inside.uses.values()
    ) and all(_is_plain(every) for every in inside.uses.values())
    ways = [(1, -1) if is_free and place in bound else (1,) for place in range(inside.depth)]
    for signs in product(*ways):
        yield [
            frozenset(tuple(a * b for a, b in zip(row, signs, strict=True)) for row in plane)
            for plane in planes
        ]


def _is_plain(uses: Iterable[_ArrayUse]) -> bool:
    """Whether nothing is added to subscripts, which have one counter at most."""
    return not any(
        offset or row is None or sum(map(bool, row)) > 1
        for _, _, rows in uses
        for row, offset in rows
    )


def _body_in_order(
    order: Sequence[int], planes: Sequence[frozenset[_Vector]], uses: Sequence[frozenset[_ArrayUse]]
) -> CanonicalBody:
    """Return the text with the loops in an order; statements are known by what they do."""
    bounds = [sorted(tuple(row[place] for place in order) for row in vectors) for vectors in planes]
    written = [
        sorted(
            repr(_permute_loops(order, rows))
            for array in uses
            for number, writes, rows in array
            if number == place and writes
        )
        for place in range(len(planes))
    ]
    names = [repr(pair) for pair in zip(bounds, written, strict=True)]
    arrays = sorted(
        sorted(
            {
                repr((names[number], writes, _permute_loops(order, rows)))
                for number, writes, rows in array
            }
        )
        for array in uses
    )
    return repr((sorted(set(names)), arrays))


def _bounding_planes(domain: isl.Set) -> frozenset[_Vector]:
    """Return the counters' factors in the bounds of instances, where there are two counters."""
    result = set()
    for piece in domain.coalesce().get_basic_sets():
        for bound in piece.remove_redundancies().get_constraints():
            factors = tuple(coefficients(bound, isl.dim_type.set))
            if sum(map(bool, factors)) > 1:
                result.add(factors)
                if bound.is_equality():
                    result.add(tuple(-factor for factor in factors))
    return frozenset(result)
