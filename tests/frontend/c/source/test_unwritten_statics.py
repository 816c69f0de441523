"""A static variable that nothing writes is a constant; one that may be written is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.frontend.c import parse_text
from polygym.frontend.c.discovery.region_search import find_in_text
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.ir.expressions import Binary, IntegerLiteral
from polygym.ir.scop import Scop
from tests.frontend.c.against_gcc import like_gcc

LOOP = "for (int i = 0; i < 64; i++) a[i] = a[i] / divisor;"


def scop_of(declared: str, other: str = "", before: str = "") -> Scop:
    return parse_text(
        f"{declared}\nvoid f(int a[64]) {{\n{before}\n#pragma scop\n{LOOP}\n#pragma endscop\n}}\n"
        f"{other}\n"
    )


def is_constant(scop: Scop) -> bool:
    return "divisor" not in {array.name for array in scop.arrays}


CONSTANT = [
    ("static int divisor = 2;", ""),
    ("static int divisor = 2;", "int get(void) { return divisor; }"),
    ("static int divisor = 2;", "void g(int divisor) { divisor = 3; }"),
    ("static int divisor = 2;", "void g(void) { int divisor = 1; divisor++; int *p = &divisor; }"),
    ("static int divisor = 2;", "void g(void) { for (int divisor = 0; divisor < 3; divisor++); }"),
    ("static int divisor = 2;", "struct s { int divisor; }; void g(struct s t) { t.divisor = 1; }"),
    ("static int divisor = 2;", 'int main(void) { printf("%d", divisor); }'),
    ("static int divisor = 2;", "void g(void) { int q; asm (\"nop\" : \"=r\"(q)); }"),
    ("#include <stdio.h>\nstatic int divisor = 2;", "void g(void) { h(divisor); }"),
    ("static int divisor;\nstatic int divisor = 2;", ""),
    ("typedef long integer; static integer divisor = 2;", ""),
    ("enum { TWO = 2 }; static int base = TWO + 1; static int divisor = base - TWO;", ""),
    ("static int divisor __attribute__((unused)) = 2;", ""),
]  # fmt: skip
VARIABLE = [
    ("int divisor = 2;", ""),
    ("static int divisor;", ""),
    ("static volatile int divisor = 2;", ""),
    ("typedef volatile int moving; static moving divisor = 2;", ""),
    ("static int divisor = 2;", "void set(int d) { divisor = d; }"),
    ("static int divisor = 2;", "void set(void) { divisor++; int divisor; }"),
    ("static int divisor = 2;", "void set(void) { { int divisor = 1; } divisor -= 1; }"),
    ("static int divisor = 2;", "void set(void) { for (int divisor = 0; ;) ; divisor = 7; }"),
    ("static int divisor = 2;", "void set(void) { extern int divisor; divisor = 1; }"),
    ("static int divisor = 2;", "int *get(void) { return &divisor; }"),
    ("static int divisor = 2;", 'void set(char *s) { scanf(s, &divisor); }'),
    ("static int divisor = 2;", "int *other = &divisor;"),
    ("static int divisor = 2;", "static struct { int *p; } others[] = {{&divisor}};"),
    ("static int divisor = 2;", "void set(void) { for (divisor = 1; divisor < 3; divisor++) ; }"),
    ("static int divisor = 2;", 'void set(void) { asm ("nop" : "=r"(divisor)); }'),
    ("static int divisor = 2;", 'extern int other __attribute__((alias("divisor")));'),
    ("static int divisor __attribute__((used)) = 2;", ""),
    ("#include <nobody.h>\nstatic int divisor = 2;", "void set(void) { SET(divisor); }"),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "other"), CONSTANT)
def test_a_static_that_nothing_writes_is_a_constant(declared: str, other: str) -> None:
    scop = scop_of(declared, other)
    assert is_constant(scop)
    assert [a.name for a in scop.arrays] == ["a"]


@pytest.mark.parametrize(("declared", "other"), VARIABLE)
def test_a_variable_that_may_be_written_is_none(declared: str, other: str) -> None:
    assert not is_constant(scop_of(declared, other))


def test_a_write_in_the_function_of_the_region_counts() -> None:
    scop = scop_of("static int divisor = 2;", before="divisor = 3;")
    body = scop.statements[0].body
    assert isinstance(body, Binary)
    assert isinstance(body.right, IntegerLiteral)
    assert body.right.value == 3


def test_bounds_and_sizes_are_numbers() -> None:
    scop = parse_text(
        "static int n = 8, m = 3;\nvoid f(double *A) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * m + j] = i / m;\n"
        "#pragma endscop\n}"
    )
    assert scop.parameters == ()
    assert scop.arrays[0].c_extents == ("8", "3")


def test_the_search_for_regions_sees_writes_of_all_functions() -> None:
    text = f"static int divisor = 2;\nvoid f(int a[64]) {{ {LOOP} }}\n"
    written = text + "void set(int d) { divisor = d; }\n"
    scops = [find_in_text(t, "a.c", RegionSelection()).regions[0].scop for t in (text, written)]
    assert [is_constant(scop) for scop in scops] == [True, False]


def test_a_value_that_cannot_be_computed_stays_an_argument() -> None:
    scop = scop_of("static int divisor = ~5 | 64 ^ 3;")
    assert [array.name for array in scop.arrays] == ["a", "divisor"]


VALUES = [
    ("int", "-7 / 2 * 3 % 5"), ("int", "1.9"), ("unsigned", "-1"), ("int", "3000000000"),
    ("char", "'a'"), ("signed char", "300"), ("unsigned char", "300"), ("short", "1 << 15"),
    ("long", "0x7fffffffffffffff"), ("int", "3 > 2 && 1"), ("int", "~5 | 64 ^ 3"),
    ("double", "1.0 / 3"), ("float", "16777217"), ("float", "0.1"), ("double", "0.1f"),
    ("double", "7 / 2"), ("double", "-0.0"), ("double", "1e400"), ("float", "1e300"),
    ("double", "0x1.8p-3"), ("_Bool", "5"), ("int", "!3"), ("double", "3000000000u * 2"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_values_are_those_of_the_compiler(kind: str, value: str, tmp_path: Path) -> None:
    text = (
        f"static {kind} factor = {value};\nvoid f(int n, double A[n]) {{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) A[i] = A[i] * (double)factor + 1 / (factor + 0.5);\n"
        "#pragma endscop\n}\n"
    )
    like_gcc(tmp_path, text, n=9)
