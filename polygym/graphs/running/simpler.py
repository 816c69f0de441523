"""The simplest form of a nest: fewer indices on the same memory.

Axes of extent 1 vanish, and two indices that stand next to each other wherever they stand become
one: sums of tensors of shapes (1, 64, 56, 56) and (200704) are one kernel, a convolution by 1 × 1 a
product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from polygym.graphs.running.nests import (
    Access,
    Affine,
    Array,
    Expression,
    Nest,
    Statement,
    Subscript,
    accesses_of,
    conditions_of,
    constant,
    index,
    mapped,
)

__all__ = ["simplified"]

_ONLY = "only"


def simplified(nest: Nest) -> Nest:
    """Return a nest that computes the same on the same memory.

    >>> at = (index("i"), index("j"))
    >>> arrays = Array("a", (4, 6), "float32"), Array("b", (4, 6), "float32")
    >>> copy = Statement("b", ("i", "j"), "=", Access("a", at))
    >>> simplified(Nest((("i", 4), ("j", 6)), arrays, 1, (copy,), "b")).extents
    (('i', 24),)
    """
    nest = _without_units(_parted(nest))
    while (pair := _mergeable(nest)) is not None:
        nest = _merged(nest, *pair)
    return _filled(nest)


def _parted(nest: Nest) -> Nest:
    """Return a nest where axes of parameters that are read by N·g + f have become two."""
    extents = dict(nest.extents)
    for array in nest.parameters:
        accesses = [one for one in _accesses(nest) if one.array == array.name]
        for place in range(len(array.shape) - 1, -1, -1):
            forms = {one.at[place] for one in accesses}
            form = forms.pop() if len(forms) == 1 else None
            if not isinstance(form, Affine) or len(form.terms) != 2 or form.offset:
                continue
            (outer, factor), (inner, one) = sorted(form.terms, key=lambda term: -term[1])
            shape = (extents[outer], factor)
            if one != 1 or factor != extents[inner] or shape[0] * factor != array.shape[place]:
                continue
            at = (index(outer), index(inner))
            nest = _with_axes(nest, array.name, slice(place, place + 1), shape, at)
    return nest


def _with_axes(
    nest: Nest, name: str, axes: slice, shape: tuple[int, ...], at: tuple[Affine, ...]
) -> Nest:
    """Return a nest with other axes, and subscripts, in the place of some of a parameter."""

    def change(one: Access) -> Access:
        if one.array != name:
            return one
        return Access(name, (*one.at[: axes.start], *at, *one.at[axes.stop :]))

    arrays = tuple(
        replace(one, shape=(*one.shape[: axes.start], *shape, *one.shape[axes.stop :]))
        if one.name == name
        else one
        for one in nest.arrays
    )
    statements = tuple(_changed(one, change) for one in nest.statements)
    return replace(nest, arrays=arrays, statements=statements)


def _without_units(nest: Nest) -> Nest:
    """Return a nest without indices and axes of extent 1."""
    units = {name for name, extent in nest.extents if extent == 1}
    shapes = {one.name: one.shape for one in nest.arrays}
    # A subscript that is read from an array is checked when the code runs: it stays.
    read = {
        (one.array, place)
        for one in _accesses(nest)
        for place, part in enumerate(one.at)
        if isinstance(part, Access)
    }
    kept = {
        name: [place for place, extent in enumerate(shape) if extent != 1 or (name, place) in read]
        for name, shape in shapes.items()
    }

    def affine(one: Affine) -> Affine:
        return Affine(tuple(term for term in one.terms if term[0] not in units), one.offset)

    def access(one: Access) -> Access:
        parts = (one.at[place] for place in kept[one.array])
        return Access(
            one.array, tuple(affine(part) if isinstance(part, Affine) else part for part in parts)
        )

    arrays = tuple(
        replace(one, shape=tuple(one.shape[place] for place in kept[one.name]))
        for one in nest.arrays
    )
    statements = tuple(
        replace(
            _changed(one, access, affine), at=tuple(name for name in one.at if name not in units)
        )
        for one in nest.statements
    )
    extents = tuple(pair for pair in nest.extents if pair[0] not in units)
    return replace(nest, extents=extents, arrays=arrays, statements=statements)


def _mergeable(nest: Nest) -> tuple[str, str] | None:
    """Return two indices that stand beside each other wherever one of them stands."""
    accesses = _accesses(nest)
    tried: set[tuple[str, str]] = set()
    asked = _conditioned(nest)
    for one in accesses:
        names = [part.plain if isinstance(part, Affine) else None for part in one.at]
        for first, second in pairwise(names):
            if first is None or second is None or (first, second) in tried:
                continue
            tried.add((first, second))
            if first != second and not asked & {first, second}:
                if _always_together(nest, accesses, first, second):
                    return first, second
    return None


def _always_together(nest: Nest, accesses: list[Access], first: str, second: str) -> bool:
    extents = dict(nest.extents)
    shapes = {one.name: one.shape for one in nest.arrays}
    places: dict[str, set[int]] = {}
    for one in accesses:
        found = set()
        for place, part in enumerate(one.at):
            if not isinstance(part, Affine):
                continue
            terms = {name for name, _ in part.terms} & {first, second}
            if not terms:
                continue
            if part.plain == first:
                found.add(place)
            elif part.plain != second or place == 0:
                return False
            else:
                before = one.at[place - 1]
                if not isinstance(before, Affine) or before.plain != first:
                    return False
        for place in found:
            after = one.at[place + 1] if place + 1 < len(one.at) else None
            if not isinstance(after, Affine) or after.plain != second:
                return False
            if shapes[one.array][place : place + 2] != (extents[first], extents[second]):
                return False
        # All that touches an array has to see it under the same shape.
        if places.setdefault(one.array, found) != found:
            return False
    return True


def _merged(nest: Nest, first: str, second: str) -> Nest:
    """Return a nest with one index in the place of two that always stand together."""
    places = {
        one.array: [place for place, part in enumerate(one.at) if part == index(first)]
        for one in _accesses(nest)
    }

    def access(one: Access) -> Access:
        return Access(one.array, tuple(part for part in one.at if part != index(second)))

    def shape(one: Array) -> tuple[int, ...]:
        found = list(one.shape)
        for place in reversed(places.get(one.name, [])):
            found[place : place + 2] = [found[place] * found[place + 1]]
        return tuple(found)

    extents = dict(nest.extents)
    extents[first] *= extents.pop(second)
    arrays = tuple(replace(one, shape=shape(one)) for one in nest.arrays)
    statements = tuple(
        replace(_changed(one, access), at=tuple(name for name in one.at if name != second))
        for one in nest.statements
    )
    return replace(nest, extents=tuple(extents.items()), arrays=arrays, statements=statements)


def _filled(nest: Nest) -> Nest:
    """Return a nest in which every array has an axis: scalars are passed in another way."""
    bare = {one.name for one in nest.arrays if not one.shape}
    if not bare:
        return nest
    targets = {one.target for one in nest.statements}

    def access(one: Access) -> Access:
        if one.array not in bare:
            return one
        return Access(one.array, (index(_ONLY) if one.array in targets else constant(0),))

    arrays = tuple(replace(one, shape=one.shape or (1,)) for one in nest.arrays)
    statements = tuple(
        replace(_changed(one, access), at=one.at or (_ONLY,)) for one in nest.statements
    )
    return replace(nest, extents=((_ONLY, 1), *nest.extents), arrays=arrays, statements=statements)


def _changed(
    statement: Statement,
    access: Callable[[Access], Expression],
    affine: Callable[[Affine], Affine] = lambda one: one,
) -> Statement:
    """Return a statement with accesses on its right side, and conditions, replaced."""
    return replace(statement, value=mapped(statement.value, access, affine))


def _accesses(nest: Nest) -> list[Access]:
    """Return all accesses, left sides too."""
    found: list[Access] = []
    for statement in nest.statements:
        left: tuple[Subscript, ...] = tuple(map(index, statement.at))
        found.append(Access(statement.target, left))
        found += accesses_of(statement.value)
    return found


def _conditioned(nest: Nest) -> set[str]:
    """Return the indices that conditions ask about."""
    return {
        name
        for statement in nest.statements
        for condition in conditions_of(statement.value)
        for name, _ in condition.terms
    }
