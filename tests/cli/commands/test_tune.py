"""``polygym tune``: what it prints and leaves, how it ends, who finds what it has found."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import polygym.tc
from polygym.cli import dispatch
from polygym.cost.models.pretrained import model_path as shipped_path
from polygym.cost.models.pretrained import pretrained_digest
from polygym.ir.scop import Scop
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluator
from polygym.search import read_choice
from polygym.search import start as start_module
from polygym.search.strategies.candidates import ScheduleSource
from polygym.tc import kernel
from tests.cli.invoke import call, call_json

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.tc").write_text(f"{MM} def other(float(N) A) -> (B) {{ B(i) = A(i) }}")


GENETIC = ("--strategy", "genetic")
SIZES = ("my.tc", "--function", "mm", "-p", "M=20", "-p", "K=30", "-p", "N=10")


def test_from_end_to_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = (*GENETIC, "--budget", "8", "--population", "4", "--out", "found", "--jobs", "1")
    code, data = call_json(capsys, "tune", *SIZES, *words)
    assert code == 0
    assert data["program"]["parameters"] == {"M": 20, "K": 30, "N": 10}
    assert data["best"]["status"] == data["initial"]["status"] == "ok"
    assert data["best"]["speedup"] >= data["initial"]["speedup"]
    assert (data["wrong"], data["interrupted"], data["cached"]) == (0, False, True)
    assert sorted(path.name for path in Path("found").iterdir()) == sorted(
        Path(name).name for name in data["files"].values()
    )
    head, *trials = [
        json.loads(line) for line in Path("found/journal.jsonl").read_text().splitlines()
    ]
    assert (head["strategy"], head["budget"], head["population"]) == ("genetic", 8, 4)
    assert [trial["index"] for trial in trials] == list(range(data["tried"]))
    assert {trial["stage"] for trial in trials} == {"initial", "search"}
    assert json.loads(Path("found/summary.json").read_text()) == data
    assert "void mm(" in Path("found/best.c").read_text()

    code, again = call_json(capsys, "replay", "found/best.json", "--no-run")
    assert (code, again["legal"], again["mapping"]) == (0, True, data["mapping"])
    assert again["schedule"] == data["schedule"]
    code, ran = call_json(capsys, "run", *SIZES, "--schedule", "found/best.json", "--repeat", "1")
    assert (code, ran["schedule"], ran["mapping"]) == (0, data["schedule"], data["mapping"])

    # The operator has it at once, from the cache; and other sizes from the file.
    monkeypatch.setattr("polygym.tc.builder.compile_kernel", None)
    operator = polygym.tc.define(Path("my.tc").read_text(), "mm")
    A, B = np.ones((20, 30), np.float32), np.ones((30, 10), np.float32)
    assert (operator(A, B) == 30).all()
    monkeypatch.setattr("polygym.tc.builder.compile_kernel", kernel.compile_kernel)
    _, mapping = read_choice("found/best.json", operator.scop())
    assert str(mapping) == data["mapping"]
    operator.compile(A[:3], B, tuned="found/best.json")
    assert (operator(A[:3], B) == 30).all()

    code, _, said = call(capsys, "tune", *SIZES, "--out", "found")
    assert code == 2
    assert "found: expected a folder without the files of a search, found journal.jsonl" in said


def test_a_c_program_by_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-d", "mini", "--strategy", "policy:bias_coeff_0")
    code, out, _ = call(capsys, "tune", "mvt", *words, "--budget", "8")
    assert code == 0
    assert "8 of 8 explored" in out
    assert "cache" not in out
    trials = [
        json.loads(line) for line in Path("polygym-mvt/journal.jsonl").read_text().splitlines()
    ][1:]
    assert sum(trial["source"].startswith("bias_coeff_0#") for trial in trials) >= 3
    assert dispatch.run(["replay", "polygym-mvt/best.json", "--no-run"]) == 0


def lines(path: str = "found/journal.jsonl") -> list[str]:
    return Path(path).read_text().splitlines()


def test_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SIZES, *GENETIC, "--population", "4", "--out", "found")
    code, first = call_json(capsys, "tune", *words, "--budget", "8", "--resume")
    assert code == 0  # where there is nothing yet, it begins
    before = lines()
    code, _, said = call(capsys, "tune", *words)
    assert (code, "--resume continues the search that is there" in said) == (2, True)
    Path("found/journal.jsonl").write_text(
        "\n".join([*before, '{"index": 99, "outc'])
    )  # was killed
    code, second = call_json(capsys, "tune", *words, "--budget", "12", "--resume")
    assert code == 0
    after = lines()
    assert after[: len(before)] == before
    assert len(after) - 1 == second["tried"] > first["tried"]
    choices = [json.loads(line) for line in after[1:]]
    assert len({(choice["schedule"], choice["mapping"]) for choice in choices}) == len(choices)

    # The whole search at once would have had the same beginning; nothing is left to be done.
    code, third = call_json(capsys, "tune", *words, "--budget", "12", "--resume")
    assert (code, third["tried"], lines()) == (0, second["tried"], after)
    code, _ = call_json(
        capsys, "tune", *words, "--budget", "12", "--time-limit", "0.001s", "--resume"
    )
    assert (code, lines()) == (0, after)


def test_a_model_leads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    few = (*SIZES, "--budget", "6")
    words = (*few, "--strategy", "annealing", "--out", "found")
    code, data = call_json(capsys, "tune", *words)
    assert (code, data["acquisition"], data["model"]) == (0, "mean", pretrained_digest())
    code, _, said = call(capsys, "tune", *words, "--resume", "--acquisition", "ei")
    assert (code, "acquisition: mean before, ei now" in said) == (2, True)
    code, again = call_json(capsys, "tune", *words, "--resume", "--model", str(shipped_path()))
    assert (code, again["tried"]) == (0, data["tried"])  # the same model by its name
    garbage = tmp_path / "garbage"
    garbage.write_text("no model")
    code, _, said = call(capsys, "tune", *few, "--strategy", "filter", "--model", str(garbage))
    assert (code, "garbage: expected a model" in said) == (2, True)
    code, _, said = call(capsys, "tune", *few, "--strategy", "filter", "--model", "nothing")
    assert (code, "nothing: expected a model" in said) == (2, True)
    for option in (("--model", str(shipped_path())), ("--acquisition", "ucb")):
        code, _, said = call(capsys, "tune", *few, *GENETIC, *option)
        assert (code, f"{option[0]} is for --strategy" in said) == (2, True)
    code, _, said = call(capsys, "tune", *few, "--population", "3")
    assert (code, "--population is for --strategy genetic." in said) == (2, True)


def test_it_goes_on_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*GENETIC, "--budget", "4", "--population", "4", "--out", "found")
    assert call(capsys, "tune", *SIZES, *words)[0] == 0
    before = lines()
    other = ("my.tc", "--function", "other", "-p", "N=20")
    other_strategy = ("--strategy", "random", "--budget", "4", "--out", "found")
    for changed, told in (
        ((*SIZES[:-1], "N=11", *words), "program.parameters.N: 10 before, 11 now"),
        ((*other, *words), "program.function: mm before, other now"),
        ((*SIZES, *words, "--seed", "7"), "seed: 0 before, 7 now"),
        ((*SIZES, *words, "--population", "5"), "population: 4 before, 5 now"),
        (
            (*SIZES, *words, "--threads", "2"),
            "threads: 1 before, 2 now; mapping: default before, threads=2 now",
        ),
        ((*SIZES, *other_strategy), "strategy: genetic before, random now"),
    ):
        code, _, said = call(capsys, "tune", *changed, "--resume")
        assert code == 2
        assert f"expected the search that is to be continued, found another one: {told}" in said
    Path("my.tc").write_text(Path("my.tc").read_text().replace("float", "double"))
    code, _, said = call(capsys, "tune", *SIZES, *words, "--resume")
    assert (code, "the text of the program's source file" in said) == (2, True)
    assert lines() == before
    code, _, said = call(capsys, "tune", *SIZES, "--resume")
    assert (code, "--resume needs --out DIR" in said) == (2, True)


def test_what_was_recorded_is_chosen_again_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SIZES, *GENETIC, "--budget", "8", "--population", "8", "--out", "found")
    assert call(capsys, "tune", *words)[0] == 0
    path = Path("found/journal.jsonl")
    head, *trials = [json.loads(line) for line in lines()]
    trials[1]["mapping"] = "tile=7 unroll_jam=3"
    path.write_text("".join(f"{json.dumps(document)}\n" for document in (head, *trials)))
    code, _, said = call(capsys, "tune", *words, "--resume")
    assert (code, "expected candidate 1 of the search" in said) == (2, True)
    path.write_text(f"{json.dumps({**head, 'similar': 3})}\n")
    code, _, said = call(capsys, "tune", *words, "--resume")
    assert (code, "expected the journal of a search" in said) == (2, True)


@pytest.mark.parametrize("limit", ["0.001s", "0.4s"])
def test_nothing_is_begun_behind_the_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """What is said in a time includes that in which schedules are sought."""
    sought = start_module.schedules_of

    def slowly(scop: Scop, seconds: float) -> dict[ScheduleSource, Schedule]:
        time.sleep(0.5)
        return sought(scop, seconds)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(start_module, "schedules_of", slowly)
    monkeypatch.setattr(Evaluator, "evaluate_interleaved", never)
    code, data = call_json(capsys, "tune", *SIZES, *GENETIC, "--time-limit", limit)
    assert (code, data["tried"], data["best"]["status"]) == (0, 1, "ok")


def test_the_initial_candidates_are_tried_beside_the_budget(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tried = []
    for budget in ("1", "2"):
        words = ("--budget", budget, "--strategy", "random")
        code, data = call_json(capsys, "tune", "mvt", "-d", "mini", *words)
        assert (code, data["explored"]) == (0, int(budget))
        tried.append(data["tried"])
    assert tried[0] > 2
    assert tried[1] == tried[0] + 1


def test_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "tune", *SIZES, *GENETIC, "--time-limit", "0.001s")
    assert code == 0
    assert 1 <= data["tried"] <= 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--strategy", "policy:magic"), "policy:magic"),
        (("--time-limit", "90"), "--time-limit"),
        (("--budget", "0"), "--budget"),
        (("-p", "Q=3"), "-p Q: expected one of the parameters M, K, N"),
        (("--mapping", "fast"), "mapping: expected default"),
    ],
)
def test_what_makes_no_sense(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, _, error = call(capsys, "tune", *SIZES, *words)
    assert code == 2
    assert said in error
    assert not list(Path().glob("polygym-*"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_the_best(tmp_path: Path, number: signal.Signals, code: int) -> None:
    words = [*SIZES, *GENETIC, "--budget", "100000", "--out", "out", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "polygym", "tune", *words], stdout=subprocess.PIPE, text=True
    )
    trials = tmp_path / "out" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (trials.exists() and trials.read_text().count("\n") > 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    data = json.loads(out)
    assert data["interrupted"]
    assert data["tried"] == trials.read_text().count("\n") - 1
    best = json.loads((tmp_path / "out" / "best.json").read_text())
    assert best["schedule"] == data["schedule"]
    assert data["best"]["status"] == "ok"
