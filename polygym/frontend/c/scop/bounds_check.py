"""The bounds check: no access may leave its declared array, for any admitted parameter values.

For an access with instances D, subscripts s_k and sizes e_k, the values of the parameters for which
it goes wrong are the projection of ``{ D : s_k < 0 or s_k >= e_k }`` onto the parameters. The check
is exact, and has four results:

- the set is empty;
- lower bounds on single parameters empty it (``double A[n]; A[1] = 0;`` is wrong for n = 1 alone);
- inequalities between parameters empty it (``double A[512];`` with ``i < n`` needs ``n <= 512``,
  ``double A[n];`` with ``i < m`` needs ``n >= m``), see :func:`_with_inequalities`;
- the access is refused with an example.

Bounds and inequalities join the context as conditions. An access under a condition on data is not
refused: only the data decide whether it happens where it goes wrong, so the running program checks
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polygym.frontend.c.scop.sufficient_conditions import (
    SufficientCondition,
    ViolationSet,
    sufficient_condition,
)
from polygym.frontend.c.scop.violations import (
    BoundsViolation,
    Extents,
    parameter_range,
    violation_error,
    violations_of,
)
from polygym.frontend.c.sema.accesses import SourceAccess, without_iterators
from polygym.frontend.c.sema.symbols import Symbol
from polygym.frontend.c.source.locations import SourceMap
from polygym.poly.isl_values import to_int

# A lower bound is added only where smaller values are wrong too, give or take so many, and where
# arrays of such sizes can be meant.
_MAX_GAP = 8
_MAX_BOUND = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class BoundsCheckResult:
    """What the check has found.

    ``context`` has the bounds that the accesses need, ``conditions`` are these as C text,
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
        for violation in violations_of(touch, sizes[touch.symbol], typical_values)
    ]
    unconditional = [
        breach
        for breach in violations
        if not breach.access.environment.is_data_dependent or breach.is_everywhere(context)
    ]
    context, needed = _with_inequalities(unconditional, sizes, context)
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
            safe = _sufficient_context(violations, seen)
            hint = "" if safe is None else _hint(safe.condition.text)
            raise violation_error(breach, sizes[breach.access.symbol], seen[0], source, hint)
    return BoundsCheckResult(bounded, (*needed, *_strongest(conditions)), runtime_checks)


def _with_inequalities(
    violations: Sequence[BoundsViolation], sizes: Mapping[Symbol, Extents], context: Any
) -> tuple[Any, tuple[str, ...]]:
    """Add inequalities that make all accesses right, where lower bounds alone do not.

    Nothing is added that looks like a mistake in the program: an equality (``A[j][i]`` in ``double
    A[n][m]`` needs n = m), a least value (lower bounds have limits of their own), or a greatest
    value by an array whose size is no constant (``A[2 * i]`` in ``double A[n]`` needs n <= 1).
    """
    bounded, conditions = _bounded_context(violations, context)
    if not any(
        breach.is_possible(bounded) or breach.never_happens(bounded) for breach in violations
    ):
        return context, ()
    safe = _sufficient_context(violations, (bounded, context))
    if safe is None or not all(map(_is_inequality, safe.condition.parts)):
        return context, ()
    for breach in violations:
        size = sizes[breach.access.symbol].functions[breach.dimension]
        if not size.is_cst() and breach.limits_a_parameter(safe.before):
            return context, ()
    conditions = [*(conditions if safe.before is bounded else ()), *safe.lower_bounds]
    return safe.after, (*safe.condition.parts, *_strongest(conditions))


def _is_inequality(condition: str) -> bool:
    """Whether a condition in C is an upper bound, or compares parameters with each other."""
    _, operator, right = condition.rpartition(" >= ")
    return "==" not in condition and not (operator and right.isdecimal())


def _bounded_context(violations: Sequence[BoundsViolation], context: Any) -> tuple[Any, list[str]]:
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
            low, _ = parameter_range(remaining, name)
            _, high = parameter_range(alone, name)
            floor, _ = parameter_range(context, name)
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


def _strongest(conditions: list[str]) -> tuple[str, ...]:
    """Keep the greatest of several lower bounds on one parameter."""
    bounds: dict[str, int] = {}
    for condition in conditions:
        name, value = condition.split(" >= ")
        bounds[name] = max(int(value), bounds.get(name, int(value)))
    return tuple(f"{name} >= {value}" for name, value in bounds.items())


@dataclass(frozen=True, slots=True, eq=False)
class _SufficientContext:
    """A condition in C that makes all accesses right, with what it was found in and what it leaves.

    ``lower_bounds`` are those that the accesses need beside the condition.
    """

    condition: SufficientCondition
    before: Any
    after: Any
    lower_bounds: tuple[str, ...]


def _sufficient_context(
    violations: Sequence[BoundsViolation], contexts: Sequence[Any]
) -> _SufficientContext | None:
    """Return a condition that makes all accesses right, in the first context that has one.

    The last context is what is declared. A condition is tried: with it declared as well, all
    accesses are right, and all of them still happen.
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
        after, bounds = _bounded_context(violations, declared.intersect(safe.values))
        if not any(
            violation.is_possible(after) or violation.never_happens(after)
            for violation in violations
        ):
            return _SufficientContext(safe, context, after, tuple(bounds))
    return None


def _hint(text: str) -> str:
    """Say what would make all accesses right."""
    return f"it is safe if {text}; assert({text}); before the region states it"
