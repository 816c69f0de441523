"""The region that is meant: by function, by line, or the best; and the text with its pragmas."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.errors import InputError, SourceError
from polygym.frontend.c import choose_region_of, marked_text, parse_text

TEXT = """double A[50][50], B[50][50], C[50][50];
void fill(void) {
  for (int i = 0; i < 50; i++) for (int j = 0; j < 50; j++) { A[i][j] = i; B[i][j] = j; }
}
int product(int n) {
  int i, j, k;
  if (n > 50) return 1;
  for (i = 0; i < 50; i++)
    for (j = 0; j < 50; j++)
      for (k = 0; k < 50; k++) C[i][j] += A[i][k] * B[k][j];
  puts("done");
  for (i = 0; i < 50; i++) C[i][i] = 1; return 0;
}
"""


def chosen(function: str | None) -> tuple[str | None, str]:
    choice = choose_region_of(TEXT, "a.c", function).selection
    return choice.region_name, str(choice.mark)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (None, ("product", "@8:3-10:60")),
        ("fill", ("fill", "@3:3-3:89")),
        ("product", ("product", "@8:3-10:60")),
        ("product:2", ("product", "@12:3-12:39")),
        ("@12", ("product", "@12:3-12:39")),
        ("@9", ("product", "@8:3-10:60")),
    ],
)
def test_a_region_is_chosen(function: str | None, expected: tuple[str, str]) -> None:
    assert chosen(function) == expected


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("product:3", "expected one of 2 regions of product, found product:3"),
        ("nobody", "no function is called nobody; there are: fill, product"),
        ("@11", "expected a line of a region, found none; there are: product:1 in lines 8 to 10"),
        ("@1", "expected a line of a function"),
    ],
)
def test_what_is_not_there_is_refused(function: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_region_of(TEXT, "a.c", function)


def test_a_file_without_a_region_says_why_its_first_loop_is_none() -> None:
    with pytest.raises(SourceError, match="while loops are not supported"):
        choose_region_of("void f(int n) { while (n) n = g(n); }", "a.c", None)


def test_a_cpp_file_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="a for loop over a range is not supported"):
        choose_region_of("void f() { for (auto x : v) g(x); }", "a.cpp", None)


def test_pragmas_come_first() -> None:
    text = TEXT.replace(
        "  for (i = 0; i < 50; i++) C[i][i]", "#pragma scop\n  for (i = 0; i < 50; i++) C[i][i]"
    )
    text = text.replace(" return 0;", "\n#pragma endscop\n  return 0;")
    assert choose_region_of(text, "a.c", None).region is None
    assert choose_region_of(text, "a.c", "product").region is None
    assert choose_region_of(text, "a.c", "@13").selection.mark is None
    found = choose_region_of(text, "a.c", "@9").selection
    assert str(found.mark) == "@8:3-10:60"
    marked = marked_text(text, str(found))
    assert marked.count("#pragma scop") == 1, "the pragmas of the same function are taken out"
    assert parse_text(text, file="a.c", function=str(found)).depth == 3


def test_the_rest_of_the_text_stays() -> None:
    marked = marked_text(TEXT, "product:2")
    assert "#pragma scop\n  for (i = 0; i < 50; i++) C[i][i] = 1;\n#pragma endscop\n" in marked
    lines = [line for line in marked.split("\n") if "#pragma" not in line]
    assert "".join("".join(lines).split()) == "".join(TEXT.split())


def test_places_of_messages_are_the_users() -> None:
    scop = parse_text(TEXT, file="a.c", function=str(choose_region_of(TEXT, "a.c", None).selection))
    (statement,) = scop.statements
    assert (statement.location.line, statement.location.column) == (10, 32)
    assert statement.text == "C[i][j] += A[i][k] * B[k][j];"


BODIES = {
    "a body without braces": "if (x[0] > 3) g(x); else\n    for (int i = 0; i < n; i++) x[i] += 2;",
    "in one line": "x[0] = 4; for (int i = 0; i < n; i++) x[i] += 2; g(x); x[1] = 3;",
    "a comment behind": "for (int i = 0; i < n; i++) x[i] += 2; /* twice\n as much */ x[1] = 3;",
    "a line that goes on": "g(x); \\\n  for (int i = 0; i < n; i++) \\\n  x[i] += 2; \\\n  g(x);",
    "a pragma of OpenMP": "#pragma omp parallel for\n  for (int i = 0; i < n; i++) x[i] += 2;",
    "a label": "again: for (int i = 0; i < n; i++) x[i] += 2;\n  if (x[0] < 9) goto again;",
    "a macro before": "#define EACH(i, n) for (int i = 0; i < n; i++)\n  EACH(i, n) x[i] += 2;",
    "a switch": "switch (n) {\n  case 7: g(x); for (int i = 0; i < n; i++) x[i] += 2;\n"
    "  default: x[1] = 3; }",
    "a loop around": "for (int t = 0; x[0] < 9; t++) {\n"
    "    for (int i = 0; i < n; i++) x[i] += 2; g(x); }",
    "do": "do for (int i = 0; i < n; i++) x[i] += 2; while (x[0] < 9);",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_marked_program_does_the_same(tmp_path: Path, body: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    text = f"""#include <stdio.h>
static void g(double *x) {{ x[2] += 1; puts("g"); }}
void f(int n, double *restrict x) {{
  {body}
}}
int main(void) {{
  double x[7] = {{1, 2, 3}};
  f(7, x);
  for (int i = 0; i < 7; i++) printf("%g\\n", x[i]);
  return 0;
}}
"""
    choice = choose_region_of(text, "a.c", "f x[n]")
    outputs = []
    for name, source in (("a", text), ("b", marked_text(text, str(choice.selection)))):
        (tmp_path / f"{name}.c").write_text(source)
        program = tmp_path / name
        flags = ["-Wall", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused", "-fopenmp"]
        flags += ["-Wno-misleading-indentation", "-Wno-implicit-fallthrough"]
        subprocess.run(["gcc", *flags, f"{program}.c", "-o", program], check=True)
        outputs.append(subprocess.run([program], capture_output=True, check=True).stdout)
    assert outputs[0] == outputs[1]
    scop = parse_text(text, file="a.c", function=str(choice.selection))
    assert any(statement.text.startswith("x[i] += 2") for statement in scop.statements) or (
        "EACH" in body and scop.depth == 1
    )
