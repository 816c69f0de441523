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
from polygym.mdp.records import episode_record
from polygym.mdp.task_options import TaskOptions
from polygym.search.folder import (
    BEST_C_FILE,
    BEST_FILE,
    JOURNAL_FILE,
    SUMMARY_FILE,
    SearchFolder,
)
from polygym.search.journal import read_journal
from polygym.search.loop import SearchHooks, SearchProgress
from polygym.search.result import Finding, SearchStage
from polygym.search.settings import SearchSetting
from tests.c_programs import Y_AX
from tests.search.fakes import FakeRunner, begin_fake, fake_loop, resume_fake, run_fake, setting

ROOT = Path(__file__).parents[2]
BUDGET = 14

# Explores in the folder argv[1] and kills itself, as nothing else can, in episode argv[2].
SUICIDE = """
import os, signal, sys
from pathlib import Path
from polygym.search.loop import SearchHooks
from tests.search.fakes import FakeRunner, begin_fake, fake_evaluation, run_fake, setting
search, last = begin_fake(Path(sys.argv[1]), setting(policy=sys.argv[3])), int(sys.argv[2])
def evaluate(schedule, mapping):
    if search.tally.lines == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return fake_evaluation(schedule, mapping)
show = lambda progress: print(progress.tried - 1, flush=True)
run_fake(search, 1000, runner=FakeRunner(evaluate=evaluate), hooks=SearchHooks(show))
"""


def run(search: SearchFolder, budget: int = BUDGET) -> SearchFolder:
    """Run a search to the end of its budget, and close it."""
    run_fake(search, budget)
    return search


@pytest.fixture(params=["bias_coeff_0", "genetic"])
def of(request: pytest.FixtureRequest) -> SearchSetting:
    """Return a search by an indexed strategy, and one by another."""
    return setting(policy=request.param)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of searches that nobody disturbed."""
    result = {}
    for name in ("bias_coeff_0", "genetic"):
        result[name] = tmp_path_factory.mktemp(name)
        run(begin_fake(result[name], setting(policy=name)))
    return result


@pytest.fixture
def alone(folders: dict[str, Path], of: SearchSetting) -> Path:
    """Return the folder of a search that nobody disturbed."""
    return folders[of.strategy]


def same(one: Path, other: Path) -> bool:
    names = (JOURNAL_FILE, BEST_FILE, BEST_C_FILE)
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_twice_the_same(alone: Path, tmp_path: Path, of: SearchSetting) -> None:
    run(begin_fake(tmp_path, of))
    assert same(alone, tmp_path)


@pytest.mark.parametrize("first", [1, 5, BUDGET])
def test_resumed_is_uninterrupted(
    alone: Path, tmp_path: Path, of: SearchSetting, first: int
) -> None:
    run(begin_fake(tmp_path, of), first)
    before = (tmp_path / JOURNAL_FILE).read_bytes().splitlines()
    search = run(resume_fake(tmp_path, of))
    assert (tmp_path / JOURNAL_FILE).read_bytes().splitlines()[: len(before)] == before
    assert journal_lines(alone) == journal_lines(tmp_path)
    assert search.tally.explored == BUDGET


def journal_lines(folder: Path) -> list[bytes]:
    """Return the lines but for the first, in which the budget stands."""
    return (folder / JOURNAL_FILE).read_bytes().splitlines()[1:]


def test_a_tally_from_the_journal_is_the_live_one(
    alone: Path, tmp_path: Path, of: SearchSetting
) -> None:
    live = run(begin_fake(tmp_path, of)).tally
    runner = FakeRunner()
    again = resume_fake(tmp_path, of)
    run_fake(again, BUDGET, runner=runner)
    assert len(runner.asked) == len(runner.together[0])  # nothing is measured alone again
    assert again.tally == live
    assert live.best is not None
    assert live.fastest(1) == (live.best,)
    assert [speedup for _, speedup in live.curve] == sorted(speedup for _, speedup in live.curve)
    assert sum(live.counts.values()) == live.explored == BUDGET
    timeouts = [finding.evaluation.status.value for finding in live.findings.values()].count(
        "timeout"
    )
    assert live.failed == timeouts


@pytest.mark.parametrize("last", [3, 9])
def test_killed_in_the_middle_and_resumed(
    alone: Path, tmp_path: Path, of: SearchSetting, last: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUICIDE, str(tmp_path), str(last), of.strategy],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    reported = [int(line) for line in done.stdout.split()]
    assert reported == list(range(len(reported)))
    assert len(read_journal(tmp_path / JOURNAL_FILE).episodes) == len(reported) >= last
    run(resume_fake(tmp_path, of))
    assert journal_lines(alone) == journal_lines(tmp_path)


@pytest.mark.parametrize("cut", [1, 100, 700])
def test_a_torn_last_line_is_explored_again(
    alone: Path, tmp_path: Path, of: SearchSetting, cut: int
) -> None:
    run(begin_fake(tmp_path, of))
    journal = tmp_path / JOURNAL_FILE
    count = len(read_journal(journal).episodes)
    os.truncate(journal, journal.stat().st_size - cut)
    assert len(read_journal(journal).episodes) == count - 1
    search = run(resume_fake(tmp_path, of))
    assert search.tally.lines == count
    assert same(alone, tmp_path)


def test_a_full_disk_keeps_what_was_explored(
    alone: Path, tmp_path: Path, of: SearchSetting
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    search = begin_fake(tmp_path, of)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, before[1]))
    try:
        result = fake_loop(search, BUDGET).run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        search.close()
    assert isinstance(result.error, OSError)
    assert str(result.error.filename).endswith(("journal.jsonl", "summary.json"))
    kept = read_journal(tmp_path / JOURNAL_FILE)
    assert 0 < len(kept.episodes) < BUDGET
    assert kept.torn == 0
    run(resume_fake(tmp_path, of))
    assert journal_lines(alone) == journal_lines(tmp_path)


@pytest.mark.parametrize("later", [0, 6])
def test_mappings_and_episodes_go_on(tmp_path: Path, of: SearchSetting, later: int) -> None:
    """Hill climbing and the strategy share the journal, whichever of them went on first."""
    run_fake(begin_fake(tmp_path, of), 4, 3)
    before = read_journal(tmp_path / JOURNAL_FILE).episodes
    search = resume_fake(tmp_path, of)
    run_fake(search, 4 + later, 7)
    after = read_journal(tmp_path / JOURNAL_FILE).episodes
    assert after[: len(before)] == before
    assert (search.tally.explored, len(search.tally.trials)) == (4 + later, 7)
    pairs = [(line["schedule"], line["mapping"]) for line in after if line["stage"] == "mappings"]
    assert len(set(pairs)) == len(pairs) == 7


def test_every_line_and_the_best_can_be_replayed(alone: Path) -> None:
    for line in read_journal(alone / JOURNAL_FILE).episodes:
        played = episode_record.replay_record(line, "a line")
        assert not played.is_source_changed
        if line["schedule"]:
            assert str(played.schedule) == line["schedule"]
        if line["outcome"]:
            assert str(played.evaluation_options.mapping) == line["mapping"]
    best = episode_record.read_record((alone / BEST_FILE).read_text(), BEST_FILE)
    assert str(episode_record.replay_record(best, BEST_FILE).schedule) == best["schedule"]
    assert best["schedule"] in (alone / BEST_C_FILE).read_text()
    assert not {"index", "stage", "source", "repeats", "reason"} & best.keys()
    summary = json.loads((alone / SUMMARY_FILE).read_text())
    assert summary["best"]["schedule"] == best["schedule"]
    assert summary["best"]["speedup"] == best["outcome"]["speedup"]


def test_a_confirmed_finding_becomes_the_best(tmp_path: Path) -> None:
    search = run(begin_fake(tmp_path))
    second = search.tally.fastest(2)[1]
    again = replace(second.evaluation, speedup=99.0)
    search.confirm(Finding(second.index, second.source, again))
    best = json.loads((tmp_path / BEST_FILE).read_text())
    assert best["schedule"] == str(second.evaluation.schedule)
    assert best["outcome"]["speedup"] == 99.0


def test_a_search_is_not_overwritten(folders: dict[str, Path]) -> None:
    alone = folders["bias_coeff_0"]
    before = (alone / JOURNAL_FILE).read_bytes()
    with pytest.raises(InputError, match="--resume"):
        begin_fake(alone)
    assert (alone / JOURNAL_FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("other", "fragment"),
    [
        (setting(seed=1), "seed: 0 before, 1 now"),
        (setting(policy="uniform"), "strategy: bias_coeff_0 before, uniform now"),
        (setting("atax"), "program.target: mvt before, atax now"),
        (replace(setting(), options=TaskOptions(3)), "process.max_coefficient: 2 before, 3 now"),
        (
            replace(setting(), source=replace(setting().source, parameters=(("n", 9),))),
            "program.parameters.n: 40 before, 9 now",
        ),
    ],
)
def test_only_the_same_search_is_continued(
    folders: dict[str, Path], other: SearchSetting, fragment: str
) -> None:
    alone = folders["bias_coeff_0"]
    before = (alone / JOURNAL_FILE).read_bytes()
    with pytest.raises(InputError, match=fragment):
        resume_fake(alone, other)
    assert (alone / JOURNAL_FILE).read_bytes() == before


def test_a_search_goes_on_where_polygym_was_installed_elsewhere(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    alone = folders["bias_coeff_0"]
    for name in (JOURNAL_FILE, BEST_FILE, BEST_C_FILE, SUMMARY_FILE):
        text = (alone / name).read_text()
        file = str(setting().subject.file)
        assert (file in text) == (name != BEST_C_FILE)
        (tmp_path / name).write_text(text.replace(file, "/another/place/mvt.c"))
    search = resume_fake(tmp_path)
    search.close()
    assert len(search.recorded(SearchStage.SEARCH)) == BUDGET

    journal = (tmp_path / JOURNAL_FILE).read_text()
    digest = setting().subject.source_digest
    (tmp_path / JOURNAL_FILE).write_text(journal.replace(digest, "0" * len(digest)))
    with pytest.raises(InputError, match=r"file: /another/place/mvt.c before, .*; the text of the"):
        resume_fake(tmp_path)


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    run(begin_fake(tmp_path), 2)
    journal = tmp_path / JOURNAL_FILE
    journal.write_text(journal.read_text().replace('"version":2', '"version":1', 1))
    with pytest.raises(InputError, match="expected version 2 of the format, found 1"):
        resume_fake(tmp_path)


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

    def show(progress: SearchProgress) -> None:
        if progress.tried == 2:
            source.write_text(Y_AX.replace("y[i] = 0", "y[i] = 1"))
        elif progress.tried == 3:
            source.unlink()

    of = setting(str(source))
    result = run_fake(begin_fake(tmp_path, of), 6, hooks=SearchHooks(show))
    assert result.error is None
    contents = read_journal(tmp_path / JOURNAL_FILE)
    assert len([line for line in contents.episodes if line["stage"] == "search"]) == 6
    digests = {line["program"]["sha256"] for line in contents.episodes}
    assert digests == {contents.setting["program"]["sha256"]}


@pytest.mark.parametrize(
    ("strategy", "key", "value", "told"),
    [
        ("bias_coeff_0", "actions", [3, 3], "expected episode 2 of the search"),
        ("genetic", "mapping", "tile=7", "expected candidate [0-9]+ of the search"),
    ],
)
def test_other_proposals_than_recorded_are_noticed(
    tmp_path: Path, strategy: str, key: str, value: object, told: str
) -> None:
    of = setting(policy=strategy)
    run(begin_fake(tmp_path, of), 3)
    journal = tmp_path / JOURNAL_FILE
    *lines, last = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines, json.dumps({**json.loads(last), key: value})]) + "\n")
    search = resume_fake(tmp_path, of)
    result = fake_loop(search, 3).run()
    search.close()
    with pytest.raises(InputError, match=told):
        raise result.error or AssertionError


@pytest.mark.parametrize(("policy", "seed"), [("nobody", 0), ("uniform", -1), ("uniform", 2**63)])
def test_settings_that_cannot_be(policy: str, seed: int) -> None:
    with pytest.raises(InputError, match="expected"):
        setting(policy=policy, seed=seed)
