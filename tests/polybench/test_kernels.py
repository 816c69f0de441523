"""The thirty kernels against the results of the original programs, and the form of their files."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import c_program
import numpy as np
import pytest

from polybench import KERNELS, Dataset, DataType, PolybenchKernel, kernel
from polybench.summary import summarise

GOLDEN = Path(__file__).parents[1] / "golden" / "polybench_reference.json"

TOLERANCE = {DataType.DOUBLE: 1e-9, DataType.FLOAT: 1e-4, DataType.INT: 0.0}

every_kernel = pytest.mark.parametrize("entry", KERNELS, ids=lambda entry: entry.name)
needs_compiler = pytest.mark.skipif(
    c_program.COMPILER is None, reason="needs a C compiler (gcc, clang or cc) to run the kernels"
)


@cache
def golden() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(GOLDEN.read_text())
    return loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def assert_agrees(summary: dict[str, Any], expected: dict[str, Any], tolerance: float) -> None:
    """Compare two summaries; no absolute slack, since even tiny values are reproducible."""
    assert summary.keys() == expected.keys()
    assert (summary["array"], summary["values"]) == (expected["array"], expected["values"])
    for key in ("sum", "sum_of_squares", "first", "middle", "last"):
        assert summary[key] == pytest.approx(expected[key], rel=tolerance, abs=0.0), key


@needs_compiler
@every_kernel
def test_results_are_those_of_the_original(entry: PolybenchKernel, folder: Path) -> None:
    executable = c_program.build(entry, folder)
    for dataset in (Dataset.MINI, Dataset.SMALL):
        arrays = c_program.run(entry, executable, dataset)
        references = golden()["live_out"][entry.name][str(dataset)]
        for live_out, reference in zip(entry.live_out, references, strict=True):
            summary = summarise(live_out.array, arrays[live_out.array], live_out.part)
            assert_agrees(dict(summary), reference, TOLERANCE[entry.dtype])


@pytest.mark.rotates
@needs_compiler
@every_kernel
def test_medium_results_are_finite(entry: PolybenchKernel, folder: Path) -> None:
    arrays = c_program.run(entry, c_program.build(entry, folder), Dataset.MEDIUM)
    for live_out in entry.live_out:
        summary = summarise(live_out.array, arrays[live_out.array], live_out.part)
        assert np.isfinite([summary["sum"], summary["sum_of_squares"]]).all()
        assert summary["sum_of_squares"] > 0.0


@needs_compiler
@every_kernel
def test_compiles_without_warnings(entry: PolybenchKernel) -> None:
    assert c_program.COMPILER is not None
    options = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    command = [c_program.COMPILER, *options, "-c", str(entry.path), "-o", "/dev/null"]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


@needs_compiler
def test_a_wrong_formula_is_noticed(folder: Path) -> None:
    """The comparison itself: halving alpha in gemm must not pass."""
    entry = kernel("gemm")
    text = c_program.driver(entry).replace(
        f"{entry.function}(ni", f"alpha *= 0.5; {entry.function}(ni"
    )
    arrays = c_program.run(entry, c_program.compile_text(text, folder / "wrong"), Dataset.MINI)
    summary = summarise("C", arrays["C"])
    with pytest.raises(AssertionError, match="sum"):
        assert_agrees(dict(summary), golden()["live_out"]["gemm"]["mini"][0], 1e-9)


@every_kernel
def test_a_file_holds_one_region_in_each_of_its_two_functions(entry: PolybenchKernel) -> None:
    text = entry.path.read_text()
    parts = text.split("\nvoid ")
    assert [part.partition("(")[0] for part in parts[1:]] == [entry.init_function, entry.function]
    assert parts[0].startswith("/* ")
    for part in parts[1:]:
        assert part.count("#pragma scop\n") == part.count("#pragma endscop\n") == 1


@every_kernel
def test_init_and_kernel_agree_on_their_arguments(entry: PolybenchKernel) -> None:
    """What init fills is what the kernel takes: same name, type and extents, scalars by pointer."""
    text = entry.path.read_text()
    inside = {a.name: a for a in c_program.signature(text, entry.function)}
    assert {*tuple(inside)[: len(entry.parameter_names)]} == {*entry.parameter_names}
    for argument in c_program.signature(text, entry.init_function):
        taken = inside[argument.name]
        assert (argument.type, argument.extents) == (taken.type, taken.extents)
        is_scalar_input = not argument.extents and argument.name not in entry.parameter_names
        assert argument.is_pointer == is_scalar_input
        assert not taken.is_pointer
    for live_out in entry.live_out:
        assert inside[live_out.array].extents
        assert inside[live_out.array].type == entry.dtype.value
