"""The journal: what was appended is there, whatever happened; damage is told from a torn line."""

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from polygym.errors import InputError
from polygym.search.conditions import differences
from polygym.search.journal import SearchJournal, read_journal
from polygym.search.settings import FORMAT, VERSION

SETTING = {"format": FORMAT, "version": VERSION, "seed": 1}


def line(index: int) -> dict[str, Any]:
    return {"index": index, "schedule": "{ S[i] -> [i] }" * 3}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a journal with three episodes."""
    path = tmp_path / "episodes.jsonl"
    with SearchJournal.create(path, SETTING) as journal:
        for index in range(3):
            journal.append(line(index))
    return path


@contextmanager
def full_disk(free: int, path: Path) -> Iterator[None]:
    """Let files grow by so many bytes, then fail as a full disk does, in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_written_is_read(path: Path) -> None:
    contents = read_journal(path)
    assert contents.setting == SETTING
    assert list(contents.episodes) == [line(index) for index in range(3)]
    assert (contents.size, contents.torn) == (path.stat().st_size, 0)


@pytest.mark.parametrize("cut", [1, 2, 20, 40])
def test_a_torn_last_line_is_cut_off(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    contents = read_journal(path)
    assert len(contents.episodes) == 2
    assert contents.torn == len(whole) - cut - contents.size
    journal, opened = SearchJournal.open(path)
    with journal:
        assert opened == contents
        journal.append(line(2))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("garbage", [b"\x00" * 4096, b"\n", b'{"index": 3', b"[1]\n", b"\xff\n"])
def test_garbage_behind_the_last_line_is_cut_off(path: Path, garbage: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + garbage)
    journal, contents = SearchJournal.open(path)
    journal.close()
    assert contents.torn == len(garbage)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda lines: [lines[0], b"{torn", *lines[2:]], ":2: expected a JSON object"),
        (lambda lines: [lines[0], *lines[2:]], ":2: expected episode 0, found 1"),
        (lambda lines: lines[1:], "expected the journal of a search"),
        (lambda lines: [], "expected the journal of a search"),
        (lambda lines: [lines[0].replace(b'"version":2', b'"version":9')], "version 2"),
        (lambda lines: [b"binary \xff\xfe"] * 3, ":1: expected a JSON object"),
    ],
)
def test_damage_is_refused_and_left_alone(path: Path, change: Any, fragment: str) -> None:
    lines = change(path.read_bytes().splitlines())
    path.write_bytes(b"".join(entry + b"\n" for entry in lines))
    before = path.read_bytes()
    with pytest.raises(InputError, match=fragment):
        SearchJournal.open(path)
    assert path.read_bytes() == before


def test_only_one_writes(path: Path) -> None:
    journal, _ = SearchJournal.open(path)
    with journal, pytest.raises(InputError, match="another search at work"):
        SearchJournal.open(path)
    SearchJournal.open(path)[0].close()


@pytest.mark.parametrize("free", [0, 1, 30])
def test_a_full_disk_leaves_whole_lines(path: Path, free: int) -> None:
    before = path.read_bytes()
    journal, _ = SearchJournal.open(path)
    with journal:
        with full_disk(free, path), pytest.raises(OSError, match=r"episodes\.jsonl") as raised:
            journal.append(line(3))
        assert raised.value.errno == errno.EFBIG
        assert path.read_bytes() == before
        journal.append(line(3))
    assert len(read_journal(path).episodes) == 4


def test_every_line_is_on_the_disk_before_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.stat().st_size))
    journal, _ = SearchJournal.open(path)
    with journal:
        journal.append(line(3))
        assert synced == [path.stat().st_size]


def test_differences_name_what_differs() -> None:
    before = {"seed": 1, "program": {"target": "a.c", "sha256": "1", "parameters": {"n": 3}}}
    now = {"seed": 1, "program": {"target": "a.c", "sha256": "2", "parameters": {"n": 4}}}
    assert differences(before, before) == ()
    assert differences(before, now) == (
        "the text of the program's source file",
        "program.parameters.n: 3 before, 4 now",
    )


def test_lines_are_json(path: Path) -> None:
    assert [json.loads(splitline)["index"] for splitline in path.read_text().splitlines()[1:]] == [
        0,
        1,
        2,
    ]
