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
from polygym.search import read_choice, tuner
from polygym.search.strategies.candidates import ScheduleSource
from polygym.tc import kernel
from tests.cli.invoke import call, call_json

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.tc").write_text(f"{MM} def other(float(N) A) -> (B) {{ B(i) = A(i) }}")


SIZES = ("my.tc", "--function", "mm", "-p", "M=20", "-p", "K=30", "-p", "N=10")


def test_from_end_to_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ("--generations", "2", "--population", "4", "--out", "found", "--jobs", "1")
    code, data = call_json(capsys, "tune", *SIZES, *words)
    assert code == 0
    assert data["parameters"] == {"M": 20, "K": 30, "N": 10}
    assert data["best"]["status"] == data["start"]["status"] == "ok"
    assert data["best"]["speedup"] >= data["start"]["speedup"]
    assert (data["wrong"], data["interrupted"], data["cached"]) == (0, False, True)
    assert sorted(path.name for path in Path("found").iterdir()) == sorted(
        Path(name).name for name in data["files"].values()
    )
    head, *trials = [
        json.loads(line) for line in Path("found/trials.jsonl").read_text().splitlines()
    ]
    assert (head["search"], head["generations"], head["population"]) == ("genetic", 2, 4)
    assert [trial["index"] for trial in trials] == list(range(data["tried"]))
    assert {trial["generation"] for trial in trials} == {1, 2}
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
    assert "found: expected a folder without the files of a search, found trials.jsonl" in said


def test_a_c_program_by_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-d", "mini", "--search", "policy:bias_coeff_0", "--generations", "1")
    code, out, _ = call(capsys, "tune", "mvt", *words, "--population", "8")
    assert code == 0
    assert "8 candidates tried" in out
    assert "cache" not in out
    trials = [
        json.loads(line) for line in Path("polygym-mvt/trials.jsonl").read_text().splitlines()
    ][1:]
    assert sum(trial["strategy"].startswith("bias_coeff_0#") for trial in trials) >= 3
    assert dispatch.run(["replay", "polygym-mvt/best.json", "--no-run"]) == 0


def lines(path: str = "found/trials.jsonl") -> list[str]:
    return Path(path).read_text().splitlines()


def test_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SIZES, "--population", "4", "--out", "found")
    code, first = call_json(capsys, "tune", *words, "--generations", "2", "--resume")
    assert code == 0  # where there is nothing yet, it begins
    before = lines()
    code, _, said = call(capsys, "tune", *words)
    assert (code, "--resume continues the search that is there" in said) == (2, True)
    Path("found/trials.jsonl").write_text("\n".join([*before, '{"index": 99, "outc']))  # was killed
    code, second = call_json(capsys, "tune", *words, "--generations", "3", "--resume")
    assert code == 0
    after = lines()
    assert after[: len(before)] == before
    assert len(after) - 1 == second["tried"] > first["tried"]
    choices = [json.loads(line)["outcome"] for line in after[1:]]
    assert len({(choice["schedule"], choice["mapping"]) for choice in choices}) == len(choices)

    # The whole search at once would have had the same beginning; nothing is left to be done.
    code, third = call_json(capsys, "tune", *words, "--generations", "3", "--resume")
    assert (code, third["tried"], lines()) == (0, second["tried"], after)
    code, _ = call_json(capsys, "tune", *words, "--generations", "3", "--time", "0", "--resume")
    assert (code, lines()) == (0, after)


def test_a_model_leads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    few = (*SIZES, "--generations", "2", "--population", "3")
    words = (*few, "--search", "model", "--out", "found")
    code, data = call_json(capsys, "tune", *words)
    assert (code, data["acquisition"], data["model"]) == (0, "mean", pretrained_digest())
    code, _, said = call(capsys, "tune", *words, "--resume", "--acquisition", "ei")
    assert (code, "acquisition: mean before, ei now" in said) == (2, True)
    code, again = call_json(capsys, "tune", *words, "--resume", "--model", str(shipped_path()))
    assert (code, again["tried"]) == (0, data["tried"])  # the same model by its name
    garbage = tmp_path / "garbage"
    garbage.write_text("no model")
    code, _, said = call(capsys, "tune", *few, "--search", "filter", "--model", str(garbage))
    assert (code, "garbage: expected a model" in said) == (2, True)
    code, _, said = call(capsys, "tune", *few, "--search", "filter", "--model", "nothing")
    assert (code, "nothing: expected a model" in said) == (2, True)
    for option in (("--model", str(shipped_path())), ("--acquisition", "ucb")):
        code, _, said = call(capsys, "tune", *few, *option)
        assert (code, "are for --search model and filter" in said) == (2, True)


def test_it_goes_on_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--generations", "1", "--population", "4", "--out", "found")
    assert call(capsys, "tune", *SIZES, *words)[0] == 0
    before = lines()
    other = ("my.tc", "--function", "other", "-p", "N=20")
    for changed, told in (
        ((*SIZES[:-1], "N=11", *words), "source.parameters.N: 10 before, 11 now"),
        ((*other, *words), "source.function: mm before, other now"),
        ((*SIZES, *words, "--seed", "7"), "seed: 0 before, 7 now"),
        ((*SIZES, *words, "--population", "5"), "population: 4 before, 5 now"),
        ((*SIZES, *words, "--threads", "2"), "mapping: default before, threads=2 now"),
        ((*SIZES, *words, "--search", "random"), "search: genetic before, random now"),
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
    words = (*SIZES, "--generations", "1", "--population", "8", "--out", "found")
    assert call(capsys, "tune", *words)[0] == 0
    path = Path("found/trials.jsonl")
    head, *trials = [json.loads(line) for line in lines()]
    trials[1]["outcome"]["mapping"] = "tile=7 unroll_jam=3"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (head, *trials)))
    code, _, said = call(capsys, "tune", *words, "--resume")
    assert (code, "expected candidate 1 of the search" in said) == (2, True)
    path.write_text(f"{json.dumps({**head, 'seeds': 3})}\n")
    code, _, said = call(capsys, "tune", *words, "--resume")
    assert (code, "expected the journal of `polygym tune`" in said) == (2, True)


@pytest.mark.parametrize("limit", ["0", "0.4"])
def test_nothing_is_begun_behind_the_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """What is said in a time includes that in which schedules are sought."""
    sought = tuner.schedules_of

    def slowly(scop: Scop, seconds: float) -> dict[ScheduleSource, Schedule]:
        time.sleep(0.5)
        return sought(scop, seconds)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(tuner, "schedules_of", slowly)
    monkeypatch.setattr(Evaluator, "evaluate_interleaved", never)
    code, data = call_json(capsys, "tune", *SIZES, "--time", limit, "--population", "50")
    assert (code, data["tried"], data["best"]["status"]) == (0, 1, "ok")


def test_the_usual_choices_are_tried_however_few_candidates_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The help says so: one more generation of one candidate is one candidate more."""
    tried = []
    for generations in ("1", "2"):
        words = ("--generations", generations, "--population", "1", "--search", "random")
        code, data = call_json(capsys, "tune", "mvt", "-d", "mini", *words)
        assert code == 0
        tried.append(data["tried"])
    assert tried[0] > 1
    assert tried[1] == tried[0] + 1
    _, text, _ = call(capsys, "tune", "--help")
    words = " ".join(text[text.index("--population") :].split()[:24])
    assert "The first one has all usual choices, even if these are more" in words


def test_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "tune", *SIZES, "--time", "0", "--population", "1")
    assert code == 0
    assert 1 <= data["tried"] <= 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--search", "policy:magic"), "policy:magic"),
        (("--time", "-1"), "--time"),
        (("--generations", "0"), "--generations"),
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
    words = [*SIZES, "--generations", "100000", "--population", "5", "--out", "out", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "polygym", "tune", *words], stdout=subprocess.PIPE, text=True
    )
    trials = tmp_path / "out" / "trials.jsonl"
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
