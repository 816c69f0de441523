"""Variables that code around a region changes: a value taken before is not the one after."""

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text

_REGION = """
#pragma scop
for (int i = 0; i < m; i++) a[k + i] = a[i + n] + 1;
#pragma endscop
}
"""
_POINTER = _REGION.replace("a[k + i]", "p[i]")
_SETTINGS = {"int k = n;": _REGION, "double *p = a + n;": _POINTER}


def accesses(text: str) -> tuple[str, str]:
    """Return what a region of one statement writes and reads, without its parameters."""
    (statement,) = parse_text(text).statements
    (read,) = statement.reads
    write, read_text = (
        relation.split("->", 2)[2] for relation in (statement.write.relation, read.relation)
    )
    return write.strip(" }"), read_text.strip(" }")


@pytest.mark.parametrize(
    ("function", "change"),
    [
        ("void f(int m, double *a) { int n = 1; int *ip = &n; ", "*ip = 2;"),
        ("void f(int m, double *a) { int n = 1; int *ip = &n; ", "ip[0] = 2;"),
        ("void f(int m, double *a) { int n = 1; int *ip = &n; ", 'sscanf("2", "%d", ip);'),
        ("void g(int *); void h(void); void f(int m, double *a) { int n; g(&n); ", "h();"),
        ("void h(void); int n; void f(int m, double *a) { ", "h();"),
        ("static int n; void h(void) { n = 3; } void f(int m, double *a) { ", "h();"),
        (
            "static int n; void g(void) { n++; } void h(void) { g(); } void f(int m, double *a) {",
            "h();",
        ),
        ("int n, *q = &n; void h(void) { *q = 3; } void f(int m, double *a) { ", "h();"),
        ("void f(int m, double *a, int n) { ", "n = 2;"),
        ("void f(int m, double *a, int n) { ", "n = 2 * n;"),
        ("void f(int m, double *a, int n) { ", "n++;"),
        ("void f(int m, double *a, int n) { ", "for (n = 0; n < 3; n++) m--;"),
    ],
)
@pytest.mark.parametrize("setting", _SETTINGS)
def test_a_value_from_before_a_change_is_another_one(
    function: str, change: str, setting: str
) -> None:
    write, read = accesses(f"{function}{setting} {change}{_SETTINGS[setting]}")
    assert write != read


@pytest.mark.parametrize(
    ("function", "other"),
    [
        ("void f(int m, double *a, int n) { ", ""),
        ("void h(void); void f(int m, double *a, int n) { ", "h();"),
        ("static int n; int o; void h(void) { o = 3; } void f(int m, double *a) { ", "h();"),
        ("static int n; void f(int m, double *a) { ", 'printf("%d", n);'),
        ("void h(void); extern const int n; void f(int m, double *a) { ", "h();"),
        ('void h(void); void f(int m, double *a) { int n; scanf("%d", &n); ', "h();"),
    ],
)
def test_a_value_that_nothing_changes_is_the_same(function: str, other: str) -> None:
    write, read = accesses(f"{function}double *p = a + n; {other}{_POINTER}")
    assert write == read


@pytest.mark.parametrize(
    "before",
    ["if (n > 500) n = 500;", "n = 2 * n;", "n *= 2;", "g(&n);", "while (n > 9) n--;"],
)
def test_sizes_that_the_region_needs_are_those_where_it_begins(before: str) -> None:
    scop = parse_text(
        f"void g(int *); void f(double *a, int n) {{ {before}\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i] = i;\n#pragma endscop\n}\n"
    )
    (statement,) = scop.statements
    assert statement.domain == "[n] -> { S0[i] : 0 <= i < n }"
    assert [array.extents for array in scop.arrays] == [("[n] -> { [(n)] }",)]


def test_a_declared_size_that_may_have_changed_is_refused_with_the_place() -> None:
    with pytest.raises(SourceError, match=r":2:1: error: n may change in a call here"):
        parse_text(
            "int n; void h(void); void f(double a[n]) {\nh();\n#pragma scop\n"
            "for (int i = 0; i < n; i++) a[i] = i;\n#pragma endscop\n}\n"
        )
