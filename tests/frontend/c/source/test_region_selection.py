"""Sizes of bare pointers that are given beside a file, and bounds that are read before a region."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygym.errors import InputError
from polygym.frontend.c import completed_file, parse_text, with_extents
from polygym.frontend.c.embedding import embed_file
from polygym.frontend.c.source.region_selection import parse_extent, parse_selection
from polygym.programs import load_program

GATHER = """void gather(int n, int m, double *y, double *x, int *from) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = x[from[i]];
#pragma endscop
}
"""
BARE = """#pragma scop
for (i = 0; i < n; i++) y[i] = x[from[i]] + B[i][2];
#pragma endscop
"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("A=100x200", ("100", "200")),
        ("A=100xn", ("100", "n")),
        ("A=2xnx3", ("2", "nx3")),  # a name may have an x in it
        ("A=nxm", ("nxm",)),
        ("A=n x m x 3", ("n", "m", "3")),
        ("A=(n+1)x(2*m)", ("(n+1)", "(2*m)")),
        ("A[n + 1][3]", ("n + 1", "3")),
        (" A = max0 ", ("max0",)),
    ],
)
def test_an_array_with_its_sizes(text: str, sizes: tuple[str, ...]) -> None:
    assert parse_extent(text) == ("A", sizes)


@pytest.mark.parametrize("text", ["", "A", "A=", "=3", "A[]", "A[3", "A=3;4", "A=x[3]", "A=1 x "])
def test_no_array_with_sizes(text: str) -> None:
    with pytest.raises(InputError, match="expected an array and its sizes"):
        parse_extent(text)


@pytest.mark.parametrize(
    "text", [None, "f", "f:2", "f A[3][n + 1] x[2]", "x[2]", "f x[2] s=-4", "s=3"]
)
def test_what_is_chosen_is_read_again(text: str | None) -> None:
    assert str(parse_selection(text)) == (text or "")


def test_no_array_has_two_sizes() -> None:
    with pytest.raises(InputError, match="x twice"):
        with_extents("f x[2]", ["x=3"])


def test_given_sizes_may_have_parameters_of_their_own() -> None:
    scop = parse_text(GATHER, function="gather x[2 * m]")
    assert [parameter.name for parameter in scop.parameters] == ["n", "m"]
    assert scop.array("x").extents == ("[n, m] -> { [(2m)] }",)
    scop = parse_text(GATHER, function="x[70] y[n + 3]")
    assert scop.array("y").extents == ("[n] -> { [(3 + n)] }",)


def test_what_cannot_be_told_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"how large x is cannot be told(.|\n)*--extent x=SIZE"):
        parse_text(GATHER)


@pytest.mark.parametrize(
    ("sizes", "fragment"),
    [
        ("z[3]", "sizes of z are given: expected an array of gather"),
        ("n[3]", "sizes of n are given"),
        ("x[3][4]", "expected 1, found 2"),
        ("x[m] y[n - 1]", "leaves dimension 1 of y"),
    ],
)
def test_sizes_that_do_not_fit(sizes: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_text(GATHER, function=sizes)
    assert fragment in str(caught.value)


def test_a_file_without_a_function_has_them_in_its_head(tmp_path: Path) -> None:
    path = tmp_path / "bare.c"
    path.write_text(BARE)
    text = completed_file(path, "x[100] B[n + 1][columns]").text
    assert "int columns" in text
    assert "double x[100]" in text
    assert "double B[n + 1][columns]" in text
    program = load_program(str(path), extents=["x=100", "B[n][3]"], parameters={"n": 5})
    shapes = {array.name: program.shape(array) for array in program.scop.arrays}
    assert shapes == {"y": (5,), "x": (100,), "from": (5,), "B": (5, 3)}


def test_initial_data_are_of_those_sizes(tmp_path: Path) -> None:
    path = tmp_path / "gather.c"
    fill = "  for (int i = 0; i < 50; i++)\n    x[i] = i;\n"
    filling = f"void init_gather(double *x) {{\n#pragma scop\n{fill}#pragma endscop\n}}\n"
    path.write_text(GATHER + filling)
    program = load_program(str(path), function="gather", extents=["x=60"])
    assert program.initial_data.array("x").extents == ("{ [(60)] }",)
    assert program.function == "gather x[60]"


def test_other_programs_have_their_sizes() -> None:
    with pytest.raises(InputError, match="its arrays have their sizes"):
        load_program("tc:matmul", extents=["A=3"])


def test_a_bound_that_the_region_does_not_change_is_a_parameter() -> None:
    text = """void first(int *count, int ends[3], int s[100]) {
#pragma scop
  for (int i = ends[1]; i < *count && i < ends[2]; i++)
    s[0] += ends[0];
#pragma endscop
}
"""
    scop = parse_text(text)
    assert len(scop.parameters) == 3
    assert {array.name for array in scop.arrays} == {"s", "ends"}
    changing = text.replace("s[0] +=", "*count -=")
    with pytest.raises(InputError, match="depends on data"):
        parse_text(changing)


STEPS = """void blocks(int n, int s, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i += s)
    A[i] = 0;
#pragma endscop
}
"""


def test_a_step_is_known_where_its_value_is_given(tmp_path: Path) -> None:
    path = tmp_path / "blocks.c"
    path.write_text(STEPS)
    with pytest.raises(InputError, match="-p s=4"):
        load_program(str(path), parameters={"n": 10})
    program = load_program(str(path), parameters={"n": 10, "s": 3})
    assert program.function == "s=3"
    assert dict(program.parameters) == {"n": 10, "s": 3}
    again = load_program(str(path), function=program.function, parameters={"n": 10, "s": 3})
    assert again == program
    with pytest.raises(InputError, match="not defined for n = 10, s = 4"):
        load_program(str(path), function=program.function, parameters={"n": 10, "s": 4})


@pytest.mark.parametrize("text", ["s=3 s=4", "f g s=4", "f s=3x"])
def test_values_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="parameters with their values"):
        parse_selection(text)


def test_values_of_what_is_no_parameter() -> None:
    with pytest.raises(InputError, match="t is not declared"):
        parse_text(STEPS, function="blocks s=2 t=3")


def test_sizes_beside_the_file_bound_sparse_rows() -> None:
    text = """void spmv(int n, int m, double *y, double *value, double *x, int *row, int *column) {
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int k = row[i]; k < row[i + 1]; k++)
      y[i] += value[k] * x[column[k]];
  }
#pragma endscop
}
"""
    with pytest.raises(InputError, match="--extent value=nnz"):
        parse_text(text)
    scop = parse_text(text, function="value[8 * n] x[m] column[8 * n]")
    assert scop.statements[1].domain == "[n, m] -> { S1[i, k] : 0 <= i < n and 0 <= k < 8n }"
    assert scop.array("row").extents == ("[n, m] -> { [(1 + n)] }",)


def test_a_size_of_a_new_name_is_a_new_parameter(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(
        "void f(double *x, int *k, int n) {\n  for (int i = 0; i < n; i++)\n    x[k[i]] += 1;\n}\n"
    )
    program = load_program(str(path), extents=["x=m"], parameters={"n": 9, "m": 5})
    assert [parameter.name for parameter in program.scop.parameters] == ["n", "m"]
    assert program.scop.array("x").c_extents == ("m",)
    with pytest.raises(InputError, match="no name of the file has the value of m"):
        embed_file(path, program.function)
    affine = "void f(double *x, int n) {\n  for (int i = 0; i < n; i++)\n    x[i] += 1;\n}\n"
    path.write_text(affine)
    context = isl.Set(load_program(str(path), extents=["x=m"]).scop.context)
    assert context.is_subset(isl.Set("[n, m] -> { : n <= m }"))
