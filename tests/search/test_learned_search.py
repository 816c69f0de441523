"""A search by the policy that has learned: mappings are found too, and all of it is replayed."""

import json
from pathlib import Path
from typing import Any

from polygym.mapping.mapping import parse_mapping
from polygym.mdp.env_ids import OPTIMIZE
from polygym.mdp.records import episode_record
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.search.folder import BEST_FILE, JOURNAL_FILE
from polygym.search.journal import read_journal
from polygym.search.result import Finding
from tests.search.fakes import (
    begin_fake,
    fake_evaluation,
    fake_loop,
    resume_fake,
    run_fake,
    setting,
)

BUDGET = 9


def explored(folder: Path, budget: int = BUDGET) -> list[dict[str, Any]]:
    run_fake(begin_fake(folder, setting(policy="learned")), budget)
    return episodes(folder)


def episodes(folder: Path) -> list[dict[str, Any]]:
    lines = read_journal(folder / JOURNAL_FILE).episodes
    return [line for line in lines if line["stage"] == "search"]


def test_the_first_episode_is_the_one_answer_and_the_others_explore(tmp_path: Path) -> None:
    lines = explored(tmp_path)
    whole = read_journal(tmp_path / JOURNAL_FILE).episodes
    known = {(line["schedule"], line["mapping"]) for line in whole if line["outcome"]}
    assert len(known) > 3
    assert len({mapping for _, mapping in known}) > 1
    again = explored(tmp_path / "again", 1)
    assert again[0]["actions"] == lines[0]["actions"]
    for line in lines:
        if line["repeats"] is not None:
            assert (line["schedule"], line["mapping"]) in known


def test_every_line_is_replayed_with_its_mapping(tmp_path: Path) -> None:
    explored(tmp_path)
    lines = episodes(tmp_path)
    assert len(lines) == BUDGET
    for line in lines:
        assert line["environment"] == OPTIMIZE
        replay = episode_record.replay_record(line, "a line")
        if line["outcome"] is not None:
            assert str(replay.evaluation_options.mapping) == line["outcome"]["mapping"]
    best = json.loads((tmp_path / BEST_FILE).read_text())
    replay = episode_record.replay_record(best, BEST_FILE)
    assert str(replay.evaluation_options.mapping) == best["outcome"]["mapping"]


def test_it_goes_on(tmp_path: Path) -> None:
    whole = explored(tmp_path / "whole")
    explored(tmp_path / "parts", 4)
    search = resume_fake(tmp_path / "parts", setting(policy="learned"))
    run_fake(search, BUDGET)
    rest = episodes(tmp_path / "parts")[4:]
    assert [line["actions"] for line in rest] == [line["actions"] for line in whole[4:]]
    assert search.tally.explored == BUDGET


def test_another_mapping_of_what_it_found_is_kept_as_a_schedule_that_was_given(
    tmp_path: Path,
) -> None:
    search = begin_fake(tmp_path, setting(policy="learned"))
    fake_loop(search, 1).run()
    mapping = parse_mapping("tile=7 separate=on")
    schedule: Schedule = isl_schedule(search.setting.subject.program.scop)
    search.confirm(Finding(0, "isl", fake_evaluation(schedule, mapping)))
    search.close()
    best = json.loads((tmp_path / BEST_FILE).read_text())
    replay = episode_record.replay_record(best, BEST_FILE)
    assert (replay.schedule, replay.evaluation_options.mapping) == (schedule, mapping)
    assert best["actions"] == []
