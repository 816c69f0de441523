"""Copy statements: values that the region is given, and values that it leaves.

Where a read sees what memory held before the region, these elements are copied to their first
version before anything runs. Where the end of the region can be seen, the versions that are left in
the end are copied back behind everything. Both are statements as others; a new first dimension of
the order has the former at 0, the program at 1 and the latter at 2.

Which version an element is left in may be a function with several pieces. Each gets a statement of
its own.

isl's functions as the texts that a Scop holds: accesses, sizes, and both as C.

Proof that a program with other storage computes the same values.

Two programs that run the same instances of the same statements in the same order compute the same
if every read sees the same value in both: the value of the same writing instance, or what memory
held before. Both are asked of isl's dataflow analysis, of the program before and after, for all
sizes, and compared as sets. Copies are looked through: a read that sees an element that was copied
in has to see the one that the read of the source saw, and what is copied out is to be the value
that was left. ::

    before   S1[i, k] sees S0[i] where k = 0, otherwise S1[i, k - 1]
    after    the same, in w_1[i]; or something else, and then the plan is refused

Nothing here knows how versions were chosen. So a choice of versions may be wrong, and then it is
refused; it cannot be wrong and go unnoticed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polygym.errors import InputError, InternalError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access, Expression, Load
from polygym.ir.scop import Array, Scop, Statement
from polygym.poly.dependences import maps_of
from polygym.poly.isl_values import isl_c_text, isl_text
from polygym.poly.transform.storage.versions import ArrayVersions
from polygym.poly.transform.storage.webs import Web, WebRead, live_out_writers, reads_of


def access_from_map(function: isl.Map, array: str) -> Access:
    """Return the access that a function from instances to elements is."""
    function = function.set_tuple_name(isl.dim_type.out, array)
    return Access(array, isl_text(function), access_text(function, array))


def access_text(function: isl.Map, array: str) -> str:
    """Return an access as C would have it, ``w[i][k + 1]``."""
    subscripts = subscript_texts(function)
    return array + "".join(f"[{subscript}]" for subscript in subscripts)


def subscript_texts(function: isl.Map) -> tuple[str, ...]:
    """Return the results of a function as C texts in terms of its arguments' names."""
    depth = function.dim(isl.dim_type.in_)
    count = function.dim(isl.dim_type.param)
    function = function.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    numbers = isl.PwMultiAff.from_map(
        function.move_dims(isl.dim_type.param, count, isl.dim_type.in_, 0, depth)
    )
    build = isl.AstBuild.from_context(isl.Set("{ : }"))
    return tuple(
        isl_c_text(build.expr_from_pw_aff(numbers.get_pw_aff(place).project_domain_on_params()))
        for place in range(numbers.dim(isl.dim_type.out))
    )


def size_c_text(size: isl.PwAff) -> str:
    """Return a function of the parameters as C."""
    return isl_c_text(isl.AstBuild.from_context(isl.Set("{ : }")).expr_from_pw_aff(size))


def named_set(points: isl.Set, name: str, iterators: Sequence[str]) -> isl.Set:
    """Return a set of points as instances of a statement."""
    points = points.set_tuple_name(name)
    for place, iterator in enumerate(iterators):
        points = points.set_dim_name(isl.dim_type.set, place, iterator)
    return points


def unused_name(name: str, taken: set[str]) -> str:
    """Return a name, with a number behind it if it is taken, and take it.

    >>> unused_name("w_copy", {"w_copy", "w_copy2"})
    'w_copy3'
    """
    number, result = 1, name
    while result in taken:
        number += 1
        result = f"{name}{number}"
    taken.add(result)
    return result


def numbered_name(name: str, taken: set[str]) -> str:
    """Return a name with the first number behind it that is not taken, and take it.

    >>> numbered_name("w", {"w", "w_1"})
    'w_2'
    """
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    taken.add(f"{name}_{number}")
    return f"{name}_{number}"


_BEFORE, _DURING, _AFTER = 0, 1, 2


class CopyStatements:
    """Collects the copies of a program's webs."""

    def __init__(self, scop: Scop, names: set[str]) -> None:
        """Begin with none; ``names`` are taken, and get those that are given away."""
        self._scop = scop
        self._names = names
        self._before: list[Statement] = []
        self._after: list[Statement] = []

    def add(self, web: Web, versions: ArrayVersions, array: Array) -> None:
        """Add what a web that moves to another array needs."""
        if web.is_live_in:
            self._before.append(self._add_copy_in(web, versions, array))
        if self._scop.array(web.array).is_observable and not web.live_out.is_empty():
            self._after.extend(self._add_copy_out(web, versions, array))

    def surround(self, scop: Scop) -> Scop:
        """Return a program with the copies before and behind it."""
        if not self._before and not self._after:
            return scop
        order = maps_of(isl.UnionMap(scop.schedule))
        own = self._before + self._after
        length = max(order[0].dim(isl.dim_type.out), *(copied.depth + 1 for copied in own))
        times_of = {
            copied.get_tuple_name(isl.dim_type.in_): _embed_times(copied, _DURING, length)
            for copied in order
        }
        for place, statements in ((_BEFORE, self._before), (_AFTER, self._after)):
            for number, statement in enumerate(statements):
                points = isl.Set(statement.domain).get_space().universe_set()
                times = isl.Map.identity(points.get_space().map_from_set())
                times = times.reset_tuple_id(isl.dim_type.out)
                times = times.insert_dims(isl.dim_type.out, 0, 1)
                times = times.fix_val(isl.dim_type.out, 0, isl.Val(number))
                times_of[statement.name] = _embed_times(times, place, length)
        everything = (*self._before, *scop.statements, *self._after)
        schedule = isl.UnionMap.from_map(times_of[everything[0].name])
        for copied in everything[1:]:
            schedule = schedule.union(isl.UnionMap.from_map(times_of[copied.name]))
        return replace(scop, statements=everything, schedule=isl_text(schedule))

    def _add_copy_in(self, web: Web, versions: ArrayVersions, array: Array) -> Statement:
        elements: isl.UnionSet | None = None
        for read in web.reads:
            own = read.initial.range()
            elements = own if elements is None else elements.union(own)
        assert elements is not None
        points = isl.Set.from_union_set(elements.coalesce())
        version = isl.Map.from_domain_and_range(
            points.universe(points.get_space()), versions.initial
        )
        return self._copy(points, version, self._scop.array(web.array), array, is_in=True)

    def _add_copy_out(self, web: Web, versions: ArrayVersions, array: Array) -> Iterator[Statement]:
        pieces: list[tuple[isl.Set, isl.MultiAff]] = []
        function = isl.PwMultiAff.from_map(versions.live_out_versions()).coalesce()
        function.foreach_piece(lambda points, affine: pieces.append((points, affine)))
        for points, affine in pieces:
            version = isl.Map.from_multi_aff(affine)
            yield self._copy(points, version, self._scop.array(web.array), array, is_in=False)

    def _copy(
        self, points: isl.Set, version: isl.Map, outside: Array, inside: Array, *, is_in: bool
    ) -> Statement:
        """Return the statement that copies elements in or out.

        ``version`` is a function of the elements ``points`` of the array outside.
        """
        name = unused_name(f"{inside.name}_{'in' if is_in else 'out'}", self._names)
        iterators = [self._counter(place) for place in range(outside.rank)]
        points = named_set(points, name, iterators)
        same = isl.Map.identity(points.get_space().map_from_set())
        version = version.set_tuple_name(isl.dim_type.in_, name)
        element = version.flat_range_product(same.reset_tuple_id(isl.dim_type.out))
        for place, iterator in enumerate(iterators):
            same = same.set_dim_name(isl.dim_type.in_, place, iterator)
            element = element.set_dim_name(isl.dim_type.in_, place, iterator)
        here, there = access_from_map(element, inside.name), access_from_map(same, outside.name)
        write, read = (here, there) if is_in else (there, here)
        beside = self._scop.statements[0 if is_in else -1].location
        return Statement(
            name,
            tuple(iterators),
            isl_text(points),
            write,
            Load(read, outside.type),
            f"{write.text} = {read.text};",
            beside,
        )

    def _counter(self, place: int) -> str:
        """Return the name of a counter, which clashes with nothing; copies may share it."""
        name = f"x{place}"
        while name in self._names:
            name += "_"
        return name


def _embed_times(times: isl.Map, place: int, length: int) -> isl.Map:
    """Return times with a constant in front and zeros behind."""
    missing = length - times.dim(isl.dim_type.out)
    times = times.add_dims(isl.dim_type.out, missing)
    for number in range(length - missing, length):
        times = times.fix_val(isl.dim_type.out, number, isl.Val(0))
    times = times.insert_dims(isl.dim_type.out, 0, 1)
    return times.fix_val(isl.dim_type.out, 0, isl.Val(place))


# Something that was copied in and is copied out again goes through two copies.
_MOST_COPIES = 2


def expect_same_values(before: Scop, after: Scop, source_arrays: Mapping[str, str]) -> None:
    """Refuse a program in which some read does not see what it saw before.

    ``source_arrays`` are the arrays that are new ``after``, with the array of the source that each
    one stands for. Statements that are new are copies, of which every one copies one element.

    Raises:
        InputError: there is such a read, or an element that is left with another value.
    """
    known = {statement.name for statement in before.statements}
    copied = _copied_values(after, known)
    for statement in before.statements:
        now = after.statement(statement.name)
        _expect_same_text(statement, now, source_arrays)
        for old, new in dict.fromkeys(zip(statement.reads, now.reads, strict=True)):
            if old.array not in source_arrays.values():
                continue
            wanted = _values_read(_read(before, statement.name, old.array, old.relation))
            union_map = _resolve_copies(
                _values_read(_read(after, now.name, new.array, new.relation)), copied
            )
            if not wanted.is_equal(union_map):
                raise InputError(
                    f"storage: under this plan {statement.name} would not see the value of "
                    f"{old.text} that it sees in the source"
                )
    for array in dict.fromkeys(source_arrays.values()):
        if not before.array(array).is_observable or _is_written_alike(before, after, array):
            continue
        wanted = live_out_writers(before, array).reverse()
        union_map = _resolve_copies(live_out_writers(after, array).reverse(), copied)
        if not wanted.is_equal(union_map):
            raise InputError(
                f"storage: under this plan {array} would not be left with the values that the "
                "source leaves in it"
            )


def _is_written_alike(before: Scop, after: Scop, array: str) -> bool:
    """Whether the same instances write the same elements of an array: they leave the same."""
    first, second = (
        [
            (statement.name, statement.write)
            for statement in scop.statements
            if statement.write.array == array
        ]
        for scop in (before, after)
    )
    return first == second


def _expect_same_text(
    before: Statement, after: Statement, source_arrays: Mapping[str, str]
) -> None:
    """Make sure that a statement is what it was but for the elements that it touches."""
    is_same = (
        _outline(before, {}) == _outline(after, source_arrays) and before.domain == after.domain
    )
    for old, new in ((before.write, after.write), *zip(before.reads, after.reads, strict=True)):
        is_same &= old == new or source_arrays.get(new.array) == old.array
    if not is_same:
        raise InternalError(f"storage: statement {before.name} has become another one")


def _outline(statement: Statement, source_arrays: Mapping[str, str]) -> Expression:
    """Return what a statement computes, of arrays of the source, whichever elements."""
    names = {access: source_arrays.get(access.array, access.array) for access in statement.reads}
    return replace_accesses(
        statement.body, {access: Access(name, "", "") for access, name in names.items()}
    )


def _read(scop: Scop, statement: str, array: str, relation: str) -> WebRead:
    return next(
        read
        for read in reads_of(scop, array)
        if (read.statement, read.access.relation) == (statement, relation)
    )


def _values_read(read: WebRead) -> isl.UnionMap:
    """Return what each instance sees: a writing instance, or an element as it was before."""
    return read.sources.reverse().union(read.initial).coalesce()


def _copied_values(after: Scop, known: set[str]) -> isl.UnionMap:
    """Return what the instances of copies see, of which they are no more than other names."""
    union_map = isl.UnionMap("{ }")
    for statement in after.statements:
        if statement.name in known:
            continue
        (access,) = statement.reads
        union_map = union_map.union(
            _values_read(_read(after, statement.name, access.array, access.relation))
        )
    return union_map


def _resolve_copies(seen: isl.UnionMap, copied: isl.UnionMap) -> isl.UnionMap:
    """Return what is seen with copies replaced by what they copy."""
    for _ in range(_MOST_COPIES):
        is_copy = seen.intersect_range(copied.domain())
        if is_copy.is_empty():
            break
        seen = seen.subtract(is_copy).union(is_copy.apply_range(copied))
    return seen
