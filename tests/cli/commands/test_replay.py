"""``polygym replay``: what holds, what no longer does, and files that are something else."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from polygym.cli.commands import replay
from polygym.mdp.policies.registry import policy_named
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.settings import SearchSetting
from polygym.search.strategies.samplers import sample_episode
from tests.c_programs import Y_AX
from tests.cli import invoke
from tests.search.fakes import fake_evaluation, setting


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return invoke.call(capsys, "replay", *arguments)


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    return invoke.call_json(capsys, "replay", *arguments)


def recorded(of: SearchSetting, index: int = 0) -> dict[str, Any]:
    """Return a finished episode, measured in pretence."""
    episode = sample_episode(of.subject.task, policy_named(of.strategy), of.plan.seed, index)
    return of.record(episode, fake_evaluation(episode.schedule()))


def saved(folder: Path, content: object) -> str:
    path = folder / "episode.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_an_episode_is_played_checked_and_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = recorded(setting())
    path = saved(tmp_path, record)
    code, data = call_json(capsys, path)
    assert code == 0
    assert data["agrees"]
    assert data["legal"]
    assert not data["source_changed"]
    assert (data["program"], data["phase"]) == ("mvt", "complete")
    assert data["steps"] == len(record["actions"])
    assert data["schedule"] == record["schedule"]
    assert data["recorded"] == record["outcome"]
    assert data["found"]["status"] == "ok"
    assert data["found"]["seconds"] > 0
    code, out, err = call(capsys, path)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["legal", "yes"] in lines
    assert ["STATUS", "TIME", "ORIGINAL", "SPEEDUP"] in lines
    assert any(line[:1] == ["recorded"] for line in lines)
    assert any(line[:3] == ["found", "now", "ok"] for line in lines)


_TRISOLV = "2,1,2,1,2,1,2,1,2,3,4,3,3,3,3,3,3,3,3,3,3,3,3"


def bare(actions: str, *more: str) -> tuple[str, ...]:
    return "--kernel", "trisolv", "-d", "mini", "--actions", actions, *more


@pytest.mark.parametrize("actions", [_TRISOLV, f"[{_TRISOLV}]", _TRISOLV.replace(",", " ")])
def test_bare_actions_are_played(capsys: pytest.CaptureFixture[str], actions: str) -> None:
    code, data = call_json(capsys, *bare(actions, "--no-run"))
    assert code == 0
    assert data["legal"]
    assert data["schedule"] == (
        "[n] -> { S0[i] -> [-1, i]; S1[i, j] -> [2j + 1, i]; S2[i] -> [2i, i] }"
    )


def test_bare_actions_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *bare(_TRISOLV, "--mapping", "sequential"))
    assert (code, err) == (0, "")
    assert "mapping   sequential" in out
    assert "recorded" not in out
    assert "found now  ok" in out


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ("5,1", "number 1: expected 0 or 1 or 2, which the mask allows in the phase construct"),
        ("2,1,2,1,2,1,2,1,2,2", "number 10: expected 3 or 4 or 5"),
        ("1", "goes on after 1 actions, in the phase construct"),
        (f"{_TRISOLV},3", "expected 23 of them, with which the episode ends, found 24"),
        ("x", "expected numbers with commas, such as 1,0,3, found 'x'"),
        ("1,-1", "expected numbers with commas"),
        ("", "expected numbers with commas"),
    ],
)
def test_bare_actions_that_are_none(
    capsys: pytest.CaptureFixture[str], actions: str, message: str
) -> None:
    code, out, err = call(capsys, *bare(actions))
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "arguments", [(), ("--kernel", "mvt"), ("--actions", "1"), ("x.json", *bare("1"))]
)
def test_a_file_or_bare_actions(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert "expected FILE, or --kernel with --actions" in err


def test_nothing_is_run_on_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        pytest.fail("something was measured")

    monkeypatch.setattr(Evaluator, "evaluate_interleaved", fail)
    code, data = call_json(capsys, saved(tmp_path, recorded(setting())), "--no-run")
    assert (code, data["legal"], data["found"]) == (0, True, None)


def test_a_file_from_another_folder(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    y_ax: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = saved(tmp_path, recorded(setting(y_ax)))
    monkeypatch.chdir("/")
    assert call(capsys, path, "--no-run")[0] == 0
    Path(y_ax).write_text(Y_AX.replace("y[i] = 0;", "y[i] = 0.5;"))
    code, out, _ = call(capsys, path, "--no-run")
    assert code == 0
    assert "source    has changed" in out
    for before, after in [("T:", "U:"), ("y[i] = 0;", "x[0] = y[i];")]:
        Path(y_ax).write_text(Y_AX.replace(before, after))
        code, out, err = call(capsys, path, "--no-run")
        assert (code, out) == (1, "")
        assert "changed since" in err


def test_a_file_that_has_moved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, y_ax: str
) -> None:
    path = saved(tmp_path, recorded(setting(y_ax)))
    moved = str(Path(y_ax).rename(tmp_path / "moved.c"))
    code, out, err = call(capsys, path, "--no-run")
    assert (code, out) == (2, "")
    assert err.count(y_ax) == 1
    assert "--file NEW.c" in err
    assert "Errno" not in err
    assert call(capsys, path, "--no-run", "--file", moved)[0] == 0
    code, _, err = call(capsys, path, "--no-run", "--file", y_ax)
    assert code == 2
    assert "does not exist" in err


def test_times_of_other_sizes_are_not_shown_beside_those_that_are_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = recorded(setting())
    record["program"]["parameters"]["n"] = 50
    path = saved(tmp_path, record)
    code, out, _ = call(capsys, path)
    assert code == 0
    assert "recorded  for other sizes (n = 40): not comparable" in out
    rows = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert rows.count("recorded") == rows.count("found") == 1
    code, data = call_json(capsys, path, "--no-run")
    assert (code, data["same_sizes"], data["parameters"]) == (0, False, {"n": 50})


def other_action(record: dict[str, Any]) -> None:
    last = record["actions"][-1]
    record["actions"][-1] = 4 if last == 3 else 3


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (other_action, "expected the actions to lead to"),
        (lambda record: record["actions"].append(3), "found its end before"),
        (lambda record: record["actions"].pop(), "expected the actions to end in 'complete'"),
        (lambda record: record.update(phase="invalid"), "expected the actions to end in"),
    ],
)
def test_what_no_longer_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: Any, fragment: str
) -> None:
    record = recorded(setting())
    change(record)
    path = saved(tmp_path, record)
    code, out, err = call(capsys, path)
    assert (code, out) == (1, "")
    assert fragment in err
    code, data = call_json(capsys, path)
    assert (code, data["agrees"]) == (1, False)
    assert fragment in data["error"]


def test_a_wrong_output_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_: Evaluator, schedules: tuple[Schedule, ...], __: int) -> tuple[Evaluation, ...]:
        return (
            Evaluation(
                schedules[0],
                OutcomeStatus.WRONG_OUTPUT,
                error_type="WrongOutput",
                error_details="x1, element 0: expected 1, found 2",
            ),
        )

    monkeypatch.setattr(Evaluator, "evaluate_interleaved", wrong)
    code, out, err = call(capsys, saved(tmp_path, recorded(setting())))
    assert code == 1
    assert "wrong output" in out
    assert "x1, element 0" in err


def test_an_illegal_schedule_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "find_violation", lambda *_: "the schedule breaks a dependence")
    code, out, _ = call(capsys, saved(tmp_path, recorded(setting())))
    assert code == 1
    assert "no: the schedule breaks a dependence" in out


def test_an_episode_that_came_to_no_schedule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    of = setting()
    path = saved(tmp_path, of.record(of.subject.task.start(), None))
    code, out, _ = call(capsys, path)
    assert code == 0
    assert "schedule  none" in out
    code, data = call_json(capsys, path)
    assert (code, data["schedule"], data["legal"], data["found"]) == (0, None, None, None)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "expected JSON"),
        ("not json", ":1: expected JSON"),
        ("[]", "expected an episode"),
        ("null", "expected an episode"),
        ('{"format": "something"}', "expected an episode"),
        ("[" * 100_000, "too deeply"),
        ("[" * 100_000 + "]" * 100_000, "too deeply"),
        ("\x00\x01", "expected JSON"),
        ('{"format": "polygym episode"}\n{"format": "polygym episode"}\n', "sed -n 2p"),
    ],
)
def test_files_that_are_something_else(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, fragment: str
) -> None:
    code, out, err = call(capsys, saved(tmp_path, text))
    assert (code, out) == (2, "")
    assert fragment in err
    assert "internal error" not in err


GARBAGE: list[object] = [None, "x", -1, 1.5, [], {}, 10**30, [None], {"n": "x"}, True]


@pytest.mark.parametrize(
    "name", ["program", "process", "actions", "phase", "schedule", "arguments", "version"]
)
def test_garbage_in_an_episode_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    record = recorded(setting())
    for value in [*GARBAGE, "missing"]:
        changed = {**record, name: value}
        if value == "missing":
            del changed[name]
        code, _, err = call(capsys, saved(tmp_path, changed), "--no-run")
        assert code in (1, 2) or changed == record or name == "arguments", (name, value)
        assert "internal error" not in err, (name, value)
        assert "Traceback" not in err


@pytest.mark.parametrize("part", ["program", "process", "arguments"])
def test_garbage_in_a_part_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, part: str
) -> None:
    record = recorded(setting())
    for name in record[part]:
        for value in GARBAGE:
            changed = {**record, part: {**record[part], name: value}}
            _, _, err = call(capsys, saved(tmp_path, changed), "--no-run")
            assert "internal error" not in err, (part, name, value)


def test_every_truncation_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = json.dumps(recorded(setting()), indent=2)
    for length in range(0, len(text) - 1, 97):
        code, out, err = call(capsys, saved(tmp_path, text[:length]), "--no-run")
        assert (code, out) == (2, "")
        assert "expected" in err


@pytest.mark.parametrize("what", ["missing", "folder", "fifo", "large", "binary"])
def test_files_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_text(" " * 2**21)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    code, out, err = call(capsys, str(tmp_path / what))
    assert (code, out) == (2, "")
    expected = {"missing": "no such file", "large": "larger than", "binary": "UTF-8"}
    assert expected.get(what, "not a regular file") in err


def test_the_original_order_is_not_an_illegal_schedule() -> None:
    scop = setting().subject.program.scop
    assert replay.find_violation(scop, original_schedule(scop)) is None
