"""What a statement assigns: an element for each index, or for several of them the same one.

``y(i / 2) +=! x(i)`` adds two elements of x to each of y, ``y(2 * i) = x(i)`` leaves gaps, and in
``O(i + k) +=! I(i) * K(k)`` several combinations of i and k meet. A reduction means the same
whatever order they come in; a plain ``=`` would keep the last one, and is refused with two of them.
A tensor that is new is as large as the largest of its subscripts; what is assigned lies at 0 and
above, and elements that no index leads to are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polygym.compiler.frontend.tc.affine import ALWAYS, Affine, quasi_affine
from polygym.compiler.frontend.tc.inplace import refuse_twice
from polygym.compiler.frontend.tc.printer import left_text, text_of
from polygym.compiler.frontend.tc.quotients import check_dividends
from polygym.compiler.frontend.tc.ranges import Scope, Subscript, outside
from polygym.compiler.frontend.tc.resolve import Meaning, names_in
from polygym.compiler.frontend.tc.subscripts import check_quotient_count
from polygym.compiler.frontend.tc.syntax import Assign, Expression, Name
from polygym.errors import Place, SourceError


def assigned(meaning: Meaning, scope: Scope) -> tuple[Affine, ...]:
    """Return the subscripts of what a statement assigns.

    Raises:
        SourceError: one is not affine, or has too many quotients.
    """
    found = []
    for part in meaning.left:
        value = quasi_affine(part, frozenset(scope.isl_names))
        tensor, text = meaning.statement.tensor, text_of(part)
        if value is None:
            raise SourceError(
                place_of(part),
                f"the subscript {text} of {tensor} is not affine",
                "subscripts on the left are sums of indices and sizes with whole coefficients, and "
                "of quotients and remainders of these by positive numbers",
            )
        check_quotient_count(value, text, tensor, place_of(part))
        found.append(value)
    return tuple(found)


def assigned_within(
    meaning: Meaning, scope: Scope, valid: Sequence[isl.Set]
) -> tuple[Subscript, ...]:
    """Return the subscripts of what is assigned, which have to lie in some sets."""
    text = text_on_the_left(meaning)
    return tuple(
        Subscript(value, values, ALWAYS, text_of(part), text, place_of(part))
        for part, value, values in zip(meaning.left, assigned(meaning, scope), valid, strict=True)
    )


def text_on_the_left(meaning: Meaning) -> str:
    """Return the text of what is assigned, ``y(i / 2)``."""
    return left_text(meaning.statement.tensor, map(text_of, meaning.left))


def place_of(part: Expression) -> Place:
    """Return the place of a subscript: that of the first name in it."""
    return next((one.place for one in names_in(part)), part.place)


def is_plain(meaning: Meaning) -> bool:
    """Whether each subscript on the left is an index."""
    return all(isinstance(part, Name) for part in meaning.left)


def write_map(meaning: Meaning, scope: Scope, indices: Sequence[str]) -> isl.Map:
    """Return which element is assigned, as a map from the values of indices."""
    texts = ", ".join(value.text(scope.isl_names) for value in assigned(meaning, scope))
    return scope.sizes.map(f"{{ {scope.tuple_of(indices)} -> [{texts}] }}")


def elements_of(meaning: Meaning, scope: Scope, ranges: Mapping[str, isl.Set]) -> isl.Set:
    """Return all elements that are assigned."""
    indices = [name for name in scope.indices if name in meaning.indices]
    instances = scope.box(indices, ranges)
    return instances.apply(write_map(meaning, scope, indices)).compute_divs().coalesce()


def check_new(
    meaning: Meaning, scope: Scope, ranges: Mapping[str, isl.Set], context: isl.Set
) -> None:
    """Refuse elements below 0 of a tensor that is new."""
    if is_plain(meaning):
        return
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    subscripts = assigned_within(meaning, scope, [from_zero] * len(meaning.left))
    check_dividends(scope, subscripts, ranges, context)
    for one in subscripts:
        indices = [name for name in scope.indices if name in one.value.names]
        if not outside(scope, indices, one, ranges).intersect_params(context).is_empty():
            raise SourceError(
                one.place,
                f"{one.text} may be assigned below 0, which is no element",
                f"add something to {one.said}, or say a range: where {indices[0]} in ...",
            )


def check_once(meaning: Meaning, scope: Scope, domain: isl.Set) -> None:
    """Refuse a plain assignment that assigns an element twice."""
    if meaning.statement.assign is Assign.SET and not is_plain(meaning):
        indices = tuple(meaning.indices)
        write = write_map(meaning, scope, indices)
        text, place = text_on_the_left(meaning), meaning.statement.place
        refuse_twice(domain, write, text, indices, place)
