"""Literals that make outputs float64 by themselves, and the hint at them."""

import pytest

from polygym.frontend.tc import hint_for_output, parse_definitions

BARE = "b is float64 by the literal 4.0 alone; 4.0f makes it float32"

CASES = {
    "alone": ("b(i) = 4.0 where exists a(i)", BARE),
    "with a suffix": ("b(i) = 4.0f where exists a(i)", ""),
    "several": ("b(i) = 2 - 4.0 where exists a(i)", BARE),
    "by a name": ("b(i) = y where x = 4.0, y = x, exists a(i)", BARE),
    "beside a float": ("b(i) = 4.0 * a(i)", ""),
    "beside a double": ("b(i) = 4.0 * d(i)", ""),
    "whole": ("b(i) = 4 where exists a(i)", ""),
    "an index": ("b(i) = 4.0 * i where exists a(i)", ""),
    "through another": (
        "t(i) = 4.0 where exists a(i) b(i) = a(i) + t(i) + 1.0",
        "t is float64 by the literal 4.0 alone; 4.0f makes it float32",
    ),
    "through two": (
        "t(i) = 4.0 where exists a(i) u(i) = a(i) * t(i) b(i) = u(i)",
        "t is float64 by the literal 4.0 alone; 4.0f makes it float32",
    ),
    "through another and a double": ("t(i) = 4.0 where exists a(i) b(i) = d(i) + t(i)", ""),
    "converted": ("b(i) = double(4.0) where exists a(i)", ""),
    "first zero": ("b(i) = 0.0 where exists a(i) b(i) += a(i)", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_hints(case: str) -> None:
    statements, hint = CASES[case]
    (definition,) = parse_definitions(f"def f(float(N) a, double(N) d) -> (b) {{ {statements} }}")
    assert hint_for_output(definition, "b") == hint


def test_what_is_declared_is_no_literals_doing() -> None:
    (definition,) = parse_definitions("def f(float(N) a) -> (double(N) b) { b(i) = 4.0 }")
    assert hint_for_output(definition, "b") == ""
