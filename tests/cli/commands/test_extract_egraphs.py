"""``polygym graph extract``: rows for all methods, choices on request, errors that name files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import call, call_json

NODES: dict[str, Any] = {
    "pair": {"eclass": "0", "children": ["left", "right"], "cost": 0},
    "left": {"eclass": "1", "children": [], "cost": 3},
    "left-of": {"eclass": "1", "children": ["both"], "cost": 0},
    "right": {"eclass": "2", "children": [], "cost": 3},
    "right-of": {"eclass": "2", "children": ["both"], "cost": 0},
    "both": {"eclass": "3", "children": [], "cost": 4},
    "again": {"eclass": "3", "children": ["pair"], "cost": 0},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"nodes": NODES, "root_eclasses": ["0"]}))
    return path


def test_both_methods_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "graph", "extract", str(file))
    assert code == 0
    assert f"{file}: 7 nodes, 4 classes, 1 root" in out
    rows = {line.split()[0]: line.split()[1:5] for line in out.splitlines() if line.strip()}
    assert rows["greedy"] == ["6", "6", "0", "greedy"]
    assert rows["best"] == ["4", "8", "4", "optimal"]


def test_documents_and_choices(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.parent / "chosen.json"
    code, [document] = call_json(capsys, "graph", "extract", str(file), "--out", str(out))
    assert (code, document["best"]["dag_cost"], document["best"]["tree_cost"]) == (0, 4.0, 8.0)
    chosen = json.loads(out.read_text())
    assert chosen["choices"] == {"0": "pair", "1": "left-of", "2": "right-of", "3": "both"}
    code, [document] = call_json(
        capsys, "graph", "extract", str(file), "--class", "1", "--extraction", "greedy"
    )
    assert (code, document["best"]["dag_cost"], document["best"]["status"]) == (0, 3.0, "greedy")


def test_errors_name_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "graph", "extract", str(file), "--class", "7")
    assert code == 2
    assert f"{file}: root_eclasses: expected the id of a node or a class, found '7'" in err
    code, _, err = call(capsys, "graph", "extract", str(file), str(file), "--out", "x")
    assert (code, "--out: expected one FILE, found 2" in err) == (2, True)
    ring = {"a": {"eclass": "0", "children": ["a"]}}
    file.write_text(json.dumps({"nodes": ring, "root_eclasses": ["0"]}))
    code, _, err = call(capsys, "graph", "extract", str(file))
    assert code == 2
    assert f"{file}: class 0: expected a term without cycles" in err
