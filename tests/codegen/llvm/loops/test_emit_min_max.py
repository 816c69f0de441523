"""Maxima and minima of floats in vectors, with the bits that they have one after the other."""

import numpy as np
import pytest

from polygym.codegen.llvm.loops.emit_split_accumulators import float_min_max_of
from polygym.codegen.pipeline import lower
from polygym.codegen.stages import pass_named, stage_after
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.oracles.compiled_runs import quick_code, run_code, run_in_order

TEXT = """
void f(int n, int m, {kind} A[n][m], {kind} s[n], int I[m]) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      s[i] = {value};
#pragma endscop
}}
"""
MAXIMA = {
    "A[i][j] > s[i] ? A[i][j] : s[i]": True,
    "s[i] >= A[i][j] ? s[i] : A[i][j]": True,
    "s[i] < A[i][j] ? A[i][j] : s[i]": True,
    "A[i][j] > s[i] ? s[i] : A[i][j]": False,
    "s[i] <= A[i][j] ? s[i] : A[i][j]": False,
    "fmax(s[i], A[i][j])": True,
    "fmin(A[i][j] * 2.0, s[i])": False,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, -2.5]


def scop_of(value: str, kind: str = "double") -> Scop:
    if kind == "float":
        value = value.replace("max(", "maxf(").replace("min(", "minf(")
    return parse_text(TEXT.format(kind=kind, value=value))


def some_arrays(trial: int, n: int, m: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return special values alone, numbers with few special values, zeros, and numbers."""
    numbers, special = rng.normal(size=(n, m)), rng.choice(SPECIAL, size=(n, m))
    values = (
        special,
        np.where(rng.random((n, m)) < 0.02, special, numbers),
        rng.choice([0.0, -0.0, -3.0], size=(n, m)),
        numbers,
    )[trial % 4]
    return {"A": values, "s": rng.choice(SPECIAL, size=n), "I": np.zeros(m)}


@pytest.mark.parametrize(
    ("value", "kind"),
    [*((value, "double") for value in MAXIMA), *((value, "float") for value in list(MAXIMA)[::4])],
)
def test_bits_are_those_of_the_source(value: str, kind: str) -> None:
    scop, rng = scop_of(value, kind), np.random.default_rng(len(value))
    program = lower(LegalSchedule(scop, isl_schedule(scop)), DEFAULT_MAPPING)
    code = quick_code(program)
    for trial in range(24):
        sizes = {"n": int(rng.integers(1, 11)), "m": int(rng.integers(0, 70))}
        types = {"A": kind, "s": kind, "I": "int32"}
        given = some_arrays(trial, sizes["n"], sizes["m"], rng)
        arrays = {name: array.astype(np.dtype(types[name])) for name, array in given.items()}
        expected = {name: array.copy() for name, array in arrays.items()}
        run_in_order(scop, sizes, expected)
        assert run_code(code, program, sizes, arrays) == 0
        assert arrays["s"].tobytes() == expected["s"].tobytes()


@pytest.mark.parametrize(("value", "is_maximum"), MAXIMA.items())
def test_they_are_known(value: str, is_maximum: bool) -> None:
    update = float_min_max_of(scop_of(value).statements[0])
    assert update is not None
    assert update.is_maximum is is_maximum


@pytest.mark.parametrize(
    "value",
    [
        "s[i] + A[i][j]",
        "A[i][j] > s[i] ? A[i][j] : 1.0",
        "A[i][j] > s[i] ? A[i][j] + 1.0 : s[i]",
        "A[i][j] == s[i] ? A[i][j] : s[i]",
        "A[i][j] * s[i] > s[i] ? A[i][j] * s[i] : s[i]",
        "fmax(A[i][j], A[i][j])",
        "fmax(s[i], s[i])",
        "fmax(s[i], A[i][I[j]])",
        "fmax(fmax(s[i], 0.0), A[i][j])",
    ],
)
def test_others_are_not(value: str) -> None:
    assert float_min_max_of(scop_of(value).statements[0]) is None


def test_those_of_integers_are_left_to_llvm() -> None:
    assert float_min_max_of(scop_of("A[i][j] > s[i] ? A[i][j] : s[i]", "int").statements[0]) is None


def test_llvm_makes_vectors_of_them() -> None:
    scop = scop_of("A[i][j] > s[i] ? A[i][j] : s[i]")
    legal = LegalSchedule(scop, isl_schedule(scop))
    text = stage_after(pass_named("optimize"), legal, DEFAULT_MAPPING, None).text
    assert "llvm.vector.reduce.smax" in text
