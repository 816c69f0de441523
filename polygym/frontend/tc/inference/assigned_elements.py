"""Elements that a statement assigns: one for each index, or one for several of them.

``y(i / 2) +=! x(i)`` adds two elements of x to each of y, ``y(2 * i) = x(i)`` leaves gaps, and in
``O(i + k) +=! I(i) * K(k)`` several combinations of i and k meet. A reduction means the same
whatever order they come in; a plain ``=`` would keep the last one, and is refused with two of them.
A tensor that is new is as large as the largest of its subscripts; what is assigned lies at 0 and
above, and elements that no index leads to are zero.

In-place updates: whether a statement may write the tensor that it reads.

A statement means: read the whole right side, then assign. Done element by element, in any order,
that comes to the same if no instance reads what another one writes. With R from instances to the
elements that they read, W to the element that they write, the pairs in conflict are

    { u -> w : R(u) = W(w) }  without  { u -> u }.

In ``a(i, j) = a(j, i)``, (0, 1) reads what (1, 0) writes; in ``a(i) = 2 * a(i)``, nobody reads what
another one writes; nor in ``a(i) = a(i + N) where i in 0:N``. A read whose subscript is computed
may be of any element: R is a relation then, and the same holds. The same holds for the reads of
``C(i) += C(i) * A(i, k)``: all k read the C(i) that each of them writes.

Quotients and remainders in subscripts: they mean something where nothing negative is divided.

C rounds -1 / 2 towards zero, and -1 % 2 is -1; elsewhere it is downwards, and 1. So a statement is
taken only if that makes no difference: no dividend is negative where an element is read, and the
ranges of indices are the same by either rounding. Those of i in ``A((i - 1) / 2)`` are not: it
would begin at 0 or at 1.

Subscripts: affine ones, and those that are computed when the program runs.

A subscript that reads a tensor, as I(i) + 1 does in X(I(i) + 1, j), is a *gather*. It may be any
integer; that it names an element is checked when it does. It says nothing of the ranges of indices:
those of i come from I, where it is a subscript itself. What the access may read is all of X along
that dimension, { [i, j] -> [g, j] : 0 <= g < M }.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.inference.ranges import (
    IndexScope,
    SubscriptConstraint,
    infer_index_ranges,
    instances_outside,
)
from polygym.frontend.tc.semantics.environment import (
    TRUE_CONDITION,
    AffineExpression,
    IslCondition,
    NameEnvironment,
    Rounding,
    TensorInfo,
    quasi_affine_of,
)
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, is_computed
from polygym.frontend.tc.semantics.types import default_type, type_of, type_text
from polygym.frontend.tc.syntax.printer import expression_text, target_text
from polygym.frontend.tc.syntax.tree import (
    AssignKind,
    ElementOrCall,
    Expression,
    NameUse,
    names_of_expression,
)
from polygym.poly.isl_values import coordinates

# Sets with tens of different divisors take isl minutes.
_MOST_QUOTIENTS = 4


def affine_subscripts(
    element: ElementOrCall, scope: IndexScope, environment: NameEnvironment
) -> tuple[AffineExpression | None, ...]:
    """Return the subscripts of an element, None for those that are computed.

    Raises:
        SourceError: there are too many or too few, one is neither affine nor reads a tensor, or
            is no integer.
    """
    check_rank(element, environment.tensors[element.name])
    return tuple(
        _subscript(expression, element, scope, environment) for expression in element.arguments
    )


def check_rank(use: NameUse | ElementOrCall, tensor: TensorInfo) -> None:
    """Refuse too many or too few subscripts."""
    count = len(use.arguments) if isinstance(use, ElementOrCall) else 0
    if tensor.rank != count:
        raise SourceError(
            use.location,
            f"{use.name} has {tensor.rank} dimension(s) and is used with {count} subscript(s)",
        )


def _subscript(
    argument: Expression, element: ElementOrCall, scope: IndexScope, environment: NameEnvironment
) -> AffineExpression | None:
    if is_computed_integer(argument, element.name, environment):
        return None
    value = quasi_affine_of(argument, frozenset(scope.isl_names))
    if value is None:
        raise SourceError(
            element.location,
            f"the subscript {expression_text(argument)} of {element.name} is not affine",
            "subscripts are sums of indices and sizes with whole coefficients, of quotients and "
            "remainders of these by positive numbers, or are computed: they read a tensor, call "
            "a function, choose by ?: or divide by a size",
        )
    check_quotient_count(value, expression_text(argument), element.name, element.location)
    return value


def is_computed_integer(argument: Expression, tensor: str, environment: NameEnvironment) -> bool:
    """Whether a subscript is computed; it is refused then if it is no integer."""
    names = names_of_expression(argument)
    if not is_computed(argument) and not any(use.name in environment.tensors for use in names):
        return False
    scalar_type = default_type(type_of(argument, environment))
    if not scalar_type.is_integer:
        text = expression_text(argument)
        raise SourceError(
            location_of(argument),
            f"the subscript {text} of {tensor} is {type_text(scalar_type)}: expected an integer",
            f"convert it: int({text})",
        )
    return True


def check_quotient_count(
    value: AffineExpression, text: str, tensor: str, place: SourceLocation
) -> None:
    """Refuse a subscript with too many quotients and remainders."""
    if len(value.quotients) > _MOST_QUOTIENTS:
        raise SourceError(
            place,
            f"the subscript {text} of {tensor}: expected at most {_MOST_QUOTIENTS} quotients and "
            "remainders in it",
        )


def gathered_dimensions(values: tuple[AffineExpression | None, ...]) -> tuple[int, ...]:
    """Return the dimensions whose subscripts are computed."""
    return tuple(place for place, value in enumerate(values) if value is None)


def access_map(
    scope: IndexScope,
    instances: str,
    target: str,
    values: tuple[AffineExpression | None, ...],
    valid: tuple[isl.Set, ...],
    condition: IslCondition,
) -> isl.Map:
    """Return the elements that instances read, or may read where subscripts are computed.

    ``instances`` and ``target`` are the names of the two tuples and the members of the first,
    ``S0[i, j]`` and ``X``; ``valid`` holds the values that each subscript may have.
    """
    texts = ", ".join("*" if value is None else value.text(scope.isl_names) for value in values)
    result = scope.sizes.map(f"{{ {instances} -> {target}[{texts}] : {condition.text} }}")
    for place in gathered_dimensions(values):
        inside = result.get_space().range().universe_set()
        inside = inside.intersect(_with_valid_subscript(inside, place, valid[place]))
        result = result.intersect_range(inside)
    return result


def _with_valid_subscript(universe: isl.Set, place: int, valid: isl.Set) -> isl.Set:
    """Return the elements with one subscript valid."""
    rank = universe.dim(isl.dim_type.set)
    result = valid.insert_dims(isl.dim_type.set, 1, rank - place - 1)
    result = result.insert_dims(isl.dim_type.set, 0, place)
    name = universe.get_tuple_name()
    return result if name is None else result.set_tuple_name(name)


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
        reader, writer = (_instance_text(indices, instance) for instance in met)
        reads = "is read" if read.is_single_valued() else "may be read"
        raise SourceError(
            place,
            f"{text} {reads} where {reader} and written where {writer}: all is read before "
            "anything is assigned, which cannot be done in place",
            "assign to another tensor",
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


def check_quotients(
    scope: IndexScope,
    given: Mapping[str, isl.Set],
    said: Sequence[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
    context: isl.Set,
) -> None:
    """Refuse quotients of what may be negative.

    ``ranges`` were inferred with quotients that are rounded downwards, from what is ``given``;
    ``context`` are the sizes that are possible.
    """
    divided = [constraint for constraint in said if constraint.subscript.quotients]
    if not divided:
        return
    check_dividends(scope, divided, ranges, context)
    try:
        other = infer_index_ranges(
            scope,
            given,
            [replace(constraint, rounding=Rounding.TOWARDS_ZERO) for constraint in said],
        )
    except SourceError:
        raise _refusal(scope, divided[0]) from None
    for name, values in ranges.items():
        mine = values.intersect_params(context)
        if not mine.is_equal(other[name].intersect_params(context)):
            raise _refusal(
                scope,
                next(
                    (constraint for constraint in divided if name in constraint.subscript.names),
                    divided[0],
                ),
            )


def check_dividends(
    scope: IndexScope,
    said: Sequence[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
    context: isl.Set,
) -> None:
    """Refuse subscripts in which something is divided that may be negative."""
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    for constraint in said:
        for quotient in constraint.subscript.quotients:
            dividend = replace(constraint, subscript=quotient.dividend, valid_values=from_zero)
            mentioned = dividend.subscript.names | constraint.condition.names
            indices = [name for name in scope.indices if name in mentioned]
            negative = instances_outside(scope, indices, dividend, ranges)
            if not negative.intersect_params(context).is_empty():
                raise _refusal(scope, constraint)


def _refusal(scope: IndexScope, constraint: SubscriptConstraint) -> SourceError:
    index = next((name for name in scope.indices if name in constraint.subscript.names), "i")
    return SourceError(
        constraint.location,
        f"{constraint.required_text} of {constraint.text} divides what may be negative, "
        "where / and % may be rounded in two ways",
        f"add a multiple of the divisor, or say a range without that: where {index} in ...",
    )


def assigned_subscripts(
    meaning: ResolvedStatement, scope: IndexScope
) -> tuple[AffineExpression | None, ...]:
    """Return the subscripts of what a statement assigns, None for those that read a tensor.

    Raises:
        SourceError: one is not affine, or has too many quotients.
    """
    result: list[AffineExpression | None] = []
    for part in meaning.subscripts:
        if is_computed(part):
            result.append(None)
            continue
        value = quasi_affine_of(part, frozenset(scope.isl_names))
        tensor, text = meaning.statement.tensor, expression_text(part)
        if value is None:
            raise SourceError(
                location_of(part),
                f"the subscript {text} of {tensor} is not affine",
                "subscripts on the left are sums of indices and sizes with whole coefficients, and "
                "of quotients and remainders of these by positive numbers",
            )
        check_quotient_count(value, text, tensor, location_of(part))
        result.append(value)
    return tuple(result)


def assigned_constraints(
    meaning: ResolvedStatement,
    scope: IndexScope,
    valid: Sequence[isl.Set],
    condition: IslCondition,
) -> tuple[SubscriptConstraint, ...]:
    """Return the affine subscripts of what is assigned, which have to lie in some sets."""
    text = assigned_text(meaning)
    return tuple(
        SubscriptConstraint(
            value, values, condition, expression_text(part), text, location_of(part)
        )
        for part, value, values in zip(
            meaning.subscripts, assigned_subscripts(meaning, scope), valid, strict=True
        )
        if value is not None
    )


def assigned_text(meaning: ResolvedStatement) -> str:
    """Return the text of what is assigned, ``y(i / 2)``."""
    return target_text(meaning.statement.tensor, map(expression_text, meaning.subscripts))


def location_of(part: Expression) -> SourceLocation:
    """Return the place of a subscript: that of the first name in it."""
    return next((name.location for name in names_of_expression(part)), part.location)


def is_index_only(meaning: ResolvedStatement) -> bool:
    """Whether each subscript on the left is an index of its own."""
    names = [part.name for part in meaning.subscripts if isinstance(part, NameUse)]
    return len(set(names)) == len(meaning.subscripts)


def instances(
    scope: IndexScope,
    indices: Sequence[str],
    ranges: Mapping[str, isl.Set],
    condition: IslCondition,
) -> isl.Set:
    """Return the values of the indices of a statement for which it runs."""
    box = scope.box(indices, ranges)
    if not condition.names:
        return box
    holds = scope.sizes.set(f"{{ {scope.tuple_of(indices)} : {condition.text} }}")
    return box.intersect(holds)


def write_map(
    meaning: ResolvedStatement,
    scope: IndexScope,
    indices: Sequence[str],
    valid: tuple[isl.Set, ...],
) -> isl.Map:
    """Return which element is assigned, or may be, as a map from the values of indices."""
    left, members = assigned_subscripts(meaning, scope), scope.tuple_of(indices)
    return access_map(scope, members, "", left, valid, TRUE_CONDITION)


def begun_elements(
    meaning: ResolvedStatement,
    scope: IndexScope,
    ranges: Mapping[str, isl.Set],
    valid: tuple[isl.Set, ...],
    condition: IslCondition,
) -> isl.Set:
    """Return the elements that a reduction begins with the neutral one."""
    if is_index_only(meaning):
        loops = [part.name for part in meaning.subscripts if isinstance(part, NameUse)]
        return scope.box(loops, ranges)
    indices = tuple(meaning.indices)
    running = instances(scope, indices, ranges, condition)
    write = write_map(meaning, scope, indices, valid)
    return running.apply(write).compute_divs().coalesce()


def check_new_tensor(
    meaning: ResolvedStatement,
    scope: IndexScope,
    ranges: Mapping[str, isl.Set],
    context: isl.Set,
    condition: IslCondition,
) -> None:
    """Refuse elements below 0 of a tensor that is new, and one of which no size is known."""
    if is_index_only(meaning):
        return
    for part in meaning.subscripts:
        if is_computed(part):
            tensor = meaning.statement.tensor
            raise SourceError(
                location_of(part),
                f"the size of {tensor} is not known: {expression_text(part)} may be anything",
                f"declare it: -> (float(...) {tensor})",
            )
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    unbounded = [from_zero] * len(meaning.subscripts)
    subscripts = assigned_constraints(meaning, scope, unbounded, condition)
    check_dividends(scope, subscripts, ranges, context)
    for constraint in subscripts:
        indices = [name for name in scope.indices if name in constraint.subscript.names]
        outside = instances_outside(scope, indices, constraint, ranges)
        if not outside.intersect_params(context).is_empty():
            raise SourceError(
                constraint.location,
                f"{constraint.text} may be assigned below 0, which is no element",
                f"add something to {constraint.required_text}, or say a range: where "
                f"{(*indices, 'i')[0]} in ...",
            )


def check_assigned_once(meaning: ResolvedStatement, domain: isl.Set, write: isl.Map) -> None:
    """Refuse a plain assignment of which two instances write one element.

    Raises:
        SourceError: with two instances, as values of the indices.
    """
    if meaning.statement.assign is not AssignKind.SET or is_index_only(meaning):
        return
    indices = tuple(meaning.indices)
    write = write.intersect_domain(domain)
    met = _two_at_one_element(write, write, len(indices))
    if met is not None:
        first, second = (_instance_text(indices, instance) for instance in met)
        raise SourceError(
            meaning.statement.location,
            f"{assigned_text(meaning)} is the same element where {first} and where {second}: "
            "expected a reduction such as +=! or max=!, found =",
        )
