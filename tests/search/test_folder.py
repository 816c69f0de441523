"""A search in a folder: killed and resumed it is the one that was left alone."""

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mdp.records import episode_record
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.search.folder import (
    BEST_C_FILE,
    BEST_FILE,
    JOURNAL_FILE,
    SUMMARY_FILE,
    SearchFolder,
)
from polygym.search.journal import read_journal
from polygym.search.settings import SearchSetting
from polygym.search.tally import Finding
from tests.c_programs import Y_AX
from tests.search.fakes import begin_fake, fake_evaluation, resume_fake, setting

ROOT = Path(__file__).parents[3]
BUDGET = 14

# Explores in the folder argv[1] and kills itself, as nothing else can, in episode argv[2].
SUICIDE = """
import os, signal, sys
from pathlib import Path
from tests.search.fakes import begin_fake, fake_evaluation
search, last = begin_fake(Path(sys.argv[1])), int(sys.argv[2])
def evaluate(schedule, mapping):
    if search.tally.explored == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return fake_evaluation(schedule)
for event in search.run(1000, evaluate):
    print(event.index, flush=True)
"""


def run(search: SearchFolder, budget: int = BUDGET) -> SearchFolder:
    """Run a search to the end of its budget, and close it."""
    with search.journal:
        for _ in search.run(budget, fake_evaluation):
            pass
    return search


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a search that nobody disturbed."""
    folder = tmp_path_factory.mktemp("alone")
    run(begin_fake(folder))
    return folder


def same(one: Path, other: Path) -> bool:
    names = (JOURNAL_FILE, BEST_FILE, BEST_C_FILE)
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_twice_the_same(alone: Path, tmp_path: Path) -> None:
    run(begin_fake(tmp_path))
    assert same(alone, tmp_path)


@pytest.mark.parametrize("first", [0, 1, 5, BUDGET])
def test_resumed_is_uninterrupted(alone: Path, tmp_path: Path, first: int) -> None:
    run(begin_fake(tmp_path), first)
    search = run(resume_fake(tmp_path))
    assert same(alone, tmp_path)
    assert search.tally.explored == BUDGET


def test_a_tally_from_the_journal_is_the_live_one(alone: Path, tmp_path: Path) -> None:
    live = run(begin_fake(tmp_path)).tally
    read_again = resume_fake(tmp_path)
    read_again.journal.close()
    assert read_again.tally == live
    assert live.best is not None
    assert live.fastest(1) == (live.best,)
    assert [speedup for _, speedup in live.curve] == sorted(speedup for _, speedup in live.curve)
    assert sum(live.counts.values()) == live.explored == BUDGET
    assert live.failed == live.counts["timeout"]


@pytest.mark.parametrize("last", [3, 9])
def test_killed_in_the_middle_and_resumed(alone: Path, tmp_path: Path, last: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUICIDE, str(tmp_path), str(last)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    reported = [int(line) for line in done.stdout.split()]
    assert reported == list(range(last))
    assert len(read_journal(tmp_path / JOURNAL_FILE).episodes) == last
    run(resume_fake(tmp_path))
    assert same(alone, tmp_path)


@pytest.mark.parametrize("cut", [1, 100, 700])
def test_a_torn_last_line_is_explored_again(alone: Path, tmp_path: Path, cut: int) -> None:
    run(begin_fake(tmp_path))
    journal = tmp_path / JOURNAL_FILE
    os.truncate(journal, journal.stat().st_size - cut)
    search = resume_fake(tmp_path)
    assert search.tally.explored == BUDGET - 1
    run(search)
    assert same(alone, tmp_path)


def test_a_full_disk_keeps_what_was_explored(alone: Path, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    search = begin_fake(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"episodes\.jsonl|summary\.json"):
            run(search)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    kept = read_journal(tmp_path / JOURNAL_FILE)
    assert 0 < len(kept.episodes) < BUDGET
    assert kept.torn == 0
    run(resume_fake(tmp_path))
    assert same(alone, tmp_path)


def test_a_stop_in_the_middle_of_a_measurement_loses_only_that(tmp_path: Path) -> None:
    search = begin_fake(tmp_path)

    def stopped(schedule: Schedule, mapping: Mapping) -> Evaluation:
        if search.tally.explored == 4:
            raise KeyboardInterrupt
        return fake_evaluation(schedule)

    with search.journal, pytest.raises(KeyboardInterrupt):
        for _ in search.run(BUDGET, stopped):
            pass
    assert len(read_journal(tmp_path / JOURNAL_FILE).episodes) == 4


def test_every_line_and_the_best_can_be_replayed(alone: Path) -> None:
    for line in read_journal(alone / JOURNAL_FILE).episodes:
        played = episode_record.replay_record(line, "a line")
        assert not played.is_source_changed
        if line["schedule"]:
            assert str(played.episode.schedule()) == line["schedule"]
    best = episode_record.read_record((alone / BEST_FILE).read_text(), BEST_FILE)
    assert str(episode_record.replay_record(best, BEST_FILE).episode.schedule()) == best["schedule"]
    assert (alone / BEST_C_FILE).read_text() == best["schedule"]
    assert not {"index", "repeats", "reason"} & best.keys()
    summary = json.loads((alone / SUMMARY_FILE).read_text())
    assert summary["best"]["schedule"] == best["schedule"]
    assert summary["best"]["speedup"] == best["outcome"]["speedup"]


def test_a_confirmed_finding_becomes_the_best(tmp_path: Path) -> None:
    search = run(begin_fake(tmp_path))
    second = search.tally.fastest(2)[1]
    again = replace(second.evaluation, speedup=99.0)
    search.confirm(Finding(second.index, again))
    best = json.loads((tmp_path / BEST_FILE).read_text())
    assert best["schedule"] == str(second.evaluation.schedule)
    assert best["outcome"]["speedup"] == 99.0


def test_a_search_is_not_overwritten(alone: Path) -> None:
    before = (alone / JOURNAL_FILE).read_bytes()
    with pytest.raises(InputError, match="--resume"):
        begin_fake(alone)
    assert (alone / JOURNAL_FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("other", "fragment"),
    [
        (setting(seed=1), "seed: 0 before, 1 now"),
        (setting(policy="uniform"), "policy: bias_coeff_0 before, uniform now"),
        (setting("atax"), "program.target: mvt before, atax now"),
        (replace(setting(), options=TaskOptions(3)), "process.max_coefficient: 2 before, 3 now"),
        (
            replace(setting(), source=replace(setting().source, parameters=(("n", 9),))),
            "program.parameters.n: 40 before, 9 now",
        ),
    ],
)
def test_only_the_same_search_is_continued(
    alone: Path, other: SearchSetting, fragment: str
) -> None:
    before = (alone / JOURNAL_FILE).read_bytes()
    with pytest.raises(InputError, match=fragment):
        resume_fake(alone, other)
    assert (alone / JOURNAL_FILE).read_bytes() == before


def test_a_search_goes_on_where_polygym_was_installed_elsewhere(
    alone: Path, tmp_path: Path
) -> None:
    for name in (JOURNAL_FILE, BEST_FILE, BEST_C_FILE, SUMMARY_FILE):
        text = (alone / name).read_text()
        file = str(setting().subject.file)
        assert (file in text) == (name != BEST_C_FILE)
        (tmp_path / name).write_text(text.replace(file, "/another/place/mvt.c"))
    search = resume_fake(tmp_path)
    search.close()
    assert search.tally.explored == BUDGET

    journal = (tmp_path / JOURNAL_FILE).read_text()
    digest = setting().subject.source_digest
    (tmp_path / JOURNAL_FILE).write_text(journal.replace(digest, "0" * len(digest)))
    with pytest.raises(InputError, match=r"file: /another/place/mvt.c before, .*; the text of the"):
        resume_fake(tmp_path)


def tiled(words: str) -> SearchSetting:
    """Return a search under a mapping."""
    return replace(setting(), evaluation=EvaluationOptions(mapping=parse_mapping(words)))


def test_a_changed_source_is_another_search(tmp_path: Path) -> None:
    source = tmp_path / "yax.c"
    source.write_text(Y_AX)
    run(begin_fake(tmp_path, setting(str(source))), 2)
    source.write_text(Y_AX.replace("y[i] = 0", "y[i] = 1"))
    with pytest.raises(InputError, match="the text of the program's source file"):
        resume_fake(tmp_path, setting(str(source)))


def test_a_source_that_changes_or_goes_during_the_search(tmp_path: Path) -> None:
    source = tmp_path / "yax.c"
    source.write_text(Y_AX)
    search = begin_fake(tmp_path, setting(str(source)))
    with search.journal:
        events = search.run(6, fake_evaluation)
        next(events)
        source.write_text(Y_AX.replace("y[i] = 0", "y[i] = 1"))
        next(events)
        source.unlink()
        assert len(list(events)) == 4
    contents = read_journal(tmp_path / JOURNAL_FILE)
    assert len(contents.episodes) == 6
    digests = {line["program"]["sha256"] for line in contents.episodes}
    assert digests == {contents.setting["program"]["sha256"]}


def test_other_schedules_than_recorded_are_noticed(tmp_path: Path) -> None:
    run(begin_fake(tmp_path), 3)
    journal = tmp_path / JOURNAL_FILE
    *lines, last = journal.read_text().splitlines()
    changed = json.loads(last)
    changed["actions"] = [*changed["actions"][:-1], 3, 3]
    journal.write_text("\n".join([*lines, json.dumps(changed)]) + "\n")
    with pytest.raises(InputError, match="expected episode 2 to be found again"):
        resume_fake(tmp_path)


@pytest.mark.parametrize(("policy", "seed"), [("nobody", 0), ("uniform", -1), ("uniform", 2**63)])
def test_settings_that_cannot_be(policy: str, seed: int) -> None:
    with pytest.raises(InputError, match="expected"):
        setting(policy=policy, seed=seed)
