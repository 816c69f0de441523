"""Members of structures in the layout of the program: arrays of their own become columns of rows.

The front end reads the members of an array of structures as arrays of their own. In the end they
are put back into the memory that the program has: of each type of number there is one array, a
*view*, whose rows are the structures, and a member is a column of it::

    struct body { int id; double x, v[3]; } *p;      40 bytes: 5 doubles or 10 ints

    p_x[i]  →  p_double[i][1]      p_v[i][k]  →  p_double[i][2 + k]      p_id[i]  →  p_int[i][0]

Views of the same structures share memory but no element, as members do, so that no access to one is
an access to another. With members of one type there is one view, of the name of the structures.

So it is with structures that code outside of the region can reach. Those that are declared in the
region, and single ones, stay apart: each member of a single one lies in one piece. Where the layout
is not known, or a subscript within a structure is computed as the program runs, members stay apart
too; then no caller's memory is like theirs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygym.frontend.c.desugar.struct_layout import MemberPlace
from polygym.frontend.c.desugar.struct_members import MemberOrigin
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Array, Scop, Statement, StorageClass, StructureView
from polygym.ir.types import ScalarType
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import isl_text
from polygym.poly.transform.storage.copy_statements import size_c_text

_Root = tuple[str, tuple[str, ...]]
"""An array of structures: a variable, and the members on the way from there."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A member as columns of a view: its array, and its place in the structures of the root."""

    array: Array
    origin: MemberOrigin
    level: int
    place: MemberPlace

    @property
    def row_length(self) -> int:
        """The elements of a row."""
        return self.place.size // self.array.type.size

    @property
    def is_single(self) -> bool:
        """Whether it is the member of one structure, which a pointer leads to: ``p->x``."""
        return not self.array.rank

    @property
    def outer_rank(self) -> int:
        """The number of dimensions of the array of structures, as the program reads it."""
        return self.array.rank - len(self.place.strides)

    @property
    def declared_rank(self) -> int:
        """The number of dimensions of the array of structures, as it is declared."""
        return sum(self.origin.ranks[: self.level + 1])

    @property
    def fits(self) -> bool:
        """Whether the member's elements are elements of rows, and its dimensions are known."""
        parts = (self.place.size, self.place.offset, *self.place.strides)
        has_rows = self.outer_rank >= self.declared_rank
        is_single = self.is_single and self.declared_rank == 1 and not self.place.strides
        return (has_rows or is_single) and not any(part % self.array.type.size for part in parts)

    def map_to(self, view: str, rank: int) -> isl.Map:
        """Return the map from the member's elements to those of a view of so many dimensions."""
        size = self.array.type.size
        names = [f"d{k}" for k in range(self.array.rank)]
        outer, own = names[: rank - 1], names[rank - 1 :]
        terms = [str(self.place.offset // size)]
        terms += [f"{s // size} * {d}" for s, d in zip(self.place.strides, own, strict=True)]
        new = ", ".join((*(outer or ["0"] * (rank - 1)), " + ".join(terms)))
        return isl.Map(f"{{ {self.array.name}[{', '.join(names)}] -> {view}[{new}] }}")

    def ways(self) -> Iterator[tuple[str, int]]:
        """Yield the first and the last element in C, with their places."""
        for subscripts in dict.fromkeys(
            (tuple(0 for _ in self.place.counts), tuple(count - 1 for count in self.place.counts))
        ):
            left = list(subscripts)
            text = ""
            for name, rank in zip(
                self.origin.path[self.level :], self.origin.ranks[self.level + 1 :], strict=True
            ):
                own, left = left[:rank], left[rank:]
                text += f".{name}" + "".join(f"[{subscript}]" for subscript in own)
            yield text, self.place.at(subscripts)


def with_structure_views(scop: Scop, members: Mapping[str, MemberOrigin]) -> Scop:
    """Return a program with views in the place of members of arrays of structures.

    Raises:
        LimitError: the integer sets are too large.
    """
    with bounded_operations("the layout of structures"):
        return _with_views_of_roots(scop, members)


def _with_views_of_roots(scop: Scop, members: Mapping[str, MemberOrigin]) -> Scop:
    roots = _columns_by_root(scop, members)
    if not roots:
        return scop
    views: dict[str, Array] = {}
    maps: dict[str, isl.Map] = {}
    names = set(scop.names) - {c.array.name for columns in roots.values() for c in columns}
    for (base, path), columns in roots.items():
        root = "_".join((base, *path))
        types = dict.fromkeys(column.array.type for column in columns)
        rank = max(1, *(column.outer_rank for column in columns))
        for kind in types:
            name = _new_name(root if len(types) == 1 else f"{root}_{_type_name(kind)}", names)
            own = [column for column in columns if column.array.type is kind]
            view = _view(own, rank, name, ".".join((base, *path)))
            views |= {column.array.name: view for column in own}
            maps |= {column.array.name: column.map_to(name, view.rank) for column in own}
    return verify(
        replace(
            scop,
            arrays=tuple(dict.fromkeys(views.get(array.name, array) for array in scop.arrays)),
            signature=tuple(
                dict.fromkeys(views[n].name if n in views else n for n in scop.signature)
            ),
            statements=tuple(_with_views(s, views, maps) for s in scop.statements),
        )
    )


@dataclass(frozen=True, slots=True)
class StructureRoot:
    """An array of structures of so many dimensions: a variable, or a member of a single one."""

    base: str
    path: tuple[str, ...]
    rank: int


def structure_roots(scop: Scop, members: Mapping[str, MemberOrigin]) -> dict[str, StructureRoot]:
    """Return the arrays of structures by the names that their views have for them."""
    present = {array.structure.name for array in scop.arrays if array.structure is not None}
    roots = {
        ".".join((origin.base, *origin.path[:level])): StructureRoot(
            origin.base, origin.path[:level], origin.ranks[level]
        )
        for origin in members.values()
        for level in range(len(origin.path))
    }
    return {name: root for name, root in roots.items() if name in present}


def _columns_by_root(
    scop: Scop, members: Mapping[str, MemberOrigin]
) -> dict[_Root, tuple[_Column, ...]]:
    """Return the arrays of structures that get views, with their members."""
    by_base: dict[str, list[tuple[Array, MemberOrigin]]] = {}
    for array in scop.arrays:
        if array.name in members:
            origin = members[array.name]
            by_base.setdefault(origin.base, []).append((array, origin))
    result: dict[_Root, list[_Column]] = {}
    for base, own in by_base.items():
        is_many = any(set(array.c_extents[: origin.ranks[0]]) - {"1"} for array, origin in own)
        for array, origin in own:
            level = 0 if is_many else _first_array(origin)
            if level is None:
                continue
            place = origin.places[level]
            key = (base, origin.path[:level])
            column = None if place is None else _Column(array, origin, level, place)
            result.setdefault(key, []).append(column)  # type: ignore[arg-type]
    return {
        root: tuple(columns)
        for root, columns in result.items()
        if all(column is not None and _has_layout(column, scop) for column in columns)
        and _have_one_shape(columns)
    }


def _first_array(origin: MemberOrigin) -> int | None:
    """Return the number of members on the way to the first array of structures, None for none."""
    return next((k for k in range(1, len(origin.path)) if origin.ranks[k]), None)


def _has_layout(column: _Column, scop: Scop) -> bool:
    """Whether a member has a place in the structures that the region is given."""
    array = column.array
    return (
        array.storage_class is not StorageClass.BLOCK
        and array.initial is None
        and column.fits
        and not any(
            access.array == array.name
            and any(dimension >= column.outer_rank for dimension in access.gathered)
            for statement in scop.statements
            for access in (statement.write, *statement.reads)
        )
    )


def _have_one_shape(columns: Sequence[_Column]) -> bool:
    """Whether members have the dimensions of one array of structures.

    Those that are declared are the same; of members of one flat array, rows may have been made of
    several lengths.
    """
    rows = [column for column in columns if not column.is_single]
    shapes = {
        column.array.extents[1 : column.outer_rank]
        for column in rows
        if column.outer_rank > column.declared_rank
    }
    return len({column.outer_rank for column in rows}) <= 1 and len(shapes) <= 1


def _view(columns: Sequence[_Column], rank: int, name: str, structures: str) -> Array:
    """Return the array of which some members of one type are columns."""
    first = max(columns, key=lambda column: column.array.rank)
    arrays = [column.array for column in columns]
    length = first.row_length
    outer = range(rank)
    sizes = [_largest([a.extents[k] for a in arrays if a.rank]) for k in outer]
    texts = [{a.c_extents[k] for a in arrays if a.rank} for k in outer]
    ways = dict(way for column in columns for way in column.ways())
    return Array(
        name,
        first.array.type,
        (*map(isl_text, sizes), f"{{ [({length})] }}"),
        (
            *(
                text.pop() if len(text) == 1 else size_c_text(size)
                for text, size in zip(texts, sizes, strict=True)
            ),
            str(length),
        ),
        first.array.storage_class,
        any(array.live_out for array in arrays),
        None,
        StructureView(structures, first.place.size, tuple(ways.items())),
    )


def _largest(texts: Sequence[str]) -> isl.PwAff:
    """Return the largest of some sizes."""
    first, *others = [isl.PwAff(text) for text in dict.fromkeys(texts)] or [isl.PwAff(_ONE)]
    for other in others:
        first = first.max(other)
    return first.coalesce()


_ONE = "{ [(1)] }"


def _with_views(
    statement: Statement, views: Mapping[str, Array], maps: Mapping[str, isl.Map]
) -> Statement:
    """Return a statement with elements of views in the place of members."""
    replacements: dict[Access, Access] = {}
    for access in (statement.write, *statement.reads):
        if access.array in maps:
            relation = isl.Map(access.relation).apply_range(maps[access.array])
            name = views[access.array].name
            replacements[access] = replace(access, array=name, relation=isl_text(relation))
    return replace(
        statement,
        write=replacements.get(statement.write, statement.write),
        body=replace_accesses(statement.body, replacements),
    )


def _type_name(kind: ScalarType) -> str:
    return kind.value.strip("_").removesuffix("_t")


def _new_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
