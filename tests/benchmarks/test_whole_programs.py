"""Whole programs come from their seed, are C, and a wrong output or a crash is noticed."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import whole_programs
from coverage_study.nests import suite_nests
from whole_program_study import checking
from whole_program_study.checking import CheckedProgram, check
from whole_program_study.random_program import random_program
from whole_program_study.results import Stage, Verdict, decisive_stage
from whole_program_study.suite_mutants import SUITE, mutated, suite_mutant

from polygym.runtime.evaluation.c_compilers import compiler_path

NEEDS_GCC = pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
PROGRAM = """
#include <stdio.h>
int a[64];
void kernel(int n, int *p)
{
  int *q = p + 1;
#pragma scop
  for (int i = 0; i < n; i++)
    q[i] = 3 * p[i] % 17;
#pragma endscop
}
int main(void)
{
  a[0] = 5;
  kernel(40, a);
  printf("%d %d\\n", a[3], a[40]);
  return 0;
}
"""


def stages_of(text: str) -> list[Stage]:
    return list(check(CheckedProgram((("case.c", text),), 0), (0, 0), exports=3))


def test_programs_come_from_their_seed() -> None:
    first, same, other = (random_program((7, number)) for number in (1, 1, 2))
    assert first == same
    assert first != other
    assert suite_mutant((7, 1)) == suite_mutant((7, 1))


def test_a_mutant_has_one_change() -> None:
    for number in range(8):
        name, program = suite_mutant((3, number))
        file, _, _ = name.partition(" ")
        before = (SUITE / file).read_text().split("\n")
        after = program.files[0][1].split("\n")
        assert before != after
        assert len(set(before) ^ set(after)) <= 4
        assert abs(len(before) - len(after)) <= 1


@NEEDS_GCC
def test_random_programs_are_c(tmp_path: Path) -> None:
    files = []
    for number in range(40):
        files.append(tmp_path / f"case{number}.c")
        files[-1].write_text(random_program((11, number)).files[0][1])
    done = subprocess.run(
        ["gcc", "-std=gnu11", "-w", "-fsyntax-only", *map(str, files)],
        capture_output=True,
        text=True,
    )
    wrong = {line.split(":")[0] for line in done.stderr.splitlines() if "error:" in line}
    assert len(wrong) <= 2, done.stderr


@NEEDS_GCC
def test_a_program_that_agrees() -> None:
    stages = stages_of(PROGRAM)
    assert [stage.name for stage in stages] == ["read", "reference", *["export"] * 3]
    assert {stage.verdict for stage in stages} <= {Verdict.OK, Verdict.SOURCE}
    assert Verdict.OK in {stage.verdict for stage in stages if stage.name == "export"}


@NEEDS_GCC
def test_a_wrong_output_and_a_crash_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = checking._build

    def build(text: str, files: Sequence[Path], flags: Sequence[str], folder: Path) -> Path:
        for path in files if folder.name.startswith("export") else ():
            if path.name == "case.c":
                path.write_text(path.read_text().replace("a[0] = 5;", text))
        return plain(files, flags, folder)

    for text, verdict in (("a[0] = 6;", Verdict.WRONG), ("__builtin_trap();", Verdict.CRASH)):
        monkeypatch.setattr(checking, "_build", lambda *rest, text=text: build(text, *rest))
        assert decisive_stage(stages_of(PROGRAM)).verdict is verdict


@NEEDS_GCC
def test_a_gather_that_may_leave_the_size_of_other_subscripts_is_refused() -> None:
    text = PROGRAM.replace("q[i] = 3 * p[i] % 17;", "q[i] = p[p[0] + 40] + 1;")
    verdicts = {stage.verdict for stage in stages_of(text) if stage.name == "export"}
    assert verdicts == {Verdict.REFUSED}


@NEEDS_GCC
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int a[64];", "int a[40];"),
        ("a[0] = 5;", "int r; a[0] = r;"),
        ("3 * p[i] % 17", "p[i] * 1000003 + 5"),
    ],
)
def test_a_program_without_a_meaning_is_no_defect(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What differs is looked at with sanitizers and other flags before it is called wrong."""
    run = checking._run

    def other(path: Path, program: CheckedProgram) -> tuple[str, str]:
        output, told = run(path, program)
        return (f"{output}?" if path.parent.name.startswith("export") else output), told

    monkeypatch.setattr(checking, "_run", other)
    stage = decisive_stage(stages_of(PROGRAM.replace(before, after)))
    assert stage.verdict is Verdict.INVALID, stage.detail


def test_a_refusal_has_its_reason() -> None:
    (stage,) = stages_of(PROGRAM.replace("i < n;", "i < n && p[i] != 3;"))
    assert stage.verdict is Verdict.REFUSED
    assert stage.detail


@NEEDS_GCC
def test_a_few_are_checked(tmp_path: Path) -> None:
    rows = [whole_programs.checked("random", 11, number, exports=1) for number in range(4)]
    rows.append(whole_programs.checked("mutant", 11, 0, exports=1))
    assert [row for row in rows if row.is_defect] == []
    path = tmp_path / "results.jsonl"
    whole_programs.append_rows(path, 11, rows)
    with path.open("a") as file:
        file.write('{"seed": 11, "kind": "rand')  # a run that was ended while it wrote
    assert whole_programs.earlier_rows(path, 11) == rows
    assert whole_programs.earlier_rows(path, 12) == []
    assert "random: 4 programs" in whole_programs.report(rows)


def test_the_function_of_a_nest_is_what_changes() -> None:
    nest = next(nest for nest in suite_nests(SUITE) if nest.file == "image/box_blur.c")
    text = (SUITE / nest.file).read_text()
    begin, end = text.index("static void blur"), text.index("int main")
    rng = np.random.default_rng(0)
    changed = [mutated(text, nest, rng) for _ in range(40)]
    inside = [new for new in changed if new[:begin] == text[:begin] and new.endswith(text[end:])]
    assert len(inside) > 25
