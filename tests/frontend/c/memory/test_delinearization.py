"""Arrays of rows that C has as one: the division, and that no element becomes another one."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import islpy as isl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pycparser.c_parser import CParser

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.frontend.c.loops.polynomials import Polynomial, read_polynomial
from polygym.ir.expressions import Conditional, Update
from tests.oracles.interpreter import allocate, interpret

NAMES = ("i", "j", "m", "n")


def read(text: str) -> Polynomial:
    node = CParser().parse(f"int x = {text};").ext[0].init
    polynomial = read_polynomial(node, lambda name: True)
    assert polynomial is not None
    return polynomial


def value(polynomial: Polynomial, names: dict[str, int]) -> int:
    total = 0
    for term, factor in polynomial.terms.items():
        for name in term:
            factor *= names[name]
        total += factor
    return total


def expressions(depth: int = 3) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(NAMES), st.integers(0, 5).map(str))
    if depth == 0:
        return leaf
    inner = expressions(depth - 1)
    return st.one_of(
        leaf, st.tuples(inner, st.sampled_from("+-*"), inner).map("({0[0]} {0[1]} {0[2]})".format)
    )


@settings(deadline=None)
@given(expressions(), st.sampled_from(["m", "m + 2", "2 * m", "n - m", "3", "2 * m - n + 1"]))
def test_division(text: str, divisor: str) -> None:
    whole, by = read(text), read(divisor)
    divided = whole.divided(by)
    assume(divided is not None)
    assert divided is not None
    quotient, rest = divided
    for numbers in itertools.product((-2, 0, 1, 5), repeat=4):
        names = dict(zip(NAMES, numbers, strict=True))
        assert value(whole, names) == eval(text, names)
        expected = value(quotient, names) * value(by, names) + value(rest, names)
        assert value(whole, names) == expected


PARTS = [
    "i * m",
    "(i + 1) * m",
    "i * (m + 1)",
    "j",
    "j + 1",
    "-1",
    "m",
    "-m",
    "-j",
    "2 * j",
    "i",
    "1",
]


@settings(deadline=None)
@example(["i * (m + 1)", "-j"], "2 * m")
@example(["i * (m + 1)", "i * (m + 1)", "-j"], "2 * m")
@given(
    st.lists(st.sampled_from(PARTS), min_size=2, max_size=4),
    st.sampled_from(["m", "m - 1", "m + 1", "2 * m", "3"]),
)
def test_every_element_stays_the_one_that_it_is(parts: list[str], width: str) -> None:
    subscript = " + ".join(parts)
    text = f"""void f(int n, int m, double *A) {{
#pragma scop
  for (int i = 1; i < n; i++)
    for (int j = 1; j < {width}; j++)
      A[{subscript}] += 1;
#pragma endscop
}}
"""
    try:
        scop = parse_text(text)
    except InputError:
        assume(False)
    array = scop.array("A")
    write = isl.Map(scop.statements[0].write.relation).intersect_domain(
        isl.Set(scop.statements[0].domain)
    )
    for n, m in itertools.product((2, 3, 4), (1, 2, 3, 5)):
        if (
            isl.Set(scop.context)
            .intersect(isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}"))
            .is_empty()
        ):
            continue
        expected = [
            eval(subscript, {"i": i, "j": j, "m": m, "n": n})
            for i in range(1, n)
            for j in range(1, eval(width, {"m": m}))
        ]
        if min(expected, default=0) < 0:
            continue  # C itself leaves the array at these sizes
        # The domain has more than what runs: the others store nothing, or what is there.
        if isinstance(scop.statements[0].body, Update | Conditional):
            arrays = {"A": allocate(scop, array, {"n": n, "m": m})}
            interpret(scop, {"n": n, "m": m}, arrays)
            times = Counter(expected)
            assert arrays["A"].ravel().tolist() == [times[k] for k in range(arrays["A"].size)]
            continue
        sizes = [evaluated(size, n, m) for size in array.extents]
        cells: dict[tuple[int, ...], int] = {}
        fixed = write.intersect_params(isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}"))
        fixed.wrap().foreach_point(lambda point, cells=cells, sizes=sizes: add(point, cells, sizes))
        assert [place for _, place in sorted(cells.items())] == expected  # in the same order


def add(point: Any, cells: dict[tuple[int, ...], int], sizes: list[int]) -> None:
    values = [
        point.get_coordinate_val(isl.dim_type.set, d).to_python()
        for d in range(point.get_space().dim(isl.dim_type.set))
    ]
    place = 0
    count = len(values) - len(sizes)
    for subscript, size in zip(values[count:], sizes, strict=True):
        assert 0 <= subscript < size
        place = place * size + subscript
    cells[tuple(values[:count])] = place


def evaluated(extent: str, n: int, m: int) -> int:
    where = isl.Set(f"[n, m] -> {{ [] : n = {n} and m = {m} }}")
    return int(isl.PwAff(extent).intersect_params(where.params()).max_val().to_python())


def test_sizes_beside_the_file_may_be_products() -> None:
    text = """void f(int n, int m, int k, double *A, int *rows) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[rows[i] * m + j] += 1;
#pragma endscop
}
"""
    with pytest.raises(InputError, match="how large A is cannot be told"):
        parse_text(text)
    scop = parse_text(text, function="A[k * m]")
    assert scop.array("A").extents == ("[n, m, k] -> { [(k)] }", "[n, m, k] -> { [(m)] }")
    assert scop.statements[0].write.gathered == (0,)


def test_a_row_has_what_its_elements_need() -> None:
    text = """void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    A[i * m + 2] = 1;
#pragma endscop
}
"""
    assert parse_text(text).conditions == ("m >= 3",)


@pytest.mark.parametrize("subscript", ["i * m + j", "(i + 1) * m"])
def test_a_product_beside_a_small_subscript_are_rows_that_are_long_enough(subscript: str) -> None:
    text = f"""void f(int n, int m, long *A) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[j] += A[{subscript}] % 7;
#pragma endscop
}}
"""
    scop = parse_text(text)
    assert scop.conditions == ("m >= n",)
    assert scop.array("A").c_extents[1] == "m"


@pytest.mark.parametrize("subscript", ["i * i + j", "i * j", "(i + 1) * (j + 2)"])
def test_a_product_beside_a_small_subscript_tells_no_size(subscript: str) -> None:
    """The code of a size from A[i] alone would stop every program that has more rows."""
    text = f"""void f(int n, int m, long *A) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[j] += A[{subscript}] % 7;
#pragma endscop
}}
"""
    with pytest.raises(InputError, match="how large A is cannot be told"):
        parse_text(text)
    assert parse_text(text, function="A[size]").array("A").extents[0].endswith("(size)] }")
    sized = text.replace("long *A", "int k, long A[k]")
    assert parse_text(sized).array("A").extents[0].endswith("{ [(k)] }")
