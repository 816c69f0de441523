"""NaN: max, min, max= and min= pass it on, as in PyTorch; fmax and fmin drop it, as in C."""

from __future__ import annotations

import ctypes
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.tc.comprehension import define
from tests.oracles.c_kernels import call_kernel, compile_kernel, kernel_file

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5]
TYPES = {"double": np.float64, "float": np.float32}
MAPPINGS = ("sequential", "default", "threads=2", "vector_bits=128", "reassociate=on threads=2")
OUTPUTS = ("largest", "least", "number", "smaller", "all")
PAIRS = """
def pairs({kind}(N) A, {kind}(N) B) -> (largest, least, number, smaller) {{
  largest(i) = max(A(i), B(i))
  least(i) = min(A(i), B(i))
  number(i) = fmax(A(i), B(i))
  smaller(i) = fmin(A(i), B(i))
}}
"""
ROWS = """
def rows({kind}(N, M) A) -> (largest, least, column, whole) {{
  largest(i) max=! A(i, j)
  least(i) min=! A(i, j)
  column(j) max=! A(i, j)
  whole min=! A(i, j)
}}
"""


def special(shape: tuple[int, ...], seed: int, dtype: type, share: float = 0.05) -> np.ndarray:
    """Return numbers, a few of which are special."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(shape) < share, rng.choice(SPECIAL, shape), rng.normal(size=shape))
    return values.astype(dtype)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("kind", TYPES)
def test_pairs(kind: str, mapping: str) -> None:
    every = np.array([(a, b) for a in SPECIAL for b in SPECIAL], TYPES[kind])
    a, b = np.tile(every, (3, 1)).T.copy()
    results = define(PAIRS.format(kind=kind), mapping=mapping)(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = [function(a, b) for function in (np.maximum, np.minimum, np.fmax, np.fmin)]
    for result, numbers in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, numbers)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("kind", TYPES)
def test_reductions(kind: str, mapping: str) -> None:
    rows = define(ROWS.format(kind=kind), mapping=mapping)
    for seed, shape in enumerate(((1, 1), (3, 7), (40, 33), (5, 200), (64, 64))):
        for share in (0.0, 0.02, 1.0):
            a = special(shape, seed, TYPES[kind], share)
            expected = (a.max(axis=1), a.min(axis=1), a.max(axis=0), a.min())
            for result, numbers in zip(rows(a), expected, strict=True):
                np.testing.assert_array_equal(result, numbers)


def test_half_precision() -> None:
    a = np.array([np.nan, 1.0, -1.0, np.nan], np.float16)
    b = np.array([1.0, np.nan, 2.0, np.nan], np.float16)
    larger = define("def f(float16(N) A, float16(N) B) -> (C) { C(i) = max(A(i), B(i)) }")
    np.testing.assert_array_equal(larger(a, b), np.maximum(a, b))


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_printed_c(tmp_path: Path) -> None:
    """Both printers: loops as they are, and what becomes machine code."""
    text = PAIRS.format(kind="float").replace("smaller) {", "smaller, all) {")
    text = text.replace("\n}", "\n  all max=! A(i)\n}")
    scop = lower_definition(parse_definitions(text)[0])
    legal = LegalSchedule(scop, original_schedule(scop))
    every = np.array([(a, b) for a in SPECIAL for b in SPECIAL], np.float32)
    a, b = np.tile(every, (3, 1)).T.copy()
    expected = define(text, mapping=SEQUENTIAL_MAPPING)(a, b)
    for number, mapping in enumerate((SEQUENTIAL_MAPPING, DEFAULT_MAPPING)):
        program = lower(legal, mapping, {"N": len(a)})
        kernel = compile_kernel(kernel_file(program), tmp_path / f"kernel{number}")
        results = [np.zeros_like(array) for array in expected]
        arrays = dict(zip(("A", "B", *OUTPUTS), (a, b, *results), strict=True))
        call_kernel(kernel, program, {"N": len(a)}, arrays)
        for result, numbers in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, numbers)
    path, library = tmp_path / "f.c", tmp_path / "f.so"
    path.write_text(print_c(lower(legal, SEQUENTIAL_MAPPING, None)))
    gcc = str(compiler_path("gcc"))
    flags = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, path, "-o", library, "-lm"], check=True)
    results = [np.empty_like(array) for array in expected]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, *results)]
    ctypes.CDLL(str(library)).pairs(ctypes.c_int(len(a)), *pointers)
    for result, numbers in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, numbers)


def test_the_library_follows_pytorch() -> None:
    torch = pytest.importorskip("torch")
    image = special((2, 3, 8, 8), 0, np.float32)
    assert np.isnan(image).any()
    pool = define("tc:max_pool")
    (o,) = [pool(2, 2, 2, 2, image)]
    np.testing.assert_array_equal(o, torch.max_pool2d(torch.tensor(image), 2, 2).numpy())
    rows = special((20, 33), 1, np.float32)
    softmax = torch.softmax(torch.tensor(rows), 1).numpy()
    np.testing.assert_allclose(define("tc:softmax")(rows), softmax, rtol=1e-5)
    data, weights = special((4, 5), 2, np.float32), special((6, 5), 3, np.float32, 0.0)
    bias = np.array([0.5, np.nan, -0.5, 0.0, 1.0, -9.0], np.float32)
    x, w, b = (torch.tensor(array, requires_grad=True) for array in (data, weights, bias))
    y = torch.relu(torch.nn.functional.linear(x, w, b))
    layer = define("tc:mlp1")
    inputs = [torch.tensor(array, requires_grad=True) for array in (data, weights, bias)]
    result = layer(*inputs)
    np.testing.assert_allclose(result.detach().numpy(), y.detach().numpy(), rtol=1e-5)
    y.sum().backward()
    result.sum().backward()
    for ours, theirs in zip(inputs, (x, w, b), strict=True):
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-6)
