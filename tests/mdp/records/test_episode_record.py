"""Records of episodes: what is damaged is refused, and what has changed is said."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.envs.schedule import ScheduleEnv
from polygym.errors import InputError
from polygym.mdp.records import episode_record
from polygym.mdp.records.episode_record import ReplayMismatchError
from polygym.mdp.task_options import Phase
from tests.c_programs import SMALL_PROGRAMS, Y_AX

GARBAGE: tuple[object, ...] = (
    None, True, -1, 2**70, 1.5, float("inf"), float("nan"), "x", "", "a\0b", "\ud800",
    [], [1], ["x"], [[]], {}, {"a": 1}, {"n": None}, {"x": {}},
)  # fmt: skip

# Entries that may have any text, and those that may have another value of GARBAGE.
FREE = ("sha256", "file", "polygym", "error_type", "error_details", "canonical_key")
FITTING: dict[str, tuple[object, ...]] = {
    "function": (None,), "seed": (None,), "timeout_factor": (1.5,), "speedup": (1.5,),
    "seconds": (1.5,), "baseline_seconds": (1.5,), "outcome": (None,), "parameters": (None, "", {}),
    "samples": ([], [1]), "baseline_samples": ([], [1]), "kernel": ("x", "a\0b", "\ud800"),
    "mapping": ("",), "applied_mapping": (None, ""),
}  # fmt: skip


def finished(env: ScheduleEnv, seed: int = 0) -> dict[str, Any]:
    _, info = env.reset(seed=seed)
    generator, over = np.random.default_rng(seed), False
    while not over:
        allowed = np.flatnonzero(info["action_mask"])
        _, _, over, _, info = env.step(generator.choice(allowed))
    exported: dict[str, Any] = json.loads(json.dumps(env.export()))
    return exported


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return measured(finished(ScheduleEnv("mvt", reward="static", dataset="mini")))


def measured(data: dict[str, Any]) -> dict[str, Any]:
    """Return the record with an outcome."""
    outcome = {
        "schedule": data["schedule"], "status": "ok", "speedup": 2.0, "seconds": 0.5,
        "baseline_seconds": 1.0, "samples": [0.5], "baseline_samples": [1.0], "error_type": "",
        "error_details": "", "mapping": "default", "applied_mapping": None, "canonical_key": "",
        "parameters": data["program"]["parameters"],
    }  # fmt: skip
    return {**data, "outcome": outcome}


def keys(data: dict[str, Any], *before: str) -> Iterator[tuple[str, ...]]:
    """Return the path of every entry, those of mappings inside too."""
    for key, value in data.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from keys(value, *before, key)


def inside(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the mapping that has the path's last key."""
    for key in path[:-1]:
        data = data[key]
    return data


def changed(data: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return the record with another value at the path."""
    data = copy.deepcopy(data)
    inside(data, path)[path[-1]] = value
    return data


def without(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the record without the entry at the path."""
    data = copy.deepcopy(data)
    del inside(data, path)[path[-1]]
    return data


def replay(data: dict[str, Any]) -> episode_record.Replay:
    return episode_record.replay_record(
        episode_record.read_record(json.dumps(data), "x.json"), "x.json"
    )


def test_the_record_is_complete(whole: dict[str, Any]) -> None:
    assert replay(whole).episode.phase is Phase.COMPLETE
    assert replay(whole).is_comparable


def test_every_missing_entry_is_refused(whole: dict[str, Any]) -> None:
    for path in keys(whole):
        if path[0] in ("format", "version") or path[-2:-1] == ("parameters",):
            continue  # said before any entry; another set of sizes
        with pytest.raises(InputError, match=rf"^x\.json: the entry {'.'.join(path)} is missing$"):
            replay(without(whole, path))


def test_unknown_entries_are_refused(whole: dict[str, Any]) -> None:
    for path in keys(whole):
        if isinstance(inside(whole, path), dict) and path[-2:-1] != ("parameters",):
            place = ".".join((*path[:-1], "x y"))
            with pytest.raises(InputError, match=f"the entry {place} is unknown; expected "):
                replay(changed(whole, (*path[:-1], "x y"), 1))


def test_entries_of_a_wrong_kind_are_refused(whole: dict[str, Any]) -> None:
    for path in keys(whole):
        for value in GARBAGE:
            if path[-1] in FREE and isinstance(value, str):
                continue
            if any(value is fitting or value == fitting for fitting in FITTING.get(path[-1], ())):
                continue
            if path[:2] == ("outcome", "parameters") or path == ("arguments", "seed"):
                continue  # other sizes; a seed of any length
            with pytest.raises(InputError) as caught:
                replay(changed(whole, path, value))
            assert not re.search(r"\w+(Error|Exception)\b", str(caught.value)), (path, value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("environment", "polygym/Other-v0", "environment: expected one of polygym/Construct-v0,"),
        (
            "phase",
            "done",
            "phase: expected one of store, construct, explore, edit, map, transform, complete,",
        ),
        ("outcome.status", "fine", "outcome.status: expected one of ok,"),
        ("outcome.samples", [0.5, "x"], "outcome.samples.1: expected a number, found 'x'"),
        ("outcome.seconds", float("nan"), "outcome.seconds: expected a finite number"),
        ("outcome.schedule", "{ }", "outcome.schedule: expected the episode's schedule"),
        ("outcome.mapping", "tile=", "outcome.mapping: "),
        ("outcome.canonical_key", 7, "outcome.canonical_key: expected a text, found 7"),
        ("arguments.reward", "fame", "arguments: reward: expected one of speedup,"),
        ("arguments.threads", 0, "arguments: threads: expected 1 to 1024"),
        ("arguments.max_rays", 7, "arguments.max_rays: expected 64 as process.max_rays has it"),
        ("arguments.dataset", "small", "arguments.dataset: expected 'mini' as program.dataset"),
        ("arguments.parameters", {"n": 7}, "arguments.parameters: expected n = 40 as program.par"),
        ("actions", [0, 9], "actions.1: expected an integer from 0 to 5, found 9"),
    ],
)
def test_a_wrong_entry_is_named(
    whole: dict[str, Any], path: str, value: object, message: str
) -> None:
    with pytest.raises(InputError, match="^" + re.escape(f"x.json: the entry {message}")):
        replay(changed(whole, tuple(path.split(".")), value))


def test_times_of_other_sizes_are_not_comparable(whole: dict[str, Any]) -> None:
    again = replay(changed(whole, ("program", "parameters"), {"n": 50}))
    assert dict(again.problem.program.parameters) == {"n": 50}
    assert again.measured_for == {"n": 40}
    assert not again.is_comparable


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "3", "nan", "[" * 100_000, '{"format": ' * 50_000, "9" * 5000,
        "\ufeff{}", '{"format": "polygym episode", "version": true}',
        '{"format": "polygym episode", "version": 1}', '{"format": "polygym episode"}',
    ],
)  # fmt: skip
def test_texts_that_are_no_record_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        episode_record.read_record(text, "x.json")


def test_other_actions_are_noticed(whole: dict[str, Any]) -> None:
    actions = whole["actions"]
    another = 3 + (actions[-1] - 2) % 3
    for other in ([], actions[:-1], [*actions, 3], [*actions, 3, 3], [*actions[:-1], another]):
        with pytest.raises(ReplayMismatchError, match=r"x\.json"):
            replay({**whole, "actions": other})
    for number in (0, len(actions) // 2, len(actions) - 1):
        with pytest.raises(InputError, match=r"0 to 5"):
            replay({**whole, "actions": [*actions[:number], 6, *actions[number + 1 :]]})


def test_another_schedule_is_noticed(whole: dict[str, Any]) -> None:
    whole = {**whole, "outcome": None}
    schedule = whole["schedule"]
    with pytest.raises(InputError, match="expected the schedule"):
        replay({**whole, "schedule": ""})
    with pytest.raises(InputError):
        replay({**whole, "schedule": schedule[:-3]})
    first = schedule.replace("[i,", "[i + 1,", 1).replace("[(i", "[(1 + i", 1)
    other = first if first != schedule else schedule.replace("-> [", "-> [7, ", 1)
    with pytest.raises(InputError):
        replay({**whole, "schedule": other})


def test_other_sizes_are_noticed(whole: dict[str, Any]) -> None:
    for parameters in ({}, {"n": 50, "m": 3}):
        with pytest.raises(InputError, match=r"sizes|m"):
            replay({**whole, "program": {**whole["program"], "parameters": parameters}})


def test_unfinished_and_invalid_episodes_can_be_replayed() -> None:
    env = ScheduleEnv("doitgen", reward="static", dataset="mini")
    env.reset(seed=0)
    assert replay(env.export()).episode.phase is Phase.CONSTRUCT
    over = False
    while not over:
        _, _, over, _, info = env.step(5)
    assert info["status"] == "invalid"
    again = replay(env.export())
    assert again.episode.phase is Phase.INVALID
    assert again.episode.reason == info["error_details"]
    with pytest.raises(InputError, match="expected no schedule"):
        replay({**env.export(), "schedule": "{ }"})


def test_a_record_knows_the_text_that_the_episode_was_about(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    env = ScheduleEnv(str(path), reward="static", dataset="mini")
    env.reset(seed=0)
    before = env.problem.source_digest
    path.write_text(Y_AX.replace("= 0", "= 1"))
    data = env.export()
    assert data["program"]["sha256"] == before
    assert replay(data).is_source_changed
    env.reset(seed=0)
    assert not replay(env.export()).is_source_changed


def test_a_changed_program_is_said(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    data = finished(ScheduleEnv(str(path), reward="static", dataset="mini"))
    path.write_text(SMALL_PROGRAMS["downward"])
    with pytest.raises(ReplayMismatchError, match="has changed since"):
        replay(data)
    path.unlink()
    with pytest.raises(InputError, match=r"is no longer there: .*--file NEW\.c") as caught:
        replay(data)
    assert str(caught.value).count(str(path)) == 1


def test_a_moved_file_is_found_where_it_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    data = finished(ScheduleEnv(str(path), reward="static", dataset="mini"))
    moved = path.rename(tmp_path / "moved.c")
    again = episode_record.replay_record(data, "x.json", str(moved))
    assert again.problem.file == str(moved)
    assert not again.is_source_changed
    of_a_kernel = finished(ScheduleEnv("mvt", reward="static", dataset="mini"))
    with pytest.raises(InputError, match="it is about kernel mvt"):
        episode_record.replay_record(of_a_kernel, "x.json", str(moved))


def test_a_record_finds_its_file_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop.c").write_text(Y_AX)
    env = ScheduleEnv("loop.c", reward="static", dataset="mini")
    env.reset(seed=0)
    monkeypatch.chdir("/")
    data = finished_from_here(env)
    assert data["program"]["file"] == str(tmp_path / "loop.c")
    assert not replay(data).is_source_changed


def finished_from_here(env: ScheduleEnv) -> dict[str, Any]:
    over = False
    while not over:
        _, _, over, _, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    return env.export()
