"""The source's loops in threads: its order, private temporaries, and the estimate that decides."""

from pathlib import Path

import pytest

from polygym.autoschedule import code_choice
from polygym.autoschedule.code_choice import LEAST_GAIN, confirmed_start
from polygym.autoschedule.threaded_source import private_source, source_in_threads
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.tree.ir import Band, Tree, subtrees
from polygym.cost.features.candidates.candidate_vector import candidate_features
from polygym.mapping.mapping import Mapping, WorkSharing
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.poly.transform.storage.private_plan import private_plan
from polygym.programs import Program, load_program
from polygym.runtime.evaluation.compilation import compile_schedule
from tests.autoschedule.test_code_choice import program_of

FILTER = """void filter(int n, float a[n][n], float b[n][n]) {
#pragma scop
  for (int y = 2; y < n - 2; y++)
    for (int x = 2; x < n - 2; x++) {
      float s = 0;
      for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++)
          s += a[y + v][x + u];
      b[y][x] = s / 25;
    }
#pragma endscop
}
"""

TRIANGLE = """void triangle(int n, double a[n][n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int j = 0; j <= i; j++)
      s += a[i][j] * b[j];
    a[i][i] = s;
  }
#pragma endscop
}
"""

SERIAL = """void serial(int n, double a[n]) {
#pragma scop
  for (int i = 1; i < n; i++) {
    double s = a[i - 1];
    a[i] = 0.5 * (s + a[i]);
  }
#pragma endscop
}
"""

CARRIED = """void carried(int n, double a[n], double b[n]) {
#pragma scop
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += a[i];
    b[i] = s;
  }
#pragma endscop
}
"""

TWO_SWEEPS = """void sweeps(int t, int n, double a[n], double b[n], double c[n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++) {
      b[i] = a[i - 1] + a[i + 1];
      c[i] = a[i - 1] - a[i + 1];
    }
    for (int i = 1; i < n - 1; i++)
      a[i] = b[i] * c[i];
  }
#pragma endscop
}
"""


def threaded(program: Program) -> tuple[Program, Mapping] | None:
    stored = private_source(program, DEFAULT_MEMORY_LIMIT)
    mapping = None if stored is None else source_in_threads(stored, 2)
    return None if stored is None or mapping is None else (stored, mapping)


def test_a_temporary_of_a_filter_is_private_and_the_rows_run_in_threads(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILTER, 64)
    result = threaded(program)
    assert result is not None
    changed, mapping = result
    assert str(changed.storage) == "S0:s=private:y,x"
    assert mapping.parallel is WorkSharing.STATIC
    assert mapping.keeps_schedule_order
    assert mapping.threads == 2
    compiled = compile_schedule(changed, original_schedule(changed.scop), mapping)
    assert compiled.applied_mapping == mapping


def test_rows_of_different_lengths_are_shared_out_dynamically(tmp_path: Path) -> None:
    program = program_of(tmp_path, TRIANGLE, 64)
    result = threaded(program)
    assert result is not None
    assert result[1].parallel is WorkSharing.DYNAMIC


@pytest.mark.parametrize("text", [SERIAL, CARRIED])
def test_loops_that_wait_are_no_candidate(tmp_path: Path, text: str) -> None:
    assert threaded(program_of(tmp_path, text, 64)) is None


def test_a_value_that_is_carried_is_not_private(tmp_path: Path) -> None:
    program = program_of(tmp_path, CARRIED, 64)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    assert private_plan(program.scop, sizes, 1 << 20) == SOURCE_STORAGE


def test_a_copy_that_is_too_large_is_not_private(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILTER, 64)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    assert private_plan(program.scop, sizes, 1) == SOURCE_STORAGE


def test_a_filter_that_llvm_unrolls_runs_in_threads(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILTER, 2000)
    result = confirmed_start(program, Mapping(threads=2), DEFAULT_MEMORY_LIMIT)
    assert not result.is_source
    (_, source), *others = result.estimates
    assert min(cycles for _, cycles in others) * LEAST_GAIN <= source
    assert result.choice.schedule == original_schedule(result.start.program.scop)
    assert result.mapping.keeps_schedule_order
    assert result.mapping.threads == 2


def test_few_iterations_are_not_worth_threads(tmp_path: Path) -> None:
    result = confirmed_start(
        program_of(tmp_path, FILTER, 16), Mapping(threads=2), DEFAULT_MEMORY_LIMIT
    )
    assert result.mapping.threads == 1


def test_a_loop_is_started_once_for_all_its_statements(tmp_path: Path) -> None:
    file = tmp_path / "sweeps.c"
    file.write_text(TWO_SWEEPS)
    program = load_program(
        str(file), function=None, dataset=None, parameters={"t": 30, "n": 100_000}
    )
    result = threaded(program)
    assert result is not None
    legal = LegalSchedule(result[0].scop, original_schedule(result[0].scop))
    sizes = scop_sizes(program.scop, dict(program.parameters))
    features = candidate_features(legal, result[1], sizes)
    assert _parallel_loops(features.tree) == 2
    assert code_choice._forks(features) == pytest.approx(60, abs=1)


def _parallel_loops(tree: Tree) -> int:
    return sum(
        isinstance(member.annotation, ParallelLoop)
        for band in subtrees(tree)
        if isinstance(band, Band)
        for member in band.members
    )
