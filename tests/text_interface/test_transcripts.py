"""Transcripts: sessions as JSON, played again to the same states, and checked entry by entry."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.mdp.records.episode_record import ReplayMismatchError
from polygym.text_interface.session import Budget, TextSession
from polygym.text_interface.transcripts import (
    check_transcript,
    read_transcript,
    replay_transcript,
    transcript_of,
)
from tests.text_interface.sessions import session_of, stencil_session

LINES = (
    "show", "reverse L1", "tile L1 L2 8 8", "nonsense", "skew L2 L1 1", "tile L1 L2 8 8", "measure",
    "undo", "measure", "split S0: i = 3", "stop", "measure",
)  # fmt: skip


def recorded(session: TextSession, lines: tuple[str, ...] = LINES) -> dict[str, Any]:
    """Return the transcript of a session with these lines, through its text."""
    for line in lines:
        session.reply(line)
    return read_transcript(json.dumps(transcript_of(session)), "t.json")


def test_a_transcript_is_played_again(tmp_path: Path) -> None:
    session = stencil_session(tmp_path)
    record = recorded(session)
    assert {line["status"] for line in record["lines"]} >= {"ok", "illegal", "not understood"}
    for is_measured in (False, True):
        played = replay_transcript(record, "t.json", is_measured=is_measured)
        assert transcript_of(played.session)["lines"] == record["lines"]
        assert len(played.outcomes) == 3
        assert not played.is_source_changed


def test_times_stand_beside_each_other() -> None:
    record = recorded(session_of("gemm", reward="speedup"), ("tile L3 L4 8 8", "measure"))
    (outcome,) = replay_transcript(record, "t.json").outcomes
    assert outcome.recorded.seconds > 0
    assert outcome.found is not None
    assert outcome.found.is_ok
    (outcome,) = replay_transcript(record, "t.json", is_measured=False).outcomes
    assert outcome.found is None


def test_random_sessions_are_played_again() -> None:
    rng = np.random.default_rng(6)
    for program in ("mvt", "jacobi-2d", "trisolv"):
        session = session_of(program, budget=Budget(4, lines=12))
        for _ in range(14):
            steps = session.legal_steps()
            lines = [*map(str, steps), "measure", "undo", "reverse L1"]
            session.reply(lines[rng.integers(len(lines))])
        record = recorded(session, ())
        played = replay_transcript(record, "t.json")
        assert transcript_of(played.session)["lines"] == record["lines"]


def test_a_file_that_has_changed_or_moved(tmp_path: Path) -> None:
    record = recorded(stencil_session(tmp_path))
    file = tmp_path / "heat.c"
    moved = tmp_path / "moved.c"
    file.rename(moved)
    with pytest.raises(InputError):
        replay_transcript(record, "t.json")
    played = replay_transcript(record, "t.json", source_file=str(moved))
    assert not played.is_source_changed
    moved.write_text(moved.read_text().replace("0.3", "0.4"))
    assert replay_transcript(record, "t.json", source_file=str(moved)).is_source_changed
    moved.write_text(moved.read_text().replace("A[i + 1]", "A[i]").replace("A[i - 1]", "A[i]"))
    with pytest.raises(ReplayMismatchError, match="the source has changed since"):
        replay_transcript(record, "t.json", source_file=str(moved))
    with pytest.raises(InputError, match="about kernel gemm"):
        replay_transcript(recorded(session_of("gemm"), ()), "t.json", source_file=str(moved))


@pytest.mark.parametrize(
    ("way", "value", "said"),
    [
        (("lines", 1, "line"), "reverse L2", r"lines\.1\.schedule: expected the line 'reverse L2'"),
        (("lines", 1, "status"), "illegal", r"lines\.1\.status"),
        (("lines", 4, "schedule"), "{ S0[t, i] -> [t, i] }", r"lines\.4\.schedule"),
        (("lines", 5, "mapping"), "tile=9", r"lines\.5\.mapping"),
        (("lines", 6, "outcome", "seconds"), -1, r"lines\.6\.outcome\.seconds: expected a finite"),
        (("lines", 0, "more"), 1, r"lines\.0\.more is unknown"),
        (("lines", 0, "status"), "fine", r"lines\.0\.status: expected one of ok, illegal"),
        (("program", "dataset"), "tiny", r"program\.dataset: expected one of mini"),
        (("options", "threads"), 0, "options: .*threads"),
        (("options", "reward"), "fun", r"options\.reward: expected one of speedup"),
        (("options", "mapping"), "tile=-1", "options"),
        (("polygym",), "new", "polygym: expected a version"),
        (("lines",), {}, "lines: expected a list"),
    ],
)
def test_wrong_entries_are_named(
    tmp_path: Path, way: tuple[Any, ...], value: object, said: str
) -> None:
    lines = ("reverse L1", "skew L2 L1 1", "reverse L2", "show", "skew L2 L1 1", "tile L1 L2 8 8")
    record = recorded(stencil_session(tmp_path), (*lines, "measure"))
    if way == ("lines", 1, "line"):
        record = recorded(stencil_session(tmp_path), ("show", "skew L2 L1 2"))
        value, said = "skew L2 L1 1", r"lines\.1\.schedule: expected the line 'skew L2 L1 1'"
    place: Any = record
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = value
    with pytest.raises(InputError, match=rf"t\.json: .*{said}"):
        replay_transcript(record, "t.json", is_measured=False)


def test_every_missing_entry_is_named(tmp_path: Path) -> None:
    record = recorded(stencil_session(tmp_path), ("measure",))

    def check_without(way: tuple[Any, ...]) -> None:
        broken = copy.deepcopy(record)
        place: Any = broken
        for key in way[:-1]:
            place = place[key]
        del place[way[-1]]
        with pytest.raises(InputError, match=str(way[-1])):
            check_transcript(broken, "t.json")

    for key in ("polygym", "program", "options", "lines"):
        check_without((key,))
    for key in record["program"]:
        check_without(("program", key))
    for key in record["options"]:
        check_without(("options", key))
    for key in record["lines"][0]:
        check_without(("lines", 0, key))


def test_what_is_no_transcript_is_refused() -> None:
    for text in ("", "[]", "{}", '{"format": "polygym transcript", "version": 2}', "[" * 100_000):
        with pytest.raises(InputError, match=r"t\.json"):
            read_transcript(text, "t.json")
