"""A trial of storage variants: the program as models have it beside it as it was written."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.search.settings import SearchSetting
from polygym.search.storage_trial import try_storage
from tests.search.fakes import FakeRunner, setting
from tests.search.test_source_answer import blur_setting, timed


def factory_of(
    speedups: dict[bool, float], asked: list[tuple[bool, Schedule, Mapping]]
) -> Callable[[SearchSetting], object]:
    """Return runners under which all of a storage variant is as fast as is said."""

    def of(candidate: SearchSetting) -> object:
        is_source = candidate.source.storage.is_source

        def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
            asked.append((is_source, schedule, mapping))
            result = timed((1 / speedups[is_source],), (1.0,), mapping)
            return replace(result, schedule=schedule)

        @contextmanager
        def opened(
            _: Program, __: EvaluationOptions, ___: int | None
        ) -> Iterator[AbstractContextManager[FakeRunner]]:
            yield FakeRunner(evaluate=evaluate)  # type: ignore[misc]

        return opened

    return of


@pytest.mark.parametrize(
    ("changed", "written", "is_changed"),
    [
        (2.0, 0.5, True),
        (0.5, 0.2, False),
        (1.02, 0.9, False),
        (2.0, 1.99, False),
        (1.5, 3.0, False),
    ],
)
def test_the_faster_of_both_is_searched(
    tmp_path: Path, changed: float, written: float, is_changed: bool
) -> None:
    of = blur_setting(tmp_path)
    asked: list[tuple[bool, Schedule, Mapping]] = []
    trial = try_storage(of, factory_of({False: changed, True: written}, asked))  # type: ignore[arg-type]
    assert trial.setting.source.storage.is_source is not is_changed
    assert {is_source for is_source, _, _ in asked} == {True, False}
    assert [entry["storage"] for entry in trial.to_json()] == ["S0:sum=expand:i,j", "keep"]


def test_one_thread_is_tried_too(tmp_path: Path) -> None:
    of = blur_setting(tmp_path)
    of = replace(of, evaluation=replace(of.evaluation, threads=2))
    asked: list[tuple[bool, Schedule, Mapping]] = []
    try_storage(of, factory_of({False: 1.0, True: 1.0}, asked))  # type: ignore[arg-type]
    assert {mapping.threads for _, _, mapping in asked} == {1, 2}


def test_a_program_as_it_was_written_needs_no_trial() -> None:
    of = setting()
    trial = try_storage(of, lambda _: pytest.fail("nothing is to be measured"))
    assert (trial.setting, trial.tried) == (of, ())
