"""Measuring an export with each compiler: the code runs, with as many threads as it asks for."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from polybench import Dataset
from polygym.export.c_compiler import UserCompiler
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.export.measuring import measure_export
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.worker.outcome import Ok

COMPILERS = [name for name in ("gcc", "clang-19", "clang") if shutil.which(name)]


def has_openmp(compiler: str) -> bool:
    """Whether a compiler finds OpenMP's header; clang's is a package of its own."""
    command = [compiler, "-fopenmp", "-fsyntax-only", "-x", "c", "-"]
    return not subprocess.run(command, input=b"#include <omp.h>\n", capture_output=True).returncode


def export_of(name: str, threads: int) -> Export:
    """Return a kernel in the order of its text."""
    program = load_program(name, dataset=Dataset.SMALL)
    mapping = parse_mapping(f"threads={threads}")
    options = ExportOptions(sizes=(program.parameters,))
    return prepare_export(program, original_schedule(program.scop), mapping, options)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("as_c", [True, False])
@pytest.mark.parametrize("with_source", [True, False])
def test_an_export_is_measured(compiler: str, threads: int, as_c: bool, with_source: bool) -> None:
    """Clang's parallel code needs LLVM's OpenMP library, which polygym's own code then shares."""
    if threads > 1 and not has_openmp(compiler):
        pytest.skip(f"{compiler} has no omp.h")
    own = UserCompiler((compiler,), ())
    times = measure_export(
        export_of("atax", threads), own, as_c=as_c, rounds=2, with_source=with_source
    )
    for outcome in (times.source, times.own, times.exported):
        assert isinstance(outcome, Ok), outcome
    assert times.ratio is not None
