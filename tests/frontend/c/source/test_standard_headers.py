"""The constants of C's headers have the values and the types that gcc gives them."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.frontend.c.tokens.standard_headers import HEADER_MACROS
from polygym.ir.expressions import Call, FloatLiteral, walk
from polygym.ir.types import ScalarType
from tests.frontend.c.against_gcc import like_gcc

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")

KEYWORDS = {"stdbool.h", "complex.h", "stdnoreturn.h", "threads.h"}  # their macros are no values
CONSTANTS = {
    macro.split()[0]: macro.split(" ", 1)[1]
    for header, macros in HEADER_MACROS.items()
    for macro in macros
    if "(" not in macro.split()[0] and header not in KEYWORDS
}
INCLUDES = "".join(
    f"#include <{header}>\n" for header in HEADER_MACROS if header not in KEYWORDS - {"stdbool.h"}
)
TYPES = """
#define TYPE(x) _Generic((x), int: 1, unsigned: 2, long: 3, long long: 3, unsigned long: 4, \\
  unsigned long long: 4, float: 5, double: 6, void *: 7, default: 0)
"""


@needs_gcc
def test_constants_are_those_of_gcc(tmp_path: Path) -> None:
    checks = [
        f"if (TYPE({name}) == 0 || TYPE({name}) != TYPE(({value})) || !(({name}) == ({value}) || "
        f'(({name}) != ({name}) && ({value}) != ({value})))) puts("{name}");'
        for name, value in CONSTANTS.items()
        if not value.startswith('"')  # formats are parsed, and refused inside a region
    ]
    text = f"#include <stdio.h>\n{INCLUDES}{TYPES}int main(void) {{ {' '.join(checks)} return 0; }}"
    (tmp_path / "all.c").write_text(text)
    subprocess.run(["gcc", "-w", "all.c", "-o", "all"], cwd=tmp_path, check=True)
    done = subprocess.run(["./all"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == ""


@needs_gcc
def test_they_compute_as_those_of_gcc(tmp_path: Path) -> None:
    """Types are seen in quotients (3 / 2), in wrapping (0 - 1) and in rounding."""
    others = {"NULL", "NAN", *(n for n, value in CONSTANTS.items() if value.startswith('"'))}
    names = [name for name in CONSTANTS if name not in others]
    size = len(names)
    integers = {n for n in names if re.fullmatch(r"[-(]*[0-9]+[ULul]*( - 1)?\)?", CONSTANTS[n])}
    lines = [
        f"y[{place}][0] = {name}; y[{place}][1] = {name} / 3;"
        + (f" y[{place}][2] = ({name} - {name} - 1) / 2;" if name in integers else "")
        for place, name in enumerate(names)
    ]
    assert "SIZE_MAX" in integers
    body = "\n".join(lines)
    text = f"{INCLUDES}void f(double y[{size}][3]) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    like_gcc(tmp_path, text)


@needs_gcc
def test_what_is_no_number_is_told_apart(tmp_path: Path) -> None:
    text = """
#include <math.h>
#include <tgmath.h>
void f(int n, double x[n], float s[n], double y[n], int k[n]) {
  static const double w[4] = {INFINITY, -HUGE_VAL, 1.0};
  static double v[4] = {2.0, NAN};
#pragma scop
  for (int i = 0; i < n; i++) {
    double z = w[i % 4] / x[i] * v[i / 4 % 4];
    y[i] = isnan(z) ? 1 : isinf(z) ? copysign(2.0, z) : isfinite(z) ? 3 : NAN;
    k[i] = (signbit(z) != 0) + 2 * (signbit(NAN) != 0) + 4 * (signbit(-INFINITY) != 0);
    if (!isfinite(s[i] / (i % 3)))
      s[i] = __builtin_inff();
    s[i] += sin(s[i]);
  }
#pragma endscop
}"""
    like_gcc(tmp_path, text, n=40)


def test_a_generic_function_has_the_type_of_what_it_is_given() -> None:
    for header, scalar in (("tgmath.h", ScalarType.FLOAT), ("math.h", ScalarType.DOUBLE)):
        text = f"#include <{header}>\nvoid f(float x[1]) {{\n#pragma scop\nx[0] = sin(x[0]);\n"
        (statement,) = parse_text(text + "#pragma endscop\n}\n").statements
        (call,) = (
            expression for expression in walk(statement.body) if isinstance(expression, Call)
        )
        assert call.type is scalar


def test_not_a_number_is_one_object() -> None:
    """So that a program that holds it is equal to itself."""
    text = "#include <math.h>\nvoid f(double x[1]) {\n#pragma scop\nx[0] = NAN;\n"
    (body,) = (statement.body for statement in parse_text(text + "#pragma endscop\n}\n").statements)
    assert body == FloatLiteral(math.nan)


@pytest.mark.parametrize("name", ["M_PI", "INFINITY", "INT_MAX", "SIZE_MAX", "DBL_EPSILON"])
@pytest.mark.parametrize("function", [("", ""), ("void f(double x[9]) {", "}")])
def test_a_header_that_is_missing_is_named(name: str, function: tuple[str, str]) -> None:
    """Without its header the name must not become an argument."""
    text = f"{function[0]}\n#pragma scop\nx[0] = {name};\n#pragma endscop\n{function[1]}\n"
    with pytest.raises(SourceError, match=rf"(?s){name} is not declared.*#include <\w+\.h> above"):
        parse_text(text)
