"""Functions without a body: those of the C library, those of a library that the user names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.loader import LoadError
from polygym.runtime.worker.outcome import ProblemError
from tests.frontend.c.against_gcc import like_gcc
from tests.oracles.compiled_runs import run_natively

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")

MINE = """#include <math.h>
double gain(double x, int k) { return k % 3 == 0 ? sqrt(x) * FACTOR : x / (k + 1); }
unsigned long count(float a, unsigned b) { return (unsigned long)(a * 10) + b * 3000000000u; }
int seven(void) { return 7; }
"""
USE = """
__attribute__((pure)) double gain(double x, int k);
extern unsigned long count(float, unsigned) __attribute__((__const__, nothrow));
int seven(void) __attribute__((const));
void use(int n, double x[n], unsigned long y[n], int z[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = gain(x[i], i) + gain(2, seven());
    if (gain(x[i], 2) > 0.3)
      y[i] = count(x[i], i);
    z[i] = gain(x[i], -i - 2) * seven();
  }
#pragma endscop
}
"""


def built(folder: Path, factor: int = 3, name: str = "libmine.so") -> Path:
    source, library = folder / "mine.c", folder / name
    source.write_text(MINE)
    flags = ["-shared", "-fPIC", "-O1", "-ffp-contract=off", f"-DFACTOR={factor}"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    return library


@needs_gcc
def test_a_library_computes_what_it_computes_for_gcc(tmp_path: Path) -> None:
    like_gcc(tmp_path, USE, built(tmp_path), n=11)


@needs_gcc
def test_every_program_has_its_own_library(tmp_path: Path) -> None:
    path = tmp_path / "use.c"
    path.write_text(USE)
    results = []
    for factor in (3, 5):
        library = built(tmp_path, factor)  # in the place of the one before
        program = load_program(str(path), parameters={"n": 1}, library=str(library))
        arrays = {
            "x": np.array([4.0]),
            "y": np.zeros(1, np.uint64),
            "z": np.zeros(1, np.int32),
        }
        run_natively(program.scop, original_schedule(program.scop), {"n": 1}, arrays)
        results.append(float(arrays["x"][0]))
    assert results == [2 * 3 + 2 / 8, 2 * 5 + 2 / 8]


@needs_gcc
def test_a_library_that_changes_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "use.c"
    path.write_text(USE)
    program = load_program(str(path), parameters={"n": 5}, library=str(built(tmp_path)))
    assert program.function is not None
    assert program.function.startswith(f"+{tmp_path}/libmine.so#")
    again = load_program(str(path), function=program.function, parameters={"n": 5})
    assert again == program
    with Evaluator(program, EvaluationOptions()) as evaluator:
        assert evaluator.evaluate(original_schedule(program.scop)).is_ok
    built(tmp_path, factor=4)
    arrays: dict[str, np.ndarray] = {
        "x": np.ones(5),
        "y": np.zeros(5, np.uint64),
        "z": np.zeros(5, np.int32),
    }
    with pytest.raises(LoadError, match=r"libmine\.so has changed since the program was read"):
        run_natively(program.scop, original_schedule(program.scop), {"n": 5}, arrays)


@needs_gcc
def test_a_library_without_the_function(tmp_path: Path) -> None:
    path = tmp_path / "use.c"
    path.write_text(USE.replace("gain", "loss"))
    program = load_program(str(path), parameters={"n": 5}, library=str(built(tmp_path)))
    with Evaluator(program, EvaluationOptions()) as evaluator:
        with pytest.raises(ProblemError, match="has no function loss"):
            evaluator.evaluate(original_schedule(program.scop))


@pytest.mark.parametrize(
    ("before", "after", "fragment"),
    [
        ("__attribute__((pure)) ", "", "no library is named that has its code"),
        ("", "", "is not declared as one without effects"),
        ("__attribute__((pure)) ", "extern int other;", "no library is named"),
    ],
)
def test_what_is_only_declared(before: str, after: str, fragment: str) -> None:
    text = USE.replace("__attribute__((pure)) ", before) + after
    with pytest.raises(InputError, match=fragment):
        parse_text(text)


@pytest.mark.parametrize(
    ("declared", "fragment"),
    [
        ("double gain(double *x, int k)", "is a pointer or an array"),
        ("double gain()", "without the types of all of its arguments"),
        ("double gain(double, ...)", "without the types of all of its arguments"),
        ("double gain(double)", "takes 1 argument and is given 2"),
        ("short gain(double, int)", "takes or returns int16_t|takes or returns short"),
    ],
)
def test_types_that_cannot_be_handed_over(declared: str, fragment: str, tmp_path: Path) -> None:
    library = tmp_path / "libnone.so"
    library.write_bytes(b"none")
    text = USE.replace("double gain(double x, int k)", declared)
    with pytest.raises(InputError, match=fragment):
        parse_text(text, function=f"+{library}")


def test_no_library() -> None:
    with pytest.raises(InputError, match="expected a library"):
        parse_text(USE, function="use +/nowhere/libmine.so")
    with pytest.raises(InputError, match="without blanks"):
        parse_text(USE, function="use +/a#b#c")
