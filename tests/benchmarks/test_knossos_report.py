"""The report on what is learned for terms keeps what is written by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import knossos
import pytest


def test_what_is_written_by_hand_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "programs": "test", "search": "greedy", "kind": "nothing", "seed": 0,
        "costs": [100.0, 48.1], "seconds": 1.0,
    }  # fmt: skip
    (tmp_path / "tests.jsonl").write_text(json.dumps(row) + "\n")
    page = tmp_path / "REPORT.md"
    monkeypatch.setattr(knossos, "REPORT", page)
    monkeypatch.setattr(sys, "argv", ["knossos.py", "report", "--out", str(tmp_path)])
    assert knossos.main() == 0
    made = page.read_text()
    assert "| test, greedy | 148.1, 1 | 1 | 132.1 |" in made
    assert knossos.HANDWRITTEN_MARK not in made
    own = f"\n{knossos.HANDWRITTEN_MARK}\n\n## Notes\n\nAs said by hand.\n"
    page.write_text(f"an older table\n{own}")
    for _ in range(2):
        assert knossos.main() == 0
        assert page.read_text() == made + own
    assert knossos.handwritten_part("no mark") == ""


def test_the_page_that_is_shipped_has_the_mark() -> None:
    assert knossos.REPORT.read_text().count(knossos.HANDWRITTEN_MARK) == 1
