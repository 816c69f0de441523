"""Trying mappings: every pair once, the climb climbs, a killed tuning goes on."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.mdp.records import episode_record
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.folder import BEST_C_FILE, BEST_FILE, JOURNAL_FILE
from polygym.search.result import Finding
from polygym.search.strategies.hill_climbing import climb
from polygym.search.strategies.neighborhood import initial_variants, mutate_mapping
from tests.search.fakes import FakeRunner, begin_fake, resume_fake, run_fake, setting

SCOP = setting().subject.program.scop
SCHEDULES = (original_schedule(SCOP), isl_schedule(SCOP))


def timed(schedule: Schedule, mapping: Mapping) -> Evaluation:
    """Return an outcome that is the better, the nearer the tile is to 64 by 128, and jam to 4."""
    sizes = (*(mapping.tile or ()), 1, 1)[:2]
    away = abs(np.log2(sizes[0] / 64)) + abs(np.log2(sizes[1] / 128))
    away += abs((mapping.unroll_jam or 1) - 4) + (0.5 if schedule == SCHEDULES[0] else 0.0)
    speedup = float(10 / (1 + away))
    return Evaluation(schedule, OutcomeStatus.OK, speedup, 1 / speedup, 1.0, (1 / speedup,), (1.0,),
                      mapping=mapping)  # fmt: skip


def tuned(count: int, start: Mapping = DEFAULT_MAPPING, seed: int = 0) -> list[Evaluation]:
    return list(climb(SCHEDULES, start, seed, range(count), timed, {}))


@pytest.mark.parametrize(
    "start", [DEFAULT_MAPPING, replace(SEQUENTIAL_MAPPING, threads=2), Mapping(threads=4)]
)
def test_every_pair_is_tried_once_and_the_best_is_approached(start: Mapping) -> None:
    evaluations = tuned(300, start)
    pairs = [(evaluation.schedule, evaluation.mapping) for evaluation in evaluations]
    assert len(set(pairs)) == len(pairs) == 300
    assert pairs[: len(SCHEDULES)] == [(schedule, start) for schedule in SCHEDULES]
    assert {mapping.threads for _, mapping in pairs} == {start.threads}
    assert max(evaluation.speedup for evaluation in evaluations) > 6
    assert [trial.mapping for trial in tuned(300, start)] == [mapping for _, mapping in pairs]


def test_what_is_known_is_not_tried_again() -> None:
    known: dict[MappedSchedule, Evaluation] = {
        (evaluation.schedule, evaluation.mapping): evaluation for evaluation in tuned(40)
    }
    more = list(climb(SCHEDULES, DEFAULT_MAPPING, 0, range(40, 60), timed, known))
    assert len(more) == 20
    assert not set(known) & {(trial.schedule, trial.mapping) for trial in more}


@pytest.mark.parametrize(
    "text", ["default", "sequential", "tile=16x16 unroll_jam=2", "vector_bits=off"]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_ideas_and_changes_are_mappings_of_the_same_threads(text: str, threads: int) -> None:
    start = replace(parse_mapping(text), threads=threads)
    mappings = initial_variants(start)
    assert len(set(mappings)) == len(mappings) > 8
    assert start not in mappings
    assert {mapping.threads for mapping in mappings} == {threads}
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    mapping = start
    for _ in range(300):
        mapping = mutate_mapping(mapping, rng)
        assert mapping.threads == threads
        assert replace(parse_mapping(str(mapping)), threads=threads) == mapping


def test_a_climb_that_is_resumed_knows_what_was_tried(tmp_path: Path) -> None:
    runner = FakeRunner(evaluate=timed)
    search = begin_fake(tmp_path)
    result = run_fake(search, 1, 30, runner=runner)
    best = json.loads((tmp_path / BEST_FILE).read_text())
    with open(tmp_path / JOURNAL_FILE, "a") as file:
        file.write('{"index": 33, "sched')
    again = resume_fake(tmp_path)
    run_fake(again, 1, 30, runner=FakeRunner(evaluate=timed))
    assert again.tally == search.tally
    assert best == json.loads((tmp_path / BEST_FILE).read_text())
    speedups = [finding.speedup for finding in search.tally.trials.values()]
    assert len(speedups) == 30
    assert search.tally.best is not None
    assert search.tally.best.speedup == max(speedups)
    mapping = result.best.mapping
    assert best["arguments"]["mapping"] == str(mapping)
    assert str(mapping) in (tmp_path / BEST_C_FILE).read_text()
    played = episode_record.replay_record(
        episode_record.read_record(json.dumps(best), BEST_FILE), BEST_FILE
    )
    assert (played.episode, played.schedule) == (None, result.best.schedule)
    assert played.evaluation_options.mapping == mapping


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"actions": [0]}, "since the schedule is given"),
        ({"schedule": "{ S9[i] -> [i] }"}, "the schedule: "),
        ({"schedule": ""}, "the schedule: "),
    ],
)
def test_given_records_are_checked(entries: dict[str, object], expected: str) -> None:
    whole = setting().record_of_schedule(timed(SCHEDULES[1], DEFAULT_MAPPING)) | {"outcome": None}
    assert episode_record.replay_record(whole, "a file").schedule == SCHEDULES[1]
    with pytest.raises(InputError, match=expected):
        episode_record.replay_record(whole | entries, "a file")


def test_labels() -> None:
    evaluation = timed(SCHEDULES[0], DEFAULT_MAPPING)
    assert [Finding(3, name, evaluation).label for name in ("learned#3", "isl")] == [
        "learned#3",
        "isl",
    ]
