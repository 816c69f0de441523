"""Coverage of nests: places of loops, bounded processes, journals, tables, and the whole way."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coverage_study import nest_stages, whole_program
from coverage_study.bounded import run_bounded
from coverage_study.journal import digest_of, open_journal
from coverage_study.loop_text import LoopText, loop_at, marked_loops
from coverage_study.outcomes import CoverageRow, row_from_json
from coverage_study.reasons import kind_of_reason
from coverage_study.report import refusal_list, text_report, total_table, totals

from polygym.errors import InputError
from polygym.runtime.evaluation.c_compilers import compiler_path

# A package of another name is called coverage, too.
_SPEC = importlib.util.spec_from_file_location(
    "coverage_script", Path(__file__).parents[2] / "benchmarks" / "coverage.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
coverage = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(coverage)

NEEDS_GCC = pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
ROW = CoverageRow("a/x.c", "f", "rows", 3, "accept", "flat rows", True, "as is", legal="yes")

SOURCE = """#include <stdio.h>
double x[300];
void scale(int n) {
  for (int i = 0; i < n && i < 300; i++)
    x[i] = i * FACTOR;
}
int first(void) {
  int i = 0;
  while (x[i] < 5)
    i++;
  return i;
}
int main(void) {
  scale(300);
  printf("%d %g\\n", first(), x[299]);
  return 0;
}
"""


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["coverage.py", *map(str, words)])
    return coverage.main()


@pytest.mark.parametrize(
    ("body", "last_line"),
    [
        ("for (;;)\n  x++;", 3),
        ("for (;;) {\n  if (a) b();\n  else {\n }\n}", 6),
        ("for (;;)\n  for (;;)\n    if (a)\n      b();\n    else\n      c();", 7),
        ("do {\n  x++;\n} while (x);\ny();", 4),
        ("while (x) /* } */\n  f(';', \"}\");", 3),
        ("out: for (;;)\n#pragma omp for\n  in: for (;;)\n    x += a[i];", 5),
        ("for (;;)\n  switch (x) {\n  case 1: y(); }", 4),
        ("for (;;)\n  in: for (;;) {\n    x++;\n  }", 5),
        ("for (;;) {", 2),
    ],
)
def test_loops_end_where_their_statements_end(body: str, last_line: int) -> None:
    (loop,) = marked_loops(f"/* nest: n */\n{body}")
    assert (loop.line, loop.last_line) == (2, last_line)


def test_loops_at_places() -> None:
    text = "int i;\n  for (i = 0; i < 3; i++)\n    i++;\n"
    assert loop_at(text, 2, 3, "f") == LoopText("f", 2, 3, 3)
    assert loop_at("x = 1;", 1, 1, "f") == LoopText("f", 1, 1, 1)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("the label inner must stand before a single statement", "labels"),
        ("g is of type struct gas; integers, float and double are understood", "structures"),
        ("z is of type double _Complex; integers, float and double are understood", "types"),
        ("fib calls itself", "recursion"),
        ("a bound that nobody knows", "other"),
        ("the scan of the file: gave up after 20 s", "time and memory"),
        ("crash: KeyError: 3", "crashes"),
    ],
)
def test_kinds_of_reasons(reason: str, kind: str) -> None:
    assert kind_of_reason(reason) == kind


def _with_child(folder: Path) -> Iterator[dict[str, Any]]:
    yield {"stage": "legal"}
    process = subprocess.Popen(["sleep", "1000"])
    (folder / "child").write_text(str(process.pid))
    time.sleep(1000)


def test_a_process_ends_with_its_children_and_keeps_its_stages(tmp_path: Path) -> None:
    stages, failure = run_bounded(lambda: _with_child(tmp_path), 3.0)
    assert stages == [{"stage": "legal"}]
    assert failure == "gave up after 3 s"
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split(") ")[1].startswith("Z")


def _failing(how: str) -> Iterator[dict[str, Any]]:
    yield {"stage": "legal"}
    if how == "error":
        raise KeyError(how)
    os._exit(7)


@pytest.mark.parametrize(("how", "said"), [("error", "KeyError: 'error'"), ("exit", "with 7")])
def test_a_process_that_fails_is_no_traceback(how: str, said: str) -> None:
    stages, failure = run_bounded(lambda: _failing(how), 60.0)
    assert stages == [{"stage": "legal"}]
    assert failure.startswith("crash: ")
    assert said in failure


def test_a_journal_is_continued_and_forgets_changed_files(tmp_path: Path) -> None:
    setting = {"threads": 2}
    journal = open_journal(tmp_path, setting)
    assert journal.begin_file("a/x.c", "1")
    journal.add(ROW)
    journal.end_file("a/x.c")
    results = tmp_path / "results.jsonl"
    results.write_text(results.read_text() + '{"begun": "b/y')
    for _ in range(2):
        again = open_journal(tmp_path, setting)
        assert again.rows == {ROW.key: ROW}
        assert not again.begin_file("a/x.c", "1")
    assert again.begin_file("a/x.c", "2")
    assert open_journal(tmp_path, setting).rows == {}
    with pytest.raises(InputError, match="expected the setting"):
        open_journal(tmp_path, {"threads": 1})
    assert row_from_json(ROW.to_json() | {"unknown": 1}) == ROW


def test_tables_by_hand() -> None:
    refused = CoverageRow("a/x.c", "f", "r", 9, "refuse: recursion", found=True,
                          reason="f calls itself", place="a/x.c:9:1", kind="recursion")  # fmt: skip
    short = CoverageRow("b/y.c", "g", "s", 2, "accept", reason="no", kind="labels")
    fast = CoverageRow("b/y.c", "g", "t", 8, "accept", "", True, "option", "-p n=3", "yes",
                       "gcc", 2.0, 0.01)  # fmt: skip
    slow = CoverageRow("b/y.c", "g", "u", 9, "accept", "", True, "as is", "", "yes", "wrong: x",
                       0.5, 0.01)  # fmt: skip
    rows = [ROW, refused, short, fast, slow]
    assert total_table(rows).splitlines()[2:] == [
        "| a | 2 | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 1 | 0 |",
        "| b | 3 | 2 | 1 | 1 | 2 | 1 | 2 | 1 | 1 | 0 | 1 |",
        "| **all** | 5 | 4 | 2 | 1 | 3 | 1 | 2 | 1 | 1 | 1 | 1 |",
    ]
    assert totals(rows)["shortcoming"] == 1
    assert [row.is_defect for row in rows] == [False, False, False, False, True]
    assert refusal_list(rows).startswith("1 refused through a shortcoming:\n   1  labels")
    report = text_report(rows)
    assert "| b/y.c:8 t | yes | option -p n=3 | yes | 2.00 | gcc |  |" in report
    assert "DEFECT b/y.c:9 u: wrong: x" in report
    assert "2 nests of a millisecond or more: geometric mean of the speedups 1.00" in report
    assert "1 of at least 1.5, 1 below 0.95" in report
    little = replace(fast, seconds=1e-4)
    assert little.speedup is None
    assert "| yes | short | gcc |" in text_report([little])
    assert "geometric mean" not in text_report([little])
    both = CoverageRow("a", "f", "n", 1, "refuse: recursion", modelled="as is")
    assert "modelled, though the list says refused: a n" in text_report([both])


@NEEDS_GCC
def test_a_folder_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "good.c").write_text(SOURCE)
    (project / "broken.c").write_text("int f(void) { for (;;) return 1 +; }\n")
    entry = {"directory": str(project), "file": "good.c", "command": "cc -DFACTOR=0.5 -c good.c"}
    (project / "compile_commands.json").write_text(json.dumps([entry]))
    words = (project, "--out", tmp_path / "out", "--json")
    assert run(monkeypatch, *words) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {(Path(row["file"]).name, row["function"]): row for row in document["nests"]}
    assert set(rows) == {("good.c", "scale"), ("good.c", "first"), ("broken.c", "")}
    good = rows["good.c", "scale"]
    assert (good["modelled"], good["legal"], good["equal"]) == ("as is", "yes", "gcc")
    refused = rows["good.c", "first"]
    assert (refused["found"], refused["modelled"]) == (True, "no")
    assert refused["place"].endswith("good.c:9:3")
    assert rows["broken.c", ""]["reason"]
    monkeypatch.setattr(coverage, "look_at", lambda *_: iter(()))  # all is there
    assert run(monkeypatch, *words) == 0
    assert json.loads(capsys.readouterr().out) == document


@NEEDS_GCC
@pytest.mark.timeout(1200)
def test_five_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "embedded/adpcm,embedded/sorters,image/median,hls/histogram,openmp/hotplate"
    assert run(monkeypatch, "--only", names, "--out", tmp_path, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["nests"]
    assert len(rows) == 10
    for row in rows:
        if row["file"] == "embedded/sorters.c":
            assert row["expected"].startswith("refuse")
            assert (row["modelled"] in ("no", "in part"), bool(row["reason"])) == (True, True)
        else:
            assert (row["nest"], row["modelled"], row["legal"]) == (row["nest"], "as is", "yes")
            assert row["equal"] in ("gcc", "program", "gcc, program")


def request(path: Path, **more: Any) -> dict[str, Any]:
    line = SOURCE.split("\n").index("  for (int i = 0; i < n && i < 300; i++)") + 1
    return {
        "path": str(path), "selection": None, "line": line, "column": 3, "last_line": line + 1,
        "options": "", "include_directories": [], "macros": ["FACTOR=37"], "threads": 2,
        "timed": False, "units": [str(path)], "flags": ["-DFACTOR=37"], **more,
    }  # fmt: skip


@NEEDS_GCC
def test_a_wrong_program_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.c"
    path.write_text(SOURCE)
    stages = list(nest_stages.stages(request(path)))
    assert [stage["stage"] for stage in stages] == ["modelled", "legal", "equal"]
    assert stages[-1]["equal"] == "gcc, program"
    plain = whole_program.apply_export

    def spoilt(export: Any, kind: Any, folder: Path) -> None:
        for file in plain(export, kind, folder):
            if file.name.endswith("_kernel.c"):
                file.write_text(file.read_text().replace("37", "38"))

    monkeypatch.setattr(whole_program, "apply_export", spoilt)
    wrong = list(nest_stages.stages(request(path)))[-1]
    assert wrong["equal"].startswith("wrong: the program prints")


@NEEDS_GCC
def test_code_that_differs_from_gccs_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.c"
    path.write_text(SOURCE)
    plain = nest_stages.compile_with

    def other(name: str, program: Any, threads: int, more: tuple[str, ...]) -> Any:
        path.write_text(SOURCE.replace("i * FACTOR", "i * 500000"))
        try:
            return plain(name, program, threads, more)
        finally:
            path.write_text(SOURCE)

    monkeypatch.setattr(nest_stages, "compile_with", other)
    wrong = list(nest_stages.stages(request(path)))[-1]
    assert wrong["equal"].startswith("wrong: beside gcc")


def test_refusals_and_options_of_a_nest(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(SOURCE)
    (refused,) = nest_stages.stages(request(path, line=9, last_line=10))
    assert refused["stage"] == "refused"
    assert refused["place"].endswith("p.c:9:3")
    (refused,) = nest_stages.stages(request(path, options="--depth 3"))
    assert refused["reason"] == "expected -p or --extent, found --depth"
    (refused,) = nest_stages.stages(request(path, last_line=10**6))
    assert "are a region" in refused["reason"]


def test_digests_follow_contents(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("1")
    first = digest_of(path)
    path.write_text("2")
    assert digest_of(path) != first


@NEEDS_GCC
@pytest.mark.nightly
@pytest.mark.timeout(3 * 3600)
def test_the_whole_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No wrong output and no crash; each refusal has its reason."""
    assert run(monkeypatch, "--out", tmp_path, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["nests"]
    assert len(rows) >= 200
    assert [row for row in rows if not row["reason"] and row["modelled"] in ("no", "in part")] == []
    assert [row for row in rows if row["place"] == "" and row["kind"] not in ("", "time and memory")
            and row["modelled"] == "no"] == []  # fmt: skip
