"""What is outside the class is refused at its place, with a sentence that says why."""

from __future__ import annotations

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text

HEAD = (
    "typedef unsigned long size_t;\ndouble sin(double);\nint foo(int);\nstruct s { int a; };\n"
    "void f(int n, int m, int k, double A[n][m], double x[n], int I[n], double *p,\n"
    "       double B[][4], double (*C)[4], unsigned u, short h[n], double **pp) {\n"
    "  struct s z; int c; double d, *q = x;\n#pragma scop\n"
)
TAIL = "\n#pragma endscop\n}\n"
FIRST_LINE = HEAD.count("\n") + 1

# Region text, line within it, column, fragment of the sentence.
REFUSED = [
    ("x[2147483547] = 0;", 1, 1, "leaves dimension 1 of x[n]"),
    ("A[1100000000][0] = 0;", 1, 1, "leaves dimension 1 of A[n][m]"),
    ("for (int i = 0; i < n / m; i++) x[0] = 0;", 1, 21, "divides by a value"),
    ("for (int i = 0; i < n / 0; i++) x[0] = 0;", 1, 21, "divides by zero"),
    ("for (int i = 0; i < I[0]; i++) I[0] = 0;", 1, 21, "a loop bound depends on data"),
    ("for (int i = 0; i < d; i++) x[0] = 0;", 1, 21, "which is double"),
    ("for (int i = 0; i < 1.5; i++) x[0] = 0;", 1, 21, "no integer"),
    ("for (int i = 0; i < sizeof(z); i++) x[0] = 0;", 1, 21, "sizeof"),
    ("for (int i = 0; i < n; i *= 2) x[0] = 0;", 1, 24, "this change of i"),
    ("for (int i = 0; i < n; i += k) x[0] = 0;", 1, 29, "step must be a number"),
    ("for (int i = 0; i < n; i += 0) x[0] = 0;", 1, 29, "step must not be zero"),
    ("for (int i = 0; i < n; c++) x[0] = 0;", 1, 24, "this change of i"),
    ("for (int i = 0; i < n;) x[0] = 0;", 1, 1, "does not change its counter"),
    ("for (int i = 0;; i++) x[0] = 0;", 1, 1, "without a condition"),
    ("for (; c < n; c++) x[0] = 0;\nx[1] = c;", 1, 15, "uses the counter c outside its loop"),
    ("for (; n > 1;) x[0] = 0;", 1, 1, "a loop must start with"),
    ("for (float i = 0; i < n; i++) x[0] = 0;", 1, 12, "counter must be an integer"),
    ("for (int i = 0; i != m; i--) x[0] = 0;", 1, 17, "does not end"),
    ("for (int i = n; i < 2 * n; i--) x[0] = 0;", 1, 17, "does not end"),
    ("for (int i = 0; i < n; i++)\n  i = 3;", 2, 3, "changed inside the loop"),
    ("for (int i = 0; i < n; i++)\n  for (i = 0; i < n; i++) x[0] = 0;", 2, 8, "surrounding loop"),
    ("for (c = 0; c < n; c++) x[c] = 0;\nc = I[0];", 2, 1, "a value that is not affine"),
    ("for (int i = 0; i < n; i++) {\n  if (i > 3) break;\n}", 2, 14, "break"),
    ("while (n)\n  continue;", 1, 1, "while loops"),
    ("if (x[0] > 1) x[n] = 0;", 1, 15, "leaves dimension 1 of x[n]"),
    ("while (c) x[0] = 0;", 1, 1, "while loops"),
    ("do x[0] = 0; while (c);", 1, 1, "do loops"),
    ("again: x[0] = 0; goto again;", 1, 18, "goto"),
    ("return;", 1, 1, "return"),
    ("foo(3);", 1, 1, "foo has no body here"),
    ("x[0] = foo(3);", 1, 8, "foo has no body here"),
    ("x[0] = sqrtl(3);", 1, 8, "sqrtl has no body here"),
    ("x[0] = pow(2);", 1, 8, "pow takes 2 arguments"),
    ("x[0] = max(d, 1.0);", 1, 8, "no function of C"),
    ("c = c > 0 ? (I[0] = 1) : 2;", 1, 14, "an assignment inside an expression"),
    ("-x[0] = 2;", 1, 2, "cannot be assigned to"),
    ("foo(n)[0] = 2;", 1, 1, "cannot be assigned to"),
    ("const double v = x[0] * 2;\nv = 1;", 2, 1, "v is const"),
    ("I[0] = I[0] / 0;", 1, 8, "/ divides an integer by zero"),
    ("I[0] = 1 + n % (2 - 2);", 1, 12, "% divides an integer by zero"),
    ("I[0] /= 0;", 1, 1, "/ divides an integer by zero"),
    ("I[0] = c++ + c;", 1, 8, "side effect"),
    ("x[0] = z.b;", 1, 8, "struct s"),
    ("A[0] = 0;", 1, 1, "A has 2 dimensions"),
    ("x[0] = x;", 1, 8, "used with 0 subscripts"),
    ("x[0] = y;", 1, 8, "y is not declared"),
    ("x[0] = &c;", 1, 9, "taking an address"),
    ("x[0] %= 2;", 1, 1, "takes integers"),
    ("x[0] = d << 1;", 1, 8, "takes integers"),
    ("x[0] = 1.0L;", 1, 8, "long double"),
    ("x[0] = (long double)c;", 1, 8, "long double"),
    ("for (unsigned i = n - 1; i >= 0; i--) x[0] = 0;", 1, 26, "does not end"),
    ("x[0] = 99999999999999999999;", 1, 8, "does not fit long"),
    ("int v[n][2] = {1, {2}};", 1, 16, "initialiser lists"),
    ("static int v = 1; x[v] = 0;", 1, 12, "keeps its value"),
    ("double *r = n > 2 ? x : A[0]; r[0] = 1;", 1, 8, "may alias"),
    ("double *r = x; r = A[0]; r[0] = 1;", 1, 8, "may alias"),
    ("double *r = x; if (r != q) r[0] = 1;", 0, 1, "the region does nothing"),
    ("double *r = x; if (r != A[0]) r[0] = 1;", 1, 8, "may alias"),
    ("switch (n) { case 1: if (m > 2) break; x[0] = 0; }", 1, 33, "in the middle of a case"),
    ("switch (n) { case 1: c = 0; int v = 1; x[0] = v; }", 1, 33, "a declaration in a case"),
    ("switch (n) { c = 1; case 1: x[0] = 0; }", 1, 14, "before its first case"),
    ("switch (n) { case 1: { case 2: x[0] = 0; } }", 1, 24, "a case inside another statement"),
    ("switch (n) case 1L: x[0] = 0;", 1, 17, "a case of a long constant"),
    ("L: x[0] = 0;\nL: x[1] = 0;", 2, 1, "stands twice"),
    ("x[0];", 1, 1, "no effect"),
    ("x[0] = 0;\nassert(n > 1);", 2, 1, "only understood before the region"),
    ("for (int i = 0; i < n; i++) if (x[i + 1] > 0) x[i] = 0;", 1, 33, "leaves dimension 1"),
    ("for (int i = 0; i < n; i++) x[i] = x[i + 1] > 0 ? 1 : 0;", 1, 36, "leaves dimension 1"),
    ("for (int i = 0; i < n; i++) if (x[i] > 0) x[n + i] = 0;", 1, 43, "leaves dimension 1"),
    ("for (int i = 0; i < n; i++) x[i + 1] = 0;", 1, 29, "leaves dimension 1 of x[n]"),
    ("for (int i = 0; i < n; i++) x[i - 1] = 0;", 1, 29, "the subscript is -1, not in"),
    ("for (int i = 0; i < n; i++) x[2 * i] = 0;", 1, 29, "leaves dimension 1 of x[n]"),
    ("x[0] = ;", 1, 8, "syntax error"),
    ("x[0] = 1", 2, 1, "syntax error"),
    ("#if 1\nx[0] = 1;", 1, 1, "Unterminated"),
    ("#error no\nx[0] = 1;", 1, 2, "#error no"),
    ('#include "missing.h"\nx[0] = 1;', 1, 2, "missing.h"),
    ("#pragma scop\nx[0] = 1;", 1, 1, "open already"),
    ("{\n#pragma endscop\n}", 2, 1, "inner block"),
    (";", 0, 1, "the region does nothing"),
    ("if (n < 1) x[0] = 0;", 0, 1, "the region does nothing"),
]


@pytest.mark.parametrize(("region", "line", "column", "fragment"), REFUSED)
def test_refused_at_its_place(region: str, line: int, column: int, fragment: str) -> None:
    text = HEAD + region + TAIL
    with pytest.raises(SourceError) as caught:
        parse_text(text, file="a.c")
    error = caught.value
    assert fragment in error.message
    assert (error.location.file, error.location.line) == ("a.c", FIRST_LINE + line - 1), str(error)
    assert error.location.column == column, str(error)
    assert error.location.text == text.split("\n")[error.location.line - 1]


def test_the_message_shows_the_line_with_a_caret() -> None:
    with pytest.raises(SourceError) as caught:
        parse_text(
            "void f(int n, double x[n]) {\n#pragma scop\n  x[n] = 0;\n#pragma endscop\n}",
            file="b.c",
        )
    assert str(caught.value).splitlines()[:3] == [
        "b.c:3:3: error: x[n] leaves dimension 1 of x[n]: with n = 5 the subscript is 5, "
        "not in 0..4",
        "      x[n] = 0;",
        "      ^",
    ]


@pytest.mark.parametrize(
    ("region", "hint"),
    [
        ("for (int i = 0; i < n; i++) x[2 * i] = 0;", "it is safe if n <= 1"),
        ("for (int i = 0; i < n; i++) x[i] = 2; x[n - m] = 0; x[m - n] = 1;", "n == m"),
        ("if (n == 1000) x[n] = 0;", ""),
    ],
)
def test_the_hint_names_a_condition_that_would_do(region: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_text(HEAD + region + TAIL)
    assert hint in caught.value.hint
    assert bool(hint) == bool(caught.value.hint)


CONDITIONS = "for all sizes that the conditions allow: expected at most 8,589,934,592"


@pytest.mark.parametrize(
    ("stated", "argument", "access", "words"),
    [
        ("n >= 3000000 && m >= 7000000", "double A[n][m]", "A[0][0]", CONDITIONS),
        ("n > m && m >= 2000000000", "float A[2 * n][m][4]", "A[0][0][0]", CONDITIONS),
        ("n >= 2147483548", "double A[n]", "A[0]", CONDITIONS),
        ("m > 3 && n >= 200000", "double A[n][n]", "A[0][0]", CONDITIONS),
        (
            "m > 0 && n >= 1100000000",
            "double A[n]",
            "A[0]",
            f"A has at least 8,800,000,000 bytes {CONDITIONS}",
        ),
        (
            "n > 0",
            "double A[30000000][30000000]",
            "A[0][0]",
            "A has 7,200,000,000,000,000 bytes: expected at most 140,737,488,355,328",
        ),
    ],
)
def test_arrays_that_are_too_large_whatever_the_sizes_are_refused(
    stated: str, argument: str, access: str, words: str
) -> None:
    text = (
        f"void f(long n, long m, {argument}) {{ assert({stated});\n#pragma scop\n"
        f"{access} = n + m;\n#pragma endscop\n}}"
    )
    with pytest.raises(SourceError) as caught:
        parse_text(text)
    assert words in str(caught.value)


def test_an_array_of_the_most_that_is_taken() -> None:
    for text in (
        "void f(long n, double A[n]) { assert(n >= 1073741824);",
        "void f(long n, double A[17592186044416]) {",
    ):
        assert parse_text(f"{text}\n#pragma scop\nA[0] = 1.0;\n#pragma endscop\n}}")


def test_the_advice_is_all_that_is_needed() -> None:
    head = "void f(int n, int m, int k, double x[n], double y[n]) {\n"
    region = "#pragma scop\nfor (int i = 0; i < n; i++) x[i + m] = y[i + k];\n#pragma endscop\n}"
    with pytest.raises(SourceError) as caught:
        parse_text(head + region)
    safe = caught.value.hint.removeprefix("it is safe if ").partition(";")[0]
    assert set(safe.split(" && ")) == {"m <= 0", "k <= 0"}
    assert parse_text(f"{head}assert({safe});\n{region}").conditions[:2] == (safe, "m >= 0")


def test_no_advice_where_accesses_exclude_each_other() -> None:
    """C needs n >= 150 and A needs n <= 100 wherever it is used: nothing makes both right."""
    with pytest.raises(SourceError) as caught:
        parse_text(
            "void f(int n, int m, double A[100], double C[n]) {\n#pragma scop\n"
            "for (int k = 0; k < 150; k++) C[k] = 1.0;\n"
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i] = A[i] + 1.0;\n"
            "#pragma endscop\n}"
        )
    assert caught.value.hint == ""


@pytest.mark.parametrize("most", [5, 10, 19, 20, 100])
def test_a_bound_that_is_stated_of_one_size_needs_no_more_of_it(most: int) -> None:
    scop = parse_text(
        f"void f(int n, int m, double A[100], double C[n]) {{ assert(m <= {most});\n"
        "#pragma scop\nfor (int k = 0; k < 20; k++) C[k] = 1.0;\n"
        "for (int j = 0; j < m; j++) A[j] = A[j] + 1.0;\n#pragma endscop\n}"
    )
    assert set(scop.conditions) == {f"m <= {most}", "n >= 20"}


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ("int n, double x[n], double x[n]", "x[0] = 0;"),
        ("int n, int n, double x[n]", "x[0] = 0;"),
        ("int n, double x[n]", "{ double n1; double n1; n1 = 1; x[0] = n1; }"),
    ],
)
def test_a_name_is_declared_once_in_a_scope(arguments: str, body: str) -> None:
    with pytest.raises(SourceError, match="declared twice"):
        parse_text(f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")


def test_large_constants_are_taken_and_parts_about_others_left_out() -> None:
    scop = parse_text(
        "void f(int n, int m, double A[m], double B[40000][40000]) { assert(n >= 2 && m <= 50);\n"
        "#pragma scop\nfor (int i = 0; i < m; i++) A[i] = B[i][i];\n#pragma endscop\n}"
    )
    assert [parameter.name for parameter in scop.parameters] == ["m"]
    assert scop.conditions == ("m <= 50",)


def test_a_line_of_the_preprocessor_is_quoted_without_its_end() -> None:
    with pytest.raises(SourceError) as caught:
        parse_text("void f(int n) {\n#pragma scop\n#if n\n;\n#pragma endscop\n}\n")
    assert str(caught.value).split("\n")[0].endswith("error: Unterminated #if n")
