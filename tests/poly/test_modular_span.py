"""Ranks modulo a prime, products in machine integers, and partial sizes, against exact ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.poly.integer_vectors import (
    _PRIME,
    ModularSpan,
    batched_null_space,
    dot,
    echelon,
    inner_products,
    null_space,
)
from polygym.poly.spaces import generators
from polygym.poly.spaces.generators import (
    EnumerationBudget,
    LinearConstraint,
    enumerate_generators,
    enumerate_incrementally,
    enumerate_with_order,
    ppl_module,
)

NUMBERS = st.integers(-3, 3)
VECTORS = st.lists(st.tuples(*[NUMBERS] * 4), max_size=7)
CONSTRAINTS = st.lists(
    st.builds(LinearConstraint, st.tuples(*[NUMBERS] * 3), st.integers(-2, 2), st.booleans()),
    max_size=7,
)
PLENTY = EnumerationBudget(10_000)


@given(VECTORS)
def test_a_span_grows_as_the_rank_does(vectors: list[tuple[int, ...]]) -> None:
    span = ModularSpan(4)
    for count, vector in enumerate(vectors):
        grows = len(echelon(vectors[: count + 1])) > len(echelon(vectors[:count]))
        assert span.grows_by(vector) is grows


def test_what_only_the_prime_makes_dependent_is_not_said_to_grow() -> None:
    span = ModularSpan(2)
    assert span.grows_by((1, 0))
    assert not span.grows_by((5, _PRIME))  # independent in truth
    assert span.grows_by((2**80, 1))
    assert not span.grows_by((0, 1)), "there is no room for a third"


@given(VECTORS, VECTORS, st.sampled_from([1, 2**20, 2**31, 2**62, 2**90]))
def test_products_are_exact_however_large(
    forms: list[tuple[int, ...]], vectors: list[tuple[int, ...]], scale: int
) -> None:
    large = [tuple(scale * value for value in form) for form in forms]
    products = inner_products(
        large, [tuple(scale * value for value in vector) for vector in vectors]
    )
    expected = [tuple(scale * scale * dot(form, vector) for vector in vectors) for form in forms]
    assert products == expected
    assert all(type(value) is int for row in products for value in row)


@given(VECTORS, st.sampled_from([1, _PRIME]))
def test_a_null_space_is_that_of_all_rows(rows: list[tuple[int, ...]], scale: int) -> None:
    # Multiples of the prime are all 0 to the span: the check has to notice.
    basis = batched_null_space([tuple(scale * value for value in row) for row in rows], 4)
    assert basis == null_space(echelon_rows(rows), 4)
    assert len(basis) == 4 - len(echelon(rows))
    assert not any(dot(row, vector) for row in rows for vector, _ in basis)


def echelon_rows(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [vector for vector, _ in echelon(rows)]


@given(CONSTRAINTS)
def test_partial_sizes_are_those_of_the_library(constraints: list[LinearConstraint]) -> None:
    partial = generators._IncrementalPolyhedron(3, PLENTY)
    polyhedron = ppl_module().C_Polyhedron(3, "universe")
    work = 0
    for constraint in constraints:
        assert partial.add(constraint)
        polyhedron.add_constraint(generators._constraint(constraint))
        size = len(polyhedron.minimized_generators())
        work += 3 * size
        assert (partial._size, partial._work) == (size, work)
    assert generators._read(partial.polyhedron, 3) == generators._read(polyhedron, 3)


@given(CONSTRAINTS, CONSTRAINTS)
def test_what_more_constraints_leave_is_what_all_leave(
    first: list[LinearConstraint], more: list[LinearConstraint]
) -> None:
    units = [LinearConstraint(tuple(int(k == place) for k in range(3))) for place in range(3)]
    first = [*units, *first]  # no lines
    known = enumerate_with_order(first, 3, PLENTY)
    assert known is not None
    generator_set = enumerate_incrementally(known[1], more, 3, PLENTY)
    expected = enumerate_generators([*first, *more], 3)
    assert generator_set is not None
    assert expected is not None
    for name in ("vertices", "rays", "lines"):
        assert sorted(getattr(generator_set, name)) == sorted(getattr(expected, name))


@pytest.mark.parametrize("limit", [EnumerationBudget(9), EnumerationBudget(100, 40.0)])
def test_an_effort_that_is_too_small_is_noticed(limit: EnumerationBudget) -> None:
    generator = np.random.default_rng(0)
    forms = [tuple(map(int, generator.integers(-2, 3, 4))) for _ in range(12)]
    constraints = [LinearConstraint(form, 1) for form in forms]
    assert enumerate_generators(constraints, 4, PLENTY) is not None
    assert enumerate_generators(constraints, 4, limit) is None
    known = enumerate_with_order(constraints[:4], 4, PLENTY)
    assert known is not None
    assert enumerate_incrementally(known[1], constraints[4:], 4, limit) is None
