"""Programs from files: what their initial data must give, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from polybench import Dataset
from polygym.errors import InputError
from polygym.programs import load_program
from polygym.runtime.evaluation.compilation import compile_problem
from polygym.runtime.worker.timing import Repetition
from polygym.runtime.worker.worker import Worker

KERNEL = """
void f(int n, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++) A[i] *= w[1];
#pragma endscop
}
"""
INITIAL = """
void init_f(int n, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++) A[i] = i;
#pragma endscop
}
"""
WEIGHTS = "static const double w[3] = {1, 2, 3};\n"


@pytest.mark.parametrize("initial", ["", INITIAL])
@pytest.mark.parametrize("written", [False, True])
def test_constants_of_the_source_are_kept(initial: str, written: bool, tmp_path: Path) -> None:
    text = KERNEL if written else WEIGHTS + KERNEL
    if written:
        text = text.replace(
            "#pragma scop", "double w[3] = {1, 2, 3};\n#pragma scop\nw[2] = w[1];", 1
        )
    path = tmp_path / "f.c"
    path.write_text(initial + text)
    program = load_program(str(path), dataset=Dataset.MINI)
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=3, minimum_seconds=0))
        index = [buffer.name for buffer in session.problem.buffers].index("A")
        before = np.frombuffer(session.initial(index))
        after = np.frombuffer(session.expected(index))
    np.testing.assert_array_equal(after, 2 * before)
    assert before.any()


def test_what_no_statement_writes_is_constant() -> None:
    for kernel in ("gemm", "heat-3d", "cholesky", "deriche"):
        program = load_program(kernel, dataset=Dataset.MINI)
        problem = compile_problem(program)
        written = {statement.write.array for statement in program.scop.statements}
        changed = {buffer.name for buffer in problem.buffers if not buffer.constant}
        assert changed == written


def test_sizes_of_a_file_stay_moderate_when_it_is_deep(tmp_path: Path) -> None:
    loops = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(6))
    path = tmp_path / "deep.c"
    path.write_text(
        f"void f(int n, int A[n]) {{\n#pragma scop\n{loops}A[i0] += i5;\n#pragma endscop\n}}\n"
    )
    assert load_program(str(path), dataset=Dataset.LARGE).value("n") == 32
    assert load_program(str(path), parameters={"n": 500}).value("n") == 500


@pytest.mark.parametrize(
    ("stated", "given", "nearest"),
    [
        ("n >= 30000 && m >= 10000", {}, (30000, 10000)),
        ("n >= 30000 && m >= 10000", {"n": 40000}, (40000, 10000)),
        ("n >= 3 * m && m >= 500", {}, (1500, 500)),
        ("m > n", {}, (255, 256)),
        ("n <= 100 && m >= 20 * n", {}, (12, 256)),
        ("n >= 0", {}, (256, 256)),
    ],
)
def test_sizes_are_the_nearest_for_which_a_program_is_defined(
    tmp_path: Path, stated: str, given: dict[str, int], nearest: tuple[int, int]
) -> None:
    path = tmp_path / "stated.c"
    path.write_text(
        f"void f(int m, int n, double A[n][m]) {{\n  assert({stated});\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 0;\n#pragma endscop\n}\n"
    )
    program = load_program(str(path), dataset=Dataset.MEDIUM, parameters=given)
    assert (program.value("n"), program.value("m")) == nearest


def test_sizes_that_leave_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "stated.c"
    path.write_text(
        "void f(int n, int m, double A[n][m]) {\n  assert(n >= 30000 && m < n - 20000);\n"
        "#pragma scop\nA[0][0] = 0;\n#pragma endscop\n}\n"
    )
    with pytest.raises(InputError, match=r"f is not defined for n = 100, m = 256: .*30000"):
        load_program(str(path), dataset=Dataset.MEDIUM, parameters={"n": 100})
