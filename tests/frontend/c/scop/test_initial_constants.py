"""Constant initialisers: which are kept, how braces are read, what is refused."""

from __future__ import annotations

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Array, StorageClass


def array_of(declaration: str, use: str, *, local: bool = True, more: str = "") -> Array:
    """Return the array or scalar w of a region that reads it."""
    outside, inside = ("", declaration + more) if local else (declaration, more)
    text = (
        f"enum {{ TWO = 2 }};\n{outside}\nvoid f(int n, double x[n]) {{\n{inside}\n"
        f"#pragma scop\nx[0] = {use};\n#pragma endscop\n}}"
    )
    return parse_text(text).array("w")


@pytest.mark.parametrize(
    ("declaration", "values"),
    [
        ("double w[3] = {1, 2, 3};", (1.0, 2.0, 3.0)),
        ("double w[3] = {1};", (1.0, 0.0, 0.0)),
        ("int w[TWO] = {1 + TWO * 3, -5 / 2};", (7, -2)),
        ("int w[2] = {{1.75}, -5 % 3};", (1, -2)),
        ("long w[1] = {1L << 40};", (1 << 40,)),
        ("float w[1] = {0.1};", (0.10000000149011612,)),
        ("static const double w[2] = {1.0 / 4};", (0.25, 0.0)),
    ],
)
def test_arrays_of_rank_1(declaration: str, values: tuple[int | float, ...]) -> None:
    array = array_of(declaration, "w[0]")
    assert array.initial == values
    assert array.storage_class is StorageClass.LOCAL
    assert not array.live_out


@pytest.mark.parametrize(
    ("braces", "values"),
    [
        ("{{1, 2, 3}, {4, 5, 6}}", (1, 2, 3, 4, 5, 6)),
        ("{1, 2, 3, 4}", (1, 2, 3, 4, 0, 0)),
        ("{{1}, {4}}", (1, 0, 0, 4, 0, 0)),
        ("{{1}, 4, 5}", (1, 0, 0, 4, 5, 0)),
        ("{1, 2, 3, {4}}", (1, 2, 3, 4, 0, 0)),
        ("{0}", (0, 0, 0, 0, 0, 0)),
    ],
)
def test_braces_are_read_as_in_c(braces: str, values: tuple[int, ...]) -> None:
    array = array_of(f"static const int w[2][3] = {braces};", "w[1][0]", local=False)
    assert (array.initial, array.storage_class) == (values, StorageClass.GLOBAL)


def test_rank_3() -> None:
    array = array_of("int w[2][2][2] = {{1, 2, 3}, {{4}, 5}};", "w[0][0][0]")
    assert array.initial == (1, 2, 3, 0, 4, 0, 5, 0)


def test_scalars() -> None:
    assert array_of("double w = {-2};", "w").initial == -2.0
    assert array_of("const double w = 3;", "w", local=False).initial == 3.0


def test_variables_at_file_scope_that_may_change_are_input() -> None:
    assert array_of("double w[2] = {1, 2};", "w[0]", local=False).initial is None
    assert array_of("extern const double w[2];", "w[0]", local=False).initial is None


REFUSED = [
    ("double w[2] = {[1 + 0] = 2};", 26, "designated initialisers are not supported"),
    ("double w[2] = {1, 2, 3};", 22, "more values than there are elements"),
    ("double w[2] = {{1, 2}};", 20, "more values than there are elements"),
    ("double w[100000] = {0};", 21, "more than 65536 elements"),
]


@pytest.mark.parametrize(("declaration", "column", "fragment"), REFUSED)
def test_refused_initialisers(declaration: str, column: int, fragment: str) -> None:
    with pytest.raises(SourceError, match=fragment) as caught:
        array_of(declaration, "w[0]")
    assert (caught.value.location.line, caught.value.location.column) == (4, column)


def test_a_const_variable_without_a_known_value_is_refused() -> None:
    with pytest.raises(SourceError, match="its value is not supported as a constant"):
        array_of("const double w = sqrt(2.0);", "w", local=False)
