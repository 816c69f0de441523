"""``--storage`` and ``polygym storage``: plans on the command line, in files, and refused."""

import json
import os
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.cli.options.variants import VariantOptions
from polygym.errors import InputError
from polygym.mdp.records import episode_record
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs import load_program
from tests.cli.invoke import call, call_json
from tests.poly.transform.storage.random_plans import STORED_PROGRAMS

MINI = ("symm", "-d", "mini")
PLAN = "temp2=expand:i,j"
OUTSIDE = "its values are used where no iteration of one loop on one thread has all of them"


def test_what_may_become_of_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "storage", *MINI)
    assert code == 0
    temp2 = data["webs"][0]
    assert (temp2["array"], temp2["in_the_way"]) == ("temp2", ["i", "j"])
    assert {"storage": "S0:temp2=expand:i,j", "bytes": 4800, "refusal": ""} in temp2["choices"]
    assert data["plan"]["storage"] == "S0:temp2=expand:i,j contract"
    assert data["plan"]["dependences"] < data["plan"]["dependences_before"]
    code, out, _ = call(capsys, "storage", *MINI, "--storage", PLAN)
    assert code == 0
    assert "frees        the loop j around S0, S1, S2, S3: is parallel" in out


def test_a_program_runs_under_a_plan_and_its_file_runs_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The file holds the plan too: its schedule is one of the other program."""
    words = ("--schedule", "isl", "--repeat", "1", "--threads", "2")
    code, data = call_json(capsys, "run", *MINI, *words, "--storage", "auto")
    assert code == 0
    assert data["storage"] == "S0:temp2=expand:i,j contract"
    assert data["storage_bytes"] == 4800
    path = tmp_path / "found.json"
    path.write_text(json.dumps(data))
    code, again = call_json(capsys, "run", *MINI, "--schedule", str(path), "--repeat", "1")
    assert code == 0
    assert (again["storage"], again["schedule"]) == (data["storage"], data["schedule"])


def test_private_to_a_thread(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It is offered at its price, runs, says what it takes, and runs again from its file."""
    _, offered = call_json(capsys, "storage", *MINI)
    each = next(
        offer
        for offer in offered["webs"][0]["choices"]
        if offer["storage"] == "S0:temp2=private:i,j"
    )
    assert each["bytes"] == 8 * (os.cpu_count() or 1)
    words = ("--mapping", "threads=2 parallel=static tile=off vector_bits=off unroll_jam=1")
    plan = ("--storage", "temp2=private:i,j")
    code, data = call_json(capsys, "run", *MINI, *words, *plan, "--repeat", "1")
    assert code == 0
    assert (data["storage"], data["storage_bytes"]) == ("temp2=private:i,j", each["bytes"])
    assert data["private"] == {"temp2_1": 8}
    path = tmp_path / "found.json"
    path.write_text(json.dumps(data))
    code, out, _ = call(capsys, "run", *MINI, "--schedule", str(path), "--repeat", "1")
    assert code == 0
    assert "temp2_1: 8 bytes for each thread" in out
    code, out, _ = call(capsys, "show", "symm", *plan, "--c")
    assert code == 0
    assert "; temp2_1: 8 bytes for each thread */" in out
    assert "static _Thread_local double temp2_1 " in out


def test_what_is_not_private_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "last.c"
    path.write_text(STORED_PROGRAMS["live_after"])
    words = (str(path), "-p", "n=50", "--storage", "s=private:i")
    code, data = call_json(capsys, "run", *words, "--repeat", "1")
    assert code == 0
    assert data["private"] == {"s_1": OUTSIDE}
    code, out, _ = call(capsys, "show", *words)
    assert code == 0
    assert f"s_1 is not private: {OUTSIDE}" in out
    code, _, err = call(capsys, "run", *words, "--storage-limit", "200")
    assert code != 0
    assert f"s_1 cannot be private under this schedule and mapping: {OUTSIDE}" in err


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
        (
            "temp2=grow",
            "one of rename, expand, expand:i,j, private, private:i,j, copy, dead for temp2, "
            "found 'grow'",
        ),
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
    code, data = call_json(capsys, "replay", str(out / "best.json"), "--no-run")
    assert (code, data["storage"], data["legal"]) == (0, PLAN, True)
    assert call(capsys, *search, "--resume")[0] == 0  # nothing is said: it goes on as it began
    assert json.loads((out / "best.json").read_text())["program"]["storage"] == PLAN
    for other in ("keep", "temp2=expand"):
        code, _, error = call(capsys, *search, "--storage", other, "--resume")
        assert code == 2
        assert "program.storage" in error
    broken = {**best, "program": {**best["program"], "storage": "temp2=grow"}}
    with pytest.raises(
        InputError, match=r"the entry program\.storage: storage: expected one of rename"
    ):
        episode_record.replay_record(broken, "best.json")
    broken["program"]["storage"] = 5
    said = r"^best\.json: the entry program\.storage: expected a text, found 5$"
    with pytest.raises(InputError, match=said):
        episode_record.replay_record(broken, "best.json")


def test_bench_says_which_plan(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "bench", *MINI, "--storage", PLAN, "--repeat", "1")
    assert code == 0
    assert data["storage"] == {"symm": PLAN}
    assert {entry["schedule"]: entry["status"] for entry in data["entries"]}["isl"] == "ok"


def test_bench_takes_a_file_with_its_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its schedule is one of the program under the plan; an option that is given says another."""
    path = tmp_path / "found.json"
    _, data = call_json(capsys, "run", *MINI, "--storage", "auto", "--schedule", "isl")
    path.write_text(json.dumps(data))
    words = ("bench", *MINI, "--schedules", f"{path},isl", "--repeat", "1")
    code, measured = call_json(capsys, *words)
    assert code == 0
    original, given, isl = measured["entries"]
    assert given["storage"] == data["storage"] == "S0:temp2=expand:i,j contract"
    assert (original["storage"], isl["storage"]) == ("keep", "keep")
    assert measured["storage"] == {"symm": "keep"}
    code, out, _ = call(capsys, *words)
    assert code == 0
    assert f"symm, {path}: S0:temp2=expand:i,j contract" in out
    code, measured = call_json(capsys, *words, "--storage", "keep")
    assert code == 1
    assert "dependence S2 -> S0 on temp2" in measured["entries"][1]["error"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("storage", "temp2=grow", "the entry storage: storage: expected one of rename, expand"),
        ("splitting", "S0: i j", "the entry splitting: a cut: expected a comparison such as"),
    ],
)
def test_what_a_file_says_and_nobody_understands_names_the_file(
    name: str, text: str, expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"schedule": "{ S0[i,j] -> [i,j] }", name: text}))
    code, _, error = call(capsys, "run", *MINI, "--schedule", str(path))
    assert code == 2
    assert f"bad.json: {expected}" in error


def test_what_a_command_does_without_a_word_is_in_its_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command, expected, cuts in (
        ("check", "keep, or what the schedule's file has", "none, or what the schedule's file has"),
        ("storage", "auto", "none"),
        ("sweep", "keep", "none"),
        (
            "optimize",
            "model, unless --split is given; keep for comprehensions",
            "decided by models, unless --storage is",
        ),
    ):
        _, out, _ = call(capsys, command, "--help")
        text = " ".join(out.split())
        assert f"lists what there is. (Default: {expected}.)" in text
        assert f"(docs/explanation/schedules.md). (Default: {cuts}" in text
        assert ("model (what cost models" in text) == (command != "check")


def test_a_file_has_had_its_price_looked_at(tmp_path: Path) -> None:
    """What is asked for is limited; what a file says is not, unless a limit is said as well."""
    symm, large = load_program("symm", dataset=Dataset.LARGE), parse_storage("temp2=expand")
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"schedule": "", "program": {"storage": str(large)}}))
    assert VariantOptions(None, None).apply(symm, str(path)).storage == large
    with pytest.raises(InputError, match="allow more with --storage-limit"):
        VariantOptions(None, None, 1000).apply(symm, str(path))
    with pytest.raises(InputError, match="allow more with --storage-limit"):
        VariantOptions(None, large).apply(symm)


def test_a_space_under_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    spaces = [call_json(capsys, "space", "symm", *more)[1] for more in ((), ("--storage", PLAN))]
    assert [space["storage"] for space in spaces] == ["keep", PLAN]
    assert len(spaces[1]["dependences"]) < len(spaces[0]["dependences"])
    code, out, _ = call(capsys, "space", "symm", "--storage", PLAN)
    assert code == 0
    assert f"storage      {PLAN}" in out


def test_webs_of_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "storage", *MINI, "--split", "S0: i = 0")
    assert (code, data["splitting"]) == (0, "S0: i = 0")
    assert data["webs"][0]["statements"] == ["S0_0", "S0_1", "S2"]


def test_a_model_needs_sizes_and_a_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = call(capsys, "space", "symm", "--storage", "model")
    assert code == 2
    assert "--storage model: expected a command that runs a program" in " ".join(error.split())
