"""Questions about a program at certain sizes, beside answers that were found by counting."""

from itertools import product

import islpy as isl
import pytest

import polygym
from polygym.frontend import parse_text
from polygym.ir.scop import Scop
from polygym.poly.evaluate import assigned_completely, evaluate
from tests.oracles.instances import points
from tests.sources import SMALL_PROGRAMS, small_parameters

COMPREHENSIONS = {
    "sum": "def f(float(N, M) A) -> (C) { C(i) +=! A(i, j) }",
    "in_parts": "def f(float(N) A) -> (B, C) { B(i) = A(i)  C(i) = B(i) where i in 0:N }",
    "behind_one": "def f(float(N) A) -> (C) { C(i) = A(i) where i in 1:N }",
    "one_of_two": "def f(float(N) A) -> (B, C) { B(i) = A(i)  C(i) = A(i) where i in 1:N }",
    "shifted": "def f(float(N) A) -> (B) { B(i) = A(i - 2) }",
    "scalar": "def f(float(N) A) -> (C) { C +=! A(i) }",
}


def counted(scop: Scop, sizes: dict[str, int]) -> set[str]:
    """Return the arrays all elements of which are among those that instances write."""
    written: dict[str, set[tuple[int, ...]]] = {}
    for statement in scop.statements:
        elements = isl.Set(statement.domain).apply(isl.Map(statement.write.relation))
        written.setdefault(statement.write.array, set()).update(points(elements, sizes))
    found = set()
    for name, elements in written.items():
        shape = [evaluate(extent, sizes) for extent in scop.array(name).extents]
        if set(product(*map(range, shape))) <= elements:
            found.add(name)
    return found


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_what_is_assigned_completely_in_c(name):
    scop = parse_text(SMALL_PROGRAMS[name])
    sizes = small_parameters(scop)
    assert assigned_completely(scop, sizes) == counted(scop, sizes)


@pytest.mark.parametrize(
    ("name", "complete"),
    [
        ("sum", {"C"}),
        ("in_parts", {"B", "C"}),
        ("behind_one", set()),
        ("one_of_two", {"B"}),
        ("shifted", set()),
        ("scalar", {"C"}),
    ],
)
def test_what_is_assigned_completely_in_a_comprehension(name, complete):
    scop = polygym.tc.define(COMPREHENSIONS[name]).scop()
    for size in (3, 4, 9):
        sizes = dict.fromkeys((one.name for one in scop.parameters), size)
        assert assigned_completely(scop, sizes) == complete == counted(scop, sizes)


def test_it_depends_on_the_sizes():
    scop = parse_text(
        "void f(int n, int m, double A[n]) {\nassert(n >= m);\n#pragma scop\n"
        "for (int i = 0; i < m; i++) A[i] = 1.0;\n#pragma endscop\n}"
    )
    assert assigned_completely(scop, {"n": 4, "m": 4}) == {"A"}
    assert assigned_completely(scop, {"n": 4, "m": 3}) == set()
