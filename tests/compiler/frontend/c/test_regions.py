"""Choosing a region, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.compiler.frontend.c import parse_file, parse_text, regions
from polygym.errors import InputError, SourceError

REGION = "\n#pragma scop\nx[0] = {value};\n#pragma endscop\n"


def function(name: str, *values: int) -> str:
    body = "".join(REGION.replace("{value}", str(value)) for value in values)
    return f"void {name}(double x[1]) {{{body}}}\n"


def test_one_region_is_taken() -> None:
    assert parse_text("int main(void) { return 0; }\n" + function("f", 1)).name == "f"


def test_several_functions_are_listed() -> None:
    text = function("f", 1) + function("g", 2)
    assert regions(text) == ("f", "g")
    with pytest.raises(InputError, match="choose one of: f, g"):
        parse_text(text)
    assert parse_text(text, function="g").statements[0].text == "x[0] = 2;"
    with pytest.raises(InputError, match="no region is called h; there are: f, g"):
        parse_text(text, function="h")


def test_several_regions_of_a_function_are_numbered() -> None:
    text = function("f", 1, 2)
    assert regions(text) == ("f:1", "f:2")
    with pytest.raises(InputError, match="choose one of f:1, f:2"):
        parse_text(text, function="f")
    assert parse_text(text, function="f:2").statements[0].text == "x[0] = 2;"


def test_regions_in_inner_blocks_are_numbered_in_textual_order() -> None:
    inner = REGION.replace("{value}", "1")
    text = f"void f(double x[1]) {{ if (x[0] > 0) {{{inner}}} {REGION.replace('{value}', '2')} }}"
    assert regions(text) == ("f:1", "f:2")
    assert parse_text(text, function="f:1").statements[0].text == "x[0] = 1;"


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
        ("int main(void) { return 0; }", "no '#pragma scop'"),
        ("#pragma scop\nint x;\n#pragma endscop", "outside a function"),
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
    with pytest.raises(InputError, match="cannot be read"):
        parse_file(tmp_path / "missing.c")
    with pytest.raises(InputError, match="not a file"):
        parse_file(tmp_path)
    with pytest.raises(InputError, match="not a file"):
        parse_file(Path("/dev/zero"))
    (tmp_path / "latin.c").write_bytes(b"int a;\n// \xe9\n")
    with pytest.raises(SourceError, match=r"latin\.c:2:4: .*0xe9 is not UTF-8"):
        parse_file(tmp_path / "latin.c")
    (tmp_path / "big.c").write_bytes(b" " * (1 << 21))
    with pytest.raises(InputError, match="bytes"):
        regions(tmp_path / "big.c")


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
