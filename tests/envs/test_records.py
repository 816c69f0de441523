"""Records of episodes: what is damaged is refused, and what has changed is said."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.envs import record
from polygym.envs.record import NoLongerError
from polygym.envs.schedule import ScheduleEnv
from polygym.errors import InputError
from polygym.mdp.episode import Phase
from tests.sources import SMALL_PROGRAMS, Y_AX

GARBAGE: tuple[object, ...] = (
    None, True, -1, 2**70, 1.5, float("inf"), float("nan"), "x", "", "a\0b", "\ud800",
    [], [1], ["x"], [[]], {}, {"a": 1}, {"n": None}, {"x": {}},
)  # fmt: skip

# What a reader wants to know; playing the episode again does not need it.
ONLY_TOLD = ("polygym", "environment", "outcome")


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
    return finished(ScheduleEnv("mvt", reward="static", dataset="mini"))


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


def replay(data: dict[str, Any]) -> record.Replay:
    return record.replay(record.read(json.dumps(data), "x.json"), "x.json")


def test_the_record_is_complete(whole: dict[str, Any]) -> None:
    assert replay(whole).episode.phase is Phase.COMPLETE
    assert set(ONLY_TOLD) < set(whole)


def test_every_missing_entry_is_refused(whole: dict[str, Any]) -> None:
    for path in keys(whole):
        if path[0] == "arguments" and path[-1] not in ("arguments", "threads", "timeout_factor"):
            continue  # the sections program and process say it again
        with pytest.raises(InputError, match=r"x\.json"):
            replay(without(whole, path))


def test_entries_of_a_wrong_kind_are_refused(whole: dict[str, Any]) -> None:
    for path in keys(whole):
        optional = path[0] == "arguments" and path[-1] not in ("threads", "timeout_factor")
        if path[0] in ONLY_TOLD or (optional and len(path) > 1):
            continue
        for value in GARBAGE:
            free = path[-1] in ("sha256", "file") and isinstance(value, str)
            no_function = path[-1] == "function" and value is None
            if free or no_function or (path[-1] == "timeout_factor" and value == 1.5):
                continue
            with pytest.raises(InputError):
                replay(changed(whole, path, value))


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "3", "nan", "[" * 100_000, '{"format": ' * 50_000, "9" * 5000,
        "\ufeff{}", '{"format": "polygym episode", "version": true}',
        '{"format": "polygym episode", "version": 2}', '{"format": "polygym episode"}',
    ],
)  # fmt: skip
def test_texts_that_are_no_record_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        record.read(text, "x.json")


def test_other_actions_are_noticed(whole: dict[str, Any]) -> None:
    actions = whole["actions"]
    another = 3 + (actions[-1] - 2) % 3
    for other in ([], actions[:-1], [*actions, 3], [*actions, 3, 3], [*actions[:-1], another]):
        with pytest.raises(NoLongerError, match=r"x\.json"):
            replay({**whole, "actions": other})
    for number in (0, len(actions) // 2, len(actions) - 1):
        with pytest.raises(InputError, match=r"0 to 5"):
            replay({**whole, "actions": [*actions[:number], 6, *actions[number + 1 :]]})


def test_another_schedule_is_noticed(whole: dict[str, Any]) -> None:
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
    before = env.subject.digest
    path.write_text(Y_AX.replace("= 0", "= 1"))
    data = env.export()
    assert data["program"]["sha256"] == before
    assert replay(data).changed
    env.reset(seed=0)
    assert not replay(env.export()).changed


def test_a_changed_program_is_said(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    data = finished(ScheduleEnv(str(path), reward="static", dataset="mini"))
    path.write_text(SMALL_PROGRAMS["downward"])
    with pytest.raises(NoLongerError, match="has changed since"):
        replay(data)
    path.unlink()
    with pytest.raises(InputError, match=r"loop\.c"):
        replay(data)


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
    assert not replay(data).changed


def finished_from_here(env: ScheduleEnv) -> dict[str, Any]:
    over = False
    while not over:
        _, _, over, _, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    return env.export()
