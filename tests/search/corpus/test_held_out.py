"""What models never learn from: test kernels, and whatever does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import polybench
from polygym.cost.features.programs.canonical_bodies import canonical_bodies
from polygym.frontend.tc.library import definitions
from polygym.programs import Program, load_program
from polygym.programs.comprehensions import PREFIX as COMPREHENSION
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.packing import LARGE_FILE, NEAR_FILE, STORAGE_VARIANTS_FILE, unpack
from polygym.search.corpus.program_choice import (
    DEFAULT_CHOICE,
    TEST_KERNELS,
    ProgramChoice,
    choose_program,
    equivalent_kernels,
    is_held_out,
)
from polygym.search.corpus.samples import case_rows, without_tests
from polygym.search.corpus.store import open_corpus

PRODUCT = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"


def program(folder: Path, loops: str) -> Program:
    path = folder / "f.c"
    arrays = ", ".join(f"double {name}[n][n]" for name in "ABC")
    vectors = ", ".join(f"double {name}[n]" for name in "pqxy")
    head = f"void f(int n, int m, double alpha, {arrays}, {vectors}) {{"
    path.write_text(f"{head}\n#pragma scop\n{loops}\n#pragma endscop\n}}")
    return load_program(str(path))


def test_a_body_has_no_names_no_order_and_no_factors(tmp_path: Path) -> None:
    bodies = canonical_bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    other = canonical_bodies(
        program(
            tmp_path,
            "for (int x = 0; x < n; x++) for (int y = 0; y < n; y++) for (int z = 0; z < n; z++)"
            " A[y][z] = 0.5 * A[y][z] + alpha * (B[x][z] * C[y][x]);",
        )
    )
    assert bodies == other
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "loops",
    [
        f"{PRODUCT} C[i][j] += A[k][i] * B[k][j];",
        f"{PRODUCT} C[i][j] += A[i][k] * A[k][j];",
        f"{PRODUCT} if (k <= i) C[i][j] += A[i][k] * B[k][j];",
        f"{PRODUCT.replace('i < n', 'i < n - 1')} C[i][j] += A[i][k] * B[k][j] + A[i + 1][k];",
    ],
)
def test_other_subscripts_and_bounds_are_another_body(tmp_path: Path, loops: str) -> None:
    plain = canonical_bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    assert canonical_bodies(program(tmp_path, loops)).isdisjoint(plain)


@pytest.mark.parametrize(
    "loops",
    [
        f"{PRODUCT.replace('k < n', 'k < n - 1')} C[i][j] += A[i][k + 1] * B[k][j];",
        f"{PRODUCT.replace('k = 0; k < n', 'k = 1; k <= n')} C[i][j] += A[i][k - 1] * B[k - 1][j];",
        f"{PRODUCT} C[i][j] += A[i][n - 1 - k] * B[n - 1 - k][j];",
        f"{PRODUCT} if (k < m) C[i][j] += A[i][k] * B[k][j];",
        f"{PRODUCT} {{ if (k <= i) C[i][j] += A[i][k] * B[k][j];"
        " if (k > i) C[i][j] += A[i][k] * B[k][j]; }",
        f"{PRODUCT} {{ C[i][j] *= A[i][k]; C[i][j] += B[k][j]; }}",
    ],
)
def test_shifts_and_pieces_are_no_other_body(tmp_path: Path, loops: str) -> None:
    plain = canonical_bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    assert not canonical_bodies(program(tmp_path, loops)).isdisjoint(plain)


@pytest.mark.parametrize(
    "loops",
    [
        # a value of two statements; one that is set in two branches; a scalar that was set before
        "{ double s = A[i][k]; double t = s * B[k][j]; C[i][j] += t; }",
        "{ double s = A[i][k]; if (s < 0) s = -s; C[i][j] += s * B[k][j]; }",
        "{ double s = 1; if (m > 3) s = A[i][k]; else s = 2 * A[i][k]; C[i][j] += s * B[k][j]; }",
    ],
)
def test_values_with_names_are_no_other_body(tmp_path: Path, loops: str) -> None:
    plain = canonical_bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    assert canonical_bodies(program(tmp_path, f"{PRODUCT} {loops}")) == plain


@pytest.mark.parametrize(
    ("loops", "term"),
    [
        # stored to one array, to two, to none; set again for another nest
        ("double s = 0; for (k) s += A[i][k] * B[k][j]; C[i][j] = s;", "C[i][j]"),
        ("double s = 0; for (k) s += A[i][k] * B[k][j]; C[i][j] = s; A[j][i] = s;", "D[i][j]"),
        ("double s = 0; for (k) s += A[i][k] * B[k][j];", "D[i][j]"),
        ("s = 0; for (k) s += A[i][k] * B[k][j]; C[i][j] = s; s = 1; D[i][j] = s;", "C[i][j]"),
    ],
)
def test_a_sum_in_a_scalar_is_that_in_an_element(tmp_path: Path, loops: str, term: str) -> None:
    def whole(inner: str) -> str:
        text = inner.replace("for (k)", "for (int k = 0; k < n; k++)")
        begin = "double D[n][n]; double s;"
        return f"{begin} for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{ {text} }}"

    bodies = canonical_bodies(program(tmp_path, whole(loops)))
    assert bodies == canonical_bodies(
        program(tmp_path, whole(f"for (k) {term} += A[i][k] * B[k][j];"))
    )


def test_a_sum_in_a_scalar_over_all_loops_is_another_body(tmp_path: Path) -> None:
    plain = canonical_bodies(program(tmp_path, f"{PRODUCT} C[i][j] += A[i][k] * B[k][j];"))
    whole = f"double s = 0; {PRODUCT} s += A[i][k] * B[k][j]; C[0][0] = s;"
    assert canonical_bodies(program(tmp_path, whole)).isdisjoint(plain)


def test_pieces_of_a_body_are_there_by_themselves_and_together(tmp_path: Path) -> None:
    half = canonical_bodies(
        program(tmp_path, f"{PRODUCT} if (k < i) C[i][j] += A[i][k] * B[k][j];")
    )
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
    term = "C[i][j] += A[i][k] * B[k][j];"
    for_k = f"for (int k = 0; k < i; k++) {term} for (int k = i; k < n; k++) {term}"
    bodies = canonical_bodies(program(tmp_path, f"{loops} {for_k} }}"))
    whole = canonical_bodies(program(tmp_path, f"{PRODUCT} {term}"))
    assert half | whole <= bodies
    assert not whole <= half
    assert len(bodies) == 2  # with all arrays numbered backwards, k >= i is k <= i


LU_TERM = "A[i][j] -= A[i][k] * A[k][j];"

SAME: dict[str, tuple[str, ...]] = {
    "lu": (
        "for (int k = 0; k < n; k++) {"
        " for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k];"
        f" for (int i = k + 1; i < n; i++) for (int j = k + 1; j < n; j++) {LU_TERM} }}",
        "for (int k = 0; k < n; k++) for (int i = k + 1; i < n; i++) {"
        f" A[i][k] /= A[k][k]; for (int j = k + 1; j < n; j++) {LU_TERM} }}",
        "for (int i = 0; i < n; i++) for (int k = 0; k < i; k++) {"
        f" A[i][k] /= A[k][k]; for (int j = k + 1; j < n; j++) {LU_TERM} }}",
        "for (int j = 0; j < n; j++) {"
        f" for (int k = 0; k < j; k++) for (int i = k + 1; i < n; i++) {LU_TERM}"
        " for (int i = j + 1; i < n; i++) A[i][j] /= A[j][j]; }",
        "for (int j = 0; j < n; j++) {"
        f" for (int i = 0; i <= j; i++) for (int k = 0; k < i; k++) {LU_TERM}"
        f" for (int i = j + 1; i < n; i++) {{ for (int k = 0; k < j; k++) {LU_TERM}"
        " A[i][j] /= A[j][j]; } }",
        "for (int k = 1; k <= n; k++) for (int i = k + 1; i <= n; i++) {"
        " A[i - 1][k - 1] /= A[k - 1][k - 1]; for (int j = k + 1; j <= n; j++)"
        " A[i - 1][j - 1] -= A[i - 1][k - 1] * A[k - 1][j - 1]; }",
    ),
    "trmm": (
        "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++)"
        " for (int k = i + 1; k < n; k++) B[i][j] += A[k][i] * B[k][j];",
        "for (int k = 0; k < n; k++) for (int i = 0; i < k; i++)"
        " for (int j = 0; j < n; j++) B[i][j] += A[k][i] * B[k][j];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " for (int k = i; k < n - 1; k++) B[i][j] += A[k + 1][i] * B[k + 1][j];",
    ),
    "syr2k": (
        "for (int j = 0; j < n; j++) for (int i = j; i < n; i++)"
        " for (int k = 0; k < n; k++) C[i][j] += A[j][k] * B[i][k] + B[j][k] * A[i][k];",
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++)"
        " for (int k = 0; k < n; k++) C[i][j] += A[j][k] * B[i][k] + B[j][k] * A[i][k];",
        "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) {"
        " C[i][j] += A[j][k] * B[i][k]; C[i][j] += B[j][k] * A[i][k]; }",
    ),
    "gramschmidt": (
        "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++)"
        " for (int j = k + 1; j < n; j++) B[k][j] += C[i][k] * A[i][j];",
        "for (int j = 0; j < n; j++) for (int k = 0; k < j; k++)"
        " for (int i = 0; i < n; i++) A[i][j] -= C[i][k] * B[k][j];",
    ),
    "nussinov": (
        "for (int i = n - 2; i >= 0; i--) for (int j = i + 1; j < n; j++)"
        " for (int k = i + 1; k < j; k++)"
        " A[i][j] = A[i][j] >= A[i][k] + A[k][j] ? A[i][j] : A[i][k] + A[k][j];",
        "for (int j = 1; j < n; j++) for (int i = j - 1; i >= 0; i--)"
        " for (int k = i; k < j; k++)"
        " A[i][j] = A[i][j] >= A[i][k] + A[k + 1][j] ? A[i][j] : A[i][k] + A[k + 1][j];",
    ),
}


WITH_SCALARS: dict[str, tuple[str, ...]] = {
    "trmm": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = B[i][j];"
        " for (int k = i + 1; k < n; k++) s += A[k][i] * B[k][j]; B[i][j] = alpha * s; }",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0;"
        " for (int k = i + 1; k < n; k++) { double t = A[k][i]; t = t * B[k][j]; s = s + t; }"
        " B[i][j] += alpha * s; }",
    ),
    "syr2k": (
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) { double s = 0;"
        " for (int k = 0; k < n; k++) s += A[j][k] * B[i][k] + B[j][k] * A[i][k];"
        " C[i][j] = s + alpha * C[i][j]; }",
        "for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) {"
        " double a = A[i][k]; double b = B[i][k];"
        " for (int j = 0; j <= i; j++) C[i][j] += A[j][k] * b + B[j][k] * a; }",
    ),
    "bicg": (
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j++) {"
        " double t = A[i][j]; p[j] += x[i] * t; s += t * y[j]; } q[i] = s; }",
    ),
    "nussinov": (
        "for (int i = n - 2; i >= 0; i--) for (int j = i + 1; j < n; j++) {"
        " double best = A[i][j]; for (int k = i + 1; k < j; k++) {"
        " double t = A[i][k] + A[k + 1][j]; if (t > best) best = t; } A[i][j] = best; }",
    ),
}


@pytest.mark.parametrize(
    ("kernel", "loops"),
    [(a, order) for every in (SAME, WITH_SCALARS) for a, those in every.items() for order in those],
)
def test_kernels_in_other_orders_are_held_out(tmp_path: Path, kernel: str, loops: str) -> None:
    assert equivalent_kernels("mine.c", program(tmp_path, loops)) == (kernel,)


@pytest.mark.parametrize(
    "loops",
    [
        # right-looking Cholesky; Floyd and Warshall; a triangular solver of many right sides
        "for (int k = 0; k < n; k++) for (int i = k + 1; i < n; i++)"
        " for (int j = k + 1; j <= i; j++) A[i][j] -= A[i][k] * A[j][k];",
        f"{PRODUCT} A[i][j] += A[i][k] * A[k][j];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " for (int k = 0; k < i; k++) B[i][j] -= A[i][k] * B[k][j];",
        # the other half than trmm's, whose rows wait for each other
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        " for (int k = 0; k < i; k++) B[i][j] += A[k][i] * B[k][j];",
        # half of a product; a stencil of another shape
        f"{PRODUCT} if (j <= i) C[i][j] += A[i][k] * B[k][j];",
        "for (int t = 0; t < m; t++) for (int i = 1; i < n - 1; i++)"
        " for (int j = 1; j < n - 1; j++)"
        " B[i][j] = A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j];",
    ],
)
def test_what_shares_an_idea_is_not_held_out(tmp_path: Path, loops: str) -> None:
    assert equivalent_kernels("mine.c", program(tmp_path, loops)) == ()


def test_other_kernels_and_comprehensions_are_not_held_out() -> None:
    others = [kernel.name for kernel in polybench.KERNELS if kernel.name not in TEST_KERNELS]
    library = [f"{COMPREHENSION}{name}" for name in definitions()]
    assert len(others) == 20
    assert len(library) > 50
    for name in [*others, *library]:
        assert not is_held_out(name, load_program(name)), name


def test_every_test_kernel_has_something_of_its_own() -> None:
    for name in TEST_KERNELS:
        assert is_held_out("another name", load_program(name)), name


@pytest.mark.parametrize(
    "name",
    [
        "random:2", "random:512663980", "random:183210244",
        "random:48485",  # lu with the loop k outside
        "random:619134551",  # nussinov with k in place of k + 1
        "random:966014809",  # the upper half of syr2k
    ],
)  # fmt: skip
def test_random_programs_that_do_the_same_are_held_out(name: str) -> None:
    assert is_held_out(name, load_program(name))


def test_a_visit_takes_none_unless_it_is_asked_for() -> None:
    name = "random:183210244"
    assert choose_program(ProgramChoice((name,)), 0, 0).case.program == name
    for number in range(12):
        chosen_program = choose_program(DEFAULT_CHOICE, 5, number)
        assert not is_held_out(chosen_program.case.program, chosen_program.program)


def test_a_kernel_under_the_name_of_a_file_teaches_nothing(tmp_path: Path) -> None:
    source = Path(load_program("trmm").scop.file)
    file = tmp_path / "mine.c"
    file.write_text(source.read_text())
    for include in source.parent.glob("*.h"):
        (tmp_path / include.name).write_text(include.read_text())
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        for names in ((str(file),), ("mvt",)):
            Collection(
                corpus, CollectPlan(ProgramChoice(names), rows=corpus.count() + 6, candidates=6)
            ).run()
        kept, left = without_tests(case_rows(corpus, fewest=1))
    assert {rows.visit.case.program for rows in kept} == {"mvt"}
    assert left == 1


@pytest.mark.parametrize(
    ("file", "fewest"), [(LARGE_FILE, 20_000), (STORAGE_VARIANTS_FILE, 4_000), (NEAR_FILE, 3_000)]
)
def test_nothing_of_corpora_that_come_with_polygym_is_held_out(
    tmp_path: Path, file: Path, fewest: int
) -> None:
    path = tmp_path / "corpus.sqlite"
    unpack(file, path)
    with open_corpus(path) as corpus:
        assert corpus.count() >= fewest
        kept, left = without_tests(case_rows(corpus))
    assert kept
    assert left == 0
