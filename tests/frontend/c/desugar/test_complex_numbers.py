"""Complex numbers against gcc: equal bit for bit, with infinities, NaN and zeros of both signs."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs.dtypes import DTYPES
from tests.oracles.compiled_runs import run_natively

_SPECIAL = [0.0, -0.0, 1.5, -3e200, np.inf, -np.inf, np.nan, 1e308]

_BODIES = (
    "c[i] = a[i] * b[i];",
    "c[i] = a[i] * b[i] * a[i] + b[i];",
    "c[i] += a[i] - conj(b[i]) * 2;",
    "c[i] = x[i] * a[i] + b[i] * I;",
    "c[i] = x[i] - a[i] / x[i];",
    "c[i] = c[i] * c[i]; x[i] = cabs(a[i]) + cimag(b[i]);",
    "REAL complex t = a[i]; t *= b[i]; c[i] = -t; if (t == a[i]) x[i] = creal(t * 3);",
    "REAL s = creal((a[i] - b[i]) * a[i]); x[i] = s; if (b[i]) c[i] = s;",
    "_Bool k = a[i]; k += b[i]; x[i] = k + 2 * (_Bool)c[i]; k = c[i]; c[i] = k;",
    "x[i] *= a[i]; x[i] -= b[i]; x[i] += c[i];",
)


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("body", _BODIES)
def test_parts_are_those_of_gcc(kind: str, body: str, tmp_path: Path) -> None:
    """All pairs of special numbers are multiplied, added, converted."""
    end = "f" if kind == "float" else ""
    names = {name: f"{name}{end}" for name in ("conj", "cabs", "creal", "cimag")}
    for name, own in names.items():
        body = body.replace(f"{name}(", f"{own}(")
    body = body.replace("REAL", kind)
    text = f"""#include <complex.h>
void f(int n, {kind} complex a[n], {kind} complex b[n], {kind} complex c[n], {kind} x[n]) {{
#pragma scop
  for (int i = 0; i < n; i++) {{ {body} }}
#pragma endscop
}}
"""
    real = np.float64 if kind == "double" else np.float32
    with np.errstate(all="ignore"):
        parts = np.array(list(itertools.product(_SPECIAL, repeat=4)), dtype=np.float64).astype(real)
    count = len(parts)
    arrays = {
        "a": parts[:, :2].copy(),
        "b": parts[:, 2:].copy(),
        "c": parts[:, 1:3].copy(),
        "x": parts[:, 3].copy(),
    }
    expected = {name: array.copy() for name, array in arrays.items()}
    (tmp_path / "f.c").write_text(text)
    flags = ["-O1", "-shared", "-fPIC", "-ffp-contract=off", "-w"]
    command = ["gcc", *flags, "-o", str(tmp_path / "f.so"), str(tmp_path / "f.c"), "-lm"]
    subprocess.run(command, check=True, timeout=120)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in expected.values()]
    ctypes.CDLL(str(tmp_path / "f.so")).f(count, *pointers)
    scop = replace(parse_text(text), contraction=False)
    temporaries = {a.name: np.zeros((), DTYPES[a.type]) for a in scop.arrays if not a.rank}
    run_natively(scop, original_schedule(scop), {"n": count}, arrays | temporaries)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
        signs = np.signbit(array) == np.signbit(expected[name])
        assert np.all(signs | np.isnan(array)), name


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a[i] = b[i] / a[i];", "a quotient by a complex number"),
        ("double x = i; x /= a[i];", "a quotient by a complex number"),
        ("a[i] = conj();", "conj takes 1 argument and is given 0"),
        ("a[i] = CMPLX(i);", "CMPLX takes 2 arguments and is given 1"),
        (
            "double complex t = a[i]; { float complex t = b[i]; a[i] = t; }",
            "another type elsewhere",
        ),
        ("a[i] = csqrt(b[i]);", "csqrt of complex numbers"),
        ("a[i] = i > 2 ? a[i] : b[i];", "this expression of complex numbers"),
        ("a[i]++;", "complex numbers are not supported here"),
        ("for (int j = 0; j < creal(b[i]); j++) a[i] = 1;", "in a loop's head"),
        ("a[i] = g(b[i]);", "g is given a complex number"),
        ("double t_re = 1; double complex t = t_re; a[i] = t;", "a name that is not used"),
    ],
)
def test_refusals_have_places(body: str, message: str) -> None:
    text = f"""#include <complex.h>
double g(double complex z) {{ return creal(z); }}
void f(int n, double complex a[n], double complex b[n]) {{
#pragma scop
  for (int i = 0; i < n; i++) {{ {body} }}
#pragma endscop
}}
"""
    with pytest.raises(SourceError) as caught:
        parse_text(text)
    assert message in caught.value.message
    assert 4 <= caught.value.location.line <= 5
