"""Files without a function around the region: completed, and then like any other."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.errors import SourceError
from polygym.frontend.c import completed_file, parse_text, region_names
from tests.frontend.c.against_gcc import like_gcc

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")

FILES = {
    "product": (
        """// nothing is declared
        #define N 9
        #pragma scop
        for (i = 0; i < M; i++)
          for (j = 0; j <= N; j++) {
            C[i][j + 1] = beta * C[i][j + 1];
            for (k = 0; k < K; k++)
              C[i][j + 1] += alpha * A[i][k] * B[k][j];
          }
        s = 0;
        for (i = 0; i < M; i++) s += C[i][0];
        #pragma endscop
        """,
        {"M": 7, "K": 5},
        "int M, int K, double beta, double alpha, double C[M][11], double A[M][K], double B[K][10]",
    ),
    "declared in part": (
        """int T;
        double a[100];
        t = 0;
        #pragma scop
        for (t = 0; t < T; t++) {
          for (i = 1; i < N - 1; i++) b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]);
          for (i = 1; i < N - 1; i++) a[i] = b[i];
        }
        #pragma endscop
        return 0;
        """,
        {"N": 20, "T": 3},
        "int N, double b[N - 1]",
    ),
    "the larger of two": (
        """typedef float real;
        struct pair { int a, b; } pair = {1, 2};
        int twice(int a) { return 2 * a; }
        real x[50];
        #pragma scop
        for (int i = 0; i < n; i++) y[i] = x[i % 7] + k % 3;
        for (int i = 0; i < m; i++) y[i] += 2;
        if (n > m) { last = n; y[0] = 1; } else y[twice(m) - m - 1] = 3;
        #pragma endscop
        """,
        {"n": 12, "m": 17},
        "int n, int k, int m, double y[(n) >= (m) ? (n) : (m)]",
    ),
    "with an assertion": (
        """double a[100];
        #pragma scop
        for (i = 0; i < n; i++) a[i] = i;
        #pragma endscop
        """,
        {"n": 50},
        "int n",
    ),
    "integers": (
        """#pragma scop
        for (i = 0; i < n; i++) {
          bits[i] = bits[i] ^ (i << 2);
          if (i % 2 == 0) half[i / 2] = i;
        }
        #pragma endscop
        """,
        {"n": 9},
        "int n, int bits[n], double half[(n + 1) / 2]",
    ),
}


@needs_gcc
@pytest.mark.parametrize("name", FILES)
def test_it_computes_what_gcc_computes(name: str, tmp_path: Path) -> None:
    text, values, arguments = FILES[name]
    like_gcc(tmp_path, text, **values)
    assert f"void program({arguments}) {{" in completed_file(tmp_path / "program.c").text


@needs_gcc
@pytest.mark.parametrize("name", FILES)
def test_the_complete_file_is_c(name: str, tmp_path: Path) -> None:
    bare, full = tmp_path / "bare.c", tmp_path / "full.c"
    bare.write_text(FILES[name][0])
    full.write_text(completed_file(bare).text)
    subprocess.run(["gcc", "-w", "-c", full, "-o", tmp_path / "full.o"], check=True)
    assert completed_file(full).text == full.read_text()
    assert region_names(bare) == region_names(full) == ("bare",)


def test_what_is_needed_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(
        "double a[100];\n#pragma scop\nfor (i = 0; i < n; i++) a[i] = 0;\n#pragma endscop\n"
    )
    assert parse_text(path.read_text()).conditions == ("n <= 100",)


def test_names_that_isl_reserves_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(
        "#pragma scop\nfor (i = 0; i < mod; i++) x[i + max] = y[i] * exists;\n#pragma endscop\n"
    )
    assert "double x[max + mod]" in completed_file(path).text
    assert parse_text(path.read_text()).arrays[0].c_extents == ("mod_ + max_",)


def test_several_regions_have_functions_of_their_own() -> None:
    text = "double s;\n" + "#pragma scop\ns = x[n];\n#pragma endscop\n" * 2
    assert region_names(text) == ("_text_", "_text__2")
    assert [a.name for a in parse_text(text, function="_text__2").arrays] == ["s", "x"]


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        ("#pragma scop\n\nx[i] = y[i][0];\ny[1] = 2;\n#pragma endscop\n", 4, "with 2 subscripts"),
        ("#pragma scop\nfor (i = 0; i < n; i++)\n  x[i - 1] = 0;\n#pragma endscop\n", 3, "leaves"),
        ("int i;\n\n#pragma scop\nwhile (i) x[0] = 1;\n#pragma endscop\n", 4, "while loops"),
    ],
)
def test_refusals_are_at_the_users_own_place(text: str, line: int, fragment: str) -> None:
    with pytest.raises(SourceError, match=fragment) as caught:
        parse_text(text, file="a.c")
    assert caught.value.location.line == line
    assert caught.value.location.text == text.split("\n")[line - 1]
