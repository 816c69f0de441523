"""In-place updates: whether a statement may write the tensor that it reads.

A statement means: read the whole right side, then assign. Done element by element, in any order,
that comes to the same if no instance reads what another one writes. With R from instances to the
elements that they read, W to the element that they write, the pairs in conflict are

    { u -> w : R(u) = W(w) }  without  { u -> u }.

In ``a(i, j) = a(j, i)``, (0, 1) reads what (1, 0) writes; in ``a(i) = 2 * a(i)``, nobody reads what
another one writes; nor in ``a(i) = a(i + N) where i in 0:N``. A read whose subscript is computed
may be of any element: R is a relation then, and the same holds. The same holds for the reads of
``C(i) += C(i) * A(i, k)``: all k read the C(i) that each of them writes.
"""

from collections.abc import Sequence

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.poly.isl_values import coordinates


def check_no_conflicts(
    instances: isl.Set,
    write: isl.Map,
    own: Sequence[tuple[isl.Map, str, SourceLocation]],
    indices: Sequence[str],
) -> None:
    """Refuse a statement of which some instance reads what another one writes.

    ``own`` are the reads of the tensor that is written, with their texts.

    Raises:
        SourceError: with two instances, as values of ``indices``, and the element.
    """
    write = write.intersect_domain(instances)
    for read, text, place in own:
        read = read.intersect_domain(instances)
        met = _two_at_one_element(read, write, len(indices))
        if met is None:
            continue
        reader, writer = met
        reads = "is read" if read.is_single_valued() else "may be read"
        raise SourceError(
            place,
            f"{text} {reads} where {_instance_text(indices, reader)} and written where "
            f"{_instance_text(indices, writer)}: all is read before anything is assigned, which "
            "cannot be done in place",
            "assign to another tensor",
        )


def check_single_assignment(
    instances: isl.Set, write: isl.Map, text: str, indices: Sequence[str], place: SourceLocation
) -> None:
    """Refuse an assignment of which two instances write one element.

    Raises:
        SourceError: with two instances, as values of ``indices``.
    """
    write = write.intersect_domain(instances)
    met = _two_at_one_element(write, write, len(indices))
    if met is None:
        return
    one, two = met
    raise SourceError(
        place,
        f"{text} is the same element where {_instance_text(indices, one)} and where "
        f"{_instance_text(indices, two)}: expected a reduction such as +=! or max=!, found =",
    )


def _two_at_one_element(
    first: isl.Map, second: isl.Map, count: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return two instances, of ``count`` indices each, that two accesses have at one element."""
    pairs = first.apply_range(second.reverse())
    others = pairs.subtract(isl.Map.identity(pairs.get_space()))
    if others.is_empty():
        return None
    values = _smallest(others.wrap())
    return values[:count], values[count:]


def _smallest(values: isl.Set) -> tuple[int, ...]:
    """Return a point with small coordinates, for small sizes."""
    count = values.dim(isl.dim_type.param)
    line = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count) if count else values
    point = line.lexmin().sample_point()
    return coordinates(point)[count:]


def _instance_text(indices: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(indices, values, strict=True))
