"""``--split``: programs in pieces from the command line, beside the order of the source."""

import json
from pathlib import Path

import pytest

from polygym.poly.transform.splitting.conditions import NO_SPLITTING, parse_splitting
from polygym.programs import load_program
from polygym.programs.stored_program import apply_splitting_to
from tests.cli.invoke import call, call_json

CUTS = "S0: i = k, j = k"
FLOYD = ("floyd-warshall", "-p", "n=13")


def test_run_in_pieces_and_again_from_its_document(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, data = call_json(capsys, "run", *FLOYD, "--split", CUTS, "--schedule", "isl")
    assert (code, data["status"], data["splitting"]) == (0, "ok", CUTS)
    assert data["schedule"].count("S0_") == 9
    whole_code, whole = call_json(capsys, "run", *FLOYD, "--split", "none")
    assert (whole_code, whole["splitting"]) == (0, "")
    assert data["arrays"] == whole["arrays"]
    file = tmp_path / "found.json"
    file.write_text(json.dumps(data))
    again_code, again = call_json(capsys, "run", *FLOYD, "--schedule", str(file))
    assert (again_code, again["splitting"]) == (0, CUTS)
    assert again["schedule"] == data["schedule"]
    code, _, said = call(capsys, "run", *FLOYD, "--schedule", str(file), "--split", "none")
    assert code == 2
    assert "the statements of kernel_floyd_warshall are S0; found S0_" in said


def test_the_order_of_the_source_is_what_pieces_are_compared_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the original order, too, what is in pieces is another program than what was written."""
    code, out, _ = call(capsys, "run", *FLOYD, "--split", CUTS)
    assert code == 0
    assert "split     S0: i = k, j = k" in out
    code, data = call_json(capsys, "bench", *FLOYD, "--split", CUTS, "--repeat", "1")
    texts = {entry["schedule"]: entry["text"] for entry in data["entries"]}
    assert (code, data["splittings"]) == (0, {"floyd-warshall": CUTS})
    assert "S0[k, i, j]" in texts["original"]
    assert "S0_8[k, i, j]" in texts["isl"]


def test_a_wrong_schedule_of_pieces_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "; ".join(f"S0_{place}[k,i,j] -> [k,{2 - place},i,j]" for place in range(3))
    arguments = ("floyd-warshall", "--split", "S0: i = k", "--schedule", f"{{ {rows} }}")
    code, out, _ = call(capsys, "check", *arguments)
    assert code == 1
    assert out.startswith("illegal: ")
    code, _, said = call(capsys, "run", *arguments, "-p", "n=5")
    assert code == 1
    assert "S0_" in said


def test_show_and_space(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "show", "floyd-warshall", "--split", "S0: i = k")
    assert code == 0
    assert [statement["name"] for statement in data["statements"]] == ["S0_0", "S0_1", "S0_2"]
    code, data = call_json(capsys, "space", "mvt", "--split", "S0: 2*i < n")
    assert code == 0
    assert "S0_1" in json.dumps(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S0", "a statement, a colon and cuts"),
        ("S0: i = q", "k, i, j, n; found q"),
        ("S7: i = k", "the statements of kernel_floyd_warshall are S0; found S7"),
    ],
)
def test_cuts_that_are_refused(capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    code, _, error = call(capsys, "run", *FLOYD, "--split", text)
    assert code == 2
    assert said in error


def test_auto_cuts_where_it_is_worth_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mirrored.c"
    file.write_text(
        "void f(int n, double a[2 * n]) {\n#pragma scop\n"
        "for (int i = 0; i < 2 * n; i++) a[i] = a[2 * n - 1 - i] + 1.0;\n#pragma endscop\n}\n"
    )
    arguments = ("run", str(file), "-p", "n=20", "--split", "auto", "--schedule", "isl")
    code, data = call_json(capsys, *arguments)
    assert (code, data["status"], data["splitting"]) == (0, "ok", "S0: i < n")
    code, data = call_json(capsys, "run", "gemm", "-d", "mini", "--split", "auto")
    assert (code, data["splitting"]) == (0, "")


def test_a_program_in_pieces_keeps_what_was_written() -> None:
    whole = load_program("gramschmidt", dataset=None)
    pieces = apply_splitting_to(whole, parse_splitting("S5: i < j"))
    assert (pieces.as_written, pieces.source, whole.source) == (whole.scop, whole.scop, None)
    assert len(pieces.scop.statements) == len(whole.scop.statements) + 1
    assert apply_splitting_to(pieces, NO_SPLITTING) == whole


def test_searches_of_pieces_are_kept_and_replayed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "found"
    arguments = ("optimize", "gemm", "-d", "small", "--budget", "2", "--out", str(folder))
    code, _ = call_json(capsys, *arguments, "--split", "S1: k < 8")
    assert code == 0
    best = json.loads((folder / "best.json").read_text())
    assert best["program"]["splitting"] == "S1: k < 8"
    assert "S1_1[" in best["schedule"]
    code, data = call_json(capsys, "replay", str(folder / "best.json"))
    assert (code, data["agrees"], data["legal"]) == (0, True, True)
    code, data = call_json(
        capsys, "run", "gemm", "-d", "small", "--schedule", str(folder / "best.json")
    )
    assert (code, data["splitting"]) == (0, "S1: k < 8")
    assert call(capsys, *arguments, "--resume")[0] == 0  # nothing is said: it goes on as it began
    code, _, said = call(capsys, *arguments, "--split", "none", "--resume")
    assert code == 2
    assert "splitting" in said
    best["program"]["splitting"] = "S1: k <"
    (tmp_path / "edited.json").write_text(json.dumps(best))
    code, _, said = call(capsys, "replay", str(tmp_path / "edited.json"))
    assert code == 2
    assert "splitting" in said
    assert "a cut: expected" in said


def test_tuning_of_pieces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    budget = ("--strategy", "random", "--budget", "2", "--out", str(folder))
    arguments = ("tune", "floyd-warshall", "-p", "n=9", "--split", "S0: i = k", *budget)
    code, _ = call_json(capsys, *arguments)
    assert code == 0
    assert json.loads((folder / "best.json").read_text())["program"]["splitting"] == "S0: i = k"
