"""Shapes beside what the texts of programs say, beside points counted one by one, and by name."""

import re
from math import prod

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import polybench
from polygym.cost.features.programs.shape import (
    ProgramShape,
    is_reduction,
    is_triangular,
    program_shape,
)
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.programs import Program, load_program, load_scop
from polygym.programs.generate import generate_source
from tests.oracles.instances import points

SIZE = 9


def shape_of(text: str, size: int = 100) -> ProgramShape:
    scop = parse_text(text, file="a.c")
    return program_shape(
        Program("a.c", scop, scop, tuple((p.name, size) for p in scop.parameters), ())
    )


def region(arguments: str, body: str) -> str:
    return f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def test_the_example_of_the_docstring() -> None:
    text = """for (int i = 0; i < n; i++) {
  y[i] = 0;
  for (int j = 0; j < n; j++)
    y[i] += A[i][j] * x[j];
}"""
    shape = shape_of(region("int n, double A[n][n], double x[n], double y[n]", text))
    assert shape == ProgramShape(
        nests=1,
        statements=2,
        depth=2,
        arrays=3,
        sizes=1,
        dependences=2,
        operations=100 + 2 * 100**2,
        elements=100**2 + 2 * 100,
        is_imperfect=True,
        is_triangular=False,
        has_reduction=True,
        has_large_strides=False,
        is_sequential=False,
        scalars=0,
        has_private_arrays=False,
    )
    assert shape.reuse == pytest.approx(1.97, abs=0.005)


@pytest.mark.parametrize(
    ("body", "imperfect"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 1.0;", False),
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
            " { A[i][j] = 1.0; B[i][j] = 2.0; }",
            False,
        ),
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 1.0;"
            "for (int i = 0; i < n; i++) B[i][i] = 1.0;",
            False,
        ),
        (
            "for (int i = 0; i < n; i++)"
            " { B[i][0] = 1.0; for (int j = 0; j < n; j++) A[i][j] = 1.0; }",
            True,
        ),
        (
            "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) A[i][j] = 1.0;"
            " for (int j = 0; j < n; j++) B[i][j] = 1.0; }",
            True,
        ),
    ],
)
def test_what_is_imperfect(body: str, imperfect: bool) -> None:
    shape = shape_of(region("int n, double A[n][n], double B[n][n]", body))
    assert shape.is_imperfect == imperfect
    assert shape.nests == 1 + body.count(";for")


@pytest.mark.parametrize(
    ("body", "strides", "in_sequence"),
    [
        ("A[i][j] = B[i][j];", False, False),
        ("A[i][j] = B[j][i];", True, False),
        ("A[i + 1][j] = A[i][j];", False, True),
        ("A[i][j + 1] = A[i][j];", False, False),
    ],
)
def test_what_strides_and_what_waits(body: str, strides: bool, in_sequence: bool) -> None:
    loops = "for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1; j++) "
    shape = shape_of(region("int n, double A[n][n], double B[n][n]", loops + body))
    assert (shape.has_large_strides, shape.is_sequential) == (strides, in_sequence)


@pytest.mark.parametrize(
    ("statement", "sums"),
    [
        ("y[i] += x[j];", True),
        ("y[i] = y[i] - x[j];", True),
        ("y[i] = x[j] + (x[i] + y[i]);", True),
        ("y[i] = x[j] - y[i];", False),
        ("y[i] *= x[j];", False),
        ("y[i] = 0.5 * y[i] + x[j];", False),
        ("A[i][j] += x[j];", False),
        ("y[i] = y[j] + x[j];", False),
    ],
)
def test_what_is_a_sum(statement: str, sums: bool) -> None:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
    text = region("int n, double A[n][n], double x[n], double y[n]", loops + statement)
    assert is_reduction(parse_text(text, file="a.c").statements[0]) == sums


def test_a_program_without_loops_and_arrays() -> None:
    shape = shape_of(region("double x[1]", "x[0] = 1.0;"))
    assert (shape.nests, shape.depth, shape.sizes, shape.elements) == (0, 0, 0, 1)
    assert [shape.is_imperfect, shape.is_sequential, shape.has_large_strides] == [False] * 3


def imperfect_text(lines: list[str]) -> bool:
    """Whether indented text has a loop with a loop in its body and something beside it."""
    depths = [(len(line) - len(line.lstrip()), line.lstrip()) for line in lines]
    for place, (depth, line) in enumerate(depths):
        if not line.startswith("for"):
            continue
        body = []
        for inner, text in depths[place + 1 :]:
            if inner <= depth:
                break
            if inner == depth + 2 and text != "}":
                body.append(text.startswith("for"))
        if len(body) > 1 and any(body):
            return True
    return False


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9))
@example(56080)
@example(56820)
def test_random_programs_beside_their_texts(seed: int) -> None:
    text = generate_source(seed)
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    shape = shape_of(text, SIZE)
    assert shape.nests == sum(line.startswith("  for") for line in lines)
    assert shape.statements == sum(line.endswith(";") for line in lines)
    assert shape.depth == max((len(line) - len(line.lstrip())) // 2 - 1 for line in lines)
    assert shape.is_imperfect == imperfect_text(lines)
    head = text.partition("\n")[0]
    # What is declared need not be used: random:56080 has such an array, random:56820 such a size.
    declared = re.findall(r"(?:double|float) (\w+)((?:\[[^]]*\])+)", head)
    used = [extents for name, extents in declared if any(f"{name}[" in line for line in lines)]
    assert shape.arrays == len(used)
    words = set(re.findall(r"\w+", " ".join([*lines, *used])))
    assert shape.sizes == len(words & set(re.findall(r"int (\w+)", head)))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**9))
def test_random_programs_beside_their_points(seed: int) -> None:
    scop = parse_text(generate_source(seed), file="a.c")
    sizes = {parameter.name: SIZE + place for place, parameter in enumerate(scop.parameters)}
    shape = program_shape(Program("a.c", scop, scop, tuple(sizes.items()), ()))
    instances = [points(statement.domain, sizes) for statement in scop.statements]
    assert shape.is_triangular == any(not is_box(instance) for instance in instances)
    each = [work.operations for work in work_of_statements(scop, sizes)]
    assert shape.operations == sum(a * len(b) for a, b in zip(each, instances, strict=True))
    assert shape.elements == sum(elements(scop, sizes))


def is_box(places: list[tuple[int, ...]]) -> bool:
    return len(places) == prod(len(set(column)) for column in zip(*places, strict=True))


def elements(scop: Scop, sizes: dict[str, int]) -> list[int]:
    """Return the elements of every array, its extents computed as the text has them."""
    return [prod(eval(extent, {}, sizes) for extent in array.c_extents) for array in scop.arrays]


def test_scalars_and_arrays_of_its_own() -> None:
    text = """void f(int n, double A[n][n], double y[n])
{
  double s;
  double row[n];
#pragma scop
  for (int i = 0; i < n; i++) {
    s = 0.0;
    for (int j = 0; j < n; j++) {
      double t = A[i][j];
      row[j] = t;
      s += t;
    }
    y[i] = s%s;
  }
#pragma endscop
}
"""
    shape = shape_of(text % " * row[0]")
    assert (shape.scalars, shape.has_private_arrays, shape.arrays) == (2, True, 3)
    assert not shape_of(text.replace("row[n]", "z").replace("row[j]", "z") % "").has_private_arrays


def test_the_triangular_kernels_of_the_suite() -> None:
    triangular = {
        kernel.name
        for kernel in polybench.KERNELS
        if any(is_triangular(statement.domain) for statement in load_scop(kernel.name).statements)
    }
    assert triangular == {
        "correlation", "covariance", "symm", "syr2k", "syrk", "trmm", "cholesky", "durbin",
        "gramschmidt", "lu", "ludcmp", "trisolv", "nussinov",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("domain", "triangular"),
    [
        ("{ S[] }", False),
        ("[n] -> { S[i, j] : 0 <= i < n and 2 <= j < 2n }", False),
        ("[n] -> { S[i, j] : 0 <= i < n and i - 1 <= j < n }", True),
        ("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n and i + j <= 2n }", False),
        ("[n] -> { S[i, j, k] : 0 <= i < n and 0 <= j < n and k = i + j }", True),
        ("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n and i mod 2 = 0 }", False),
    ],
)
def test_what_is_triangular(domain: str, triangular: bool) -> None:
    assert is_triangular(domain) == triangular


def test_a_comprehension_has_a_shape() -> None:
    shape = program_shape(load_program("tc:matmul", parameters={"M": 20, "K": 30, "N": 40}))
    assert shape.elements == 20 * 30 + 30 * 40 + 20 * 40
    assert (shape.depth, shape.is_triangular, shape.has_reduction) == (3, False, True)
    assert shape.operations == 20 * 40 * (1 + 2 * 30)
