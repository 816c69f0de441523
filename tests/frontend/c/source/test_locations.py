"""Places survive comments, macros, continuation lines and includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.errors import LimitError, SourceError
from polygym.frontend.c import parse_file, parse_text
from polygym.frontend.c.source.preprocessor import preprocess
from polygym.frontend.c.tokens.origins import blank_comments


def refused(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        parse_text(text, file="p.c")
    return caught.value


def test_a_macros_argument_has_its_own_place() -> None:
    error = refused(
        "#define ADD(a, v) a += v\nvoid f(int n, double x[n]) {\n#pragma scop\n"
        "/* a\n comment */ ADD(x[0], y[n * n]); // end\n#pragma endscop\n}"
    )
    assert (error.location.line, error.location.column) == (5, 23)


def test_a_macros_body_is_where_the_macro_is_called() -> None:
    error = refused(
        "#define BAD(i) \\\n  x[i] = \\\n y[i * i]\nvoid f(int n, double x[n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i++)\n    BAD(i);\n#pragma endscop\n}"
    )
    assert (error.location.line, error.location.text) == (7, "    BAD(i);")


def test_places_behind_continuation_lines() -> None:
    error = refused(
        "void f(int n, double x[n]) {\n#pragma scop\nx[0] = \\\n   1 + \\\n  y[n * n];\n"
        "#pragma endscop\n}"
    )
    assert (error.location.line, error.location.column) == (5, 3)


def test_places_in_included_files(tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("#define N 4\n")
    (tmp_path / "part.h").write_text('#include "inner.h"\n\n  x[n] = 0;\n')
    (tmp_path / "main.c").write_text(
        'void f(int n, double x[n]) {\n#pragma scop\n#include "part.h"\n#pragma endscop\n}\n'
    )
    with pytest.raises(SourceError) as caught:
        parse_file(tmp_path / "main.c")
    assert Path(caught.value.location.file).name == "part.h"
    assert (caught.value.location.line, caught.value.location.column) == (3, 3)


def test_statements_are_quoted_as_written() -> None:
    scop = parse_text(
        "#define UPD(v) x[0] += v; x[0] -= v\nvoid f(int n, double x[n]) {\n#pragma scop\n"
        "  x[0]  = /* why */ 1; UPD(2);\n#pragma endscop\n}"
    )
    texts = [statement.text for statement in scop.statements]
    assert texts == ["x[0] = 1;", "x[0] += 2;", "x[0] -= 2;"]


def test_comments_are_blanked_in_place() -> None:
    text = 'a /* x\n y */ b // c \\\n d\n"/* no */" \'"\' /* open'
    blanked = blank_comments(text)
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]
    assert blanked.split() == ["a", "b", '"/*', "no", '*/"', "'\"'"]


def test_tokens_that_meet_by_expansion_stay_apart() -> None:
    source, _ = preprocess("#define X -1\nint a = -X; double b = 1.e-3;", "t.c")
    assert "--" not in source.text
    assert "1.e-3" in source.text


@pytest.mark.parametrize(
    "text",
    [
        "#define A B B\n" + "".join(f"#define {'ABCDEFGHIJKLMNOPQRSTUVWXY'[i]} "
        f"{'BCDEFGHIJKLMNOPQRSTUVWXYZ'[i]} {'BCDEFGHIJKLMNOPQRSTUVWXYZ'[i]}\n" for i in range(25))
        + "A",
        "x" * 2_000_000,
    ],
)  # fmt: skip
def test_work_is_bounded(text: str) -> None:
    with pytest.raises(LimitError):
        parse_text(text)


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    path = tmp_path / "self.c"
    path.write_text('#include "self.c"\nint x;\n')
    with pytest.raises((LimitError, SourceError)):
        parse_file(path)


def test_system_headers_are_known_without_being_read() -> None:
    scop = parse_text(
        "#include <math.h>\n#include <limits.h>\n#include <nonexistent.h>\n#include <stdio.h>\n"
        "void f(int n, int32_t x[n], double y[n]) {\n  FILE *out = NULL; size_t s = sizeof(long);\n"
        "#pragma scop\nx[0] = INT_MAX; x[1] = INT_MIN; y[0] = M_PI;\n#pragma endscop\n}"
    )
    assert [statement.text for statement in scop.statements] == [
        "x[0] = INT_MAX;", "x[1] = INT_MIN;", "y[0] = M_PI;",
    ]  # fmt: skip
