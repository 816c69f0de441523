"""Choosing a region, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.errors import InputError, SourceError
from polygym.frontend.c import parse_file, parse_text, region_names
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule

REGION = "\n#pragma scop\nx[0] = {value};\n#pragma endscop\n"


def same_set(actual: str, expected: str) -> bool:
    return bool(isl.Set(actual).is_equal(isl.Set(expected)))


def function(name: str, *values: int) -> str:
    body = "".join(REGION.replace("{value}", str(value)) for value in values)
    return f"void {name}(double x[1]) {{{body}}}\n"


def test_one_region_is_taken() -> None:
    assert parse_text("int main(void) { return 0; }\n" + function("f", 1)).name == "f"


def test_several_functions_are_listed() -> None:
    text = function("f", 1) + function("g", 2)
    assert region_names(text) == ("f", "g")
    with pytest.raises(InputError, match="choose one of: f, g"):
        parse_text(text)
    assert parse_text(text, function="g").statements[0].text == "x[0] = 2;"
    with pytest.raises(InputError, match="no region is called h; there are: f, g"):
        parse_text(text, function="h")


def test_several_regions_of_a_function_are_numbered() -> None:
    text = function("f", 1, 2)
    assert region_names(text) == ("f:1", "f:2")
    with pytest.raises(InputError, match="choose one of f:1, f:2"):
        parse_text(text, function="f")
    assert parse_text(text, function="f:2").statements[0].text == "x[0] = 2;"


def test_regions_in_inner_blocks_are_numbered_in_textual_order() -> None:
    inner = REGION.replace("{value}", "1")
    text = f"void f(double x[1]) {{ if (x[0] > 0) {{{inner}}} {REGION.replace('{value}', '2')} }}"
    assert region_names(text) == ("f:1", "f:2")
    assert parse_text(text, function="f:1").statements[0].text == "x[0] = 1;"


TWO_REGIONS = """
void f(int n, int m, double A[n], double B[m]) {
  assert(n > 3);
  assert(m > 4 && m != n);
#pragma scop
  for (int i = 0; i < n; i++) A[i] += i;
#pragma endscop
#pragma scop
  for (int i = 0; i < m; i++) B[i] += i;
#pragma endscop
}
"""


@pytest.mark.parametrize(("region", "parameter", "least"), [("f:1", "n", 4), ("f:2", "m", 5)])
def test_what_is_stated_of_another_region_is_no_concern(
    region: str, parameter: str, least: int
) -> None:
    scop = parse_text(TWO_REGIONS, function=region)
    (statement,) = scop.statements
    assert [parameter.name for parameter in scop.parameters] == [parameter]
    assert same_set(scop.context, f"[{parameter}] -> {{ : {parameter} >= {least} }}")
    assert same_set(
        statement.domain, f"[{parameter}] -> {{ {statement.name}[i] : 0 <= i < {parameter} }}"
    )
    loops = lower(LegalSchedule(scop, original_schedule(scop)))
    assert f"< {parameter}" in print_c(loops)


@pytest.mark.parametrize(
    ("stated", "context", "conditions"),
    [
        ("n >= m", "n >= 1", ()),
        ("n == 2 * m", "n >= 1 and n mod 2 = 0", ("n == 2 * m",)),
        ("m > 0 && n > m + 2", "n >= 4", ("m > 0 && n > m + 2",)),
        ("m == 7", "n >= 1", ()),
        ("n > 4 || m > 4", "n >= 1", ()),
    ],
)
def test_of_an_unused_name_only_what_it_says_of_others_is_left(
    stated: str, context: str, conditions: tuple[str, ...]
) -> None:
    scop = parse_text(
        f"void f(int n, int m, double A[n]) {{ assert({stated});\n#pragma scop\n"
        "for (int i = 0; i < n; i++) A[i] = i > n / 3 ? A[i / 2] : 1.0;\n#pragma endscop\n}"
    )
    assert same_set(scop.context, f"[n] -> {{ : {context} }}")
    assert scop.conditions == conditions
    texts = [scop.statements[0].domain, *(a.relation for a in scop.statements[0].reads)]
    assert all(text.startswith("[n] ->") for text in texts)
    lower(LegalSchedule(scop, original_schedule(scop)))


def test_initial_data_is_chosen_only_by_name() -> None:
    text = function("init_gemm", 1) + function("kernel_gemm", 2)
    assert parse_text(text).name == "kernel_gemm"
    assert parse_text(text, function="init_gemm").name == "init_gemm"
    assert parse_text(function("init_gemm", 1)).name == "init_gemm"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "no C code"),
        ("   \n// nothing\n", "no C code"),
        ("int main(void) { return 0; }", "write '#pragma scop' before the loops"),
        ("#pragma scop\nint x;\n#pragma endscop", "the region does nothing"),
        ("void f(void) {\n#pragma scop\n}", "no '#pragma endscop'"),
        ("void f(void) {\n#pragma endscop\n}", "without a '#pragma scop'"),
        ("void f(int n) {\n#pragma scop\n{\n#pragma endscop\n}\n}", "inner block"),
        ("int f(", "syntax error"),
        ("a\0b", "NUL"),
    ],
)
def test_texts_without_a_region(text: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_text(text)
    assert fragment in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.c: cannot be read: No such file or directory$"):
        parse_file(tmp_path / "missing.c")
    with pytest.raises(InputError, match="not a file"):
        parse_file(tmp_path)
    with pytest.raises(InputError, match="not a file"):
        parse_file(Path("/dev/zero"))
    (tmp_path / "big.c").write_bytes(b" " * (1 << 21))
    with pytest.raises(InputError, match="bytes"):
        region_names(tmp_path / "big.c")


def test_other_functions_may_be_anything() -> None:
    scop = parse_text(
        "#include <stdlib.h>\nstruct node { struct node *next; unsigned v : 3; };\n"
        "static int walk(struct node *p) { int c = 0; while (p) { c += p->v; p = p->next; }\n"
        "  return c; }\n" + function("f", 3) +
        "int main(int argc, char **argv) {\n  double *x = malloc(8 * sizeof *x);\n"
        "  switch (argc) { case 1: goto out; default: break; }\n"
        "  for (char *s = argv[0]; *s; s++) x[0] += *s;\nout:\n  f(x); free(x); return 0;\n}\n"
    )  # fmt: skip
    assert scop.name == "f"


def test_a_definition_that_is_no_function_is_refused() -> None:
    with pytest.raises(SourceError, match="no function"):
        parse_text("void f[3](int n) {\n#pragma scop\nint x = 1;\n#pragma endscop\n}\n")
