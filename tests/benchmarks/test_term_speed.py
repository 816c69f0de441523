"""The twenty terms that are timed: their forms in NumPy and PyTorch compute the same."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_programs
from polygym.terms.language.types import sizes_of
from tests.benchmarks.folder_commands import BENCHMARKS, command

FOLDER = BENCHMARKS / "term_speed"
STUDY = command("term_speed")


def _references() -> ModuleType:
    spec = importlib.util.spec_from_file_location("references", FOLDER / "references.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCES = _references()
PROGRAMS = {
    program.name: program
    for program in parse_programs((FOLDER / "programs.ks").read_text(), "programs.ks")
}


def test_there_are_twenty() -> None:
    assert list(PROGRAMS) == list(REFERENCES.SIZES)
    assert len(PROGRAMS) == 20


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, of jvp
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_forms_compute_the_same(name: str) -> None:
    import torch

    program, rng = PROGRAMS[name], np.random.default_rng(0)
    small = {size: number for number, size in enumerate(REFERENCES.SIZES[name], start=3)}
    arrays = [
        rng.uniform(-0.5, 0.5, [small[str(size)] for size in sizes_of(kind)])
        for _, kind in program.parameters
    ]
    values = {
        given: array if array.ndim else array.item()
        for (given, _), array in zip(program.parameters, arrays, strict=True)
    }
    expected = _flat(evaluate(program, values))
    tensors = [torch.as_tensor(array) for array in arrays]
    for made in (
        REFERENCES.numpy_form(name)(*arrays),
        REFERENCES.torch_form(name)(*tensors),
    ):
        np.testing.assert_allclose(STUDY._flat(made), expected, rtol=1e-9, atol=1e-12)


def _flat(value: Any) -> np.ndarray:
    if isinstance(value, tuple | list):
        return np.concatenate([_flat(part) for part in value])
    return np.array([value], dtype=float)


def test_results_that_differ_are_wrong() -> None:
    assert STUDY._error(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.0
    assert STUDY._error(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 0.5
    assert STUDY._error(np.array([1.0]), np.array([1.0, 4.0])) == np.inf
    assert STUDY._error(np.array([1.0, np.nan]), np.array([1.0, 4.0])) == np.inf
