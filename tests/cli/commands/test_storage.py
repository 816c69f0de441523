"""``--storage`` and ``polygym storage``: plans on the command line, in files, and refused."""

import json
from pathlib import Path

import pytest

from polygym.episodes import record
from polygym.errors import InputError
from tests.cli.calling import call, call_json

MINI = ("symm", "-d", "mini")
PLAN = "temp2=expand:i,j"


def test_what_may_become_of_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call_json(capsys, "storage", *MINI)
    assert code == 0
    temp2 = found["webs"][0]
    assert (temp2["array"], temp2["in_the_way"]) == ("temp2", ["i", "j"])
    assert {"storage": "S0:temp2=expand:i,j", "bytes": 4800, "refusal": ""} in temp2["choices"]
    assert found["plan"]["storage"] == "S0:temp2=expand:i,j contract"
    assert found["plan"]["dependences"] < found["plan"]["dependences_before"]
    code, out, _ = call(capsys, "storage", *MINI, "--storage", PLAN)
    assert code == 0
    assert "frees        the loop j around S0, S1, S2, S3: is parallel" in out


def test_a_program_runs_under_a_plan_and_its_file_runs_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The file holds the plan too: its schedule is one of the other program."""
    words = ("--schedule", "isl", "--repeat", "1", "--threads", "2")
    code, found = call_json(capsys, "run", *MINI, *words, "--storage", "auto")
    assert code == 0
    assert found["storage"] == "S0:temp2=expand:i,j contract"
    assert found["storage_bytes"] == 4800
    path = tmp_path / "found.json"
    path.write_text(json.dumps(found))
    code, again = call_json(capsys, "run", *MINI, "--schedule", str(path), "--repeat", "1")
    assert code == 0
    assert (again["storage"], again["schedule"]) == (found["storage"], found["schedule"])


def test_legality_is_that_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = "{ S0[i,j] -> [0,i,j,0]; S1[i,j,k] -> [1,j,k,i]; S2[i,j,k] -> [1,j,i,-i+k]; "
    schedule += "S3[i,j] -> [1,j,i,0] }"
    assert call(capsys, "check", "symm", "--schedule", schedule)[0] == 1
    assert call(capsys, "check", "symm", "--schedule", schedule, "--storage", PLAN)[0] == 0
    code, out, _ = call(capsys, "show", "symm", "--storage", PLAN, "--c")
    assert code == 0
    assert "double (*temp2_1)[n] = __builtin_malloc(sizeof(double[m][n]) + 1);" in out


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("temp2=grow", "expected rename, expand or expand:i,j for temp2, found 'grow'"),
        ("A=expand", "expected an array that kernel_symm writes, temp2, C, found A"),
        ("C=expand", "found 25.6 GB (C_1 25.6 GB) for m = 200, n = 20"),
    ],
)
def test_a_plan_that_is_refused(
    plan: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = ("-p", "m=200,n=20", "--storage-limit", "1000000")
    code, _, error = call(capsys, "run", "symm", *limit, "--storage", plan)
    assert code == 2
    assert expected in " ".join(error.split())


def test_a_search_under_a_plan_is_replayed_under_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    search = ("optimize", *MINI, "--budget", "1", "--out", str(out))
    assert call(capsys, *search, "--storage", PLAN)[0] == 0
    best = json.loads((out / "best.json").read_text())
    assert best["program"]["storage"] == PLAN
    code, found = call_json(capsys, "replay", str(out / "best.json"), "--no-run")
    assert (code, found["storage"], found["legal"]) == (0, PLAN, True)
    code, _, error = call(capsys, *search, "--resume")
    assert code == 2
    assert "program.storage" in error
    broken = {**best, "program": {**best["program"], "storage": "temp2=grow"}}
    with pytest.raises(InputError, match=r"the entry program\.storage: storage: expected rename"):
        record.replay(broken, "best.json")


def test_bench_says_which_plan(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call_json(capsys, "bench", *MINI, "--storage", PLAN, "--repeat", "1")
    assert code == 0
    assert found["storage"] == {"symm": PLAN}
    assert {one["schedule"]: one["status"] for one in found["entries"]}["isl"] == "ok"
