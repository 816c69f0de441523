"""Other compilers' code runs in the worker as polygym's own does."""

import shutil
from dataclasses import replace

import pytest

from polygym.errors import InputError
from polygym.programs import load_program
from polygym.runtime.evaluation import c_compilers
from polygym.runtime.evaluation.compilation import compile_problem
from polygym.runtime.worker.outcome import Ok, Timeout
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Worker

MINE = """
#include <math.h>
void scale(int n, double *unused, double a[n], double f) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = a[i] * f + 1.0;
#pragma endscop
}
int main(void) { return 0; }
"""


# Threads of a busy machine may wake up late.
PATIENT = MeasureOptions(time_limit=TimeLimit(floor=10.0))


@pytest.mark.parametrize("name", c_compilers.C_COMPILERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_outputs_agree(name, threads):
    if c_compilers.compiler_path(name) is None:
        pytest.skip(c_compilers.missing_compiler_note(name))
    # Polly would think about a product of matrices for half a minute.
    program = load_program("mvt", parameters={"n": 23})
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        code = c_compilers.compile_with(name, program, threads)
        outcome = session.measure(replace(code, tolerance=1e-9), PATIENT)
        assert isinstance(outcome, Ok), outcome


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.c"
    path.write_text(MINE)
    program = load_program(str(path), parameters={"n": 33})
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        code = c_compilers.compile_with("gcc", program, 1)
        assert isinstance(session.measure(replace(code, tolerance=1e-9), PATIENT), Ok)
        path.write_text(MINE.replace("+ 1.0", "+ 2.0"))
        wrong = c_compilers.compile_with("gcc", program, 1)
        assert not isinstance(session.measure(replace(wrong, tolerance=1e-9), PATIENT), Ok)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_file_is_compiled_with_restrict_as_well(tmp_path):
    path = tmp_path / "mine.c"
    path.write_text(MINE)
    program = load_program(str(path), parameters={"n": 33})
    codes = c_compilers.compile_fairly("gcc", program, 1)
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        assert all(isinstance(session.measure(code, PATIENT), Ok) for code in codes)
    path.write_text(
        MINE.replace("double a[n]", "double a[restrict n]").replace("*u", "*restrict u")
    )
    assert len(c_compilers.compile_fairly("gcc", program, 1)) == 1


def test_the_better_outcome_counts_and_failures_do_not():
    slow, fast, wrong = Ok((2.0, 3.0)), Ok((1.0, 4.0)), Timeout(1.0)
    assert c_compilers.better_outcome((slow, fast)) is fast
    assert c_compilers.better_outcome((slow, wrong)) is slow
    assert c_compilers.better_outcome((wrong, slow)) is slow
    assert c_compilers.better_outcome((wrong, wrong)) is wrong


AROUND = """
void work(int n, double a[n]) {
  int half = n / 2;
%s
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = a[i] + 1.0;
#pragma endscop
%s
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(
    ("before", "after", "line"),
    [("", "return;", 0), ("half = 3;", "", 4), ("", "if (half)\n  return;", 9)],
)
def test_a_function_that_does_more_than_its_region(tmp_path, before, after, line):
    """Others would be timed with what stands around it."""
    path = tmp_path / "mine.c"
    path.write_text(AROUND % (before, after))
    program = load_program(str(path), parameters={"n": 33})
    if not line:
        c_compilers.compile_with("gcc", program, 1)
        return
    with pytest.raises(InputError, match=f"work does more in line {line}"):
        c_compilers.compile_with("gcc", program, 1)


KEPT = """
void work(int n, double a[n]) {
  static double sums[4];
#pragma scop
  for (int i = 0; i < n; i++)
    sums[i % 4] += a[i];
#pragma endscop
}
"""
MEMBERS = """
struct point { double x, y; };
void work(int n, struct point p[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    p[i].x = p[i].y;
#pragma endscop
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(
    ("text", "words"),
    [(KEPT, "work keeps sums, which is static,"), (MEMBERS, "uses members of p, a structure")],
)
def test_what_other_compilers_cannot_be_handed_is_said(tmp_path, text, words):
    path = tmp_path / "mine.c"
    path.write_text(text)
    program = load_program(str(path), parameters={"n": 33})
    with pytest.raises(InputError, match=words):
        c_compilers.compile_with("gcc", program, 1)


BUFFER = """
void work(int n, double a[n]) {
  static double half[33];
#pragma scop
  for (int i = 0; i < 33; i++)
    half[i] = a[i] / 2;
  for (int i = 0; i < 33; i++)
    a[i] = half[32 - i];
#pragma endscop
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_static_buffer_is_nobodys_output(tmp_path):
    path = tmp_path / "mine.c"
    path.write_text(BUFFER)
    program = load_program(str(path), parameters={"n": 33})
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        code = c_compilers.compile_with("gcc", program, 1)
        assert isinstance(session.measure(replace(code, tolerance=1e-9), PATIENT), Ok)


CLASHES = """
#define start 0
#define end n
struct timespec { int none; };
double time(double x) { return x; }
void clock(int n, double arguments[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    arguments[i] = arguments[i] + 1.0;
#pragma endscop
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_names_of_the_file_are_its_own(tmp_path):
    path = tmp_path / 'a "b" \\ c.c'
    path.write_text(CLASHES)
    program = load_program(str(path), parameters={"n": 33})
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        code = c_compilers.compile_with("gcc", program, 2)
        assert isinstance(session.measure(replace(code, tolerance=1e-9), PATIENT), Ok)


def test_a_compiler_that_refuses(tmp_path, monkeypatch):
    fake = tmp_path / "gcc"
    fake.write_text("#!/bin/sh\necho 'x.c:1: error: no such thing' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    c_compilers.compiler_path.cache_clear()
    program = load_program("gemm", parameters={"ni": 4, "nj": 4, "nk": 4})
    try:
        with pytest.raises(InputError, match=r"gcc refuses the program: .*no such thing"):
            c_compilers.compile_with("gcc", program, 1)
        assert c_compilers.compiler_path("clang") is None
        with pytest.raises(InputError, match="apt-get install clang"):
            c_compilers.compile_with("clang", program, 1)
    finally:
        c_compilers.compiler_path.cache_clear()


def test_versions_are_found_newest_first(tmp_path, monkeypatch):
    for name in ("clang-9", "clang-19", "clang-18", "clang-format"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    paths = c_compilers._on_the_path("clang")
    assert [path.rpartition("/")[2] for path in paths] == ["clang-19", "clang-18", "clang-9"]


SHARED = """
double a[40], b[40];
int count;
#pragma scop
for (int i = 0; i < count; i++)
  a[i] = b[i] * 2 + a[i];
#pragma endscop
"""


def test_arrays_at_file_scope_without_a_function(tmp_path):
    if c_compilers.compiler_path("gcc") is None:
        pytest.skip(c_compilers.missing_compiler_note("gcc"))
    path = tmp_path / "shared.c"
    path.write_text(SHARED)
    program = load_program(str(path), parameters={"count": 33})
    with Worker() as worker:
        session = worker.open(compile_problem(program), Repetition(minimum=1))
        outcome = session.measure(c_compilers.compile_with("gcc", program, 1), PATIENT)
    assert isinstance(outcome, Ok)


def test_what_is_computed_before_the_region_is_said(tmp_path):
    if c_compilers.compiler_path("gcc") is None:
        pytest.skip(c_compilers.missing_compiler_note("gcc"))
    path = tmp_path / "before.c"
    path.write_text(
        "void f(int n, double a[n], double x) {\n  double w = 2 * x;\n#pragma scop\n"
        "  for (int i = 0; i < n; i++) a[i] = w;\n#pragma endscop\n}\n"
    )
    with pytest.raises(InputError, match="f computes w before it"):
        c_compilers.compile_with("gcc", load_program(str(path)), 1)
