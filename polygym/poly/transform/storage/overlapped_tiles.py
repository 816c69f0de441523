"""Overlapped tiles: passes over whole images become passes over strips, whose edges run twice.

::

    for i < n: b[i] = a[i] + a[i + 1]         for tile:
    for i < n - 1: c[i] = b[i] + b[i + 1]  →    for 32 tile <= i <= 32 tile + 32: b[i] = …
                                                for 32 tile <= i <= 32 tile + 31: c[i] = …

Row 32 of b is computed in tile 0 and in tile 1. So no tile needs values of another, and with ``b``
private to the loop ``tile`` the tiles run in parallel, and b stays in a cache.

A *pass* is an outermost loop of the source with all statements in it. A pass that writes what can
be observed runs once: its iteration i belongs to tile ⌊i / size⌋. The others run ``before``
iterations earlier and ``after`` iterations later, too: as many as later passes need. With a flow of
values from iteration i − d of a pass to iteration i of a later one, low ≤ d ≤ high::

    before = max(high + the reader's before)        after = max(the reader's after − low)

In the example d is 0 or −1 from b to c, so b has before = 0 and after = 1.

Side condition, proved of every result by its flow of values: each instance, in whichever tile, sees
the values that it saw before, and the same instances leave the observable arrays as they are.

Tiles that compute their edges again go back to Krishnamoorthy and others, Effective automatic
parallelization of stencil computations, PLDI 2007, for images to Halide (PLDI 2013).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import islpy as isl

from polygym.errors import InputError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access, Update
from polygym.ir.scop import Scop, Statement
from polygym.ir.verifier import verify
from polygym.poly.dependences import access_relation, flow_sources, maps_of, original_order
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import highest_value, isl_text, lowest_value
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.copy_statements import unused_name
from polygym.poly.transform.storage.webs import live_out_writers

_SET, _IN = isl.dim_type.set, isl.dim_type.in_


@dataclass(frozen=True)
class PipelineLoop:
    """An outermost loop: its statements, and whether it writes what can be observed."""

    statements: tuple[str, ...]
    is_observed: bool


@lru_cache(maxsize=16)
def with_overlapped_tiles(scop: Scop, size: int) -> Scop:
    """Return the program in tiles of so many iterations of its outermost loops.

    Raises:
        InputError: the program is no sequence of passes, or values would change.
        LimitError: it would take too long to find out.
    """
    if not 0 < size < 1 << 20:
        raise _refusal(f"tiles of 1 to {(1 << 20) - 1:,} iterations", str(size))
    with bounded_operations("making overlapped tiles"):
        passes = tuple(_passes(scop))
        halos = _halos(scop, passes)
        result = verify(_tiled(scop, passes, halos, size))
        _expect_same_values(scop, result)
    return result


def temporary_rows(scop: Scop) -> tuple[str, ...]:
    """Return the arrays that a pass leaves to later ones and that nobody observes; often none.

    Raises:
        InputError: the program is no sequence of passes.
    """
    inner = [set(part.statements) for part in _passes(scop) if not part.is_observed]
    written = {
        statement.write.array
        for names in inner
        for statement in scop.statements
        if statement.name in names and scop.array(statement.write.array).rank
    }
    return tuple(array.name for array in scop.arrays if array.name in written)


def _refusal(expected: str, found: str) -> InputError:
    return InputError(f"storage: overlapped tiles: expected {expected}, found {found}")


def _passes(scop: Scop) -> Iterator[PipelineLoop]:
    """Yield the passes of a program in their order."""
    groups: dict[tuple[int, ...], list[Statement]] = {}
    for statement in scop.statements:
        if isinstance(statement.body, Update) or any(read.gathered for read in statement.reads):
            raise _refusal("affine subscripts", statement.text)
        groups.setdefault(_place(scop, statement), []).append(statement)
    if len(groups) < 2:
        raise _refusal("two loops or more, one after another", str(len(groups)))
    for place in sorted(groups):
        written = [scop.array(statement.write.array) for statement in groups[place]]
        yield PipelineLoop(
            tuple(statement.name for statement in groups[place]),
            any(array.is_observable for array in written),
        )


def _place(scop: Scop, statement: Statement) -> tuple[int, ...]:
    """Return the place of a statement's outermost loop in the text."""
    place: list[int] = []
    for row in original_schedule(scop).rows(statement.name):
        if not row.is_constant:
            if row.iterators[0] != 1 or any(row.iterators[1:]):
                break
            return tuple(place)
        place.append(row.constant)
    raise _refusal("a loop that counts upwards around each statement", statement.text)


def _flow(scop: Scop, array: str) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the flow of an array's values, and the reads of what was there before."""
    reads = access_relation(scop, array, is_write=False)
    writes = access_relation(scop, array, is_write=True)
    nothing = isl.UnionMap("{ }")
    if reads is None or writes is None:
        return nothing, nothing if reads is None else reads
    sources = flow_sources(reads, writes, original_order(scop))
    if sources is None:
        raise _refusal(f"an exact flow of values of {array}", "none")
    return sources


def _halos(scop: Scop, passes: tuple[PipelineLoop, ...]) -> dict[str, tuple[int, int]]:
    """Return how many iterations before and after its tile each statement runs."""
    number = {name: place for place, part in enumerate(passes) for name in part.statements}
    pairs = [
        pair
        for array in dict.fromkeys(statement.write.array for statement in scop.statements)
        for pair in maps_of(_flow(scop, array)[0])
    ]
    halos = [(0, 0)] * len(passes)
    for reader in reversed(range(len(passes))):
        for pair in pairs:
            writer = number[pair.get_tuple_name(_IN)]
            if number[pair.get_tuple_name(isl.dim_type.out)] != reader:
                continue
            low, high = _distances(pair)
            if writer == reader:
                if (low, high) != (0, 0):
                    raise _refusal("passes without a flow between their iterations", str(pair))
                continue
            before, after = halos[reader]
            halos[writer] = (
                max(halos[writer][0], before + high),
                max(halos[writer][1], after - low),
            )
    for part, halo in zip(passes, halos, strict=True):
        if part.is_observed and halo != (0, 0):
            raise _refusal("observable arrays that no other tile reads", part.statements[0])
    return {name: halos[place] for name, place in number.items()}


def _distances(pair: isl.Map) -> tuple[int, int]:
    """Return the least and the greatest distance of a flow along the outermost loops."""
    for kind in (_IN, isl.dim_type.out):
        pair = pair.project_out(kind, 1, pair.dim(kind) - 1).reset_tuple_id(kind)
    deltas = pair.deltas()
    deltas = deltas.project_out(isl.dim_type.param, 0, deltas.dim(isl.dim_type.param))
    if not deltas.is_bounded():
        raise _refusal("distances that have bounds", str(deltas))
    return lowest_value(deltas, 0), highest_value(deltas, 0)


def _tiled(
    scop: Scop, passes: tuple[PipelineLoop, ...], halos: dict[str, tuple[int, int]], size: int
) -> Scop:
    """Return the program in tiles."""
    name = unused_name("tile", set(scop.names))
    domains = {
        statement.name: _tiled_domain(statement, name, halos[statement.name], size)
        for statement in scop.statements
    }
    last = [n for part in passes if halos[part.statements[0]] == (0, 0) for n in part.statements]
    tiles = isl.Set.empty(isl.Set("{ [tile] }").get_space())
    for statement in last:
        own = domains[statement]
        own = own.project_out(_SET, 1, own.dim(_SET) - 1).reset_tuple_id()
        tiles = tiles.align_params(own.get_space()).union(own.align_params(tiles.get_space()))
    tiles = isl.Set.from_basic_set(tiles.simple_hull())
    statements = tuple(
        _tiled_statement(statement, name, domains[statement.name], tiles)
        for statement in scop.statements
    )
    order = [
        _with_tile(relation, name)
        .insert_dims(isl.dim_type.out, 0, 1)
        .equate(_IN, 0, isl.dim_type.out, 0)
        for relation in maps_of(isl.UnionMap(scop.schedule))
    ]
    schedule = isl.UnionMap.from_map(order[0])
    for relation in order[1:]:
        schedule = schedule.union(relation)
    return replace(scop, statements=statements, schedule=isl_text(schedule))


def _tiled_domain(statement: Statement, name: str, halo: tuple[int, int], size: int) -> isl.Set:
    """Return the iterations of a statement in each tile."""
    domain = isl.Set(statement.domain)
    own = domain.get_tuple_name()
    domain = domain.insert_dims(_SET, 0, 1).set_tuple_name(own).set_dim_name(_SET, 0, name)
    parameters = ", ".join(
        domain.get_dim_name(isl.dim_type.param, k) for k in range(domain.dim(isl.dim_type.param))
    )
    counters = ", ".join((name, *statement.iterators))
    first, (before, after) = statement.iterators[0], halo
    inside = isl.Set(
        f"[{parameters}] -> {{ {own}[{counters}] : {size}{name} - {before} <= {first} <= "
        f"{size}{name} + {size - 1 + after} }}"
    )
    return domain.intersect(inside)


def _with_tile(relation: isl.Map, name: str) -> isl.Map:
    """Return a map from instances as one from instances in tiles."""
    own = relation.get_tuple_name(_IN)
    return relation.insert_dims(_IN, 0, 1).set_tuple_name(_IN, own).set_dim_name(_IN, 0, name)


def _tiled_statement(statement: Statement, name: str, domain: isl.Set, tiles: isl.Set) -> Statement:
    """Return a statement whose instances run in the tiles that there are."""
    allowed = tiles.insert_dims(_SET, 1, domain.dim(_SET) - 1)
    domain = domain.intersect(allowed.set_tuple_name(domain.get_tuple_name())).coalesce()
    for place, iterator in enumerate((name, *statement.iterators)):
        domain = domain.set_dim_name(_SET, place, iterator)

    def moved(access: Access) -> Access:
        return replace(access, relation=isl_text(_with_tile(isl.Map(access.relation), name)))

    return replace(
        statement,
        iterators=(name, *statement.iterators),
        domain=isl_text(domain),
        write=moved(statement.write),
        body=replace_accesses(statement.body, {read: moved(read) for read in statement.reads}),
    )


def _expect_same_values(before: Scop, after: Scop) -> None:
    """Refuse tiles in which some instance sees another value, or leaves one.

    Raises:
        InputError: there is such an instance.
    """
    tiles = [_forgetting_tile(statement) for statement in after.statements]
    forget = isl.UnionMap.from_map(tiles[0])
    for tile in tiles[1:]:
        forget = forget.union(tile)
    for array in dict.fromkeys(statement.write.array for statement in before.statements):
        old_flow, old_first = _flow(before, array)
        new_flow, new_first = _flow(after, array)
        context = isl.Set(before.context)
        new_flow = new_flow.apply_domain(forget).apply_range(forget).intersect_params(context)
        new_first = new_first.apply_domain(forget).intersect_params(context)
        if not (new_flow.is_subset(old_flow) and new_first.is_subset(old_first)):
            raise _refusal(f"tiles that see the values of {array}", "other values")
        if before.array(array).is_observable:
            left = live_out_writers(after, array).apply_domain(forget)
            if not left.is_equal(live_out_writers(before, array)):
                raise _refusal(f"tiles that leave the values of {array}", "other values")


def _forgetting_tile(statement: Statement) -> isl.Map:
    """Return the map from an instance in a tile to the instance."""
    name, counters = statement.name, statement.iterators
    inside, outside = ", ".join(counters), ", ".join(counters[1:])
    return isl.Map(f"{{ {name}[{inside}] -> {name}[{outside}] }}")
