"""A search by the policy that has learned: mappings are found too, and all of it is replayed."""

import json
from pathlib import Path

from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.poly.baselines import isl_schedule
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes import record
from polygym.episodes.ids import OPTIMIZE
from polygym.search.explore.explorer import Explored, Measured, Repeated
from polygym.search.explore.folder import BEST, JOURNAL
from polygym.search.explore.journal import read
from polygym.search.explore.tally import Finding
from tests.search.explore.pretending import begun, pretended, resumed, setting

BUDGET = 9


def explored(folder: Path, budget: int = BUDGET) -> list[Explored]:
    folder.mkdir(exist_ok=True)
    search = begun(folder, setting(policy="learned"))
    with search.journal:
        return list(search.run(budget, pretended))


def test_the_first_episode_is_the_one_answer_and_the_others_explore(tmp_path: Path) -> None:
    events = explored(tmp_path)
    known = {
        (event.evaluation.schedule, event.evaluation.mapping)
        for event in events
        if isinstance(event, Measured)
    }
    assert len(known) > 3
    assert len({mapping for _, mapping in known}) > 1
    again = explored(tmp_path / "again", 1)
    assert again[0].episode.actions == events[0].episode.actions
    for event in events:
        if isinstance(event, Repeated):
            assert (event.schedule, event.episode.mapping) in known


def test_every_line_is_replayed_with_its_mapping(tmp_path: Path) -> None:
    explored(tmp_path)
    lines = read(tmp_path / JOURNAL).episodes
    assert len(lines) == BUDGET
    for line in lines:
        assert line["environment"] == OPTIMIZE
        found = record.replay(line, "a line")
        if line["outcome"] is not None:
            assert str(found.measuring.mapping) == line["outcome"]["mapping"]
    best = json.loads((tmp_path / BEST).read_text())
    found = record.replay(best, BEST)
    assert str(found.measuring.mapping) == best["outcome"]["mapping"]


def test_it_goes_on(tmp_path: Path) -> None:
    whole = explored(tmp_path / "whole")
    explored(tmp_path / "parts", 4)
    search = resumed(tmp_path / "parts", setting(policy="learned"))
    with search.journal:
        rest = list(search.run(BUDGET, pretended))
    assert [one.episode.actions for one in rest] == [one.episode.actions for one in whole[4:]]
    assert search.tally.explored == BUDGET


def test_another_mapping_of_what_it_found_is_kept_as_a_schedule_that_was_given(
    tmp_path: Path,
) -> None:
    search = begun(tmp_path, setting(policy="learned"))
    with search.journal:
        first, *_ = search.run(1, pretended)
        assert isinstance(first, Measured)
        mapping = parse_mapping("tile=7 separate=on")
        schedule: Schedule = isl_schedule(search.setting.subject.program.scop)
        search.confirm(Finding(0, pretended(schedule, mapping)))
    best = json.loads((tmp_path / BEST).read_text())
    found = record.replay(best, BEST)
    assert (found.schedule, found.measuring.mapping) == (schedule, mapping)
    assert best["actions"] == []
