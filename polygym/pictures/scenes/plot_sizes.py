"""Parameter values at which a program is small enough to be drawn, and large enough to be seen.

All parameters get the same value s where the program's context allows it. From s = 2 upwards the
number of instances grows; the last s is taken at which the dots are still easy to tell apart, and
at most 6, since more of the same shows nothing new. Example: gemm has s² + s³ instances in three
dimensions, at most 110 are wanted there, so s = 4 with 80. Where even the smallest program is too
large (constant bounds), only the instances around the first one are shown, see
:func:`narrow_domains`.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import at_sizes
from polygym.poly.isl_values import count_points
from polygym.poly.legality import sample_point

ParameterSizes: TypeAlias = tuple[tuple[str, int], ...]

# How many dots are easy to tell apart with so many axes.
_WANTED_INSTANCES = (400, 40, 100, 110)

# How far from the first instance others are looked for, with so many loops.
_MAX_WIDTHS = (400, 400, 60, 16)

# Tried in this order; past the usual ones only while the program has no instance at all.
_TRIED_SIZES = (2, 3, 4, 5, 6)
_FALLBACK_SIZES = (8, 12, 16, 24, 32, 48, 64, 128)


def choose_sizes(scop: Scop, shown: Sequence[Statement]) -> ParameterSizes:
    """Return a value for every parameter, admitted by the context."""
    names = tuple(parameter.name for parameter in scop.parameters)
    comfortable = _WANTED_INSTANCES[
        min(3, max((statement.depth for statement in shown), default=0))
    ]
    best: ParameterSizes | None = None
    instances = 0
    for least in (*_TRIED_SIZES, *_FALLBACK_SIZES):
        if instances and least > _TRIED_SIZES[-1]:
            break
        sizes = _least_sizes(scop.context, names, least)
        if sizes is None:
            break
        count = _count_instances(shown, dict(sizes))
        if count > comfortable and instances:
            break
        best, instances = sizes, count
        if not names or count > comfortable:
            break
    return best if best is not None else _any_sizes(scop.context, names)


def narrow_domains(domains: Sequence[isl.Set], maps: Sequence[isl.Map], most: int) -> list[isl.Set]:
    """Return the domains, narrowed around their first points until their images are few enough.

    Narrowed means: every coordinate is less than w away from that of the lexicographically first
    instance. With w = 1 one instance of every statement is left. The largest w is found by
    bisection, from one on with which the points are quickly counted: 10^15 of them are not.
    """

    def at(width: int) -> list[isl.Set]:
        return [_around_first_point(domain, width) for domain in domains]

    fitting, too_wide = 1, min(map(_max_width, domains), default=1)
    if _count_images(at(too_wide), maps) <= most:
        return at(too_wide)
    while too_wide - fitting > 1:
        width = (fitting + too_wide) // 2
        if _count_images(at(width), maps) <= most:
            fitting = width
        else:
            too_wide = width
    return at(fitting)


def _max_width(domain: isl.Set) -> int:
    """Return how wide a domain may be narrowed so that its points are quickly counted."""
    return _MAX_WIDTHS[min(domain.dim(isl.dim_type.set), len(_MAX_WIDTHS) - 1)]


def _around_first_point(domain: isl.Set, width: int) -> isl.Set:
    if domain.is_empty():
        return domain
    first = sample_point(domain)
    for axis, value in enumerate(first):
        domain = domain.lower_bound_val(isl.dim_type.set, axis, isl.Val(value - width + 1))
        domain = domain.upper_bound_val(isl.dim_type.set, axis, isl.Val(value + width - 1))
    return domain


def _count_images(domains: Sequence[isl.Set], maps: Sequence[isl.Map]) -> int:
    """Return how many places the domains have together."""
    return sum(
        count_points(domain.apply(places)) for domain, places in zip(domains, maps, strict=True)
    )


def _count_instances(shown: Sequence[Statement], values: Mapping[str, int]) -> int:
    """Return how many instances the statements have, projected on their first three loops."""
    total = 0
    for statement in shown:
        domain = at_sizes(isl.Set(statement.domain), values)
        domain = _around_first_point(domain, _max_width(domain))
        if statement.depth > 3:
            domain = domain.project_out(isl.dim_type.set, 3, statement.depth - 3)
        total += count_points(domain)
    return total


def _least_sizes(context: str, names: tuple[str, ...], least: int) -> ParameterSizes | None:
    """Return the smallest admitted values that are all at least ``least``, or None."""
    values = _as_points(context, names)
    for axis in range(len(names)):
        values = values.lower_bound_val(isl.dim_type.set, axis, isl.Val(least))
    if values.is_empty():
        return None
    return tuple(zip(names, sample_point(values), strict=True))


def _any_sizes(context: str, names: tuple[str, ...]) -> ParameterSizes:
    """Return some admitted values."""
    return tuple(zip(names, sample_point(_as_points(context, names)), strict=True))


def _as_points(context: str, names: tuple[str, ...]) -> isl.Set:
    """Return the context as a set whose dimensions are the parameters, in order."""
    space = isl.Set(f"[{', '.join(names)}] -> {{ : }}").get_space()
    values = isl.Set(context).align_params(space)
    values = isl.Set.from_params(values) if values.is_params() else values
    places = values.add_dims(isl.dim_type.set, len(names))
    for axis, name in enumerate(names):
        position = places.find_dim_by_name(isl.dim_type.param, name)
        places = places.equate(isl.dim_type.param, position, isl.dim_type.set, axis)
    return places.project_out(isl.dim_type.param, 0, places.dim(isl.dim_type.param))
