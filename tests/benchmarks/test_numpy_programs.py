"""NumPy programs as C: each agrees with its Python side, and what the study makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import polygym
from tests.benchmarks.folder_commands import BENCHMARKS, command

FOLDER = BENCHMARKS / "numpy_programs"


STUDY = command("numpy_programs")
NAMES = STUDY.program_names()


def small_sizes(module: ModuleType) -> dict[str, int]:
    """Return sizes for which plain Python is fast enough."""
    return {name: min(size, 7) for name, size in module.SIZES.items()}


def test_there_are_twenty() -> None:
    assert len(NAMES) == 20


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_compute_the_same(name: str) -> None:
    module = STUDY.load_module(name)
    compiled = polygym.compile(FOLDER / f"{name}.c", schedule="original")
    for form in STUDY.forms_of("numba", module):
        mine = STUDY.arguments_of(module, small_sizes(module))
        theirs = STUDY.arguments_of(module, small_sizes(module))
        compiled(*mine)
        getattr(module, form)(*theirs)
        arrays = [a for a in mine if isinstance(a, np.ndarray)]
        assert any(a.any() for a in arrays)
        for own, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


def test_loops_are_marked_for_pythran() -> None:
    module = STUDY.load_module("clip_sum")
    text = (FOLDER / "clip_sum.py").read_text(encoding="utf-8")
    arguments = STUDY.arguments_of(module, {"n": 2, "m": 3})
    result = STUDY.pythran_text(text, arguments, ["loops"])
    expected = "#pythran export loops(int,int, int64[:,:], int64[:,:], int64[:,:])"
    assert result.splitlines()[0].replace(", ", ",") == expected.replace(", ", ",")
    assert "    #omp parallel for\n    for i in range(n):" in result
    assert "prange" not in result


def test_arrays_that_a_call_changes_are_set_back() -> None:
    first, second = np.arange(3.0), np.zeros(3)

    def add(values: np.ndarray, result: np.ndarray) -> None:
        result += values

    changed = STUDY.changed_by(add, (first, second))
    changed.restore()
    assert changed.before[0] is None
    np.testing.assert_array_equal(second, np.zeros(3))


def test_the_faster_form_counts_and_errors_are_said() -> None:
    rows = [
        {
            "program": "one",
            "seconds": {"polygym": {"c": 1e-3}, "numba": {"loops": 4e-3, "arrays": 2e-3}},
            "errors": {"pythran": "loops: no"},
        }
    ]
    text = STUDY.table(json.loads(json.dumps(rows)), ["numba", "pythran"])
    assert "| one | 1 | 2.00 |  |" in text
    assert "one: pythran: loops: no" in text
    assert "| geometric mean | | 2.00 (1) |  |" in text


def test_rows_of_other_threads_and_a_torn_line_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    rows = [{"program": "a", "threads": 1}, {"program": "b", "threads": 2}]
    whole = "".join(json.dumps(row) + "\n" for row in rows)
    file.write_text(whole + '{"program": "c", "thr')
    assert STUDY.earlier_rows(file, 2) == rows[1:]
    assert file.read_text() == whole
    assert STUDY.earlier_rows(tmp_path / "none", 2) == []
