"""What models never learn from: test kernels, and whatever does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.cost.bodies import bodies
from polygym.programs import Program, load_program
from polygym.search.corpus.collect import Collection, CollectPlan
from polygym.search.corpus.held_out import TEST_KERNELS, is_held_out
from polygym.search.corpus.packed import SHIPPED, unpack
from polygym.search.corpus.plan import USUAL, Choice, chosen
from polygym.search.corpus.samples import groups, without_tests
from polygym.search.corpus.store import open_corpus

PRODUCT = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"


def program(folder: Path, loops: str) -> Program:
    path = folder / "f.c"
    arrays = "double A[n][n], double B[n][n], double C[n][n]"
    head = f"void f(int n, int m, double alpha, {arrays}) {{"
    path.write_text(f"{head}\n#pragma scop\n{loops}\n#pragma endscop\n}}")
    return load_program(str(path))


def test_a_body_has_no_names_no_order_and_no_factors(tmp_path: Path) -> None:
    one = bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    other = bodies(
        program(
            tmp_path,
            "for (int x = 0; x < n; x++) for (int y = 0; y < n; y++) for (int z = 0; z < n; z++)"
            " A[y][z] = 0.5 * A[y][z] + alpha * (B[x][z] * C[y][x]);",
        )
    )
    assert one == other
    assert len(one) == 1


@pytest.mark.parametrize(
    "loops",
    [
        f"{PRODUCT} C[i][j] += A[k][i] * B[k][j];",
        f"{PRODUCT} C[i][j] += A[i][k] * A[k][j];",
        f"{PRODUCT} if (k <= i) C[i][j] += A[i][k] * B[k][j];",
        f"{PRODUCT.replace('k < n', 'k < n - 1')} C[i][j] += A[i][k + 1] * B[k][j];",
    ],
)
def test_other_subscripts_and_bounds_are_another_body(tmp_path: Path, loops: str) -> None:
    plain = bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    assert bodies(program(tmp_path, loops)).isdisjoint(plain)


def test_every_test_kernel_has_something_of_its_own() -> None:
    for name in TEST_KERNELS:
        assert is_held_out("another name", load_program(name)), name
    for name in ("gemm", "atax", "mvt", "correlation", "cholesky", "ludcmp", "tc:matmul"):
        assert not is_held_out(name, load_program(name)), name


@pytest.mark.parametrize("name", ["random:2", "random:512663980", "random:183210244"])
def test_random_programs_that_do_the_same_are_held_out(name: str) -> None:
    assert is_held_out(name, load_program(name))


def test_a_visit_takes_none_unless_it_is_asked_for() -> None:
    name = "random:183210244"
    assert chosen(Choice((name,)), 0, 0).case.program == name
    for number in range(12):
        found = chosen(USUAL, 5, number)
        assert not is_held_out(found.case.program, found.program)


def test_a_kernel_under_the_name_of_a_file_teaches_nothing(tmp_path: Path) -> None:
    source = Path(load_program("trmm").scop.file)
    file = tmp_path / "mine.c"
    file.write_text(source.read_text())
    for include in source.parent.glob("*.h"):
        (tmp_path / include.name).write_text(include.read_text())
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        for names in ((str(file),), ("mvt",)):
            Collection(corpus, CollectPlan(Choice(names), rows=corpus.count() + 6, each=6)).run()
        kept, left = without_tests(groups(corpus, fewest=1))
    assert {one.visit.case.program for one in kept} == {"mvt"}
    assert left == 1


def test_nothing_of_the_corpus_that_comes_with_polygym_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "corpus.sqlite"
    unpack(SHIPPED, path)
    with open_corpus(path) as corpus:
        assert corpus.count() >= 20_000
        kept, left = without_tests(groups(corpus))
    assert kept
    assert left == 0
