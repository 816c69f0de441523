"""What arrays owe to the memory in which they lie, beside what a walk over all instances finds."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import arrays_without_live_in
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.scheduling.baselines import original_schedule
from polygym.tc import define
from tests.c_programs import SMALL_PROGRAMS, small_parameters
from tests.oracles.instances import trace

COMPREHENSIONS = {
    "sum": ("(C) { C(i) +=! A(i, j) }", {"C"}),
    "two": ("(B, C) { B(i) = A(i, 0)  C(i) = B(i) where i in 0:N }", {"B", "C"}),
    "begins_at_one": ("(C) { C(i) = A(i, 0) where i in 1:N }", set()),
    "one_of_two": ("(B, C) { B(i) = A(i, 0)  C(i) = A(i, 0) where i in 1:N }", {"B"}),
    "in_parts": (
        "(float(N) C) { C(i) = A(i, 0) where i in 0:2  C(i) = A(i, 1) where i in 2:N }",
        {"C"},
    ),
    "shifted": ("(B) { B(i, j) = A(i - 2, j) }", set()),
    "scalar": ("(C) { C +=! A(i, j) }", {"C"}),
    "adds_to_a_part": ("(C) { C(i) = A(i, 0) where i in 1:N  C(i) += A(i, j) }", set()),
    "adds_to_all": ("(C) { C(i) = A(i, 0)  C(i) += A(i, j) where i in 1:N }", {"C"}),
    "sums_to_a_part": ("(float(N) C) { C(i) +=! A(i, j) where i in 0:2  C(i) += A(i, j) }", set()),
    "temporary": ("(D) { T(i) = A(i, 0) where i in 1:N  T(i) *= A(i, j)  D(i) = T(i) }", {"D"}),
    "read_between": (
        "(float(N) C, float(N) D)"
        " { C(i) = A(i, 0) where i in 1:N  D(i) = C(i)  C(i) += A(i, 1) where i in 0:N }",
        {"D"},
    ),
    "largest": ("(C) { C(i) = A(i, 0) where i in 1:N  C(i) max= A(i, j) }", set()),
}


def walked(scop: Scop, sizes: dict[str, int]) -> set[str]:
    """Return the arrays of which all elements are written, and none is read before."""
    run = trace(scop, original_schedule(scop), sizes)
    written: set[tuple[str, tuple[int, ...]]] = set()
    early: set[str] = set()
    for instance in run.order:
        early |= {element[0] for element in run.reads[instance] if element not in written}
        written |= run.writes[instance]
    result = set()
    for name in {statement.write.array for statement in scop.statements}:
        shape = [evaluate_extent(extent, sizes) for extent in scop.array(name).extents]
        every = {(name, element) for element in product(*map(range, shape))}
        if every <= written and name not in early:
            result.add(name)
    return result


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_programs_in_c(name):
    scop = parse_text(SMALL_PROGRAMS[name])
    sizes = small_parameters(scop)
    assert arrays_without_live_in(scop, sizes) == walked(scop, sizes)


@pytest.mark.rotates
@pytest.mark.parametrize("name", COMPREHENSIONS)
@pytest.mark.parametrize("size", [3, 4, 9])
@pytest.mark.parametrize("shape", ["N, M", "4, M"])
def test_comprehensions(name, size, shape):
    body, expected = COMPREHENSIONS[name]
    scop = define(f"def f(float({shape}) A) -> {body.replace('N', shape[0])}").scop()
    sizes = dict.fromkeys((parameter.name for parameter in scop.parameters), size)
    assert arrays_without_live_in(scop, sizes) == expected == walked(scop, sizes)


PART = st.tuples(st.integers(0, 3), st.integers(1, 4)).map(lambda ends: (min(ends), max(ends)))
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(["+=", "=", "+=!", "max="]), PART), min_size=1, max_size=4
)


@given(STATEMENTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_any_order_of_parts(statements):
    text = "  ".join(
        f"C(i) {sign} {'A(i, 0)' if sign == '=' else 'A(i, j)'} where i in {low}:{high + 1}"
        for sign, (low, high) in statements
    )
    try:
        scop = define(f"def f(float(5, M) A) -> (float(5) C) {{ {text} }}").scop()
    except SourceError:  # nothing to add to yet, or values that would be lost
        reject()
    assert arrays_without_live_in(scop, {"M": 2}) == walked(scop, {"M": 2})


def test_it_depends_on_the_sizes():
    scop = parse_text(
        "void f(int n, int m, double A[n]) {\nassert(n >= m);\n#pragma scop\n"
        "for (int i = 0; i < m; i++) A[i] = 1.0;\n#pragma endscop\n}"
    )
    assert arrays_without_live_in(scop, {"n": 4, "m": 4}) == {"A"}
    assert arrays_without_live_in(scop, {"n": 4, "m": 3}) == set()
