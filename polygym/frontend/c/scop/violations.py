"""Accesses that leave their arrays: by dimension, the instances that do, and a readable example."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.c.sema.accesses import (
    SourceAccess,
    iterators_to_dimensions,
    without_iterators,
)
from polygym.frontend.c.source.locations import SourceMap
from polygym.poly.isl_values import coordinates, to_int

_PARAM = isl.dim_type.param
_LIKELY_VALUES = (5, 4, 6, 3, 7, 2, 8, 10, 1, 0, 16, 20, 50, 100)


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """The sizes of an array: as functions of the parameters, and as C text."""

    functions: tuple[Any, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoundsViolation:
    """A dimension in which an access leaves its array, and the instances that do."""

    access: SourceAccess
    dimension: int
    instances: Any
    inside: Any

    def parameters(self, context: Any) -> Any:
        """Return the parameter values that go wrong, without dimensions."""
        instances = self.instances.intersect(context)
        return without_iterators(instances, self.access.iterators).coalesce()

    def is_possible(self, context: Any) -> bool:
        """Whether there are such parameter values."""
        return not self.parameters(context).is_empty()

    def is_everywhere(self, context: Any) -> bool:
        """Whether the access leaves its array wherever it happens."""
        right = self.access.domain.intersect(self.inside).intersect(context)
        return bool(right.is_empty())

    def never_happens(self, context: Any) -> bool:
        """Whether the access has no instance, be it right or wrong."""
        return bool(self.access.domain.intersect(context).is_empty())

    def limits_a_parameter(self, context: Any) -> bool:
        """Whether a parameter has a greatest value where the access happens and is right, only."""
        happens = self.access.domain.intersect(context)
        happens = without_iterators(happens, self.access.iterators).coalesce()
        right = happens.subtract(self.parameters(context)).coalesce()
        names = [happens.get_dim_name(_PARAM, k) for k in range(happens.dim(_PARAM))]
        return any(
            parameter_range(right, name)[1] is not None
            and parameter_range(happens, name)[1] is None
            for name in names
        )


def violations_of(
    access: SourceAccess, extents: Extents, typical_values: Any
) -> list[BoundsViolation]:
    """Return the dimensions in which some instance of an access leaves the array."""
    result = []
    pairs = zip(access.subscripts, extents.functions, strict=True)
    for dimension, (subscript, size) in enumerate(pairs):
        if subscript is None:
            continue  # looked at when the program runs
        inside = subscript.ge_set(subscript.scale_val(0)).intersect(subscript.lt_set(size))
        outside = access.domain.subtract(inside).intersect(typical_values)
        if not outside.is_empty():
            result.append(BoundsViolation(access, dimension, outside, inside))
    return result


def parameter_range(domain: Any, name: str) -> tuple[int | None, int | None]:
    """Return the least and greatest value of a parameter in a set, None where there is none."""
    index = domain.find_dim_by_name(isl.dim_type.param, name)
    if index < 0:
        return None, None
    line = domain.move_dims(isl.dim_type.set, 0, isl.dim_type.param, index, 1)
    line = line.project_out(isl.dim_type.param, 0, line.dim(isl.dim_type.param))
    low = line.dim_min_val(0) if line.dim_has_any_lower_bound(isl.dim_type.set, 0) else None
    high = line.dim_max_val(0) if line.dim_has_any_upper_bound(isl.dim_type.set, 0) else None
    return (
        to_int(low) if low is not None and low.is_int() else None,
        to_int(high) if high is not None and high.is_int() else None,
    )


def violation_error(
    violation: BoundsViolation, extents: Extents, context: Any, source: SourceMap, hint: str
) -> SourceError:
    """Return the refusal of an access, with an example and what would make it right."""
    touch, dimension = violation.access, violation.dimension
    values = _example(violation.instances.intersect(context), touch.iterators)
    subscript = _evaluate(touch.subscripts[dimension], values)
    size = _evaluate(extents.functions[dimension], values)
    given = ", ".join(f"{n} = {v}" for n, v in values.items() if n not in touch.iterators)
    at = ", ".join(f"{n} = {values[n]}" for n in touch.iterators)
    when = " ".join(part for part in (f"with {given}," if given else "", f"at {at}" if at else ""))
    when = when.strip().rstrip(",")
    array = touch.array + "".join(f"[{text}]" for text in extents.texts)
    message = (
        f"{touch.text} leaves dimension {dimension + 1} of {array}: "
        f"{when + ' ' if when else ''}the subscript is {subscript}, not in 0..{size - 1}"
    )
    return source.error(touch.node, message, hint)


def _example(instances: Any, iterators: tuple[str, ...]) -> dict[str, int]:
    """Return small, readable values of the parameters and iterators of some instance."""
    values: dict[str, int] = {}
    count = instances.dim(isl.dim_type.param)
    names = [instances.get_dim_name(isl.dim_type.param, index) for index in range(count)]
    for name in [n for n in names if n not in iterators]:
        values[name] = _likely_value(instances, name)
        instances = _fix(instances, name, values[name])
    rest = iterators_to_dimensions(instances, iterators)
    point = rest.lexmin().sample_point() if rest.is_bounded() else rest.sample_point()
    return values | dict(zip(iterators, coordinates(point), strict=True))


def _likely_value(domain: Any, name: str) -> int:
    """Return a value that a parameter has in a set, a likely one if there is one."""
    for value in _LIKELY_VALUES:
        if not _fix(domain, name, value).is_empty():
            return value
    index: int = domain.find_dim_by_name(isl.dim_type.param, name)
    point = domain.sample_point()
    return coordinates(point, isl.dim_type.param)[index]


def _fix(domain: Any, name: str, value: int) -> Any:
    """Return the part of a set where a parameter has a value."""
    index = domain.find_dim_by_name(isl.dim_type.param, name)
    return domain.fix_val(isl.dim_type.param, index, isl.Val(str(value), domain.get_ctx()))


def _evaluate(function: Any, values: Mapping[str, int]) -> int:
    """Return the value of a function of isl parameters."""
    where = isl.Set.universe(isl.Space.set_alloc(function.get_ctx(), 0, 0))
    for name, value in values.items():
        text = f"[{name}] -> {{ [] : {name} = {value} }}"
        where = where.intersect(isl.Set.read_from_str(function.get_ctx(), text))
    return to_int(function.intersect_domain(where).max_val())
