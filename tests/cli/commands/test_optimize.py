"""``polygym optimize``: what it prints and leaves, how it ends, how it goes on."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygym.cli import dispatch
from polygym.cli.output.ranking import resume_command
from polygym.cost.models.pretrained import ModelChoice, model_file_digest
from polygym.errors import InputError
from polygym.poly.scheduling.strategy import ISL, ORIGINAL
from polygym.search import start as start_module
from polygym.search.journal import SearchJournal, read_journal
from polygym.search.strategies.model_options import ModelOptions
from tests.cli import invoke
from tests.cost.models.saved_models import saved_trees
from tests.search.fakes import setting

CRASHING = """
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    A[i] = B[i] / (i - i);
#pragma endscop
}
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return invoke.call(capsys, "optimize", *arguments)


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    return invoke.call_json(capsys, "optimize", *arguments)


def lines(folder: Path, stage: str = "search") -> list[dict[str, Any]]:
    episodes = read_journal(folder / "journal.jsonl").episodes
    return [line for line in episodes if line["stage"] == stage]


def schedules(folder: Path) -> list[str]:
    return [line["schedule"] for line in lines(folder)]


def test_a_model_picks_among_episodes(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (y_ax, "-p", "n=60", "--out", str(out), "--strategy", "guided", "--budget", "2")
    code, data = call_json(capsys, *arguments)
    assert (code, data["explored"]) == (0, 2)
    contents = read_journal(out / "journal.jsonl")
    assert contents.setting["strategy"] == "guided"
    # Its records are an environment's, which a policy begins.
    assert {episode["arguments"]["policy"] for episode in lines(out)} == {"bias_coeff_0"}
    assert dispatch.run(["replay", str(out / "best.json")]) == 0


def test_another_model_picks(capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    usual, out = (y_ax, "-p", "n=60", "--budget", "2"), str(tmp_path / "out")
    file = saved_trees(tmp_path / "trees.model")
    asked = (*usual, "--out", out, "--strategy", "guided", "--model", str(file))
    code, data = call_json(capsys, *asked)
    assert (code, data["explored"], data["model"]) == (0, 2, model_file_digest(file))
    shutil.move(file, tmp_path / "moved.model")
    code, _, said = call(capsys, *asked, "--resume")
    assert (code, "trees.model: expected a model" in said) == (2, True)
    code, data = call_json(capsys, *asked[:-1], str(tmp_path / "moved.model"), "--resume")
    assert (code, data["explored"]) == (0, 2)
    code, _, said = call(capsys, *asked[:-2], "--resume")
    assert (code, f"model: {model_file_digest(tmp_path / 'moved.model')} before" in said) == (
        2,
        True,
    )
    code, _, said = call(capsys, *usual, "--model", str(tmp_path / "moved.model"))
    assert (code, "--model is for --strategy guided, annealing, filter" in said) == (2, True)


def test_a_search_from_end_to_end(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (y_ax, "-p", "n=60", "--out", str(out), "--plot")
    code, data = call_json(capsys, *arguments, "--budget", "6")
    assert code == 0
    whole = json.loads(json.dumps(data))
    assert (data["budget"], data["explored"], data["interrupted"]) == (6, 6, False)
    assert sum(data["counts"].values()) == 6
    assert data["isl"]["status"] == "ok"
    assert data["isl_error"] is None
    assert data["measured_together"]
    assert data["improved"] == (data["best"]["speedup"] > 1.03)
    once = data["best_while_searching"]
    assert once["speedup"] == data["convergence"][-1]["speedup"]
    line = read_journal(out / "journal.jsonl").episodes[once["index"]]
    assert (line["index"], line["outcome"]["speedup"]) == (once["index"], once["speedup"])
    assert once["samples"] != data["best"]["samples"]
    speedups = [finding["speedup"] for finding in data["ranking"]]
    assert speedups == sorted(speedups, reverse=True)
    # The initial candidate stays the best unless another one is faster by more than noise.
    best = data["best"]
    fastest = data["ranking"][0]
    assert (
        best["index"] == fastest["index"] or fastest["speedup"] < 1.031 * data["initial"]["speedup"]
    )
    (isl,) = (finding for finding in data["ranking"] if finding["source"] == "isl")
    assert (isl["speedup"], isl["speedup_over_isl"]) == (data["isl"]["speedup"], 1.0)
    over = fastest["speedup"] / data["isl"]["speedup"]
    assert fastest.pop("speedup_over_isl") == pytest.approx(over)
    assert {Path(name).name for name in data["files"].values()} == {
        path.name for path in out.iterdir()
    }
    assert json.loads((out / "summary.json").read_text()) == whole
    assert (out / "convergence.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((out / "best.json").read_text())["schedule"] == best["schedule"]
    explored = schedules(out)
    code, text, _ = call(capsys, *arguments, "--budget", "9", "--resume")
    assert code == 0
    assert "9 of 9 explored" in text
    assert schedules(out)[:6] == explored
    assert text.splitlines()[1].split() == [
        "SCHEDULE", "STATUS", "TIME", "SAMPLES", "SPEEDUP", "(-O3)", "SPEEDUP", "(isl)", "MAPPING",
    ]  # fmt: skip
    assert any(re.match(r"original +\{", line) for line in text.splitlines())
    assert any(re.match(r"isl +\{", line) for line in text.splitlines())
    assert "best.json" in text


def test_mappings_are_tuned_written_down_and_replayed(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    # isl's schedule is the original one here, with which the usual policy begins.
    usual = (
        y_ax,
        "-p",
        "n=60",
        "--out",
        str(out),
        "--budget",
        "3",
        "--strategy",
        "uniform",
        "--resume",
    )
    code, data = call_json(capsys, *usual, "--mapping-budget", "9")
    assert (code, data["mappings_tried"]) == (0, 9)
    trials = lines(out, "mappings")
    pairs = {(line["schedule"], line["mapping"]) for line in trials}
    assert len(pairs) == len(trials) == 9
    assert {line["outcome"]["status"] for line in trials} == {"ok"}
    assert {"original", "isl"} & {line["source"] for line in trials}
    best = json.loads((out / "best.json").read_text())
    assert best["arguments"]["mapping"] == best["outcome"]["mapping"] == data["best"]["mapping"]
    assert best["schedule"] == data["best"]["schedule"]
    assert dispatch.run(["replay", str(out / "best.json")]) == 0
    assert f"mapping   {best['outcome']['mapping']}" in capsys.readouterr().out
    code, text, _ = call(capsys, *usual, "--mapping-budget", "11")
    assert code == 0
    assert "11 mappings tried" in text
    assert lines(out, "mappings")[:9] == trials


def test_the_best_code_compiles(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert call(capsys, y_ax, "-p", "n=40", "--out", str(out), "--budget", "2")[0] == 0
    assert "yax(" in (out / "best.c").read_text()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler is not None
    subprocess.run([compiler, "-c", "best.c", "-o", "best.o"], cwd=out, check=True)


def test_a_folder_of_its_own(
    capsys: pytest.CaptureFixture[str],
    y_ax: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("polygym-yax", "polygym-yax-2"):
        code, text, _ = call(capsys, y_ax, "-p", "n=20", "--budget", "1")
        assert code == 0
        assert f"{name}/journal.jsonl" in text
        assert len(schedules(tmp_path / name)) == 1


def test_what_is_refused(capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    usual = (y_ax, "-p", "n=20", "--out", str(out), "--budget", "2")
    assert call(capsys, *usual)[0] == 0
    before = (out / "journal.jsonl").read_bytes()
    for arguments, fragment in [
        (usual, "--resume continues"),
        ((*usual, "--resume", "--seed", "1"), "seed: 0 before, 1 now"),
        ((*usual, "--resume", "-p", "m=1"), "-p m"),
        ((y_ax, "--resume"), "--resume needs --out"),
        ((*usual, "--strategy", "nobody"), "bias_coeff_0"),
        ((*usual, "--budget", "0"), "--budget"),
        ((*usual, "--timeout-factor", "0.5"), "--timeout-factor"),
        (("nowhere.c",), "nowhere.c"),
        ((y_ax, "--out", y_ax), y_ax),
    ]:
        code, text, err = call(capsys, *arguments)
        assert (code, text) == (2, ""), arguments
        assert fragment in err
    assert (out / "journal.jsonl").read_bytes() == before
    journal, _ = SearchJournal.open(out / "journal.jsonl")
    with journal:
        code, _, err = call(capsys, *usual, "--resume")
    assert code == 2
    assert "another search at work" in err


def test_isl_may_have_nothing_to_say(
    capsys: pytest.CaptureFixture[str],
    y_ax: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("isl's scheduler finds no schedule for it")

    scheduled = start_module.schedule_within

    def without_isl(strategy: Any, scop: Any) -> Any:
        return refuse() if strategy == ISL else scheduled(strategy, scop)

    monkeypatch.setattr(start_module, "schedule_within", without_isl)
    monkeypatch.setattr(start_module.schedule_choice, "choose_schedule_within", refuse)
    out = str(tmp_path / "out")
    usual = (y_ax, "-p", "n=20", "--budget", "1", "--out", out, "--resume")
    usual = (*usual, "--strategy", "uniform")
    code, data = call_json(capsys, *usual, "--plot")
    assert code == 0
    assert data["isl"] is None
    assert "finds no schedule" in data["isl_error"]
    assert data["ranking"][0]["speedup_over_isl"] is None
    code, text, _ = call(capsys, *usual)
    assert code == 0
    assert "isl: isl's scheduler finds no schedule" in text


def test_a_program_that_does_not_run(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = tmp_path / "crash.c"
    source.write_text(CRASHING)
    monkeypatch.chdir(tmp_path)
    code, text, err = call(capsys, str(source), "-p", "n=20", "--budget", "1")
    assert (code, text) == (1, "")
    assert "original" in err
    assert [path.name for path in tmp_path.iterdir()] == ["crash.c"]


def test_a_full_disk_shows_what_there_is(
    capsys: pytest.CaptureFixture[str],
    y_ax: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append = SearchJournal.append

    def fill(journal: SearchJournal, line: dict[str, Any]) -> None:
        if line["source"] == "learned#3":
            raise OSError(28, "No space left on device", str(journal.path))
        append(journal, line)

    usual = (y_ax, "-p", "n=20", "--budget", "6", "--out", str(tmp_path / "out"))
    with monkeypatch.context() as context:
        context.setattr(SearchJournal, "append", fill)
        code, text, err = call(capsys, *usual)
    assert code == 2
    assert "3 of 6 explored" in text
    assert "journal.jsonl: No space left on device; to go on:" in err
    assert "--resume" in err
    code, data = call_json(capsys, *usual, "--resume")
    assert (code, data["explored"]) == (0, 6)


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "polygym", "optimize", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(folder: Path, episodes: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        journal = folder / "journal.jsonl"
        if journal.exists() and journal.read_bytes().count(b'"stage":"search"') >= episodes:
            return
        time.sleep(0.05)
    pytest.fail("the search never came so far")


def group_is_gone(group: int) -> bool:
    """Whether no process of a session is left, those that are being buried apart."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":
            return False
    return True


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_signal_keeps_everything(
    capsys: pytest.CaptureFixture[str],
    y_ax: str,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    out = tmp_path / "out"
    process = start(y_ax, "-p", "n=300", "--budget", "100000", "--out", str(out))
    wait_for(out, 4)
    os.kill(process.pid, number)
    text, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err
    if number is not signal.SIGKILL:
        assert "of 100000 explored" in text
        assert "interrupted; to go on:" in err
        assert f"--budget 100000 --out {out} --resume" in err
    deadline = time.monotonic() + 10
    while not group_is_gone(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert group_is_gone(process.pid)
    explored = schedules(out)
    assert len(explored) >= 4
    more = len(explored) + 1
    code, data = call_json(
        capsys, y_ax, "-p", "n=300", "--budget", str(more), "--out", str(out), "--resume"
    )
    assert (code, data["explored"]) == (0, more)
    assert schedules(out)[: len(explored)] == explored


def test_interrupted_json_is_one_document(y_ax: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(y_ax, "-p", "n=300", "--budget", "100000", "--out", str(out), "--json")
    wait_for(out, 2)
    os.kill(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=30)
    data = json.loads(text)
    assert process.returncode == 130
    assert data["interrupted"]
    assert "error" not in data
    assert data["explored"] >= 2


def test_the_words_to_go_on_with() -> None:
    folder = Path("/somewhere/it is")
    words = (
        "polygym optimize mvt --dataset mini --strategy uniform --seed 3 --budget 500 "
        "--out '/somewhere/it is' --resume"
    )
    search = setting(policy="uniform", seed=3)
    search = replace(search, plan=replace(search.plan, budget=500))
    assert resume_command(search, False, folder) == words
    assert resume_command(search, True, folder) == f"{words} --plot"
    tuned = words.replace("500", "500 --mapping-budget 40 --time-limit 90s")
    limited = replace(search.plan, mapping_budget=40, time_limit=90.0)
    assert resume_command(replace(search, plan=limited), False, folder) == tuned
    genetic = words.replace("uniform", "genetic --schedule fixed --from original --population 5")
    other = replace(search.plan, strategy="genetic", is_fixed=True, schedule=ORIGINAL)
    assert resume_command(replace(search, plan=other), False, folder) == genetic


def test_the_words_to_go_on_with_have_the_model(tmp_path: Path) -> None:
    file = saved_trees(tmp_path / "my own.model")
    search = setting(policy="guided")
    models = ModelOptions(ModelChoice(str(file)))
    search = replace(search, plan=replace(search.plan, model_options=models))
    words = shlex.split(resume_command(search, False, tmp_path))
    assert words[words.index("--strategy") + 1] == "guided"
    assert words[words.index("--model") + 1] == str(file)


def test_run_takes_the_mapping_of_what_was_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["--mapping", "tile=8 scalar_replacement=off", "--threads", "2", "--out", str(out)]
    assert dispatch.run(["optimize", "mvt", "-d", "mini", "--budget", "2", *arguments]) == 0
    mapping = json.loads((out / "best.json").read_text())["outcome"]["mapping"]
    capsys.readouterr()
    command = ["run", "mvt", "-d", "mini", "--schedule", str(out / "best.json"), "--json"]
    for more, expected in [
        ([], mapping),
        (["--threads", "1"], mapping.replace("threads=2 ", "")),
        (["--mapping", "default"], "default"),
    ]:
        assert dispatch.run([*command, *more]) == 0
        assert json.loads(capsys.readouterr().out)["mapping"] == expected
