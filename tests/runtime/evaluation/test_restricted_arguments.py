"""Array arguments that are declared as disjoint in the text of a C file."""

import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.runtime.evaluation.restricted_arguments import with_restrict

PARAMETERS = [
    ("int n, double A[n][n]", "int n, double A[restrict n][n]"),
    ("double A[static 3][4]", "double A[restrict static 3][4]"),
    ("const float *x, float *y", "const float *restrict x, float *restrict y"),
    ("int n, double (*B)[n]", "int n, double (*restrict B)[n]"),
    ("double *const p", "double *restrict const p"),
    ("double **rows", "double **restrict rows"),
    ("double *restrict p, int (*call)(int *)", "double *restrict p, int (*call)(int *)"),
    ("int n, double s", "int n, double s"),
    ("void", "void"),
]


@pytest.mark.parametrize(("before", "after"), PARAMETERS)
def test_parameters(before: str, after: str) -> None:
    assert with_restrict(f"void f({before}) {{ }}", "f") == f"void f({after}) {{ }}"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(("before", "after"), PARAMETERS)
def test_a_compiler_accepts_them(before: str, after: str, tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    for text in (before, after):
        source.write_text(f"void f({text}) {{ }}")
        subprocess.run(["gcc", "-Werror", "-fsyntax-only", str(source)], check=True)


def test_only_the_definition_changes() -> None:
    text = """
/* void f(int *p) { } */
// f(int *p) {
void f(int *p);
void ff(int *p) { f(p); }
void f(int *p /* a, b) */, int *q) /* here */
{ p[0] = q[0]; }
void g(int *p) { f(p, p); }
"""
    lines = zip(with_restrict(text, "f").splitlines(), text.splitlines(), strict=True)
    changed = [after.split() for after, before in lines if after != before]
    assert changed == ["void f(int *restrict p , int *restrict q) /* here */".split()]


def test_a_function_that_is_not_there() -> None:
    assert with_restrict("F(int *p) { }", "f") == "F(int *p) { }"
    assert with_restrict("void f(int *p", "f") == "void f(int *p"
