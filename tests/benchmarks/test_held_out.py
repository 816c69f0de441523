"""The table of the held-out programs as scripts read it."""

from __future__ import annotations

import json

import held_out
import pytest


def test_programs_are_read_with_their_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(held_out.PROGRAMS_FILE.read_text(encoding="utf-8"))["programs"]
    programs = held_out.held_out_programs()
    assert list(programs) == list(rows)
    for name, program in programs.items():
        assert program.path.is_file()
        assert tuple(program.sizes) == held_out.DATASETS
        assert [dict(sizes) for sizes in program.sizes.values()] == [*rows[name]["sizes"].values()]
        assert program.is_accepted is not bool(program.refusal)
    assert sum(program.has_macro_sizes for program in programs.values()) == 1
    assert held_out.main() == 0
    printed = capsys.readouterr().out
    assert printed.count("| yes |") == sum(program.is_accepted for program in programs.values())
    assert held_out.accepted_on() in printed
