"""Where nothing beats the source by more than noise, the source is the answer."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.folder import BEST_C_FILE, BEST_FILE, open_search
from polygym.search.loop import SearchHooks, SearchProgress
from polygym.search.plan import SearchPlan
from polygym.search.result import is_faster_than_source, read_choice
from polygym.search.settings import SearchSetting
from tests.search.fakes import FakeRunner, begin_fake, run_fake, setting

BLUR = """void blur(int n, unsigned char *in, unsigned char *out) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) {
      int sum = 0;
      for (int di = -1; di <= 1; di++)
        for (int dj = -1; dj <= 1; dj++)
          sum += in[(i + di) * n + j + dj];
      out[i * n + j] = sum / 9;
    }
#pragma endscop
}
"""


def timed(
    seconds: tuple[float, ...], before: tuple[float, ...], mapping: Mapping = DEFAULT_MAPPING
) -> Evaluation:
    schedule = original_schedule(setting().subject.program.scop)
    return Evaluation(
        schedule, OutcomeStatus.OK, min(before) / min(seconds), min(seconds), min(before),
        seconds, before, mapping=mapping,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "before", "expected"),
    [
        ((1.0, 1.1, 1.2), (1.5, 1.5, 1.6), True),
        ((1.0, 2.0, 2.0), (1.5, 1.5, 1.6), False),
        ((1.0, 1.0, 1.0), (1.02, 1.02, 1.02), False),
        ((1.0,), (1.5,), True),
    ],
)
def test_best_and_median_times_have_to_be_better(
    seconds: tuple[float, ...], before: tuple[float, ...], expected: bool
) -> None:
    assert is_faster_than_source(timed(seconds, before)) is expected


def slow(schedule: Schedule, mapping: Mapping = DEFAULT_MAPPING) -> Evaluation:
    """Return an outcome that is no better than the source."""
    return replace(timed((1.0,), (1.01,), mapping), schedule=schedule)


def blur_setting(folder: Path) -> SearchSetting:
    """Return a search of a blur whose sums are an array."""
    file = folder / "blur.c"
    file.write_text(BLUR)
    source = ProgramSource(
        str(file), None, Dataset.MINI, (("n", 16),), storage=parse_storage("S0:sum=expand:i,j")
    )
    return SearchSetting(source=source, plan=SearchPlan(100, 5, "bias_coeff_0", 0))


def test_the_source_is_written_with_its_own_storage(tmp_path: Path) -> None:
    of = blur_setting(tmp_path)
    emitted: list[tuple[Program, Schedule, Mapping]] = []

    def emit(program: Program, schedule: Schedule, mapping: Mapping) -> str:
        emitted.append((program, schedule, mapping))
        return ""

    folder = tmp_path / "out"
    result = run_fake(open_search(of, folder, False, emit_c=emit), 4, runner=FakeRunner(
        evaluate=slow
    ))  # fmt: skip
    assert result.best_finding.is_source
    assert not result.is_improvement
    written = of.as_written.subject.program
    assert written.storage == SOURCE_STORAGE
    assert result.best.schedule == original_schedule(written.scop)
    best = json.loads((folder / BEST_FILE).read_text())
    assert "storage" not in best["program"]
    assert read_choice(best, written.scop) == (original_schedule(written.scop), SEQUENTIAL_MAPPING)
    assert {program.storage for program, _, _ in emitted} == {SOURCE_STORAGE}
    assert (folder / BEST_C_FILE).exists()
    document = result.to_json()
    assert document["is_source"] is True
    assert document["best"]["index"] is None


def test_a_slower_candidate_is_never_the_best_file(tmp_path: Path) -> None:
    """Not even while the search is at work, in which anything may end it."""
    seen: list[str] = []

    def look(_: SearchProgress) -> None:
        seen.append(json.loads((tmp_path / BEST_FILE).read_text())["outcome"]["mapping"])

    run_fake(
        begin_fake(tmp_path), 4, runner=FakeRunner(evaluate=slow), hooks=SearchHooks(show=look)
    )
    assert seen
    assert set(seen) == {str(SEQUENTIAL_MAPPING)}


def test_what_beats_the_source_is_the_best(tmp_path: Path) -> None:
    result = run_fake(begin_fake(tmp_path), 4, runner=FakeRunner(9.0))
    assert not result.best_finding.is_source
    assert result.is_improvement
