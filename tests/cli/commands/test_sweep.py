"""``polygym sweep``: what it finds, how it ends, how it goes on."""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polybench import Dataset
from polygym.cli import dispatch
from polygym.cli.commands import sweep
from polygym.cli.output.console import CommandResult
from polygym.cli.output.sweep_progress import progress_line
from polygym.cost.models.pretrained import ModelChoice, model_file_digest
from polygym.mdp.policies.registry import policy_named
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.search.strategies.samplers import (
    make_sampler,
    model_name,
    sample_episode,
    schedule_or_reason,
)
from polygym.search.sweep.process import RECORDED, UNWRITABLE, ProgramProcess
from polygym.search.sweep.progress import ProgramProgress, SweepPhase, SweepProgress
from polygym.search.sweep.reader import read_sweep
from polygym.search.sweep.rows import ISL
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import STORE_FILE
from polygym.search.sweep.workload import ConfirmRequest, SweepWorkload
from tests.c_programs import Y_AX
from tests.cli import invoke
from tests.cli.commands.test_optimize import CRASHING, group_is_gone
from tests.cost.models.saved_models import saved_trees

# The last of them finds the same schedule every time.
POLICIES = ("bias_coeff_0", "uniform", "earliest")
USUAL = ("--initial-schedules", "none", 
    "--strategy", ",".join(POLICIES), "--search-dataset", "mini", "--dataset", "mini",
    "--confirm", "2", "--seed", "5",
)  # fmt: skip


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return invoke.call(capsys, "sweep", *arguments)


def expected(kernel: str, budget: int) -> dict[tuple[str, int], str | None]:
    """Return what the episodes of a sweep find, played here."""
    subject = SweepSetting().subject(kernel, Dataset.MINI)
    result = {}
    for name in POLICIES:
        for index in range(budget):
            schedule = schedule_or_reason(
                sample_episode(subject.task, policy_named(name), 5, index)
            )
            result[name, index] = None if isinstance(schedule, str) else str(schedule)
    return result


def explored(folder: Path) -> dict[tuple[str, int], str | None]:
    """Return what the episodes of a store have found."""
    contents = read_sweep(folder)
    schedules = {outcome.number: outcome.schedule for outcome in contents.outcomes}
    return {
        (episode_row.policy, episode_row.index): None
        if episode_row.outcome is None
        else schedules[episode_row.outcome]
        for episode_row in contents.episodes
    }


def test_a_sweep_from_end_to_end(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    crash = tmp_path / "crash.c"
    crash.write_text(CRASHING)
    out = tmp_path / "out"
    code, text, _ = call(
        capsys, str(crash), y_ax, "--out", str(out), "--budget", "8", *USUAL, "--json"
    )
    data: dict[str, Any] = json.loads(text)
    assert code == 1
    broken, good = data["kernels"]
    assert "original program" in broken["error"]
    assert broken["explored"] == 0
    assert (good["explored"], good["error"], good["wrong"]) == (24, None, 0)
    assert good["confirmed"]
    assert good["best"] == pytest.approx(data["geometric_mean"]["best"])
    assert explored(out) == expected(y_ax, 8)
    contents = read_sweep(out)
    # Equal schedules are measured once; the best are there again, isl's at both times.
    texts = [outcome.schedule for outcome in contents.outcomes]
    assert len(texts) == len(set(texts)) <= 17
    assert len(contents.confirmations) == 2
    assert {timing.name for timing in contents.references} == {"isl"}
    assert contents.baselines
    # What is done is not done again, and more can be asked for.
    before = contents.outcomes
    code, text, err = call(capsys, y_ax, "--out", str(out), "--budget", "10", *USUAL)
    assert code == 0
    assert "yax" in text
    assert f"polygym report {out}" in text
    assert read_sweep(out).outcomes[: len(before)] == before
    assert explored(out) == expected(y_ax, 10)
    code, _, err = call(capsys, y_ax, "--out", str(out), "--budget", "10", *USUAL[:-1], "6")
    assert code == 2
    assert "seed: 5 before, 6 now" in err


def test_a_model_picks_among_episodes_beside_a_policy(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    usual = [word for word in USUAL if word != ",".join(POLICIES)]
    usual.insert(usual.index("--strategy") + 1, "guided,uniform")
    code, _, _ = call(capsys, y_ax, "--out", str(out), "--budget", "2", *usual)
    assert code == 0
    tried = explored(out)
    assert set(tried) == {(name, index) for name in (model_name(), "uniform") for index in range(2)}
    subject = SweepSetting().subject(y_ax, Dataset.MINI)
    mapping = SweepSetting().evaluation.mapping
    play = make_sampler("guided", subject.task, dict(subject.program.parameters), mapping)
    assert [tried[model_name(), index] for index in range(2)] == [
        str(schedule_or_reason(play(5, index))) for index in range(2)
    ]
    code, _, err = call(capsys, y_ax, "--out", str(out), "--strategy", "nobody")
    assert code == 2
    assert "expected one of" in err
    assert "guided, found 'nobody'" in err


def test_episodes_of_another_model_are_another_policys(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    pytest.importorskip("lightgbm")
    usual = (y_ax, "--out", str(tmp_path / "out"), "--budget", "1", "--initial-schedules", "none")
    usual += ("--search-dataset", "mini", "--dataset", "mini", "--confirm", "0")
    file = saved_trees(tmp_path / "trees.model")
    other = ("--model", str(file))
    assert call(capsys, *usual, "--strategy", "guided", *other)[0] == 0
    assert set(explored(tmp_path / "out")) == {(f"guided@{model_file_digest(file)}", 0)}
    assert call(capsys, *usual, "--strategy", model_name(ModelChoice(str(file))), *other)[0] == 0
    assert len(explored(tmp_path / "out")) == 1
    assert call(capsys, *usual, "--strategy", "guided")[0] == 0
    assert (model_name(), 0) in explored(tmp_path / "out")
    code, _, said = call(capsys, *usual, "--strategy", "uniform", *other)
    assert (code, "--model is for --strategy guided" in said) == (2, True)
    code, _, said = call(capsys, *usual, "--strategy", "guided", "--model", "nothing")
    assert (code, "nothing: expected a model" in said) == (2, True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_signal_loses_nothing(
    capsys: pytest.CaptureFixture[str],
    y_ax: str,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    out = tmp_path / "out"
    usual = (y_ax, "--out", str(out), *USUAL, "--confirm", "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "polygym", "sweep", *usual, "--budget", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(out / STORE_FILE, 6)
    children = children_of(process.pid)
    assert children
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    if number is not signal.SIGKILL:
        assert "interrupted; the same command goes on:" in err
        assert "--budget 100000" in err
    deadline = time.monotonic() + 10
    while not all(map(group_is_gone, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(group_is_gone, children))
    tried = explored(out)
    assert len(tried) >= 6
    budget = len(tried) // 3 + 2
    assert call(capsys, *usual, "--budget", str(budget))[0] == 0
    assert explored(out) == expected(y_ax, budget)
    assert explored(out).items() >= tried.items()


def test_time_is_up(capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    usual = (y_ax, "--out", str(out), *USUAL, "--budget", "1000000")
    code, _, _ = call(capsys, *usual, "--time-limit", "2.4s")
    assert code == 0
    contents = read_sweep(out)
    assert 0 < len(contents.episodes) < 1000000
    assert contents.kernels[0].seconds > 0
    assert len(contents.confirmations) == 2
    counts = {
        name: sum(episode_row.policy == name for episode_row in contents.episodes)
        for name in POLICIES
    }
    assert abs(counts[POLICIES[0]] - counts[POLICIES[1]]) <= 1
    # The time of the first run counts: nothing is left for a second one.
    assert call(capsys, *usual, "--time-limit", "2.4s")[0] == 0
    assert len(read_sweep(out).episodes) == len(contents.episodes)


def test_more_jobs_than_cores(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    usual = (y_ax, "--out", str(tmp_path / "out"), *USUAL, "--confirm", "0", "--budget", "1")
    code, _, err = call(capsys, *usual, "--jobs", "1000")
    assert code == 0
    assert "1000 jobs of 1 thread need 1000 cores" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "nobody"),
        (("mvt", "--strategy", "nobody"), "bias_coeff_0"),
        (("mvt", "--strategy", ","), "--strategy"),
        (("mvt", "--dataset", "huge"), "huge"),
        (("mvt", "--time-limit", "0"), "--time-limit"),
        (("mvt", "--jobs", "0"), "--jobs"),
    ],
)
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, text, err = call(capsys, *arguments, "--out", str(tmp_path / "out"))
    assert (code, text) == (2, "")
    assert said in err
    assert not (tmp_path / "out").exists()


def test_a_line_of_progress() -> None:
    standings = (
        ProgramProgress("gemm", 40, 3.214, 0, True),
        ProgramProgress("/a/b.c", 0, None, 0, False),
    )
    line = progress_line(SweepProgress(SweepPhase.SEARCH, 120, 900, 720.0, standings))
    assert line == "searching: 120 of 900 explored, about 12 min left; gemm 40, best 3.21x"


def test_another_text_is_refused_also_when_all_is_done(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    command = (y_ax, "--out", str(tmp_path / "out"), *USUAL, "--budget", "2")
    assert call(capsys, *command)[0] == 0
    Path(y_ax).write_text(Y_AX + "/* more */\n")
    code, _, err = call(capsys, *command)
    assert code == 2
    assert "expected the text whose schedules were measured before" in err


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_why_a_compiler_is_not_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "more.c"
    path.write_text(Y_AX.replace("#pragma scop", "int other;\n  other = 3;\n#pragma scop"))
    out = tmp_path / "out"
    code, _, err = call(
        capsys, str(path), "--out", str(out), *USUAL, "--budget", "2", "--against", "gcc"
    )
    assert code == 0
    assert "more, gcc: does not compile: gcc: expected a function that does nothing but" in err
    assert dispatch.run(["report", str(out)]) == 0
    assert "Not compared" in (out / "report.html").read_text()


def test_a_process_that_ends_of_anything_is_explained() -> None:
    for text, said in [
        ("raise ValueError('odd')", "its process ended (with 1): ValueError: odd"),
        ("import os; os.kill(os.getpid(), 9)", "its process ended (SIGKILL): it said nothing"),
        (f"raise SystemExit({RECORDED})", ""),
        ("", ""),
    ]:
        log = os.fdopen(os.memfd_create("errors"), "w+b")
        process = subprocess.Popen([sys.executable, "-c", text], stderr=log)
        process.wait()
        running = ProgramProcess("mvt", Path("sweep.sqlite"), ConfirmRequest(1), process, log)
        assert running.failure() == said


def test_a_process_that_cannot_write_the_store_ends_the_sweep() -> None:
    text = f"import sys; print('no space', file=sys.stderr); sys.exit({UNWRITABLE})"
    log = os.fdopen(os.memfd_create("errors"), "w+b")
    process = subprocess.Popen([sys.executable, "-c", text], stderr=log)
    process.wait()
    running = ProgramProcess("mvt", Path("sweep.sqlite"), ConfirmRequest(1), process, log)
    with pytest.raises(OSError, match=r"no space: .sweep\.sqlite."):
        running.failure()


def test_a_full_disk_is_said(y_ax: str, tmp_path: Path) -> None:
    """No file may grow beyond so many bytes, as if the disk had no more."""
    done = subprocess.run(
        [
            *("prlimit", "--fsize=70000", sys.executable, "-m", "polygym", "sweep", y_ax),
            *("--out", str(tmp_path / "out"), *USUAL, "--budget", "10000"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "sweep.sqlite: disk I/O error" in done.stderr
    assert "Traceback" not in done.stderr


def wait_for(store: Path, episodes: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if store.exists():
            with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
                (count,) = connection.execute("SELECT count(*) FROM episodes").fetchone()
            if count >= episodes:
                return
        time.sleep(0.05)
    pytest.fail("the sweep never came so far")


def children_of(parent: int) -> list[int]:
    """Return the processes that a process has started; each leads a session of its own."""
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(word) for word in text.split()]


def test_a_search_begins_with_its_seeds(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    usual = ("--strategy", "bias_coeff_0", "--search-dataset", "mini", "--dataset", "mini")
    assert call(capsys, y_ax, "--out", str(out), *usual, "--budget", "4", "--confirm", "0")[0] == 0
    program = SweepSetting().subject(y_ax, Dataset.MINI).program
    tried = explored(out)
    assert tried["bias_coeff_0", 0] == str(original_schedule(program.scop))
    assert tried["bias_coeff_0", 1] == str(isl_schedule(program.scop))
    assert len(tried) == 4
    code, _, err = call(capsys, y_ax, "--out", str(out), *usual, "--initial-schedules", "none")
    assert code == 2
    assert "initial_schedules" in err
    code, _, err = call(capsys, y_ax, "--out", str(tmp_path / "x"), "--initial-schedules", "best")
    assert code == 2
    assert "initial schedules: expected original or isl or auto, found 'best'" in err


@pytest.mark.skipif(compiler_path("gcc") is None, reason="needs gcc")
def test_other_compilers_are_measured_at_both_sizes(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    usual = (y_ax, "--out", str(out), "--search-dataset", "mini", "--dataset", "small")
    usual = (*usual, "--budget", "3", "--confirm", "1")
    assert call(capsys, *usual)[0] == 0
    assert {reference.name for reference in read_sweep(out).references} == {ISL}
    # They are added to a sweep that has been done without them.
    assert call(capsys, *usual, "--against", "gcc")[0] == 0
    timings = {
        (reference_timing.name, reference_timing.dataset): reference_timing.timing
        for reference_timing in read_sweep(out).references
    }
    assert set(timings) == {(name, size) for name in (ISL, "gcc") for size in ("mini", "small")}
    assert all(timing.is_ok and timing.baseline_samples for timing in timings.values())
    code, _, err = call(capsys, *usual, "--against", "icc")
    assert code == 2
    assert "--against: expected clang, gcc, polly, found 'icc'" in err


def documented(text: str) -> list[str]:
    """Return the words of the guide's command that begins a sweep into a folder."""
    guide = Path(__file__).parents[3] / "docs" / "guides" / "search-many-programs.md"
    page = guide.read_text().replace("\\\n", " ")
    (line,) = re.findall(rf"^\$ polygym (sweep .*--out {text})$", page, re.MULTILINE)
    return shlex.split(line)


def test_the_command_for_the_papers_figures_is_what_the_documents_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def ask(out: Path, setting: SweepSetting, orders: SweepWorkload, *_: Any) -> CommandResult:
        asked.extend((out, setting, orders))
        return CommandResult()

    monkeypatch.setattr(sweep, "_sweep", ask)
    assert dispatch.run(documented("figures")) == 0
    out, setting, orders = asked
    assert str(out) == "figures"
    assert setting.initial_schedules == ()
    assert (len(orders.programs), orders.budget, orders.time_limit) == (27, 1000, None)
    assert not {"ludcmp", "heat-3d", "adi"} & set(orders.programs)
    assert orders.policies == ("bias_coeff_0", "bias_select_dep", "uniform")
