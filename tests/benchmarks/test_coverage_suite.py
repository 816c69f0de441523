"""The suite of ordinary C: its tables fit its files, and its programs compile, run, are defined."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from coverage_study.loop_text import MARK
from coverage_study.nests import SuiteProgram, suite_nests, suite_programs

from polygym.errors import InputError
from polygym.frontend.c.discovery.region_search import functions_of_text
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.runtime.evaluation.c_compilers import compiler_path

SUITE = Path(__file__).parents[2] / "benchmarks" / "suite"
PROGRAMS = suite_programs(SUITE)
WARNINGS = ("-std=gnu11", "-Wall", "-Werror", "-Wno-unused-label", "-Wno-unknown-pragmas")
RIGHTLY = {
    "allocation", "bounds", "data-dependent control", "input or output", "non-affine bound",
    "pointer chasing", "recursion", "stateful call", "unknown call",
}  # fmt: skip
NEEDS_GCC = pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")


def output_of(program: SuiteProgram, folder: Path, *flags: str) -> str:
    target = folder / "program"
    files = map(str, program.paths(SUITE))
    options = (*WARNINGS, *flags, *program.flags.arguments)
    done = subprocess.run(
        ["gcc", *options, *files, "-o", str(target), "-lm", "-lpthread"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [str(target)], capture_output=True, text=True, timeout=60, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_suite_is_large() -> None:
    nests = suite_nests(SUITE)
    assert len(PROGRAMS) >= 60
    assert len(nests) >= 200
    assert len({(nest.file, nest.loop.name) for nest in nests}) == len(nests)
    refused = [nest for nest in nests if nest.expected != "accept"]
    assert {nest.expected.removeprefix("refuse: ") for nest in refused} <= RIGHTLY
    assert all(nest.habit for nest in nests)


def test_every_file_and_every_mark_is_in_a_table() -> None:
    files = {str(path.relative_to(SUITE)) for path in SUITE.rglob("*.c")}
    assert files == {unit for program in PROGRAMS for unit in program.units}
    marks = sum(len(MARK.findall((SUITE / file).read_text())) for file in files)
    assert marks == len(suite_nests(SUITE))


@pytest.mark.rotates
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_functions_of_the_table_have_the_nests(program: SuiteProgram) -> None:
    for unit in program.units:
        text = (SUITE / unit).read_text()
        flags = RegionSelection(flags=program.flags)
        spans = functions_of_text(text, str(SUITE / unit), flags)
        for nest in suite_nests(SUITE):
            if nest.file == unit:
                around = [name for name, first, last in spans if first <= nest.loop.line <= last]
                assert around == [nest.function]
                assert nest.loop.last_line >= nest.loop.line


@NEEDS_GCC
@pytest.mark.rotates
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_compile_without_warnings_and_print_one_checksum(
    program: SuiteProgram, tmp_path: Path
) -> None:
    plain = output_of(program, tmp_path, "-O0", "-ffp-contract=off")
    assert plain.count("\n") == 1
    assert output_of(program, tmp_path, "-O2", "-ffp-contract=off") == plain
    checked = ("-O1", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover")
    assert output_of(program, tmp_path, *checked) == plain


def small_suite(folder: Path, nests: str, source: str = "/* nest: a */\nfor (;;) ;\n") -> Path:
    (folder / "nests.tsv").write_text(f"heads\n{nests}")
    (folder / "programs.tsv").write_text("heads\np\tp.c\t-\n")
    (folder / "p.c").write_text(source)
    return folder


@pytest.mark.parametrize(
    ("nests", "message"),
    [
        ("p.c\tf\tb\taccept\t-\th\n", "expected the mark 'nest: b', found none"),
        ("p.c\tf\ta\n", "expected 6 columns, found 3"),
        ("p.c\tf\ta\taccept\t-\th\np.c\tf\ta\taccept\t-\th\n", "expected the mark"),
    ],
)
def test_tables_that_do_not_fit_are_refused(nests: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        suite_nests(small_suite(tmp_path, nests))


def test_a_mark_without_a_row_is_refused(tmp_path: Path) -> None:
    source = "/* nest: a */\nfor (;;) ;\n/* nest: b */\nfor (;;) ;\n"
    with pytest.raises(InputError, match="expected the nest b"):
        suite_nests(small_suite(tmp_path, "p.c\tf\ta\taccept\t-\th\n", source))
