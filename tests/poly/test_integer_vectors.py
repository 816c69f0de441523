"""Exact linear algebra against elimination with fractions."""

from fractions import Fraction
from math import gcd

from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.poly.integer_vectors import (
    Vector,
    dot,
    echelon,
    last_nonzero,
    null_space,
    primitive,
    reduce_by,
    reduce_by_all,
)

ENTRIES = st.one_of(st.integers(-3, 3), st.integers(-(2**70), 2**70))


def rank(rows: list[Vector]) -> int:
    """Gauss' elimination, with fractions, from the left."""
    left = [[Fraction(value) for value in row] for row in rows]
    literal = 0
    for column in range(len(left[0]) if left else 0):
        pivot = next((k for k in range(literal, len(left)) if left[k][column]), None)
        if pivot is None:
            continue
        left[literal], left[pivot] = left[pivot], left[literal]
        for k in range(literal + 1, len(left)):
            factor = left[k][column] / left[literal][column]
            left[k] = [a - factor * b for a, b in zip(left[k], left[literal], strict=True)]
        literal += 1
    return literal


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[Vector], int]:
    width = draw(st.integers(0, 6))
    row = st.tuples(*[ENTRIES] * width)
    return draw(st.lists(row, max_size=6)), width


@given(matrices())
@settings(deadline=None)
def test_an_echelon_basis_spans_the_same(matrix: tuple[list[Vector], int]) -> None:
    rows, _ = matrix
    basis = [vector for vector, _ in echelon(rows)]
    assert len(basis) == rank(rows) == rank([*rows, *basis])


@given(matrices())
@settings(deadline=None)
def test_an_echelon_basis_is_reduced(matrix: tuple[list[Vector], int]) -> None:
    basis = echelon(matrix[0])
    assert [pivot for _, pivot in basis] == sorted({pivot for _, pivot in basis})
    for vector, pivot in basis:
        assert last_nonzero(vector) == pivot
        assert vector[pivot] > 0
        assert gcd(*vector) == 1
        assert all(other[pivot] == 0 for other, at in basis if at != pivot)


@given(matrices(), st.randoms(use_true_random=False), st.data())
@settings(deadline=None)
def test_one_span_has_one_basis(
    matrix: tuple[list[Vector], int], random: object, data: st.DataObject
) -> None:
    rows, _ = matrix
    factors = data.draw(st.lists(st.sampled_from([-3, -1, 2]), min_size=6, max_size=6))
    changed = [tuple(f * v for v in row) for f, row in zip(factors, rows, strict=False)]
    if len(changed) > 1:
        changed.append(tuple(a + b for a, b in zip(changed[0], changed[1], strict=True)))
    random.shuffle(changed)  # type: ignore[attr-defined]
    assert echelon(changed) == echelon(rows)


@given(matrices())
@settings(deadline=None)
def test_a_null_space_is_orthogonal_and_large_enough(matrix: tuple[list[Vector], int]) -> None:
    rows, width = matrix
    kernel = null_space(rows, width)
    assert len(kernel) == width - rank(rows)
    assert not any(dot(row, vector) for row in rows for vector, _ in kernel)
    assert kernel == echelon(vector for vector, _ in kernel)


def test_the_null_space_of_nothing_is_everything() -> None:
    assert [vector for vector, _ in null_space([], 2)] == [(1, 0), (0, 1)]
    assert null_space([], 0) == ()
    assert null_space([(0, 0)], 2) == null_space([], 2)


@given(matrices(), st.data())
@settings(deadline=None)
def test_reducing_by_a_basis_stays_in_the_coset(
    matrix: tuple[list[Vector], int], data: st.DataObject
) -> None:
    rows, width = matrix
    basis = echelon(rows)
    vector = data.draw(st.tuples(*[ENTRIES] * width))
    reduced = reduce_by_all(vector, basis)
    assert all(reduced[pivot] == 0 for _, pivot in basis)
    # It is a positive multiple of the vector plus something of the span.
    span = [line for line, _ in basis]
    assert rank([*span, vector]) == rank([*span, reduced]) == rank([*span, vector, reduced])
    inside = [form for form, _ in null_space(span, width)]
    assert all(dot(form, vector) * dot(form, reduced) >= 0 for form in inside)
    for line in span:
        moved = [a + b for a, b in zip(vector, line, strict=True)]
        assert primitive(reduce_by_all(moved, basis)) == primitive(reduced)


def test_reducing_keeps_the_direction() -> None:
    assert reduce_by((2, 3), (0, -5), 1) == (1, 0)
    assert reduce_by((-2, 3), (0, 5), 1) == (-1, 0)
    assert reduce_by((4, 0), (1, 1), 1) == (4, 0)


def test_primitive_vectors() -> None:
    assert primitive(()) == ()
    assert primitive((0, 0)) == (0, 0)
    assert primitive((0, -4)) == (0, -1)
    assert primitive([6 * 10**30, 9]) == (2 * 10**30, 3)
    assert last_nonzero((0, 0)) == last_nonzero(()) == -1
