"""Copies of elements that are read by many iterations and then overwritten (node splitting).

In step k of the all-pairs shortest paths, cut at i = k and j = k, the statement

    S: for i < k: for j < k:  p[i][j] = min(p[i][j], p[i][k] + p[k][j])

reads column k, which a later statement T of the same step overwrites: ``p[i][k]`` is the same value
for every j, and gone when the step ends. So S of step k is held fast before T of step k, for the
sake of memory alone. A copy, made before the first of its readers, takes the dependence away::

    c[k][i] = p[i][k]                                       one copy for all j
    S: for i < k: for j < k:  p[i][j] = min(p[i][j], c[k][i] + p[k][j])

:mod:`polygym.poly.transform.storage.overwritten_reads` finds these reads, and K, the counters that
such an element is a function of.

The copy has an instance for each value of the counters K, and runs immediately before the first
instance that reads it. So its text is that of the read. Side condition, which
:mod:`polygym.poly.transform.storage.copy_statements` proves of every result: each read sees the
value that it saw before. It fails where the element changes between the readers, as in the same
loops before they are cut: j = k overwrites what j > k reads.

Splitting a statement into the copy of what it reads and the rest goes back to Kuck, Kuhn, Padua,
Leasure and Wolfe, Dependence graphs and compiler optimizations, POPL 1981.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import islpy as isl

from polygym.errors import InputError, LimitError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access, Load
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.isl_values import isl_text
from polygym.poly.transform.storage.copy_statements import (
    access_from_map,
    expect_same_values,
    named_set,
    numbered_name,
    size_c_text,
    unused_name,
)
from polygym.poly.transform.storage.overwritten_reads import (
    OverwrittenRead,
    overwritten_reads,
    times_by_statement,
)
from polygym.poly.transform.storage.plan import ReadCopy

_MOST_OPERATIONS = 1_000_000
"""To look for reads that are overwritten; paths between all pairs in nine pieces need a tenth."""


@lru_cache(maxsize=64)
def with_read_copies(scop: Scop, copies: tuple[ReadCopy, ...]) -> Scop:
    """Return the program that reads elements of some arrays from copies.

    Raises:
        InputError: there is nothing to copy, or a read would not see the value that it saw.
        LimitError: it would take too long to find out.
    """
    with bounded_operations("copying what is overwritten"):
        reads = {
            (read.statement.name, read.access): read
            for copy in copies
            for read in _reads_for(scop, copy)
        }
        writer = _CopyWriter(scop)
        for read in reads.values():
            writer.add(read)
        result = writer.finish()
        expect_same_values(scop, result, writer.source_arrays)
    return verify(result)


def default_read_copies(scop: Scop) -> tuple[ReadCopy, ...]:
    """Return the copies that a program may have, one word for each array; often none.

    Raises:
        LimitError: it would take too long to find out.
    """
    with (
        attempt_bounded(_MOST_OPERATIONS),
        bounded_operations("looking for what is overwritten"),
    ):
        copies = [
            ReadCopy(array.name)
            for array in scop.arrays
            if array.rank and next(overwritten_reads(scop, array.name), None) is not None
        ]
    return tuple(copy for copy in sorted(copies) if _is_provable(scop, copy))


def _is_provable(scop: Scop, copy: ReadCopy) -> bool:
    """Whether isl can tell that copies of an array change no value."""
    try:
        with_read_copies(scop, (copy,))
    except (InputError, LimitError):
        return False
    return True


def _reads_for(scop: Scop, copy: ReadCopy) -> list[OverwrittenRead]:
    """Return the reads that an entry of a plan speaks of.

    Raises:
        InputError: there are none.
    """
    reads = [
        read
        for read in overwritten_reads(scop, copy.array)
        if copy.statement in ("", read.statement.name)
    ]
    if not reads:
        where = f"statement {copy.statement}" if copy.statement else "a statement"
        raise InputError(
            f"storage: {copy}: expected {where} in which several iterations read an element of "
            f"{copy.array} that is overwritten before the loops around them go on, found none"
        )
    return reads


@dataclass(frozen=True, eq=False)
class _Group:
    """Copies that share an array: the same element for the same counters, at different ones."""

    key: tuple[str, str]
    array: str
    points: isl.Set


class _CopyWriter:
    """Collects copy statements, their arrays, and the statements that read them."""

    def __init__(self, scop: Scop) -> None:
        self.source_arrays: dict[str, str] = {}
        self._scop = scop
        self._names = set(scop.names)
        self._order = times_by_statement(scop)
        self._groups: list[_Group] = []
        self._copies: list[tuple[Statement, isl.Map]] = []
        self._replacements: dict[str, dict[Access, Access]] = {}

    def add(self, read: OverwrittenRead) -> None:
        """Let a read take its values from copies."""
        projection = read.projection()
        running = isl.Set(read.statement.domain).intersect_params(isl.Set(self._scop.context))
        condition = isl.Map(read.access.relation).domain()
        is_conditional = not running.is_subset(condition)
        running = running.intersect(condition)
        points = running.apply(projection).coalesce()
        element = projection.reverse().apply_range(isl.Map(read.access.relation))
        _expect_inside(self._scop, read.access.array, element.intersect_domain(points).range())
        key = (read.access.array, isl_text(element))
        array = self._array_for(key, read, points)
        own = projection.intersect_domain(condition) if is_conditional else projection
        access = access_from_map(own, array)
        self._replacements.setdefault(read.statement.name, {})[read.access] = access
        times = self._order[read.statement.name].intersect_domain(running)
        first = projection.reverse().apply_range(times).lexmin()
        pieces: list[tuple[isl.Set, isl.MultiAff]] = []
        isl.PwMultiAff.from_map(first).coalesce().foreach_piece(
            lambda where, affine: pieces.append((where, affine))
        )
        for where, affine in pieces:
            name = unused_name(f"{array}_copy", self._names)
            copied = self._copy(name, read, element, where.intersect(points).coalesce(), array)
            self._copies.append(
                (copied, isl.Map.from_multi_aff(affine).set_tuple_name(isl.dim_type.in_, name))
            )

    def finish(self) -> Scop:
        """Return the program with the copies; they come first of what runs at the same time."""
        schedule = isl.UnionMap("{ }")
        every = [
            *((statement.name, times, 0) for statement, times in self._copies),
            *(
                (statement.name, self._order[statement.name], 1)
                for statement in self._scop.statements
            ),
        ]
        for name, times, last in every:
            length = times.dim(isl.dim_type.out)
            times = times.add_dims(isl.dim_type.out, 1).fix_val(
                isl.dim_type.out, length, isl.Val(last)
            )
            times = times.set_tuple_name(isl.dim_type.in_, name)
            schedule = schedule.union(isl.UnionMap.from_map(times))
        statements = tuple(map(self._rewrite, self._scop.statements))
        return replace(
            self._scop,
            arrays=(*self._scop.arrays, *map(self._array, self._groups)),
            statements=(*(statement for statement, _ in self._copies), *statements),
            schedule=isl_text(schedule),
        )

    def _array_for(self, key: tuple[str, str], read: OverwrittenRead, points: isl.Set) -> str:
        """Return the array for copies at some counters, one in which these are free."""
        for place, group in enumerate(self._groups):
            if group.key == key and group.points.is_disjoint(points):
                self._groups[place] = replace(group, points=group.points.union(points))
                return group.array
        array = numbered_name(read.access.array, self._names)
        self.source_arrays[array] = read.access.array
        self._groups.append(_Group(key, array, points))
        return array

    def _copy(
        self, name: str, read: OverwrittenRead, element: isl.Map, points: isl.Set, array: str
    ) -> Statement:
        """Return the statement that copies elements."""
        iterators = read.iterators
        here = isl.Map.identity(element.domain().get_space().map_from_set())
        sides = []
        for function, target in ((here, array), (element, read.access.array)):
            side = function.reset_tuple_id(isl.dim_type.out).set_tuple_name(isl.dim_type.in_, name)
            for place, iterator in enumerate(iterators):
                side = side.set_dim_name(isl.dim_type.in_, place, iterator)
            sides.append(access_from_map(side, target))
        write, source = sides
        kind = self._scop.array(read.access.array).type
        return Statement(
            name,
            tuple(iterators),
            isl_text(named_set(points, name, iterators)),
            write,
            Load(source, kind),
            f"{write.text} = {source.text};",
            read.statement.location,
        )

    def _array(self, group: _Group) -> Array:
        """Return the array of a group: as long as its counters are large."""
        context = isl.Set(self._scop.context)
        sizes = [
            _size(group, place, context) for place in range(group.points.dim(isl.dim_type.set))
        ]
        source = self._scop.array(self.source_arrays[group.array])
        return Array(
            group.array,
            source.type,
            tuple(map(isl_text, sizes)),
            tuple(map(size_c_text, sizes)),
            StorageClass.SCRATCH,
            live_out=False,
        )

    def _rewrite(self, statement: Statement) -> Statement:
        """Return a statement that reads copies."""
        replacements = self._replacements.get(statement.name)
        if replacements is None:
            return statement
        body = replace_accesses(statement.body, replacements)
        text = f"{statement.write.text} = {c_expression(body)};"
        return replace(statement, body=body, text=text)


def _expect_inside(scop: Scop, array: str, elements: isl.Set) -> None:
    """Refuse to read elements that an array does not have: a branch may never read them.

    Raises:
        InputError: there is such an element.
    """
    context = isl.Set(scop.context)
    for place, extent in enumerate(scop.array(array).extents):
        others = elements.dim(isl.dim_type.set) - place - 1
        line = elements.project_out(isl.dim_type.set, place + 1, others)
        line = line.project_out(isl.dim_type.set, 0, place)
        outside = isl.Set.from_pw_aff(isl.PwAff(extent)).lex_le_set(line.reset_tuple_id())
        below = line.subtract(line.lower_bound_val(isl.dim_type.set, 0, isl.Val(0)))
        is_outside = not outside.domain().intersect_params(context).is_empty()
        if is_outside or not below.intersect_params(context).is_empty():
            raise InputError(
                f"storage: {array}=copy: expected elements of {array}, found others in a branch "
                "that may not run"
            )


def _size(group: _Group, place: int, context: isl.Set) -> isl.PwAff:
    """Return how many elements an array of copies has along a counter, one at least.

    Raises:
        InputError: the counter is negative somewhere.
    """
    points = group.points.intersect_params(context)
    below = points.lower_bound_val(isl.dim_type.set, place, isl.Val(0))
    if not points.is_subset(below):
        raise InputError(
            f"storage: {group.key[0]}=copy: expected counters that are nowhere negative"
        )
    least = isl.PwAff.from_aff(
        isl.Aff.zero_on_domain(isl.LocalSpace.from_space(context.get_space())).set_constant_val(
            isl.Val(1)
        )
    )
    size = points.dim_max(place).add_constant_val(isl.Val(1)).union_max(least)
    size = size.gist_params(context).coalesce()
    pieces: list[isl.Aff] = []
    size.foreach_piece(lambda _, affine: pieces.append(affine))
    for alone in map(isl.PwAff.from_aff, pieces):  # n for n >= 2 and 1 for n = 1 is n
        if context.is_subset(size.eq_set(alone)):
            return alone
    return size
