"""The simplest form of a nest: fewer indices on the same memory.

Axes of extent 1 vanish, and two indices that stand next to each other wherever they stand become
one: sums of tensors of shapes (1, 64, 56, 56) and (200704) are one kernel, a convolution by 1 × 1 a
product of matrices.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from polygym.graphs.execution.ir.nests import (
    AffineIndex,
    ArrayAccess,
    Expression,
    NestArray,
    NestStatement,
    Subscript,
    TensorNest,
    array_accesses,
    condition_indices,
    constant_index,
    index_named,
    map_expression,
)

_UNIT_INDEX = "only"


def simplify(nest: TensorNest) -> TensorNest:
    """Return a nest that computes the same on the same memory.

    >>> at = (index_named("i"), index_named("j"))
    >>> arrays = NestArray("a", (4, 6), "float32"), NestArray("b", (4, 6), "float32")
    >>> copy = NestStatement("b", ("i", "j"), "=", ArrayAccess("a", at))
    >>> simplify(TensorNest((("i", 4), ("j", 6)), arrays, 1, (copy,), "b")).extents
    (('i', 24),)
    """
    nest = _drop_unit_axes(_split_axes(nest))
    while (pair := _mergeable_indices(nest)) is not None:
        nest = _merge_indices(nest, *pair)
    return _with_axis_for_scalars(nest)


def _split_axes(nest: TensorNest) -> TensorNest:
    """Return a nest where axes of parameters that are read by N·g + f have become two."""
    extents = dict(nest.extents)
    for array in nest.parameters:
        accesses = [access for access in _accesses(nest) if access.array == array.name]
        for place in range(len(array.shape) - 1, -1, -1):
            forms = {array_access.subscripts[place] for array_access in accesses}
            form = forms.pop() if len(forms) == 1 else None
            if not isinstance(form, AffineIndex) or len(form.terms) != 2 or form.offset:
                continue
            (outer, factor), (inner, least) = sorted(form.terms, key=lambda term: -term[1])
            shape = (extents[outer], factor)
            if least != 1 or factor != extents[inner] or shape[0] * factor != array.shape[place]:
                continue
            at = (index_named(outer), index_named(inner))
            nest = _with_axes(nest, array.name, slice(place, place + 1), shape, at)
    return nest


def _with_axes(
    nest: TensorNest, name: str, axes: slice, shape: tuple[int, ...], at: tuple[AffineIndex, ...]
) -> TensorNest:
    """Return a nest with other axes, and subscripts, in the place of some of a parameter."""

    def change(access: ArrayAccess) -> ArrayAccess:
        if access.array != name:
            return access
        return ArrayAccess(
            name, (*access.subscripts[: axes.start], *at, *access.subscripts[axes.stop :])
        )

    arrays = tuple(
        replace(array, shape=(*array.shape[: axes.start], *shape, *array.shape[axes.stop :]))
        if array.name == name
        else array
        for array in nest.arrays
    )
    statements = tuple(_map_statement(statement, change) for statement in nest.statements)
    return replace(nest, arrays=arrays, statements=statements)


def _drop_unit_axes(nest: TensorNest) -> TensorNest:
    """Return a nest without indices and axes of extent 1."""
    units = {name for name, extent in nest.extents if extent == 1}
    shapes = {nest_array.name: nest_array.shape for nest_array in nest.arrays}
    # A subscript that is read from an array is checked when the code runs: it stays.
    read = {
        (access.array, place)
        for access in _accesses(nest)
        for place, part in enumerate(access.subscripts)
        if isinstance(part, ArrayAccess)
    }
    kept = {
        name: [place for place, extent in enumerate(shape) if extent != 1 or (name, place) in read]
        for name, shape in shapes.items()
    }

    def affine(form: AffineIndex) -> AffineIndex:
        return AffineIndex(tuple(term for term in form.terms if term[0] not in units), form.offset)

    def access(element: ArrayAccess) -> ArrayAccess:
        parts = (element.subscripts[place] for place in kept[element.array])
        return ArrayAccess(
            element.array,
            tuple(affine(part) if isinstance(part, AffineIndex) else part for part in parts),
        )

    arrays = tuple(
        replace(array, shape=tuple(array.shape[place] for place in kept[array.name]))
        for array in nest.arrays
    )
    statements = tuple(
        replace(
            _map_statement(statement, access, affine),
            subscripts=tuple(name for name in statement.subscripts if name not in units),
        )
        for statement in nest.statements
    )
    extents = tuple(pair for pair in nest.extents if pair[0] not in units)
    return replace(nest, extents=extents, arrays=arrays, statements=statements)


def _mergeable_indices(nest: TensorNest) -> tuple[str, str] | None:
    """Return two indices that stand beside each other wherever one of them stands."""
    accesses = _accesses(nest)
    tried: set[tuple[str, str]] = set()
    asked = _condition_index_names(nest)
    for access in accesses:
        names = [
            part.single_index if isinstance(part, AffineIndex) else None
            for part in access.subscripts
        ]
        for first, second in pairwise(names):
            if first is None or second is None or (first, second) in tried:
                continue
            tried.add((first, second))
            if first != second and not asked & {first, second}:
                if _always_together(nest, accesses, first, second):
                    return first, second
    return None


def _always_together(
    nest: TensorNest, accesses: list[ArrayAccess], first: str, second: str
) -> bool:
    extents = dict(nest.extents)
    shapes = {nest_array.name: nest_array.shape for nest_array in nest.arrays}
    places: dict[str, set[int]] = {}
    for access in accesses:
        positions = set()
        for place, part in enumerate(access.subscripts):
            if not isinstance(part, AffineIndex):
                continue
            terms = {name for name, _ in part.terms} & {first, second}
            if not terms:
                continue
            if part.single_index == first:
                positions.add(place)
            elif part.single_index != second or place == 0:
                return False
            else:
                before = access.subscripts[place - 1]
                if not isinstance(before, AffineIndex) or before.single_index != first:
                    return False
        for place in positions:
            after = access.subscripts[place + 1] if place + 1 < len(access.subscripts) else None
            if not isinstance(after, AffineIndex) or after.single_index != second:
                return False
            if shapes[access.array][place : place + 2] != (extents[first], extents[second]):
                return False
        # All that touches an array has to see it under the same shape.
        if places.setdefault(access.array, positions) != positions:
            return False
    return True


def _merge_indices(nest: TensorNest, first: str, second: str) -> TensorNest:
    """Return a nest with one index in the place of two that always stand together."""
    places = {
        access.array: [
            place for place, part in enumerate(access.subscripts) if part == index_named(first)
        ]
        for access in _accesses(nest)
    }

    def access(element: ArrayAccess) -> ArrayAccess:
        return ArrayAccess(
            element.array, tuple(part for part in element.subscripts if part != index_named(second))
        )

    def shape(nest_array: NestArray) -> tuple[int, ...]:
        result = list(nest_array.shape)
        for place in reversed(places.get(nest_array.name, [])):
            result[place : place + 2] = [result[place] * result[place + 1]]
        return tuple(result)

    extents = dict(nest.extents)
    extents[first] *= extents.pop(second)
    arrays = tuple(replace(array, shape=shape(array)) for array in nest.arrays)
    statements = tuple(
        replace(
            _map_statement(statement, access),
            subscripts=tuple(name for name in statement.subscripts if name != second),
        )
        for statement in nest.statements
    )
    return replace(nest, extents=tuple(extents.items()), arrays=arrays, statements=statements)


def _with_axis_for_scalars(nest: TensorNest) -> TensorNest:
    """Return a nest in which every array has an axis: scalars are passed in another way."""
    bare = {nest_array.name for nest_array in nest.arrays if not nest_array.shape}
    if not bare:
        return nest

    def element_of(access: ArrayAccess) -> ArrayAccess:
        return ArrayAccess(access.array, (constant_index(0),)) if access.array in bare else access

    arrays = tuple(replace(array, shape=array.shape or (1,)) for array in nest.arrays)
    statements = tuple(
        replace(
            _map_statement(statement, element_of), subscripts=statement.subscripts or (_UNIT_INDEX,)
        )
        for statement in nest.statements
    )
    return replace(
        nest, extents=((_UNIT_INDEX, 1), *nest.extents), arrays=arrays, statements=statements
    )


def _map_statement(
    statement: NestStatement,
    access: Callable[[ArrayAccess], Expression],
    affine: Callable[[AffineIndex], AffineIndex] = lambda index: index,
) -> NestStatement:
    """Return a statement with accesses on its right side, and conditions, replaced."""
    return replace(statement, value=map_expression(statement.value, access, affine))


def _accesses(nest: TensorNest) -> list[ArrayAccess]:
    """Return all accesses, left sides too."""
    accesses: list[ArrayAccess] = []
    for statement in nest.statements:
        left: tuple[Subscript, ...] = tuple(map(index_named, statement.subscripts))
        accesses.append(ArrayAccess(statement.target, left))
        accesses += array_accesses(statement.value)
    return accesses


def _condition_index_names(nest: TensorNest) -> set[str]:
    """Return the indices that conditions ask about."""
    return {
        name
        for statement in nest.statements
        for condition in condition_indices(statement.value)
        for name, _ in condition.terms
    }
