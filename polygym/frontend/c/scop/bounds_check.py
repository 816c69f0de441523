"""The bounds check: no access may leave its declared array, for any admitted parameter values.

For an access with instances D, subscripts s_k and sizes e_k, the values of the parameters for which
it goes wrong are the projection of ``{ D : s_k < 0 or s_k >= e_k }`` onto the parameters. The check
is exact, and has three results: the set is empty; or lower bounds on single parameters empty it
(``double A[n]; A[1] = 0;`` is wrong for n = 1 alone), and they join the context as conditions; or
the access is refused with an example. One under a condition on data is not: whether it happens
where it goes wrong, only the data say, so it is looked at when the program runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.c.scop.sufficient_conditions import ViolationSet, sufficient_condition
from polygym.frontend.c.sema.accesses import (
    SourceAccess,
    iterators_to_dimensions,
    without_iterators,
)
from polygym.frontend.c.sema.symbols import Symbol
from polygym.frontend.c.source.locations import SourceMap
from polygym.poly.isl_values import coordinates, to_int

# A lower bound is added only where smaller values are wrong too, give or take so many, and where
# arrays of such sizes can be meant.
_MAX_GAP = 8
_MAX_BOUND = 2**30
_LIKELY_VALUES = (5, 4, 6, 3, 7, 2, 8, 10, 1, 0, 16, 20, 50, 100)


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """The sizes of an array: as functions of the parameters, and as C text."""

    functions: tuple[Any, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Violation:
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


@dataclass(frozen=True, slots=True, eq=False)
class BoundsCheckResult:
    """What the check has found.

    ``context`` has the lower bounds that the accesses need, ``conditions`` are these as C text,
    ``runtime_checks`` the accesses whose subscripts have to be looked at, as they become by it.
    """

    context: Any
    conditions: tuple[str, ...]
    runtime_checks: Mapping[SourceAccess, SourceAccess]


def check_bounds(
    accesses: Sequence[SourceAccess],
    sizes: Mapping[Symbol, Extents],
    context: Any,
    typical_values: Any,
    source: SourceMap,
) -> BoundsCheckResult:
    """Return the bounds that the accesses need, and which of them are looked at later.

    ``typical_values`` are the parameters' values for which the program may be run: others are no
    matter.
    """
    violations = [
        violation
        for touch in accesses
        for violation in _violations(touch, sizes[touch.symbol], typical_values)
    ]
    bounded, conditions = _bounded_context(violations, context)
    runtime_checks: dict[SourceAccess, SourceAccess] = {}
    for breach in violations:
        wrong = breach.never_happens(bounded) or breach.is_possible(bounded)
        if (
            wrong
            and breach.access.environment.is_data_dependent
            and not breach.is_everywhere(context)
        ):
            before = runtime_checks.get(breach.access, breach.access)
            runtime_checks[breach.access] = replace(
                before,
                domain=before.domain.intersect(breach.inside).coalesce(),
                runtime_checked=(*before.runtime_checked, breach.dimension),
            )
    if runtime_checks:
        violations = [breach for breach in violations if breach.access not in runtime_checks]
        bounded, conditions = _bounded_context(violations, context)
    for breach in violations:
        # Bounds may make an access right by keeping it from happening at all.
        seen = (context,) if breach.never_happens(bounded) else (bounded, context)
        if len(seen) == 1 or breach.is_possible(bounded):
            hint = _hint(violations, seen)
            raise _refuse(breach, sizes[breach.access.symbol], seen[0], source, hint)
    return BoundsCheckResult(bounded, _strongest(conditions), runtime_checks)


def _bounded_context(violations: Sequence[_Violation], context: Any) -> tuple[Any, list[str]]:
    """Return the context with as many lower bounds as help, and those as C text."""
    conditions: list[str] = []
    for violation in violations:
        context, added = _with_lower_bounds(violation.parameters(context), context)
        conditions.extend(added)
    return context, conditions


def excluded_by_lower_bounds(wrong: Any, iterators: tuple[str, ...]) -> bool:
    """Whether lower bounds on single parameters exclude all of some wrong instances."""
    values = without_iterators(wrong, iterators).coalesce()
    context, _ = _with_lower_bounds(values, isl.Set.universe(values.get_space()))
    return bool(values.intersect(context).is_empty())


def min_elements(extents: Extents, context: Any) -> int:
    """Return how many elements an array has at least, in every context that the sizes allow."""
    least = 1
    for function in extents.functions:
        value = function.intersect_domain(context).min_val()
        least *= to_int(value) if value.is_int() else 1
    return least


def _violations(access: SourceAccess, extents: Extents, typical_values: Any) -> list[_Violation]:
    """Return the dimensions in which some instance of an access leaves the array."""
    result = []
    pairs = zip(access.subscripts, extents.functions, strict=True)
    for dimension, (subscript, size) in enumerate(pairs):
        if subscript is None:
            continue  # looked at when the program runs
        inside = subscript.ge_set(subscript.scale_val(0)).intersect(subscript.lt_set(size))
        outside = access.domain.subtract(inside).intersect(typical_values)
        if not outside.is_empty():
            result.append(_Violation(access, dimension, outside, inside))
    return result


def _with_lower_bounds(wrong: Any, context: Any) -> tuple[Any, list[str]]:
    """Add lower bounds that exclude as many of the wrong parameter values as they can.

    Each convex piece is excluded by one parameter that the piece bounds above; what the context
    alone bounds above (``assert(m <= 10);``) is no reason to want more of it. A piece that starts
    far above the parameter's own lower bound (``if (n == 1000) A[n] = 0;``) is no matter of a
    lower bound: the bound would forbid all the smaller values, which are right.
    """
    conditions = []
    for piece in wrong.get_basic_sets():
        remaining = isl.Set.from_basic_set(piece).intersect(context)
        if remaining.is_empty():
            continue
        alone = isl.Set.from_basic_set(piece).gist(context)
        choices = []
        for index in range(remaining.dim(isl.dim_type.param)):
            name = remaining.get_dim_name(isl.dim_type.param, index)
            low, _ = _range(remaining, name)
            _, high = _range(alone, name)
            floor, _ = _range(context, name)
            if high is None or high >= _MAX_BOUND:
                continue
            start = 1 if floor is None else floor
            if low is None or low <= start + _MAX_GAP:
                choices.append((high + 1, index, name))
        for value, _, name in sorted(choices):
            text = f"[{name}] -> {{ [] : {name} >= {value} }}"
            kept = context.intersect(isl.Set.read_from_str(context.get_ctx(), text))
            if not kept.is_empty():
                context = kept
                conditions.append(f"{name} >= {value}")
                break
    return context, conditions


def _range(domain: Any, name: str) -> tuple[int | None, int | None]:
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


def _strongest(conditions: list[str]) -> tuple[str, ...]:
    """Keep the greatest of several lower bounds on one parameter."""
    bounds: dict[str, int] = {}
    for condition in conditions:
        name, value = condition.split(" >= ")
        bounds[name] = max(int(value), bounds.get(name, int(value)))
    return tuple(f"{name} >= {value}" for name, value in bounds.items())


def _hint(violations: Sequence[_Violation], contexts: Sequence[Any]) -> str:
    """Say what would make all accesses right, as seen in the first context that shows it.

    The last one is what is declared. What is said is tried: with it declared as well, all accesses
    are right, and all of them still happen.
    """
    declared = contexts[-1]
    for context in contexts:
        wrong = [
            ViolationSet(violation.parameters(context), violation.access.domain)
            for violation in violations
        ]
        wrong = [violation_set for violation_set in wrong if not violation_set.values.is_empty()]
        safe = sufficient_condition(wrong, context)
        if safe is None:
            continue
        after, _ = _bounded_context(violations, declared.intersect(safe.values))
        if not any(
            violation.is_possible(after) or violation.never_happens(after)
            for violation in violations
        ):
            return f"it is safe if {safe.text}; assert({safe.text}); before the region states it"
    return ""


def _refuse(
    violation: _Violation, extents: Extents, context: Any, source: SourceMap, hint: str
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
