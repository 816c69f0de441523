"""Evaluation of isl text at given parameter values.

Vertices of sets without parameters, as exact numbers.

An affine form takes its least and its greatest value over a polytope at corners of it. Over the
integer points of one it does so too where such a corner is an integer point itself.

Example: { [i, j] : 0 <= j and 2j <= i < 4 } has the corners (0, 0), (3, 0) and (3, 3/2). The form i
takes the values 0 to 3; of j the corners say 3/2, and the greatest over integer points is 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias, TypeVar

import islpy as isl

from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.poly.isl_budget import exclusive_isl
from polygym.poly.isl_values import (
    coordinates,
    highest_value,
    isl_value,
    lowest_value,
    range_length,
    to_int,
)

_Points = TypeVar("_Points", isl.Set, isl.Map)


def evaluate_extent(extent: str, parameters: Mapping[str, int]) -> int:
    """Return the value of a function of the parameters.

    >>> evaluate_extent("[n] -> { [(2 + n)] }", {"n": 5})
    7
    """
    point = fix_parameters(isl.Set.from_pw_aff(isl.PwAff(extent)), parameters).sample_point()
    return coordinates(point)[0]


class ParameterFunctions:
    """Functions of parameters, read once to be evaluated at many values of them.

    >>> ParameterFunctions(("n",), "[n] -> { : n > 1 }", ["[n] -> { [(2 + n)] }"]).at((5,))
    {'[n] -> { [(2 + n)] }': 7}
    """

    def __init__(self, parameters: Sequence[str], context: str, functions: Iterable[str]) -> None:
        """Read the texts; ``context`` holds the values at which the functions are defined.

        Raises:
            ValueError: a text is none of isl's.
        """
        try:
            self._unknown = isl.Set(f"[{', '.join(parameters)}] -> {{ : }}")
            space = self._unknown.get_space()
            self._context = isl.Set(context).align_params(space)
            self._functions = {text: isl.PwAff(text).align_params(space) for text in functions}
        except isl.Error as error:
            raise ValueError(str(error)) from None

    @exclusive_isl()
    def at(self, values: Sequence[int]) -> dict[str, int] | None:
        """Return the value of each function by its text, None outside the context."""
        fixed = self._unknown
        for place, value in enumerate(values):
            fixed = fixed.fix_val(isl.dim_type.param, place, isl_value(value))
        if not fixed.is_subset(self._context):
            return None
        point = fixed.sample_point()
        return {text: to_int(function.eval(point)) for text, function in self._functions.items()}


def longest_reduction(
    scop: Scop, parameters: Mapping[str, int], storage_type: ScalarType | None = None
) -> int:
    """Return how many terms an element may get from one statement, as a bound.

    Those are the iterations of the loops on which the written element does not depend. With
    ``storage_type`` only arrays of that type count.
    """
    longest = 1
    for statement in scop.statements:
        if not statement.accumulator_reads:
            continue
        if storage_type not in (None, scop.array(statement.write.array).type):
            continue
        write = isl.Map(statement.write.relation)
        domain = fix_parameters(isl.Set(statement.domain), parameters)
        if domain.is_empty():
            continue
        terms = 1
        for place in range(statement.depth):
            if not write.involves_dims(isl.dim_type.in_, place, 1):
                terms *= range_length(domain, place)
        longest = max(longest, terms)
    return longest


def context_holds(context: str, parameters: Mapping[str, int]) -> bool:
    """Whether a set of parameter values holds these; names that it does not mention are free.

    >>> context_holds("[n] -> { : n >= 2 }", {"n": 1})
    False
    """
    return not fix_parameters(isl.Set(context), parameters).is_empty()


def runs_any(statements: Sequence[Statement], parameters: Mapping[str, int]) -> bool:
    """Return whether any statement has an instance at these parameter values."""
    return any(
        not fix_parameters(isl.Set(statement.domain), parameters).is_empty()
        for statement in statements
    )


def nearest_admissible(
    context: str, given: Mapping[str, int], preferred: Mapping[str, int]
) -> dict[str, int]:
    """Return values that a set of parameter values holds beside given ones, near the wanted.

    None is less than the greatest value that all may have at once, up to the wanted of each. Then
    one after the other is as large as it can be, but not above the wanted; where it must be above,
    as small as it can be. Where the set holds none, they are what was wanted.

    >>> nearest_admissible("[r, b] -> { : r >= 0 and r + b <= 256 }", {}, {"r": 1000, "b": 1000})
    {'r': 128, 'b': 128}
    >>> nearest_admissible("[n, m] -> { : n <= 100 and m <= 200 }", {}, {"n": 1000, "m": 1000})
    {'n': 100, 'm': 200}
    >>> nearest_admissible("[n, k] -> { : 2k < n and k > 0 }", {"n": 16}, {"k": 16})
    {'k': 7}
    >>> nearest_admissible("[n, k] -> { : n > 20 and k > n }", {}, {"n": 16, "k": 16})
    {'n': 21, 'k': 22}
    >>> nearest_admissible("[n, k] -> { : 2k < n and k > 0 }", {"n": 1}, {"k": 16})
    {'k': 16}
    """
    left = fix_parameters(isl.Set(context), given)
    left = _balanced(left, preferred)
    result = {}
    for name, most in preferred.items():
        result[name] = most
        position = left.find_dim_by_name(isl.dim_type.param, name)
        if position < 0:
            continue
        value = left.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
        values = value.project_out(isl.dim_type.param, 0, value.dim(isl.dim_type.param))
        if values.is_empty():
            return dict(preferred)
        below = values.upper_bound_val(isl.dim_type.set, 0, isl.Val(most))
        result[name] = lowest_value(values, 0) if below.is_empty() else highest_value(below, 0)
        left = fix_parameters(left, {name: result[name]})
    return result


def _balanced(values: isl.Set, preferred: Mapping[str, int]) -> isl.Set:
    """Return the part of a set in which no parameter is less than all may be at once.

    Of ``r + b <= 256`` these are the values of at least 128; the whole set where no t >= 1 may be
    the value of all parameters, each at most what is wanted of it.
    """
    wanted = {
        name: most
        for name, most in preferred.items()
        if values.find_dim_by_name(isl.dim_type.param, name) >= 0
    }
    if not wanted or max(wanted.values()) < 1:
        return values
    names = ", ".join(wanted)
    ends = [0, *sorted({most for most in wanted.values() if most > 0})]
    pieces = [
        f"[t] : {low} < t <= {high} and "
        + " and ".join(f"{name} = {'t' if most >= high else most}" for name, most in wanted.items())
        for low, high in pairwise(ends)
    ]
    text = f"[{names}] -> {{ {'; '.join(pieces)} }}"
    common = isl.Set.read_from_str(values.get_ctx(), text).intersect_params(values)
    common = common.project_out(isl.dim_type.param, 0, common.dim(isl.dim_type.param))
    if common.is_empty():
        return values
    value = highest_value(common, 0)
    bounds = " and ".join(f"{name} >= {min(most, value)}" for name, most in wanted.items())
    least = isl.Set.read_from_str(values.get_ctx(), f"[{names}] -> {{ : {bounds} }}")
    return values.intersect(least)


def fix_parameters(values: _Points, parameters: Mapping[str, int]) -> _Points:
    """Return a set or a map at these values of its parameters; others stay free."""
    for name, value in parameters.items():
        position = values.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            values = values.fix_val(isl.dim_type.param, position, isl.Val(value))
    return values


RationalVertex: TypeAlias = tuple[int | Fraction, ...]
"""The coordinates of a corner; those that are integers are of Python's."""


def rational_vertices(polytope: isl.BasicSet) -> tuple[RationalVertex, ...]:
    """Return the corners of a set that inequalities alone describe.

    >>> sorted(rational_vertices(isl.BasicSet("{ [i, j] : 0 <= j and 2j <= i < 4 }")))
    [(0, 0), (3, 0), (3, Fraction(3, 2))]
    """
    vertices: list[isl.Vertex] = []
    # Under a bound isl may refuse anything, which a function that it calls could not say.
    polytope.compute_vertices().foreach_vertex(vertices.append)
    forms = (vertex.get_expr() for vertex in vertices)
    return tuple(
        tuple(_value(form.get_aff(k)) for k in range(form.dim(isl.dim_type.out))) for form in forms
    )


def integer_hull_vertices(points: isl.Set) -> tuple[RationalVertex, ...] | None:
    """Return the corners of polytopes of which a set has all integer points, and no others.

    None says that it is unbounded or has holes.
    """
    pieces = points.get_basic_sets()
    if any(piece.dim(isl.dim_type.div) for piece in pieces) or not points.is_bounded():
        return None
    if not points.dim(isl.dim_type.set):
        return () if points.is_empty() else ((),)
    return tuple(dict.fromkeys(corner for piece in pieces for corner in rational_vertices(piece)))


def value_range(row: Sequence[int], at: Sequence[RationalVertex]) -> tuple[int, int] | None:
    """Return the least and the greatest value of a row over the integer points between corners.

    They are those of corners that are integer points; None where others have less or more.

    >>> at = rational_vertices(isl.BasicSet("{ [i, j] : 0 <= j and 2j <= i < 4 }"))
    >>> value_range((1, -1), at), value_range((0, 1), at)
    ((0, 3), None)
    """
    values = [sum(a * x for a, x in zip(row, corner, strict=True)) for corner in at]
    reached = [
        value
        for value, corner in zip(values, at, strict=True)
        if all(isinstance(x, int) for x in corner)
    ]
    if not reached or min(values) < min(reached) or max(values) > max(reached):
        return None
    return int(min(reached)), int(max(reached))


def _value(form: isl.Aff) -> int | Fraction:
    """Return the value of a form that is a constant."""
    down = to_int(form.get_denominator_val())
    up = to_int(form.get_constant_val().mul(isl.Val(down)))
    return up // down if up % down == 0 else Fraction(up, down)
