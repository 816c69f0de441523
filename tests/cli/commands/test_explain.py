"""``polygym explain``: a schedule as a sequence of transformations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.invoke import call, call_json

GEMM = "{ S0[i,j] -> [j,i,0,0]; S1[i,k,j] -> [j,i,1,k] }"


def test_isl_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain", "gemm")
    assert code == 0
    assert out.splitlines() == [
        "interchange L3 L4  L3 and L4 change places: L4 is the outer loop now",
        "fuse L2 L4         L2 and L4 become one loop, L2",
        "fuse S0 L3         S0 moves into the first iteration of L3",
        "",
        "isl interchanged L3 and L4, then fused L2 with L4, and S0 with L3.",
        "The loops and rows are those of the schedule.",
    ]


def test_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "explain", "gemm", GEMM)
    assert code == 0
    assert (data["explained"], data["exact"], data["reason"]) == (True, True, None)
    assert [row["step"] for row in data["steps"]] == [
        "interchange L3 L4", "fuse L2 L4", "interchange L1 L2",
    ]  # fmt: skip
    assert len(data["trees"]) == 4
    assert data["summary"].startswith("the schedule interchanged L3 and L4, then fused")
    code, data = call_json(capsys, "explain", "2mm", "isl fusion=maximum")
    assert code == 0
    assert data["summary"].startswith("isl fusion=maximum ")


def test_trees(capsys: pytest.CaptureFixture[str]) -> None:
    _, data = call_json(capsys, "explain", "gemm")
    for number, tree in enumerate(data["trees"]):
        code, out, _ = call(capsys, "explain", "gemm", "--tree", str(number))
        assert (code, out) == (0, f"{tree}\n")
    _, out, _ = call(capsys, "explain", "gemm", "--tree", "all")
    assert all(tree in out for tree in data["trees"])
    for wrong in ("4", "-1", "some"):
        code, _, error = call(capsys, "explain", "gemm", "--tree", wrong)
        assert code == 2
        assert "--tree" in error
        assert "expected all or" in error


def test_the_original_order_needs_no_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain", "gemm", "original")
    assert code == 0
    assert out.startswith("original left the order as it is.")


def test_a_file_with_a_schedule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"schedule": GEMM}))
    code, data = call_json(capsys, "explain", "gemm", str(path))
    assert code == 0
    assert len(data["steps"]) == 3


def test_an_illegal_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    illegal = "{ S0[i,j] -> [1,i,j,0]; S1[i,k,j] -> [0,i,j,k] }"
    code, out, _ = call(capsys, "explain", "gemm", illegal)
    assert code == 1
    assert out.startswith("illegal: the schedule breaks the flow")
    assert "S1[0, 0, 0] before S0[0, 0]" in out
    code, data = call_json(capsys, "explain", "gemm", illegal)
    assert code == 1
    assert not data["explained"]
    assert "must come first" in data["reason"]


def test_no_steps(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = "{ S0[i] -> [0,i]; S1[i] -> [1,2i,0]; S2[i,j] -> [1,2i+1,j]; S3[i,j] -> [1,3i,j] }"
    code, _, error = call(capsys, "explain", "atax", schedule)
    assert code in (1, 2), error
    code, _, error = call(capsys, "explain", "atax", "nothing")
    assert code == 2
    assert "expected original, isl" in error


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain", "--help")
    assert code == 0
    for fragment in ("polygym explain gemm", "interchanged, fused", "Exit code 0", "--tree N|all"):
        assert fragment in out


def test_the_search_for_steps_has_a_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr("polygym.cli.commands.explain.steps_to", search)
    code, _, error = call(capsys, "explain", "gemm", "--time-limit", "1s")
    assert code == 2
    assert "looking for steps: " in error
    assert "a longer --time-limit may find them" in error
