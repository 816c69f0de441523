"""Versions: the element that each write fills, and the element that each read takes.

Expansion along loops gives an element as many versions as these loops have iterations. A *version*
is a vector with one coordinate for each of the loops: a write inside of all of them has the values
of their counters. A write that is outside of one of them fills the version that the loop begins, or
leaves, with: one step before its first iteration where the write stands before the loop, one behind
its last where it stands after. ::

    for i:
      w = 0;                       w[i, -1] = 0
      for k in 0 .. n-1:       →   for k: w[i, k] = w[i, k - 1] + A[i][k]
        w += A[i][k];              x[i] = w[i, n - 1]
      x[i] = w;

A read looks for the version of its source, a function of the reading instance: that of S1 sees S0
where k = 0 and S1 at k - 1 otherwise, which is the version (i, k - 1) in both cases. (This is why a
loop begins one step before its first iteration: mostly a single function remains.) What memory held
before the region has the version before all others.

No two writes need to have versions of their own: elements that are shared are shared as they were
before, and :mod:`polygym.poly.transform.storage.copy_statements` looks whether that is right.
"""

from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polygym.errors import InputError
from polygym.ir.scop import Scop, Statement
from polygym.poly.isl_values import to_int
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.plan import ExpansionLoop, StorageEntry
from polygym.poly.transform.storage.webs import Web, WebRead

# Unused versions before the first, so that subscripts stay what they are in the source.
_MOST_UNUSED = 2

LoopPositions: TypeAlias = dict[str, int | None]
"""For every writing statement the place of a loop among those around it; None where it is none."""


@dataclass(frozen=True, eq=False)
class ArrayVersions:
    """The versions of a web.

    ``writes`` maps the instances of every writing statement to versions, ``initial`` is that of
    what was there before, both counted from 0. ``loops`` are the loops, ``sizes`` how many there
    are along each: functions of the parameters.
    """

    web: Web
    loops: tuple[ExpansionLoop, ...]
    writes: dict[str, isl.Map]
    initial: isl.Set
    sizes: tuple[isl.PwAff, ...]

    def read_versions(self, read: WebRead) -> isl.Map:
        """Return where the instances of a read look: a function to versions."""
        union_map = isl.UnionMap.empty(read.sources.get_space())
        for function in self.writes.values():
            union_map = union_map.union(
                read.sources.reverse().apply_range(isl.UnionMap.from_map(function))
            )
        if not read.initial.is_empty():
            before = isl.UnionMap.from_domain_and_range(
                read.initial.domain(), isl.UnionSet.from_set(self.initial)
            )
            union_map = union_map.union(before)
        return simplify_function(isl.Map.from_union_map(union_map))

    def live_out_versions(self) -> isl.Map:
        """Return where the values that are left in the end are: pairs (element, version)."""
        union_map = isl.UnionMap.empty(self.web.live_out.get_space())
        for function in self.writes.values():
            union_map = union_map.union(
                self.web.live_out.reverse().apply_range(isl.UnionMap.from_map(function))
            )
        return isl.Map.from_union_map(union_map.coalesce())


def simplify_function(function: isl.Map) -> isl.Map:
    """Return the same function on the same domain, as one affine function if it is one."""
    function = function.coalesce()
    domain = function.domain()
    hull = isl.Map.from_basic_map(function.affine_hull())
    return hull if hull.intersect_domain(domain).is_single_valued() else function


def versions_for_web(scop: Scop, web: Web, entry: StorageEntry) -> ArrayVersions:
    """Return the versions that a plan's entry gives a web.

    Raises:
        InputError: there are not finitely many of them, or no loop has such a name.
    """
    alongs, places = _loops(web, entry)
    context = isl.Set(scop.context)
    raw = {
        statement.name: _unshifted_versions(scop, web, statement, places)
        for statement in web.writers
    }
    domains = {
        writer.name: isl.Set(writer.domain).intersect_params(context) for writer in web.writers
    }
    reached = [raw[name].intersect_domain(domains[name]).range() for name in raw]
    everything = reached[0]
    for other in reached[1:]:
        everything = everything.union(other)
    initial = _before_all(scop, web, places, everything)
    if web.is_live_in:
        everything = everything.union(initial.intersect_params(context))
    lowest = [_lowest(everything, place, entry) for place in range(len(places))]
    sizes = tuple(
        _size(everything, place, lowest[place], along, context)
        for place, along in enumerate(alongs)
    )
    shift = _shift(lowest, alongs)
    counted = {name: function.apply_range(shift) for name, function in raw.items()}
    return ArrayVersions(web, alongs, counted, initial.apply(shift), sizes)


def _loops(web: Web, entry: StorageEntry) -> tuple[tuple[ExpansionLoop, ...], list[LoopPositions]]:
    """Return the loops along which a web is expanded, and which they are for every writer.

    All loops are told apart by their depth, loops that are named by their names. Names of loops
    that are around no writer of this web, but around others of the array's, are passed over.
    """
    if entry.loops is None:
        deepest = max(web.writers, key=lambda writer: writer.depth)
        return tuple(map(ExpansionLoop, deepest.iterators)), [
            {writer.name: place if place < writer.depth else None for writer in web.writers}
            for place in range(deepest.depth)
        ]
    result = [
        (
            along,
            {
                statement.name: statement.iterators.index(along.loop)
                if along.loop in statement.iterators
                else None
                for statement in web.writers
            },
        )
        for along in entry.loops
    ]
    result = [
        (along, places)
        for along, places in result
        if along.window != 1 and set(places.values()) != {None}
    ]
    return tuple(along for along, _ in result), [places for _, places in result]


def _unshifted_versions(
    scop: Scop, web: Web, statement: Statement, places: list[LoopPositions]
) -> isl.Map:
    """Return the versions of a statement's writes, not counted from anything."""
    function = isl.Map.from_domain(isl.Set(statement.domain).get_space().universe_set())
    for loop in places:
        function = function.flat_range_product(
            isl.Map.from_aff(_coordinate(scop, web, statement, loop))
        )
    return function


def _coordinate(scop: Scop, web: Web, statement: Statement, loop: LoopPositions) -> isl.Aff:
    """Return one coordinate of a statement's versions, as a function of its counters."""
    space = isl.LocalSpace.from_space(isl.Set(statement.domain).get_space())
    place = loop[statement.name]
    if place is not None:
        return isl.Aff.var_on_domain(space, isl.dim_type.set, place)
    order = [statement.name for statement in scop.statements]
    inside = [writer for writer in web.writers if loop[writer.name] is not None]
    is_after = order.index(statement.name) > max(order.index(writer.name) for writer in inside)
    goes_up = _is_ascending(scop, inside[0], loop)
    values = _values_around(statement, inside, loop)
    if is_after is goes_up:
        return _one_function(values.lexmax(), values.range(), space, is_upper=True)
    return _one_function(values.lexmin(), values.range(), space, is_upper=False)


def _values_around(statement: Statement, inside: list[Statement], loop: LoopPositions) -> isl.Map:
    """Return the values of a loop's counter for each instance of a statement outside of it.

    Loops that both have, the outermost ones of the same names, have the same values in both.
    """
    result: isl.Map | None = None
    for writer in inside:
        place = loop[writer.name]
        assert place is not None
        pairs = isl.Map.from_domain_and_range(isl.Set(statement.domain), isl.Set(writer.domain))
        for depth in range(min(statement.depth, writer.depth)):
            if statement.iterators[depth] != writer.iterators[depth]:
                break
            pairs = pairs.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth)
        pairs = pairs.project_out(isl.dim_type.out, place + 1, writer.depth - place - 1)
        values = pairs.project_out(isl.dim_type.out, 0, place).reset_tuple_id(isl.dim_type.out)
        result = values if result is None else result.union(values)
    assert result is not None
    return result.coalesce()


def _one_function(
    extreme: isl.Map, values: isl.Set, space: isl.LocalSpace, *, is_upper: bool
) -> isl.Aff:
    """Return one step beyond the extreme values of a loop's counter, as one affine function.

    Where several would be needed, one step beyond all values that the counter ever has; where it
    has none, as around what stands under ``if (i > m)`` behind ``for (j = i; j < m; j++)``, 0.
    """
    if extreme.is_empty():
        return isl.Aff.zero_on_domain(space)
    step = 1 if is_upper else -1
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(extreme).foreach_piece(lambda _, affine: pieces.append(affine))
    if len(pieces) == 1 and not pieces[0].get_aff(0).dim(isl.dim_type.div):
        return pieces[0].get_aff(0).add_constant_val(isl.Val(step))
    end = values.dim_max(0) if is_upper else values.dim_min(0)
    known = affine_pieces(end)
    if len(known) != 1 or known[0].dim(isl.dim_type.div):
        raise InputError(
            "storage: the first or last iteration of a loop is no single affine function; expand "
            "along the loops around it"
        )
    return lift_to_space(known[0], space).add_constant_val(isl.Val(step))


def affine_pieces(function: isl.PwAff) -> list[isl.Aff]:
    """Return the affine functions of a piecewise one."""
    affs: list[isl.Aff] = []
    function.foreach_piece(lambda _, affine: affs.append(affine))
    return affs


def lift_to_space(function: isl.Aff, space: isl.LocalSpace) -> isl.Aff:
    """Return a function of the parameters as one of the points of a space."""
    aff = isl.Aff.zero_on_domain(space).set_constant_val(function.get_constant_val())
    for place in range(function.dim(isl.dim_type.param)):
        name = function.get_dim_name(isl.dim_type.param, place)
        there = aff.find_dim_by_name(isl.dim_type.param, name)
        factor = function.get_coefficient_val(isl.dim_type.param, place)
        aff = aff.set_coefficient_val(isl.dim_type.param, there, factor)
    return aff


def _is_ascending(scop: Scop, statement: Statement, loop: LoopPositions) -> bool:
    """Whether a loop's counter grows from iteration to iteration."""
    place = loop[statement.name]
    assert place is not None
    rows = original_schedule(scop).rows(statement.name)
    return next((row.iterators[place] > 0 for row in rows if row.iterators[place]), True)


def _before_all(scop: Scop, web: Web, places: list[LoopPositions], everything: isl.Set) -> isl.Set:
    """Return the version of what was there before: one step before the first iterations."""
    result = isl.Set.universe(everything.get_space())
    for place, loop in enumerate(places):
        statement = next(writer for writer in web.writers if loop[writer.name] is not None)
        goes_up = _is_ascending(scop, statement, loop)
        end = _for_all_sizes(everything, place, is_least=goes_up)
        end = end.add_constant_val(isl.Val(-1 if goes_up else 1))
        value = isl.Set.from_pw_aff(end).insert_dims(isl.dim_type.set, 0, place)
        value = value.add_dims(isl.dim_type.set, len(places) - place - 1)
        result = result.intersect(value)
    return result


def _for_all_sizes(everything: isl.Set, place: int, *, is_least: bool) -> isl.PwAff:
    """Return the least or greatest value of a coordinate, for sizes without any value, too.

    ``for (i = 0; i < n; i++) for (j = 0; j < m; j++) w = ..`` writes nothing where m <= 0, and what
    is behind the inner loop sees then what was there before, which is in the version -1 as ever.
    Where the extreme is no single affine function it is that of all sizes, if they have one.
    """
    end = everything.dim_min(place) if is_least else everything.dim_max(place)
    pieces = affine_pieces(end)
    if len(pieces) == 1:
        return isl.PwAff.from_aff(pieces[0])
    of_all = everything.dim_min_val(place) if is_least else everything.dim_max_val(place)
    if not of_all.is_int():
        return end
    space = isl.LocalSpace.from_space(everything.get_space().params())
    return isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(of_all))


def _lowest(everything: isl.Set, place: int, entry: StorageEntry) -> isl.Aff:
    """Return the least value of a coordinate, as one affine function of the parameters."""
    is_bounded = everything.dim_has_lower_bound(isl.dim_type.set, place)
    pieces = affine_pieces(everything.dim_min(place)) if is_bounded else []
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        of_all = everything.dim_min_val(place)
        if not of_all.is_int():
            raise InputError(
                f"storage: {entry}: the versions of {entry.array} have no least one that is a "
                "single affine function of the sizes; expand along fewer loops"
            )
        space = isl.LocalSpace.from_space(everything.get_space().params())
        pieces = [isl.Aff.zero_on_domain(space).set_constant_val(of_all)]
    least = pieces[0]
    if least.is_cst() and 0 <= to_int(least.get_constant_val()) <= _MOST_UNUSED:
        return least.set_constant_val(isl.Val(0))
    return least


def _size(
    everything: isl.Set, place: int, lowest: isl.Aff, along: ExpansionLoop, context: isl.Set
) -> isl.PwAff:
    """Return how many versions there are along a loop, one at least, for all sizes."""
    space = isl.LocalSpace.from_space(context.get_space())
    pw_aff = isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(1)))
    if along.window:
        return pw_aff.add_constant_val(isl.Val(along.window - 1))
    last = everything.dim_max(place).sub(isl.PwAff.from_aff(lowest))
    size = last.add_constant_val(isl.Val(1)).gist_params(context).coalesce()
    if context.is_subset(size.ge_set(pw_aff)):
        return size
    return size.union_max(pw_aff).gist_params(context).coalesce()


def _shift(lowest: list[isl.Aff], alongs: tuple[ExpansionLoop, ...]) -> isl.Map:
    """Return what counts versions from 0, and has windows used in turn."""
    shift: isl.Map | None = None
    for least, along in zip(lowest, alongs, strict=True):
        line = isl.Set("{ [c] }").align_params(least.get_domain_space().params())
        space = isl.LocalSpace.from_space(line.get_space())
        counter = isl.Aff.var_on_domain(space, isl.dim_type.set, 0)
        own = isl.Map.from_aff(counter.sub(lift_to_space(least, space)))
        if along.window:
            own = own.apply_range(isl.Map(f"{{ [c] -> [c mod {along.window}] }}"))
        shift = own if shift is None else shift.flat_product(own)
    return isl.Map("{ [] -> [] }") if shift is None else shift
