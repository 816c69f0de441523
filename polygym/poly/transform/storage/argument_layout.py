"""Arguments that are read as they lie in memory: with gaps, transposed, mirrored, or broadcast.

The elements of a view lie at multiples of its strides. Where these are nested (each a multiple of
the next, and long enough for what lies inside), the view is a part of a dense array with other
subscripts. A block of three columns of a matrix with eight, X[n, d] with strides (8, 1), is ::

    { S[n, d] -> X[n, d] }   →   { S[n, d] -> X[n, d] } with extents (N, 8)

its transposition ``{ S[n, d] -> X[d, n] }``; rows backwards are ``X[N - 1 - n, d]``, counted from
the lowest address; and a dimension with stride 0 is left out. Nothing is read that was not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Array, Scop, Statement
from polygym.pickling import pickle_by_name
from polygym.poly.isl_values import isl_text


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StoredLayout:
    """A view as a part of a dense array that begins at the lowest address.

    ``extents`` are those of the dense array, the last of which may be longer than its memory.
    ``subscripts`` has for each a dimension of the view, a sign and a constant; without a dimension
    it is the constant. ``offset`` is how many elements the first one lies behind the lowest
    address, ``span`` how many lie from there to the end of the last one.
    """

    rank: int
    extents: tuple[int, ...]
    subscripts: tuple[tuple[int | None, int, int], ...]
    offset: int
    span: int


def stored_layout(shape: Sequence[int], strides: Sequence[int]) -> StoredLayout | None:
    """Return the layout of a view with elements, by its strides in elements.

    None where it is no part of a dense array: elements overlap, as in windows.

    >>> stored_layout((4, 3), (8, 1)).extents
    (4, 8)
    >>> stored_layout((3, 4), (1, -8)).subscripts
    ((1, -1, 3), (0, 1, 0))
    """
    moving = [place for place, size in enumerate(shape) if size > 1 and strides[place] != 0]
    moving.sort(key=lambda place: -abs(strides[place]))
    extents: list[int] = []
    subscripts: list[tuple[int | None, int, int]] = []
    offset = last = 0
    before: int | None = None
    for place in moving:
        step, size = abs(strides[place]), shape[place]
        if before is None:
            extents.append(size)
        elif before % step or before // step < size:
            return None
        else:
            extents.append(before // step)
        is_mirrored = strides[place] < 0
        subscripts.append((place, -1 if is_mirrored else 1, size - 1 if is_mirrored else 0))
        offset += (size - 1) * step * is_mirrored
        last += (size - 1) * step
        before = step
    if before != 1:  # the innermost has gaps, or there is one element
        extents.append(before or 1)
        subscripts.append((None, 1, 0))
    return StoredLayout(len(shape), tuple(extents), tuple(subscripts), offset, last + 1)


def with_layout(scop: Scop, name: str, layout: StoredLayout) -> Scop:
    """Return a program that reads an argument as it lies; it writes nothing there."""
    elements = [f"x{place}" for place in range(layout.rank)]
    inside = ", ".join(
        str(constant) if place is None else f"{constant} + {sign} * {elements[place]}"
        for place, sign, constant in layout.subscripts
    )
    turned = isl.Map(f"{{ {name}[{', '.join(elements)}] -> {name}[{inside}] }}")
    texts = tuple(str(extent) for extent in layout.extents)
    parameters = ", ".join(parameter.name for parameter in scop.parameters)

    def stored(array: Array) -> Array:
        if array.name != name:
            return array
        extents = tuple(f"[{parameters}] -> {{ [({text})] }}" for text in texts)
        return replace(array, extents=extents, c_extents=texts)

    def moved(access: Access) -> Access:
        relation = isl.Map(access.relation).apply_range(turned)
        return replace(access, relation=isl_text(relation))

    def reading(statement: Statement) -> Statement:
        replacements = {read: moved(read) for read in statement.reads if read.array == name}
        return replace(statement, body=replace_accesses(statement.body, replacements))

    return replace(
        scop,
        arrays=tuple(stored(array) for array in scop.arrays),
        statements=tuple(reading(statement) for statement in scop.statements),
    )


def can_be_laid_out(scop: Scop, name: str) -> bool:
    """Whether an array is only read, and by subscripts that are known."""
    return all(
        statement.write.array != name
        and not any(read.array == name and read.gathered for read in statement.reads)
        for statement in scop.statements
    )
