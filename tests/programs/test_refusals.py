"""Programs that cannot be run, and messages that speak of the user's own file."""

from pathlib import Path

import pytest

from polygym.errors import InputError, SourceError, SourceLocation
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.programs import initial_data, load_program, load_scop


def test_an_array_that_the_rule_cannot_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "odd.c"
    path.write_text(
        "void f(int n, double B[n], double A[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) A[i] = B[i];\n#pragma endscop\n}\n"
    )

    def refuse_a(source: str, *, file: str, function: str) -> Scop:
        if " A[" in source:
            raise SourceError(SourceLocation(file, 5, 1), "it is too odd")
        return parse_text(source, file=file, function=function)

    monkeypatch.setattr(initial_data, "parse_text", refuse_a)
    with pytest.raises(InputError) as caught:
        load_program(str(path), parameters={"n": 1})
    assert str(caught.value) == (
        f"{path}: the rule for initial data cannot fill array A of f: it is too odd; "
        "write a function init_f with a region that does"
    )


LONG = """
void f(long n, double A[10]) {
#pragma scop
  for (long i = n; i < n + 10; i++) A[i - n] = i;
#pragma endscop
}
"""


@pytest.mark.parametrize("value", [2**48, -(2**48), 2**62])
def test_long_parameters_leave_room_for_bounds(tmp_path: Path, value: int) -> None:
    path = tmp_path / "long.c"
    path.write_text(LONG)
    with pytest.raises(InputError, match=r"expected a value between -2\^48 and 2\^48"):
        load_program(str(path), parameters={"n": value})
    assert load_program(str(path), parameters={"n": 2**48 - 1}).value("n") == 2**48 - 1


def test_conditions_are_written_as_conditions() -> None:
    with pytest.raises(InputError, match=r"accesses need m > 0 and n > 0$"):
        load_program("atax", parameters={"n": 0})


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_of_a_function(name: str) -> None:
    with pytest.raises(InputError, match=r"found none; .* has: init_gemm, kernel_gemm$"):
        load_scop("gemm", name)


def test_a_category_is_not_one_kernel() -> None:
    with pytest.raises(InputError, match="'solvers' stands for several: cholesky, "):
        load_scop("solvers")
