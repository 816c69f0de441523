"""Number of points of a set at given sizes, without enumeration.

A set whose bounds are affine is a union of polytopes, and a set with holes is one as soon as what
its floors are counts as coordinates, which changes no number: { S[i] : i mod 3 = 0 and 0 <= i < n }
has as many points as { [i, e] : i = 3e and 0 <= i < n }. The corners of such a polytope are affine
forms of the sizes, each of which is one in a region of them. Two facts (Ehrhart, Clauss):

* while the sizes stay in a *region*, in which the same corners are there, and
* move by multiples of the *period*, the common denominator of the corners' coordinates,

the number of points is a polynomial of the sizes, of a degree no greater than the dimensions. So
points are counted at small sizes of the same region, as far from the given ones as multiples of the
period, as many times as the polynomial has coefficients, and it is evaluated at the given ones.

Example: { S[i, j] : 0 <= j < i < n } at n = 2000 follows from its points at n = 8, 9 and 10 (28, 36
and 45), and is 1,999,000. With 0 <= j and 2j <= i the corner (n - 1, (n - 1)/2) says that the
period is 2, and points are counted at n = 8, 10 and 12. With i <= j < i + 100 the corner (n - 100,
n - 1) is there from n = 100 on, so they are counted at n = 128, 129 and 130.

Where no small sizes are of that region, or the polynomial has too many coefficients, points are
counted as they are, if they stand in few rows. If they do not, large numbers in the text become
sizes, { S[i, j] : 0 <= j < i < 2000 } is the triangle above with n = 2000; and if that does not
help, nobody knows exactly.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, lcm, prod

import islpy as isl

from polygym.codegen.common.bounding_boxes import bounding_ranges, box_size
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.evaluation import fix_parameters
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.isl_values import count_points, isl_text, to_int

# Sizes up to which points are counted outright.
_MAX_DIRECT_PARAMETERS = 6
# The least sizes at which points are counted for a polynomial; further ones where these are of
# another region.
_STARTS = (8, 16, 32, 64, 128, 256)
# A polynomial has as many unknowns as there are counts; solving them takes their cube.
_MAX_UNKNOWNS = 84
# Points are counted row by row: as many rows for a polynomial, and for all points.
_MAX_ROWS, _MAX_ROWS_DIRECT = 100_000, 20_000
# Numbers from this one on are sizes, if need be: those that are no factors.
_LARGE_CONSTANT = 64
_NUMBER = re.compile(r"(?<![\w'/])(?<!mod )\d+(?![\w'(*])")
# What isl may do for either.
_MAX_OPERATIONS = 2_000_000


def count_instances(text: str, sizes: Sizes) -> int:
    """Return how many points a domain has at given sizes, a share of its box if need be.

    >>> triangle = "[n] -> { S[i, j] : 0 <= j < i < n }"
    >>> count_instances(triangle, {"n": 5}), count_instances(triangle, {"n": 2000})
    (10, 1999000)
    """
    result = count_instances_exactly(text, sizes)
    if result is not None:
        return result
    text, sizes = _parametrize_constants(text, sizes) or (text, sizes)
    domain = isl.Set(text)
    depth = domain.dim(isl.dim_type.set)
    small = _sample_sizes(_parameters_of(domain, sizes), sizes, depth, _STARTS[0], 1).sizes
    share = Fraction(_count_points(domain, small), max(1, _box_points(text, small)))
    return max(1, round(share * _box_points(text, sizes)))


def count_instances_exactly(text: str, sizes: Sizes) -> int | None:
    """Return how many points a domain has at given sizes; None where that takes too long.

    >>> count_instances_exactly("[n] -> { S[i] : i mod 5 = 0 and 0 <= i < n }", {"n": 10**6})
    200000
    """
    domain = isl.Set(text)
    points = at_sizes(domain, sizes)
    if points.is_empty():
        return 0
    if points.is_box():
        return _box_points(text, sizes)
    if not domain.dim(isl.dim_type.set):
        return 1
    names = _parameters_of(domain, sizes)
    is_large = max((sizes[name] for name in names), default=0) > _MAX_DIRECT_PARAMETERS
    for way in (_count_by_polynomial, _count_directly) if is_large else (_count_directly,):
        try:
            with attempt_bounded(_MAX_OPERATIONS):
                result = way(domain, sizes, names)
        except isl.Error:
            continue
        if (
            result is not None
            and result.denominator == 1
            and 0 <= result <= _box_points(text, sizes)
        ):
            return result.numerator
    named = _parametrize_constants(text, sizes)
    return None if named is None else count_instances_exactly(*named)


def _parametrize_constants(text: str, sizes: Sizes) -> tuple[str, dict[str, int]] | None:
    """Return a domain in which large numbers are sizes with names; None where there are none.

    >>> _parametrize_constants("{ S[i, j] : 0 <= j < i < 2000 }", {})
    ('[n1999_] -> { S[i, j] : i <= n1999_ and 0 <= j < i }', {'n1999_': 1999})
    """
    plain = isl_text(isl.Set(text))
    numbers = {int(digits) for digits in _NUMBER.findall(plain)}
    known = {f"n{number}_": number for number in sorted(numbers) if number >= _LARGE_CONSTANT}
    if not known or any(name in plain for name in known):
        return None
    own, arrow, body = plain.partition("->") if plain.startswith("[") else ("", "->", f" {plain}")
    given = [parameter.strip() for parameter in own.strip(" []").split(",") if parameter.strip()]
    body = _NUMBER.sub(
        lambda match: f"n{int(match[0])}_" if int(match[0]) >= _LARGE_CONSTANT else match[0], body
    )
    result = f"[{', '.join((*given, *known))}] {arrow}{body}"
    every = {**sizes, **known}
    if not at_sizes(isl.Set(result), every).is_equal(at_sizes(isl.Set(text), sizes)):
        return None
    return result, every


def _parameters_of(domain: isl.Set, sizes: Sizes) -> list[str]:
    """Return the sizes on which a domain depends."""
    return [
        name
        for name in sizes
        if (place := domain.find_dim_by_name(isl.dim_type.param, name)) >= 0
        and domain.involves_dims(isl.dim_type.param, place, 1)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _ParametricVertices:
    """The corners that a set may have: where each is one, and their common denominator."""

    regions: tuple[isl.Set, ...]
    period: int

    def region(self, sizes: Sizes) -> tuple[bool, ...]:
        """Return which corners there are at some sizes: the same ones in the same region."""
        return tuple(not fix_parameters(region, sizes).is_empty() for region in self.regions)


@lru_cache(maxsize=512)
def _parametric_vertices(text: str) -> _ParametricVertices:
    """Look at all polytopes that a set is made of; floors count as coordinates."""
    where: list[isl.Set] = []
    period = 1

    def look(vertex: isl.Vertex) -> None:
        nonlocal period
        form = vertex.get_expr()
        for place in range(form.dim(isl.dim_type.out)):
            period = lcm(period, to_int(form.get_aff(place).get_denominator_val()))
        where.append(isl.Set.from_basic_set(vertex.get_domain()))

    for piece in isl.Set(text).make_disjoint().compute_divs().get_basic_sets():
        lifted = piece.lift()
        flat = lifted.flatten() if lifted.is_wrapping() else lifted
        flat.compute_vertices().foreach_vertex(look)
    return _ParametricVertices(tuple(where), period)


@dataclass(frozen=True, slots=True, eq=False)
class _SampleSizes:
    """Small sizes, and which of them may grow together by multiples of the period."""

    sizes: dict[str, int]
    groups: tuple[tuple[str, ...], ...]
    period: int

    def step_to(self, step: Sequence[int]) -> dict[str, int]:
        """Return the sizes after so many steps of each group."""
        more = {
            name: by * self.period
            for group, by in zip(self.groups, step, strict=True)
            for name in group
        }
        return {name: value + more.get(name, 0) for name, value in self.sizes.items()}

    def group_values(self, values: Mapping[str, int]) -> list[int]:
        """Return the values of the groups' first sizes, which the polynomial is one of."""
        return [values[group[0]] for group in self.groups]


def _sample_sizes(
    names: Sequence[str], sizes: Sizes, depth: int, start: int, period: int
) -> _SampleSizes:
    """Return small sizes in the order of the given ones, whole periods away from them.

    Up to ``depth`` + 1 steps of one group must not change the order, on which regions depend: so
    sizes that are near each other are one group and keep their distances, and groups are farther
    apart. What is small already stays what it is.
    """
    small: dict[str, int] = {}
    groups: list[tuple[str, ...]] = []
    apart = (depth + 2) * period
    top = 0
    blocks: list[list[str]] = []
    for name in sorted(names, key=lambda parameter: sizes[parameter]):
        if blocks and sizes[name] - sizes[blocks[-1][-1]] < apart:
            blocks[-1].append(name)
        else:
            blocks.append([name])
    for block in blocks:
        first, last = sizes[block[0]], sizes[block[-1]]
        least = max(top + apart, start)
        begin = min(first, least + (first - least) % period)
        small.update({name: begin + sizes[name] - first for name in block})
        if begin < first:
            groups.append(tuple(block))
        top = begin + last - first
    return _SampleSizes(small, tuple(groups), period)


def _count_by_polynomial(domain: isl.Set, sizes: Sizes, names: Sequence[str]) -> Fraction | None:
    """Return the value of the polynomial through counts at small sizes; None where it is none."""
    depth, text = domain.dim(isl.dim_type.set), isl_text(domain)
    corners = _parametric_vertices(text)
    wanted = corners.region(sizes)
    for start in _STARTS:
        small = _sample_sizes(names, sizes, depth, start, corners.period)
        steps = _sample_steps(depth, len(small.groups))
        if not steps or _row_count(text, small.step_to(steps[-1])) * len(steps) > _MAX_ROWS:
            return None
        if all(corners.region({**sizes, **small.step_to(step)}) == wanted for step in steps):
            return _interpolate(domain, small, steps, sizes)
    return None


def _sample_steps(depth: int, groups: int) -> list[tuple[int, ...]]:
    """Return how far groups go at each count, and at last at one more that is the proof of them.

    There are none where these are too many.
    """
    if comb(depth + groups, depth) > _MAX_UNKNOWNS:
        return []
    result = [step for step in product(range(depth + 1), repeat=groups) if sum(step) <= depth]
    return [*result, (depth + 1,) * groups]


def _row_count(text: str, sizes: Sizes) -> int:
    """Return how many rows of points a set has at most, along its longest side."""
    ranges = bounding_ranges(text, tuple(sizes.items()))
    longest = max((high - low + 1 for low, high in ranges or ()), default=1)
    return box_size(ranges) // longest


def _interpolate(
    domain: isl.Set, small: _SampleSizes, steps: Sequence[tuple[int, ...]], sizes: Sizes
) -> Fraction | None:
    """Return the value of the polynomial through counts, of which the last one is the proof."""
    *own, beyond = steps
    counts = [_count_points(domain, small.step_to(step)) for step in own]
    solved = _solve(
        [_monomials(small.group_values(small.step_to(step)), own) for step in own], counts
    )
    last = small.step_to(beyond)
    if solved is None or _evaluate_polynomial(
        solved, small.group_values(last), own
    ) != _count_points(domain, last):
        return None
    return _evaluate_polynomial(solved, small.group_values(sizes), own)


def _count_directly(domain: isl.Set, sizes: Sizes, _: Sequence[str]) -> Fraction | None:
    """Count the points of a domain where they stand in few rows."""
    if _row_count(isl_text(domain), sizes) > _MAX_ROWS_DIRECT:
        return None
    return Fraction(_count_points(domain, sizes))


def _box_points(text: str, sizes: Sizes) -> int:
    return box_size(bounding_ranges(text, tuple(sizes.items())))


def _count_points(domain: isl.Set, sizes: Sizes) -> int:
    return count_points(at_sizes(domain, sizes))


def _monomials(values: Sequence[int], powers: Sequence[tuple[int, ...]]) -> list[int]:
    return [prod(value**power for value, power in zip(values, row, strict=True)) for row in powers]


def _evaluate_polynomial(
    factors: Sequence[Fraction], values: Sequence[int], powers: Sequence[tuple[int, ...]]
) -> Fraction:
    terms = zip(factors, _monomials(values, powers), strict=True)
    return sum((factor * value for factor, value in terms), Fraction(0))


def _solve(rows: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """Return the solution of as many equations as unknowns; None where there is not one."""
    matrix = [
        [*map(Fraction, row), Fraction(value)] for row, value in zip(rows, values, strict=True)
    ]
    width = len(matrix)
    for column in range(width):
        pivot = next((row for row in range(column, width) if matrix[row][column]), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = matrix[column]
        for row in range(width):
            if row != column and matrix[row][column]:
                factor = matrix[row][column] / head[column]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], head, strict=True)]
    return [matrix[row][width] / matrix[row][row] for row in range(width)]
