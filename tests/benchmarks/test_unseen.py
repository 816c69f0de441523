"""Programs of nobody's suite: each is there with its sizes, and what the table says, by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import unseen

from polygym.programs import load_program

ROW: dict[str, Any] = {
    "program": "some", "threads": 2, "isl": 2.0, "auto": 4.0, "learned": 3.0, "storage": "keep",
    "wrong": False,
}  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["unseen.py", *map(str, words)])
    return unseen.main()


def test_every_program_has_sizes() -> None:
    files = {file.stem for file in unseen.PROGRAM_FOLDER.glob("*.c")}
    assert files == set(unseen.sizes())
    assert len(files) == 37


@pytest.mark.parametrize("name", sorted(unseen.sizes()))
def test_every_program_is_understood(name: str) -> None:
    given = dict(size.split("=") for size in unseen.sizes()[name].split(","))
    sizes = {key: int(value) for key, value in given.items()}
    program = load_program(str(unseen.PROGRAM_FOLDER / f"{name}.c"), parameters=sizes)
    assert dict(program.parameters).items() >= sizes.items()
    assert program.scop.statements


def test_a_table_by_hand() -> None:
    rows = [ROW, ROW | {"program": "other", "isl": 0.5}, ROW | {"program": "third", "auto": None}]
    lines = unseen.table(rows).splitlines()[2:]
    assert lines == [
        "| some | 2.00 | 4.00 | 3.00 | 1.50 |",
        "| other | 0.50 | 4.00 | 3.00 | 6.00 |",
        "| third | 2.00 | - | 3.00 | 1.50 |",
        "| geometric mean of 2 | **1.00** | **4.00** | **3.00** | **3.00** |",
    ]


def test_a_table_against_compilers_by_hand() -> None:
    first = {"original": 2e-3, "gcc": 1e-3, "auto": 5e-4}
    rows = [
        {"program": "some", "seconds": first},
        {"program": "fast", "seconds": first | {"gcc": 4e-5}},
        {"program": "even", "seconds": {"original": 1e-3, "auto": 2e-3}},
        {"program": "none", "seconds": {"original": 1e-3}},
    ]
    assert unseen.table_against(rows, "gcc").splitlines() == [
        "| program | original | gcc | auto | over the best |",
        "|---|---|---|---|---|",
        "| some | 2 | 1 | 0.5 | 2.00 |",
        "| fast | 2 | 0.04 | 0.5 | 0.08 |",
        "| even | 1 | - | 2 | 0.50 |",
        "| none | 1 | - | - | - |",
        "| geometric mean of 2 |  |  |  | **1.00** |",
    ]


def test_what_is_there_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def measured(name: str, parameters: str, threads: int) -> dict[str, Any]:
        asked.append(f"{name} {parameters} {threads}")
        return ROW | {"program": name, "threads": threads, "wrong": name == "lcs"}

    monkeypatch.setattr(unseen, "measure_program", measured)
    assert run(monkeypatch, "sobel", "--out", tmp_path) == 0
    assert run(monkeypatch, "sobel", "lcs", "--out", tmp_path) == 1
    assert asked == ["sobel height=3000,width=3000 2", "lcs n=4000,m=4000 2"]
    assert "| lcs | 2.00 |" in capsys.readouterr().out
    results = tmp_path / "results.jsonl"
    results.write_text(results.read_text() + '{"program": "cut')
    for _ in range(2):
        assert run(monkeypatch, "sobel", "--out", tmp_path, "--threads", 1) == 0
        assert len(asked) == 3
    with pytest.raises(SystemExit):
        run(monkeypatch, "nosuch", "--out", tmp_path)


def test_one_is_measured_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[object, ...]] = []

    def answers(command: str, name: str, *words: object) -> dict[str, Any]:
        said.append((command, *words[4:]))
        if command == "run":
            return {"status": "ok", "speedup": 2.0 if "keep" in words else 5.0, "storage": "w"}
        ranking = [{"index": "auto", "speedup": 9.0}, {"index": 0, "speedup": 4.0}]
        return {"ranking": ranking, "wrong": 0}

    monkeypatch.setattr(unseen, "_command_json", answers)
    row = unseen.measure_program("sobel", "height=9,width=9", 2)
    assert json.loads(json.dumps(row)) == {
        "program": "sobel", "threads": 2, "isl": 2.0, "auto": 5.0, "learned": 4.0,
        "storage": "w", "wrong": False,
    }  # fmt: skip
    assert [call[0] for call in said] == ["run", "run", "optimize"]
    assert said[0][1:] == ("--schedule", "isl", "--storage", "keep")
