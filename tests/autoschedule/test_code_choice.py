"""The automatic choice confirmed by estimates of code: the source where that seems as fast."""

from pathlib import Path

import pytest

from polygym.autoschedule import code_choice
from polygym.autoschedule.code_choice import (
    LEAST_GAIN,
    ConfirmedStart,
    confirmed_start,
    fresh_bytes,
)
from polygym.errors import LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.programs import Program, load_program
from polygym.programs.stored_program import with_storage_plan
from polygym.runtime.evaluation.compilation import compile_schedule
from tests.search.test_source_answer import BLUR

PRODUCT = """void product(int n, double c[n][n], double a[n][n], double b[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < n; k++)
        s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
#pragma endscop
}
"""


def program_of(folder: Path, text: str, n: int) -> Program:
    """Return the program of a C text."""
    file = folder / "program.c"
    file.write_text(text)
    return load_program(str(file), function=None, dataset=None, parameters={"n": n})


def confirmed(program: Program, mapping: Mapping, *, keeps: bool = False) -> ConfirmedStart:
    return confirmed_start(program, mapping, DEFAULT_MEMORY_LIMIT, keeps_mapping=keeps)


def test_rows_of_a_blur_are_shared_out_as_they_are(tmp_path: Path) -> None:
    """In two threads LLVM's own code of the source runs, in either of them half of the rows."""
    program = program_of(tmp_path, BLUR, 512)
    result = confirmed(program, Mapping(threads=2))
    assert not result.is_source
    assert str(result.start.program.storage) == "S0:sum=private:i,j"
    assert (result.mapping.threads, result.mapping.vector_bits) == (2, 0)


def test_a_blur_that_llvm_unrolls_stays_as_it_is(tmp_path: Path) -> None:
    program = program_of(tmp_path, BLUR, 512)
    result = confirmed(program, Mapping(threads=1))
    assert result.is_source
    assert result.mapping == SEQUENTIAL_MAPPING
    assert result.start.program.storage == SOURCE_STORAGE
    assert result.start.program.scop == program.scop
    choice = result.start.choice
    assert choice is not None
    assert choice.schedule == original_schedule(program.scop)
    (_, source), *others = result.estimates
    assert min(cycles for _, cycles in others) * LEAST_GAIN > source


def test_a_product_of_matrices_is_changed(tmp_path: Path) -> None:
    program = program_of(tmp_path, PRODUCT, 300)
    result = confirmed(program, DEFAULT_MAPPING)
    assert not result.is_source
    choice = result.start.choice
    assert choice is not None
    compiled = compile_schedule(result.start.program, choice.schedule, result.mapping)
    assert compiled.applied_mapping == result.mapping


def test_few_instances_are_not_worth_threads(tmp_path: Path) -> None:
    result = confirmed(program_of(tmp_path, PRODUCT, 12), Mapping(threads=2))
    assert result.mapping.threads == 1


def test_a_mapping_that_is_asked_for_is_kept(tmp_path: Path) -> None:
    asked = Mapping(threads=2)
    result = confirmed(program_of(tmp_path, BLUR, 512), asked, keeps=True)
    assert not result.is_source
    assert result.mapping == asked


def test_without_estimates_the_choice_of_models_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object) -> None:
        raise LimitError("too long")

    monkeypatch.setattr(code_choice, "run_forked", give_up)
    program = program_of(tmp_path, BLUR, 64)
    result = confirmed(program, DEFAULT_MAPPING)
    assert (result.mapping, result.estimates, result.is_source) == (DEFAULT_MAPPING, (), False)


def test_memory_beyond_what_the_c_library_keeps_costs_cycles(tmp_path: Path) -> None:
    text = """void layers(int n, double a[n][512][512], double b[n][512][512]) {
  double t[512][512];
#pragma scop
  for (int l = 0; l < n; l++) {
    for (int i = 0; i < 512; i++)
      for (int j = 0; j < 512; j++)
        t[i][j] = a[l][i][j] + 1.0;
    for (int i = 1; i < 512; i++)
      for (int j = 0; j < 512; j++)
        b[l][i][j] = t[i][j] * t[i - 1][j];
  }
#pragma endscop
}
"""
    small, large = (
        with_storage_plan(program_of(tmp_path, text, n), parse_storage("t=expand:l"))
        for n in (8, 64)
    )
    assert fresh_bytes(small.scop, {"n": 8}) == 0
    assert fresh_bytes(large.scop, {"n": 64}) == 64 * 512 * 512 * 8
