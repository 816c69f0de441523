"""``polygym collect`` and ``polygym corpus``, as a user has them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from tests.cli.test_commands import call, call_json

FEW = ("--rows", "6", "--each", "3")


def test_from_end_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, other, both = (str(tmp_path / f"{name}.sqlite") for name in ("a", "b", "both"))
    code, data = call_json(capsys, "collect", file, "mvt", "random:2", *FEW)
    assert code == 0
    assert (data["rows"], data["added"], data["interrupted"]) == (6, 6, False)
    assert sum(data["statuses"].values()) == 6
    code, text, _ = call(capsys, "collect", file, "mvt", "random:2", *FEW)
    assert (code, "0 rows added" in text) == (0, True)
    assert call_json(capsys, "collect", other, "mvt", *FEW, "--seed", "9")[0] == 0

    code, data = call_json(capsys, "corpus", "stats", file)
    assert code == 0
    assert (data["rows"], data["machines"][0]["rows"]) == (6, 6)
    assert set(data["kinds"]) <= {"kernels", "random"}
    code, text, _ = call(capsys, "corpus", "stats", file)
    assert (code, "6 rows" in text, "PROCESSOR" in text) == (0, True, True)

    assert call_json(capsys, "corpus", "check", file) == (0, {"file": file, "complaints": []})
    code, data = call_json(capsys, "corpus", "merge", both, file, other)
    assert (code, data["rows"]) == (0, sum(data["added"].values()))
    assert data["added"][file] == 6
    assert 6 < data["rows"] <= 12

    table = tmp_path / "all.parquet"
    code, _ = call_json(capsys, "corpus", "export", both, str(table))
    found = pyarrow.parquet.read_table(table)
    assert (code, found.num_rows) == (0, data["rows"])
    assert {"program", "schedule", "mapping", "speedup", "machine"} <= set(found.column_names)


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, said = call(capsys, "corpus", "stats", str(tmp_path / "none"))
    assert (code, "expected a corpus, found no such file" in said) == (2, True)
    code, _, said = call(capsys, "collect", str(tmp_path / "c.sqlite"), "nothing")
    assert (code, "nothing" in said) == (2, True)
    assert not (tmp_path / "c.sqlite").exists()
    code, _, said = call(capsys, "collect", str(tmp_path / "no" / "c"), "mvt", "--rows", "0")
    assert code == 2
