"""Sums over what an access reads, turned around: one loop for each dimension that is added to.

``d_I(i + k) +=! d_O(i) * K(k)`` adds to one element again and again, from several i. With x for the
element, i = x - k: for each x the sum runs over k, of d_O at x - k, where that is inside. d_O is
copied to the middle of zeros, so that no element needs a condition; with a subscript ``a * i +
rest``, zeros lie between its elements as well. With m the largest rest,

    P(a * i + m) = d_O(i), other elements are 0
    d_I(x) +=! P(x - rest + m) * K(k)

This is possible where i stands in no other factor than ``d_O(i)``: the value is 0 where that is.
With gaps, it does more work than the sum as it stands, which pays only if there is a sum over
something else as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import IndexRange
from polygym.frontend.tc.semantics.environment import AffineExpression, quasi_affine_of
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import Expression


@dataclass(frozen=True, slots=True)
class SolvedIndex:
    """An index that a subscript ``factor * index + rest`` determines, and where that stands."""

    index: str
    dimension: int
    factor: int
    rest: AffineExpression


@dataclass(frozen=True, slots=True)
class TransposedSum:
    """A value with its subscripts and ranges, and the copy that it reads.

    The copy is as large as ``corner``, its last elements for all ``copy_ranges``, says; at
    ``copy_subscripts`` it has what is ``copied``.
    """

    copy: str
    corner: tuple[Expression, ...]
    copy_subscripts: tuple[Expression, ...]
    copied: Expression
    copy_ranges: Mapping[str, IndexRange]
    subscripts: tuple[Expression, ...]
    value: Expression
    ranges: Mapping[str, IndexRange]


@dataclass(frozen=True, slots=True)
class AddedValue:
    """A value that is added at ``subscripts``, for all indices in ``ranges``.

    It is proportional to an element of the tensor ``adjoint``.
    """

    subscripts: Sequence[Expression]
    value: Expression
    ranges: Mapping[str, IndexRange]
    adjoint: str
    sizes: frozenset[str]

    def solved(self) -> tuple[tree.ElementOrCall, list[SolvedIndex]] | None:
        """Return the element, and the indices that subscripts determine; None if they do not."""
        parts = list(tree.parts_of(self.value))
        elements = [
            p for p in parts if isinstance(p, tree.ElementOrCall) and p.name == self.adjoint
        ]
        if not elements or any(not arithmetic.is_same(elements[0], p) for p in elements):
            return None
        element = elements[0]
        direct = [part.name for part in element.arguments if isinstance(part, tree.NameUse)]
        if len(set(direct)) != len(element.arguments):
            return None
        uses = [part.name for part in parts if isinstance(part, tree.NameUse)]
        free = {name for name in direct if uses.count(name) == len(elements)}
        result: list[SolvedIndex] = []
        for dimension, subscript in enumerate(self.subscripts):
            if isinstance(subscript, tree.NameUse) and subscript.name in self.ranges:
                continue
            found = self._solve(dimension, subscript, free)
            if found is None:
                return None
            result.append(found)
        return (element, result) if result and self._pays(result) else None

    def _solve(self, dimension: int, subscript: Expression, free: set[str]) -> SolvedIndex | None:
        affine = quasi_affine_of(subscript, frozenset(self.ranges) | self.sizes)
        if affine is None or affine.quotients:
            return None
        others = set().union(
            *(
                arithmetic.names_in(other)
                for place, other in enumerate(self.subscripts)
                if place != dimension
            )
        )
        candidates = [
            (factor, str(name))
            for name, factor in affine.coefficients
            if name in free and name not in others and factor > 0
        ]
        if not candidates:
            return None
        factor, index = min(candidates)
        rest = affine.plus(AffineExpression(((index, factor),)), -1)
        return SolvedIndex(index, dimension, factor, rest)

    def _pays(self, solved: Sequence[SolvedIndex]) -> bool:
        names = {p.name for p in tree.parts_of(*self.subscripts) if isinstance(p, tree.NameUse)}
        return all(one.factor == 1 for one in solved) or not self.ranges.keys() <= names


def transposed_sum(
    added: AddedValue, extents: Sequence[Expression], new_name: Callable[[str], str]
) -> TransposedSum | None:
    """Return a sum with an index for each dimension of ``extents``, None if it stays as it is."""
    found = added.solved()
    if found is None:
        return None
    element, solved = found
    by_index = {one.index: one for one in solved}
    corner: list[Expression] = []
    filled: list[Expression] = []
    target: list[Expression] = []
    ranges = {index: r for index, r in added.ranges.items() if index not in by_index}
    subscripts = list(added.subscripts)
    indices = [part.name for part in element.arguments if isinstance(part, tree.NameUse)]
    for index in indices:
        one = by_index.get(index)
        if one is None:
            for parts in (corner, filled, target):
                parts.append(arithmetic.name(index))
            continue
        least, most = _ends(one.rest, added.ranges)
        extent = extents[one.dimension]
        last = arithmetic.minus(arithmetic.minus(extent, arithmetic.ONE), least)
        corner.append(arithmetic.plus(last, most))
        scaled = arithmetic.times(arithmetic.number(one.factor), arithmetic.name(index))
        filled.append(arithmetic.plus(scaled, most))
        place = new_name(f"e{one.dimension}")
        ranges[place] = IndexRange(arithmetic.ZERO, extent)
        subscripts[one.dimension] = arithmetic.name(place)
        moved = arithmetic.minus(arithmetic.name(place), _affine_tree(one.rest))
        target.append(arithmetic.plus(moved, most))
    copy = new_name(f"padded_{element.name}")
    return TransposedSum(
        copy,
        tuple(corner),
        tuple(filled),
        element,
        {index: added.ranges[index] for index in indices},
        tuple(subscripts),
        _with_element(added.value, element, arithmetic.element(copy, target)),
        ranges,
    )


def _ends(
    rest: AffineExpression, ranges: Mapping[str, IndexRange]
) -> tuple[Expression, Expression]:
    """Return the least and the greatest value of a sum of indices and sizes."""
    least = most = arithmetic.signed(rest.constant)
    low: Expression
    high: Expression
    for name, factor in rest.coefficients:
        assert isinstance(name, str)
        if name not in ranges:
            low = high = arithmetic.name(name)
        else:
            values = ranges[name]
            low, high = values.lower, arithmetic.minus(values.upper, arithmetic.ONE)
        first, second = (low, high) if factor > 0 else (high, low)
        least, most = (_plus_multiple(least, first, factor), _plus_multiple(most, second, factor))
    return least, most


def _plus_multiple(before: Expression, term: Expression, factor: int) -> Expression:
    product = arithmetic.times(arithmetic.number(abs(factor)), term)
    return arithmetic.plus(before, product) if factor > 0 else arithmetic.minus(before, product)


def _affine_tree(affine: AffineExpression) -> Expression:
    result = arithmetic.signed(affine.constant)
    for name, factor in affine.coefficients:
        result = _plus_multiple(result, arithmetic.name(str(name)), factor)
    return result


def _with_element(value: Expression, element: tree.ElementOrCall, other: Expression) -> Expression:
    """Return a value with another element in the place of one."""
    if isinstance(value, tree.ElementOrCall) and arithmetic.is_same(value, element):
        return other
    return tree.with_operands(value, lambda part: _with_element(part, element, other))
