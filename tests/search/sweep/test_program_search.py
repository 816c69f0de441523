"""A sweep's search of one program: what is cut off by chance is no failure of a reference."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polybench import Dataset
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime.evaluation import Evaluation, Evaluator, time_limits
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner import retries
from polygym.search.sweep import confirmation, program_search, reader
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.rows import ISL, ReferenceTiming, Timing
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, create_or_open
from polygym.search.sweep.workload import SearchRequest

PLACE = JobCores((0,), (0,))
SEEDS = ("original", "isl")


class Disturbed(Evaluator):
    """Every schedule's first run is cut off, as threads are that wait for a core."""

    runs: dict[Schedule, int]
    known: dict[Schedule, Evaluation]
    lasting: bool = False

    def _cut_off(self, evaluation: Evaluation) -> Evaluation:
        self.runs[evaluation.schedule] = self.runs.get(evaluation.schedule, 0) + 1
        if self.runs[evaluation.schedule] > 1 and not self.lasting:
            return evaluation
        return Evaluation(
            evaluation.schedule,
            OutcomeStatus.TIMEOUT,
            error_type="Timeout",
            error_details="pretended",
            mapping=evaluation.mapping,
        )

    def evaluate(self, schedule: Schedule, *given: Any, **options: Any) -> Evaluation:
        if options.get("fresh"):
            return self._cut_off(super().evaluate(schedule, *given, **options))
        if schedule not in self.known:
            self.known[schedule] = self._cut_off(super().evaluate(schedule, *given, **options))
        return self.known[schedule]

    def evaluate_interleaved(self, *given: Any) -> tuple[Evaluation, ...]:
        return tuple(map(self._cut_off, super().evaluate_interleaved(*given)))


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Give a function that disturbs all that sweeps measure; told whether for ever."""

    def disturb(lasting: bool) -> None:
        kind = type("_", (Disturbed,), {"runs": {}, "known": {}, "lasting": lasting})
        for module in (program_search, confirmation):
            monkeypatch.setattr(module, "Evaluator", kind)
            monkeypatch.setattr(module, "pin_to_cores", lambda _: None)
        monkeypatch.setattr(retries, "_PAUSE_SECONDS", 0.0)

    return disturb


def swept(folder: Path, seeds: tuple[str, ...], budget: int) -> SweepStore:
    setting = SweepSetting(
        seed=5, search_dataset=Dataset.MINI, dataset=Dataset.MINI, initial_schedules=seeds
    )
    store = create_or_open(folder, setting)
    store.add_kernels(("mvt",))
    request = SearchRequest(("bias_coeff_0",), budget, None)
    program_search.search_program(store, setting, "mvt", request, PLACE, lambda: False)
    confirmation.confirm_program(store, setting, "mvt", 3, (), PLACE)
    return store


def statuses(store: SweepStore) -> dict[str, OutcomeStatus]:
    return {
        outcome.schedule: outcome.timing.status for outcome in reader.outcomes(store.connection)
    }


def test_seeds_references_and_the_best_are_tried_again(
    tmp_path: Path, disturbed: Callable[[bool], None]
) -> None:
    disturbed(False)
    scop = SweepSetting().subject("mvt", Dataset.MINI).program.scop
    with swept(tmp_path, SEEDS, 6) as store:
        outcome_statuses = statuses(store)
        for schedule in (original_schedule(scop), isl_schedule(scop)):
            assert outcome_statuses.pop(str(schedule)) is OutcomeStatus.OK
        # Of a thousand others one more counts for nothing.
        assert outcome_statuses
        assert set(outcome_statuses.values()) == {OutcomeStatus.TIMEOUT}
        references = reader.references(store.connection, "mvt")
        assert {(timing.name, timing.timing.status) for timing in references} == {
            (ISL, OutcomeStatus.OK)
        }
        best = reader.confirmations(store.connection, "mvt")
        assert [confirmed.timing.status for confirmed in best] == [OutcomeStatus.OK] * 2


def test_the_same_is_found_whether_code_waits_or_is_made_ahead(
    tmp_path: Path, disturbed: Callable[[bool], None]
) -> None:
    disturbed(False)
    setting = SweepSetting(
        seed=5, search_dataset=Dataset.MINI, dataset=Dataset.MINI, initial_schedules=SEEDS
    )
    request, runs = SearchRequest(("bias_coeff_0",), 9, None), []
    for beside in ((), (0,)):
        (tmp_path / str(len(beside))).mkdir()
        with create_or_open(tmp_path / str(len(beside)), setting) as store:
            store.add_kernels(("mvt",))
            program_search.search_program(
                store, setting, "mvt", request, JobCores((0,), (0,)), lambda: False, beside
            )
            schedules = {
                outcome.number: outcome.schedule for outcome in reader.outcomes(store.connection)
            }
            runs.append(
                [
                    (episode_row.index, episode_row.reason or schedules[episode_row.outcome])
                    for episode_row in reader.episodes(store.connection, "mvt")
                ]
            )
    assert runs[0] == runs[1]
    assert len(runs[0]) == 9


@pytest.mark.parametrize("seeds", [(), SEEDS])
def test_who_stops_does_not_wait_for_isl(
    tmp_path: Path,
    disturbed: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    seeds: tuple[str, ...],
) -> None:
    disturbed(False)
    monkeypatch.setattr(time_limits, "schedule_by", lambda *_: time.sleep(1000))
    setting = SweepSetting(
        search_dataset=Dataset.MINI, dataset=Dataset.MINI, initial_schedules=seeds
    )
    request, start = SearchRequest(("bias_coeff_0",), 2, None), time.monotonic()
    with create_or_open(tmp_path, setting) as store:
        store.add_kernels(("mvt",))
        if seeds:  # then the references are known, and the seed is what is waited for
            store.set_reference(ReferenceTiming("mvt", "mini", ISL, Timing(OutcomeStatus.TIMEOUT)))
        program_search.search_program(
            store, setting, "mvt", request, PLACE, lambda: time.monotonic() > start + 1.0
        )
        assert time.monotonic() - start < 30
        assert len(list(reader.references(store.connection, "mvt"))) == len(seeds[:1])
        assert not list(reader.episodes(store.connection, "mvt"))


def test_isls_schedule_has_one_outcome_whoever_finds_it(
    tmp_path: Path, disturbed: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed(False)
    scop = SweepSetting().subject("mvt", Dataset.MINI).program.scop
    isl = isl_schedule(scop)
    monkeypatch.setattr(program_search, "schedule_or_reason", lambda _: isl)
    with swept(tmp_path, (), 2) as store:
        assert statuses(store) == {str(isl): OutcomeStatus.OK}


def test_what_is_too_slow_indeed_is_a_timeout(
    tmp_path: Path, disturbed: Callable[[bool], None]
) -> None:
    disturbed(True)
    with swept(tmp_path, SEEDS, 2) as store:
        assert set(statuses(store).values()) == {OutcomeStatus.TIMEOUT}
        (reference, *_) = reader.references(store.connection, "mvt")
        assert reference.timing.status is OutcomeStatus.TIMEOUT
        assert reference.timing.detail == "Timeout: pretended"


@pytest.mark.parametrize(("others", "kept"), [(0.8, 0.8), (0.1, None)])
def test_what_else_the_machine_did_is_kept_for_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: float, kept: float | None
) -> None:
    monkeypatch.setattr(LoadMonitor, "load", lambda _: BackgroundLoad(60.0, others, 0.0, 2))
    for module in (program_search, confirmation):
        monkeypatch.setattr(module, "pin_to_cores", lambda _: None)
    with swept(tmp_path, (), 1):
        loads = reader.read_sweep(tmp_path).background_loads
        pairs = [(row.kernel, row.others) for row in loads]
    assert pairs == ([] if kept is None else [("mvt", kept)] * 2)
