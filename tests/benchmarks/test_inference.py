"""Times of the pretrained policy: a line for each kernel, and their count."""

from __future__ import annotations

import re

import inference
import pytest


def test_episodes_are_played_in_processes_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert inference.main(["trisolv", "--dataset", "mini"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"trisolv +[\d.]+ s +\d+ actions", first)
    assert int(first.split()[-2]) > 1
    assert last.startswith(("1 of 1 within a second", "0 of 1 within a second"))
